/*
** rows.c - builds the rows: the references of each object and of the synthetic root.
**
** A row has the references of a record in their order, so a reference has one number everywhere.
** References that keep nothing alive (weak, or ignored by an analysis) lead back to their source; a
** list beside the rows has their targets. A value under a collectable key of a weak-keyed table is
** one of these. It is also an edge at the end of the key's row, with its target if table and key
** are reachable (graph/graph.c).
**
** Breadth-first search uses the first root that reaches an object, so roots are sorted by their use
** to readers: a global before the registry. Six million references take 0.06 s.
*/
#include "reader.h"

#define MOST_EDGES (UINT32_MAX - 2)

static int fail_count(lh_error *error) {
  return lh_fail(error, LH_ELIMIT, "the snapshot has more edges than can be counted (%u)",
                 MOST_EDGES);
}

/* ==== Blocks ========================================================================= */

enum { BYTES_OF_REFERENCE = 4, SPARE = 16 }; /* a guess; most take more */

/* Room for the references of records that begin in a block. Its last record may be a string of many
** blocks, which has none. */
static size_t references_in(const lh_snapshot *s, uint32_t block) {
  bool is_last = block + 1 == s->n_blocks;
  uint64_t end = is_last ? s->records_end : s->blocks[block + 1].offset;
  uint64_t bytes = end - s->blocks[block].offset;
  if (s->n_blocks > 1 && bytes > LH_BLOCK_BYTES) bytes = LH_BLOCK_BYTES;
  return bytes / BYTES_OF_REFERENCE + SPARE;
}

/* Roots that are named or on a list; some may have no object. */
static size_t most_roots(const lh_snapshot *s) {
  return (size_t)s->n_named_roots + (s->list_first[4] - s->list_first[LH_LIST_TOBEFNZ]);
}

bool lh_make_row_blocks(lh_raw_rows *rows, lh_snapshot *s) {
  size_t at = most_roots(s), capacity = at;
  for (uint32_t i = 0; i < s->n_blocks; i++) capacity += references_in(s, i);
  rows->blocks = lh_alloc_zeroed(s->n_blocks, sizeof *rows->blocks);
  s->edge = lh_alloc(capacity, sizeof *s->edge);
  s->label = lh_alloc(capacity, 1);
  if (!rows->blocks || !s->edge || !s->label) return false;
  for (; rows->n < s->n_blocks; rows->n++) {
    lh_row_block *block = &rows->blocks[rows->n];
    block->delta = (int32_t *)s->edge + at;
    block->label = s->label + at;
    block->capacity = references_in(s, rows->n);
    at += block->capacity;
  }
  return true;
}

static void drop_references(lh_row_block *block) {
  LH_FREE_ALL(block->own_delta, block->own_label, block->wide);
  block->own_delta = NULL;
  block->own_label = NULL;
  block->wide = NULL;
}

void lh_free_raw_rows(lh_raw_rows *rows) {
  for (uint32_t i = 0; i < rows->n; i++) {
    drop_references(&rows->blocks[i]);
    LH_FREE_ALL(rows->blocks[i].marks, rows->blocks[i].names);
  }
  lh_free(rows->blocks);
  *rows = (lh_raw_rows){0};
}

bool lh_grow_row_block(lh_row_block *block) {
  size_t capacity = block->capacity + block->capacity / 2;
  int32_t *delta = lh_realloc(block->own_delta, capacity, sizeof *delta);
  if (!delta) return false;
  if (!block->own_delta) memcpy(delta, block->delta, block->n * sizeof *delta);
  block->delta = block->own_delta = delta;
  uint8_t *label = lh_realloc(block->own_label, capacity, 1);
  if (!label) return false;
  if (!block->own_label) memcpy(label, block->label, block->n);
  block->label = block->own_label = label;
  block->capacity = capacity;
  return true;
}

bool lh_put_wide(lh_row_block *block, uint64_t word) {
  if (!lh_grow(&block->wide, block->n_wide, &block->wide_capacity, sizeof word)) return false;
  block->wide[block->n_wide++] = word;
  return true;
}

/* ==== From distances to objects ====================================================== */

/* One pass prefetches the memory of the next, a batch at a time. */
enum { BATCH = 64 };

typedef struct lookup {
  uint64_t word;
  const lh_unit *unit;
  const lh_id *id; /* the place that has the target's id */
  lh_id *edge;
} lookup;

