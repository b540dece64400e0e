/*
** forged_file.c - makes snapshot files in memory (see forged_file.h). Written against format.h, not
** against the writer, so that the two can disagree.
*/
#include "forged_file.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "sites.h"

static void put_bytes(forge_bytes *b, const void *bytes, size_t n) {
  if (b->size + n > b->capacity) {
    b->capacity = (b->size + n) * 2 + 256;
    b->data = realloc(b->data, b->capacity);
    if (!b->data) abort();
  }
  if (n > 0) memcpy(b->data + b->size, bytes, n);
  b->size += n;
}

size_t forge_write(const void *data, size_t n, void *payload) {
  put_bytes(payload, data, n);
  return n;
}

static void put_uvarint(forge_bytes *b, uint64_t n) {
  uint8_t bytes[LH_MAX_VARINT];
  put_bytes(b, bytes, (size_t)(lh_put_uvarint(bytes, n) - bytes));
}

static void put_u64(forge_bytes *b, uint64_t n) {
  uint8_t bytes[8];
  lh_store64(bytes, n);
  put_bytes(b, bytes, sizeof bytes);
}

static void put_u32(forge_bytes *b, uint32_t n) {
  uint8_t bytes[4];
  lh_store32(bytes, n);
  put_bytes(b, bytes, sizeof bytes);
}

static void put_text(forge_bytes *b, const char *text) {
  put_uvarint(b, strlen(text));
  put_bytes(b, text, strlen(text));
}

void forge_version(forge *f, unsigned version) {
  f->out.data[8] = (uint8_t)version;
  if (version >= LH_SECTIONS_VERSION) f->out.data[12] = 0;
  if (version >= LH_LENGTHS_VERSION) f->footer.release = "5.5.0";
}

static bool has_lengths(const forge *f) {
  return f->out.data[8] >= LH_LENGTHS_VERSION;
}

void forge_begin(forge *f) {
  memset(f, 0, sizeof *f);
  put_bytes(&f->out, LH_HEAD_MAGIC, 8);
  put_u32(&f->out, 1);
  put_u32(&f->out, 0);
  f->footer.state_id = 0x1122334455667788u;
  f->footer.serial = 1;
  f->footer.time_ns = 1700000000000000000u;
  f->footer.process_id = 4321;
  f->footer.release = "5.4.4";
  f->footer.program = "lua5.4 app.lua";
  f->footer.name = "a";
  f->footer.string_limit = LH_DEFAULT_STRING_BYTES;
  f->footer.string_table_bytes = 1024;
  f->footer.gc_state = 8;
}

void forge_offset(uint8_t *at, uint64_t n) {
  for (int i = 0; i < FORGE_OFFSET_BYTES; i++) at[i] = (uint8_t)(n >> (7 * i)) | 0x80;
  at[FORGE_OFFSET_BYTES - 1] &= 0x7F;
}

uint64_t forge_offset_at(const uint8_t *at) {
  uint64_t n = 0;
  for (int i = 0; i < FORGE_OFFSET_BYTES; i++) n |= (uint64_t)(at[i] & 0x7F) << (7 * i);
  return n;
}

