/*
** ladder.c - Finds what grows in a ladder of snapshots, by path and by class.
** A path whose number of objects changes is the head of a row, with all that its objects retain,
** unless a place below grows more steadily: a list in a module that was loaded once. A container
** that only gets bigger is a row of its own. The rest is level. So each byte is in one row or in
** the rest.
*/
#include "compare.h"
#include "graph/graph.h"

#define NOBODY LH_NO_NUMBER

typedef struct builder {
  lh_ladder *ladder;
  bool halves; /* the second half of the snapshots is after a change */
  lh_view view;
  lh_figures *figures; /* row r in snapshot k: [r * n_snapshots + k] */
  lh_figures *alone;   /* the same without what is below; all_objects: with upvalues */
  uint8_t *verdict;    /* by row */
  bool *changes;       /* by row: its own bytes or entries change */
  uint32_t *head;      /* by vertex: the row of what is below it */
  uint32_t *owner;     /* by vertex: its own row */
  uint64_t *series;    /* scratch: a figure in each snapshot */
  lh_growth *growth;
} builder;

/* ==== Verdicts ====================================================================== */

static void take_series(const builder *b, const uint64_t *first) {
  for (size_t k = 0; k < b->ladder->n_snapshots; k++)
    b->series[k] = *(const uint64_t *)((const char *)first + k * sizeof(lh_figures));
}

/* Of one snapshot before and one after: the decrease and the increase. */
static void find_growths(const uint64_t *series, size_t n, int64_t growth[2]) {
  int64_t change = (int64_t)(series[n - 1] - series[0]);
  growth[0] = n > 2 ? (int64_t)(series[n / 2 - 1] - series[0]) : -change;
  growth[1] = n > 2 ? (int64_t)(series[n - 1] - series[n / 2]) : change;
}

static lh_verdict judge(const builder *b, const uint64_t *first) {
  int64_t growth[2];
  take_series(b, first);
  if (!b->halves) return lh_verdict_of(b->series, b->ladder->n_snapshots);
  find_growths(b->series, b->ladder->n_snapshots, growth);
  return lh_verdict_of_two(growth[0], growth[1]);
}

static uint64_t added(const lh_figures *at, size_t from, size_t to) {
  return at[to].bytes > at[from].bytes ? at[to].bytes - at[from].bytes : 0;
}

/* Counts that grow matter from a thousandth of the heap on, or 4 KB; only longer texts in as many
** objects from the greater of both. Less matters if it is half of the whole growth. */
static bool matters(const builder *b, const lh_figures *at, bool by_counts) {
  enum { THOUSAND = 1000, LEAST = 4096, LEAST_OF_ALL = 10000, LEAST_TEXT_OF_ALL = 100 };
  const lh_figures *whole = b->growth->whole;
  size_t last = b->ladder->n_snapshots - 1;
  uint64_t heap = whole[last].bytes, share = heap / THOUSAND, growth = added(at, 1, last);
  if (by_counts && added(at, 0, last) >= (share < LEAST ? share : LEAST)) return true;
  if (growth >= (share > LEAST ? share : LEAST)) return true;
  return growth > heap / (by_counts ? LEAST_OF_ALL : LEAST_TEXT_OF_ALL) &&
         2 * growth >= added(whole, 1, last);
}

/* A row that grew by one figure before, and by another one after, still grows. */
static lh_verdict join_verdicts(const builder *b, lh_verdict x, lh_verdict y) {
  if (b->halves && x != y && x != LH_LEVEL && y != LH_LEVEL) return LH_STILL_GROWS;
  return x > y ? x : y;
}

/* Are there no more objects, and only tables whose slots change? Keys that slide through a full
** table make it bigger and smaller, so its entries decide. */
static bool are_slots(const builder *b, const lh_figures *at) {
  return !b->halves && at[b->ladder->n_snapshots - 1].entries > 0 &&
         judge(b, &at->objects) == LH_LEVEL && judge(b, &at->all_objects) == LH_LEVEL;
}

static lh_verdict judge_row(const builder *b, const lh_figures *at) {
  lh_verdict counts = join_verdicts(b, judge(b, &at->objects), judge(b, &at->entries));
  if (counts < LH_GROWS_STEADILY && are_slots(b, at)) return counts;
  lh_verdict joined = join_verdicts(b, counts, judge(b, &at->bytes));
  if (joined != LH_GROWS_STEADILY || matters(b, at, counts == LH_GROWS_STEADILY)) return joined;
  return LH_GROWS_A_LITTLE;
}

