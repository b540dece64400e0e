/*
** diff_rows.c - rows of a comparison: containers and strings that grew, the change of each class,
** and which rows are known. Known fingerprints of the release before match, too, for one release.
**
** In text, containers of one class whose paths differ only in folded steps (*), or which are
** siblings that grow alike, are one row: a leak in each of a thousand inboxes has one cause.
*/
#include "name/map.h"
#include "report/report.h"

/* ==== Containers ===================================================================== */

/* Containers of one class and place: the one that grew most, with the sums of all. */
typedef struct place {
  lh_grown sum;
  const lh_grown *first;
  uint64_t n;
} place;

LH_CELL(path_of, place, cell->as.text = it->n > 1 ? it->sum.place : it->sum.held_by)

static void dash_unless_table(lh_report *report, const void *row, lh_cell *cell) {
  if (lh_type_of(report->snapshot, ((const place *)row)->sum.id) == LH_TYPE_TABLE) return;
  cell->kind = LH_COLUMN_TEXT;
  cell->as.text = "-";
}

static const char *number_heading(const lh_report *report) {
  const lh_diff_found *f = report->answer;
  return !f->is_folded ? NULL : f->new.strings > 0 ? "number" : "containers";
}

/* NULL: not weak, or most entries have a weak part. */
static const char *why_weak_stay(const lh_snapshot *snapshot, lh_id table) {
  lh_weak_sides weak = lh_weak_sides_of(snapshot, table);
  uint64_t n = 0, n_staying = 0;
  lh_edges it;
  lh_value key, value;
  if (!weak.keys && !weak.values) return NULL;
  for (lh_entries_begin(snapshot, table, &it); lh_entries_next(&it, &key, &value); n++)
    n_staying += (!weak.keys || lh_is_never_weak(snapshot, key)) &&
                 (!weak.values || lh_is_never_weak(snapshot, value));
  if (2 * n_staying <= n) return NULL;
  return !weak.values ? "weak keys, but strings and numbers are never weak: the entries stay"
         : !weak.keys ? "weak values, but strings and numbers are never weak: the entries stay"
                      : "weak, but strings and numbers are never weak: the entries stay";
}

/* Where the string was allocated. A table has no such line: its slots are no object, and a snapshot
** knows only where the table itself was made. Of a weak one, why its entries stay all the same. */
static const char *line_below(lh_report *report, const void *row) {
  lh_id id = ((const place *)row)->sum.id;
  if (lh_type_of(report->snapshot, id) != LH_TYPE_STRING)
    return why_weak_stay(report->snapshot, id);
  lh_allocated made = {
      .stack = lh_object_stack(report->snapshot, id), .callers = 1, .objects = 1, .of = 1};
  return lh_allocated_line(report, &made);
}

#define ROW place
static const lh_table place_table =
    LH_TABLE_WITH((.below = line_below), NULL, "container", "containers",
                  LH_INLINE_TEXT(NULL, NULL, sum.fingerprint, NULL, LH_UNBROKEN,
                                 LH_HEADING(lh_fingerprint_heading)),
                  LH_BYTES_CHANGE("grew", sum.shallow_bytes),
                  LH_COUNT(NULL, NULL, n, NULL, LH_HEADING(number_heading)),
                  LH_BYTES_SERIES(NULL, "bytes", sum.shallow_bytes, NULL, LH_WIDE),
                  LH_COUNT_SERIES(NULL, "entries", sum.entries, NULL, .compute = dash_unless_table),
                  LH_EXAMPLE(NULL, "example", sum.id, NULL),
                  LH_OF(NULL, "class", LH_COLUMN_TEXT, sum.id, lh_cell_class, NULL, LH_WIDE),
                  LH_COMPUTED(NULL, "path", LH_COLUMN_TEXT, path_of, NULL));
#undef ROW

static int compare_sums(const void *left, const void *right) {
  const place *a = left, *b = right;
  uint64_t x = lh_grown_by(a->sum.shallow_bytes), y = lh_grown_by(b->sum.shallow_bytes);
  return LH_MORE(x, y) ?: LH_LESS(a->first, b->first);
}

