/*
** draft.h - a snapshot in pieces, to be changed by the fuzzer's mutations: its records, its roots
** and what its footer says. A file that is made of them has the counts, sums, deltas and checksums
** that belong to it, so it gets past the reader whatever the records say.
**
**     draft.c    taking a snapshot apart, and putting it together
**     lies.c     new records that are right but lie
**     mutate.c   what is changed, and libFuzzer's functions
*/
#pragma once

#include "forged_file.h"
#include "read/snapshot.h"

enum { MAX_RECORDS = 256, MAX_ROOTS = 64, MAX_FIELDS = 768, SPARE = 24, MAX_TEXT = 80 };

typedef struct record {
  const uint8_t *fields; /* behind the shallow size */
  size_t n_fields;
  uint64_t address, shallow_bytes, stack;
  uint8_t head, list;
  bool lacks_length; /* a string of a version before LH_LENGTHS_VERSION */
} record;

typedef struct draft {
  const lh_snapshot *s;
  lh_info info;
  record records[MAX_RECORDS];
  size_t n_records;
  lh_root roots[MAX_ROOTS];
  uint64_t root_addresses[MAX_ROOTS];
  size_t n_roots;
  uint64_t random;
  size_t n_changed;
  char program[MAX_TEXT], name[MAX_TEXT]; /* of `info`, where it is another */
  bool is_outside;                        /* then this is what tells of outside: */
  uint8_t outside[MAX_FIELDS];
  size_t n_outside;
  unsigned version;                        /* of the format; below 6 what the sections ask for */
  unsigned more_number;                    /* of a section that no reader knows; 0: none */
  uint8_t changed[SPARE][MAX_FIELDS + 32]; /* fields that are not those of the file */
} draft;

static inline size_t roll(draft *d, size_t n) {
  d->random ^= d->random << 13;
  d->random ^= d->random >> 7;
  d->random ^= d->random << 17;
  return n == 0 ? 0 : (size_t)(d->random >> 11) % n;
}

/* ==== draft.c ======================================================================= */

/* The snapshot must stay open as long as the draft. */
void draft_take_apart(draft *d, const lh_snapshot *s, unsigned seed);

/* Stores the file and returns how long it is; 0 when it is too long. */
size_t draft_put_together(const draft *d, uint8_t *out, size_t max_size);

/* Room for other fields of a record, which are copied; NULL when there is none left. */
uint8_t *draft_fields_to_change(draft *d, record *r);

void draft_insert(draft *d, size_t at, record r);
record draft_take_out(draft *d, size_t at);

/* To any place, of the list of what is there. */
void draft_put_back(draft *d, record r);

/* Of an object; or, once in eight times, mostly of none. */
uint64_t draft_any_address(draft *d);

/* Of a program that was tracked; or, once in 16 times, mostly none. 0: not known. */
uint64_t draft_any_stack(draft *d);

/* At which there is no object. */
uint64_t draft_free_address(draft *d);

/* ==== lies.c ======================================================================== */

/* A number at which something may end, overflow or mean "none", or a small one. */
uint64_t lie_number(draft *d);

/* Text that something looks for, or parts of expressions for objects one behind the other. */
void lie_text(draft *d, char text[MAX_TEXT]);

/* A record of type LH_REC_*, whose fields are those that the format asks for, and say anything.
** False: there is no room for it. */
bool lie_record(draft *d, unsigned type, uint64_t address, record *out);

/* The section of a snapshot from outside: marks that there are or not, in any order. */
void lie_outside(draft *d);

/* The mark that a snapshot with this `info` would leave. */
bool lie_own_mark(draft *d, uint64_t address, record *out);
