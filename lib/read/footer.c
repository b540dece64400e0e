/*
** footer.c - checks and reads header, trailer, checksums and footer of a snapshot.
**
** Magic and version come first, because no other message makes sense for a foreign file. The
** trailer, at the very end, proves that the file is complete. The footer's checksum covers the
** checksums of all blocks. About 10 GB/s. The first records of blocks are only checked to ascend;
** check.c compares them with the records.
*/
#include "reader.h"

int lh_check_head(const lh_snapshot *s, const uint8_t *head, const uint8_t *tail, lh_error *error) {
  size_t n = s->size < 8 ? s->size : 8;
  if (n == 0) return lh_fail(error, LH_EFOREIGN, "'%s' is empty, not a snapshot", s->name);
  if (memcmp(head, LH_HEAD_MAGIC, n) != 0)
    return lh_fail(error, LH_EFOREIGN, "'%s' is not a snapshot of luaheap", s->name);
  uint32_t version = s->size >= 12 ? lh_load32(head + 8) : LH_FORMAT_VERSION;
  if (version > LH_FORMAT_VERSION)
    return lh_fail(error, LH_EVERSION,
                   "'%s' is a snapshot of format version %u: it takes a newer luaheap, this one "
                   "reads up to version %u",
                   s->name, version, LH_FORMAT_VERSION);
  if (s->size < LH_HEADER_BYTES + LH_TRAILER_BYTES ||
      memcmp(tail, LH_TAIL_MAGIC, LH_TAIL_BYTES) != 0)
    return lh_fail_at(error, s->size, "'%s' was cut or is not finished: it has no trailer",
                      s->name);
  static const uint32_t known_flags[LH_FORMAT_VERSION + 1] = {
      [4] = LH_TRACKED, [5] = LH_TRACKED | LH_OUTSIDE};
  if (version == 0 || lh_load32(head + 12) & ~known_flags[version])
    return lh_fail_at(error, 8, "'%s' is damaged: its header makes no sense", s->name);
  return 0;
}

int lh_fail_damaged(const lh_snapshot *s, const uint8_t *at, const char *where, const char *what,
                    lh_error *error) {
  unsigned long long offset = (unsigned long long)(at - s->data);
  return lh_fail_at(error, offset, "'%s' is damaged at byte %llu: %s: %s", s->name, offset, where,
                    what);
}

static bool has_hash(const uint8_t *data, uint64_t n, uint64_t hash) {
  return lh_hash(data, n, 0) == hash;
}

static int find_footer(const lh_snapshot *s, lh_cursor *c, lh_error *error) {
  uint64_t trailer_offset = s->size - LH_TRAILER_BYTES;
  const uint8_t *trailer = s->data + trailer_offset;
  uint64_t offset = lh_load64(trailer), bytes = lh_load64(trailer + 8);
  if (offset < LH_HEADER_BYTES || offset > trailer_offset || bytes != trailer_offset - offset ||
      lh_load64(trailer + 24) != 0)
    return lh_fail_at(error, trailer_offset, "'%s' is damaged: its trailer makes no sense",
                      s->name);
  if (offset >> 40)
    return lh_fail(error, LH_ELIMIT, "'%s' is too big: more than 1 TB of objects", s->name);
  *c = (lh_cursor){s->data + offset, trailer, NULL, NULL, 0, 0};
  if (!has_hash(c->at, bytes, lh_load64(trailer + 16)))
    return lh_fail_at(error, offset, "'%s' is damaged: its footer does not fit its checksum",
                      s->name);
  return 0;
}

static bool has_sections(const lh_snapshot *s) {
  return s->info.format_version >= LH_SECTIONS_VERSION;
}

/* Can it be the first record of a block, after those already in s->blocks? */
static bool can_begin(const lh_snapshot *s, const lh_block_start *start) {
  if (s->n_blocks == 0)
    return start->id == 1 && start->offset == LH_HEADER_BYTES && start->word == 0;
  return start->id > s->blocks[s->n_blocks - 1].id && start->id <= s->n &&
         start->offset < s->records_end && start->word > 0 && start->word <= UINT64_MAX >> 3;
}

