-- output_spec.lua - where the commands' output goes: pipes that close, full disks, descriptors that
-- are closed already, terminals, colours.

local profiles = require "tests.common.profiles"
local support = require "tests.common.support"

local run, lines = support.run, support.lines

local in_dir, on_terminal
setup(function()
  local dir
  dir, in_dir, on_terminal = support.take_leaking()
  local p = profiles.new()
  local main = p:stack(nil, {source = "@app.lua", name = "", line = 1, maker = "table"})
  for _ = 1, 10 do p:new("table", main, 56) end
  p:write(dir .. "/run.prof")
end)

local questions = {
  "heaptop -n 0 c", "heaptop --json c", "heaptop --garbage c", "heaptop --by epoch c",
  "heaptop --suspects c", "heaptop --under _G c", "heaptop --modules --json c",
  "heaptop --threads c", "heaptop --waste c", "heaptop --waste --json c",
  "heaptop --by epoch --json c", "heapcheck a b c", "heapcheck --json c", "heapdiff a b c",
  "heapdiff a c", "heapdiff --since middle c", "heapdiff --json a b c",
  "heapdiff --fingerprints a b c", "heapdiff --ladder a b c",
  "heapdiff --json --ladder a b c", "heapdiff --owners a c", "heapdiff --json --owners a c",
  "heapdiff --before a b --after b c", "heapdiff --json --before a --after c",
  "heappath c Listener", "heappath --format text c Listener", "heappath --json c Listener",
  "heappath --cut _G --what-if c Listener", "heappath --json --cut Listener c",
  "heappath --set Listener c", "heappath --json --set string c",
  "heappath --set string --format text c", "heappath --referrers c Listener",
  "heappath --referrers --format text c Listener",
  "heapsql c 'select class from objects'", "heapsql --csv a c 'select * from strings'",
  "heapsql --json a c 'select * from edges'", "heapsql --save x c",
  "heappath --dominators c Listener", "heaptop --help", "heapdiff --version",
  "heapprof run.prof", "heapprof --json run.prof", "heapprof --calls run.prof",
  "heapprof --folded run.prof", "heapprof --diff run.prof run.prof",
}

local n_cases, n_survived = 0, 0

-- A test, of `n` broken outputs; with sanitizers one of four questions is asked in each way.
local n_tests = 0
local function broken(n, name, test)
  n_tests = n_tests + 1
  if not support.is_tried(n_tests, 4) then return end
  it(name, function()
    n_cases = n_cases + n
    test()
    n_survived = n_survived + n
  end)
end