/* ==== Rows by path ================================================================== */

static void add_tally(lh_figures *to, const lh_census_count *own, bool is_itself) {
  if (is_itself) {
    to->objects += own->objects;
    to->entries += own->entries;
  }
  to->bytes += own->bytes;
  to->all_objects += own->objects;
}

/* Adds up the figures of each row: its own, or all that its vertices own. */
static void fill_rows(builder *b, const uint32_t *owner_of, lh_figures *figures) {
  const lh_ladder *ladder = b->ladder;
  size_t n_snapshots = ladder->n_snapshots;
  for (size_t k = 0; k < n_snapshots; k++) {
    const lh_snapshot_counts *counts = &ladder->snapshots[k];
    for (size_t v = 1; v < counts->n_vertices; v++) {
      uint32_t place = ladder->trie.vertices[v].label, row = b->view.row_of[place];
      uint32_t owner = owner_of ? owner_of[b->view.vertex_of[v]] : row;
      lh_figures *to = owner == NOBODY ? &b->growth->level[k] : &figures[owner * n_snapshots + k];
      bool is_itself = owner == row && !lh_is_beside(ladder, &b->view, place);
      add_tally(to, &counts->of_vertex[v], is_itself);
    }
  }
}

static void judge_rows_alone(builder *b) {
  fill_rows(b, NULL, b->alone);
  for (size_t row = 0; row < b->view.n_rows; row++) {
    const lh_figures *at = &b->alone[row * b->ladder->n_snapshots];
    b->verdict[row] = (uint8_t)judge(b, &at->all_objects);
    b->changes[row] = judge(b, &at->bytes) != LH_LEVEL || judge(b, &at->entries) != LH_LEVEL;
  }
}

static void find_owners(builder *b) {
  const lh_trie *trie = &b->view.trie;
  b->head[0] = b->owner[0] = NOBODY;
  for (size_t v = 1; v < trie->n; v++) {
    uint32_t row = trie->vertices[v].label, above = b->head[trie->vertices[v].above];
    lh_verdict verdict = (lh_verdict)b->verdict[row];
    bool is_head = verdict > LH_LEVEL && (above == NOBODY || verdict > b->verdict[above]);
    b->head[v] = is_head ? row : above;
    b->owner[v] = b->head[v] == NOBODY && b->changes[row] ? row : b->head[v];
  }
}

/* ==== Rows ========================================================================== */

/* The first step of a ladder is a warm-up and counts separately. */
static void find_growth(const builder *b, const uint64_t *first, int64_t growth[2]) {
  size_t n = b->ladder->n_snapshots, second = n > 2;
  take_series(b, first);
  find_growths(b->series, n, growth);
  if (b->halves) return;
  growth[0] = (int64_t)(b->series[second] - b->series[0]);
  growth[1] = (int64_t)(b->series[n - 1] - b->series[second]);
}

/* By counts if these grow, since a table grows by leaps. */
static double find_next_bytes(const builder *b, const lh_figures *at) {
  const uint64_t *counts[2] = {&at->objects, &at->entries};
  size_t last = b->ladder->n_snapshots - 1;
  for (int i = 0; i < 2; i++) {
    take_series(b, counts[i]);
    double rate = lh_rate_of(b->series, last + 1);
    if (rate <= 0) continue;
    size_t from = last > 1 && b->series[last] > b->series[1];
    double n = (double)b->series[last] - (double)b->series[from];
    return rate * (double)added(at, from, last) / n;
  }
  take_series(b, &at->bytes);
  return lh_rate_of(b->series, last + 1);
}

static void set_growth(const builder *b, lh_growth_row *row) {
  const lh_growth *growth = b->growth;
  size_t n = growth->n_snapshots, n_steps = b->halves ? 1 : n - 1 - (n > 2);
  find_growth(b, &row->at->bytes, row->grew_bytes);
  find_growth(b, &row->at->all_objects, row->grew_objects);
  row->bytes_per_step = (double)row->grew_bytes[1] / (double)n_steps;
  row->next_bytes = find_next_bytes(b, row->at);
  row->bytes_per_second = growth->seconds > 0 ? (double)row->grew_bytes[1] / growth->seconds : 0;
}

