-- penlight.lua - calls into Penlight that leave nothing behind; see calls.lua for the notation.

return {
  {setup = [[local stringx = require "pl.stringx"]], calls = [[
    stringx.$(isalpha | isdigit | isalnum | isspace | islower | isupper)($("abc" | "A b1" | ""))
    stringx.$(lstrip | rstrip | strip)($("  x  " | "..x..", "."))
    stringx.$(startswith | endswith)($("hello", "he" | "hello", {"lo", "he"} | "", "x"))
    stringx.$(partition | rpartition)($("a,b,c", "," | "abc", "-"))
    stringx.$(ljust | rjust | center)($("x", 5 | "long enough", 3 | "ab", 8, "*"))
    stringx.$(lfind | rfind)($("hello world", "o" | "hello", "l", 1 | "hello", "z"))
    stringx.$(title | lines | splitlines | dedent | quote_string)($("a\nb\n" | "one Two" | ""))
    stringx.$(split | splitv)($("a b c" | "a,b,,c", "," | "a,b,c", ",", 2))
    stringx.$(wrap | fill | indent)($("the quick brown fox jumps", 10 | "a", 4))
    stringx.at("hello", $(1 | -1 | 9))
    stringx.count($("banana", "a" | "banana", "ana", true | "", "x"))
    stringx.expandtabs("a\tb", $(4 | 8))
    stringx.join($(",", {"a", "b"} | "", {} | "-", {1, 2, 3}))
    stringx.replace("banana", "a", $("o" | "o", 1 | ""))
    stringx.shorten("a long line of text", $(8 | 8, true | 100))
    stringx.Template("$(who) is here"):$(substitute | safe_substitute){who = "she"}
    stringx.Template("one\n  $list\n"):indent_substitute{list = "a\nb"}
    stringx.format_operator
    for line in stringx.lines("a\nb\nc") do assert(line) end
  ]]},
  {setup = [[local tablex = require "pl.tablex"
    local numbers, names = {3, 1, 2}, {a = 1, b = 2, c = 3}
    local function odd(x) return x % 2 == 1 end
    local function add(x, y) return x + y end]], calls = [[
    tablex.$(copy | deepcopy)($({1, 2, 3} | {a = {b = {}}}))
    tablex.icopy({}, {1, 2, 3}, $(1 | 2))
    tablex.$(keys | values | size | index_map | makeset | count_map | readonly)($(numbers | names))
    tablex.$(deepcompare | compare_no_order)($(numbers, {3, 1, 2} | {}, {1} | {1, {2}}, {1, {2}}))
    tablex.compare(numbers, {1, 2, 3}, $('==' | '<' | function(x, y) return x ~= y end))
    tablex.$(filter | find_if)(numbers, odd)
    tablex.$(imap | map)($(tostring, numbers | '#', {"a", "bc"} | '_+1', numbers | add, numbers, 2))
    tablex.$(imap2 | map2)(add, $(numbers, numbers | {1}, {2}))
    tablex.map_named_method("upper", {"a"})
    tablex.index_by(numbers, {1, 2})
    tablex.$(find | rfind)($(numbers, 1 | numbers, 9 | {1, 1}, 1, 2))
    tablex.$(merge | union | intersection | difference)($(names, {b = 5} | {}, {x = 1}))
    tablex.merge(names, {z = 0}, $(true | false))
    tablex.$(foreach | foreachi)({1, 2}, function() end)
    tablex.$(sort | sortv)($(names | names, function(x, y) return x > y end))
    tablex.$(reduce)($(add, numbers | '+', {1}, 0 | '..', {"a", "b"}))
    tablex.$(zip)($(numbers, {4, 5, 6} | {1}, {2}, {3}))
    tablex.$(sub)($(numbers, 2 | numbers, 1, 2 | numbers, -2))
    tablex.range($(1, 10 | 1, 10, 3 | 5, 1, -1 | 1, 0))
    tablex.search({a = {b = numbers}}, numbers)
    tablex.removevalues({1, 2, 3, 4}, $(2, 3 | 1, 2))
    tablex.insertvalues({1, 2}, $({3, 4} | 1, {3}))
    tablex.transform('_*2', {1, 2, 3})
    tablex.pairmap(function(k, v) return k .. v end, names)
    tablex.update({a = 1}, names)
    tablex.move({}, numbers)
    tablex.mapn(add, numbers, numbers)
    tablex.clear({1, 2, 3})
    tablex.set({1, 2, 3}, 0, 1, 2)
    tablex.new($(3, 0 | 4, "x"))
  ]]},
  {setup = [[local List = require "pl.List"]], calls = [[
    List{3, 1, 2}:$(sort | sorted | reverse | clone | len | minmax | clear | pop)()
    List{1, 2, 3, 4}:$(slice | chop | remove | index | contains | count | get)($(2 | 1))
    List{1, 2, 3}:$(append | push | put | extend)($({4} | {}))
    List{1, 2, 3}:$(map | filter | foreach)(function(x) return x > 1 end)
    List{1, 2, 3}:partition(function(x) return x > 1 end)
    List{1, 2, 3}:map2('+', {4, 5, 6})
    List{"a", "b"}:mapm("upper")
    List{"a", "b"}:$(join | concat)($("," | ""))
    List{1, 2, 3}:reduce($('+' | '*'))
    List{1, 2, 3} .. List{4}
    List{1, 2} == List{1, 2}
    tostring(List{1, {2}, "x"})
    List.range($(1, 5 | 4, 1))
    List.split("a b c")
    List.iterate("abc")
    List{1, 2, 3}:splice(2, {9})
    List{1, 2, 3, 4}:slice_assign(2, 3, {8, 9})
    List{1, 2, 2, 3}:remove_value(2)
    for x in List{1, 2, 3}:iter() do assert(x) end
  ]]},
  {setup = [[local Map, Set = require "pl.Map", require "pl.Set"
    local Ordered, Multi = require "pl.OrderedMap", require "pl.MultiMap"]], calls = [[
    $(Map | Ordered){a = 1, b = 2}:$(keys | values | len | items | iter)()
    $(Map | Ordered | Multi)():set("x", {1})
    Map{a = 1}:$(get | setdefault)("a", 2)
    Map{a = 1, b = 2}:getvalues{"a", "b"}
    Map{a = 1}:update{b = 2}
    tostring($(Map{a = 1} | Ordered{{x = 1}} | Set{1, 2}))
    Map{a = 1} == Map{a = 1}
    Set{1, 2} $(+ | - | * | ^) Set{2, 3}
    Set{1, 2} $(< | <= | == | ~=) Set{1, 2, 3}
    Set.$(values | isempty | len)(Set{1, 2})
    Set.$(union | intersection | difference | isdisjoint | issubset)(Set{1, 2}, Set{2, 3})
    #Set{1, 2, 3}
    Set.map(Set{1, 2}, tostring)
    Ordered{{a = 1}, {b = 2}}:insert(1, "c", 3)
    Ordered{{b = 1}, {a = 2}}:sort()
    for k, v in Ordered{{b = 1}, {a = 2}}:iter() do assert(k, v) end
    Multi{a = {1}, b = {2, 3}}:$(keys | len)()
  ]]},
  {setup = [[local class = require "pl.class"
    local Animal = class() function Animal:_init(name) self.name = name end
    local Cat = class(Animal) function Cat:_init(...) self:super(...) self.toys = {} end]],
   calls = [[
    class()
    class(Animal)
    class{_init = function(self) self.x = 1 end}
    class{_base = Animal, speak = function() return "miau" end}()
    $(Animal | Cat)("Tom").name
    $(Animal | Cat)("Tom"):is_a(Animal)
    Cat:class_of(Cat("Tom"))
    tostring(Cat "Tom")
    class(class.properties)
  ]]},
  {setup = [[local pretty, lexer = require "pl.pretty", require "pl.lexer"]], calls = [[
    pretty.write($({} | {1, 2, {a = "x"}} | "text" | {["a b"] = {}, [1.5] = true} | nil))
    pretty.write({a = {1}, b = "x"}, $("" | "  " | "", true))
    pretty.read($("{1, 2, x = 'y'}" | "{}" | "not lua"))
    pretty.load("x = 1 y = {2}")
    pretty.number($(1234567 | 10, "M" | 99999, "T"))
    pretty.debug
    lexer.$(lua | cpp)($("x = 1 // 1" | "for i = 1, 2 do print 'x' end" | ""))()
    for t, v in lexer.$(lua | cpp)("if (x >= 0.5e3) then y = \"s\" end") do assert(t, v) end
    for t, v in lexer.scan("alpha = sin(1)") do assert(t, v) end
    lexer.get_separated_list(lexer.scan("(a, b), c)"))
    lexer.getline(lexer.lua("return 1\nreturn 2"))
    lexer.get_keywords()["and"]
  ]]},
  {setup = [[local template, text = require "pl.template", require "pl.text"]], calls = [[
    template.substitute("# for i = 1, 3 do\n$(i)\n# end\n", {})
    template.substitute("hello $(name)", {name = $("you" | 1)})
    template.compile("# if x then\n$(x)\n# end\n"):render{x = $(1 | nil)}
    text.$(wrap | fill | indent)("some words to be laid out", 12)
    text.dedent("  a\n    b\n")
    text.format_operator
  ]]},
  {setup = [[local types, utils = require "pl.types", require "pl.utils"
    local operator, func = require "pl.operator", require "pl.func"]], calls = [[
    types.$(type | is_callable | is_indexable | is_iterable | is_writeable)($({} | print | "x"))
    types.$(is_empty | to_bool)($(1 | "" | "yes" | 2.5))
    types.is_integer($(1 | 2.5))
    utils.$(split | splitv)($("a b" | "a,b,c", ","))
    utils.escape($("a.b" | "%d+"))
    utils.string_lambda($("|x| x + 1" | "_ + 1"))(2)
    utils.$(bind1 | bind2)(math.max, 3)(4)
    utils.choose($(true | false), 1, 2)
    utils.array_tostring({1, true, "x"})
    utils.pack(1, nil, 3)
    utils.unpack({1, 2, 3})
    utils.memoize(tostring)(5)
    utils.is_type({}, "table")
    utils.quote_arg($("it's" | {"a", "b c"}))
    utils.enum("A", "B").A
    utils.function_arg(1, '+')
    utils.$(npairs)({1, nil, 3})
    utils.execute
    utils.load("return 1")()
    pcall(utils.assert_arg, 1, {}, "string")
    pcall(utils.raise, "oops")
    operator.$(add | sub | mul | div | mod | pow | eq | lt | le | gt | ge | neq)(3, 2)
    operator.$(land | lor | concat)("x", "y")
    operator.$(unm | len | lnot | table | nop)($("5" | "7"))
    operator.$(call)(tostring, 1)
    func.instantiate(func._1 $(+ | * | - | ..) 2)
    func.$(bind | bind1)(math.max, $(1 | 2))
    func.$(compose)(tostring, tonumber)(5)
    func.I(func._1 + func._2)(1, 2)
    func.repr(func._1 + 1)
    func.tail{1, 2}
    func.isPE(func._1)
  ]]},
  {setup = [[local path, dir, file = require "pl.path", require "pl.dir", require "pl.file"
    local name = "sample" file.write(name, "one\ntwo\n")]], calls = [[
    path.$(basename | dirname | extension | splitext | splitpath | normpath)("/a/b/../c.tar.gz")
    path.$(isabs | isdir | isfile | exists | getsize | normcase | islink)($("/tmp" | name | "/no"))
    path.$(getmtime | getatime | getctime | attrib)(name)
    path.$(join | relpath)($("/a", "b" | "/a/b", "/a"))
    path.common_prefix("/a/b/c", "/a/b/d")
    path.$(abspath | expanduser)($("x" | "~/y"))
    path.currentdir()
    path.$(is_windows | sep | dirsep)
    path.package_path "pl.path"
    dir.fnmatch($("a.lua", "*.lua" | "a.c", "*.lua"))
    dir.filter({"a.lua", "b.c"}, "*.lua")
    dir.$(getdirectories)(".")
    file.$(read | access_time | creation_time | modified_time)(name)
    file.write(name, "one\ntwo\n")
    for line in io.lines(name) do assert(line) end
  ]]},
  {setup = [[local data, Date = require "pl.data", require "pl.Date"
    local stringio = require "pl.stringio"
    local rows = "a,b\n1,2\n3,4\n"]], calls = [[
    data.read(stringio.open(rows))
    data.read(stringio.open(rows)):$(column_by_name("a") | column_names() | copy_select("b"))
    data.query(data.read(stringio.open(rows)), "a where b > 2")()
    data.new({{1, 2}, {3, 4}}, {"x", "y"})
    data.filter
    Date{year = 2020, month = 2, day = 3}:$(year | month | day | weekday_name | last_day)()
    Date(2020, 1, $(1 | 31)):$(add{day = 1} | add{month = 1} | toUTC() | month_name() | yday())
    Date(2020, 1, 2) - Date(2019, 1, 2)
    Date(2020, 1, 2) < Date(2021, 1, 2)
    tostring(Date(2020, 5, 17))
    Date.Format():parse($("2020-05-17" | "17/5/2020 10:00" | "nonsense"))
    Date.Format "yyyy-mm-dd":$(parse "2020-05-17" | tostring(Date(2020, 1, 2)))
    stringio.open($("text" | "1 2\n3")):$(read("*l") | read("*a") | lines() | close())
    stringio.open("1 2"):read("*n")
    stringio.create():write("a", 1)
    stringio.create():writef("%d", 1)
    for l in stringio.lines("a\nb") do assert(l) end
  ]]},
  {setup = [[local seq, permute = require "pl.seq", require "pl.permute"
    local C = require "pl.comprehension".new()]], calls = [[
    seq{1, 2, 3}:$(copy | sum | enum | last | minmax | unique)()
    seq{1, 2, 3}:$(map | filter | count | foreach)(function(x) return x end)
    seq.$(copy | sum | minmax | last | unique | enum | iter)(seq.list{1, 2, 2})
    seq.copy(seq.map(function(x) return x > 1 end, seq.list{1, 2, 3}))
    seq{1, 2, 3}:filter(function(x) return x > 1 end):copy()
    seq.reduce('+', seq.list{1, 2, 3})
    seq.copy(seq.take(seq.list{1, 2, 3}, $(1 | 2)))
    seq{1, 2, 3}:$(skip(1) | take(2)):copy()
    seq.$(zip | splice)({1, 2}, {3, 4})
    seq.range($(1, 5 | 5, 1))
    seq.$(matching)("a.")("ab")
    seq.$(less_than | greater_than | equal_to)(3)(2)
    seq.keys{a = 1}
    permute.$(list_table | order_table){$(1, 2, 3 | "a")}
    for p in permute.$(list_iter | order_iter)({1, 2}) do assert(p) end
    C'x for x = 1, 4'()
    C'x ^ 2 for x if x > 1'{1, 2, 3}
    C'sum(x for x)'{1, 2, 3}
  ]]},
  {setup = [[local sip, url, xml = require "pl.sip", require "pl.url", require "pl.xml"
    local doc = xml.parse "<a x='1'><b>t</b><b/></a>"]], calls = [[
    sip.match($("$v = $d", "x = 5" | "($i,$i)", "(1,2)" | "$q", "none"), {})
    sip.compile("$s{name}: $f{value}")("size: 1.5", {})
    sip.$(create_pattern)("$v=$d")
    url.$(quote | unquote)($("a b&c" | "a%20b+c" | "ü", true))
    xml.parse($("<a/>" | "<a><b c='d'>x</b></a>"))
    xml.parsehtml("<p>one<br>two</p>")
    xml.tostring(doc, $("", "" | "", "  "))
    xml.new("e", {x = "1"}):$(addtag("f") | text("t") | get_attribs())
    xml.elem("li", {"a", "b"})
    xml.clone(doc)
    xml.compare(doc, doc)
    doc:$(child_with_name("b") | get_elements_with_name("b"))
    doc:$(childtags | get_text | first_childtag)()
    doc:match("<a><b>$t</b></a>")
    xml.walk(doc, false, function() end)
    xml.$(xml_escape | xml_unescape)("<&amp;>")
    xml.is_tag(doc)
  ]]},
  {setup = [[local config, input = require "pl.config", require "pl.input"
    local stringio, array2d = require "pl.stringio", require "pl.array2d"
    local balanced, app = require "pl.luabalanced", require "pl.app"
    local M = {{1, 2}, {3, 4}, {5, 6}}]], calls = [[
    config.read(stringio.open($("a=1\nb=2\n" | "[s]\nx=1,2\n" | "# none\n")))
    config.read(stringio.open("a:1\n"), {keysep = ":"})
    config.lines(stringio.open("a\\\nb\n"))
    input.numbers("1 2 3")()
    input.words("a b")()
    input.fields({1, 3}, ",", "1,2,3")()
    array2d.$(flatten | columns | rows | size | transpose)(M)
    array2d.$(row | column)(M, 2)
    array2d.map('_*2', M)
    array2d.map2('+', 2, 2, M, M)
    array2d.reduce_$(rows | cols)('+', M)
    array2d.reduce2('+', '*', M)
    array2d.product('..', {"a"}, {"b", "c"})
    array2d.reshape(M, 2)
    array2d.$(swap_rows | swap_cols)({{1, 2}, {3, 4}}, 1, 2)
    array2d.extract_$(rows | cols)({{1, 2}, {3, 4}}, {1})
    array2d.slice(M, $(1, 1, 2, 2 | "A1:B2"))
    array2d.parse_range($("A1:B3" | "R1C1:R2C2"))
    array2d.$(forall)(M, function() end)
    array2d.new(2, 3, 0)
    array2d.iter(M)()
    balanced.$(match_bracketed | match_expression | match_explist | match_namelist)("(a, b)", 1)
    balanced.match_string("'abc' x", 1)
    balanced.gsub("a 'b' c", function(u, s) return s end)
    app.parse_args({"--x=1", "-v", "file"}, {x = true})
    app.platform()
    require "pl.compat".execute
    require "pl.lapp".process_options_string("test\n  -n,--number (default 1) n\n", {"-n", "2"})
  ]]},
}
