/* random_heap.c - see random_heap.h. */
#include "random_heap.h"

#include "read/snapshot.h"

uint32_t random_below(uint64_t *random, uint32_t n) {
  uint64_t x = *random += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (uint32_t)((x ^ (x >> 31)) % n);
}

static lh_id any_object(const random_heap *h, uint64_t *random) {
  return 2 + random_below(random, h->n - 1);
}

static bool has_key(const random_heap *h, lh_id table, lh_id key) {
  for (uint32_t i = 0; i < h->object[table].n_entries; i++)
    if (h->object[table].entry[i].key == key) return true;
  return false;
}

static void fill_table(random_heap *h, lh_id id, uint64_t *random) {
  uint32_t n = random_below(random, RANDOM_MOST_ENTRIES + 1);
  unsigned kind = random_below(random, 8);
  h->object[id].flags = kind < 3    ? LH_FLAG_WEAK_KEYS
                        : kind == 3 ? LH_FLAG_WEAK_VALUES
                        : kind == 4 ? LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES
                                    : 0;
  if (random_below(random, 6) == 0) h->object[id].metatable = any_object(h, random);
  if (h->object[h->object[id].metatable].is_string) h->object[id].metatable = 0;
  for (uint32_t i = 0; i < n; i++) {
    lh_id key = random_below(random, 2) ? any_object(h, random) : 0;
    if (key && has_key(h, id, key)) key = 0;
    h->object[id].entry[i].key = key;
    h->object[id].entry[i].value = random_below(random, 6) ? any_object(h, random) : 0;
    h->object[id].n_entries++;
  }
}

random_heap random_heap_make(uint64_t seed) {
  random_heap h = {0};
  h.n = 2 + random_below(&seed, RANDOM_MOST_OBJECTS - 1);
  for (lh_id id = 2; id <= h.n; id++) h.object[id].is_string = random_below(&seed, 6) == 0;
  for (lh_id id = 2; id <= h.n; id++)
    if (!h.object[id].is_string) fill_table(&h, id, &seed);
  for (uint32_t i = 0; i < RANDOM_MOST_ROOTS; i++)
    h.root[i] = i == 0 || random_below(&seed, 2) ? any_object(&h, &seed) : 0;
  return h;
}

static void cut(random_heap *h, const lh_edge *edge) {
  bool is_ephemeron = edge->kind == LH_EDGE_EPHEMERON;
  lh_id table = is_ephemeron ? edge->holder : edge->source;
  if (edge->kind == LH_EDGE_ROOT) {
    h->root[edge->ordinal] = 0;
    return;
  }
  if (edge->kind == LH_EDGE_METATABLE) {
    h->object[table].metatable = 0;
    return;
  }
  bool by_object = edge->key.kind == LH_VALUE_OBJECT;
  for (uint32_t i = 0; i < h->object[table].n_entries; i++) {
    lh_id key = h->object[table].entry[i].key;
    if (by_object ? key != edge->key.as.object : key || edge->key.as.integer != i + 1) continue;
    if (edge->kind == LH_EDGE_KEY) {
      if (!edge->weak) h->object[table].entry[i].key = 0;
    } else {
      h->object[table].entry[i].value = 0;
    }
  }
}

/* Keys last: values are told by them. */
void random_heap_cut(random_heap *h, const lh_edge *edges, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (edges[i].kind != LH_EDGE_KEY) cut(h, &edges[i]);
  for (size_t i = 0; i < n; i++)
    if (edges[i].kind == LH_EDGE_KEY) cut(h, &edges[i]);
}

/* The value under a key that is gone stays, unless only the two together held it. */
void random_heap_remove(random_heap *h, lh_id id) {
  for (lh_id at = 2; at <= h->n; at++) {
    for (uint32_t i = 0; i < h->object[at].n_entries; i++) {
      lh_id *key = &h->object[at].entry[i].key, *value = &h->object[at].entry[i].value;
      bool is_ephemeron = h->object[at].flags == LH_FLAG_WEAK_KEYS && !h->object[id].is_string;
      if (*value == id || (*key == id && is_ephemeron)) *value = 0;
      if (*key == id) *key = 0;
    }
    if (h->object[at].metatable == id) h->object[at].metatable = 0;
  }
  for (uint32_t i = 0; i < RANDOM_MOST_ROOTS; i++)
    if (h->root[i] == id) h->root[i] = 0;
  h->object[id].metatable = 0;
  for (uint32_t i = 0; i < h->object[id].n_entries; i++)
    h->object[id].entry[i].key = h->object[id].entry[i].value = 0;
}

static uint64_t address_of(lh_id id) {
  return id ? 0x1000 + 0x100 * (uint64_t)id : 0;
}

static void put_side(forge *f, lh_id object, uint32_t number) {
  if (object)
    forge_reference(f, address_of(object));
  else
    forge_svarint(f, number);
}

static void put_object(forge *f, const random_heap *h, lh_id id) {
  char text[8] = "string ";
  if (h->object[id].is_string) {
    text[7] = '\0';
    text[6] = (char)('!' + id);
    forge_string(f, address_of(id), text);
    return;
  }
  forge_record(f,
               LH_REC_TABLE | h->object[id].flags |
                   (h->object[id].metatable ? (unsigned)LH_FLAG_METATABLE : 0),
               address_of(id), 56 + 24 * id);
  forge_uvarint(f, 0);
  forge_u8(f, h->object[id].n_entries ? 4 : 0);
  if (h->object[id].metatable) forge_reference(f, address_of(h->object[id].metatable));
  forge_uvarint(f, 0);
  forge_uvarint(f, h->object[id].n_entries);
  for (uint32_t i = 0; i < h->object[id].n_entries; i++) {
    lh_id key = h->object[id].entry[i].key, value = h->object[id].entry[i].value;
    forge_tags(f, key ? LH_VAL_OBJECT : LH_VAL_INTEGER, value ? LH_VAL_OBJECT : LH_VAL_INTEGER);
    put_side(f, key, i + 1);
    put_side(f, value, 0);
  }
}

lh_snapshot *random_heap_open(const random_heap *h, forge *file) {
  lh_snapshot *snapshot;
  forge_begin(file);
  if (h->n_stacks > 0) forge_track(file, h->n_stacks);
  file->footer.serial = 1;
  forge_mark(file, 0x100, LH_MARK_BY_SNAPSHOT, 1, "a");
  for (lh_id id = 2; id <= h->n; id++) put_object(file, h, id);
  for (unsigned i = 0; i < RANDOM_MOST_ROOTS; i++)
    if (h->root[i]) forge_root(file, LH_ROOT_TYPE_METATABLE, i, address_of(h->root[i]));
  forge_finish(file);
  return lh_open_memory(&snapshot, file->data, file->size, "random", NULL) ? NULL : snapshot;
}