static uint64_t magnitude_of(int64_t change) {
  return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static uint64_t weight_of(const lh_growth_row *row, size_t n_snapshots) {
  uint64_t most = 0;
  switch (row->verdict) {
    case LH_GROWS_A_LITTLE:
    case LH_LEVELS_OFF:
    case LH_GROWS_STEADILY: return (uint64_t)row->next_bytes;
    case LH_STILL_GROWS:
    case LH_GROWS_NOW: return row->grew_bytes[1] > 0 ? (uint64_t)row->grew_bytes[1] : 0;
    case LH_NO_LONGER_GROWS: return magnitude_of(row->grew_bytes[0]);
    case LH_SAW_TOOTH: break;
    default: return magnitude_of(row->grew_bytes[0] + row->grew_bytes[1]);
  }
  for (size_t k = 1; k < n_snapshots; k++) {
    uint64_t step = magnitude_of((int64_t)(row->at[k].bytes - row->at[k - 1].bytes));
    if (step > most) most = step;
  }
  return most;
}

static int compare_growth_rows(const void *left, const void *right, void *payload) {
  const lh_growth_row *a = left, *b = right;
  const lh_growth *growth = payload;
  bool of_ladder = a->verdict <= LH_GROWS_STEADILY;
  if (of_ladder && a->verdict != b->verdict) return a->verdict > b->verdict ? -1 : 1;
  uint64_t x = weight_of(a, growth->n_snapshots), y = weight_of(b, growth->n_snapshots);
  int by_path = LH_MORE(x, y) ?: a->held_by ? strcmp(a->held_by, b->held_by) : 0;
  return by_path ?: strcmp(a->class_name, b->class_name) ?: LH_LESS(a->type, b->type) ?:
         LH_LESS(a->at, b->at);
}

static void sort_rows(const builder *b, lh_growth_row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) set_growth(b, &rows[i]);
  if (n > 1) qsort_r(rows, n, sizeof *rows, compare_growth_rows, b->growth);
}

static bool join_siblings(builder *b) {
  lh_growth *growth = b->growth;
  size_t n = growth->n_paths;
  uint64_t *weights = lh_alloc(n, sizeof *weights);
  for (size_t i = 0; weights && i < n; i++)
    weights[i] = weight_of(&growth->paths[i], growth->n_snapshots);
  bool ok = weights && lh_join_sibling_growth(growth, b->ladder, weights);
  for (size_t i = 0; ok && growth->n_paths < n && i < growth->n_paths; i++)
    growth->paths[i].verdict = judge_row(b, growth->paths[i].at);
  if (ok && growth->n_paths < n) sort_rows(b, growth->paths, growth->n_paths);
  lh_free(weights);
  return ok;
}

static void add_level(builder *b, const lh_figures *at) {
  for (size_t k = 0; k < b->ladder->n_snapshots; k++) {
    b->growth->level[k].bytes += at[k].bytes;
    b->growth->level[k].all_objects += at[k].all_objects;
  }
}

static bool number_causes_of_paths(builder *b) {
  lh_growth *growth = b->growth;
  lh_caused *rows = lh_alloc(growth->n_paths, sizeof *rows);
  for (size_t i = 0; rows && i < growth->n_paths; i++) {
    lh_growth_row *row = &growth->paths[i];
    rows[i] = (lh_caused){row->cause_at, row->at[growth->n_snapshots - 1].bytes, &row->cause, 0};
  }
  bool ok = rows && lh_number_causes(&b->ladder->tree, rows, growth->n_paths);
  lh_free(rows);
  return ok;
}

static bool *find_rows_by_entries(const builder *b) {
  bool *by_entries = lh_alloc_zeroed(b->view.n_rows, sizeof *by_entries);
  for (size_t i = 0; by_entries && i < b->view.n_rows; i++) {
    const lh_figures *at = &b->figures[i * b->ladder->n_snapshots];
    by_entries[i] = judge(b, &at->objects) == LH_LEVEL && judge(b, &at->entries) != LH_LEVEL;
  }
  return by_entries;
}

