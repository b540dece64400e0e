-- heapcheck_spec.lua - heapcheck's lines, and what all commands say about a file that is no whole
-- snapshot, or that changes while it is read. What heapcheck finds in forged files is tested in
-- tests/read/test_verify.c, and that good files have nothing of it wherever the specs read heaps.

local cjson = require "cjson"
local lfs = require "lfs"
local support = require "tests.common.support"

local run, quote = support.run, support.quote

local program = [[
  local heap = require "heap"
  list = {}
  for i = 1, 3000 do list[i] = {id = i, name = "object " .. i} end
  heap.snapshot "big"
  list = {}
  collectgarbage()
  heap.snapshot "good"
]]

local dir, good
setup(function()
  dir = select(2, support.lua(program))
  good = support.read_file(dir .. "/good")
end)

local function in_dir(command) return run(command, {cwd = dir}) end

describe("heapcheck", function()
  it("says what is in a good file", function()
    local out, err, code = in_dir {"heapcheck", "--bytes", "good"}
    assert.equal("", err)
    assert.equal(0, code)
    local objects, bytes, edges, file =
      out:match "^good: ok: ([%d,]+) objects, ([%d,]+) B, ([%d,]+) edges, ([%d,]+) B in the file\n$"
    local function number(text) return tonumber((text:gsub(",", ""))) end
    local snapshot = cjson.decode((in_dir {"heaptop", "--json", "good"})).snapshot
    assert.equal(snapshot.objects, number(objects))
    assert.equal(snapshot.bytes, number(bytes))
    assert.equal(#good, number(file))
    assert.is_true(number(edges) > snapshot.objects)
  end)

  it("says how many bytes are unaccounted", function()
    local other = select(2, support.lua [[
      local heap, pieces = require "heap", {"local a, b = {}, ", "{}", " return a"}
      load(function()
        if #pieces == 1 then heap.snapshot("s") end
        return table.remove(pieces, 1)
      end)
    ]])
    local out, err, code = run {"heapcheck", other .. "/s"}
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches(" in the file, %d+ B unaccounted\n$", out)
  end)

  it("goes on after a bad file", function()
    support.write_file(dir .. "/cut", good:sub(1, -2))
    local out, err, code = in_dir {"heapcheck", "good", "cut", "missing", "good"}
    assert.equal(2, code)
    assert.matches("^good: ok: [^\n]+\ngood: ok: [^\n]+\n$", out)
    assert.equal("heapcheck: 'cut' was cut or is not finished: it has no trailer\n" ..
                 "heapcheck: cannot open 'missing': No such file or directory\n", err)
  end)

  it("has its keys in JSON", function()
    local damaged = good:sub(1, 999) .. string.char(good:byte(1000) ~ 1) .. good:sub(1001)
    support.write_file(dir .. "/damaged", damaged)
    local out, err, code = in_dir {"heapcheck", "--json", "good", "damaged", "/dev/null"}
    local files = cjson.decode(out).files
    assert.equal(2, code)
    assert.equal(3, #files)
    assert.equal(#good, files[1].file_bytes)
    assert.equal(0, files[1].unaccounted_bytes)
    assert.is_true(files[1].ok and files[1].edges > files[1].objects and files[1].objects > 100)
    assert.is_true(files[1].gc_bytes > files[1].bytes)
    assert.same({file = "damaged", ok = false, offset = 0, message = files[2].message}, files[2])
    assert.same({file = "/dev/null", ok = false, message = files[3].message}, files[3])
    assert.equal(("heapcheck: %s\nheapcheck: %s\n"):format(files[2].message, files[3].message), err)
  end)
end)

describe("heapcheck of a profile", function()
  local whole = support.read_file(support.root .. "/tests/profile/fixtures/version1")

  it("says what is in it", function()
    support.write_file(dir .. "/run.prof", whole)
    local out, err, code = in_dir {"heapcheck", "--bytes", "run.prof"}
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal(("run.prof: ok: a profile of 10 events, 2 sites, 2 stacks, %d B in the file\n")
                 :format(#whole), out)
    local files = cjson.decode((in_dir {"heapcheck", "--json", "run.prof"})).files
    assert.same({{file = "run.prof", ok = true, aggregate = false, events = 10, lost_events = 0,
                  sites = 2, stacks = 2, file_bytes = #whole}}, files)
  end)

  it("says that it was cut, or is damaged", function()
    support.write_file(dir .. "/cut.prof", whole:sub(1, -2))
    support.write_file(dir .. "/bad.prof", whole:sub(1, 129) .. "\255" .. whole:sub(131))
    local out, err, code = in_dir {"heapcheck", "--bytes", "cut.prof", "bad.prof"}
    assert.equal("", out)
    assert.equal(2, code)
    assert.matches("^heapcheck: 'cut.prof' was cut or is still being written: %d+ B can be " ..
                   "read, of " .. #whole - 1 .. " B\nheapcheck: 'bad.prof' is damaged at byte " ..
                   "%d+: a block does not fit its checksum\n$", err)
  end)
end)

-- ==== What is no snapshot ==============================================================

local commands = {"heaptop FILE", "heapdiff FILE good", "heapdiff good good FILE",
                  "heappath FILE _G", "heapcheck FILE",
                  "heapsql FILE 'select path, key from objects, edges limit 9'"}

-- Whatever is in a file, a command answers it or refuses it, in one line with at most a hint. What
-- heapcheck calls damaged the others may take: they need less of it to be right.
local function survive(file)
  for _, command in ipairs(commands) do
    local name = command:match "%w+"
    local _, err, code = in_dir("timeout 100 " .. command:gsub("FILE", quote(file)))
    assert.is_true(code <= 2, ("%s: %d\n%s"):format(command:gsub("FILE", file), code, err))
    if code == 2 then assert.matches("^" .. name .. ": [^\n]+\n[^\n]*\n?$", err) end
  end
  return #commands
end

-- Each command must end with exit code 2 and its one line, and a hint what to do at most.
local function refuse(file, pattern)
  for _, command in ipairs(commands) do
    local name = command:match "%w+"
    local out, err, code = in_dir("timeout 100 " .. command:gsub("FILE", quote(file)))
    assert.equal(2, code, command .. err)
    assert.equal("", out)
    assert.matches("^" .. name .. ": [^\n]+\n[^\n]*\n?$", err)
    if name == "heapcheck" then assert.matches("^[^\n]+\n$", err) end
    assert.matches(pattern, err)
  end
  return #commands
end

describe("all commands survive", function()
  it("what the fuzzer made", function()
    local corpus, files, n = support.root .. "/tests/fuzz/corpus/", {}, 0
    for file in lfs.dir(corpus) do
      if file:sub(1, 1) ~= "." then files[#files + 1] = file end
    end
    table.sort(files)
    local most = support.is_tried(2, 3) and 25 or 8
    for i = 1, #files, math.ceil(#files / most) do n = n + survive(corpus .. files[i]) end
    io.write(("\nfaults: a sample of the fuzzer's corpus, by all commands: %d cases, %d survived\n")
             :format(n, n))
  end)
end)

describe("all commands refuse", function()
  it("what the system has instead of a file", function()
    assert(lfs.mkdir(dir .. "/directory"))
    support.write_file(dir .. "/empty", "")
    assert.equal(0, select(3, in_dir "mkfifo fifo && ln -s loop loop && ln -s nowhere dangling"))
    local n = refuse("directory", "Is a directory") + refuse("empty", "is empty")
    n = n + refuse("fifo", "no regular file") + refuse("/dev/null", "no regular file")
    n = n + refuse("/dev/zero", "no regular file") + refuse("/dev/tty", "/dev/tty")
    n = n + refuse("loop", "symbolic links") + refuse("dangling", "No such file")
    n = n + refuse("empty/file", "Not a directory") + refuse("/proc/self/mem", "")
    n = n + refuse(("x"):rep(300), "File name too long") + refuse("", "No such file")
    io.write(("\nfaults: what is no file, by all commands: %d cases, %d survived\n"):format(n, n))
  end)

  it("a huge file without reading it", function()
    local _, _, code = in_dir "truncate -s 100G huge"
    if code ~= 0 then return end -- files cannot be so big here
    refuse("huge", "'huge' is not a snapshot")
    assert(os.remove(dir .. "/huge"))
  end)

  -- The last eight bytes say that the file is whole: those are tests/read/test_damage.c's.
  it("a snapshot with a fault, anywhere in it", function()
    local n, places = 0, support.is_tried(1, 2) and 5 or 3
    local function fault(content, pattern)
      support.write_file(dir .. "/bad", content)
      n = n + refuse("bad", pattern)
    end
    fault(good:sub(1, 8) .. "\255" .. good:sub(10), "it takes a newer luaheap")
    fault("\127ELF" .. good, "is not a snapshot of luaheap")
    for i = 0, places - 1 do
      local at = 17 + (#good - 8 - 17) * i // (places - 1)
      fault(good:sub(1, at), "was cut or is not finished")
      fault(good:sub(1, at) .. ("\0"):rep(#good - at), "was cut or is not finished")
      fault(good:sub(1, at - 1) .. string.char(good:byte(at) ~ (1 << i)) .. good:sub(at + 1),
            "is damaged")
      fault(good:sub(1, at) .. "more" .. good:sub(at + 1), "is damaged")
    end
    io.write(("\nfaults: damaged files, by all commands: %d cases, %d survived\n"):format(n, n))
  end)
end)

-- ==== What changes while it is read ====================================================

-- What is asked after the file was opened is answered from what was there then.
describe("a snapshot that changes while it is looked at", function()
  -- A command waits for its reader, which meanwhile does what `change` says, to `file`.
  local function reading(change, command)
    assert.equal(0, select(3, in_dir "cp big file"))
    local line = "(" .. command .. [[; echo "exit $?" >&2) |
                   (head -c 1000; ]] .. change .. "; cat)"
    return in_dir("bash -c " .. quote(line))
  end

  it("is answered as it was, whatever becomes of the file", function()
    local changes = {"truncate -s 100 file", ": >file", "cp good file", "cat big >>file", "rm file",
                     "dd if=/dev/zero of=file bs=64k count=9 conv=notrunc status=none",
                     "cp good new && mv new file"}
    for _, command in ipairs {"heaptop --json -n 0 file",
                              "heapsql --csv good file 'select path, id from file.objects'"} do
      local expected = reading("true", command)
      assert.is_true(#expected > 100000)
      for _, change in ipairs(changes) do
        local out, err = reading(change, command)
        assert.equal("exit 0\n", err, change)
        assert.is_true(out == expected, change)
      end
    end
  end)
end)