static const lh_id no_object = LH_NO_OBJECT;

/* Compiled twice: the oldest processors cannot count bits by one instruction. Returns whether each
** reference has an object. */
static inline __attribute__((always_inline)) bool look_up(const lh_snapshot *s, lookup *batch,
                                                          size_t n, bool counts_bits) {
  bool finds_all = true;
  for (size_t i = 0; i < n; i++) {
    lookup *l = &batch[i];
    uint64_t before = lh_bits_before(l->unit, l->word);
    uint32_t bits = counts_bits ? (uint32_t)__builtin_popcountll(before) : lh_bits_in(before);
    bool is_found = lh_has_object(l->unit, l->word);
    l->id = is_found ? &s->by_rank[l->unit->rank + bits] : &no_object;
    __builtin_prefetch(l->id);
  }
  for (size_t i = 0; i < n; i++) {
    *batch[i].edge = *batch[i].id;
    finds_all &= *batch[i].id != LH_NO_OBJECT;
  }
  return finds_all;
}

static bool look_up_anywhere(const lh_snapshot *s, lookup *batch, size_t n) {
  return look_up(s, batch, n, false);
}

#ifdef __x86_64__
__attribute__((target("popcnt"))) static bool look_up_by_popcnt(const lh_snapshot *s, lookup *batch,
                                                                size_t n) {
  return look_up(s, batch, n, true);
}
#endif

typedef bool (*look_up_function)(const lh_snapshot *s, lookup *batch, size_t n);

static look_up_function fastest_look_up(void) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("popcnt")) return look_up_by_popcnt;
#endif
  return look_up_anywhere;
}

typedef struct resolver {
  lh_snapshot *s;
  lh_raw_rows *raw;
  look_up_function look_up;
  lh_id keys[LH_MOST_KEYS]; /* the frequent keys */
} resolver;

/* Turns distances into ids in place. Returns whether each reference has an object. */
static bool resolve_edges(const resolver *r, lh_row_block *block) {
  const lh_snapshot *s = r->s;
  lookup batch[BATCH];
  const uint64_t *wide = block->wide;
  lh_id *edge = (lh_id *)block->delta;
  lh_recent_stretches recent = {0};
  bool finds_all = true;
  size_t n = 0;
  for (size_t e = 0; e < block->n; e++) {
    int32_t delta = block->delta[e];
    if (delta < LH_LEAST_DELTA && delta != LH_DELTA_WIDE) {
      edge[e] = r->keys[delta - LH_DELTA_KEY];
      finds_all &= edge[e] != LH_NO_OBJECT;
      continue;
    }
    uint64_t word = block->base + (uint64_t)(int64_t)delta;
    if (__builtin_expect(delta == LH_DELTA_WIDE, 0)) word = *wide++;
    const lh_unit *unit = &s->units[lh_number_of_unit(s, word, &recent)];
    __builtin_prefetch(unit);
    batch[n++] = (lookup){.word = word, .unit = unit, .edge = &edge[e]};
    if (n < BATCH) continue;
    finds_all &= r->look_up(s, batch, n);
    n = 0;
  }
  return r->look_up(s, batch, n) && finds_all;
}

/* Also turns the places inside the block in first_edge into edge numbers. */
static bool resolve_block(void *data, uint32_t i) {
  const resolver *r = data;
  lh_snapshot *s = r->s;
  lh_row_block *block = &r->raw->blocks[i];
  lh_id next = i + 1 < r->raw->n ? s->blocks[i + 1].id : s->n + 1;
  block->loses = !resolve_edges(r, block);
  for (lh_id id = s->blocks[i].id; id < next; id++) s->first_edge[id] += block->first;
  return true;
}

/* Closes the gaps between the blocks, unless one of them has outgrown its place. */
static bool join_blocks(lh_snapshot *s, lh_raw_rows *raw, uint64_t n_edges) {
  lh_id *edge = s->edge;
  uint8_t *label = s->label;
  bool is_outgrown = false, ok = true;
  for (uint32_t i = 0; i < raw->n; i++) is_outgrown |= raw->blocks[i].own_delta != NULL;
  if (is_outgrown) {
    edge = lh_alloc(n_edges, sizeof *edge);
    label = lh_alloc(n_edges, 1);
    ok = edge && label;
  }
  for (uint32_t i = 0; ok && i < raw->n; i++) {
    lh_row_block *block = &raw->blocks[i];
    memmove(edge + block->first, block->delta, block->n * sizeof *edge);
    memmove(label + block->first, block->label, block->n);
    drop_references(block);
  }
  if (is_outgrown) LH_FREE_ALL(ok ? s->edge : edge, ok ? s->label : label);
  if (ok) s->edge = edge;
  if (ok) s->label = label;
  return ok;
}

