/*
** facts.c - the tables of facts about objects, references, sites and so on, for SQL, Lua and docs.
**
** The order is that of SQL's columns; columns only for Lua come last (rooms/report.h, part 5).
*/
#include "report/report.h"

/* ==== Objects ======================================================================== */

static bool find_code(const lh_snapshot *snapshot, lh_fact_row *fact_row) {
  lh_id proto = fact_row->object.as.closure.proto;
  if (fact_row->object.type == LH_TYPE_PROTO) {
    fact_row->code = fact_row->object;
    return true;
  }
  if (fact_row->object.as.closure.is_c || proto == LH_NO_OBJECT) return false;
  if (lh_type_of(snapshot, proto) != LH_TYPE_PROTO || lh_is_dead(snapshot, proto)) return false;
  if (fact_row->code.id != proto) lh_object_at(snapshot, proto, &fact_row->code);
  return true;
}

bool lh_read_object(const lh_snapshot *snapshot, const lh_column *column, lh_fact_row *fact_row) {
  if ((column->of_types >> lh_type_of(snapshot, fact_row->id) & 1) == 0) return false;
  if (lh_is_dead(snapshot, fact_row->id)) return false;
  if (fact_row->object.id != fact_row->id) lh_object_at(snapshot, fact_row->id, &fact_row->object);
  return !column->is_of_code || find_code(snapshot, fact_row);
}

LH_ITS(bool, is_no_root, lh_fact_row, it->id != LH_ROOT)

#define OBJECT_CELL(name, ...)                                   \
  static void name(lh_report *report, lh_id id, lh_cell *cell) { \
    __VA_ARGS__;                                                 \
  }
OBJECT_CELL(type_of, cell->as.text = lh_type_name(lh_type_of(report->snapshot, id)))
OBJECT_CELL(address_of, cell->as.n = lh_pointer_of(report->snapshot, id))
OBJECT_CELL(dominator_of, cell->as.object = lh_immediate_dominator(report->snapshot, id))
OBJECT_CELL(epoch_of, cell->as.n = id == LH_ROOT ? 0 : lh_epoch(report->snapshot, id))
OBJECT_CELL(reachable_of, cell->as.flag = lh_is_reachable(report->snapshot, id))
OBJECT_CELL(dead_of, cell->as.flag = lh_is_dead(report->snapshot, id))
OBJECT_CELL(own_of, cell->as.flag = lh_is_own(report->snapshot, id))
OBJECT_CELL(list_of, cell->as.text = lh_list_name(lh_list_of(report->snapshot, id)))

static void folded_path_of(lh_report *report, lh_id id, lh_cell *cell) {
  char *path = NULL;
  if (id == LH_ROOT || !lh_is_reachable(report->snapshot, id)) return;
  (void)lh_held_by(report->snapshot, id, &path, NULL);
  cell->as.text = lh_kept(report, path);
}

static void site_of(lh_report *report, lh_id id, lh_cell *cell) {
  lh_stack_id stack = lh_object_stack(report->snapshot, id);
  if (stack != 0)
    cell->as.text = lh_kept(report, lh_stack_text(lh_snapshot_sites(report->snapshot), stack, 0));
}

static void stack_of(lh_report *report, lh_id id, lh_cell *cell) {
  lh_stack_id stack = lh_object_stack(report->snapshot, id);
  cell->as.object = stack != 0 ? stack : LH_NO_OBJECT;
}

LH_CELL(metatable_of, lh_fact_row,
        cell->as.object = it->object.type == LH_TYPE_TABLE ? it->object.as.table.metatable
                                                           : it->object.as.userdata.metatable)
LH_CELL(weak_mode_of, lh_fact_row, cell->as.text = lh_weak_mode_name(&it->object))
LH_CELL(file_of, lh_fact_row, cell->as.object = it->code.as.proto.source)
LH_CELL(parameters_of, lh_fact_row, cell->as.n = it->code.as.proto.parameters)