/* Before version 6 a file has only the first record of all. */
static int read_starts(lh_snapshot *s, const uint8_t *table, uint32_t n, lh_error *error) {
  s->blocks = lh_alloc(n, sizeof *s->blocks);
  if (!s->blocks) return lh_fail_memory(error, "reading the footer");
  if (!has_sections(s)) {
    s->blocks[0] = (lh_block_start){LH_HEADER_BYTES, 0, 1};
    s->n_blocks = s->n > 0 ? 1 : 0;
    return LH_OK;
  }
  for (uint32_t i = 0; i < n; i++, table += LH_BLOCK_ENTRY) {
    uint64_t word = lh_load64(table + 8), in_block = lh_load32(table + 20);
    lh_block_start start = {(uint64_t)i * LH_BLOCK_BYTES + in_block, word, lh_load32(table + 16)};
    bool has_none = start.id == 0 && in_block == 0 && word == 0 && (i > 0 || s->n == 0);
    if (!has_none && (in_block >= LH_BLOCK_BYTES || !can_begin(s, &start))) {
      char what[96];
      (void)snprintf(what, sizeof what,
                     "what it says of the first record of block %u of %u makes no sense", i + 1, n);
      return lh_fail_damaged(s, table + 8, "footer", what, error);
    }
    if (!has_none) s->blocks[s->n_blocks++] = start;
  }
  return LH_OK;
}

typedef struct checksums {
  const lh_snapshot *s;
  uint64_t end; /* of the last block */
  const uint8_t *table;
  uint64_t entry_bytes;
} checksums;

static bool fits_checksum(void *data, uint32_t i) {
  const checksums *c = data;
  const uint8_t *block = c->s->data + (uint64_t)i * LH_BLOCK_BYTES;
  return has_hash(block, lh_bytes_of_block(c->end, i), lh_load64(c->table + c->entry_bytes * i));
}

static int check_blocks(lh_snapshot *s, uint64_t end, lh_cursor *c, lh_error *error) {
  const uint64_t entry_bytes = has_sections(s) ? LH_BLOCK_ENTRY : 8;
  const uint8_t *count = lh_read_bytes(c, 4);
  uint32_t n_blocks = count ? lh_load32(count) : 0;
  const uint8_t *table = lh_read_bytes(c, entry_bytes * n_blocks);
  if (c->fault) return 0; /* the caller reports the fault */
  if (n_blocks != (end + LH_BLOCK_BYTES - 1) / LH_BLOCK_BYTES || c->at != c->end)
    return lh_fail_at(error, (uint64_t)(count - s->data),
                      "'%s' is damaged: its checksums are not those of %llu bytes", s->name,
                      (unsigned long long)end);
  checksums sums = {s, end, table, entry_bytes};
  uint32_t i = lh_parallel_for(s->threads, n_blocks, fits_checksum, &sums);
  if (i == n_blocks) return read_starts(s, table, n_blocks, error);
  uint64_t start = (uint64_t)i * LH_BLOCK_BYTES;
  return lh_fail_at(
      error, start,
      "'%s' is damaged: block %u of %u (bytes %llu to %llu) does not fit its checksum", s->name,
      i + 1, n_blocks, (unsigned long long)start,
      (unsigned long long)(start + lh_bytes_of_block(end, i) - 1));
}

static int keep_texts(lh_snapshot *s, const lh_file_text texts[3], lh_error *error) {
  const char **fields[3] = {&s->info.lua_release, &s->info.program, &s->info.name};
  s->text = lh_alloc(texts[0].n + texts[1].n + texts[2].n + 3, 1);
  if (!s->text) return lh_fail_memory(error, "reading the footer");
  char *at = s->text;
  for (int i = 0; i < 3; i++) *fields[i] = lh_keep_text(&at, texts[i]);
  return 0;
}