static bool list_path_rows(builder *b) {
  lh_growth *growth = b->growth;
  const lh_ladder *ladder = b->ladder;
  uint32_t *main_class = lh_alloc(b->view.n_rows, sizeof *main_class);
  growth->paths = lh_alloc(b->view.n_rows, sizeof *growth->paths);
  bool *by_entries = find_rows_by_entries(b);
  bool ok = main_class && growth->paths && by_entries &&
            lh_find_main_classes(ladder, &b->view, by_entries, main_class);
  for (size_t i = 0; ok && i < b->view.n_rows; i++) {
    const lh_figures *at = &b->figures[i * ladder->n_snapshots];
    lh_growth_row *row = &growth->paths[growth->n_paths];
    lh_verdict verdict = judge_row(b, at);
    if (verdict == LH_LEVEL) {
      add_level(b, at);
      continue;
    }
    const lh_class_entry *class = &ladder->known.list[main_class[i]].entry;
    *row = (lh_growth_row){
        .class_name = lh_view_class_name(ladder, &b->view, (uint32_t)i, main_class[i]),
        .type = class->visible.type,
        .held_by = lh_ladder_text(ladder, b->view.rows[i].name),
        .verdict = verdict,
        .at = at,
        .told_at = b->view.rows[i].name,
        .cause_at = b->view.rows[i].path,
        .printed_at = b->view.rows[i].path,
        .printed_class = main_class[i],
        .printed_name = lh_view_name(ladder, &b->view, (uint32_t)i, main_class[i], false)};
    ok = lh_fingerprint(class, lh_view_name(ladder, &b->view, (uint32_t)i, main_class[i], true),
                        ladder->tree.list[b->view.rows[i].path].identity, row->fingerprint);
    growth->n_paths++;
  }
  LH_FREE_ALL(main_class, by_entries);
  if (ok) sort_rows(b, growth->paths, growth->n_paths);
  return ok && join_siblings(b) && number_causes_of_paths(b);
}

/* ==== Rows by class ================================================================= */

/* The objects of one class in one row by path, in the first and the last snapshot. */
typedef struct class_at {
  uint32_t class_row, row;
  uint64_t objects[2];
} class_at;

/* Lists the classes of each row by path. NULL: out of memory. */
static class_at *list_classes_at(const builder *b, const uint32_t *row_of, size_t *n) {
  const lh_ladder *ladder = b->ladder;
  lh_map numbers = {0};
  class_at *list = lh_alloc_zeroed(ladder->n_places, sizeof *list);
  bool ok = list != NULL;
  for (int i = 0; i < 2; i++) {
    const lh_snapshot_counts *counts = &ladder->snapshots[i == 0 ? 0 : ladder->n_snapshots - 1];
    for (size_t v = 1; ok && v < counts->n_vertices; v++) {
      uint32_t place = ladder->trie.vertices[v].label, row = b->view.row_of[place];
      uint32_t class_row = row_of[ladder->places[place].class_row];
      uint32_t at = lh_map_number(&numbers, (uint64_t)class_row << 32 | row);
      ok = at != LH_NO_NUMBER;
      if (!ok) break;
      list[at].class_row = class_row;
      list[at].row = row;
      list[at].objects[i] += counts->of_vertex[v].objects;
    }
  }
  *n = numbers.n;
  lh_map_free(&numbers);
  if (!ok) lh_free(list);
  return ok ? list : NULL;
}

/* How many more objects a class has at its places, and at those of them that level off. */
typedef struct class_growth {
  uint64_t all, bounded;
} class_growth;

/* Adds up, by class, all objects at the places where the class grows. NULL: out of memory. */
static lh_figures *find_places_of_classes(const builder *b, const uint32_t *row_of, size_t n_rows,
                                          class_growth *growth) {
  size_t n = 0, n_snapshots = b->ladder->n_snapshots;
  class_at *list = list_classes_at(b, row_of, &n);
  lh_figures *sums = list ? lh_alloc_zeroed(n_rows, n_snapshots * sizeof *sums) : NULL;
  for (size_t i = 0; sums && i < n; i++)
    if (list[i].objects[1] > list[i].objects[0]) {
      uint64_t more = list[i].objects[1] - list[i].objects[0];
      growth[list[i].class_row].all += more;
      if (b->verdict[list[i].row] == LH_LEVELS_OFF) growth[list[i].class_row].bounded += more;
    }
  for (size_t i = 0; sums && i < n; i++)
    for (size_t k = 0; list[i].objects[1] > list[i].objects[0] && k < n_snapshots; k++)
      sums[list[i].class_row * n_snapshots + k].objects +=
          b->alone[list[i].row * n_snapshots + k].all_objects;
  lh_free(list);
  return sums;
}

