/* kinds.c - steps through the rows of each table; columns are facts (rooms/report.h, part 5). */
#include <stdlib.h>
#include <string.h>

#include "heapsnap.h"

/* ==== objects and strings ============================================================ */

static int begin_any(hs_cursor *cursor, lh_error *error) {
  (void)error;
  bool one = cursor->lookup == HS_ONE_ID || cursor->lookup == HS_FEW_IDS;
  cursor->list = NULL;
  cursor->at = one ? cursor->object : 0;
  cursor->end = one ? cursor->object + 1 : lh_object_count(cursor->file->snapshot) + 1;
  cursor->fact_row.position = 0;
  return LH_OK;
}

/* The next id of the list or range, without luaheap's own objects; LH_NO_OBJECT: end. */
static lh_id next_id(hs_cursor *cursor) {
  while (cursor->at < cursor->end) {
    uint32_t at = cursor->descending ? --cursor->end : cursor->at++;
    if (cursor->list != NULL) return cursor->list[at];
    if (!lh_is_own(cursor->file->snapshot, at)) return at;
  }
  return LH_NO_OBJECT;
}

static bool next_of_type(hs_cursor *cursor, lh_type type) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_id id;
  do {
    id = next_id(cursor);
    if (id == LH_NO_OBJECT) return false;
  } while (lh_type_of(snapshot, id) != type || lh_is_dead(snapshot, id));
  cursor->row = cursor->fact_row.id = id;
  return true;
}

static bool next_inside(hs_cursor *cursor, lh_type type,
                        void (*begin)(const lh_snapshot *snapshot, lh_id id, lh_edges *iterator),
                        bool (*next)(hs_cursor *cursor)) {
  for (;;) {
    if (cursor->fact_row.position == 0) {
      if (!next_of_type(cursor, type)) return false;
      begin(cursor->file->snapshot, cursor->fact_row.id, &cursor->iterator);
    }
    cursor->fact_row.position++;
    if (next(cursor)) return true;
    cursor->fact_row.position = 0;
  }
}

static int begin_class(hs_cursor *cursor, lh_error *error) {
  hs_file *file = cursor->file;
  int code = hs_index_classes(file, error);
  if (code != LH_OK) return code;
  cursor->list = file->by_class.item;
  cursor->at = 0;
  cursor->end = file->by_class.first[lh_class_count(file->snapshot)];
  if (cursor->lookup == HS_BY_CLASS) hs_find_class(file, cursor->text, &cursor->at, &cursor->end);
  return LH_OK;
}

static int begin_dominated(hs_cursor *cursor, lh_error *error) {
  hs_index *index = &cursor->file->by_dominator;
  int code = hs_index_dominators(cursor->file, error);
  if (code != LH_OK) return code;
  cursor->list = index->item;
  cursor->at = index->first[cursor->object];
  cursor->end = index->first[cursor->object + 1];
  return LH_OK;
}

/* Reads '0x55d0c0a3f2e0', 'table: 0x55d0c0a3f2e0', or SQLite's decimal text of a bare address. */
static void begin_address(hs_cursor *cursor) {
  char *end = cursor->text;
  const char *colon = strstr(cursor->text, ": 0x"), *text = colon ? colon + 2 : cursor->text;
  bool is_number = text[0] >= '0' && text[0] <= '9';
  uint64_t address = is_number ? strtoull(text, &end, text[1] == 'x' ? 16 : 10) : 0;
  bool is_address = is_number && *end == '\0';
  lh_id id = is_address ? lh_find_address(cursor->file->snapshot, address) : LH_NO_OBJECT;
  cursor->at = id;
  cursor->end = id != LH_NO_OBJECT ? id + 1 : id;
}

static int begin_objects(hs_cursor *cursor, lh_error *error) {
  (void)begin_any(cursor, error);
  if (cursor->lookup == HS_BY_CLASS || cursor->by_class) return begin_class(cursor, error);
  if (cursor->lookup == HS_FEW_IDS) return begin_dominated(cursor, error);
  if (cursor->lookup == HS_ADDRESS) begin_address(cursor);
  return LH_OK;
}

