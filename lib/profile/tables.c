/*
** tables.c - counts of an aggregate, and calls (see format.h). A table comes in blocks, and the
** rows of one that was begun are kept beside those of the last one that is whole.
*/
#include "profile/reader.h"

void lh_rows_free(lh_rows *rows) {
  lh_free(rows->rows);
  lh_free(rows->new_rows);
}

/* Reads the flags of a block; false where they make no sense. */
static bool begin_block(lh_cursor *c, lh_rows *rows, unsigned *flags) {
  *flags = lh_read_u8(c);
  bool is_first = *flags & LH_TABLE_FIRST;
  if (*flags > (LH_TABLE_FIRST | LH_TABLE_LAST) || is_first == rows->is_begun)
    lh_fault(c, c->at - 1, "a table begins within a table, or has no beginning");
  if (is_first) {
    rows->n_new = 0;
    rows->last_key = 0;
    rows->claimed = 0;
  }
  rows->is_begun = true;
  return !c->fault;
}

static void end_block(lh_rows *rows, unsigned flags) {
  if (!(flags & LH_TABLE_LAST)) return;
  lh_rows before = *rows;
  *rows = (lh_rows){.rows = before.new_rows,
                    .n = before.n_new,
                    .capacity = before.new_capacity,
                    .new_rows = before.rows,
                    .new_capacity = before.capacity};
}

/* What tells the rows of a table apart rises from row to row. */
static void check_order(lh_cursor *c, lh_rows *rows, const uint8_t *start, uint64_t key) {
  if (key <= rows->last_key) lh_fault(c, start, "the rows of a table are not in order");
  rows->last_key = key;
}

/* False: it cannot be read, or there is no memory. */
static bool add_row(lh_pass *pass, lh_rows *rows, const void *row, size_t size) {
  if (pass->c.fault) return false;
  pass->out_of_memory = !lh_grow(&rows->new_rows, rows->n_new, &rows->new_capacity, size);
  if (pass->out_of_memory) return false;
  memcpy((char *)rows->new_rows + rows->n_new++ * size, row, size);
  return true;
}

/* {=== Counts ======================================================================== */

static void read_deaths(lh_cursor *c, lh_profile_count *row) {
  uint32_t ages = (uint32_t)lh_read_upto(c, (1u << LH_PROFILE_AGES) - 1, "an age is unknown");
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) {
    if (!(ages >> i & 1)) continue;
    row->deaths[i] = lh_read_size(c);
    row->death_bytes[i] = lh_read_size(c);
  }
}

static lh_profile_count read_count(lh_pass *pass, lh_rows *rows) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  lh_profile_count row = {.stack = lh_read_stack(pass)};
  uint64_t *const numbers[] = {
      &row.made,     &row.made_bytes,        &row.resized, &row.resized_bytes,
      &row.replaced, &row.replaced_bytes,    &row.freed,   &row.freed_bytes,
      &row.samples,  &row.live_bytes_at_peak};
  unsigned type = lh_read_u8(c);
  row.type = lh_profile_type(type);
  if (type > LH_RECORD_PART || row.type == LH_TYPE_ROOT)
    lh_fault(c, c->at - 1, "a type is unknown");
  check_order(c, rows, start, (uint64_t)row.stack << 4 | type);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = lh_read_size(c);
  read_deaths(c, &row);
  return row;
}

void lh_profile_read_counts(lh_pass *pass) {
  unsigned flags;
  lh_cursor *c = &pass->c;
  lh_rows *rows = &pass->profile->counts;
  if (!begin_block(c, rows, &flags)) return;
  c->claimed = rows->claimed;
  while (c->at < c->end) {
    lh_profile_count row = read_count(pass, rows);
    if (!add_row(pass, rows, &row, sizeof row)) return;
  }
  rows->claimed = c->claimed;
  end_block(rows, flags);
}

/* }=================================================================================== */

/* {=== Calls ========================================================================= */

static lh_profile_call read_call(lh_pass *pass, lh_rows *rows) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  lh_profile_call row = {.stack = lh_read_stack(pass)};
  uint64_t *const numbers[] = {&row.calls, &row.tail_calls, &row.self_ns, &row.total_ns};
  check_order(c, rows, start, row.stack);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    *numbers[i] = lh_read_upto(c, UINT64_C(1) << 62, "a count is too great");
  if (row.tail_calls > row.calls) lh_fault(c, start, "it has more tail calls than calls");
  unsigned is_constant = lh_read_u8(c);
  if (is_constant > 1) lh_fault(c, c->at - 1, "a flag is neither 0 nor 1");
  row.is_constant = is_constant == 1;
  return row;
}

void lh_profile_read_calls(lh_pass *pass) {
  unsigned flags;
  lh_cursor *c = &pass->c;
  lh_rows *rows = &pass->profile->calls;
  if (!begin_block(c, rows, &flags)) return;
  while (c->at < c->end) {
    lh_profile_call row = read_call(pass, rows);
    if (!add_row(pass, rows, &row, sizeof row)) return;
  }
  end_block(rows, flags);
}

/* }=================================================================================== */
