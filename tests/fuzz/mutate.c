/*
** mutate.c - libFuzzer's mutations of snapshots, for both targets.
**
** Bytes changed at random are refused by a checksum, a count or a sum before they reach anything
** that thinks. So a snapshot that opens is taken apart into its records and roots, a few of these
** are changed (dropped, copied, moved, pointed elsewhere, given a name that means something, or
** mutated as bytes), and a file is made of them with the counts, sums, deltas and checksums that
** belong to it. One mutation in eight is of the bytes of the file, with the checksums made right.
*/
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "forge.h"
#include "read/scan.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed);

/* In place of libc's: the hash of addresses has the same seed each time, so one input always takes
** the same way. */
ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  (void)flags;
  memset(buffer, 1, length);
  return (ssize_t)length;
}

enum { MAX_RECORDS = 256, MAX_ROOTS = 64, MAX_FIELDS = 512, SPARE = 16 };

typedef struct record {
  const uint8_t *fields; /* behind the shallow size */
  size_t n_fields;
  uint64_t address, shallow_bytes;
  uint8_t head, list;
} record;

/* A snapshot in pieces. */
typedef struct draft {
  const lh_snapshot *s;
  lh_info info;
  record records[MAX_RECORDS];
  size_t n_records;
  lh_root roots[MAX_ROOTS];
  uint64_t root_addresses[MAX_ROOTS];
  size_t n_roots;
  uint8_t changed[SPARE][MAX_FIELDS + 32]; /* fields that are not those of the file */
  size_t n_changed;
  uint64_t random;
} draft;

static size_t roll(draft *d, size_t n) {
  d->random ^= d->random << 13;
  d->random ^= d->random >> 7;
  d->random ^= d->random << 17;
  return n == 0 ? 0 : (size_t)(d->random >> 11) % n;
}

/* {=== taking apart ================================================================== */

static void add_record(draft *d, const lh_snapshot *s, lh_id id) {
  if (d->n_records == MAX_RECORDS) return;
  const uint8_t *at = lh_record(s, id);
  const uint8_t *end = id < s->n ? lh_record(s, id + 1) : s->data + s->size - LH_TRAILER_BYTES;
  if (id == s->n) end = s->data + lh_load64(end);
  record *r = &d->records[d->n_records++];
  *r = (record){.head = *at, .address = s->address[id], .list = (uint8_t)lh_list_of(s, id)};
  r->shallow_bytes = lh_get_shallow(&at);
  r->fields = at;
  r->n_fields = (size_t)(end - at);
}

static void take_apart(draft *d, const lh_snapshot *s, unsigned seed) {
  memset(d, 0, offsetof(draft, changed));
  d->n_changed = 0;
  d->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  d->s = s;
  d->info = s->info;
  for (uint64_t id = 1; id <= s->n; id++) add_record(d, s, (lh_id)id);
  for (size_t i = 0; i < s->n_roots && d->n_roots < MAX_ROOTS; i++) {
    bool listed = s->roots[i].kind == LH_ROOT_FIXED || s->roots[i].kind == LH_ROOT_FINALIZER;
    if (listed) continue;
    d->root_addresses[d->n_roots] = s->address[s->roots[i].target];
    d->roots[d->n_roots++] = s->roots[i];
  }
}

/* }=================================================================================== */

/* {=== changes ======================================================================= */

/* Room for other fields of a record; NULL when there is none left. */
static uint8_t *fields_to_change(draft *d, record *r) {
  if (d->n_changed == SPARE || r->n_fields > MAX_FIELDS) return NULL;
  uint8_t *copy = d->changed[d->n_changed++];
  memcpy(copy, r->fields, r->n_fields);
  r->fields = copy;
  return copy;
}

/* Mostly that of an object. */
static uint64_t any_address(draft *d) {
  uint64_t address = d->records[roll(d, d->n_records)].address;
  return roll(d, 8) == 0 ? address + 0x10 * (roll(d, 64) + 1) : address;
}

static void insert(draft *d, size_t at, record r) {
  if (d->n_records == MAX_RECORDS) return;
  memmove(&d->records[at + 1], &d->records[at], (d->n_records - at) * sizeof r);
  d->records[at] = r;
  d->n_records++;
}

