-- workers_spec.lua - a master with a Lua state of its own, and its workers, which run Lua, too.

local cjson = require "cjson"
local hosts = require "tests.common.hosts"
local lfs = require "lfs"
local support = require "tests.common.support"

local N_WORKERS = 3

local function heapattach(words, dir)
  return support.run({"heapattach", table.unpack(words)}, {cwd = dir})
end

local function decode_lines(text)
  local decoded = {}
  for line in text:gmatch "[^\n]+" do decoded[#decoded + 1] = cjson.decode(line) end
  return decoded
end

-- Each is asked in the order of their numbers.
local function workers_of(process_id)
  local out, err, code = heapattach {"--list", "--json", process_id}
  assert.equal(0, code, err)
  local ids = {}
  for i, worker in ipairs(cjson.decode(out).workers) do
    assert.equal(1, worker.states)
    ids[i] = math.tointeger(worker.process)
  end
  return ids
end

-- What a worker has and the master has not.
local function has_requests(file, dir)
  local out = support.run({"heappath", file, "_G.requests[1000].path"}, {cwd = dir})
  return out:find("/1000", 1, true) ~= nil
end

describe("a master and its workers", function()
  if not hosts.may_look() then return pending(hosts.refusal) end

  local host, dir, ids

  before_each(function()
    host = hosts.program {support.build .. "/tests/prefork_host"}
    host.wait "ready"
    dir = support.tmpdir()
    ids = workers_of(host.process_id)
  end)

  after_each(function() host.stop() end)

  it("are told by --list", function()
    local out, err, code = heapattach {"--list", host.process_id}
    assert.same({0, N_WORKERS}, {code, #ids})
    assert.matches("^1 Lua state in " .. host.process_id, out)
    for _, id in ipairs(ids) do assert.matches("    heapattach %-%-list " .. id .. " ", err) end
    assert.matches("    heapattach %-%-list %-%-workers " .. host.process_id .. " ", err)
  end)

  it("are named where they are left out", function()
    local said = "heapattach: left out: 3 processes that it has started and that run Lua 5.4 " ..
                   "or 5.5, too: " .. table.concat(ids, ", ") .. "\n    heapattach "
    local _, err, code = heapattach({"-o", "a", host.process_id}, dir)
    assert.equal(0, code)
    assert.equal(1, (err:find(said .. "--workers -o a ", 1, true)))
    local out, series_err = heapattach({"--every", "0.1", "--max", "2", "-d", ".",
                                        host.process_id}, dir)
    assert.equal(1, (series_err:find(said .. "--every 0.1 --max 2 --workers -d . ", 1, true)))
    assert.is_nil(series_err:find("left out", 20, true), out)
    local json, json_err = heapattach({"--json", "-o", "b", host.process_id}, dir)
    assert.equal(1, (json_err:find(said, 1, true)))
    local told = cjson.decode(json).workers
    for i, id in ipairs(ids) do assert.equal(id, told[i].process) end
    assert.equal(N_WORKERS, #told)
  end)

  it("are taken in one go, and again", function()
    local all = {host.process_id, table.unpack(ids)}
    local _, err, code = heapattach({"--workers", "-o", "a", host.process_id}, dir)
    assert.same({"", 0}, {err, code})
    os.remove(dir .. "/a-" .. ids[1]) -- as of a worker that is new
    local out, _, again = heapattach({"--workers", "--json", "--after", "a", "-o", "b",
                                      host.process_id}, dir)
    assert.equal(0, again)
    local taken = decode_lines(out)
    assert.equal(#all, #taken)
    for i, id in ipairs(all) do
      local snapshot = taken[i].snapshots[1]
      assert.same({id, "b-" .. id}, {taken[i].process, snapshot.file})
      assert.equal(id == ids[1] and cjson.null or "a-" .. id, snapshot.after)
      assert.equal(i > 1, has_requests("b-" .. id, dir))
    end
  end)

  it("are listed, and taken in series", function()
    local out, err, code = heapattach {"--workers", "--list", "--json", host.process_id}
    assert.same({"", 0}, {err, code})
    for i, list in ipairs(decode_lines(out)) do
      assert.same({ids[i - 1] or host.process_id, 1}, {list.process, #list.states})
    end
    local lines, series_err, series_code = heapattach(
      {"--workers", "--every", "0.1", "--max", "2", "--json", host.process_id}, dir)
    local n_rounds = {}
    assert.same({"", 0}, {series_err, series_code})
    for _, round in ipairs(decode_lines(lines)) do
      n_rounds[round.process] = (n_rounds[round.process] or 0) + 1
    end
    for i = 0, N_WORKERS do assert.equal(2, n_rounds[ids[i] or host.process_id]) end
  end)

  it("do not fail with each other", function()
    assert.is_true(lfs.mkdir(dir .. "/a-" .. ids[2]))
    local _, err, code = heapattach({"--workers", "-o", "a", host.process_id}, dir)
    assert.equal(2, code)
    assert.matches("^heapattach: [^\n]*a%-" .. ids[2] .. "[^\n]*\n$", err)
    for _, id in ipairs {host.process_id, ids[1], ids[3]} do
      assert.equal("file", lfs.attributes(dir .. "/a-" .. id, "mode"))
    end
  end)
end)

describe("--workers", function()
  it("is for processes that are asked once", function()
    for _, words in ipairs {{"--workers", "--watch", "4711"}, {"--workers", "-o", "a", "core"}} do
      local _, err, code = heapattach(words)
      assert.equal(2, code)
      assert.matches("%-%-workers", err)
    end
  end)
end)
