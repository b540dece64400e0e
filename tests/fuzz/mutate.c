/*
** mutate.c - libFuzzer's mutations of snapshots, for all targets.
**
** Bytes changed at random are refused by a checksum, a count or a sum before they reach anything
** that thinks. So a snapshot that opens is taken apart into its records and roots, a few of these
** are changed (dropped, copied, moved, pointed elsewhere, made anew, given a name that means
** something, or mutated as bytes), and a file is made of them with the counts, sums, deltas and
** checksums that belong to it. One mutation in eight is of the bytes of the file, with the
** checksums made right.
**
** An input is one file, or several one behind the other (forge_split). To those that there are,
** mutations add a later snapshot of the same state or one of another state.
*/
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "draft.h"
#include "read/scan.h"
#include "targets.h"

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

/* ==== Changes of one snapshot ======================================================= */

static void copy_record(draft *d, size_t at) {
  record r = d->records[at];
  r.address = draft_free_address(d);
  draft_put_back(d, r);
}

static void mutate_fields(draft *d, record *r) {
  uint8_t *fields = draft_fields_to_change(d, r);
  if (fields) r->n_fields = LLVMFuzzerMutate(fields, r->n_fields, r->n_fields + 16);
}

/* In place of one that is there, so that much refers to it, or added. */
static void lie(draft *d, size_t at) {
  record made;
  bool in_place = roll(d, 2) == 0;
  unsigned type = in_place && roll(d, 2) ? d->records[at].head & 15u
                                         : LH_REC_STRING + (unsigned)roll(d, LH_REC_MARK);
  /* What a root leads to is what most is asked of. */
  if (in_place && d->n_roots > 0 && roll(d, 4) == 0) {
    uint64_t address = d->root_addresses[roll(d, d->n_roots)];
    for (size_t i = 0; i < d->n_records; i++)
      if (d->records[i].address == address) at = i;
  }
  uint64_t address = in_place ? d->records[at].address : draft_free_address(d);
  if (!lie_record(d, type, address, &made)) return;
  if (in_place) {
    made.list = d->records[at].list;
    d->records[at] = made;
  } else {
    draft_put_back(d, made);
  }
}

static void name_string(draft *d, record *r) {
  record made;
  if (r->head == LH_REC_STRING && lie_record(d, LH_REC_STRING, r->address, &made)) {
    made.list = r->list;
    *r = made;
  }
}

/* One of the references of object `id`, whose record is unchanged, points elsewhere. */
static void point_elsewhere(draft *d, record *r) {
  scan c;
  found reference;
  lh_id id = lh_find_word(d->s, r->address >> 3);
  if (id == LH_NO_OBJECT || r->fields < d->s->data || r->fields >= d->s->data + d->s->size) return;
  begin_record(d->s, id, &c);
  for (size_t skip = roll(d, 8) + 1; skip > 0; skip--)
    if (!step(&c, &reference)) break;
  const uint8_t *fields = r->fields;
  if (c.at <= fields || c.at > fields + r->n_fields) return;
  size_t end = (size_t)(c.at - fields), start = end - 1;
  while (start > 0 && end - start < LH_MAX_VARINT && fields[start - 1] >= 0x80 &&
         fields[start - 1] != (LH_VAL_OBJECT << 4 | LH_VAL_OBJECT))
    start--;
  uint8_t *changed = draft_fields_to_change(d, r);
  if (!changed) return;
  uint64_t target = roll(d, 16) == 0 ? 0 : draft_any_address(d);
  int64_t delta = (int64_t)((target >> 3) - (r->address >> 3));
  uint8_t *behind = lh_put_uvarint(changed + start, lh_zigzag(delta));
  memcpy(behind, fields + end, r->n_fields - end);
  r->n_fields = (size_t)(behind - changed) + (r->n_fields - end);
}

static void change_roots(draft *d) {
  size_t at = roll(d, d->n_roots + 1);
  if (at < d->n_roots && roll(d, 3) == 0) {
    d->root_addresses[at] = draft_any_address(d);
  } else if (at < d->n_roots && roll(d, 2) == 0) {
    d->n_roots--;
    d->roots[at] = d->roots[d->n_roots];
    d->root_addresses[at] = d->root_addresses[d->n_roots];
  } else if (d->n_roots < MAX_ROOTS) {
    d->root_addresses[d->n_roots] = draft_any_address(d);
    d->roots[d->n_roots++] =
        (lh_root){(lh_root_kind)roll(d, LH_ROOT_OWN + 1), (uint32_t)roll(d, 9), 0};
  }
}