#define ROW lh_fact_row
#define OF_OBJECT(key, kind, function, ...) \
  LH_OF(key, NULL, LH_COLUMN_##kind, id, function, __VA_ARGS__)
#define ID(meaning) LH_ID("id", id, meaning)
#define TYPE(meaning) OF_OBJECT("type", TEXT, type_of, meaning)
#define ADDRESS \
  OF_OBJECT("address", HEX, address_of, "as Lua prints it: 0x55d0c0a3f2e0", LH_WHERE(is_no_root))
#define SITE(...)                  \
  OF_OBJECT("site", TEXT, site_of, \
            "where it was allocated, if that was tracked: @app/bus.lua:31 in Bus:on", __VA_ARGS__)
#define CLASS(meaning) OF_OBJECT("class", TEXT, lh_cell_class, meaning, LH_NEEDS(CLASSES))
#define SHALLOW(meaning) OF_OBJECT("shallow_bytes", BYTES, lh_cell_shallow, meaning)
#define RETAINED(meaning) \
  OF_OBJECT("retained_bytes", BYTES, lh_cell_retained, meaning, LH_NEEDS(ANALYSIS))
#define DOMINATOR(key, ...) \
  OF_OBJECT(key, EXAMPLE, dominator_of, __VA_ARGS__, LH_NEEDS(ANALYSIS), LH_OPTIONAL)
#define TABLE_COUNT(key, meaning) \
  LH_COUNT(#key, NULL, object.as.table.key, meaning, LH_OF_TYPE(TABLE), LH_HIDDEN)
#define LENGTH \
  LH_COUNT("length_bytes", NULL, object.as.string.length, "bytes of a string", LH_OF_TYPE(STRING))
#define KEPT                                                                                     \
  LH_COUNT("kept_bytes", NULL, object.as.string.kept, "bytes of a string that the snapshot has", \
           LH_OF_TYPE(STRING))
#define EXTERNAL                                                                            \
  LH_BYTES("external_bytes", NULL, object.as.string.external_bytes,                         \
           "of a string: those of its own bytes that collectgarbage(\"count\") leaves out", \
           LH_OF_TYPE(STRING), LH_HIDDEN)
#define FIXED                                                                     \
  LH_FLAG("is_fixed", object.as.string.is_fixed,                                  \
          "the text of a string is memory that nobody frees, and is not counted", \
          LH_OF_TYPE(STRING), LH_HIDDEN)
#define STATUS                                                                        \
  LH_WORD("status", NULL, object.as.thread.status, lh_thread_status_name,             \
          "of a thread: suspended, running, normal, not started, finished or failed", \
          LH_OF_TYPE(THREAD))
#define IS_MAIN \
  LH_FLAG("is_main", object.as.thread.is_main, "it is the main thread", LH_OF_TYPE(THREAD))
#define STACK_SLOTS                                           \
  LH_COUNT("stack_slots", NULL, object.as.thread.stack_slots, \
           "values that its stack has room for", LH_OF_TYPE(THREAD))

const lh_table lh_object_facts = LH_TABLE_OF(
    "heap.object", "object", "objects", ID("its number"),
    TYPE("table, string, closure, upvalue, proto, userdata or thread; root, of the root"),
    CLASS("what people call it, as in heaptop"), ADDRESS, SHALLOW("its own bytes"),
    RETAINED("the bytes that would be freed if it went; 0 for garbage"),
    DOMINATOR("immediate_dominator",
              "of all objects that would free it if they went, the nearest; none for garbage"),
    OF_OBJECT("distance", COUNT, lh_cell_distance,
              "references on the shortest path from the root; none for garbage", LH_NEEDS(ANALYSIS),
              LH_OPTIONAL),
    OF_OBJECT("epoch", COUNT, epoch_of, "how many marks are older than it"),
    OF_OBJECT("reachable", FLAG, reachable_of, "something keeps it alive; else it is garbage",
              LH_NEEDS(ANALYSIS)),
    LH_OF(NULL, NULL, LH_COLUMN_TEXT, id, lh_cell_path,
          "the retaining path, folded if it is long; none for garbage", LH_SQL_ONLY("path"),
          LH_NEEDS(CLASSES), LH_HIDDEN, LH_OPTIONAL),
    OF_OBJECT("held_by", TEXT, folded_path_of,
              "the path with all that varies folded: _G.cache[*]; none for garbage",
              LH_NEEDS(CLASSES), LH_HIDDEN, LH_OPTIONAL),
    SITE(LH_OPTIONAL, LH_HIDDEN),
    LH_OF(NULL, NULL, LH_COLUMN_ID, id, stack_of, "the same with its callers: a row of stacks",
          LH_SQL_ONLY("stack"), LH_HIDDEN, LH_OPTIONAL),
    OF_OBJECT("list", TEXT, list_of, "of the collector: allgc, finobj, tobefnz or fixedgc",
              LH_HIDDEN, LH_WHERE(is_no_root)),
    LH_COMPUTED("metatable", NULL, LH_COLUMN_EXAMPLE, metatable_of, "of a table or a userdata",
                LH_HIDDEN, LH_OPTIONAL, .of_types = 1u << LH_TYPE_TABLE | 1u << LH_TYPE_USERDATA),
    TABLE_COUNT(array_slots, "of a table: slots of its array part"),
    TABLE_COUNT(array_used, "of a table: those of them that have a value"),
    TABLE_COUNT(hash_slots, "of a table: slots of its hash part"),
    TABLE_COUNT(hash_used, "of a table: those of them that have a value"),
    LH_COMPUTED("weak_mode", NULL, LH_COLUMN_TEXT, weak_mode_of, "of a weak table: k, v or kv",
                LH_OF_TYPE(TABLE), LH_HIDDEN),
    LH_COUNT("user_bytes", NULL, object.as.userdata.bytes,
             "bytes of a userdata that the program asked for", LH_OF_TYPE(USERDATA), LH_HIDDEN),
    LH_EXAMPLE("proto", NULL, object.as.closure.proto, "of a function in Lua: its code",
               LH_OF_TYPE(CLOSURE), LH_HIDDEN),
    EXTERNAL, FIXED,
    LH_COMPUTED("file", NULL, LH_COLUMN_STRING, file_of,
                "of a function in Lua, or its code: @app.lua", LH_OF_CODE, LH_HIDDEN),
    LH_COUNT("line", NULL, code.as.proto.line, "where that begins; 0 for a main chunk", LH_OF_CODE,
             LH_HIDDEN),
    DOMINATOR("dominator", LH_OLDER_NAME, LH_LUA_ONLY),
    OF_OBJECT("dead", FLAG, dead_of, "condemned by a sweep that was under way", LH_LUA_ONLY),
    OF_OBJECT("own", FLAG, own_of, "luaheap's own", LH_LUA_ONLY), LENGTH, KEPT,
    LH_COUNT("user_values", NULL, object.as.userdata.user_values, "of a userdata",
             LH_OF_TYPE(USERDATA)),
    LH_FLAG("is_c", object.as.closure.is_c, "of a closure: it is a C function",
            LH_OF_TYPE(CLOSURE)),
    LH_COUNT("upvalues", NULL, object.as.closure.upvalues, "of a closure", LH_OF_TYPE(CLOSURE)),
    LH_COUNT("last_line", NULL, code.as.proto.last_line, "of code: where it ends", LH_OF_CODE),
    LH_COMPUTED("parameters", NULL, LH_COLUMN_COUNT, parameters_of, "of code", LH_OF_CODE),
    LH_FLAG("vararg", code.as.proto.vararg, "of code: it takes any number more", LH_OF_CODE),
    LH_COUNT("instructions", NULL, code.as.proto.instructions, "of code", LH_OF_CODE),
    LH_COUNT("debug_bytes", NULL, code.as.proto.debug_bytes, "of code: names and lines",
             LH_OF_CODE),
    LH_FLAG("open", object.as.upvalue.open, "of an upvalue: its variable is on a stack",
            LH_OF_TYPE(UPVALUE)),
    STATUS, IS_MAIN, STACK_SLOTS);

const lh_table lh_row_facts = LH_TABLE_OF(
    "heap.row", "object", NULL, TYPE("table, string, closure and so on"),
    CLASS("as heaptop calls it"), ADDRESS,
    OF_OBJECT("shallow_bytes", BYTES, lh_cell_shallow, "its own bytes", LH_WHERE(is_no_root)),
    SITE(LH_OPTIONAL));

LH_ITS(bool, is_cut, lh_fact_row, it->object.as.string.kept < it->object.as.string.length)

const lh_table lh_string_facts = LH_TABLE_OF(
    "heap.string", "string", "strings", ID("its number as an object"), LENGTH, KEPT, EXTERNAL,
    FIXED,
    LH_HEX("hash", object.as.string.hash, "of one that is not whole: equal ones have equal hashes",
           LH_OF_TYPE(STRING), .has = is_cut, LH_HIDDEN),
    LH_STRING("text", id, "what is in the snapshot; a BLOB if it is not UTF-8 or has a zero byte"));

/* ==== Threads ======================================================================== */

/* The function of a frame; a light C function is not an object, so it has only an address. */
static void function_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_value function = ((const lh_fact_row *)row)->frame.function;
  lh_text text = {0};
  if (function.kind == LH_VALUE_OBJECT)
    cell->as.text = lh_class_name_of(report->snapshot, function.as.object);
  if (function.kind != LH_VALUE_CFUNCTION) return;
  lh_text_format(&text, "C function %s", lh_hex_text(function.as.pointer).text);
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

static lh_id object_of(lh_value value) {
  return value.kind == LH_VALUE_OBJECT ? value.as.object : LH_NO_OBJECT;
}

LH_CELL(function_id_of, lh_fact_row, cell->as.object = object_of(it->frame.function))
LH_CELL(level_of, lh_fact_row, cell->as.n = it->position - 1)

#define FUNCTION(meaning)                                                                \
  LH_COMPUTED("function", NULL, LH_COLUMN_TEXT, function_of, meaning, LH_NEEDS(CLASSES), \
              LH_OPTIONAL)

const lh_table lh_thread_facts =
    LH_TABLE_OF("heap.thread", "thread", "threads", ID("its number as an object"),
                CLASS("by the function that it runs"), STATUS, IS_MAIN,
                LH_COUNT("frames", NULL, object.as.thread.frames, "how many calls are on its stack",
                         LH_OF_TYPE(THREAD)),
                FUNCTION("where it stands: the innermost function in Lua"),
                LH_LINE("line", frame.line, "and the line there"), STACK_SLOTS,
                SHALLOW("its own bytes, the stack among them"),
                RETAINED("the bytes that would be freed if it went"));

const lh_table lh_frame_facts =
    LH_TABLE_OF("heap.frame", "frame", "frames", LH_ID("thread", id, "the id of the thread"),
                LH_COMPUTED("frame", NULL, LH_COLUMN_COUNT, level_of,
                            "the number of the call; the outermost is 0"),
                LH_COMPUTED("function_id", NULL, LH_COLUMN_EXAMPLE, function_id_of,
                            "the id of what is called, if that is an object", LH_OPTIONAL),
                FUNCTION("what is called"),
                LH_LINE("line", frame.line, "the line that it has come to; NULL in C"));

/* ==== References and entries ========================================================= */

LH_ITS(bool, has_key, lh_fact_row,
       it->edge.kind == LH_EDGE_VALUE || it->edge.kind == LH_EDGE_KEY ||
           it->edge.kind == LH_EDGE_EPHEMERON)
LH_MADE_TEXT(label_of, lh_fact_row, lh_edge_text(report->snapshot, &it->edge))
LH_CELL(edge_key_id_of, lh_fact_row, cell->as.object = object_of(it->edge.key))
LH_CELL(key_id_of, lh_fact_row, cell->as.object = object_of(it->key))
LH_CELL(value_id_of, lh_fact_row, cell->as.object = object_of(it->value))

#define POSITION(meaning) \
  LH_COUNT(NULL, NULL, position, meaning, LH_SQL_ONLY("position"), LH_HIDDEN)

const lh_table lh_edge_facts = LH_TABLE_OF(
    "heap.edge", "reference", "edges", LH_EXAMPLE("source", NULL, edge.source, "what refers"),
    LH_EXAMPLE("target", NULL, edge.target, "what is referred to"),
    LH_WORD("kind", NULL, edge.kind, lh_edge_kind_name,
            "root, value, key, metatable, ephemeron, upvalue, content, proto, local and so on, "
            "as in the JSON of heappath"),
    LH_COMPUTED("label", NULL, LH_COLUMN_TEXT, label_of,
                "as a path has it: .listeners, [17], upvalue bus", LH_NEEDS(CLASSES)),
    LH_FLAG("weak", edge.weak, "it keeps nothing alive"),
    LH_VALUE("key", edge.key, "of a value in a table, or of a key", .has = has_key),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_EXAMPLE, edge_key_id_of,
                "the id of the key, if it is an object", LH_SQL_ONLY("key_id"), LH_HIDDEN,
                LH_WHERE(has_key)),
    POSITION("the number of the reference among those of its source, from 1"),
    LH_LINE("line", edge.line, "in a stack: the line that the function has come to", LH_HIDDEN),
    LH_EXAMPLE("holder", NULL, edge.holder,
               "of a reference from a stack the function; of an ephemeron the weak table",
               LH_HIDDEN, LH_OPTIONAL),
    LH_STRING("name", edge.name, "of an upvalue or a local variable", LH_LUA_ONLY, LH_OPTIONAL),
    LH_FLAG("left_out", edge.ignored, "by snapshot:ignore()", LH_LUA_ONLY),
    LH_LINE("ordinal", edge.ordinal, "among those of its kind", LH_LUA_ONLY));

const lh_table lh_entry_facts =
    LH_TABLE_OF("heap.entry", "entry", "entries", ID("of the table"),
                LH_VALUE("key", key, "a string, a number or a boolean (1 or 0), else NULL"),
                LH_VALUE("value", value, "likewise"),
                LH_COMPUTED("key_id", NULL, LH_COLUMN_EXAMPLE, key_id_of,
                            "of a key that is an object; a string is one", LH_OPTIONAL),
                LH_COMPUTED("value_id", NULL, LH_COLUMN_EXAMPLE, value_id_of,
                            "of a value that is an object", LH_OPTIONAL),
                POSITION("the number of the entry in its table, from 1"));

/* ==== Where objects were allocated =================================================== */

LH_MADE_TEXT(site_text, lh_fact_row, lh_site_text(&it->site))
LH_ITS(bool, has_source, lh_fact_row, it->site.source != NULL)
LH_CELL(caller_of, lh_fact_row,
        cell->as.object = it->stack.parent != 0 ? it->stack.parent : LH_NO_OBJECT)
LH_MADE_TEXT(stack_site, lh_fact_row, lh_stack_text(lh_snapshot_sites(report->snapshot), it->id, 0))

enum { MOST_CALLERS = 100, TOLD_CALLERS = 1 };
LH_MADE_TEXT(allocated_of, lh_fact_row,
             lh_allocated_text(lh_snapshot_sites(report->snapshot), it->id, TOLD_CALLERS))
LH_MADE_TEXT(stack_calls, lh_fact_row,
             lh_stack_text(lh_snapshot_sites(report->snapshot), it->id, MOST_CALLERS))

/* For sites only SQL has these columns. */
#define IN_LUA(key) key
#define NOT_IN_LUA(key) NULL
#define COUNTS(lua)                                                                             \
  LH_COUNT(lua("made_objects"), NULL, counts.made_objects,                                      \
           "objects that were allocated there since tracking began, dead or alive; of samples " \
           "an estimate",                                                                       \
           LH_JSON_ONLY("made_objects")),                                                       \
      LH_BYTES(lua("made_bytes"), NULL, counts.made_bytes,                                      \
               "of these, with the blocks that they own, such as the slots of a table",         \
               LH_JSON_ONLY("made_bytes")),                                                     \
      LH_COUNT(lua("freed_objects"), NULL, counts.freed_objects,                                \
               "those of them that were freed; the others live, or are garbage",                \
               LH_JSON_ONLY("freed_objects")),                                                  \
      LH_BYTES(lua("freed_bytes"), NULL, counts.freed_bytes, "of these",                        \
               LH_JSON_ONLY("freed_bytes"))

const lh_table lh_site_facts = LH_TABLE_OF(
    "heap.site", "site", "sites", LH_ID(NULL, id, "its number", LH_SQL_ONLY("id")),
    LH_COMPUTED(
        "text", NULL, LH_COLUMN_TEXT, site_text,
        "as reports have it: @app/bus.lua:31 in Bus:on, string.rep at @fmt.lua:12 in render",
        LH_JSON_ONLY("site")),
    LH_WORD("maker", NULL, site.maker, lh_maker_name,
            "what allocates there: table, function, concatenation, growth, call, C function and "
            "so on"),
    COUNTS(NOT_IN_LUA),
    LH_NAME("file", site.source, "@app/bus.lua; none where no Lua function had called", LH_HIDDEN,
            LH_OPTIONAL),
    LH_LINE("line", site.line, "the line there; none in stripped code", LH_HIDDEN),
    LH_NAME("function", site.function, "the name of the function; empty for a main chunk",
            LH_HIDDEN, LH_OPTIONAL),
    LH_COUNT("first_line", NULL, site.first_line, "where that begins; 0 for a main chunk",
             LH_HIDDEN, LH_WHERE(has_source)),
    LH_NAME("c_function", site.c_function, "the C function that allocates", LH_HIDDEN,
            LH_OPTIONAL));

const lh_table lh_stack_facts = LH_TABLE_OF(
    "heap.stack", "stack", "stacks",
    LH_ID(NULL, id, "its number, which objects have as stack", LH_SQL_ONLY("id")),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_ID, caller_of,
                "the stack of the caller, a row of this table; NULL for the outermost",
                LH_SQL_ONLY("caller"), LH_OPTIONAL),
    LH_ID(NULL, stack.site, "the id of its site", LH_SQL_ONLY("site_id")),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, stack_site, "that as text", LH_SQL_ONLY("site")),
    COUNTS(IN_LUA),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, stack_calls,
                "all of it, at most 100 callers, as one text", LH_SQL_ONLY("calls"), LH_HIDDEN),
    LH_COMPUTED("allocated", NULL, LH_COLUMN_TEXT, allocated_of,
                "allocated at @app/bus.lua:31 in Bus:on, from @app.lua:7 in main chunk",
                LH_LUA_ONLY));