static void add_grown(place *p, const lh_grown *other) {
  p->n++;
  for (int k = 0; k < 3; k++) {
    p->sum.shallow_bytes[k] += other->shallow_bytes[k];
    p->sum.entries[k] += other->entries[k];
  }
}

/* The rows, sorted by growth. NULL: out of memory. */
static place *fold(const lh_grown *grown, size_t n, size_t *n_places) {
  place *places = lh_alloc_zeroed(n + 1, sizeof *places);
  lh_map row_of = {0};
  bool ok = places != NULL;
  *n_places = 0;
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t *row = lh_map_at(&row_of, (uint64_t)grown[i].class_index << 32 | grown[i].told_at);
    ok = row != NULL;
    if (ok && *row != LH_NO_NUMBER) {
      add_grown(&places[*row], &grown[i]);
    } else if (ok) {
      *row = (uint32_t)*n_places;
      places[(*n_places)++] = (place){grown[i], &grown[i], 1};
    }
  }
  lh_map_free(&row_of);
  if (ok) qsort(places, *n_places, sizeof *places, compare_sums);
  if (ok) return places;
  lh_free(places);
  return NULL;
}

uint64_t lh_count_grown(const lh_grown *grown, size_t n) {
  size_t n_places;
  uint64_t n_bigger = 0;
  place *places = fold(grown, n, &n_places);
  for (size_t i = 0; places && i < n_places; i++)
    if (lh_grown_by(places[i].sum.shallow_bytes) > 0) n_bigger += places[i].n;
  lh_free(places);
  return n_bigger > 0 ? n_bigger : n;
}

/* Do the new objects in a container, or the string, tell where they were allocated? */
static bool has_line(const lh_report *report, const lh_grown *grown) {
  const lh_diff_found *f = report->answer;
  for (size_t i = 0; i < f->new.groups; i++)
    if (f->diff.groups[i].cause == grown->cause) return true;
  return lh_type_of(report->snapshot, grown->id) == LH_TYPE_STRING;
}

static bool grew_twice(const uint64_t bytes[3]) {
  return bytes[0] < bytes[1] && bytes[1] < bytes[2];
}

static size_t count_bigger(const place *places, size_t n) {
  while (n > 0 && lh_grown_by(places[n - 1].sum.shallow_bytes) == 0) n--;
  return n;
}

static void print_places(lh_printer *t, lh_report *report, const place *places, size_t n) {
  lh_diff_found *f = report->answer;
  size_t n_bigger = count_bigger(places, n);
  if (t->limit == 0 || n_bigger == 0) n_bigger = n;
  size_t n_told = t->limit != 0 && n_bigger > t->limit ? t->limit : n_bigger;
  uint64_t n_hidden = 0, n_equal = 0;
  f->is_folded = false;
  for (size_t i = 0; i < n_told; i++) f->is_folded |= places[i].n > 1;
  for (size_t i = n_told; i < n_bigger; i++) n_hidden += places[i].n;
  for (size_t i = n_bigger; i < n; i++) n_equal += places[i].n;
  bool bytes_grew = true;
  for (size_t i = 0; i < n_told; i++)
    bytes_grew = bytes_grew && grew_twice(places[i].sum.shallow_bytes);
  lh_say(t, LH_BOLD, "\nContainers older than %s%s that %s %s and again %s %s", report->names[0],
         f->new.strings > 0 ? ", and strings in them," : "",
         bytes_grew           ? "grew until"
         : f->new.strings > 0 ? "had more entries or bytes in"
                              : "had more entries in",
         report->names[1], bytes_grew ? "until" : "in", report->names[2]);
  lh_print_rows(t, report, &place_table, places, n_told);
  lh_print_hidden(t, &place_table, n_hidden);
  if (n_equal > 0)
    lh_say(t, LH_FAINT, "%s %s more entries, but no more bytes: %s",
           lh_count_of(n_equal, "other", "others").text, n_equal == 1 ? "has" : "have", t->all);
  if (lh_snapshot_sites(report->snapshot) && !has_line(report, places->first))
    lh_say(t, LH_FAINT,
           "\nWhich line grew a container is in a profile, not in a snapshot: heapprof --leaks "
           "tells, after heap.track{file = \"run.prof\"}");
}