static void change_head(draft *d, record *r) {
  r->head ^= (uint8_t)(0x10u << roll(d, 4));
  if (r->head & LH_FLAG_DEAD) r->n_fields = 0;
}

static void change_info(draft *d) {
  switch (roll(d, 4)) {
    case 0:
      d->info.gc_state = (uint8_t)roll(d, 9);
      d->info.gc_generational = roll(d, 2) == 0;
      d->info.gc_bytes += roll(d, 256);
      break;
    case 1:
      d->info.string_limit = lie_number(d);
      d->info.string_table_bytes = roll(d, 4) ? 1024 : lie_number(d);
      break;
    case 2:
      lie_text(d, d->program);
      d->info.program = d->program;
      break;
    default:
      lie_text(d, d->name);
      d->info.name = d->name;
      break;
  }
}

static void change_outside(draft *d) {
  if (!d->is_outside || roll(d, 2) == 0)
    lie_outside(d);
  else if (roll(d, 8) == 0)
    d->is_outside = false;
  else
    d->n_outside = LLVMFuzzerMutate(d->outside, d->n_outside, sizeof d->outside);
}

static void change(draft *d) {
  size_t at = roll(d, d->n_records);
  record *r = &d->records[at];
  if (d->n_records == 0) return;
  switch (roll(d, 18)) {
    case 0: (void)draft_take_out(d, at); break;
    case 1:
    case 2: copy_record(d, at); break;
    case 3: draft_put_back(d, draft_take_out(d, at)); break;
    case 4: name_string(d, r); break;
    case 5: change_roots(d); break;
    case 6: change_head(d, r); break;
    case 7: r->shallow_bytes = roll(d, 4) == 0 ? d->random >> roll(d, 64) : roll(d, 4096); break;
    case 16: r->stack = draft_any_stack(d); break;
    case 17: change_outside(d); break;
    case 8: mutate_fields(d, r); break;
    case 9: change_info(d); break;
    case 10:
    case 11:
    case 12: lie(d, at); break;
    default: point_elsewhere(d, r); break;
  }
}

static void change_some(draft *d) {
  for (size_t n = roll(d, 4) + 1; n > 0; n--) change(d);
}

/* ==== Another snapshot =============================================================== */

/* The two marks of a snapshot with d->info. */
static void add_marks(draft *d) {
  for (int list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    record mark;
    if (!lie_own_mark(d, draft_free_address(d), &mark)) return;
    mark.list = (uint8_t)list;
    draft_insert(d, 0, mark);
  }
}

static void drop_marks(draft *d) {
  for (size_t i = d->n_records; i-- > 0;)
    if ((d->records[i].head & 15) == LH_REC_MARK) (void)draft_take_out(d, i);
}

/* A table of before gets bigger, with other entries; or another container, as it is. */
static void grow(draft *d) {
  record made, *r = &d->records[roll(d, d->n_records)];
  unsigned type = r->head & 15;
  if (type == LH_REC_TABLE && roll(d, 8) > 0) {
    if (!lie_record(d, LH_REC_TABLE, r->address, &made)) return;
    made.list = r->list;
    made.shallow_bytes = r->shallow_bytes;
    *r = made;
  }
  if (type == LH_REC_TABLE || type == LH_REC_THREAD) r->shallow_bytes += 16 * roll(d, 16);
}

/* What the program has done since: objects at the young end, and others changed. */
static void work(draft *d) {
  for (size_t n = roll(d, 6); n > 0 && d->n_records > 0; n--) grow(d);
  for (size_t n = roll(d, 8); n > 0 && d->n_records > 0; n--) {
    record r = d->records[roll(d, d->n_records)];
    r.address = draft_free_address(d);
    if (roll(d, 2) &&
        !lie_record(d, LH_REC_STRING + (unsigned)roll(d, LH_REC_THREAD), r.address, &r))
      return;
    r.list = LH_LIST_ALLGC;
    draft_insert(d, 0, r);
  }
  if (roll(d, 2)) change_some(d);
}

static void become_later(draft *d) {
  if (roll(d, 2)) work(d);
  d->info.serial += 1 + (uint32_t)(roll(d, 4) == 0);
  d->info.time_ns += UINT64_C(1000000000) * roll(d, 4);
  if (roll(d, 4) == 0) drop_marks(d); /* as if that before was taken from outside */
  add_marks(d);
}

static void become_other(draft *d) {
  d->info.state_id += 1 + roll(d, 2);
  d->info.process_id++;
  d->info.serial = 1;
  drop_marks(d);
  add_marks(d);
  work(d);
}