static bool next_object(hs_cursor *cursor) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_id id;
  while ((id = next_id(cursor)) != LH_NO_OBJECT) {
    if (id == LH_ROOT) continue;
    if (cursor->lookup == HS_BY_TYPE &&
        strcmp(lh_type_name(lh_type_of(snapshot, id)), cursor->text) != 0)
      continue;
    cursor->row = cursor->fact_row.id = id;
    return true;
  }
  return false;
}

static bool next_string(hs_cursor *cursor) {
  return next_of_type(cursor, LH_TYPE_STRING);
}

/* ==== edges and entries ============================================================== */

void hs_referrers_free(hs_referrers *referrers) {
  lh_free(referrers->edges);
  sqlite3_free(referrers->order);
  *referrers = (hs_referrers){0};
}

/* Edges of one source keep their order, by position. */
static int by_source(const void *a, const void *b, void *edges) {
  uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
  lh_id x = ((const lh_edge *)edges)[left].source, y = ((const lh_edge *)edges)[right].source;
  return x != y ? (x < y ? -1 : 1) : left < right ? -1 : 1;
}

static int find_referrers(hs_cursor *cursor, lh_error *error) {
  hs_referrers *r = &cursor->referrers;
  size_t n = 0;
  hs_referrers_free(r);
  cursor->at = cursor->end = 0;
  cursor->walked = LH_NO_OBJECT;
  if (cursor->object == LH_ROOT || lh_is_own(cursor->file->snapshot, cursor->object)) return LH_OK;
  int code = lh_referrers(cursor->file->snapshot, cursor->object, &r->edges, &n, error);
  if (code != LH_OK) return code;
  r->order = sqlite3_malloc64((n + 1) * sizeof *r->order);
  if (r->order == NULL) return hs_no_memory(error, "looking for references");
  for (uint32_t i = 0; i < n; i++) r->order[i] = i;
  if (n > 1) qsort_r(r->order, n, sizeof *r->order, by_source, r->edges);
  cursor->end = (uint32_t)n;
  return LH_OK;
}

static int begin_edges(hs_cursor *cursor, lh_error *error) {
  return cursor->lookup == HS_FEW_IDS ? find_referrers(cursor, error) : begin_any(cursor, error);
}

static bool is_same_edge(const lh_edge *a, const lh_edge *b) {
  return a->target == b->target && a->kind == b->kind && a->ordinal == b->ordinal &&
         a->index == b->index && a->key.kind == b->key.kind &&
         (a->key.kind == LH_VALUE_OBJECT ? a->key.as.object == b->key.as.object
                                         : a->key.as.integer == b->key.as.integer);
}

/* Finds the position of an edge that was found by its target. The iterator continues behind the
** last edge found, so edges of one source cost one walk if they come in order. */
static void find_position(hs_cursor *cursor) {
  lh_fact_row *fact_row = &cursor->fact_row;
  bool is_new = cursor->walked != fact_row->edge.source;
  lh_edge edge;
  while (fact_row->position == 0) {
    if (is_new) lh_edges_begin(cursor->file->snapshot, fact_row->edge.source, &cursor->iterator);
    if (is_new) cursor->n_walked = 0;
    cursor->walked = fact_row->edge.source;
    while (fact_row->position == 0 && lh_edges_next(&cursor->iterator, &edge)) {
      cursor->n_walked++;
      if (is_same_edge(&edge, &fact_row->edge)) fact_row->position = cursor->n_walked;
    }
    if (is_new) return;
    is_new = true;
  }
}

static const void *edge_row(hs_cursor *cursor, const lh_column *column) {
  bool is_position = column->offset == offsetof(lh_fact_row, position) && column->bytes > 0;
  if (is_position && cursor->fact_row.position == 0) find_position(cursor);
  return &cursor->fact_row;
}

static bool next_to_target(hs_cursor *cursor) {
  if (cursor->at == cursor->end) return false;
  cursor->fact_row.edge = cursor->referrers.edges[cursor->referrers.order[cursor->at++]];
  cursor->fact_row.position = 0;
  return true;
}

