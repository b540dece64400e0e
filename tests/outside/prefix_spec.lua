-- prefix_spec.lua - heapattach on programs whose allocators put a header in front of each block:
-- idle, stopped, and as cores. Such a header is no extra space of Lua's.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local support = require "tests.common.support"

describe("a header in front of each block", function()
  if not hosts.may_look() then return pending(hosts.refusal) end
  local program = support.build .. "/tests/prefix_host"
  local has_gcore = select(3, support.run "command -v gcore") == 0

  local function whole(dir, ...)
    local told = cjson.decode(support.answer({"heapattach", "--json", "-o", "a", ...}, dir))
    assert.equal(0, told.snapshots[1].unaccounted_bytes)
    assert.is_false(told.snapshots[1].in_doubt)
    assert.truthy(support.answer("heapcheck a", dir):find("ok:", 1, true))
    return told.snapshots[1].bytes
  end

  for _, bytes in ipairs {0, 8, 16, 24, 32, 48, 64} do
    for _, coroutines in ipairs {0, 300} do
      it(("of %d bytes, with %d coroutines"):format(bytes, coroutines), function()
        local dir = support.tmpdir()
        local pid = support.answer(("mkfifo in out; '%s' %d %d <in >out & echo $!"):format(
          program, bytes, coroutines), dir):match("%d+")
        local to, from = assert(io.open(dir .. "/in", "w")), assert(io.open(dir .. "/out"))
        assert.equal("ready", from:read())

        local size = whole(dir, pid)
        assert.equal(size, whole(dir, "--stop", pid))
        support.answer({"kill", "-STOP", pid})
        assert.equal(size, whole(dir, pid))
        support.answer({"kill", "-CONT", pid})
        if has_gcore then
          local out, err, code = support.run({"gcore", "-o", "core", pid}, {cwd = dir})
          assert(code == 0 or (out .. err):find("ptrace", 1, true), out .. err)
          if code == 0 then assert.equal(size, whole(dir, "core." .. pid)) end
        end

        to:write("\n")
        to:close()
        assert.equal("done\n", from:read("a"))
        from:close()
      end)
    end
  end
end)
