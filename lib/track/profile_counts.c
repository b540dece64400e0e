/*
** profile_counts.c - an aggregate: counters for each stack and type (profile.h).
** A row has 560 bytes; real programs have some thousand rows. Each row knows its live bytes at the
** peak of the heap, without a look at other rows: when the heap is bigger than ever, the peak gets
** the next number. A row that changes, and has not seen the newest peak, still has the bytes of
** that moment, and keeps them.
*/
#include "profile.h"

/* The fields that most events touch come first. */
typedef struct row {
  uint32_t next;           /* 1 + the row of the same stack's next type; 0: none */
  int64_t live_bytes;      /* below 0: blocks from before tracking were freed */
  uint64_t peak;           /* the newest that the row has seen */
  lh_profile_count counts; /* of samples in 1/65536 */
} row;

struct lh_counting {
  uint32_t *first; /* by stack: 1 + the row of its first type; 0: none */
  size_t n_first;
  row *rows;
  uint32_t n, n_rows; /* used, and mapped */
  bool has_weights;
  int64_t live_bytes, peak_bytes; /* of all */
  uint64_t peak;                  /* number of the newest */
  uint32_t until_look;
};

enum { EVENTS_BETWEEN_LOOKS = 256, FIRST_ROWS = 64, FIRST_STACKS = 1024 };

/* Grows the array to n elements. False: no memory, and nothing changed. */
static bool grow_pages(void *array_pointer, size_t used, size_t n, size_t size) {
  void *block, *bigger = lh_alloc_pages(n * size);
  if (!bigger) return false;
  memcpy(&block, array_pointer, sizeof block);
  if (used > 0) memcpy(bigger, block, used * size);
  lh_free_pages(block, used * size);
  memcpy(array_pointer, &bigger, sizeof bigger);
  return true;
}

lh_counting *lh_counting_new(bool has_weights) {
  lh_counting *c = lh_alloc_zeroed(1, sizeof *c);
  if (!c) return NULL;
  c->has_weights = has_weights;
  c->until_look = EVENTS_BETWEEN_LOOKS;
  return c;
}

void lh_counting_free(lh_counting *c) {
  if (!c) return;
  lh_free_pages(c->first, c->n_first * sizeof *c->first);
  lh_free_pages(c->rows, c->n_rows * sizeof *c->rows);
  lh_free(c);
}

static bool has_room(lh_counting *c, lh_stack_id stack) {
  if (stack >= c->n_first) {
    size_t n = c->n_first ? c->n_first : FIRST_STACKS;
    while (n <= stack) n *= 2;
    if (!grow_pages(&c->first, c->n_first, n, sizeof *c->first)) return false;
    c->n_first = n;
  }
  if (c->n == c->n_rows) {
    uint32_t n = c->n_rows ? 2 * c->n_rows : FIRST_ROWS;
    if (!grow_pages(&c->rows, c->n_rows, n, sizeof *c->rows)) return false;
    c->n_rows = n;
  }
  return true;
}

static row *add_count_row(lh_counting *c, lh_stack_id stack, unsigned type) {
  if (!has_room(c, stack)) return NULL;
  uint32_t *link = &c->first[stack];
  while (*link != 0 && c->rows[*link - 1].counts.type < type) link = &c->rows[*link - 1].next;
  row *r = &c->rows[c->n++];
  *r = (row){.counts = {.stack = stack, .type = (uint8_t)type}, .next = *link, .peak = c->peak};
  *link = c->n;
  return r;
}

/* The row of a stack and a type; NULL: no memory. The rows of a stack are in order of type. */
static inline row *find_row(lh_counting *c, lh_stack_id stack, unsigned type) {
  for (uint32_t i = stack < c->n_first ? c->first[stack] : 0; i != 0;) {
    row *r = &c->rows[i - 1];
    if (r->counts.type == type) return r;
    i = r->next;
  }
  return add_count_row(c, stack, type);
}

static void see_peak(const lh_counting *c, row *r) {
  if (r->peak == c->peak) return;
  r->peak = c->peak;
  r->counts.live_bytes_at_peak = r->live_bytes > 0 ? (uint64_t)r->live_bytes : 0;
}

static void change_live(lh_counting *c, row *r, int64_t bytes) {
  see_peak(c, r);
  r->live_bytes += bytes;
  c->live_bytes += bytes;
}

static void look_at_peak(lh_counting *c) {
  if (c->live_bytes <= c->peak_bytes) return;
  c->peak_bytes = c->live_bytes;
  c->peak++;
}

