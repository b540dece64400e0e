-- tamper_spec.lua - programs that lay hands on what luaheap has in the registry, and on its
-- userdata, with the debug library: each call answers or raises an error, and nothing crashes.
--
-- One thing is left out, as it is Lua's own: a userdata with the metatable of files, whose
-- finalizer believes it. (tests/hostile/test_tamper.c has marks, and what looks like them.)

local support = require "tests.common.support"

-- use_all() calls whatever can be called; `own` are the keys of luaheap in the registry.
local prelude = [==[
  local heap, reader, auto = require "heap", require "heap.reader", require "heap.auto"
  local registry, calls = debug.getregistry(), 0
  local Thing = {__name = "Thing"}
  things = {}
  for i = 1, 5 do things[i] = setmetatable({}, Thing) end
  heap.snapshot "a"
  local last = {}

  local function try(f, ...)
    calls = calls + 1
    local function results(ok, ...) if ok then return ... end end
    return results(pcall(f, ...))
  end

  local function method(o, name, ...)
    return try(function(...) return o[name](o, ...) end, ...)
  end

  local function use_object(o, s)
    if not o then return end
    for _, name in ipairs {"paths", "referrers", "edges", "entries", "under", "text",
                           "dominators"} do
      last[name] = method(o, name) or last[name]
    end
    last.path = method(o, "path") or last.path
    last.edge = try(function() return o:referrers()[1] end) or last.edge
    try(function() return o.class, o.retained_bytes, o.snapshot end)
    try(function() return tostring(o), o:path().text, o == o end)
    try(function() return o:edges():copy()(), o:edges()().label end)
    method(s, "what_if", {o, last.edge}, o)
    method(s, "retained", {o})
  end

  local function use_reader()
    local s = try(reader.open, "a")
    if not s then return end
    for _, name in ipairs {"classes", "top", "marks", "epochs", "suspects", "modules", "threads",
                           "verify", "objects", "growing", "waste"} do
      last[name] = method(s, name) or last[name]
    end
    try(function() return s.info, s.file, s.closed, s.root, #s, tostring(s) end)
    for o in pairs {[method(s, "object", "_G.things") or 1] = 1} do use_object(o, s) end
    try(function() return s:objects()(), s:top(2)[1].class, #s:top(2) end)
    method(s, "diff", s)
    try(reader.growth, {"a", "a"})
    last.reader, last.object = s, method(s, "object", "_G.things") or last.object
    return s
  end

  local function use_capture()
    local c = try(heap.capture)
    if not c then return end
    for _, name in ipairs {"path", "paths", "referrers", "retained"} do method(c, name, things) end
    for _, name in ipairs {"count", "classes", "top", "suspects"} do method(c, name) end
    method(c, "save", "b")
    try(function() return c.reader:object(1), tostring(c), c:diff(c) end)
    last.capture = c
    return c
  end

  local function use_all()
    last.job = try(heap.snapshot, "c", {background = true}) or last.job
    for _, name in ipairs {"done", "pid", "wait"} do method(last.job, name) end
    try(heap.snapshot, "c")
    try(heap.mark, "x")
    try(heap.mark)
    for _, f in ipairs {heap.stats, heap.sizeof, heap.path, heap.retained, heap.count, heap.classes,
                        heap.top, heap.objects, heap.show, heap.referrers} do
      try(f, things)
      try(f)
    end
    try(heap.objects, "Thing")
    try(heap.since, "x")
    try(heap.each, function() end, {type = "thread"})
    try(heap.diff, function() kept = {} end)
    try(auto.start, {signal = "URG", dir = ".", oom = true})
    os.execute("kill -URG $PPID")
    try(auto.stop)
    try(auto.start, {signal = "URG", dir = "."})
    use_reader()
    use_capture()
    collectgarbage()
  end

  use_all()
  try(heap.leaks, function() kept = {} end, {warm_up = 1, runs = 8})
  local own = {}
  for k, v in pairs(registry) do
    if type(k) == "userdata" or tostring(k):find("^heap%.") then own[#own + 1] = k end
  end
  table.sort(own, function(a, b) return tostring(a) < tostring(b) end)
]==]

local function run(program, ...)
  local options = {fails = true, args = {...}}
  local out, _, err, code = support.lua(prelude .. program, options)
  assert.equal(0, code, out .. err)
  return tonumber(out:match("(%d+)\n$"))
end

describe("a program that", function()
  it("overwrites luaheap's entries in the registry", function()
    local calls = 0
    for value = 1, 9 do
      calls = calls + run([==[
        assert(#own > 12)
        local value, one_in = tonumber(arg[1]), tonumber(arg[2])
        for i, key in ipairs(own) do
          if (i + value) % one_in > 0 then goto next end
          local next_key = own[i % #own + 1]
          local values = {42, {}, io.stdout, coroutine.create(print), next_key, registry[next_key],
                          registry["FILE*"], print, false}
          local was = registry[key]
          registry[key] = values[value]
          use_all()
          registry[key] = was
          ::next::
        end
        for _, key in ipairs(own) do registry[key] = nil end
        use_all()
        print(calls)
      ]==], value, support.is_tried(2, 3) and 1 or 3) -- with sanitizers a third of the keys
    end
    io.write(("\nfaults: entries of the registry overwritten: %d calls, %d survived\n")
      :format(calls, calls))
  end)

  it("lets the collector have what was in the registry", function()
    run [==[
      assert(auto.start {exit = true} == nil) -- it is watched
      for _, key in ipairs(own) do registry[key] = nil end
      for _ = 1, 3 do collectgarbage() end
      use_all()
      for _ = 1, 3 do collectgarbage() end
      os.execute("kill -URG $PPID")
      print(calls)
      os.exit(0)
    ]==]
  end)

  it("takes user values and metatables away, and gives others", function()
    local calls = run [==[
      local function all()
        local list = {}
        for k, v in pairs(last) do if type(v) == "userdata" then list[#list + 1] = v end end
        for _, key in ipairs(own) do
          if type(registry[key]) == "userdata" then list[#list + 1] = registry[key] end
        end
        return list
      end
      assert(#all() > 12)
      for _, value in ipairs {false, 42, {}, io.stdout, coroutine.create(print), last.reader,
                              last.object, registry[own[1]], registry[own[2]]} do
        for place = 1, 2 do
          for _, u in ipairs(all()) do debug.setuservalue(u, value or nil, place) end
          collectgarbage()
          for _, u in ipairs(all()) do
            use_object(u, u)
            try(tostring, u)
            for _, name in ipairs {"class", "info", "label", "copy", "reader", "file", "wait", 1} do
              try(function() return u[name] end)
            end
            try(function() return u(), #u end)
          end
          use_all()
        end
      end
      local metatables, methods = {false}, {}
      for _, u in ipairs(all()) do metatables[#metatables + 1] = debug.getmetatable(u) end
      for _, m in ipairs(metatables) do
        for name, f in pairs(m or {}) do
          if type(f) == "function" then methods[#methods + 1] = f end
        end
      end
      local strangers = {io.tmpfile(), io.stdout, own[1], 42, {}, "x", print}
      for _, u in ipairs(all()) do strangers[#strangers + 1] = u end
      for _, f in ipairs(methods) do
        for _, u in ipairs(strangers) do
          try(f, u)
          try(f, u, "path")
          try(f, u, 1)
        end
        try(f)
      end
      for i, m in ipairs(metatables) do
        for _, u in ipairs(all()) do
          local was = debug.getmetatable(u)
          debug.setmetatable(u, m or nil)
          for _, name in ipairs {"path", "close", "wait", "class", "objects", "copy", 1} do
            method(u, name)
          end
          try(function() return tostring(u), u(), #u end)
          debug.setmetatable(u, was)
        end
        local file = io.tmpfile()
        local was = debug.getmetatable(file)
        debug.setmetatable(file, m or nil)
        for _, name in ipairs {"path", "close", "wait", "class", "objects", "copy", 1} do
          method(file, name)
        end
        debug.setmetatable(file, was)
        use_all()
      end
      print(calls)
    ]==]
    io.write(("\nfaults: userdata tampered with: %d calls, %d survived\n"):format(calls, calls))
  end)
end)
