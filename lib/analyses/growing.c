/*
** growing.c - Finds leak candidates in one snapshot.
** Candidates are tables with many elements that are alike (growing_tables.c), and linked objects;
** the ages of the elements tell whether they grow. Candidates at one folded path with elements of
** one class are one row. 2.2 million objects: 0.4 s; 45 bytes an object, 8 for each shared element.
*/
#include "analyses.h"

typedef struct grouping {
  lh_grower *grower;
  lh_places places;
  lh_map row_of; /* path, element and its kind -> row */
} grouping;

/* ==== Ages =========================================================================== */

/* A big collection need not grow: a program's constants are big, too. The ages of the elements
** tell, by the marks, or else by the order of allocation. A table was filled once if no element is
** younger than the first mark, or if nothing was added while a good part of the heap was allocated,
** where chance alone would have added something. Numbers have no age; then the only sign is an
** array part without a free slot, as a constructor makes it. */

enum { BLOCK = 64 };

static bool is_counted(const lh_snapshot *snapshot, lh_id id) {
  return id != LH_ROOT && lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
}

/* Counts reachable objects with smaller ids: on allgc, the first list, the younger ones. */
static uint32_t count_before(const lh_ages *a, lh_id id) {
  uint32_t n = a->n_before[id / BLOCK];
  for (lh_id at = id - id % BLOCK; at < id; at++) n += is_counted(a->snapshot, at);
  return n;
}

static uint32_t count_in(const lh_ages *a, lh_id_range range) {
  return range.first < range.end ? count_before(a, range.end) - count_before(a, range.first) : 0;
}

static void count_blocks(lh_ages *a) {
  const lh_snapshot *snapshot = a->snapshot;
  const lh_id *first = snapshot->list_first;
  uint32_t n = 0, n_old = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (id % BLOCK == 0) a->n_before[id / BLOCK] = n;
    n += is_counted(snapshot, id);
  }
  if ((snapshot->n + 1) % BLOCK == 0) a->n_before[(snapshot->n + 1) / BLOCK] = n;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    n_old += count_in(a, lh_epoch_range(snapshot, list, 0));
  a->n = count_before(a, first[LH_LIST_FINOBJ]);
  uint32_t n_aged = count_before(a, first[LH_LIST_TOBEFNZ]);
  a->since_first_mark = n > 0 ? (double)(n_aged - n_old) / (double)n : 0;
}

static bool make_ages(lh_ages *ages, const lh_tree *tree, const lh_history *history) {
  const lh_snapshot *snapshot = tree->snapshot;
  size_t n = (size_t)snapshot->n + 1;
  *ages = (lh_ages){
      .snapshot = snapshot, .tree = tree, .history = history, .content_seed = lh_random_seed()};
  ages->n_before = lh_alloc_zeroed(n / BLOCK + 1, sizeof *ages->n_before);
  ages->counted = lh_alloc_zeroed(n, sizeof *ages->counted);
  ages->epochs = lh_alloc_zeroed((size_t)lh_mark_count(snapshot) + 1, sizeof *ages->epochs);
  if (!ages->n_before || !ages->counted || !ages->epochs) return false;
  count_blocks(ages);
  return true;
}

lh_youth lh_ages_begin(lh_ages *ages) {
  ages->round++;
  return (lh_youth){.youngest = LH_NO_OBJECT};
}

/* Caches the last range: elements of one table were mostly allocated in sequence. */
static uint32_t epoch_of(lh_ages *a, lh_id id) {
  if (id >= a->neighbours.first && id < a->neighbours.end) return a->epoch;
  lh_list list = lh_list_of(a->snapshot, id);
  if (list > LH_LIST_FINOBJ) return 0;
  uint32_t epoch = lh_epoch(a->snapshot, id), n = a->snapshot->n_marks;
  a->neighbours = lh_epoch_range(a->snapshot, list, epoch);
  return a->epoch = epoch < n ? epoch : n - 1;
}

