/*
** decode.c - the edges of objects, straight from their records.
**
** Both ways to read edges step through records with the same scan (scan.h), so they agree:
** lh_edges_* looks up all that an edge is labelled with, lh_references_* only who refers to whom, a
** batch at a time, with the memory that the batch's look-ups will touch fetched ahead.
*/
#include "decode.h"

#include <string.h>

#include "left_out.h"
#include "scan.h"

static inline bool is_string(const lh_snapshot *s, lh_id id) {
  return id != LH_NO_OBJECT && (s->kind[id] & 15) == LH_TYPE_STRING;
}

/* How firmly a table with these flags holds a key or value; `key` is LH_NO_OBJECT for a scalar. */
static lh_strength table_strength(const lh_snapshot *s, unsigned flags, lh_edge_kind kind,
                                  lh_id target, lh_id key) {
  if (kind == LH_EDGE_KEY)
    return (flags & LH_FLAG_WEAK_KEYS) && !is_string(s, target) ? LH_WEAK : LH_STRONG;
  if (flags & LH_FLAG_WEAK_VALUES) return is_string(s, target) ? LH_STRONG : LH_WEAK;
  return key != LH_NO_OBJECT && !is_string(s, key) ? LH_EPHEMERON : LH_STRONG;
}

static unsigned weak_flags(const scan *c) {
  return c->record == LH_REC_TABLE && c->section >= AT_ARRAY ? c->weakness : 0;
}

/* {=== labelled edges ================================================================ */

_Static_assert(sizeof(scan) <= sizeof((lh_edges *)0)->state, "a scan fits into the iterator");

void lh_edges_begin(const lh_snapshot *s, lh_id id, lh_edges *it) {
  scan c = {.section = AT_END};
  if (id <= s->n) begin(s, id, &c);
  if (id <= s->n) begin_row(s, &c);
  it->snapshot = s;
  memcpy(it->state, &c, sizeof c);
}

/* Where the names of the upvalues of a prototype are; 0: nowhere. Skipping its constants each time
** would let a file with a huge prototype and many closures of it take for ever. */
static uint64_t names_of(const lh_snapshot *s, lh_id proto) {
  size_t at, n = s->n_upvalue_names;
  LH_LOWER_BOUND(at, n, s->upvalue_names[at].proto < proto);
  return at < n && s->upvalue_names[at].proto == proto ? s->upvalue_names[at].offset : 0;
}

/* Puts c->names_at on the names of the upvalues of closure c->source: key_bits is then the proto's
** word, names_left how many there are. */
static void find_upvalue_names(const lh_snapshot *s, scan *c) {
  const uint8_t *at = lh_record(s, c->source);
  c->names_left = 0;
  c->names_at = LH_HEADER_BYTES; /* known: none */
  (void)lh_get_shallow(s, &at);
  (void)lh_get_count(&at);
  c->key_bits = lh_get_reference(&at, c->own_word);
  uint64_t offset = names_of(s, lh_find_word_or_none(s, c->key_bits));
  if (offset == 0) return;
  at = s->data + offset;
  c->names_left = lh_get_count(&at);
  c->names_at = (uint64_t)(at - s->data);
}

/* c->frame counts the names that were stepped over. */
static lh_id upvalue_name(const lh_snapshot *s, scan *c, uint32_t ordinal) {
  if (c->names_at == 0) find_upvalue_names(s, c);
  const uint8_t *at = s->data + c->names_at;
  uint64_t word = 0;
  while (c->frame < ordinal && c->names_left > 0) {
    word = lh_get_reference(&at, c->key_bits);
    c->names_left--;
    c->frame++;
  }
  c->names_at = (uint64_t)(at - s->data);
  return c->frame == ordinal ? lh_find_word_or_none(s, word) : LH_NO_OBJECT;
}

/* A key that is an object comes before its value, as an edge of its own. */
static void label_entry(const lh_snapshot *s, const scan *c, lh_edge *edge) {
  lh_id key = c->key_tag == LH_VAL_OBJECT ? c->key : LH_NO_OBJECT;
  if (c->key_tag == LH_VAL_OBJECT)
    edge->key = lh_object_value(key);
  else
    edge->key = lh_raw_value(s, (lh_raw){c->key_bits, c->key_tag});
  unsigned flags = weak_flags(c);
  edge->weak = flags && table_strength(s, flags, edge->kind, edge->target, key) != LH_STRONG;
}

