/*
** memprof.c - prints the report of LuaJIT's memprof in its layout, with exact bytes: events by
** line; for resizes and frees, the lines that allocated the blocks; then the bytes that each line
** holds. HEAP SNAPSHOT, the bytes held at times in between, is our addition.
**
** INTERNAL is where no Lua function allocated: the host, and the collector, which frees all.
*/
#include "boxes.h"
#include "heapprof.h"

static void print_overrides(const lh_line_tally *tally, const lh_line_events *events) {
  puts("\tOverrides:");
  for (size_t i = 0; i < events->n_overrides; i++) {
    if (!cli_has_room()) continue;
    char *from = line_text(&tally->lines[events->overrides[i].line]);
    printf("\t\t%s\n", from);
    lh_free(from);
  }
  putchar('\n');
}

static void print_events(const lh_line_tally *tally, lh_event_kind kind, const char *heading) {
  puts(heading);
  for (size_t i = 0; i < tally->of[kind].n; i++) {
    if (!cli_has_room()) continue;
    const lh_line_events *events = &tally->of[kind].list[i];
    char *at = line_text(&tally->lines[events->line]);
    printf("%s: %" PRIu64 " events\t+%" PRIu64 "B\t-%" PRIu64 "B\n", at, events->events,
           events->allocated_bytes, events->freed_bytes);
    lh_free(at);
    if (events->n_overrides > 0) print_overrides(tally, events);
  }
  putchar('\n');
}

static void print_held(const lh_line_tally *tally, const lh_line_moment *moment) {
  for (size_t i = 0; i < moment->n_held; i++) {
    if (!cli_has_room()) continue;
    const lh_line_held *held = &moment->held[i];
    char *at = line_text(&tally->lines[held->line]);
    printf("%s holds %" PRIu64 "B: %" PRIu64 " allocs, %" PRIu64 " frees\n", at, held->bytes,
           held->allocations, held->frees);
    lh_free(at);
  }
  if (moment->n_more > 0)
    printf("and %s that hold less\n", lh_count_of(moment->n_more, "line", "lines").text);
  putchar('\n');
}

/* "1 s", "2.5 s", in any locale. */
static void print_moment(const lh_line_tally *tally, const lh_line_moment *moment) {
  uint64_t ms = moment->time_ns / 1000000;
  printf("HEAP SNAPSHOT %" PRIu64, ms / 1000);
  if (ms % 1000 > 0) printf(".%03" PRIu64, ms % 1000);
  puts(" s:");
  print_held(tally, moment);
}

void print_memprof(cli *c, const request *r, lh_profile *profile) {
  lh_line_tally tally;
  lh_error error;
  cli_check(c, lh_tally_lines(profile, r->every_ns, &tally, &error), r->files[0], &error);
  if (!r->leak_only) {
    print_events(&tally, LH_EVENT_NEW, "ALLOCATIONS");
    print_events(&tally, LH_EVENT_RESIZE, "REALLOCATIONS");
    print_events(&tally, LH_EVENT_FREE, "DEALLOCATIONS");
  }
  for (size_t i = 0; i + 1 < tally.n_moments; i++) print_moment(&tally, &tally.moments[i]);
  puts("HEAP SUMMARY:");
  print_held(&tally, &tally.moments[tally.n_moments - 1]);
  lh_line_tally_free(&tally);
}

/* The final report of luamemprofiler in its layout: numbers of allocations, objects by type, peak.
** Its last sentence, about its window, is left out. */

static uint64_t others(const lh_type_tally *tally) {
  return tally->made_parts + tally->made_of[LH_TYPE_ROOT] + tally->made_of[LH_TYPE_UPVALUE] +
         tally->made_of[LH_TYPE_PROTO];
}

void print_luamemprofiler(cli *c, const request *r, lh_profile *profile) {
  static const char rule[] = "===================================================================";
  lh_type_tally tally;
  lh_error error;
  cli_check(c, lh_tally_types(profile, &tally, &error), r->files[0], &error);
  puts(rule);
  printf("Number of Mallocs=%" PRIu64 "\tTotal Malloc Size=%" PRIu64 "\n", tally.made,
         tally.made_bytes);
  printf("Number of Reallocs=%" PRIu64 "\tTotal Realloc Size=%" PRId64 "\n", tally.resized,
         tally.resized_bytes);
  printf("Number of Frees=%" PRIu64 "\tTotal Free Size=%" PRIu64 "\n", tally.freed,
         tally.freed_bytes);
  puts("\nNumber of Allocs of Each Type:");
  printf("  String=%" PRIu64 " | Function=%" PRIu64 " | Userdata=%" PRIu64 " | Thread=%" PRIu64
         " | Table=%" PRIu64 " | Other=%" PRIu64 "\n",
         tally.made_of[LH_TYPE_STRING], tally.made_of[LH_TYPE_CLOSURE],
         tally.made_of[LH_TYPE_USERDATA], tally.made_of[LH_TYPE_THREAD],
         tally.made_of[LH_TYPE_TABLE], others(&tally));
  printf("\nMaximum Memory Used=%" PRIu64 " bytes\n", tally.peak_bytes);
  puts(rule);
}