static void count_epoch(lh_ages *a, lh_growing *g, lh_id id) {
  if (a->snapshot->n_marks == 0) return;
  uint32_t epoch = epoch_of(a, id);
  g->since_first_mark += epoch > 0;
  if (a->epochs[epoch] == a->round) return;
  if (g->epochs == 0 || epoch < g->oldest_epoch) g->oldest_epoch = epoch;
  if (g->epochs == 0 || epoch > g->youngest_epoch) g->youngest_epoch = epoch;
  g->epochs++;
  a->epochs[epoch] = a->round;
}

/* The finalizer of SplitMix64 spreads the bits, so that sums of ids differ for different sets. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void lh_age_element(lh_ages *a, lh_growing *g, lh_youth *youth, lh_id id, bool inner) {
  if (a->counted[id] == a->round) return;
  a->counted[id] = a->round;
  count_epoch(a, g, id);
  g->ages[a->history->span_of[id]]++;
  g->aged++;
  g->content += mix(a->content_seed + id);
  if (lh_list_of(a->snapshot, id) == LH_LIST_ALLGC && id < youth->youngest) youth->youngest = id;
  if (inner) return;
  uint32_t p = a->tree->position[id];
  youth->objects += a->tree->end[p] - p;
}

void lh_ages_end(const lh_ages *a, lh_growing *g, const lh_youth *youth, lh_id first) {
  lh_id youngest = youth->youngest;
  if (youngest == LH_NO_OBJECT) return;
  g->younger = a->n > 0 ? (double)count_before(a, youngest) / a->n : 0;
  if (lh_list_of(a->snapshot, first) != LH_LIST_ALLGC) return;
  uint32_t others = count_in(a, (lh_id_range){youngest, first});
  g->in_one_go = others <= youth->objects + youth->objects / 4 + LH_LEAST_ELEMENTS;
}

/* Numbers under dense keys, a power of two of them: one for each byte, for example. */
static bool is_lookup(const lh_growing *g) {
  bool dense = (g->keying == LH_KEYED_SEQUENCE || g->keying == LH_KEYED_INTEGERS) &&
               g->greatest - g->least + 1 == (double)g->elements;
  return g->aged == 0 && dense && (g->elements & (g->elements - 1)) == 0;
}

static lh_prospect prospect_by_ages(const lh_ages *a, const lh_growing *g) {
  if (g->aged == 0) return LH_MAY_GROW;
  return lh_prospect_of_place(a->snapshot, a->history, g->ages, g->oldest_holder,
                              g->type == LH_TYPE_STRING, &(lh_bound){0});
}

static lh_prospect prospect_of(const lh_ages *a, const lh_growing *g) {
  const lh_snapshot *snapshot = a->snapshot;
  const lh_filling filling = {.elements = g->alike,
                              .aged = g->aged,
                              .by_marks = a->history->by_marks,
                              .since_first_mark = g->since_first_mark,
                              .heap_since_first_mark = a->since_first_mark,
                              .in_one_go = g->in_one_go,
                              .younger = g->younger,
                              .bytes = g->bytes};
  if (g->exact || is_lookup(g) || lh_was_filled_once(snapshot, &filling)) return LH_FILLED_ONCE;
  return prospect_by_ages(a, g);
}

/* ==== Bytes ========================================================================== */

static int compare_tops(const void *left, const void *right) {
  const lh_top *a = left, *b = right;
  return LH_LESS(a->position, b->position);
}

/* Sorts tops, drops duplicates, returns how many are left. Nearly O(n) unless they are sparse. */
static size_t sort_tops(lh_grower *grower, lh_top *tops, size_t n) {
  enum { MOST_WORDS = 8 }; /* words of bits for each top */
  uint32_t least = UINT32_MAX, greatest = 0;
  size_t n_left = 0;
  for (size_t i = 0; i < n; i++) {
    if (tops[i].position < least) least = tops[i].position;
    if (tops[i].position > greatest) greatest = tops[i].position;
  }
  if (n > 0 && (greatest - least) / 64 > MOST_WORDS * n) {
    qsort(tops, n, sizeof *tops, compare_tops);
    return n;
  }
  for (size_t i = 0; i < n; i++)
    grower->marks[tops[i].position / 64] |= UINT64_C(1) << tops[i].position % 64;
  for (uint32_t word = least / 64; n > 0 && word <= greatest / 64; word++) {
    for (uint64_t bits = grower->marks[word]; bits != 0; bits &= bits - 1)
      tops[n_left++] = (lh_top){.position = word * 64 + (uint32_t)__builtin_ctzll(bits)};
    grower->marks[word] = 0;
  }
  return n_left;
}

