-- others.lua - calls into LPeg, JSON, sockets, files, the libraries that busted is made of,
-- argument parsers and Lua's own library that leave nothing behind; see calls.lua for the notation.

return {
  {setup = [[local lpeg, re = require "lpeg", require "re"
    local P, R, S, V, C, Ct = lpeg.P, lpeg.R, lpeg.S, lpeg.V, lpeg.C, lpeg.Ct
    local word = C(R "az" ^ 1)
    local list = Ct(word * (P "," * word) ^ 0)
    local sum = P{"E", E = V "T" * (S "+-" * V "T") ^ 0, T = R "09" ^ 1 + "(" * V "E" * ")"}
    local names = re.compile "{| {%a+} (',' {%a+})* |}"]], calls = [[
    lpeg.$(P | S)($("a" | "abc")):match($("abc" | "x"))
    P($(1 | -1 | 3 | true | {P "a"} | function(s, i) return i end)):match("abc")
    R("az", "09"):match($("k" | "7" | "-"))
    (P "a" $(+ | * | -) P "b"):match($("ab" | "b"))
    (P "a" ^ $(0 | 1 | -1)):match($("aaa" | "b"))
    ($(#P"a" | -P"a" | P"a" / 0)):match("a")
    lpeg.$(C | Ct | Cs | Cg | Cp)($(P "a")):match("a")
    lpeg.$(Cc)(1, {}, "x"):match("")
    lpeg.Cf(C "a" * C "b", function(x, y) return x .. y end):match("ab")
    lpeg.Cmt(P "a", function(s, i, ...) return i, {s} end):match("a")
    lpeg.Ct(lpeg.Cg(C "a", "name")):match("a")
    (C "a" / $("x%1" | {a = 1} | string.upper | 1)):match("a")
    (lpeg.Cg(C "a", "n") * lpeg.Cb "n"):match("a")
    (C(1) * lpeg.Carg(1)):match("a", 1, {"extra"})
    list:match($("a,b,c" | "one" | ""))
    sum:match($("1+2" | "(1-2)+3" | "+"))
    lpeg.type($(P "a" | "a"))
    lpeg.locale().$(alpha | digit | space):match("a")
    lpeg.B(P "a"):match("ba", 3)
    re.compile($("%d+" | "{ [a-z]* }" | "x <- 'a' x / 'b'")):match("12")
    re.match("hello", $("'h' {.*}" | "%s"))
    re.find("a1b2", "%d", $(1 | 3))
    re.gsub("hello world", "'o'", "0")
    names:match($("a,b" | "1"))
    pcall(re.compile, "((")
    pcall(P, $(print, 1 | {}))
  ]]},
  {setup = [[local cjson, safe, dkjson = require "cjson", require "cjson.safe", require "dkjson"
    local own = cjson.new()]], calls = [[
    $(cjson | dkjson | own).encode($({1, 2, 3} | {a = {b = "c"}} | "text\n" | true))
    $(cjson | dkjson | own).encode{{}, {x = 1.5}}
    $(cjson | dkjson).decode($('[1, [2, {}] ]' | '{"a": {"b": null}}' | '"\\u00e4"' | '1e3'))
    safe.decode($("{" | "[1,]" | "nul"))
    safe.encode($(print | {[1] = 1, [100000] = 2}))
    pcall(cjson.$(encode | decode), $(print | "{"))
    cjson.new()
    own.encode_keep_buffer($(true | false))
    own.encode_number_precision($(3 | 14))
    own.encode_sparse_array(true, 2, 10)
    dkjson.encode({1, {a = 2}}, {indent = true, keyorder = {"a"}})
    dkjson.decode('[1, {"a": 2}]', 1, nil)
    dkjson.decode("{", 1)
    dkjson.quotestring($("a\"b" | "\1"))
    dkjson.encode(setmetatable({}, {__tojson = function() return "7" end}))
  ]]},
  {setup = [[local socket, url = require "socket", require "socket.url"
    local mime, ltn12, http = require "mime", require "ltn12", require "socket.http"
    local headers = require "socket.headers"]], calls = [[
    url.parse($("http://u:p@host:80/a/b?q=1#f" | "//h" | "x" | "ftp://f/;type=a"))
    url.build{scheme = "http", host = "h", path = "/p"}
    url.$(escape | unescape)($("a b/c" | "a%20b"))
    url.absolute("http://h/a/b", $("../c" | "/d" | "http://x"))
    url.$(parse_path)("a/b/../c/")
    url.build_path({"a", "b", is_absolute = 1})
    socket.$(tcp | tcp4 | udp | udp4)():close()
    socket.tcp():$(getsockname() | settimeout(1) | setoption("reuseaddr", true))
    socket.udp():$(setsockname("127.0.0.1", 0) | getfd() | getsockname())
    socket.bind("127.0.0.1", 0):close()
    socket.bind("127.0.0.1", 0):getsockname()
    local s = socket.bind("127.0.0.1", 0) s:settimeout(0) s:accept() s:close()
    socket.select({}, {}, 0)
    socket.$(gettime | dns.gethostname)()
    socket.sleep(0)
    socket.protect(function() socket.try(nil, "refused") end)()
    socket.newtry(function() end)(1)
    socket.skip(1, 2, 3)
    socket.connect("127.0.0.1", 1)
    local u = socket.udp() u:setsockname("127.0.0.1", 0) u:sendto("x", u:getsockname())
    http.request("http://127.0.0.1:1/")
    pcall(http.request, {url = "none://x"})
    headers.canonic["content-type"]
    mime.$(b64 | qp | unb64 | unqp)($("hello" | "" | "a=b\r\n"))
    mime.$(encode | decode)($("base64" | "quoted-printable"))("some text")
    mime.normalize()("a\nb")
    mime.wrap("text", 10)("a long line that must be wrapped")
    mime.$(eol)(0, "a\nb")
    mime.dot(2, ".a")
    mime.stuff()("\r\n.x")
    ltn12.pump.all(ltn12.source.string("abc"), (ltn12.sink.table()))
    ltn12.pump.step(ltn12.source.string("abc"), ltn12.sink.null())
    ltn12.source.$(empty | error | simplify)(function() end)
    ltn12.source.cat(ltn12.source.string "a", ltn12.source.string "b")()
    ltn12.sink.chain(mime.encode "base64", (ltn12.sink.table()))("x")
    ltn12.filter.chain(mime.normalize(), mime.encode "base64")("x")
    ltn12.filter.cycle(mime.b64, "")("abc")
  ]]},
  {setup = [[local lfs, system, term = require "lfs", require "system", require "term"
    local name = "sample" io.open(name, "w"):close()]], calls = [[
    lfs.$(attributes | symlinkattributes)($("/tmp" | name | "/none" | name, "size"))
    lfs.$(attributes | symlinkattributes)("/tmp", "mode")
    lfs.currentdir()
    lfs.chdir(".")
    for entry in lfs.dir("/usr/share") do assert(entry) end
    lfs.dir("/")
    pcall(lfs.dir, "/none")
    lfs.$(mkdir | rmdir)(name .. ".d")
    lfs.touch(name, $(1 | 2))
    lfs.link("/none", "/none/x", true)
    local file = io.open(name) lfs.lock(file, "r") lfs.unlock(file) file:close()
    lfs.setmode(io.stdout, "binary")
    local lock = lfs.lock_dir(".") if lock then lock:free() end
    system.$(gettime | monotime)()
    system.sleep(0)
    term.colors.$(red | blue | bright)("x")
    tostring(term.colors.$(green | reset))
    term.isatty(io.stdout)
  ]]},
  {setup = [[local assert = require "luassert"
    local util, spy = require "luassert.util", require "luassert.spy"
    local stub, mock = require "luassert.stub", require "luassert.mock"
    local match = require "luassert.match"
    local say = require "say"
    local object = {f = function() return 1 end, g = function() return 2 end}]], calls = [[
    assert.$(is_true | truthy | is_not_nil | is_not_false)(true)
    assert.$(equal | same | equals)($(1, 1 | "a", "a"))
    assert.same({1, {a = 2}}, {1, {a = 2}})
    assert.are_not.$(equal | same)({}, $(1 | {2}))
    assert.$(has_error | has.errors)(function() error("x") end, "x")
    assert.has_no.errors(function() end)
    assert.error_matches(function() error("oops") end, "oo")
    assert.near(1, 1.05, 0.1)
    assert.matches("a+", "caat")
    assert.unique{1, 2, 3}
    assert.is_$(table | not_string | not_number)({})
    pcall(assert.$(equal | same | is_nil), {1, 2, {3}}, $({1} | "x"))
    pcall(assert.is_true, false, "message")
    assert.message("why").is_true(true)
    assert.returned_arguments(2, 1, 2)
    assert:format({1, "a", {}, n = 3})
    local s = spy.new(function() end) s(1, {}) assert.spy(s).was_called(1)
    local s = spy.new(function() end) s("x") assert.spy(s).was_called_with(match._)
    local state = assert:snapshot() stub(object, "f") object.f(1) state:revert()
    local state = assert:snapshot() spy.on(object, "g") object.g() state:revert()
    local s = spy.on(object, "f") object.f() s:revert()
    local s = stub.new(object, "f").returns(3) object.f() s:revert()
    mock.revert(mock({a = function() end, b = {c = function() end}}))
    match.is_$(table | string | number)()({})
    match.$(is_not.equal | is.same)({1})({1})
    util.deepcompare({1, {2}}, $({1, {2}} | {3}))
    util.$(deepcopy | shallowcopy)({1, {2}})
    util.make_arglist(1, nil, 3)
    util.$(tinsert)({n = 1, 1}, 1, $(2 | nil))
    util.extract_keys("assertion", {"is", "true"})
    say("assertion.same.positive", {$("a", "b")})
    say("no.such.key", {})
    say._registry.en
  ]]},
  {setup = [[local mediator, cliargs = require "mediator", require "cliargs"
    local argparse = require "argparse"
    local core = require "busted.core"
    local function silent(f) return function(...) return pcall(f, ...) end end]], calls = [[
    mediator()
    local m = mediator() m:subscribe({"a", "b"}, function() end) m:publish({"a", "b"}, 1)
    local m = mediator() local s = m:subscribe({"x"}, print) m:removeSubscriber(s.id, {"x"})
    mediator():getChannel{"a", "b", "c"}
    mediator():publish({"none"}, {})
    cliargs.cleanup
    core()
    local b = core() b.subscribe({"t"}, function() end) b.publish({"t"}, 1)
    local b = core() b.register("thing", function() end) b.export("x", 1) b.hide("x")
    require "busted.status"($("success" | "failure")):success()
    local c, e = require "busted.context"().ref(), {attributes = {}} c.attach(e) c.push(e) c.pop()
    require "busted.utils".$(copy_interpreter_args)({"a"})
    require "busted.utils".shuffle({1, 2, 3}, 42)
    argparse("name", "what it does")
    argparse "x":option("-o --out", "a file"):default "a"
    local p = argparse "x" p:argument("input"):args("*") p:parse{$("a", "b" | "c")}
    local p = argparse "x" p:option("-o"):count("*") p:parse{"-o", "1", "-o", "2"}
    local p = argparse "x" p:flag("-v") p:get_$(help | usage)()
    local p = argparse "x" p:flag("-v") p:pparse{$("-v" | "-z" | "extra")}
    local p = argparse "x" p:command "add":argument "n" p:parse{"add", "1"}
  ]]},
  {setup = [[local name = "sample" io.open(name, "w"):close()
    local function gen() for i = 1, 3 do coroutine.yield(i) end end]], calls = [[
    string.$(upper | lower | reverse | len | byte | rep)("hello", 2)
    string.$(find | match | gmatch)("key = value", "(%w+)%s*=%s*(%w+)")
    string.format($("%5d|%s", 1, {} | "%q", "a\n" | "%.3f", 1.5))
    ("a,b,c"):gsub(",", $("-" | {[","] = ";"} | function() return "+" end))
    string.$(pack | packsize)($("i4" | "d"), 1)
    string.dump(function() return 1 end)
    table.concat({1, 2, 3}, ",")
    table.$(unpack | pack)({1, 2, 3})
    table.sort({3, 1, 2}, $(nil | function(a, b) return a > b end))
    table.move({1, 2, 3}, 1, 3, 2, {})
    table.remove({1, 2, 3}, $(1 | 2))
    utf8.$(len | codepoint)("äö")
    utf8.char(228, 246)
    for _, c in utf8.codes("äö") do assert(c) end
    math.$(floor | sqrt | tointeger)(2.0)
    os.$(time | clock | date)()
    os.getenv($("HOME" | "NONE"))
    os.date($("*t" | "%Y"))
    load($("return 1 + 1" | "no syntax" | "local t = {} return function() return t end"))
    load(function() return nil end)
    select($("#" | 2), 1, 2, 3)
    pcall(error, $({code = 1} | "text" | nil))
    xpcall(function() error "x" end, debug.traceback)
    coroutine.wrap(gen)()
    local co = coroutine.create(gen) coroutine.resume(co) coroutine.close(co)
    for i in coroutine.wrap(gen) do assert(i) end
    setmetatable({}, {__gc = function() end})
    setmetatable({}, {__mode = $("k" | "v" | "kv")})[{}] = {}
    local t <close> = setmetatable({}, {__close = function() end})
    local t = {} t.self = t
    local a, b = {}, {} a.b = b b.a = a
    local t = setmetatable({}, {__index = function(_, k) return k .. "!" end}) assert(t.x)
    local f f = function() return f end f()
    io.open(name)
    io.open(name):close()
    io.open("/none")
    for line in io.lines(name) do assert(line) end
    local f = io.open(name, "w") f:write("a\n", 1) f:close()
    io.popen("true"):close()
    require $("table" | "string")
    pcall(require, "no.such.module")
    debug.$(getinfo | traceback)(1)
    debug.getlocal(gen, 1)
    collectgarbage($("count" | "step"))
    rawequal({}, {})
    next({a = 1})
    tostring({})
    tonumber("0x10")
    ("x"):rep($(10 | 1000 | 100000))
    local t = {} for i = 1, 100 do t[i] = {i} end
    local s = "" for i = 1, 20 do s = s .. i end
  ]]},
}