static void read_counts(lh_snapshot *s, lh_cursor *c, uint64_t end) {
  uint64_t most = (end - LH_HEADER_BYTES) / 3; /* the shortest record has 3 bytes */
  uint64_t n = 0;
  for (int list = 0; list < 4; list++) {
    s->list_first[list] = (uint32_t)(n + 1);
    n += lh_read_upto(c, most < UINT32_MAX - 1 ? most : UINT32_MAX - 1,
                      "it counts more objects than there can be");
  }
  if (n > most || n > UINT32_MAX - 1)
    lh_fault(c, c->at, "it counts more objects than there can be");
  s->n = c->fault ? 0 : (uint32_t)n;
  s->list_first[4] = s->n + 1;
  s->info.objects = s->n;
}

static void read_roots(lh_snapshot *s, lh_cursor *c) {
  s->n_named_roots = lh_read_count(c);
  s->named_roots = c->at;
  for (uint32_t n = s->n_named_roots; n > 0 && !c->fault; n--) {
    if (lh_read_u8(c) > LH_ROOT_OWN) lh_fault(c, c->at - 1, "a root's kind is unknown");
    (void)lh_read_u8(c);
    (void)lh_read_upto(c, UINT64_MAX >> 3, "a root is outside of the address space");
  }
}

static void read_keys(lh_snapshot *s, lh_cursor *c) {
  uint32_t n = (uint32_t)lh_read_upto(c, LH_MOST_KEYS, "it has too many frequent keys");
  if (c->fault || n == 0) return;
  s->n_keys = n;
  s->keys = lh_alloc(n, sizeof *s->keys);
  for (uint32_t i = 0; i < n && s->keys && !c->fault; i++) {
    const uint8_t *start = c->at;
    s->keys[i] = lh_read_upto(c, UINT64_MAX >> 3, "a frequent key is outside of the address space");
    if (s->keys[i] == 0) lh_fault(c, start, "a frequent key is at address 0");
  }
}

/* ==== Sections ====================================================================== */

static void note_section(lh_snapshot *s, uint64_t number, lh_section section) {
  if (number == LH_SECTION_SITES) {
    s->is_tracked = true;
    s->sites_section = section;
  } else if (number == LH_SECTION_OUTSIDE) {
    s->is_outside = true;
    s->outside_section = section;
  } else if (number == LH_SECTION_COLLECTOR) {
    s->info.collector.is_known = true;
    s->collector_section = section;
  }
}

int lh_read_collector(lh_snapshot *s, lh_error *error) {
  lh_collector *collector = &s->info.collector;
  if (!collector->is_known) return LH_OK;
  const lh_section *section = &s->collector_section;
  lh_cursor c = {.at = s->data + section->offset, .end = s->data + section->end};
  unsigned flags = lh_read_u8(&c);
  if (flags & ~(unsigned)LH_COLLECTOR_STOPPED) lh_fault(&c, c.at - 1, "it has an unknown flag");
  collector->is_stopped = flags & LH_COLLECTOR_STOPPED;
  collector->credit_bytes = lh_unzigzag(lh_read_uvarint(&c));
  collector->kept_bytes = lh_read_size(&c);
  uint32_t *const percentages[] = {&collector->pause, &collector->stepmul, &collector->minormul,
                                   &collector->majormul};
  for (size_t i = 0; i < sizeof percentages / sizeof *percentages; i++)
    *percentages[i] = (uint32_t)lh_read_upto(&c, UINT32_MAX, "a percentage is too big");
  if (c.at != c.end) lh_fault(&c, c.at, "it does not end where it should");
  return c.fault ? lh_fail_damaged(s, c.fault_at, "collector", c.fault, error) : LH_OK;
}

/* `end` is the start of the footer, where the last section must end. */
static void read_directory(lh_snapshot *s, lh_cursor *c, uint64_t end) {
  uint32_t n = (uint32_t)lh_read_upto(c, LH_LAST_SECTION, "it has too many sections");
  uint64_t last = 0;
  lh_section section = {LH_HEADER_BYTES, end};
  for (uint32_t i = 0; i < n && !c->fault; i++) {
    const uint8_t *start = c->at;
    uint64_t number = lh_read_upto(c, LH_LAST_SECTION, "a section's number is too big");
    if (number <= last) lh_fault(c, start, "its sections do not ascend");
    start = c->at;
    uint64_t offset = lh_read_upto(c, end, "a section is not in front of it");
    if (i == 0 ? offset < LH_HEADER_BYTES : offset != section.end)
      lh_fault(c, start, i == 0 ? "a section is in the header" : "there is a gap before a section");
    start = c->at;
    section = (lh_section){offset, offset};
    section.end += lh_read_upto(c, c->fault ? 0 : end - offset, "a section runs into it");
    if (i + 1 == n && section.end != end) lh_fault(c, start, "its last section ends before it");
    if (i == 0) s->records_end = offset;
    note_section(s, number, section);
    last = number;
  }
}