describe("output", function()
  teardown(function()
    io.write(("\nfaults: closed pipes and descriptors, full disks: %d cases, %d survived\n")
      :format(n_cases, n_survived))
  end)

  for _, question in ipairs(questions) do
    broken(2, "into a closed pipe ends quietly: " .. question, function()
      local _, err = in_dir("mkfifo p; exec 9<>p 8>p 9<&-; rm p; " .. question .. " >&8 8>&-")
      assert.equal("", err)
      _, err = in_dir(question .. " | head -c 1")
      assert.equal("", err)
    end)

    broken(2, "that cannot be written is a failure: " .. question, function()
      for target, reason in pairs {["/dev/full"] = "No space left on device",
                                   ["&-"] = "Bad file descriptor"} do
        local _, err, code = in_dir(question .. " >" .. target)
        assert.equal(2, code)
        assert.matches("^" .. question:match "%w+" .. ": [^\n]*" .. reason .. "\n$", err)
      end
    end)

    broken(1, "needs no other descriptor: " .. question, function()
      local expected = in_dir(question)
      local out, _, code = in_dir(question .. " 2>&- <&-")
      assert.equal(expected, out)
      assert.equal(0, code)
    end)

    broken(0, "is coloured only where it should be: " .. question, function()
      assert.not_matches("\27", (in_dir(question)))
      if question:find "^heapcheck" then return end -- which has no colours
      assert.not_matches("\27", (in_dir(question .. " --color=never")))
    end)
  end

  broken(8, "says why it cannot be written where all but the buffer's end was lost", function()
    for length = 4065, 4072 do -- with the line above it 4,096 bytes, which is a buffer
      local query = ("select printf('%%.*c', %d, 'x')"):format(length)
      local _, err, code = in_dir(('heapsql --csv c "%s" >/dev/full'):format(query))
      assert.same({"heapsql: cannot write the results: No space left on device\n", 2}, {err, code})
    end
  end)

  broken(4, "says no without a word more where stderr is closed or full", function()
    for _, target in ipairs {"&-", "/dev/full"} do
      local out, _, code = in_dir("heappath c NoSuchClass 2>" .. target)
      assert.same({"", 1}, {out, code})
      out, _, code = in_dir("heaptop nosuch 2>" .. target)
      assert.same({"", 2}, {out, code})
    end
  end)

  it("is coloured by --color=always, even into a pipe", function()
    assert.matches("\27%[1m", (in_dir "heapdiff --color=always a b c"))
    assert.matches("\27%[1m", (in_dir("heapdiff --color=always a b c", {env = {NO_COLOR = "1"}})))
  end)

  it("shows whole paths into a pipe, and wraps on a terminal, but never a name", function()
    local name = ("long_name_"):rep(12)
    local holder = ([[
      local heap = require "heap"
      NAME = {part = {1, 2, 3}}
      NAME_big = setmetatable({}, {__name = "NAME"})
      for _, file in ipairs {"a", "b", "c"} do
        for i = 1, 10000 do NAME_big[#NAME_big + 1] = {("x"):rep(100) .. #NAME_big} end
        heap.snapshot(file)
      end
    ]]):gsub("NAME", name)
    local wide = select(2, support.lua(holder))
    local words = {"heaptop", "--by", "object", "--type", "table", "-n", "0", "c"}
    assert.matches("_G%." .. name .. "%.part\n", (run(words, {cwd = wide})))
    local n_wide = 0
    local function fits_screen(command)
      local out = support.on_terminal(command, {cwd = wide, env = {NO_COLOR = "1"}})
      if not out then return end
      local widest = 0 -- of the lines of tables, which have two blanks between columns
      for _, line in ipairs(lines(out)) do
        local is_long = line:find(name, 1, true) or line:find "%[userdata: 0x%x+%]"
        if line:find "  " and not is_long then widest = math.max(widest, utf8.len(line)) end
      end
      assert.is_true(widest <= 80, out)
      assert.not_match("long_name", (out:gsub(name, "")), command)
      n_wide = n_wide + (widest > 70 and 1 or 0)
    end
    for _, command in ipairs {
      "heaptop c", "heaptop --by object -n 30 c", "heaptop --by object --bytes -n 30 c",
      "heaptop --by epoch c", "heaptop --modules c", "heaptop --under root -n 30 c",
      "heaptop --waste c", "heaptop --threads c", "heaptop --class string c",
      "heaptop --growing c", "heapdiff a b c", "heapdiff --bytes a b c", "heapdiff a c",
      "heapdiff --ladder a b c", "heapdiff --owners a c", "heapdiff --before a b --after b c",
      "heappath --referrers c " .. name .. ".part", "heappath c " .. name .. ".part",
      "heappath --dominators c " .. name .. ".part",
      "heapsql c 'select class, path, retained from objects limit 30'",
    } do fits_screen(command) end
    assert.is_true(n_wide == 0 or n_wide > 6, n_wide) -- 0: no terminal
  end)

  it("names the columns that a narrow terminal has no room for, and keeps keys whole", function()
    local narrow = select(2, support.lua [[
      local heap = require "heap"
      users = {["a key. of [several] words, and more of it"] = {rows = {}}}
      for _, name in ipairs {"a", "b", "c"} do
        for _, user in pairs(users) do
          for i = 1, 9 do user.rows[#user.rows + 1] = {row = i} end
        end
        heap.snapshot(name)
      end
    ]])
    local out = support.on_terminal("heapdiff a b c", {cwd = narrow, env = {NO_COLOR = "1"}})
    if not out then return end
    assert.match('%["a key. of %[several%] words, and more of it"%]\n', out)
    assert.match("  in each snapshot  ", out, 1, true)
    assert.match(" 9 %-> 18 %-> 27  ", out)
    assert.match("\nLeft out for want of room: shallow, example\n", out)
    assert.match("\nLeft out for want of room: bytes, class\n", out)
    assert.not_match("Left out", (run({"heapdiff", "a", "b", "c"}, {cwd = narrow})))
    out = support.on_terminal("heapdiff --ladder a b c", {cwd = narrow, env = {NO_COLOR = "1"}})
    assert.match("  720 B %-> 2.1 KB +27  ", out)
    assert.match("\nLeft out for want of room: a step, bytes, with what they retain\n", out)
  end)

  it("ends the lines of sentences between words, and no command", function()
    local folder = select(2, support.lua [[
      local heap = require "heap"
      local the_requests_of_this_server, one_of_them = {by_number = {}}, {1}
      for _, name in ipairs {"a", "b", "c"} do
        for i = 1, 500 do
          table.insert(the_requests_of_this_server.by_number, {the_body_of_the_request = {i}})
        end
        heap.snapshot(name)
      end]])
    local env = {env = {NO_COLOR = "1"}, cwd = folder}
    local told = run({"heaptop", "--leaks", "c"}, {cwd = folder})
    local first = "_requests_of_this_server in main chunk @program.lua of main thread"
    assert.matches(first .. ").by_number[*] grows: 1,500 ", told, 1, true)
    for command, expected in pairs {
      ["heaptop --leaks c"] = told,
      ["heappath c @program.lua:0"] = run({"heappath", "c", "@program.lua:0"}, {cwd = folder}),
    } do
      local out = support.on_terminal(command, env)
      if not out then return end
      local is_narrow = true
      for _, line in ipairs(lines(out)) do is_narrow = is_narrow and utf8.len(line) <= 80 end
      assert.is_true(is_narrow, out)
      if command:find "top" then
        assert.equal(expected:gsub("%s+", " "), (out:gsub("%s+", " ")))
        assert.matches("\n    Why it stays: heappath c 0x%x+\n", out)
      end
    end
  end)

  it("breaks no number, however wide the terminal is", function()
    local tracked = select(2, support.lua [[
      local heap = require "heap"
      heap.track()
      rows = {}
      for _, name in ipairs {"a", "b", "c"} do
        for i = 1, 2000 do rows[#rows + 1] = {row = i} end
        heap.snapshot(name)
      end
    ]])
    for width = 60, 100 do
      local out = support.on_terminal(("stty cols %d; heapdiff a b c"):format(width),
                                      {cwd = tracked, env = {NO_COLOR = "1"}})
      if not out then return end
      assert.match("made there stay", (out:gsub(" *\n +", " ")))
      assert.not_match("%d,\n", out)
    end
  end)

  it("leaves out columns wherever a table has no room, also on a wide terminal", function()
    local folder = select(2, support.lua [[
      local heap = require "heap"
      local function enter() for i = 1, 900 do rooms[#rooms + 1] = {text = i, words = {i}} end end
      package.loaded.a_module_of_some_length = {enter = enter}
      rooms = {}
      for name in ("abcde"):gmatch "." do enter() heap.snapshot(name) end
    ]])
    for _, width in ipairs {90, 119, 120, 130, 145, 160} do
      local out = support.on_terminal(("stty cols %d; heapdiff a b c d e"):format(width),
                                      {cwd = folder, env = {NO_COLOR = "1"}})
      if not out then return end
      for _, line in ipairs(lines(out:match("\n\n.*"))) do assert.is_true(#line <= width, out) end
      assert.match("  _G%.rooms%[%*%]", out)
    end
  end)

  it("fits a narrow terminal, with the names of files in one piece", function()
    local folder = select(2, support.lua [[
      local heap = require "heap"
      local code = "local rooms = {} for i = 1, 30 do rooms['room ' .. i] = {} end " ..
        "return function() for _, room in pairs(rooms) do room[#room + 1] = {text = 1} end end"
      enter = load(code, "@/srv/www/applications/chat/rooms.lua")()
      for _, name in ipairs {"a", "b", "c"} do for _ = 1, 9 do enter() end heap.snapshot(name) end
    ]])
    local out = support.on_terminal("heapdiff a b c", {cwd = folder, env = {NO_COLOR = "1"}})
    if not out then return end
    local places = 0
    for _, line in ipairs(lines(out:match("\n\n.*"))) do
      assert.is_true(#line <= 80, line)
      assert.not_matches("@/$", line)
      if line:find "%.lua" then
        assert.matches("rooms%.lua:1", line)
        places = places + 1
      end
    end
    assert.equal(2, places)
  end)

  it("shows a long key by its beginning, which finds the object", function()
    local dir_of_keys = select(2, support.lua [[
      local function key(c) return "\u{200E}" .. ("k"):rep(60) .. c:rep(400) end
      long = {[key "a"] = {part = {1}}, [key "b"] = {part = {1, 2, 3}}}
      require "heap".snapshot "c"
    ]])
    local function ask(expression)
      return (run({"heappath", "--format", "text", "c", expression}, {cwd = dir_of_keys}))
    end
    local shown = '_G.long["\\u{200E}' .. ("k"):rep(53) .. '..."].part'
    local out = ask(shown)
    assert.matches("2 objects like that in the snapshot", out)
    assert.matches('\n["\\u{200E}' .. ("k"):rep(53) .. '..."]  ', out, 1, true)
    for _, line in ipairs(lines(out:match "\n\n(.*)")) do assert.is_true(#line <= 140, line) end
  end)

  it("is no file called - where stdout was meant", function()
    for command, option in pairs {["heapattach -o - 1"] = "-o", ["heapview -o - c"] = "-o",
                                  ["heapsql --save - c"] = "--save"} do
      local out, err, code = in_dir(command)
      assert.same({"", 2}, {out, code}, command)
      assert.matches("^heap%l+: " .. option:gsub("%p", "%%%0") ..
                     " writes a file, .* never to stdout", err)
    end
    assert.equal(2, (select(3, in_dir "ls ./-")))
  end)

  it("is no half of a JSON document where a command fails", function()
    for _, command in ipairs {"heappath --json --cut nosuch c", "heappath --json --cut _G.nosuch c",
        "heappath --json --what-if --cut [ c", "heappath --json c nosuch",
        "heappath --json --set nosuch c",
        "heaptop --json --class nosuch c", "heaptop --json --under nosuch c",
        "heapdiff --json --since nosuch c", "heapdiff --json a b nosuch"} do
      local out, err, code = in_dir(command)
      assert.equal("", out, command)
      assert.matches("^heap%l+: ", err, command)
      assert.not_equal(0, code, command)
    end
  end)

  it("on a terminal is text and coloured, unless NO_COLOR says no", function()
    local out = on_terminal "heappath c Listener"
    if not out then return end
    assert.matches("is kept alive by", out)
    assert.matches("\27%[1m", out)
    for _, environment in ipairs {{NO_COLOR = "1"}, {TERM = "dumb"}} do
      assert.not_matches("\27", (on_terminal("heappath c Listener", {env = environment})))
    end
    assert.matches("\27%[1m", (on_terminal("heappath c Listener", {env = {NO_COLOR = ""}})))
  end)

  it("has exact figures with --bytes", function()
    local out = in_dir "heaptop --bytes c"
    assert.not_matches("%d [KMG]B", out)
    assert.matches('collectgarbage%("count"%) +[%d,]+ B', out)
  end)
end)
