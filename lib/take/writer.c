/* writer.c - blocks, their hashes, and the end of a snapshot file (writer.h, format.h). */
#include "writer.h"

#include "raw.h"

/* The texts that a file keeps of strings which have them elsewhere, the smallest of 32 bytes. */
static uint64_t longest_texts(uint64_t heap_bytes, uint64_t string_bytes) {
  enum { SMALLEST = 32, LONGEST_LENGTH = LH_MAX_VARINT };
  uint64_t strings = LH_LUA == 504 ? 0 : heap_bytes / SMALLEST;
  if (string_bytes >= LH_LONGEST_FILE) string_bytes = LH_LONGEST_FILE;
  uint64_t bytes;
  bool fits = !__builtin_mul_overflow(strings, string_bytes + LONGEST_LENGTH, &bytes);
  return fits && bytes < LH_LONGEST_FILE ? bytes : LH_LONGEST_FILE;
}

uint64_t lh_out_longest(uint64_t heap_bytes, uint64_t sites_bytes, uint64_t string_bytes) {
  uint64_t bytes = heap_bytes / 4 * 9 + sites_bytes + longest_texts(heap_bytes, string_bytes);
  return bytes + (bytes >> 20) * LH_BLOCK_ENTRY + 3 * LH_OUT_FOOTER;
}

int lh_out_open(lh_out *out, uint64_t longest, lh_writer writer, void *payload, lh_error *error) {
  *out = (lh_out){.writer = writer, .payload = payload};
  out->block_capacity = (size_t)(longest / LH_BLOCK_BYTES) + 1;
  size_t base_bytes = LH_BLOCK_BYTES + LH_OUT_ITEM;
  size_t table_bytes = 4 + out->block_capacity * LH_BLOCK_ENTRY;
  out->mapped_bytes = base_bytes + LH_OUT_FOOTER + table_bytes + LH_TRAILER_BYTES;
  out->base = lh_alloc_pages(out->mapped_bytes);
  if (!out->base) return lh_fail_memory(error, "preparing the snapshot's buffer");
  out->footer = out->base + base_bytes;
  return LH_OK;
}

static uint8_t *table_entry(const lh_out *out) {
  return out->footer + LH_OUT_FOOTER + 4 + LH_BLOCK_ENTRY * out->n_blocks;
}

static void begin_block(lh_out *out) {
  out->awaits_record = out->n_blocks < out->block_capacity;
  if (out->awaits_record) memset(table_entry(out), 0, LH_BLOCK_ENTRY);
}

void lh_out_begin(lh_out *out, uint32_t version) {
  memcpy(out->base, LH_HEAD_MAGIC, 8);
  lh_store32(out->base + 8, version);
  lh_store32(out->base + 12, 0);
  out->at = out->base + LH_HEADER_BYTES;
  out->flushed = 0;
  out->n_blocks = 0;
  out->refused = false;
  begin_block(out);
}

void lh_out_note_record(lh_out *out, uint64_t id, uint64_t previous) {
  uint8_t *entry = table_entry(out);
  lh_store64(entry + 8, previous >> 3);
  lh_store32(entry + 16, (uint32_t)id);
  lh_store32(entry + 20, (uint32_t)(out->at - out->base));
  out->awaits_record = false;
}

void lh_out_free(lh_out *out) {
  lh_free_pages(out->base, out->mapped_bytes);
}

static void hand_on(lh_out *out, const uint8_t *data, size_t n) {
  if (!out->refused && out->writer(data, n, out->payload) < n) out->refused = true;
  out->flushed += n;
}

static void end_block(lh_out *out, size_t n) {
  if (out->n_blocks == out->block_capacity) out->refused = true;
  if (out->refused) return;
  lh_store64(table_entry(out), lh_hash(out->base, n, 0));
  out->n_blocks++;
  begin_block(out);
  hand_on(out, out->base, n);
}

void lh_out_flush(lh_out *out) {
  size_t filled = (size_t)(out->at - out->base);
  if (filled < LH_BLOCK_BYTES) return;
  end_block(out, LH_BLOCK_BYTES);
  memmove(out->base, out->base + LH_BLOCK_BYTES, filled - LH_BLOCK_BYTES);
  out->at = out->base + (filled - LH_BLOCK_BYTES);
}

void lh_out_bytes(lh_out *out, const void *data, uint64_t n) {
  const uint8_t *from = data;
  while (n > 0) {
    uint8_t *to = lh_out_room(out);
    uint64_t room = (uint64_t)(out->base + LH_BLOCK_BYTES + LH_OUT_ITEM - to);
    uint64_t step = n < room ? n : room;
    memcpy(to, from, step);
    out->at += step;
    from += step;
    n -= step;
  }
}

int lh_out_close(lh_out *out, size_t footer_bytes, lh_error *error) {
  lh_out_flush(out);
  size_t rest = (size_t)(out->at - out->base);
  if (rest > 0) end_block(out, rest);
  uint64_t footer_offset = out->flushed;
  uint8_t *table = out->footer + LH_OUT_FOOTER;
  uint8_t *footer = table - footer_bytes;
  memmove(footer, out->footer, footer_bytes);
  size_t n = footer_bytes + 4 + LH_BLOCK_ENTRY * out->n_blocks;
  lh_store32(table, (uint32_t)out->n_blocks);
  uint8_t *trailer = footer + n;
  lh_store64(trailer, footer_offset);
  lh_store64(trailer + 8, n);
  lh_store64(trailer + 16, lh_hash(footer, n, 0));
  lh_store64(trailer + 24, 0);
  memcpy(trailer + 32, LH_TAIL_MAGIC, 8);
  hand_on(out, footer, n + LH_TRAILER_BYTES);
  if (!out->refused) return LH_OK;
  return lh_fail(error, LH_EIO, "the snapshot was not written: the writer took too few bytes");
}