static void label_slot(const lh_snapshot *s, const scan *c, lh_edge *edge) {
  edge->index = c->frame - 1;
  edge->line = c->line;
  if (c->key_tag == LH_VAL_OBJECT)
    edge->holder = lh_find_word_or_none(s, c->key_bits);
  else
    edge->key = lh_raw_value(s, (lh_raw){c->key_bits, c->key_tag});
}

lh_edge lh_ephemeron_edge(const lh_ephemeron *ephemeron) {
  return (lh_edge){.source = ephemeron->key,
                   .target = ephemeron->value,
                   .kind = LH_EDGE_EPHEMERON,
                   .name = LH_NO_OBJECT,
                   .holder = ephemeron->table,
                   .key = {.kind = LH_VALUE_OBJECT, .as.object = ephemeron->key}};
}

static bool next_ephemeron(scan *c, const lh_snapshot *s, lh_edge *edge) {
  if (c->done >= s->n_ephemerons || s->ephemerons[c->done].key != c->source) return false;
  *edge = lh_ephemeron_edge(&s->ephemerons[c->done++]);
  return true;
}

/* After the record: the first ephemeron with the object as key. */
static bool begin_ephemerons(scan *c, const lh_snapshot *s) {
  if (c->source == LH_ROOT || !(s->kind[c->source] & LH_KIND_EPHEMERON_KEY)) return false;
  size_t first;
  LH_LOWER_BOUND(first, s->n_ephemerons, s->ephemerons[first].key < c->source);
  expect(c, AT_EPHEMERONS, LH_EDGE_EPHEMERON, 0);
  c->done = first;
  return true;
}

static bool next_root(scan *c, const lh_snapshot *s, lh_edge *edge) {
  if (c->left == 0) return false;
  const lh_root *root = &s->roots[c->done++];
  c->left--;
  *edge = (lh_edge){.source = LH_ROOT,
                    .target = root->target,
                    .kind = LH_EDGE_ROOT,
                    .index = root->kind,
                    .ordinal = root->index,
                    .name = LH_NO_OBJECT,
                    .holder = LH_NO_OBJECT};
  return true;
}

static bool next_edge(scan *c, const lh_snapshot *s, lh_edge *edge) {
  found reference;
  do {
    if (!step(c, &reference)) return false;
    *edge = (lh_edge){.source = c->source,
                      .target = find_next(s, c, reference.word),
                      .kind = (lh_edge_kind)reference.kind,
                      .ordinal = reference.ordinal,
                      .name = lh_find_word_or_none(s, reference.name_word),
                      .holder = LH_NO_OBJECT};
    if (reference.kind == LH_EDGE_KEY) c->key = edge->target;
  } while (edge->target == LH_NO_OBJECT);
  if (reference.kind == LH_EDGE_VALUE || reference.kind == LH_EDGE_KEY) label_entry(s, c, edge);
  if (reference.kind == LH_EDGE_UPVALUE) edge->name = upvalue_name(s, c, reference.ordinal);
  if (c->section == AT_SLOTS) label_slot(s, c, edge);
  return true;
}

void lh_prefetch_edges(const lh_snapshot *s, lh_id id) {
  enum { MOST = 8 };
  uint32_t first = s->first_edge[id], end = s->first_edge[id + 1];
  if (id != LH_ROOT) __builtin_prefetch(lh_record(s, id));
  for (uint32_t e = first; e < end && e < first + MOST; e++)
    __builtin_prefetch(&s->address[s->edge[e]]);
}