static record take_out(draft *d, size_t at) {
  record r = d->records[at];
  d->n_records--;
  memmove(&d->records[at], &d->records[at + 1], (d->n_records - at) * sizeof r);
  return r;
}

/* To any place, of the list of what is there. */
static void put_back(draft *d, record r) {
  size_t at = roll(d, d->n_records + 1);
  if (at < d->n_records) r.list = d->records[at].list;
  if (roll(d, 4) == 0 && at == d->n_records) r.list = LH_LIST_FIXEDGC;
  insert(d, at, r);
}

static void copy_record(draft *d, size_t at) {
  record r = d->records[at];
  uint64_t highest = 0;
  for (size_t i = 0; i < d->n_records; i++)
    if (d->records[i].address > highest) highest = d->records[i].address;
  r.address = highest + 0x10 * (1 + roll(d, 16));
  put_back(d, r);
}

static void mutate_fields(draft *d, record *r) {
  uint8_t *fields = fields_to_change(d, r);
  if (fields) r->n_fields = LLVMFuzzerMutate(fields, r->n_fields, r->n_fields + 16);
}

/* Names that something looks for, and values of __mode. */
static void name_string(draft *d, record *r) {
  static const char *const names[] = {"__mode", "__name",    "__index",       "k",      "v",
                                      "kv",     "_G",        "_LOADED",       "@a.lua", "n",
                                      "?",      "=(load)\n", "for iterator'", "(self",  "\"",
                                      "[*]*",   "\x1b[31m"};
  const char *name = names[roll(d, sizeof names / sizeof *names)];
  if ((r->head & 15) != LH_REC_STRING || (r->head & LH_FLAG_DEAD)) return;
  r->head = LH_REC_STRING;
  r->fields = (const uint8_t *)name;
  r->n_fields = strlen(name);
  r->shallow_bytes = LH_STRING_OVERHEAD + r->n_fields;
}

/* One of the references of object `id`, whose record is unchanged, points elsewhere. */
static void point_elsewhere(draft *d, record *r) {
  scan c;
  found reference;
  lh_id id = lh_find_word(d->s, r->address >> 3);
  if (id == LH_NO_OBJECT || r->head != *lh_record(d->s, id)) return;
  begin(d->s, id, &c);
  for (size_t skip = roll(d, 8) + 1; skip > 0; skip--)
    if (!step(&c, &reference)) break;
  const uint8_t *fields = r->fields;
  if (c.at <= fields || c.at > fields + r->n_fields) return;
  size_t end = (size_t)(c.at - fields), start = end - 1;
  while (start > 0 && end - start < LH_MAX_VARINT && fields[start - 1] >= 0x80 &&
         fields[start - 1] != (LH_VAL_OBJECT << 4 | LH_VAL_OBJECT))
    start--;
  uint8_t *changed = fields_to_change(d, r);
  if (!changed) return;
  uint64_t target = roll(d, 16) == 0 ? 0 : any_address(d);
  int64_t delta = (int64_t)((target >> 3) - (r->address >> 3));
  uint8_t *behind = lh_put_uvarint(changed + start, lh_zigzag(delta));
  memcpy(behind, fields + end, r->n_fields - end);
  r->n_fields = (size_t)(behind - changed) + (r->n_fields - end);
}

static void change_roots(draft *d) {
  size_t at = roll(d, d->n_roots + 1);
  if (at < d->n_roots && roll(d, 3) == 0) {
    d->root_addresses[at] = any_address(d);
  } else if (at < d->n_roots && roll(d, 2) == 0) {
    d->n_roots--;
    d->roots[at] = d->roots[d->n_roots];
    d->root_addresses[at] = d->root_addresses[d->n_roots];
  } else if (d->n_roots < MAX_ROOTS) {
    d->root_addresses[d->n_roots] = any_address(d);
    d->roots[d->n_roots++] =
        (lh_root){(lh_root_kind)roll(d, LH_ROOT_OWN + 1), (uint32_t)roll(d, 9), 0};
  }
}

static void change_head(draft *d, record *r) {
  r->head ^= (uint8_t)(0x10u << roll(d, 4));
  if (r->head & LH_FLAG_DEAD) r->n_fields = 0;
}