/* ==================================================================================== */

/* Of the last file. */
static size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size) {
  forge_part parts[MOST_PARTS];
  size_t last = forge_split(data, size, parts, most_parts) - 1;
  size_t before = (size_t)(parts[last].data - data);
  size = LLVMFuzzerMutate(data + before, size - before, max_size - before);
  forge_seal(data + before, size);
  return before + size;
}

/* Stores the file that becomes of a snapshot; 0: none. */
static size_t made_of(forge_part part, void (*become)(draft *), uint8_t *out, size_t max_size,
                      unsigned seed) {
  static draft d;
  lh_snapshot *s;
  if (lh_open_memory(&s, part.data, part.size, "mutate", NULL) != LH_OK) return 0;
  draft_take_apart(&d, s, seed);
  become(&d);
  size_t made = draft_put_together(&d, out, max_size);
  lh_close(s);
  return made;
}

/* The files of an input, some of which are replaced. */
typedef struct input {
  forge_part parts[MOST_PARTS];
  size_t n;
} input;

static size_t join(const input *in, uint8_t *out, size_t max_size) {
  size_t size = 0;
  for (size_t i = 0; i < in->n; i++) {
    if (in->parts[i].size > max_size - size) return 0;
    memmove(out + size, in->parts[i].data, in->parts[i].size);
    size += in->parts[i].size;
  }
  return size;
}

/* Adds one, takes one away, exchanges two, or changes one; 0: nothing came of it. `made` is for a
** file. */
static size_t mutate_parts(input *in, uint8_t *made, uint8_t *out, size_t max_size, unsigned seed) {
  draft dice = {.random = seed * UINT64_C(0xD1B54A32D192ED03) + 1};
  size_t at = roll(&dice, in->n);
  forge_part *part = &in->parts[at];
  size_t how = roll(&dice, 8);
  if (in->n < most_parts && how < 3) {
    part = &in->parts[in->n++];
    *part = in->parts[at];
    part->size = made_of(*part, how < 2 ? become_later : become_other, made, max_size, seed);
    part->data = made;
  } else if (in->n > 1 && how == 3) {
    in->parts[at] = in->parts[--in->n];
  } else if (in->n > 1 && how == 4) {
    forge_part last = in->parts[in->n - 1];
    in->parts[in->n - 1] = *part;
    *part = last;
  } else {
    part->size = made_of(*part, change_some, made, max_size, seed);
    part->data = made;
  }
  return part->size == 0 ? 0 : join(in, out, max_size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  input in;
  if (seed % 8 == 0) return mutate_bytes(data, size, max_size);
  in.n = forge_split(data, size, in.parts, most_parts);
  uint8_t *room = malloc(2 * max_size);
  size_t made = room ? mutate_parts(&in, room, room + max_size, max_size, seed) : 0;
  if (made > 0) memcpy(data, room + max_size, made);
  free(room);
  return made > 0 ? made : mutate_bytes(data, size, max_size);
}

/* The first snapshot with some records of the second. */
static size_t cross(const lh_snapshot *a, const lh_snapshot *b, uint8_t *out, size_t max_size,
                    unsigned seed) {
  static draft d, other;
  draft_take_apart(&d, a, seed);
  draft_take_apart(&other, b, seed + 1);
  if (other.n_records == 0) return 0;
  for (size_t n = roll(&d, 4) + 1; n > 0; n--) {
    record r = other.records[roll(&d, other.n_records)];
    if (lh_find_word(a, r.address >> 3) == LH_NO_OBJECT) draft_put_back(&d, r);
  }
  return draft_put_together(&d, out, max_size);
}

/* The last file of each. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed) {
  input in[2];
  lh_snapshot *a, *b = NULL;
  size_t made = 0;
  in[0].n = forge_split(data, size, in[0].parts, most_parts);
  in[1].n = forge_split(data2, size2, in[1].parts, most_parts);
  forge_part *first = &in[0].parts[in[0].n - 1], *second = &in[1].parts[in[1].n - 1];
  if (in[0].n < most_parts && seed % 2 == 0) { /* side by side */
    in[0].parts[in[0].n++] = *second;
    return join(&in[0], out, max_size);
  }
  if (lh_open_memory(&a, first->data, first->size, "mutate", NULL) != LH_OK) return 0;
  if (lh_open_memory(&b, second->data, second->size, "mutate", NULL) == LH_OK)
    made = cross(a, b, out, max_size, seed);
  lh_close(a);
  lh_close(b);
  return made;
}