/* Drops tops that other tops dominate, adds up the rest in *bytes, returns how many are left. */
static size_t add_up_tops(lh_grower *grower, lh_top *tops, size_t n, uint64_t *bytes) {
  const lh_tree *tree = grower->tree;
  uint32_t covered = 0;
  size_t n_left = 0;
  n = sort_tops(grower, tops, n);
  for (size_t i = 0; i < n; i++) {
    uint32_t p = tops[i].position;
    if (p < covered) continue;
    covered = tree->end[p];
    *bytes += lh_retained_bytes(tree->snapshot, tree->order[p]);
    tops[n_left++] = tops[i];
  }
  return n_left;
}

/* A table of every program is not one of its own tops, but its slots belong to its elements. */
static uint64_t slot_bytes(const lh_snapshot *snapshot, const lh_growing *g) {
  return lh_is_runtime_object(snapshot, g->id) ? lh_shallow_bytes(snapshot, g->id) : 0;
}

bool lh_add_growing(lh_grower *grower, const lh_growing *g) {
  if (!lh_grow(&grower->found, grower->n, &grower->capacity, sizeof *grower->found)) return false;
  lh_growing *added = &grower->found[grower->n];
  lh_top *tops = grower->tops + grower->first_top;
  size_t n = grower->n_tops - grower->first_top;
  *added = *g;
  added->oldest_holder = g->holder;
  added->bytes = slot_bytes(grower->snapshot, g);
  n = add_up_tops(grower, tops, n, &added->bytes);
  for (size_t i = 0; i < n; i++) tops[i].of = (uint32_t)grower->n;
  grower->n_tops = grower->first_top += n;
  added->prospect = prospect_of(&grower->ages, added);
  added->tables_filled_once = added->prospect == LH_FILLED_ONCE ? added->tables : 0;
  grower->n++;
  return true;
}

static uint32_t find_row(grouping *f, const lh_growing *g) {
  uint64_t words[] = {(uint64_t)lh_keyed_place_of(&f->places, g->id) << 32 | g->element_class,
                      (uint64_t)g->type << 2 | (uint64_t)g->is_list << 1 | g->are_keys,
                      (uintptr_t)g->element}; /* tells elements without a class apart */
  return lh_map_number_words(&f->row_of, words, 3);
}

/* The row describes the biggest candidate with the best prospect: tables that were filled once do
** not hide one that grows. The ages are of all candidates. */
static void merge_growing(const lh_snapshot *snapshot, lh_growing *row, const lh_growing *g) {
  bool first = g->prospect == row->prospect ? g->bytes > row->bytes : g->prospect > row->prospect;
  lh_growing both = first ? *g : *row;
  both.held_by = row->held_by;
  both.at = row->at;
  both.tables = row->tables + g->tables;
  both.tables_filled_once = row->tables_filled_once + g->tables_filled_once;
  both.entries = row->entries + g->entries;
  both.alike_entries = row->alike_entries + g->alike_entries;
  for (int i = 0; i < LH_SPANS; i++) both.ages[i] = row->ages[i] + g->ages[i];
  bool is_older = lh_epoch(snapshot, g->oldest_holder) < lh_epoch(snapshot, row->oldest_holder);
  both.oldest_holder = is_older ? g->oldest_holder : row->oldest_holder;
  *row = both;
}

/* Sums up rows again: tables or lists of a row may hold one another. */
static bool add_up_rows(lh_grower *g, const uint32_t *row_of, uint64_t *bytes, size_t n_rows) {
  size_t *end = lh_alloc_zeroed(n_rows + 1, sizeof *end);
  lh_top *tops = lh_alloc(g->first_top, sizeof *tops); /* excludes tops of candidates that were
                                                          not added */
  bool ok = end && tops;
  for (size_t i = 0; ok && i < g->first_top; i++) end[row_of[g->tops[i].of] + 1]++;
  for (size_t row = 0; ok && row < n_rows; row++) end[row + 1] += end[row];
  for (size_t i = 0; ok && i < g->first_top; i++) tops[end[row_of[g->tops[i].of]]++] = g->tops[i];
  for (size_t row = 0, first = 0; ok && row < n_rows; first = end[row++])
    (void)add_up_tops(g, tops + first, end[row] - first, &bytes[row]);
  LH_FREE_ALL(end, tops);
  return ok;
}