static void note_lost(uint8_t *key_kinds, bool is_key) {
  *key_kinds |= is_key ? LH_HAS_POINTERS : LH_HAS_SCALARS | LH_HAS_WORDS;
  *key_kinds &= (uint8_t)~LH_IS_LIST;
}

/* Removes references to objects without a record. A lost key counts as a key of unknown kind. */
static void drop_lost(lh_snapshot *s) {
  uint32_t e = s->first_edge[1], at = e;
  for (lh_id id = 1; id <= s->n; id++) {
    bool lost_key = false;
    s->first_edge[id] = at;
    for (; e < s->first_edge[id + 1]; e++) {
      bool is_key = lh_label_kind(s->label[e]) == LH_EDGE_KEY;
      bool is_lost = s->edge[e] == LH_NO_OBJECT;
      if (is_lost) note_lost(&s->key_kinds[id], is_key);
      if (!is_lost) {
        s->edge[at] = s->edge[e];
        s->label[at++] = lost_key && !is_key ? LH_EDGE_VALUE | LH_LABEL_ODD : s->label[e];
      }
      lost_key = is_lost && is_key;
    }
  }
  s->first_edge[s->n + 1] = at;
}

static void put_roots(lh_snapshot *s) {
  s->first_edge[LH_ROOT] = 0;
  for (size_t at = 0; at < s->n_roots; at++) {
    s->edge[at] = s->roots[at].target;
    s->label[at] = LH_EDGE_ROOT;
  }
}

static bool fit(lh_snapshot *s, uint64_t n_edges) {
  lh_id *edge = lh_realloc(s->edge, n_edges, sizeof *edge);
  if (edge) s->edge = edge;
  uint8_t *label = lh_realloc(s->label, n_edges, 1);
  if (label) s->label = label;
  return edge && label;
}

static bool resolve_all(lh_snapshot *s, lh_raw_rows *raw, uint64_t n_edges) {
  resolver r = {.s = s, .raw = raw, .look_up = fastest_look_up()};
  uint32_t first = (uint32_t)s->n_roots;
  for (uint32_t i = 0; i < s->n_keys; i++) r.keys[i] = lh_find_word(s, s->keys[i]);
  for (uint32_t i = 0; i < raw->n; i++) {
    raw->blocks[i].first = first;
    first += (uint32_t)raw->blocks[i].n;
  }
  s->first_edge[s->n + 1] = first;
  (void)lh_parallel_for(s->threads, raw->n, resolve_block, &r);
  for (uint32_t i = 0; i < raw->n; i++) s->has_lost |= raw->blocks[i].loses;
  if (!join_blocks(s, raw, n_edges)) return false;
  put_roots(s);
  if (s->has_lost) drop_lost(s);
  return true;
}

/* ==== References that keep nothing alive ============================================= */

typedef struct weakener {
  lh_snapshot *s;
  size_t aside_capacity, ephemeron_capacity;
  bool failed;
} weakener;

static void put_aside(weakener *w, uint32_t e, lh_id source) {
  lh_snapshot *s = w->s;
  if (!lh_grow(&s->aside, s->n_aside, &w->aside_capacity, sizeof *s->aside)) {
    w->failed = true;
    return;
  }
  s->aside[s->n_aside++] = (lh_aside){e, s->edge[e]};
  s->edge[e] = source;
  s->label[e] |= LH_LABEL_ASIDE;
}

static void put_ephemeron(weakener *w, lh_id table, lh_id key, lh_id value) {
  lh_snapshot *s = w->s;
  if (!lh_grow(&s->ephemerons, s->n_ephemerons, &w->ephemeron_capacity, sizeof *s->ephemerons))
    w->failed = true;
  else
    s->ephemerons[s->n_ephemerons++] = (lh_ephemeron){.table = table, .key = key, .value = value};
}