static void print_grown(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  size_t n_places;
  if (((const lh_diff_found *)report->answer)->n_snapshots < 3) {
    lh_say(t, LH_PLAIN, "\nWhether older containers grew is told by three snapshots only");
    return;
  }
  if (n == 0) {
    lh_say(t, LH_PLAIN, "\nNo container that is older than %s grew both times", report->names[0]);
    return;
  }
  place *places = fold(rows, n, &n_places);
  t->failed |= !places;
  if (places) print_places(t, report, places, n_places);
  lh_free(places);
}

#define ROW lh_grown
const lh_table lh_grown_table = LH_TABLE_WITH(
    (.print = print_grown), "heap.grown", "container", "containers",
    LH_INLINE_TEXT("fingerprint", NULL, fingerprint, "as of a group"),
    LH_EXAMPLE("object", NULL, id, "the container", LH_ADDRESS),
    LH_OF("class", NULL, LH_COLUMN_TEXT, id, lh_cell_class, "what it is"),
    LH_TEXT("held_by", NULL, held_by, "its path"),
    LH_TEXT("place", NULL, place, "the same with \"*\" where the paths of a group vary"),
    LH_COUNT("cause", NULL, cause, "as of a group"),
    LH_BYTES_SERIES("shallow_bytes", NULL, shallow_bytes, "in each of the three snapshots"),
    LH_COUNT_SERIES("entries", NULL, entries, "of a table; the same"));
#undef ROW

/* ==== Classes ======================================================================== */

/* Different states: appeared and freed objects are unknown. */
static bool is_of_one_state(const lh_report *report) {
  return report->question == &lh_diff_question;
}

/* Without a middle snapshot a row has two numbers. */
static void at_each(lh_report *report, const void *row, lh_cell *cell) {
  (void)row;
  if (report->request.n_snapshots > 2) return;
  cell->as.series.stride *= 2;
  cell->as.series.n = 2;
}

LH_CELL(absent_if_unknown, void, cell->is_absent = !is_of_one_state(report))
LH_HEADING_OF(appeared_heading, is_of_one_state(report) ? "appeared" : NULL)
LH_HEADING_OF(gone_heading, is_of_one_state(report) ? "gone" : NULL)

static bool has_class_changed(const lh_class_change *change) {
  return change->objects[0] != change->objects[2] ||
         change->shallow_bytes[0] != change->shallow_bytes[2] || change->appeared > 0 ||
         change->gone > 0;
}

static void print_class_changes(lh_printer *t, lh_report *report, const void *rows, size_t n) {
  const lh_class_change *all = rows;
  lh_class_change *changed = lh_alloc_zeroed(n + 1, sizeof *changed);
  size_t n_changed = 0;
  t->failed |= !changed;
  for (size_t i = 0; changed && i < n; i++)
    if (has_class_changed(&all[i])) changed[n_changed++] = all[i];
  lh_say(t, LH_BOLD, "\nChange of classes from %s to %s (%s did not change)", report->names[0],
         report->names[report->request.n_names - 1], lh_count_text(n - n_changed).text);
  lh_print_table(t, report, &lh_class_change_table, changed, n_changed, n_changed);
  lh_free(changed);
}

#define ROW lh_class_change
const lh_table lh_class_change_table = LH_TABLE_WITH(
    (.print = print_class_changes), "heap.class_change", "class", "classes",
    LH_TEXT("class", NULL, name, "its name"),
    LH_WORD("type", NULL, type, lh_type_name, "and its type"),
    LH_COUNT_SERIES("objects", NULL, objects, "in each snapshot", .compute = at_each),
    LH_BYTES_SERIES("shallow_bytes", NULL, shallow_bytes, "the same", .compute = at_each),
    LH_BYTES_CHANGE("bytes", shallow_bytes), LH_BYTES(NULL, "now", shallow_bytes[2], NULL),
    LH_COUNT_CHANGE("objects", objects), LH_COUNT(NULL, "now", objects[2], NULL),
    LH_COUNT("appeared", NULL, appeared, "objects; absent for different states", LH_OPTIONAL,
             .compute = absent_if_unknown, LH_HEADING(appeared_heading)),
    LH_COUNT("gone", NULL, gone, "objects; absent for different states", LH_OPTIONAL,
             .compute = absent_if_unknown, LH_HEADING(gone_heading)),
    LH_TEXT(NULL, "class", name, NULL));