static bool make_growing_rows(grouping *f, lh_growings *out) {
  uint64_t *bytes = lh_alloc_zeroed(f->grower->n, sizeof *bytes);
  uint32_t *row_of = lh_alloc(f->grower->n, sizeof *row_of);
  bool ok = bytes && row_of;
  for (size_t i = 0; ok && i < f->grower->n; i++) {
    lh_growing g = f->grower->found[i];
    uint32_t row = row_of[i] = find_row(f, &g);
    ok = row != LH_NO_NUMBER;
    if (!ok) break;
    if (row == out->n) {
      g.held_by = f->places.texts.texts[lh_path_of(&f->places, g.id)];
      g.at = lh_keyed_place_of(&f->places, g.id);
      g.folded_at = lh_folded_place(f->places.folds, g.id);
      out->list[out->n++] = g; /* list has room for one row for each candidate */
    } else {
      merge_growing(f->grower->snapshot, &out->list[row], &g);
    }
    bytes[row] += slot_bytes(f->grower->snapshot, &f->grower->found[i]);
  }
  if (ok && out->n < f->grower->n) {
    ok = add_up_rows(f->grower, row_of, bytes, out->n);
    for (size_t i = 0; ok && i < out->n; i++) out->list[i].bytes = bytes[i];
  }
  LH_FREE_ALL(bytes, row_of);
  return ok;
}

static int compare_growing(const void *left, const void *right) {
  const lh_growing *a = left, *b = right;
  return LH_MORE(a->prospect, b->prospect) ?: LH_MORE(a->bytes, b->bytes) ?:
         strcmp(a->held_by, b->held_by) ?: a->is_list - b->is_list;
}

/* Elements that stand in two indexes are two rows: same_as links the second row to the first. */
static bool find_same(lh_growings *out) {
  lh_map first = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < out->n; i++) {
    lh_growing *row = &out->list[i];
    uint64_t words[2] = {row->aged, row->content};
    uint32_t *known = lh_map_at_words(&first, words, 2);
    ok = known != NULL;
    row->same_as = i;
    if (ok && row->aged > 0 && *known != LH_NO_NUMBER) row->same_as = *known;
    if (ok && *known == LH_NO_NUMBER) *known = (uint32_t)i;
  }
  lh_map_free(&first);
  return ok;
}

/* A row of several tables is judged by the ages of all. Its bound, that of one, is not sure. */
static bool judge_row(const grouping *f, lh_growing *row) {
  lh_snapshot *snapshot = f->grower->snapshot;
  if (lh_find_bound(snapshot, row->holder, row->alike, &row->bound, NULL) != LH_OK) return false;
  if (row->tables > 1) {
    row->bound.is_sure = false;
    if (row->prospect != LH_FILLED_ONCE) row->prospect = prospect_by_ages(&f->grower->ages, row);
  }
  bool grows = row->tables == 1 && row->prospect == LH_GROWS && !row->is_list;
  row->is_ring = grows && lh_is_full_ring(snapshot, row->id);
  row->has_few_keys = grows && lh_has_few_keys(snapshot, f->grower->ages.history, row->id);
  row->prospect = row->is_ring ? LH_BOUNDED : lh_prospect_within(row->prospect, &row->bound);
  if (row->has_few_keys && row->prospect == LH_GROWS) row->prospect = LH_MAY_GROW;
  row->has_young_holder =
      row->prospect == LH_MAY_GROW &&
      lh_holder_is_too_young(snapshot, f->grower->ages.history, row->ages, row->oldest_holder);
  return true;
}