/* Lua treats strings as values and never removes them from weak tables. */
static void weaken_row(weakener *w, lh_id table, unsigned weakness) {
  lh_snapshot *s = w->s;
  lh_id key = LH_NO_OBJECT;
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1] && !w->failed; e++) {
    lh_id target = s->edge[e];
    lh_edge_kind kind = lh_label_kind(s->label[e]);
    if (kind == LH_EDGE_KEY) {
      key = target;
      if ((weakness & LH_FLAG_WEAK_KEYS) && !lh_is_string(s, target)) put_aside(w, e, table);
    } else if (kind == LH_EDGE_VALUE && weakness & LH_FLAG_WEAK_VALUES) {
      if (!lh_is_string(s, target)) put_aside(w, e, table);
    } else if (kind == LH_EDGE_VALUE && s->label[e] & LH_LABEL_KEYED && !lh_is_string(s, key)) {
      put_aside(w, e, table);
      put_ephemeron(w, table, key, target);
    }
  }
}

static void weaken_tables(weakener *w) {
  lh_snapshot *s = w->s;
  for (lh_id id = 1; id <= s->n && !w->failed; id++) {
    unsigned weakness = (s->kind[id] & LH_KIND_TYPE) == LH_TYPE_TABLE ? lh_weakness(s, id) : 0;
    if (weakness) weaken_row(w, id, weakness);
  }
}

/* ==== Edges of keys to their values ================================================== */

static int compare_ephemerons(const void *a, const void *b) {
  const lh_ephemeron *x = a, *y = b;
  return LH_LESS(x->key, y->key) ?: LH_LESS(x->table, y->table) ?: LH_LESS(x->value, y->value);
}

/* The edges inserted before an edge raise its number in `aside`. */
static void shift_aside(lh_snapshot *s) {
  size_t before = 0;
  for (size_t i = 0; i < s->n_aside; i++) {
    lh_aside *a = &s->aside[i];
    while (before < s->n_ephemerons && s->first_edge[s->ephemerons[before].key + 1] <= a->edge)
      before++;
    a->edge += (uint32_t)before;
  }
}

/* Inserts edges at the end of each key's row, from the last row back. */
static void insert_edges(lh_snapshot *s) {
  size_t left = s->n_ephemerons;
  lh_id id = s->n + 1;
  uint32_t end = s->first_edge[id];
  while (left > 0) {
    lh_id key = s->ephemerons[left - 1].key;
    uint32_t from = s->first_edge[key + 1];
    memmove(s->edge + from + left, s->edge + from, (size_t)(end - from) * sizeof *s->edge);
    memmove(s->label + from + left, s->label + from, end - from);
    for (; id > key; id--) s->first_edge[id] += (uint32_t)left;
    end = from;
    for (; left > 0 && s->ephemerons[left - 1].key == key; left--) {
      s->edge[from + left - 1] = key;
      s->label[from + left - 1] = LH_EDGE_EPHEMERON | LH_LABEL_ASIDE;
      s->ephemerons[left - 1].edge = from + (uint32_t)left - 1;
    }
  }
}

static int add_ephemerons(lh_snapshot *s, lh_error *error) {
  uint64_t n_edges = (uint64_t)s->first_edge[s->n + 1] + s->n_ephemerons;
  if (n_edges > MOST_EDGES) return fail_count(error);
  if (!fit(s, n_edges)) return lh_fail_memory(error, "reading edges");
  if (s->n_ephemerons == 0) return LH_OK;
  qsort(s->ephemerons, s->n_ephemerons, sizeof *s->ephemerons, compare_ephemerons);
  shift_aside(s);
  insert_edges(s);
  return LH_OK;
}

static bool resolve_names(lh_snapshot *s, const lh_raw_rows *raw) {
  size_t n = 0;
  for (uint32_t i = 0; i < raw->n; i++) s->n_upvalue_names += raw->blocks[i].n_names;
  s->upvalue_names = lh_alloc(s->n_upvalue_names, sizeof *s->upvalue_names);
  if (!s->upvalue_names) return false;
  for (uint32_t i = 0; i < raw->n; i++)
    for (size_t k = 0; k < raw->blocks[i].n_names; k++)
      s->upvalue_names[n++] = raw->blocks[i].names[k];
  n = 0;
  for (size_t i = 0; i < s->n_upvalue_names; i++) {
    const uint8_t *at = s->data + s->upvalue_names[i].offset;
    s->upvalue_names[i].first = n;
    n += s->upvalue_names[i].n = lh_get_count(&at);
  }
  s->names = lh_alloc(n, sizeof *s->names);
  if (!s->names) return false;
  for (size_t i = 0; i < s->n_upvalue_names; i++) {
    const lh_upvalue_names *names = &s->upvalue_names[i];
    const uint8_t *at = s->data + names->offset;
    uint64_t own_word = s->address[names->proto] >> 3;
    (void)lh_get_count(&at);
    for (uint32_t k = 0; k < names->n; k++)
      s->names[names->first + k] = lh_find_word_or_none(s, lh_get_reference(&at, own_word));
  }
  return true;
}