void forge_track(forge *f, uint64_t n_stacks) {
  uint8_t definition[LH_LONGEST_DEFINITION];
  forge_version(f, 4);
  f->out.data[12] = LH_TRACKED;
  f->is_tracked = true;
  f->n_stacks = n_stacks;
  put_uvarint(&f->sites, LH_SITES_HAVE_STACKS);
  put_uvarint(&f->sites, 0);
  put_uvarint(&f->sites, 1000);
  put_uvarint(&f->sites, 2);
  put_bytes(&f->sites, definition, (size_t)(lh_put_name_head(definition, 8) - definition));
  put_bytes(&f->sites, "@app.lua", 8);
  put_bytes(&f->sites, definition, (size_t)(lh_put_name_head(definition, 1) - definition));
  put_bytes(&f->sites, "f", 1);
  put_bytes(&f->sites, definition, (size_t)(lh_put_function(definition, 1, 1, 2) - definition));
  for (uint32_t i = 1; i <= n_stacks; i++) {
    uint8_t *end = lh_put_site(definition, 1, i, LH_MADE_TABLE, 0);
    put_bytes(&f->sites, definition, (size_t)(end - definition));
    end = lh_put_stack(definition, i - 1, i);
    put_bytes(&f->sites, definition, (size_t)(end - definition));
  }
  put_uvarint(&f->sites, 0);
  for (uint64_t i = 1; i <= n_stacks; i++) {
    put_uvarint(&f->sites, i);
    put_uvarint(&f->sites, 56 * i);
    put_uvarint(&f->sites, i - 1);
    put_uvarint(&f->sites, 56 * (i - 1));
  }
}

void forge_outside(forge *f, unsigned stillness, unsigned flags) {
  forge_version(f, 5);
  f->out.data[12] |= LH_OUTSIDE;
  f->is_outside = true;
  f->how[0] = stillness;
  f->how[1] = flags;
}

void forge_matched(forge *f, uint64_t serial, uint64_t on_allgc, uint64_t on_finobj) {
  put_uvarint(&f->matched, serial);
  put_u64(&f->matched, f->footer.time_ns + serial - f->footer.serial);
  put_uvarint(&f->matched, on_allgc);
  put_uvarint(&f->matched, on_finobj);
  f->n_matched++;
}

void forge_c_function(forge *f, uint64_t address, const char *symbol, const char *library,
                      uint64_t offset) {
  put_uvarint(&f->c_functions, address);
  put_text(&f->c_functions, symbol);
  put_text(&f->c_functions, library);
  put_uvarint(&f->c_functions, offset);
  f->n_c_functions++;
}

void forge_more(forge *f, unsigned number, const void *bytes, size_t n) {
  f->more_number = number;
  put_bytes(&f->more, bytes, n);
}

static void put_outside(forge *f) {
  uint8_t how[2] = {(uint8_t)f->how[0], (uint8_t)f->how[1]};
  put_bytes(&f->outside, how, sizeof how);
  put_uvarint(&f->outside, f->n_matched);
  put_bytes(&f->outside, f->matched.data, f->matched.size);
  put_uvarint(&f->outside, f->n_c_functions);
  put_bytes(&f->outside, f->c_functions.data, f->c_functions.size);
}

static uint64_t last_id(const forge *f) {
  uint64_t n = 0;
  for (int list = 0; list <= f->list; list++) n += f->footer.objects[list];
  return n;
}

static uint64_t next_stack(const forge *f) {
  return f->set_stack > 0 ? f->set_stack - 1 : last_id(f) % (f->n_stacks + 1);
}

void forge_u8(forge *f, unsigned byte) {
  uint8_t b = (uint8_t)byte;
  put_bytes(&f->out, &b, 1);
}

void forge_u64(forge *f, uint64_t n) {
  put_u64(&f->out, n);
}

void forge_bytes_of(forge *f, const void *bytes, size_t n) {
  put_bytes(&f->out, bytes, n);
}

void forge_uvarint(forge *f, uint64_t n) {
  put_uvarint(&f->out, n);
}

void forge_svarint(forge *f, int64_t n) {
  put_uvarint(&f->out, lh_zigzag(n));
}

void forge_reference(forge *f, uint64_t address) {
  forge_svarint(f, (int64_t)((address >> 3) - (f->own >> 3)));
}

void forge_integer(forge *f, int64_t n) {
  forge_u8(f, LH_VAL_INTEGER);
  forge_svarint(f, n);
}

void forge_object(forge *f, uint64_t address) {
  forge_u8(f, LH_VAL_OBJECT);
  forge_reference(f, address);
}