/* A chain that grows is not the fault of the bounded table through which its path leads: takes the
** chain's bytes off that row. */
static bool take_off_chains(const grouping *f, lh_growing *rows, size_t n) {
  const lh_place_tree *tree = lh_tree_of(&f->places);
  lh_map bounded = {0}; /* place -> row */
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++)
    if (!rows[i].is_list && rows[i].prospect <= LH_BOUNDED)
      ok = lh_map_first(&bounded, rows[i].folded_at, (uint32_t)i) != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    uint32_t at = rows[i].folded_at;
    if (!rows[i].is_list || rows[i].prospect <= LH_BOUNDED) continue;
    for (; at != LH_NO_PLACE; at = lh_place_before(tree, at)) {
      uint32_t row = lh_map_get(&bounded, at);
      if (row != LH_NO_NUMBER)
        rows[row].bytes -= rows[i].bytes < rows[row].bytes ? rows[i].bytes : rows[row].bytes;
    }
  }
  lh_map_free(&bounded);
  return ok;
}

static size_t drop_small(lh_growing *rows, size_t n, uint64_t least) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (rows[i].bytes >= least) rows[kept++] = rows[i];
  return kept;
}

static bool keep_growing(const grouping *f, lh_growings *out) {
  uint64_t least = lh_least_leak(f->grower->snapshot->reach.reachable_bytes);
  size_t n = drop_small(out->list, out->n, least);
  out->n = 0;
  for (size_t i = 0; i < n; i++)
    if (!judge_row(f, &out->list[i])) return false;
  if (!take_off_chains(f, out->list, n)) return false;
  n = drop_small(out->list, n, least);
  if (n > 1) qsort(out->list, n, sizeof *out->list, compare_growing);
  for (; out->n < n; out->n++) {
    lh_growing *row = &out->list[out->n];
    row->held_by = lh_copy_text(row->held_by);
    if (!row->held_by) return false;
    out->n_filled_once += row->prospect == LH_FILLED_ONCE;
  }
  return find_same(out);
}

static bool group_by_path(grouping *f, lh_growings *out) {
  lh_id *ids = lh_alloc(f->grower->n, sizeof *ids);
  out->list = lh_alloc(f->grower->n, sizeof *out->list);
  bool ok = ids && out->list;
  for (size_t i = 0; ok && i < f->grower->n; i++) ids[i] = f->grower->found[i].id;
  ok = ok && lh_places_make(&f->places, f->grower->snapshot, ids, f->grower->n, f->grower->n) &&
       make_growing_rows(f, out);
  lh_free(ids);
  if (!ok) out->n = 0; /* the rows do not own their paths yet */
  return ok && keep_growing(f, out);
}

/* ==== Linked objects ================================================================= */

/* Objects of one class that refer to each other, without one that dominates the others: lists
** linked both ways, rings, queues, trees with parent links.
** A union-find joins both ends of each edge within such a class; the member nearest to the root
** represents the set. Sets of objects that only refer to a common one are dropped, and elements of
** tables found before. Nearly O(n + m); 13 bytes an object. */

static void join_sets(lh_id *set, const uint32_t *distance, lh_id a, lh_id b) {
  a = lh_find_first(set, a);
  b = lh_find_first(set, b);
  bool a_is_nearer = distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
  set[a_is_nearer ? b : a] = a_is_nearer ? a : b;
}

/* By class: enough objects that can refer to each other. */
static bool *find_linkable(const lh_snapshot *snapshot) {
  const lh_classes *classes = snapshot->classes;
  bool *is_linkable = lh_alloc(classes->n, sizeof *is_linkable);
  for (size_t i = 0; is_linkable && i < classes->n; i++) {
    const lh_class *c = &classes->list[i].visible;
    is_linkable[i] = classes->list[i].specific && c->objects >= LH_LEAST_ELEMENTS &&
                     (c->type == LH_TYPE_TABLE || c->type == LH_TYPE_USERDATA);
  }
  return is_linkable;
}

/* The class of an object that may be linked; LH_NO_NUMBER: it may not. */
static uint32_t linkable_class(const lh_snapshot *snapshot, const bool *is_linkable, lh_id id) {
  uint32_t class_index = snapshot->classes->of[id];
  bool may_link = class_index != UINT32_MAX && is_linkable[class_index] &&
                  snapshot->distance[id] != LH_UNREACHED;
  return may_link ? class_index : LH_NO_NUMBER;
}