static bool next_edge_row(hs_cursor *cursor) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  if (cursor->lookup == HS_FEW_IDS) return next_to_target(cursor);
  for (;;) {
    if (cursor->fact_row.position == 0) {
      lh_id source = next_id(cursor);
      if (source == LH_NO_OBJECT) return false;
      lh_edges_begin(snapshot, source, &cursor->iterator);
    }
    if (lh_edges_next(&cursor->iterator, &cursor->fact_row.edge)) {
      cursor->fact_row.position++;
      if (!lh_is_own(snapshot, cursor->fact_row.edge.target)) return true;
    } else {
      cursor->fact_row.position = 0;
    }
  }
}

static bool read_entry(hs_cursor *cursor) {
  return lh_entries_next(&cursor->iterator, &cursor->fact_row.key, &cursor->fact_row.value);
}

static bool next_entry(hs_cursor *cursor) {
  return next_inside(cursor, LH_TYPE_TABLE, lh_entries_begin, read_entry);
}

/* ==== threads and frames ============================================================= */

/* Takes the innermost frame with a line, if any: nearly all threads are in coroutine.yield. */
static bool next_thread(hs_cursor *cursor) {
  lh_frame frame, *shown = &cursor->fact_row.frame;
  if (!next_of_type(cursor, LH_TYPE_THREAD)) return false;
  *shown = (lh_frame){.function = {.kind = LH_VALUE_NIL}};
  lh_frames_begin(cursor->file->snapshot, cursor->fact_row.id, &cursor->iterator);
  while (lh_frames_next(&cursor->iterator, &frame))
    if (frame.line != 0 || shown->line == 0) *shown = frame;
  return true;
}

static bool read_frame(hs_cursor *cursor) {
  return lh_frames_next(&cursor->iterator, &cursor->fact_row.frame);
}

static bool next_frame(hs_cursor *cursor) {
  return next_inside(cursor, LH_TYPE_THREAD, lh_frames_begin, read_frame);
}

/* ==== Numbered rows ================================================================== */

static void begin_numbers(hs_cursor *cursor, size_t n) {
  bool one = cursor->lookup == HS_ONE_ID;
  cursor->at = one ? cursor->object : 1;
  cursor->end = (one && cursor->object < n ? cursor->object : (uint32_t)n) + 1;
}

static bool next_number(hs_cursor *cursor) {
  if (cursor->at == 0 || cursor->at >= cursor->end) return false;
  cursor->row = cursor->fact_row.id = cursor->at++;
  return true;
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

/* Adds up the counts of each site's stacks, once: 32 bytes a site. */
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

static bool next_site(hs_cursor *cursor) {
  if (!next_number(cursor)) return false;
  cursor->fact_row.site = *lh_site_of(sites_of(cursor), cursor->row);
  cursor->fact_row.counts = cursor->file->site_counts[cursor->row];
  return true;
}

static bool next_stack(hs_cursor *cursor) {
  if (!next_number(cursor)) return false;
  cursor->fact_row.stack = *lh_stack_of(sites_of(cursor), cursor->row);
  cursor->fact_row.counts = lh_stack_counts_of(cursor->file->snapshot, cursor->row);
  return true;
}

/* Skips classes without objects, which were joined into others. */
static bool next_class(hs_cursor *cursor) {
  while (next_number(cursor)) {
    cursor->class.of_class = *lh_class_at(cursor->file->snapshot, cursor->row - 1);
    if (cursor->class.of_class.objects + cursor->class.of_class.garbage_objects > 0) return true;
  }
  return false;
}

static const void *class_row(hs_cursor *cursor, const lh_column *column) {
  (void)column;
  const uint64_t *retained = cursor->file->class_retained;
  if (retained != NULL) cursor->class.retained_bytes = retained[cursor->row - 1];
  return &cursor->class;
}

static int begin_modules(hs_cursor *cursor, lh_error *error) {
  hs_file *file = cursor->file;
  int code = LH_OK;
  if (!file->modules.list) code = lh_list_modules(file->snapshot, &file->modules, error);
  begin_numbers(cursor, file->modules.n);
  return code;
}

static const void *module_row(hs_cursor *cursor, const lh_column *column) {
  (void)column;
  return &cursor->file->modules.list[cursor->row - 1];
}

static const void *mark_row(hs_cursor *cursor, const lh_column *column) {
  (void)column;
  cursor->mark = (lh_mark_fact){*lh_mark_at(cursor->file->snapshot, cursor->row - 1), cursor->row};
  return &cursor->mark;
}

/* Counts luaheap's own objects, which no other table has. */
static int begin_info(hs_cursor *cursor, lh_error *error) {
  const lh_snapshot *snapshot = cursor->file->snapshot;
  lh_count own = {0};
  (void)error;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    if (!lh_is_own(snapshot, id)) continue;
    own.objects++;
    own.bytes += lh_shallow_bytes(snapshot, id);
  }
  cursor->file->fact.own = own;
  begin_numbers(cursor, 1);
  return LH_OK;
}