/* A record begins: is it the first of its block? */
static void note_start(forge *f) {
  static const uint8_t none[FORGE_START_BYTES];
  size_t block = f->out.size / LH_BLOCK_BYTES;
  if (f->starts.size > block * FORGE_START_BYTES) return;
  while (f->starts.size < block * FORGE_START_BYTES) put_bytes(&f->starts, none, sizeof none);
  put_u64(&f->starts, f->own >> 3);
  put_u32(&f->starts, (uint32_t)last_id(f) + 1);
  put_u32(&f->starts, (uint32_t)(f->out.size % LH_BLOCK_BYTES));
}

void forge_record(forge *f, unsigned head, uint64_t address, uint64_t shallow_bytes) {
  note_start(f);
  forge_u8(f, head);
  forge_reference(f, address);
  forge_uvarint(f, shallow_bytes);
  if (f->is_tracked) forge_uvarint(f, next_stack(f));
  f->own = address;
  f->footer.objects[f->list]++;
  f->footer.object_bytes += shallow_bytes;
}

void forge_next_list(forge *f) {
  f->list++;
}

uint64_t forge_table_bytes(const forge *f, uint64_t array_slots, uint64_t hash_slots) {
  if (!has_lengths(f)) return 56 + 16 * array_slots + 24 * hash_slots;
  return 48 + (array_slots > 0 ? 4 + 9 * array_slots : 0) + 24 * hash_slots +
         (hash_slots >= 8 ? 8 : 0);
}

void forge_string_head(forge *f, unsigned flags, uint64_t address, uint64_t length) {
  uint64_t bytes = length + (has_lengths(f) && length > 40 ? 33 : 25);
  if (flags & LH_FLAG_EXTERNAL) bytes = 48;
  if (flags & LH_FLAG_FIXED) bytes = 32;
  forge_record(f, LH_REC_STRING | flags, address, bytes);
  if (has_lengths(f)) forge_uvarint(f, length);
}

void forge_text(forge *f, unsigned flags, uint64_t address, const char *text) {
  forge_string_head(f, flags, address, strlen(text));
  forge_bytes_of(f, text, strlen(text));
}

void forge_string(forge *f, uint64_t address, const char *text) {
  forge_text(f, 0, address, text);
}

void forge_mark(forge *f, uint64_t address, unsigned kind, uint64_t serial, const char *name) {
  forge_record(f, LH_REC_MARK, address, 88 + strlen(name));
  forge_uvarint(f, 32 + strlen(name));
  forge_uvarint(f, 1);
  forge_u8(f, LH_VAL_NIL);
  forge_u8(f, kind);
  if (kind == LH_MARK_STATE) return;
  forge_u64(f, f->footer.state_id);
  forge_uvarint(f, serial);
  forge_u64(f, f->footer.time_ns + serial - f->footer.serial); /* the snapshot's own: the same */
  forge_uvarint(f, strlen(name));
  forge_bytes_of(f, name, strlen(name));
}

void forge_table(forge *f, uint64_t address, unsigned flags, uint64_t metatable, uint64_t entries) {
  unsigned log2 = 0;
  while (entries > 0 && (UINT64_C(1) << log2) < entries) log2++;
  forge_record(f, LH_REC_TABLE | flags | (metatable ? LH_FLAG_METATABLE : 0), address,
               forge_table_bytes(f, 0, entries == 0 ? 0 : UINT64_C(1) << log2));
  forge_uvarint(f, 0);
  forge_u8(f, entries == 0 ? 0 : log2 + 1);
  if (metatable) forge_reference(f, metatable);
  forge_uvarint(f, 0);
  forge_uvarint(f, entries);
}

void forge_tags(forge *f, unsigned key, unsigned value) {
  forge_u8(f, key << 4 | value);
}

void forge_root(forge *f, unsigned kind, unsigned index, uint64_t address) {
  uint8_t head[2] = {(uint8_t)kind, (uint8_t)index};
  put_bytes(&f->roots, head, sizeof head);
  put_uvarint(&f->roots, address >> 3);
  f->footer.roots++;
}