/* Most heaps have no linked objects: then nothing is allocated for them. */
static bool has_links(const lh_snapshot *snapshot, const bool *is_linkable) {
  const uint32_t *of = snapshot->classes->of;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (snapshot->clusters[id] != id) return true;
    uint32_t class_index = linkable_class(snapshot, is_linkable, id);
    if (class_index == LH_NO_NUMBER) continue;
    for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++)
      if (of[snapshot->edge[e]] == class_index && snapshot->edge[e] != id) return true;
  }
  return false;
}

/* held[id]: another object of its class refers to it. */
static void make_sets(const lh_snapshot *snapshot, const bool *is_linkable, lh_id *set,
                      uint8_t *held) {
  const uint32_t *of = snapshot->classes->of;
  memcpy(set, snapshot->clusters, ((size_t)snapshot->n + 1) * sizeof *set);
  for (lh_id id = 1; id <= snapshot->n; id++) {
    uint32_t class_index = linkable_class(snapshot, is_linkable, id);
    if (class_index == LH_NO_NUMBER) continue;
    for (uint32_t e = snapshot->first_edge[id]; e < snapshot->first_edge[id + 1]; e++) {
      lh_id target = snapshot->edge[e];
      if (of[target] != class_index || target == id) continue;
      held[target] = 1;
      if (set[id] != set[target]) join_sets(set, snapshot->distance, id, target);
    }
  }
}

/* Lists the *n members of big sets, set by set; all have the class of their representative.
** first[]: an item for each object, all zero. NULL: out of memory. */
static lh_id *sort_members(const lh_snapshot *snapshot, lh_id *set, uint32_t *first, uint32_t *n) {
  const uint32_t *of = snapshot->classes->of;
  uint32_t most = 0;
  *n = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (set[id] == id) continue;
    set[id] = lh_find_first(set, id);
    first[set[id]] += of[id] == of[set[id]];
    if (first[set[id]] > most) most = first[set[id]];
  }
  if (most + 1 < LH_LEAST_ELEMENTS) return lh_alloc(0, sizeof *set); /* no set is big */
  for (lh_id id = 0; id <= snapshot->n; id++) {
    bool is_big = first[id] + 1 >= LH_LEAST_ELEMENTS;
    uint32_t n_members = is_big ? first[id] + 1 : 0;
    first[id] = is_big ? *n : LH_NO_NUMBER;
    *n += n_members;
  }
  lh_id *members = lh_alloc(*n, sizeof *members);
  for (lh_id id = 1; members && *n > 0 && id <= snapshot->n; id++)
    if (first[set[id]] != LH_NO_NUMBER && of[id] == of[set[id]]) members[first[set[id]]++] = id;
  return members;
}

static bool add_set(lh_grower *grower, const lh_id *set, const uint8_t *held, const lh_id *members,
                    uint32_t n) {
  const lh_snapshot *snapshot = grower->snapshot;
  lh_ages *ages = &grower->ages;
  lh_id nearest = set[members[0]], first = LH_NO_OBJECT, oldest = 0;
  const lh_class_entry *class = lh_class_entry_of(snapshot, nearest);
  uint32_t n_elsewhere = 0, n_held = 0;
  bool ok = true;
  if (!class) return true;
  lh_growing g = {.is_list = true,
                  .tables = 1,
                  .entries = n,
                  .holder = lh_naming_parent(snapshot, nearest),
                  .elements = n,
                  .element = class->visible.name,
                  .element_class = lh_class_of(snapshot, nearest),
                  .type = class->visible.type,
                  .alike = n,
                  .alike_entries = n,
                  .example_key = LH_NO_OBJECT};
  lh_youth youth = lh_ages_begin(ages);
  lh_begin_tops(grower);
  for (uint32_t i = 0; ok && i < n; i++) {
    lh_id id = members[i], above = snapshot->idom[id];
    bool inner = above != LH_ROOT && set[above] == nearest;
    bool is_elsewhere = ages->counted[id] != 0;
    n_elsewhere += is_elsewhere;
    if (!is_elsewhere &&
        (first == LH_NO_OBJECT || snapshot->distance[id] < snapshot->distance[first]))
      first = id;
    n_held += held[id] || inner;
    if (id > oldest && lh_list_of(snapshot, id) == LH_LIST_ALLGC) oldest = id;
    lh_age_element(ages, &g, &youth, id, inner);
    ok = inner || lh_add_top(grower, id);
  }
  lh_ages_end(ages, &g, &youth, oldest);
  if (!ok) return false;
  if (2 * n_elsewhere >= n || !lh_are_most(n_held + 1, n)) return true;
  g.id = first;
  return lh_add_growing(grower, &g);
}

