/*
** sites.c - the tables sites and stacks: where the objects of a program that was tracked were
** allocated. A stack is one row, which refers to its caller's; objects.stack refers to it. Of other
** snapshots the tables are empty.
**
** Sites count what their stacks do, which is added up once: 32 bytes a site.
*/
#include <string.h>

#include "heapsnap.h"

enum { MOST_CALLERS = 100 };

/* {=== Numbers ======================================================================== */

/* Numbers 1 to n, or the one asked for. */
static void begin_numbers(hs_cursor *cursor, uint32_t n) {
  bool one = hs_looks_up(cursor, HS_ONE_ID);
  cursor->at = one ? cursor->object : 1;
  cursor->end = (one && cursor->object < n ? cursor->object : n) + 1;
}

static int next_number(hs_cursor *cursor, lh_error *error) {
  (void)error;
  if (cursor->at == 0 || cursor->at >= cursor->end) return 0;
  cursor->id = cursor->row = cursor->at++;
  return 1;
}

static const lh_sites *sites_of(const hs_cursor *cursor) {
  return lh_snapshot_sites(cursor->file->snapshot);
}

static uint32_t count_sites(const lh_snapshot *snapshot) {
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  return sites != NULL ? lh_n_sites(sites) : 0;
}

static uint32_t count_stacks(const lh_snapshot *snapshot) {
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  return sites != NULL ? lh_n_stacks(sites) : 0;
}

/* }=================================================================================== */

/* {=== sites ========================================================================== */

static int need_counts(hs_file *file, lh_error *error) {
  uint32_t n = count_sites(file->snapshot);
  const lh_sites *sites = lh_snapshot_sites(file->snapshot);
  if (file->site_counts != NULL) return LH_OK;
  lh_stack_counts *sums = sqlite3_malloc64((n + UINT64_C(1)) * sizeof *sums);
  if (sums == NULL) return hs_no_memory(error, "adding up sites");
  memset(sums, 0, (n + (size_t)1) * sizeof *sums);
  for (lh_stack_id stack = 1; stack <= count_stacks(file->snapshot); stack++) {
    lh_stack_counts *sum = &sums[lh_stack_of(sites, stack)->site];
    lh_stack_counts counts = lh_stack_counts_of(file->snapshot, stack);
    sum->made_objects += counts.made_objects;
    sum->made_bytes += counts.made_bytes;
    sum->freed_objects += counts.freed_objects;
    sum->freed_bytes += counts.freed_bytes;
  }
  file->site_counts = sums;
  return LH_OK;
}

static int begin_sites(hs_cursor *cursor, lh_error *error) {
  begin_numbers(cursor, count_sites(cursor->file->snapshot));
  return need_counts(cursor->file, error);
}

static void tell_site(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_text(context, lh_site_text(&cursor->site));
}

static void tell_maker(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_static(context, lh_maker_name(cursor->site.maker));
}

static void tell_first_line(hs_cursor *cursor, sqlite3_context *context) {
  if (cursor->site.source != NULL) hs_result_bytes(context, cursor->site.first_line);
}

static int next_site(hs_cursor *cursor, lh_error *error) {
  int found = next_number(cursor, error);
  if (found > 0) {
    cursor->site = *lh_site_of(sites_of(cursor), cursor->id);
    cursor->counts = cursor->file->site_counts[cursor->id];
  }
  return found;
}

#define ROW hs_cursor
#define COUNTS                                                                              \
  HS_COUNT("made_objects", counts.made_objects), HS_COUNT("made_bytes", counts.made_bytes), \
      HS_COUNT("freed_objects", counts.freed_objects), HS_COUNT("freed_bytes", counts.freed_bytes)
static const hs_column site_columns[] = {
    HS_SNAPSHOT,
    HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
    HS_COMPUTED("site", HS_TEXT, tell_site),
    HS_COMPUTED("maker", HS_TEXT, tell_maker),
    COUNTS,
    HS_NAME("file", site.source, HS_HIDDEN),
    HS_LINE("line", site.line, HS_HIDDEN),
    HS_NAME("function", site.function, HS_HIDDEN),
    HS_COMPUTED("first_line", HS_INTEGER, tell_first_line, HS_HIDDEN),
    HS_NAME("c_function", site.c_function, HS_HIDDEN)};

const hs_kind hs_sites = {.name = "sites",
                          HS_COLUMNS(site_columns),
                          .last_id = count_sites,
                          .key = "id",
                          .rows_per_object = 0.001,
                          .begin = begin_sites,
                          .next = next_site};

/* }=================================================================================== */

/* {=== stacks ========================================================================= */

static int begin_stacks(hs_cursor *cursor, lh_error *error) {
  (void)error;
  begin_numbers(cursor, count_stacks(cursor->file->snapshot));
  return LH_OK;
}

static int next_stack(hs_cursor *cursor, lh_error *error) {
  int found = next_number(cursor, error);
  if (found > 0) cursor->counts = lh_stack_counts_of(cursor->file->snapshot, cursor->id);
  return found;
}

static void tell_caller(hs_cursor *cursor, sqlite3_context *context) {
  lh_stack_id caller = lh_stack_of(sites_of(cursor), cursor->id)->parent;
  if (caller != 0) hs_result_id(context, cursor->file, caller);
}

static void tell_site_id(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_id(context, cursor->file, lh_stack_of(sites_of(cursor), cursor->id)->site);
}

static void tell_own_site(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_text(context, lh_stack_text(sites_of(cursor), cursor->id, 0));
}

static void tell_calls(hs_cursor *cursor, sqlite3_context *context) {
  hs_result_text(context, lh_stack_text(sites_of(cursor), cursor->id, MOST_CALLERS));
}

static const hs_column stack_columns[] = {HS_SNAPSHOT,
                                          HS_ID("id", id, HS_LOOKUP(HS_ONE_ID)),
                                          HS_COMPUTED("caller", HS_INTEGER, tell_caller),
                                          HS_COMPUTED("site_id", HS_INTEGER, tell_site_id),
                                          HS_COMPUTED("site", HS_TEXT, tell_own_site),
                                          COUNTS,
                                          HS_COMPUTED("calls", HS_TEXT, tell_calls, HS_HIDDEN)};
#undef ROW

const hs_kind hs_stacks = {.name = "stacks",
                           HS_COLUMNS(stack_columns),
                           .last_id = count_stacks,
                           .key = "id",
                           .rows_per_object = 0.01,
                           .begin = begin_stacks,
                           .next = next_stack};

/* }=================================================================================== */