/* A table with other fields than before is of another class: more objects of that class are not
** more objects. So a class levels off if the objects at the places where it grows do, or if nine
** tenths of its growth is at places that do. */
static lh_verdict judge_class(const builder *b, const lh_figures *at, const lh_figures *places,
                              const class_growth *growth) {
  enum { TENTHS = 10, MOST = 9 };
  lh_verdict verdict = judge_row(b, at), of_places = judge(b, &places->objects);
  bool has_bound = (of_places != LH_GROWS_STEADILY && of_places != LH_SAW_TOOTH) ||
                   TENTHS * growth->bounded > MOST * growth->all;
  bool is_steady = verdict == LH_GROWS_STEADILY && judge(b, &at->objects) == verdict;
  return is_steady && has_bound ? LH_LEVELS_OFF : verdict;
}

static bool list_class_rows(builder *b) {
  const lh_ladder *ladder = b->ladder;
  lh_growth *growth = b->growth;
  size_t n_rows = 0, n = ladder->known.n, n_snapshots = ladder->n_snapshots;
  uint32_t *row_of = lh_alloc(n, sizeof *row_of);
  lh_figures *figures = lh_alloc_zeroed(n, n_snapshots * sizeof *figures);
  growth->by_class = figures;
  growth->classes = lh_alloc_zeroed(n, sizeof *growth->classes);
  bool ok = row_of && figures && growth->classes &&
            lh_label_classes(&ladder->known, growth->same_state, row_of, &n_rows);
  for (size_t i = 0; ok && i < n; i++) {
    const lh_known_class *class = &ladder->known.list[i];
    lh_growth_row *row = &growth->classes[row_of[i]];
    row->class_name = lh_name_with(&ladder->known, class, row->class_name);
    row->type = class->entry.visible.type;
    for (size_t k = 0; k < n_snapshots; k++)
      if (i < ladder->snapshots[k].n_classes)
        add_tally(&figures[row_of[i] * n_snapshots + k], &ladder->snapshots[k].of_class[i], true);
  }
  class_growth *class_growths = lh_alloc_zeroed(n, sizeof *class_growths);
  lh_figures *places =
      ok && class_growths ? find_places_of_classes(b, row_of, n_rows, class_growths) : NULL;
  ok = ok && places;
  for (size_t i = 0; ok && i < n_rows; i++) {
    lh_growth_row *row = &growth->classes[i];
    row->at = &figures[i * n_snapshots];
    row->verdict = judge_class(b, row->at, &places[i * n_snapshots], &class_growths[i]);
    if (row->verdict != LH_LEVEL) growth->classes[growth->n_classes++] = *row;
  }
  LH_FREE_ALL(row_of, places, class_growths);
  if (ok) sort_rows(b, growth->classes, growth->n_classes);
  return ok;
}

static bool begin_growth(builder *b) {
  const lh_ladder *ladder = b->ladder;
  lh_growth *growth = b->growth;
  size_t n = ladder->n_snapshots;
  growth->n_snapshots = n;
  growth->same_state = lh_ladder_same_state(ladder);
  growth->whole = lh_alloc_zeroed(n, sizeof *growth->whole);
  growth->level = lh_alloc_zeroed(n, sizeof *growth->level);
  growth->at_seconds = lh_alloc_zeroed(n, sizeof *growth->at_seconds);
  b->series = lh_alloc(n, sizeof *b->series);
  if (!growth->whole || !growth->level || !growth->at_seconds || !b->series) return false;
  for (size_t k = 0; k < n; k++) {
    add_tally(&growth->whole[k], &ladder->snapshots[k].whole, true);
    growth->at_seconds[k] =
        ((double)ladder->snapshots[k].time_ns - (double)ladder->snapshots[0].time_ns) / 1e9;
  }
  double seconds = growth->at_seconds[n - 1] - growth->at_seconds[n > 2];
  if (seconds > 0) growth->seconds = seconds;
  if (!lh_view_make(ladder, false, &b->view)) return false;
  b->figures = growth->by_path = lh_alloc_zeroed(b->view.n_rows, n * sizeof *b->figures);
  b->alone = lh_alloc_zeroed(b->view.n_rows, n * sizeof *b->alone);
  b->verdict = lh_alloc(b->view.n_rows, sizeof *b->verdict);
  b->changes = lh_alloc(b->view.n_rows, sizeof *b->changes);
  b->head = lh_alloc(b->view.trie.n, sizeof *b->head);
  b->owner = lh_alloc(b->view.trie.n, sizeof *b->owner);
  return b->figures && b->alone && b->verdict && b->changes && b->head && b->owner;
}