#undef ROW

#define ROW lh_tracking
const lh_table lh_tracking_facts = LH_TABLE_OF(
    "heap.tracking", "tracking", NULL,
    LH_FLAG("stacks", has_stacks, "false: each stack is its site alone"),
    LH_BYTES("sample_bytes", NULL, sample_bytes,
             "the mean distance of samples; 0: every allocation"),
    LH_COUNT("made", NULL, made, "allocations since tracking began"),
    LH_COUNT("unattributed", NULL, unattributed, "those of them whose site is not known"));
#undef ROW

/* ==== Snapshot ======================================================================= */

#define ROW lh_class_fact
const lh_table lh_class_facts = LH_TABLE_OF(
    "heap.class_fact", "class", "classes", LH_TEXT("class", NULL, of_class.name, "its name"),
    LH_WORD("type", NULL, of_class.type, lh_type_name, "of its instances"),
    LH_COUNT("objects", NULL, of_class.objects, "reachable instances"),
    LH_BYTES("shallow_bytes", NULL, of_class.shallow_bytes, "their own bytes"),
    LH_BYTES("retained_bytes", NULL, retained_bytes,
             "the bytes that would be freed if all of them went together", LH_NEEDS(CLASS_SIZES)),
    LH_COUNT("garbage_objects", NULL, of_class.garbage_objects, "instances that are garbage"),
    LH_BYTES("garbage_bytes", NULL, of_class.garbage_bytes, "their own bytes"));