static bool add_sets(lh_grower *grower, const bool *is_linkable) {
  size_t n = (size_t)grower->snapshot->n + 1;
  uint32_t n_members = 0;
  uint8_t *held = lh_alloc_zeroed(n, 1);
  lh_id *set = lh_alloc(n, sizeof *set), *members = NULL;
  uint32_t *first = lh_alloc_zeroed(n, sizeof *first);
  if (held && set && first) {
    make_sets(grower->snapshot, is_linkable, set, held);
    members = sort_members(grower->snapshot, set, first, &n_members);
  }
  bool ok = members != NULL;
  for (uint32_t i = 0, end; ok && i < n_members; i = end) {
    for (end = i + 1; end < n_members && set[members[end]] == set[members[i]];) end++;
    ok = add_set(grower, set, held, members + i, end - i);
  }
  LH_FREE_ALL(held, first, members, set);
  return ok;
}

static bool find_linked(lh_grower *grower) {
  bool *is_linkable = find_linkable(grower->snapshot);
  bool ok =
      is_linkable && (!has_links(grower->snapshot, is_linkable) || add_sets(grower, is_linkable));
  lh_free(is_linkable);
  return ok;
}

static bool find_what_grows(lh_grower *grower, const lh_history *history) {
  grower->tree = lh_dominator_tree(grower->snapshot);
  if (!grower->tree || !lh_kept_clusters(grower->snapshot)) return false;
  grower->marks = lh_alloc_zeroed((size_t)grower->snapshot->n / 64 + 1, sizeof *grower->marks);
  return grower->marks && make_ages(&grower->ages, grower->tree, history) &&
         lh_find_collections(grower) && find_linked(grower);
}

int lh_find_growing(lh_snapshot *snapshot, const lh_history *history, lh_growings *out,
                    lh_error *error) {
  *out = (lh_growings){0};
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  lh_grower grower = {.snapshot = snapshot};
  grouping f = {.grower = &grower};
  lh_history own = {0};
  bool ok = (history || lh_find_history(snapshot, &own, NULL) == LH_OK) &&
            find_what_grows(&grower, history ? history : &own) && group_by_path(&f, out);
  lh_history_free(&own);
  LH_FREE_ALL(grower.ages.n_before, grower.ages.counted, grower.ages.epochs, grower.found,
              grower.tops, grower.marks);
  lh_places_free(&f.places);
  lh_map_free(&f.row_of);
  if (ok) return LH_OK;
  lh_growings_free(out);
  return lh_fail_memory(error, "looking for what grows");
}

void lh_growings_free(lh_growings *growings) {
  for (size_t i = 0; i < growings->n; i++) lh_free((void *)growings->list[i].held_by);
  lh_free(growings->list);
  *growings = (lh_growings){0};
}

static void free_kept(lh_growings *growings) {
  lh_growings_free(growings);
  lh_free(growings);
}

int lh_kept_growings(lh_snapshot *snapshot, const lh_history *history, lh_growings *out,
                     lh_error *error) {
  *out = (lh_growings){0};
  if (!snapshot->growings) {
    lh_growings *kept = lh_alloc_zeroed(1, sizeof *kept);
    if (!kept) return lh_fail_memory(error, "looking for what grows");
    int code = lh_find_growing(snapshot, history, kept, error);
    if (code != LH_OK) {
      lh_free(kept);
      return code;
    }
    snapshot->growings = kept;
    snapshot->free_growings = free_kept;
  }
  *out = *snapshot->growings;
  return LH_OK;
}