static uint64_t block_hash(const uint8_t *data, uint64_t end, uint64_t i) {
  uint64_t start = i * LH_BLOCK_BYTES;
  uint64_t bytes = end - start < LH_BLOCK_BYTES ? end - start : LH_BLOCK_BYTES;
  return lh_hash(data + start, bytes, 0);
}

/* Returns where it is. */
static size_t put_offset(forge_bytes *out, uint64_t n) {
  uint8_t offset[FORGE_OFFSET_BYTES];
  size_t at = out->size;
  forge_offset(offset, n);
  put_bytes(out, offset, sizeof offset);
  return at;
}

static size_t put_directory_entry(forge_bytes *out, unsigned number, uint64_t offset,
                                  uint64_t bytes) {
  uint8_t head = (uint8_t)number;
  put_bytes(out, &head, 1);
  size_t at = put_offset(out, offset);
  (void)put_offset(out, bytes);
  return at;
}

static void put_directory(forge *f, uint64_t end) {
  forge_bytes *out = &f->out;
  uint8_t n = (uint8_t)(f->is_tracked + f->is_outside + (f->more_number > 0));
  f->directory_at = out->size;
  put_bytes(out, &n, 1);
  if (f->is_tracked)
    f->sites_at = put_directory_entry(out, LH_SECTION_SITES, f->footer.sites_offset, f->sites.size);
  if (f->is_outside)
    f->outside_at =
        put_directory_entry(out, LH_SECTION_OUTSIDE, f->footer.outside_offset, f->outside.size);
  if (f->more_number > 0)
    (void)put_directory_entry(out, f->more_number, end - f->more.size, f->more.size);
}

static void put_offsets(forge *f) {
  if (f->is_tracked) f->sites_at = put_offset(&f->out, f->footer.sites_offset);
  if (f->is_outside) f->outside_at = put_offset(&f->out, f->footer.outside_offset);
}

static void put_table_entry(forge *f, uint64_t end, uint64_t i, bool has_start) {
  uint8_t start[FORGE_START_BYTES] = {0};
  if (i * sizeof start < f->starts.size)
    memcpy(start, f->starts.data + i * sizeof start, sizeof start);
  put_u64(&f->out, i * LH_BLOCK_BYTES < end ? block_hash(f->out.data, end, i) : 0);
  if (has_start) put_bytes(&f->out, start, sizeof start);
}

static void put_footer(forge *f) {
  forge_bytes *out = &f->out;
  uint64_t end = out->size, n_blocks = (end + LH_BLOCK_BYTES - 1) / LH_BLOCK_BYTES;
  put_u64(out, f->footer.state_id);
  put_uvarint(out, f->footer.serial);
  put_u64(out, f->footer.time_ns);
  put_uvarint(out, f->footer.process_id);
  put_text(out, f->footer.release);
  put_text(out, f->footer.program);
  put_text(out, f->footer.name);
  put_uvarint(out, f->footer.string_limit);
  put_uvarint(out, f->footer.gc_bytes ? f->footer.gc_bytes
                                      : f->footer.object_bytes + f->footer.string_table_bytes);
  put_uvarint(out, f->footer.string_table_bytes);
  put_bytes(out, &f->footer.gc_state, 1);
  put_bytes(out, &f->footer.gc_generational, 1);
  bool is_version_3 = out->data[8] >= 3;
  if (is_version_3) put_uvarint(out, f->footer.finalized);
  for (int i = 0; i < 4; i++) put_uvarint(out, f->footer.objects[i]);
  put_uvarint(out, f->footer.object_bytes);
  put_uvarint(out, f->footer.roots);
  put_bytes(out, f->roots.data, f->roots.size);
  if (is_version_3) put_uvarint(out, f->footer.n_keys);
  for (uint64_t i = 0; is_version_3 && i < f->footer.n_keys && i < 4; i++) {
    put_uvarint(out, f->footer.keys[i] >> 3);
  }
  bool is_version_6 = out->data[8] >= LH_SECTIONS_VERSION;
  if (is_version_6)
    put_directory(f, end);
  else
    put_offsets(f);
  n_blocks += f->footer.extra_blocks;
  put_u32(out, (uint32_t)n_blocks);
  for (uint64_t i = 0; i < n_blocks; i++) put_table_entry(f, end, i, is_version_6);
  if (f->footer.tail) put_bytes(out, f->footer.tail, strlen(f->footer.tail));
}