#undef ROW

#define ROW lh_module
const lh_table lh_module_facts = LH_TABLE_OF(
    "heap.module_fact", "module", "modules",
    LH_VALUE("name", key, "the module's name, or the variable's"),
    LH_EXAMPLE("id", NULL, id, "of its value"), CLASS("its class"), SHALLOW("its own bytes"),
    LH_BYTES("retained_bytes", NULL, retained_bytes, "the bytes that would be freed if it went"),
    LH_NAME("path", name, "package.loaded[\"app.bus\"] or _G.cache", LH_HIDDEN));
#undef ROW

LH_CELL(mark_name_of, lh_mark_fact, lh_name_of_mark(cell, &it->mark))
LH_CELL(mark_kind_of, lh_mark_fact, cell->as.text = it->mark.is_snapshot ? "snapshot" : "mark")

#define ROW lh_mark_fact
const lh_table lh_mark_facts = LH_TABLE_OF(
    "heap.mark_row", "mark", "marks",
    LH_COUNT(NULL, NULL, epoch, "objects that are younger than the mark have at least this epoch",
             LH_SQL_ONLY("epoch")),
    LH_COMPUTED("name", NULL, LH_COLUMN_NAME, mark_name_of, "as the program gave it"),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_TEXT, mark_kind_of, "snapshot or mark", LH_SQL_ONLY("kind")),
    LH_COUNT("serial", NULL, mark.serial, "its number in the life of the Lua state"),
    LH_TIME(NULL, mark.time_ns, "when it was left, UTC", LH_SQL_ONLY("time")),
    LH_COUNT("time_ns", NULL, mark.time_ns, "the same in nanoseconds since 1970", LH_HIDDEN),
    LH_FLAG("is_snapshot", mark.is_snapshot, "left by a snapshot, not by heap.mark()",
            LH_LUA_ONLY));
