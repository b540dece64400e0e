/* info.c - facts about a snapshot, and a ledger that adds up to collectgarbage("count"). */
#include "report/report.h"

typedef struct of_type {
  lh_type type;
  uint64_t objects, bytes;
} of_type;

typedef struct info_result {
  lh_info info;
  lh_reach reach;
  of_type types[LH_TYPE_COUNT]; /* without the root and empty types */
  size_t n_types;
  bool is_outside;
  lh_outside_info outside;
  lh_garbage_cause garbage;
} info_result;

LH_CELL(unaccounted_of, info_result, cell->as.n = (uint64_t)it->info.unaccounted_bytes)
LH_ITS(bool, is_outside, info_result, it->is_outside)
LH_ITS(bool, has_reason, info_result, it->garbage.reason != LH_GARBAGE_USUAL)
LH_ITS(bool, has_finalized, info_result, it->info.finalized_objects > 0)
LH_ITS(bool, has_external, info_result, it->info.external_bytes > 0)

#define ROW of_type
static const lh_table type_table = LH_TABLE_OF(
    "heap.info_type", "type", "types",
    LH_WORD("type", NULL, type, lh_type_name, "a type of Lua's, \"upvalue\" or \"proto\""),
    LH_COUNT("objects", NULL, objects, "how many"), LH_BYTES("bytes", NULL, bytes, "of these"));
#undef ROW

#define ROW info_result
static const lh_table info_answer = LH_TABLE_OF(
    "heap.info", NULL, NULL, LH_NAME("program", info.program, "its command line"),
    LH_NAME("name", info.name, "the path that the program gave"),
    LH_NAME("lua_release", info.lua_release, "such as 5.4.6 or 5.5.0"),
    LH_COUNT("process_id", NULL, info.process_id, "of the program"),
    LH_COUNT("state_id", NULL, info.state_id, "the same for all snapshots of one Lua state",
             LH_LUA_ONLY),
    LH_COUNT("serial", NULL, info.serial, "of the snapshot's own mark; later ones are higher",
             LH_LUA_ONLY),
    LH_COUNT("time_ns", NULL, info.time_ns, "nanoseconds since 1970, UTC"),
    LH_BYTES("file_bytes", NULL, info.file_bytes, "size of the file"),
    LH_COUNT("string_limit_bytes", NULL, info.string_limit, "of each string that were kept",
             LH_LUA_ONLY),
    LH_COUNT("string_limit", NULL, info.string_limit, LH_OLDER_NAME, LH_LUA_ONLY),
    LH_COUNT("objects", NULL, info.objects, "how many"),
    LH_BYTES("object_bytes", NULL, info.object_bytes, "their shallow sizes"),
    LH_BYTES("bytes", NULL, info.object_bytes, LH_OLDER_NAME),
    LH_BYTES("external_bytes", NULL, info.external_bytes,
             "of these, texts of strings of Lua 5.5 that gc_bytes leaves out; absent without any",
             LH_ONLY_WHERE(has_external)),
    LH_BYTES("gc_bytes", NULL, info.gc_bytes, "collectgarbage(\"count\") * 1024"),
    LH_COMPUTED(
        "unaccounted_bytes", NULL, LH_COLUMN_BYTES, unaccounted_of,
        "bytes that Lua counts but that belong neither to an object nor to the string table"),
    LH_BYTES("string_table_bytes", NULL, info.string_table_bytes, "Lua's table of short strings"),
    LH_COUNT("reachable_objects", NULL, reach.reachable_objects, "that the collector keeps"),
    LH_BYTES("reachable_bytes", NULL, reach.reachable_bytes, "of these"),
    LH_COUNT("garbage_objects", NULL, reach.garbage_objects, "that nothing keeps alive"),
    LH_BYTES("garbage_bytes", NULL, reach.garbage_bytes, "of these"),
    LH_WORD("why_garbage", NULL, garbage.reason, lh_garbage_reason_name,
            "why there is much of it: the collector is stopped, or waits (pause), or leaves old "
            "objects (generational), or is within a cycle; absent where it works as usual",
            LH_ONLY_WHERE(has_reason)),
    LH_COLLECTOR_COLUMNS,
    LH_COUNT("finalized_objects", NULL, info.finalized_objects,
             "whose finalizers ran before it, as the state closed: they look youngest",
             LH_ONLY_WHERE(has_finalized)),
    LH_WORD("outside", NULL, outside.stillness, lh_stillness_name,
            "how it was taken from outside: the process was idle, a frozen fork of it was read, it "
            "was stopped, or it was a core file",
            LH_ONLY_WHERE(is_outside)),
    LH_FLAG("in_system_call", outside.was_in_system_call, "the process was then in one",
            LH_ONLY_WHERE(is_outside)),
    LH_FLAG("in_doubt", outside.is_in_doubt, "whether it may show what was just changing",
            LH_ONLY_WHERE(is_outside)),
    LH_INLINE_ROWS("types", types, n_types, &type_table,
                   "the reachable ones by type, most bytes first"));
