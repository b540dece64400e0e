---@meta heap.reader_rows
-- reader_rows_meta.lua - the rows of the reports of heap.reader, for people and for the Lua
-- language server (reader_meta.lua). They are plain tables, with the keys of the commands' --json.
-- What several reports have is where the first of them is. The build writes it (columns.c).

-- ==== Of a snapshot ======================================================================

-- >>> info classes

-- >>> heap.object heap.edge heap.site heap.stack heap.tracking heap.mark_row

-- What the live calls tell of an object (heap/meta.lua).
-- >>> heap.row
---@field object? any the object itself, not kept alive by the row; nil: gone, or no value of Lua
---(an upvalue, a prototype, the root)

-- >>> epochs leaks growing class waste set cut

---@class heap.what_if
---@field object? heap.object that was asked for

---@class heap.cut_row
---@field cut heap.cut what was given for it

-- >>> suspects sites modules threads

-- ==== Of several snapshots, and by marks =================================================

-- Of snapshots of one Lua state, and by marks.
-- >>> diff

-- Of snapshots of different ones.
-- >>> apart strings under ladder compare owners

-- ==== Of a profile =======================================================================

-- >>> profile findings allocations calls advice allocation_changes