#undef ROW

/* ==== Known rows ===================================================================== */

static int compare_fingerprints(const void *a, const void *b) {
  return strcmp(a, b);
}

static bool is_among(const char *fingerprint, const void *list, size_t n, size_t size) {
  return n > 0 && bsearch(fingerprint, list, n, size, compare_fingerprints);
}

bool lh_is_known(const lh_request *request, const char *fingerprint) {
  const lh_known *known = request->known;
  return known && (is_among(fingerprint, known->list, known->n, sizeof *known->list) ||
                   is_among(fingerprint, known->renewed, known->n_renewed, sizeof *known->renewed));
}

/* ==== Fingerprints of the release before ============================================= */

static bool has_older(const lh_request *request) {
  return request->known && request->known->has_older;
}

static bool renew(lh_known *known, const char *now, const char *before) {
  if (!is_among(before, known->list, known->n, sizeof *known->list)) return true;
  if (!lh_grow(&known->renewed, known->n_renewed, &known->capacity, sizeof *known->renewed))
    return false;
  lh_renewed *made = &known->renewed[known->n_renewed++];
  memcpy(made->now, now, sizeof made->now);
  memcpy(made->before, before, sizeof made->before);
  return true;
}

static void sort_renewed(lh_known *known) {
  if (known->n_renewed > 1)
    qsort(known->renewed, known->n_renewed, sizeof *known->renewed, compare_fingerprints);
}

bool lh_renew_known_of_diff(const lh_request *request, lh_snapshot *c, const lh_diff *diff) {
  char before[LH_FINGERPRINT_BYTES];
  bool ok = true;
  if (!has_older(request)) return true;
  for (size_t i = 0; ok && i < diff->n_groups; i++)
    ok = lh_older_of_group(c, &diff->groups[i], before) &&
         renew(request->known, diff->groups[i].fingerprint, before);
  for (size_t i = 0; ok && i < diff->n_grown; i++)
    ok = lh_older_of_grown(c, &diff->grown[i], before) &&
         renew(request->known, diff->grown[i].fingerprint, before);
  sort_renewed(request->known);
  return ok;
}

static bool renew_known_of_growth(const lh_request *request, const lh_ladder *ladder,
                                  const lh_growth *growth) {
  char before[LH_FINGERPRINT_BYTES];
  bool ok = true;
  if (!has_older(request)) return true;
  for (size_t i = 0; ok && i < growth->n_paths; i++)
    ok = lh_older_of_growth(ladder, &growth->paths[i], before) &&
         renew(request->known, growth->paths[i].fingerprint, before);
  sort_renewed(request->known);
  return ok;
}

static void leave_out_known(lh_growth_found *f, const lh_request *request) {
  lh_growth *growth = &f->growth;
  size_t n = growth->n_paths;
  growth->n_paths = 0;
  for (size_t i = 0; i < n; i++) {
    const lh_growth_row *row = &growth->paths[i];
    if (!lh_is_known(request, row->fingerprint)) {
      growth->paths[growth->n_paths++] = *row;
      continue;
    }
    f->known_paths++;
    f->known_bytes += row->at[growth->n_snapshots - 1].bytes;
    f->known_objects += row->at[growth->n_snapshots - 1].all_objects;
  }
}

int lh_find_growth(lh_growth_found *f, lh_ladder *ladder, bool by_halves, const lh_request *request,
                   lh_error *error) {
  int code = (by_halves ? lh_ladder_halves : lh_ladder_growth)(ladder, &f->all, error);
  if (code != LH_OK) return code;
  f->growth = *f->all;
  if (renew_known_of_growth(request, ladder, f->all)) {
    leave_out_known(f, request);
    return LH_OK;
  }
  lh_free_growth(f);
  return lh_fail_memory(error, "looking for what is known");
}

void lh_free_growth(void *found) {
  lh_growth_found *f = found;
  lh_growth_free(f->all);
  f->all = NULL;
}