#undef ROW

static void print_line(lh_printer *t, const char *what, const char *objects, lh_number size,
                       const char *note) {
  lh_say(t, LH_PLAIN, "  %-23s %12s %14s%s%s", what, objects, size.text, *note ? "  " : "", note);
}

static void print_program(lh_printer *t, lh_report *report, const lh_info *info) {
  lh_say(t, LH_BOLD, "%s", lh_name_words(report, info->program));
  lh_say(t, LH_PLAIN, "Lua %s, process %llu, state %04x, snapshot %s at %s\n",
         lh_name_words(report, info->lua_release), (unsigned long long)info->process_id,
         (unsigned)(info->state_id >> 48), /* as heap.auto names it */
         lh_name_words(report, info->name), lh_time_text(info->time_ns).text);
}

static void print_outside(lh_printer *t, const info_result *f) {
  static const char *const words[] = {"while the process was idle",
                                      "of a frozen copy of the process",
                                      "while the process was stopped", "of a core file"};
  if (f->is_outside)
    lh_say(t, LH_PLAIN, "Taken from outside, %s%s", LH_WORD_OF(words, f->outside.stillness),
           f->outside.was_in_system_call ? ", in a system call" : "");
  if (f->outside.is_in_doubt && f->outside.stillness == LH_STILL_CORE)
    lh_say(t, LH_PLAIN,
           "The program was changing its heap then: a table that was growing or shrinking may lack "
           "entries");
  else if (f->outside.is_in_doubt)
    lh_say(t, LH_PLAIN,
           "It was computing then: no fault is seen in its heap, but a table that was just growing "
           "may show values of another one");
}

static void print_count(lh_printer *t, const lh_info *info) {
  lh_text note = {0};
  lh_text_string(&note, info->unaccounted_bytes == 0 ? "all of it, to the byte" : "");
  if (info->external_bytes > 0)
    lh_text_format(&note, "%sexternal strings %s", info->unaccounted_bytes == 0 ? "; " : "",
                   lh_format_size(t, info->external_bytes).text);
  char *text = lh_text_finish(&note);
  print_line(t, "collectgarbage(\"count\")", "", lh_format_size(t, info->gc_bytes),
             text ? text : "");
  t->failed |= !text;
  lh_free(text);
}

static void print_info(lh_printer *t, lh_report *report) {
  const lh_info *info = &((const info_result *)report->answer)->info;
  const lh_reach *reach = &((const info_result *)report->answer)->reach;
  int64_t missing = info->unaccounted_bytes;
  print_program(t, report, info);
  print_outside(t, report->answer);
  lh_print_finalized(t, report->snapshot);
  print_line(t, "objects", lh_count_text(info->objects).text, lh_format_size(t, info->object_bytes),
             "");
  print_line(t, "  reachable", lh_count_text(reach->reachable_objects).text,
             lh_format_size(t, reach->reachable_bytes), "");
  print_line(t, "  garbage", lh_count_text(reach->garbage_objects).text,
             lh_format_size(t, reach->garbage_bytes),
             reach->garbage_objects > 0 ? "waits for the collector" : "");
  print_line(t, "string table", "", lh_format_size(t, info->string_table_bytes), "");
  print_line(t, "unaccounted", "",
             missing < 0 ? lh_size_change((uint64_t)-missing, 0, t->exact_bytes)
                         : lh_format_size(t, (uint64_t)missing),
             missing != 0 ? "buffers in use by C code" : "");
  print_count(t, info);
}

static int by_type_bytes(const void *a, const void *b) {
  const of_type *x = a, *y = b;
  return LH_MORE(x->bytes, y->bytes) ?: LH_LESS(x->type, y->type);
}

static int find_info(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  info_result *f = out;
  (void)request;
  (void)error;
  f->info = *lh_snapshot_info(snapshot);
  lh_reach_totals(snapshot, &f->reach);
  const lh_outside_info *outside = lh_snapshot_outside(snapshot);
  f->is_outside = outside != NULL;
  if (outside) f->outside = *outside;
  lh_find_garbage_cause(snapshot, &f->garbage);
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++)
    if (f->reach.objects_of[t] > 0)
      f->types[f->n_types++] = (of_type){t, f->reach.objects_of[t], f->reach.bytes_of[t]};
  if (f->n_types > 1) qsort(f->types, f->n_types, sizeof *f->types, by_type_bytes);
  return LH_OK;
}

LH_QUESTION(info);