static int check_order(const lh_ladder *ladder, bool halves, lh_error *error) {
  size_t n = ladder->n_snapshots;
  if (n < 2) return lh_fail(error, LH_EARGUMENT, "growth needs at least two snapshots");
  if (halves && n % 2 != 0)
    return lh_fail(error, LH_EARGUMENT, "as many snapshots are needed after as before");
  for (size_t k = 1; k < n; k++) {
    const lh_snapshot_counts *a = &ladder->snapshots[k - 1], *b = &ladder->snapshots[k];
    bool is_change = halves && k == n / 2; /* from before to after: any order */
    if (is_change || a->state_id != b->state_id || a->serial < b->serial) continue;
    if (a->time_ns < b->time_ns) continue; /* serial numbers from outside the process differ */
    return lh_fail_order(error, ladder->texts.texts[a->name], ladder->texts.texts[b->name]);
  }
  return 0;
}

static int build(lh_ladder *ladder, bool halves, lh_growth **out, lh_error *error) {
  *out = NULL;
  int code = check_order(ladder, halves, error);
  if (code) return code;
  builder b = {.ladder = ladder, .halves = halves, .growth = lh_alloc_zeroed(1, sizeof *b.growth)};
  bool ok = b.growth && begin_growth(&b);
  if (ok) {
    judge_rows_alone(&b);
    find_owners(&b);
    fill_rows(&b, b.owner, b.figures);
    ok = list_path_rows(&b) && list_class_rows(&b);
  }
  lh_view_free(&b.view);
  LH_FREE_ALL(b.alone, b.verdict, b.changes, b.head, b.owner, b.series);
  if (!ok) {
    lh_growth_free(b.growth);
    return lh_fail_memory(error, "comparing snapshots");
  }
  *out = b.growth;
  return 0;
}

int lh_ladder_growth(lh_ladder *ladder, lh_growth **out, lh_error *error) {
  return build(ladder, false, out, error);
}

int lh_ladder_halves(lh_ladder *ladder, lh_growth **out, lh_error *error) {
  return build(ladder, true, out, error);
}

/* Returns the greatest row that grows now and has the class of `no_longer`, or NULL. */
static const lh_growth_row *moved_to(const lh_growth *growth, const lh_growth_row *no_longer,
                                     uint64_t least) {
  for (size_t i = 0; no_longer && i < growth->n_paths; i++) {
    const lh_growth_row *row = &growth->paths[i];
    if (row->verdict == LH_GROWS_NOW && weight_of(row, growth->n_snapshots) >= least &&
        row->printed_class == no_longer->printed_class)
      return row;
  }
  return NULL;
}

void lh_judge_fix(const lh_growth *growth, lh_fix_verdict *answer) {
  enum { TENTH = 10 };
  uint64_t most = 0;
  *answer = (lh_fix_verdict){.is_fixed = false};
  for (size_t i = 0; i < growth->n_paths; i++) {
    uint64_t weight = weight_of(&growth->paths[i], growth->n_snapshots);
    if (weight > most) most = weight;
  }
  for (size_t i = growth->n_paths; i-- > 0;) { /* the greatest of each kind comes last */
    const lh_growth_row *row = &growth->paths[i];
    if (weight_of(row, growth->n_snapshots) < most / TENTH) continue;
    if (row->verdict == LH_NO_LONGER_GROWS) answer->no_longer = row;
    if (row->verdict == LH_STILL_GROWS) answer->still = row;
    if (row->verdict == LH_GROWS_NOW) answer->now = row;
  }
  const lh_growth_row *moved = moved_to(growth, answer->no_longer, most / TENTH);
  if (moved) answer->now = moved;
  answer->is_fixed = answer->no_longer && !answer->still && !moved;
}

void lh_growth_free(lh_growth *growth) {
  if (!growth) return;
  LH_FREE_ALL(growth->by_path, growth->by_class, growth->whole, growth->level, growth->at_seconds,
              growth->paths, growth->classes, growth);
}