static bool find_aside(const lh_aside *list, size_t n, uint32_t e, lh_id *target) {
  size_t at;
  LH_LOWER_BOUND(at, n, list[at].edge < e);
  if (at == n || list[at].edge != e) return false;
  *target = list[at].target;
  return true;
}

lh_id lh_target_aside(const lh_snapshot *s, uint32_t e) {
  lh_id target = s->edge[e]; /* an ephemeron that is not alive has its key here */
  if (!find_aside(s->aside, s->n_aside, e, &target))
    (void)find_aside(s->bent, s->n_bent, e, &target);
  return target;
}

const lh_ephemeron *lh_ephemeron_of(const lh_snapshot *s, uint32_t e) {
  size_t at;
  LH_LOWER_BOUND(at, s->n_ephemerons, s->ephemerons[at].edge < e);
  return &s->ephemerons[at];
}

int lh_make_rows(lh_snapshot *s, lh_raw_rows *raw, lh_error *error) {
  weakener w = {.s = s};
  uint64_t n_edges = s->n_roots;
  for (uint32_t i = 0; i < raw->n; i++) n_edges += raw->blocks[i].n;
  if (n_edges > MOST_EDGES) return fail_count(error);
  if (!resolve_all(s, raw, n_edges) || !resolve_names(s, raw))
    return lh_fail_memory(error, "reading edges");
  if (s->has_modes) weaken_tables(&w);
  return w.failed ? lh_fail_memory(error, "reading edges") : add_ephemerons(s, error);
}

/* ==== Roots ========================================================================== */

static const uint8_t order[] = {
    LH_ROOT_GLOBALS,        LH_ROOT_LOADED,         LH_ROOT_REGISTRY,  LH_ROOT_TYPE_METATABLE,
    LH_ROOT_MAIN_THREAD,    LH_ROOT_RUNNING_THREAD, LH_ROOT_FINALIZER, LH_ROOT_METAMETHOD_NAME,
    LH_ROOT_MEMORY_MESSAGE, LH_ROOT_FIXED,          LH_ROOT_OWN};

static void add_root(lh_snapshot *s, unsigned kind, uint32_t index, lh_id target) {
  s->roots[s->n_roots++] = (lh_root){(lh_root_kind)kind, index, target};
}

static void add_named(lh_snapshot *s, unsigned wanted) {
  const uint8_t *at = s->named_roots;
  for (uint32_t i = 0; i < s->n_named_roots; i++) {
    unsigned kind = *at++;
    uint32_t index = *at++;
    uint64_t word = lh_get_uvarint(&at);
    lh_id target = kind == wanted ? lh_find_word(s, word) : LH_NO_OBJECT;
    if (target == LH_NO_OBJECT) continue;
    add_root(s, kind, index, target);
    if (kind == LH_ROOT_OWN) s->kind[target] |= LH_KIND_OWN;
  }
}

static void add_list(lh_snapshot *s, lh_list list, lh_root_kind kind) {
  uint32_t first = s->list_first[list];
  for (uint32_t id = first; id < s->list_first[list + 1]; id++)
    if (lh_list_of(s, id) == list) add_root(s, kind, id - first + 1, id);
}

int lh_collect_roots(lh_snapshot *s, lh_error *error) {
  s->roots = lh_alloc(most_roots(s), sizeof *s->roots);
  if (!s->roots) return lh_fail_memory(error, "collecting roots");
  for (size_t i = 0; i < sizeof order; i++) {
    add_named(s, order[i]);
    if (order[i] == LH_ROOT_FIXED) add_list(s, LH_LIST_FIXEDGC, LH_ROOT_FIXED);
    if (order[i] == LH_ROOT_FINALIZER) add_list(s, LH_LIST_TOBEFNZ, LH_ROOT_FINALIZER);
  }
  return 0;
}
