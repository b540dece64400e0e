/* modules.c - the bytes that each module and global retains, and reaches. */
#include "report/report.h"

#define ROW lh_module
static const lh_table module = LH_TABLE_OF(
    "heap.module", "module or global", "modules and globals",
    LH_BYTES("retained_bytes", "alone", retained_bytes, "that it alone keeps alive"),
    LH_SHARE("share", retained_bytes),
    LH_BYTES("shared_bytes", "shared", shared_bytes, "that it and others reach or keep alive"),
    LH_BYTES("reached_bytes", "reached", reached_bytes, "of all objects that it reaches"),
    LH_COUNT("reached_objects", "objects", reached_objects, "that it reaches"),
    LH_TEXT("name", "name", name, "as a path: package.loaded[\"app.bus\"] or _G.cache"),
    LH_OBJECT("object", id, "the value", LH_ADDRESS));
#undef ROW

#define ROW lh_modules
static const lh_table modules_answer = LH_TABLE_OF(
    "heap.modules", NULL, NULL,
    LH_COUNT("total_modules", NULL, total, "how many modules and globals there are"),
    LH_BYTES("retained_bytes", NULL, retained_bytes, "what is kept alive by one of them alone"),
    LH_BYTES("reached_bytes", NULL, reached_bytes, "what is reached from any of them"),
    LH_ROWS("modules", list, n, &module, "those that keep most alive alone first", LH_LIMITED));
#undef ROW

LH_FOUND_BY(modules, lh_modules, lh_find_modules(snapshot, request->limit, it, error))
LH_FREED_BY(modules, lh_modules, lh_modules_free(it))

static void print_modules(lh_printer *t, lh_report *report) {
  const lh_modules *m = report->answer;
  const lh_module *first = m->list;
  lh_reach reach;
  lh_reach_totals(report->snapshot, &reach);
  if (m->n > 0) {
    lh_say(t, LH_BOLD, "%s keeps most alive alone: %s, %s of the heap", first->name,
           lh_format_size(t, first->retained_bytes).text,
           lh_share_of_heap(report, first->retained_bytes).text);
    lh_say(t, LH_PLAIN,
           "%s: %s are kept alive by one of them alone, %s are reached from them, %s are not\n",
           lh_count_of(m->total, module.one, module.many).text,
           lh_format_size(t, m->retained_bytes).text, lh_format_size(t, m->reached_bytes).text,
           lh_format_size(t, reach.reachable_bytes - m->reached_bytes).text);
  }
  lh_print_table(t, report, &module, m->list, m->n, m->total);
}

LH_QUESTION(modules, .help = "what modules and globals keep alive, alone or not", .main = "modules",
            .free = free_modules);