static const void *info_row(hs_cursor *cursor, const lh_column *column) {
  (void)column;
  return &cursor->file->fact;
}

int hs_begin(hs_cursor *cursor, lh_error *error) {
  const hs_kind *kind = cursor->kind;
  int code = hs_need(cursor->file, kind->needs, error);
  if (code != LH_OK) return code;
  if (kind->begin != NULL) return kind->begin(cursor, error);
  begin_numbers(cursor, kind->count(cursor->file->snapshot));
  return LH_OK;
}

#define KIND(...)    \
  &(const hs_kind) { \
    __VA_ARGS__      \
  }
/* Edges need the analysis, which finds the ephemerons. */
const hs_kind *const hs_kinds[] = {
    KIND(.facts = &lh_object_facts, .key = "id", .rows_per_object = 1, .count = lh_object_count,
         .begin = begin_objects, .next = next_object,
         .lookups = {{"id", HS_ONE_ID},
                     {"type", HS_BY_TYPE},
                     {"class", HS_BY_CLASS},
                     {"address", HS_ADDRESS},
                     {"immediate_dominator", HS_FEW_IDS}}),
    KIND(.facts = &lh_edge_facts, .key = "source, position", .rows_per_object = 3,
         .count = lh_object_count, .needs = LH_NEEDS_ANALYSIS, .begin = begin_edges,
         .next = next_edge_row, .row = edge_row,
         .lookups = {{"source", HS_ONE_ID}, {"target", HS_FEW_IDS}}),
    KIND(.facts = &lh_entry_facts, .key = "id, position", .rows_per_object = 3,
         .count = lh_object_count, .begin = begin_any, .next = next_entry,
         .lookups = {{"id", HS_ONE_ID}}),
    KIND(.facts = &lh_string_facts, .key = "id", .rows_per_object = 0.5, .count = lh_object_count,
         .begin = begin_any, .next = next_string, .lookups = {{"id", HS_ONE_ID}}),
    KIND(.facts = &lh_class_facts, .rows_per_object = 0.01, .count = lh_class_count,
         .needs = LH_NEEDS_CLASSES, .next = next_class, .row = class_row),
    KIND(.facts = &lh_thread_facts, .key = "id", .rows_per_object = 0.001, .count = lh_object_count,
         .begin = begin_any, .next = next_thread, .lookups = {{"id", HS_ONE_ID}}),
    KIND(.facts = &lh_frame_facts, .key = "thread, frame", .rows_per_object = 0.005,
         .count = lh_object_count, .begin = begin_any, .next = next_frame,
         .lookups = {{"thread", HS_ONE_ID}}),
    KIND(.facts = &lh_site_facts, .key = "id", .rows_per_object = 0.001, .count = count_sites,
         .begin = begin_sites, .next = next_site, .lookups = {{"id", HS_ONE_ID}}),
    KIND(.facts = &lh_stack_facts, .key = "id", .rows_per_object = 0.01, .count = count_stacks,
         .next = next_stack, .lookups = {{"id", HS_ONE_ID}}),
    KIND(.facts = &lh_module_facts, .rows_per_object = 0.001, .needs = LH_NEEDS_CLASSES,
         .begin = begin_modules, .next = next_number, .row = module_row),
    KIND(.facts = &lh_mark_facts, .count = lh_mark_count, .next = next_number, .row = mark_row),
    KIND(.facts = &lh_snapshot_facts, .begin = begin_info, .next = next_number, .row = info_row),
    NULL};