/* How many allocations an event stands for, in units of the rows. */
static uint64_t units_of(const lh_counting *c, double weight) {
  return c->has_weights ? (uint64_t)(weight * (1u << LH_RECORD_WEIGHT_SHIFT)) : 1;
}

/* True: the event is not written to a file. */
static bool is_done(lh_profile_out *out) {
  lh_counting *c = out->counting;
  look_at_peak(c);
  if (--c->until_look == 0) {
    c->until_look = EVENTS_BETWEEN_LOOKS;
    lh_profile_look(out, lh_now_ns());
  }
  return !out->has_events;
}

static void count_death(row *r, uint64_t age_bytes, uint64_t units, uint64_t bytes) {
  uint64_t age = age_bytes >> LH_RECORD_AGE_SHIFT;
  unsigned i = age == 0 ? 0 : 64 - (unsigned)__builtin_clzll(age);
  if (i >= LH_PROFILE_AGES) i = LH_PROFILE_AGES - 1;
  r->counts.deaths[i] += units;
  r->counts.death_bytes[i] += units * bytes;
}

/* Finds both rows before it changes one. The second may move the first, which is found again. */
bool lh_profile_count_event(lh_profile_out *out, const lh_event *e) {
  lh_counting *c = out->counting;
  bool is_made = e->kind != LH_EVENT_FREE, was_there = e->kind != LH_EVENT_NEW;
  row *r = is_made ? find_row(c, e->stack, e->type) : NULL;
  row *old = was_there && (r || !is_made) ? find_row(c, e->old_stack, e->type) : NULL;
  uint64_t units = units_of(c, e->weight);
  if (old && is_made) r = find_row(c, e->stack, e->type);
  if (was_there && !old) r = NULL;
  if (old) {
    *(is_made ? &old->counts.replaced : &old->counts.freed) += units;
    *(is_made ? &old->counts.replaced_bytes : &old->counts.freed_bytes) += units * e->old_bytes;
    if (!is_made) count_death(old, e->age_bytes, units, e->old_bytes);
    change_live(c, old, -(int64_t)(units * e->old_bytes));
  }
  if (r) {
    *(was_there ? &r->counts.resized : &r->counts.made) += units;
    *(was_there ? &r->counts.resized_bytes : &r->counts.made_bytes) += units * e->bytes;
    r->counts.samples++;
    change_live(c, r, (int64_t)(units * e->bytes));
  }
  return is_done(out);
}

static uint8_t *put_count_row(uint8_t *p, const lh_profile_count *c, unsigned shift) {
  const uint64_t numbers[] = {c->made >> shift,     c->made_bytes >> shift,
                              c->resized >> shift,  c->resized_bytes >> shift,
                              c->replaced >> shift, c->replaced_bytes >> shift,
                              c->freed >> shift,    c->freed_bytes >> shift,
                              c->samples,           c->live_bytes_at_peak >> shift};
  uint32_t ages = 0;
  p = lh_put_uvarint(p, c->stack);
  *p++ = c->type;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) p = lh_put_uvarint(p, numbers[i]);
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) ages |= (uint32_t)(c->deaths[i] > 0) << i;
  p = lh_put_uvarint(p, ages);
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) {
    if (c->deaths[i] == 0) continue;
    p = lh_put_uvarint(p, c->deaths[i] >> shift);
    p = lh_put_uvarint(p, c->death_bytes[i] >> shift);
  }
  return p;
}

static void put_rows(const lh_counting *c, lh_profile_blocks *to) {
  enum { ROW_BYTES = (13 + 2 * LH_PROFILE_AGES) * (int)LH_MAX_VARINT };
  unsigned shift = c->has_weights ? LH_RECORD_WEIGHT_SHIFT : 0;
  lh_table_begin(to, LH_BLOCK_COUNTS);
  for (size_t stack = 0; stack < c->n_first; stack++) {
    for (uint32_t i = c->first[stack]; i != 0; i = c->rows[i - 1].next) {
      row now = c->rows[i - 1];
      see_peak(c, &now);
      to->at = put_count_row(lh_table_room(to, ROW_BYTES), &now.counts, shift);
    }
  }
  lh_table_end(to);
}

void lh_counting_write(const lh_profile_out *out, lh_profile_blocks *to, bool is_final) {
  lh_defined defined = {0, 0, 0, 0};
  lh_profile_blocks_facts(to, out, true);
  lh_profile_blocks_next(to, LH_BLOCK_RECORDS);
  lh_profile_blocks_define(to, out, &defined);
  put_rows(out->counting, to);
  if (out->options.calls) lh_profile_blocks_calls(to, out, defined.stacks);
  lh_profile_blocks_end(to, out, 0, is_final);
}