static void change(draft *d) {
  size_t at = roll(d, d->n_records);
  record *r = &d->records[at];
  if (d->n_records == 0) return;
  switch (roll(d, 12)) {
    case 0: (void)take_out(d, at); break;
    case 1:
    case 2: copy_record(d, at); break;
    case 3: put_back(d, take_out(d, at)); break;
    case 4: name_string(d, r); break;
    case 5: change_roots(d); break;
    case 6: change_head(d, r); break;
    case 7: r->shallow_bytes = roll(d, 4) == 0 ? d->random >> roll(d, 64) : roll(d, 4096); break;
    case 8: mutate_fields(d, r); break;
    default: point_elsewhere(d, r); break;
  }
  if (roll(d, 32) == 0) {
    d->info.gc_state = (uint8_t)roll(d, 9);
    d->info.gc_generational = roll(d, 2) == 0;
    d->info.gc_bytes += roll(d, 256);
  }
}

/* }=================================================================================== */

/* {=== putting together ============================================================== */

static void fill_footer(const draft *d, forge *f) {
  const lh_info *info = &d->info;
  f->footer.state_id = info->state_id;
  f->footer.serial = info->serial;
  f->footer.time_ns = info->time_ns;
  f->footer.process_id = info->process_id;
  f->footer.release = info->lua_release;
  f->footer.program = info->program;
  f->footer.name = info->name;
  f->footer.string_limit = info->string_limit;
  f->footer.string_table_bytes = info->string_table_bytes;
  f->footer.gc_bytes = f->footer.object_bytes + info->string_table_bytes +
                       (uint64_t)(info->gc_bytes != d->s->info.gc_bytes ? 8 : 0);
  f->footer.gc_state = info->gc_state;
  f->footer.gc_generational = info->gc_generational;
}

/* Stores the file and returns how long it is; 0 when it is too long. */
static size_t put_together(const draft *d, uint8_t *out, size_t max_size) {
  forge f;
  forge_begin(&f);
  for (int list = 0; list < 4; list++) {
    for (size_t i = 0; i < d->n_records; i++) {
      const record *r = &d->records[i];
      if (r->list != list) continue;
      forge_record(&f, r->head, r->address, r->shallow_bytes);
      forge_bytes_of(&f, r->fields, r->n_fields);
    }
    if (list < 3) forge_next_list(&f);
  }
  for (size_t i = 0; i < d->n_roots; i++)
    forge_root(&f, d->roots[i].kind, d->roots[i].index, d->root_addresses[i]);
  fill_footer(d, &f);
  forge_finish(&f);
  size_t size = f.size <= max_size ? f.size : 0;
  if (size > 0) memcpy(out, f.data, size);
  forge_free(&f);
  return size;
}

/* }=================================================================================== */

static size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size) {
  size = LLVMFuzzerMutate(data, size, max_size);
  forge_seal(data, size);
  return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static draft d;
  lh_snapshot *s;
  if (seed % 8 == 0 || lh_open_memory(&s, data, size, "mutate", NULL) != LH_OK)
    return mutate_bytes(data, size, max_size);
  take_apart(&d, s, seed);
  for (size_t n = roll(&d, 4) + 1; n > 0; n--) change(&d);
  uint8_t *out = malloc(max_size);
  size_t made = out ? put_together(&d, out, max_size) : 0;
  lh_close(s);
  if (made > 0) memcpy(data, out, made);
  free(out);
  return made > 0 ? made : size;
}

/* The first snapshot with some records of the second. */
static size_t cross(const lh_snapshot *a, const lh_snapshot *b, uint8_t *out, size_t max_size,
                    unsigned seed) {
  static draft d, other;
  take_apart(&d, a, seed);
  take_apart(&other, b, seed + 1);
  if (other.n_records == 0) return 0;
  for (size_t n = roll(&d, 4) + 1; n > 0; n--) {
    record r = other.records[roll(&d, other.n_records)];
    if (lh_find_word(a, r.address >> 3) == LH_NO_OBJECT) put_back(&d, r);
  }
  return put_together(&d, out, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed) {
  lh_snapshot *a, *b = NULL;
  size_t made = 0;
  if (lh_open_memory(&a, data, size, "mutate", NULL) != LH_OK) return 0;
  if (lh_open_memory(&b, data2, size2, "mutate", NULL) == LH_OK)
    made = cross(a, b, out, max_size, seed);
  lh_close(a);
  lh_close(b);
  return made;
}
