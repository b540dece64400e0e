/*
** state_rows.c - sorts Lua states, and folds those that run the same script into one row.
*/
#include "heapattach/heapattach.h"

static int64_t growth_of(const state_row *row) {
  return (int64_t)(row->bytes - row->first);
}

static int compare_numbers(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

/* Most growth first, then the biggest. */
static int compare_rows(const void *one, const void *other) {
  const state_row *a = one, *b = other;
  int order = compare_numbers(growth_of(b), growth_of(a));
  if (order == 0) order = compare_numbers((int64_t)b->bytes, (int64_t)a->bytes);
  return order != 0 ? order : compare_numbers((int64_t)a->state, (int64_t)b->state);
}

static int compare_scripts(const void *one, const void *other) {
  const state_row *a = one, *b = other;
  int order = strcmp(a->script, b->script);
  return order != 0 ? order : compare_rows(one, other);
}

state_row state_row_of(const lh_found_state *state, size_t i) {
  return (state_row){.n = 1,
                     .state = i,
                     .bytes = state->gc_bytes,
                     .n_with_luaheap = state->has_luaheap,
                     .script = state->script,
                     .oldest = state->release,
                     .newest = state->release};
}

/* `row` is behind *to in the order of compare_scripts. */
static void add_row(state_row *to, const state_row *row) {
  to->n += row->n;
  to->bytes += row->bytes;
  to->last += row->last;
  to->first += row->first;
  to->n_with_luaheap += row->n_with_luaheap;
  if (strcmp(row->oldest, to->oldest) < 0) to->oldest = row->oldest;
  if (strcmp(row->newest, to->newest) > 0) to->newest = row->newest;
}

size_t sort_state_rows(state_row *rows, size_t n, bool is_folded) {
  size_t n_folded = 0;
  if (is_folded) {
    qsort(rows, n, sizeof *rows, compare_scripts);
    for (size_t i = 0; i < n; i++) {
      bool is_same = n_folded > 0 && strcmp(rows[n_folded - 1].script, rows[i].script) == 0;
      if (is_same)
        add_row(&rows[n_folded - 1], &rows[i]);
      else
        rows[n_folded++] = rows[i];
    }
    n = n_folded;
  }
  qsort(rows, n, sizeof *rows, compare_rows);
  return n;
}