/* The sections of versions 4 and 5. */
static void read_offsets(lh_snapshot *s, lh_cursor *c, uint64_t end) {
  const uint32_t flags = lh_load32(s->data + 12);
  const uint8_t *start = c->at;
  if (flags & LH_TRACKED) {
    s->records_end = lh_read_upto(c, end, "its sites are not in front of it");
    if (s->records_end < LH_HEADER_BYTES) lh_fault(c, start, "its sites are in the header");
    note_section(s, LH_SECTION_SITES, (lh_section){s->records_end, end});
  }
  start = c->at;
  if (flags & LH_OUTSIDE) {
    uint64_t outside = lh_read_upto(c, end, "what tells of outside is not in front of it");
    uint64_t least = s->is_tracked ? s->sites_section.offset : LH_HEADER_BYTES;
    if (outside < least) lh_fault(c, start, "what tells of outside is among what comes before it");
    note_section(s, LH_SECTION_OUTSIDE, (lh_section){outside, end});
    s->sites_section.end = outside;
    if (!s->is_tracked) s->records_end = outside;
  }
}

static void read_footer_fields(lh_snapshot *s, lh_cursor *c, lh_file_text texts[3], uint64_t end) {
  lh_info *info = &s->info;
  info->state_id = lh_read_u64(c);
  info->serial = (uint32_t)lh_read_upto(c, UINT32_MAX, "its serial is too big");
  info->time_ns = lh_read_time(c);
  info->process_id = lh_read_upto(c, INT64_MAX, "its process id is too big");
  for (int i = 0; i < 3; i++) texts[i] = lh_read_text(c);
  info->string_limit = lh_read_uvarint(c);
  if (info->string_limit > INT64_MAX) info->string_limit = INT64_MAX; /* all are kept whole */
  info->gc_bytes = lh_read_size(c);
  info->string_table_bytes = lh_read_size(c);
  info->gc_state = lh_read_u8(c);
  unsigned kind = lh_read_u8(c), greatest = info->format_version < LH_LENGTHS_VERSION ? 1 : 2;
  info->gc_generational = kind > 0;
  if (info->gc_state > 8 || kind > greatest)
    lh_fault(c, c->at - 2, "the collector's state is unknown");
  if (info->format_version >= 3)
    info->finalized_objects = lh_read_upto(c, UINT32_MAX, "it counts too many finalized objects");
  read_counts(s, c, end);
  info->object_bytes = lh_read_size(c);
  info->unaccounted_bytes =
      (int64_t)(info->gc_bytes - info->object_bytes - info->string_table_bytes);
  read_roots(s, c);
  if (info->format_version >= 3) read_keys(s, c);
  s->records_end = end;
  if (has_sections(s))
    read_directory(s, c, end);
  else
    read_offsets(s, c, end);
}

int lh_read_footer(lh_snapshot *s, lh_error *error) {
  lh_cursor c;
  lh_file_text texts[3];
  int code = find_footer(s, &c, error);
  if (code) return code;
  uint64_t end = (uint64_t)(c.at - s->data);
  s->info.format_version = lh_load32(s->data + 8);
  s->info.file_bytes = s->size;
  read_footer_fields(s, &c, texts, end);
  if (s->n_keys > 0 && !s->keys) return lh_fail_memory(error, "reading the footer");
  if (!c.fault) code = check_blocks(s, end, &c, error);
  if (code) return code;
  if (c.fault) return lh_fail_damaged(s, c.fault_at, "footer", c.fault, error);
  code = keep_texts(s, texts, error);
  if (!code) s->sizes = lh_sizes_of(s->info.format_version, s->info.lua_release);
  return code;
}