void forge_finish(forge *f) {
  if (f->footer.sites_offset == 0) f->footer.sites_offset = f->out.size;
  put_bytes(&f->out, f->sites.data, f->sites.size);
  if (f->footer.outside_offset == 0) f->footer.outside_offset = f->out.size;
  if (f->is_outside && f->outside.size == 0) put_outside(f);
  put_bytes(&f->out, f->outside.data, f->outside.size);
  put_bytes(&f->out, f->more.data, f->more.size);
  uint64_t end = f->out.size;
  put_footer(f);
  uint64_t footer_bytes = f->out.size - end;
  uint64_t hash = lh_hash(f->out.data + end, footer_bytes, 0);
  put_u64(&f->out, end);
  put_u64(&f->out, footer_bytes);
  put_u64(&f->out, hash);
  put_u64(&f->out, 0);
  put_bytes(&f->out, LH_TAIL_MAGIC, 8);
  f->data = f->out.data;
  f->size = f->out.size;
}

void forge_seal(uint8_t *data, size_t size) {
  if (size < LH_HEADER_BYTES + LH_TRAILER_BYTES) return;
  uint8_t *trailer = data + size - LH_TRAILER_BYTES;
  uint64_t end = lh_load64(trailer), footer_bytes = lh_load64(trailer + 8);
  uint64_t n_blocks = end / LH_BLOCK_BYTES + (end % LH_BLOCK_BYTES != 0);
  uint64_t entry_bytes = data[8] >= LH_SECTIONS_VERSION ? LH_BLOCK_ENTRY : 8;
  if (end > size - LH_TRAILER_BYTES || footer_bytes != size - LH_TRAILER_BYTES - end ||
      n_blocks > footer_bytes / entry_bytes)
    return;
  for (uint64_t i = 0; i < n_blocks; i++)
    lh_store64(trailer - entry_bytes * (n_blocks - i), block_hash(data, end, i));
  lh_store64(trailer + 16, lh_hash(data + end, footer_bytes, 0));
}

/* How long the file is that ends here; 0: none does. */
static size_t last_file(const uint8_t *data, size_t size) {
  if (size < LH_HEADER_BYTES + LH_TRAILER_BYTES) return 0;
  const uint8_t *trailer = data + size - LH_TRAILER_BYTES;
  uint64_t end = lh_load64(trailer), footer_bytes = lh_load64(trailer + 8);
  if (memcmp(trailer + LH_TRAILER_BYTES - 8, LH_TAIL_MAGIC, 8) != 0 || end > size ||
      footer_bytes > size || end + footer_bytes > size - LH_TRAILER_BYTES)
    return 0;
  return (size_t)(end + footer_bytes) + LH_TRAILER_BYTES;
}

size_t forge_split(const uint8_t *data, size_t size, forge_part *parts, size_t most) {
  size_t n = 0;
  do {
    size_t last = n + 1 < most ? last_file(data, size) : 0;
    if (last == 0) last = size;
    size -= last;
    parts[most - ++n] = (forge_part){data + size, last};
  } while (size > 0);
  memmove(parts, &parts[most - n], n * sizeof *parts);
  return n;
}

void forge_free(forge *f) {
  free(f->out.data);
  free(f->roots.data);
  free(f->sites.data);
  free(f->outside.data);
  free(f->matched.data);
  free(f->c_functions.data);
  free(f->more.data);
  free(f->starts.data);
  memset(f, 0, sizeof *f);
}