bool lh_edges_next(lh_edges *it, lh_edge *edge) {
  const lh_snapshot *s = it->snapshot;
  scan c;
  bool more;
  memcpy(&c, it->state, sizeof c);
  if (c.section == AT_ROOTS)
    more = next_root(&c, s, edge);
  else
    more = (c.section != AT_EPHEMERONS && next_edge(&c, s, edge)) ||
           ((c.section == AT_EPHEMERONS || begin_ephemerons(&c, s)) && next_ephemeron(&c, s, edge));
  memcpy(it->state, &c, sizeof c);
  if (s->left_out && more && lh_is_edge_left_out(s, s->left_out, edge))
    edge->left_out = edge->weak = true;
  return more;
}

/* }=================================================================================== */

/* {=== the sweep ===================================================================== */

/* A reference on its way through a batch. */
typedef struct look_up {
  uint64_t word, slot;
  uint64_t key_word; /* table value under a collectable key; else 0 */
  lh_id source;
  uint8_t kind, flags; /* lh_edge_kind; of a weak table, else 0 */
} look_up;

void lh_references_begin(const lh_snapshot *s, lh_id first, lh_id last, lh_references *it) {
  it->snapshot = s;
  it->source = first;
  it->last = last;
  it->started = false;
}

static size_t read_root_batch(scan *c, const lh_snapshot *s, lh_reference *batch) {
  size_t n = 0;
  while (n < LH_REFERENCE_BATCH && c->left > 0) {
    batch[n++] = (lh_reference){LH_ROOT, s->roots[c->done++].target, LH_NO_OBJECT, LH_STRONG};
    c->left--;
  }
  return n;
}

/* Decodes up to a batch of references and asks for the memory of their slots. */
static size_t gather_batch(lh_references *it, scan *c, look_up *wanted) {
  const lh_snapshot *s = it->snapshot;
  size_t n = 0;
  found reference;
  while (n < LH_REFERENCE_BATCH) {
    if (!step(c, &reference)) {
      if (it->source >= it->last) break;
      begin(s, ++it->source, c);
      continue;
    }
    look_up *w = &wanted[n++];
    w->word = reference.word;
    w->slot = lh_slot_of(s, reference.word);
    __builtin_prefetch(&s->by_address[w->slot]);
    w->source = c->source;
    w->kind = reference.kind;
    w->flags = (uint8_t)weak_flags(c);
    w->key_word = w->flags && c->key_tag == LH_VAL_OBJECT ? c->key_bits : 0;
  }
  return n;
}

static size_t resolve(const lh_snapshot *s, const look_up *wanted, size_t n, lh_reference *batch) {
  size_t n_found = 0;
  for (size_t i = 0; i < n; i++) __builtin_prefetch(&s->address[s->by_address[wanted[i].slot]]);
  for (size_t i = 0; i < n; i++) {
    const look_up *w = &wanted[i];
    lh_reference *reference = &batch[n_found];
    reference->source = w->source;
    reference->target = lh_find_from(s, w->slot, w->word);
    reference->key = LH_NO_OBJECT;
    reference->strength = LH_STRONG;
    n_found += reference->target != LH_NO_OBJECT;
    if (!w->flags || reference->target == LH_NO_OBJECT) continue;
    lh_id key = lh_find_word_or_none(s, w->key_word);
    reference->strength =
        table_strength(s, w->flags, (lh_edge_kind)w->kind, reference->target, key);
    if (reference->strength == LH_EPHEMERON) reference->key = key;
  }
  return n_found;
}

size_t lh_references_read(lh_references *it, lh_reference batch[LH_REFERENCE_BATCH]) {
  look_up wanted[LH_REFERENCE_BATCH];
  scan c;
  size_t n = 0, n_found = 0;
  if (it->source > it->last) return 0;
  if (it->started)
    memcpy(&c, it->state, sizeof c);
  else
    begin(it->snapshot, it->source, &c);
  it->started = true;
  if (c.section == AT_ROOTS) {
    n_found = read_root_batch(&c, it->snapshot, batch);
    if (n_found == 0 && it->source < it->last) begin(it->snapshot, ++it->source, &c);
  }
  while (n_found == 0 && c.section != AT_ROOTS && (n = gather_batch(it, &c, wanted)) > 0)
    n_found = resolve(it->snapshot, wanted, n, batch);
  memcpy(it->state, &c, sizeof c);
  return n_found;
}

/* }=================================================================================== */
