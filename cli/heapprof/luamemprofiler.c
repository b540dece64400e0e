/*
** luamemprofiler.c - the report that luamemprofiler prints when it is stopped, in its layout: how
** often memory was asked for, objects by type, and the most that lived at one time. Its last
** sentence is about its own window, and left out.
*/
#include <inttypes.h>

#include "heapprof.h"
#include "luaheap_usage.h"

/* Closures are functions; what luamemprofiler has no name for is other. */
static uint64_t others(const lh_type_tally *tally) {
  return tally->made_parts + tally->made_of[LH_TYPE_ROOT] + tally->made_of[LH_TYPE_UPVALUE] +
         tally->made_of[LH_TYPE_PROTO];
}

static void print_luamemprofiler(cli *c, const request *r, lh_profile *profile) {
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

const mode luamemprofiler_mode = {.name = "luamemprofiler",
                                  .help = "the final report of luamemprofiler",
                                  .n_files = 1,
                                  .has_no_json = true,
                                  .tell_profile = print_luamemprofiler};
