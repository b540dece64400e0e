/*
** sizes.c - sizes of allocated blocks: many small ones cost time, a few big ones memory.
*/
#include "report/usage_rows.h"

typedef struct of_size {
  uint64_t most_bytes, blocks, bytes;
} of_size;

typedef struct sizes_result {
  of_size rows[LH_SIZES];
  uint32_t n;
  uint64_t blocks, bytes, most_blocks;
} sizes_result;

LH_CELL(of_all_blocks, of_size, cell->as.n = it->blocks,
        cell->whole = ((const sizes_result *)report->answer)->blocks)
LH_CELL(of_all_bytes, of_size, cell->as.n = it->bytes,
        cell->whole = ((const sizes_result *)report->answer)->bytes)
LH_CELL(of_the_most, of_size, cell->as.n = it->blocks,
        cell->whole = ((const sizes_result *)report->answer)->most_blocks)

#define ROW of_size
static const lh_table row_table = LH_TABLE_OF(
    "heap.size_row", "size", "sizes",
    LH_BYTES("most_bytes", "up to", most_bytes, "that a block has, and more than the row before"),
    LH_COUNT("blocks", "blocks", blocks, "made, or resized to that"),
    LH_COMPUTED(NULL, "share", LH_COLUMN_SHARE, of_all_blocks, NULL),
    LH_BYTES("bytes", "bytes", bytes, "of these"),
    LH_COMPUTED(NULL, "of bytes", LH_COLUMN_SHARE, of_all_bytes, NULL),
    LH_COMPUTED(NULL, "", LH_COLUMN_BAR, of_the_most, NULL));
#undef ROW

#define ROW sizes_result
static const lh_table sizes_answer = LH_TABLE_OF(
    "heap.sizes", NULL, NULL, LH_COUNT("blocks", NULL, blocks, "that were made or resized"),
    LH_BYTES("bytes", NULL, bytes, "of these"),
    LH_INLINE_ROWS("sizes", rows, n, &row_table, "powers of two, the smallest first"));
#undef ROW

static const of_size *middle(const sizes_result *f, bool of_bytes) {
  uint64_t sum = 0, half = of_bytes ? f->bytes - f->bytes / 2 : f->blocks - f->blocks / 2;
  uint32_t i = 0;
  while (i + 1 < f->n && (sum += of_bytes ? f->rows[i].bytes : f->rows[i].blocks) < half) i++;
  return &f->rows[i];
}

static void print_sizes(lh_teller *t, lh_report *report) {
  const sizes_result *f = report->answer;
  if (f->n == 0) {
    lh_say(t, LH_BOLD, "Nothing was allocated");
    return;
  }
  lh_say(t, LH_BOLD,
         "Half of the blocks that were asked for have at most %s; half of the bytes are in blocks "
         "of at most %s%s",
         lh_told_size(t, middle(f, false)->most_bytes).text,
         lh_told_size(t, middle(f, true)->most_bytes).text, t->all ? "" : "\n");
  lh_print_rows(t, report, &row_table, f->rows, f->n);
}

/* Includes empty sizes between the smallest and the biggest. */
static int find_sizes(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  sizes_result *f = out;
  lh_size_tally tally;
  (void)snapshot;
  int code = lh_tally_sizes(lh_usage_profile(request->usages[0]), &tally, error);
  if (code != LH_OK) return code;
  unsigned first = 0, end = LH_SIZES;
  while (end > 0 && tally.blocks[end - 1] == 0) end--;
  while (first < end && tally.blocks[first] == 0) first++;
  for (unsigned i = first; i < end; i++) {
    uint64_t most = i < 64 ? (uint64_t)1 << i : UINT64_MAX;
    f->rows[f->n++] = (of_size){most, tally.blocks[i], tally.bytes[i]};
    f->blocks += tally.blocks[i];
    f->bytes += tally.bytes[i];
    if (tally.blocks[i] > f->most_blocks) f->most_blocks = tally.blocks[i];
  }
  return LH_OK;
}

LH_QUESTION(sizes, .command = "heapprof", .of = LH_OF_PROFILE, .main = "sizes");