#undef ROW

LH_CELL(unaccounted_of, lh_snapshot_fact, cell->as.n = (uint64_t)it->info.unaccounted_bytes)
LH_ITS(bool, is_tracked, lh_snapshot_fact, it->is_tracked)

#define ROW lh_snapshot_fact
#define REACH(key, meaning) LH_COUNT(#key, NULL, reach.key, meaning, LH_NEEDS(ANALYSIS))
#define TRACKED LH_WHERE(is_tracked), LH_HIDDEN
const lh_table lh_snapshot_facts = LH_TABLE_OF(
    "heap.info_fact", "snapshot", "info",
    LH_NAME("name", info.name, "the path that the program gave"),
    LH_NAME("program", info.program, "its command line"),
    LH_TEXT("lua_release", NULL, info.lua_release, "such as 5.4.4 or 5.5.0"),
    LH_COUNT("process_id", NULL, info.process_id, "of the program"),
    LH_HEX("state_id", info.state_id, "the same for all snapshots of one Lua state"),
    LH_COUNT("serial", NULL, info.serial, "of the snapshot's own mark"),
    LH_TIME("time", info.time_ns, "when it was taken, UTC"),
    LH_COUNT("time_ns", NULL, info.time_ns, "the same in nanoseconds since 1970", LH_HIDDEN),
    LH_COUNT("format_version", NULL, info.format_version,
             "of the file: 6 of Lua 5.4, 7 of Lua 5.5; 1 to 5 where an older luaheap wrote it",
             LH_HIDDEN),
    LH_BYTES("file_bytes", NULL, info.file_bytes, "size of the file"),
    LH_COUNT("string_limit_bytes", NULL, info.string_limit,
             "at most this much of a string was kept", LH_HIDDEN),
    LH_COUNT("objects", NULL, info.objects, "all there are"),
    LH_BYTES("object_bytes", NULL, info.object_bytes, "their own bytes"),
    LH_BYTES("external_bytes", NULL, info.external_bytes,
             "of these, texts of strings of Lua 5.5 that are outside gc_bytes", LH_HIDDEN),
    LH_BYTES("string_table_bytes", NULL, info.string_table_bytes, "Lua's table of short strings"),
    LH_COMPUTED(
        "unaccounted_bytes", NULL, LH_COLUMN_BYTES, unaccounted_of,
        "bytes that Lua counts but that belong neither to an object nor to the string table"),
    LH_BYTES("gc_bytes", NULL, info.gc_bytes,
             "collectgarbage(\"count\") * 1024, the sum of the three without external_bytes"),
    LH_COLLECTOR_COLUMNS, REACH(reachable_objects, "objects that the collector would keep"),
    REACH(reachable_bytes, "their bytes"), REACH(garbage_objects, "objects that it would free"),
    REACH(garbage_bytes, "their bytes"),
    LH_COUNT("own_objects", NULL, own.objects, "objects of luaheap, which are in no other table"),
    LH_BYTES("own_bytes", NULL, own.bytes, "their bytes"),
    LH_COUNT("tracked_allocations", NULL, tracking.made,
             "of a program that was tracked: allocations since that began", TRACKED),
    LH_COUNT("unattributed_allocations", NULL, tracking.unattributed,
             "those of them whose site is not known", TRACKED),
    LH_COUNT("sample_bytes", NULL, tracking.sample_bytes,
             "and of how many bytes one was recorded; 0: every allocation was", TRACKED));
#undef ROW

const lh_table *const lh_facts[] = {
    &lh_object_facts, &lh_edge_facts,     &lh_entry_facts,    &lh_string_facts, &lh_class_facts,
    &lh_thread_facts, &lh_frame_facts,    &lh_site_facts,     &lh_stack_facts,  &lh_module_facts,
    &lh_mark_facts,   &lh_snapshot_facts, &lh_tracking_facts, &lh_row_facts,    NULL};
