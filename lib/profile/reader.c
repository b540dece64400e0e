/*
** reader.c - opens a profile, and replays its events.
**
** The first pass checks all, and keeps sites, stacks and tables. Each replay reads one block of 64
** KB at a time and checks it again, since the file may have changed. Both trust nothing: a cursor
** (lib/varint.h) never leaves its block and keeps the first fault for the error message, and ids
** are compared with the tables. About 10 ns an event.
**
** A block that ends behind the end of the file was cut, or is being written: the profile ends
** before it. Any other difference to what was written is damage, reported with its offset.
*/
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/format.h"

/* The rows of the last whole table, and of a table that has begun. */
typedef struct lh_rows {
  void *rows, *new_rows;
  size_t n, capacity, n_new, new_capacity;
  uint64_t last_key, claimed; /* of the table that has begun: last key, sum of its numbers */
  bool is_begun;
} lh_rows;

struct lh_profile {
  char *name;
  const uint8_t *data; /* NULL: read the file */
  int file;
  lh_profile_info info;
  char *texts;
  lh_sites *sites;
  lh_rows counts, calls;
  uint8_t *buffer; /* a block's content, and room behind it for a cursor */
};

typedef struct lh_pass {
  lh_profile *profile;
  bool (*see)(const lh_event *event, void *data); /* NULL: the first pass */
  void *data;
  uint64_t offset; /* of the block */
  lh_cursor c;     /* in the block's content */
  uint64_t time_ns, n_events;
  bool has_ended, is_stopped; /* the end block was read; `see` returned false */
  bool out_of_memory;
} lh_pass;

static lh_stack_id read_stack(lh_pass *pass) {
  return (lh_stack_id)lh_read_upto(&pass->c, lh_n_stacks(pass->profile->sites),
                                   "a stack is not defined");
}

/* ==== Records: definitions, times and events ======================================= */

static uint64_t read_bytes(lh_cursor *c) {
  return lh_read_upto(c, LH_MOST_BYTES, "a block is bigger than an address space");
}

/* Bounds the sum of all weighted sizes, so callers can add them up. */
static void claim_weighted(lh_cursor *c, const uint8_t *at, uint64_t units, uint64_t bytes) {
  unsigned __int128 all = ((unsigned __int128)units * bytes) >> LH_RECORD_WEIGHT_SHIFT;
  lh_claim(c, at, all > LH_MOST_BYTES ? UINT64_MAX : (uint64_t)all);
}

static void read_weight(lh_pass *pass, lh_event *event) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  uint64_t units = 1 << LH_RECORD_WEIGHT_SHIFT;
  if (pass->profile->info.sample_bytes > 0) {
    units = lh_read_uvarint(c);
    if (units < 1 << LH_RECORD_WEIGHT_SHIFT) lh_fault(c, start, "less than one stand behind it");
  }
  event->weight = (double)units / (1 << LH_RECORD_WEIGHT_SHIFT);
  lh_claim(c, start, units >> LH_RECORD_WEIGHT_SHIFT);
  claim_weighted(c, start, units, event->bytes);
  claim_weighted(c, start, units, event->old_bytes);
}

static void read_event(lh_pass *pass) {
  enum { AGE_BITS = 44 };
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  uint64_t head = lh_read_uvarint(c), stack = head >> LH_RECORD_STACK_SHIFT;
  unsigned kind = head & 3;
  lh_event event = {.kind = (lh_event_kind)kind, .time_ns = pass->time_ns};
  event.type = lh_profile_type((unsigned)(head >> LH_RECORD_TYPE_SHIFT));
  if (kind > LH_RECORD_FREE || event.type == LH_TYPE_ROOT) lh_fault(c, start, "it is unknown");
  if (stack > lh_n_stacks(pass->profile->sites)) lh_fault(c, start, "its stack is not defined");
  if (pass->profile->info.is_aggregate) lh_fault(c, start, "an aggregate has an event");
  if (kind == LH_RECORD_FREE) {
    event.old_stack = (lh_stack_id)stack;
    event.old_bytes = read_bytes(c);
  } else {
    event.stack = (lh_stack_id)stack;
    event.bytes = read_bytes(c);
  }
  if (kind == LH_RECORD_RESIZE) {
    event.old_stack = read_stack(pass);
    event.old_bytes = read_bytes(c);
  }
  if (kind != LH_RECORD_NEW)
    event.age_bytes = lh_read_upto(c, (UINT64_C(1) << AGE_BITS) - 1, "its age is too great")
                      << LH_RECORD_AGE_SHIFT;
  read_weight(pass, &event);
  if (c->fault) return;
  pass->n_events++;
  if (pass->see && !pass->see(&event, pass->data)) pass->is_stopped = true;
}

static void read_other(lh_pass *pass) {
  lh_cursor *c = &pass->c;
  if (*c->at == LH_RECORD_TIME) {
    c->at++;
    pass->time_ns += lh_read_upto(c, INT64_MAX - pass->time_ns, "the time is too late");
  } else if (pass->see) {
    lh_sites_skip(c);
  } else if (!lh_sites_define(pass->profile->sites, c)) {
    pass->out_of_memory = true;
  }
}

static void read_records(lh_pass *pass) {
  const lh_cursor *c = &pass->c;
  while (c->at < c->end && !c->fault && !pass->out_of_memory && !pass->is_stopped) {
    if (*c->at < LH_RECORD_FIRST_EVENT)
      read_other(pass);
    else
      read_event(pass);
  }
}

/* ==== Counts of an aggregate, and calls ============================================ */

static void free_count_rows(lh_rows *rows) {
  LH_FREE_ALL(rows->rows, rows->new_rows);
}

/* Reads the flags of a block; false: they are invalid. */
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

/* The keys of a table's rows must rise. */
static void check_order(lh_cursor *c, lh_rows *rows, const uint8_t *start, uint64_t key) {
  if (key <= rows->last_key) lh_fault(c, start, "the rows of a table are not in order");
  rows->last_key = key;
}

static void read_deaths(lh_cursor *c, lh_profile_count *row) {
  uint32_t ages = (uint32_t)lh_read_upto(c, (1u << LH_PROFILE_AGES) - 1, "an age is unknown");
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) {
    if (!(ages >> i & 1)) continue;
    row->deaths[i] = lh_read_size(c);
    row->death_bytes[i] = lh_read_size(c);
  }
}

static void read_count(lh_pass *pass, lh_rows *rows, void *out) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  lh_profile_count row = {.stack = read_stack(pass)};
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
  *(lh_profile_count *)out = row;
}

static void read_call(lh_pass *pass, lh_rows *rows, void *out) {
  lh_cursor *c = &pass->c;
  const uint8_t *start = c->at;
  lh_profile_call row = {.stack = read_stack(pass)};
  uint64_t *const numbers[] = {&row.calls, &row.tail_calls, &row.self_ns, &row.total_ns};
  check_order(c, rows, start, row.stack);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    *numbers[i] = lh_read_upto(c, UINT64_C(1) << 62, "a count is too great");
  if (row.tail_calls > row.calls) lh_fault(c, start, "it has more tail calls than calls");
  unsigned is_constant = lh_read_u8(c);
  if (is_constant > 1) lh_fault(c, c->at - 1, "a flag is neither 0 nor 1");
  row.is_constant = is_constant == 1;
  *(lh_profile_call *)out = row;
}

/* Reads one block of a table with rows of `size` bytes. The sums of its numbers are bounded over
** the whole table. */
static void read_table(lh_pass *pass, lh_rows *rows, size_t size,
                       void (*read_row)(lh_pass *pass, lh_rows *rows, void *out)) {
  lh_cursor *c = &pass->c;
  unsigned flags;
  if (!begin_block(c, rows, &flags)) return;
  uint64_t claimed_before = c->claimed;
  c->claimed = rows->claimed;
  while (c->at < c->end) {
    pass->out_of_memory = !lh_grow(&rows->new_rows, rows->n_new, &rows->new_capacity, size);
    if (pass->out_of_memory) return;
    read_row(pass, rows, (char *)rows->new_rows + rows->n_new * size);
    if (c->fault) return;
    rows->n_new++;
  }
  rows->claimed = c->claimed;
  c->claimed = claimed_before;
  end_block(rows, flags);
}

enum { BEHIND = 16 }; /* readable bytes behind a cursor's end */

/* ==== The file ====================================================================== */

static int fail_to_read(const lh_profile *p, int os_errno, lh_error *error) {
  return lh_fail_errno(error, os_errno, "cannot read '%s'", p->name);
}

static int fail_damaged(const lh_profile *p, uint64_t at, const char *what, lh_error *error) {
  return lh_fail_at(error, at, "'%s' is damaged at byte %llu: %s", p->name, (unsigned long long)at,
                    what);
}

static int fail_changed(const lh_profile *p, lh_error *error) {
  int code = lh_fail(error, LH_EIO, "'%s' was changed while it was read: try again", p->name);
  if (error) error->os_errno = EAGAIN;
  return code;
}

static int read_at(const lh_profile *p, uint8_t *to, size_t n, uint64_t from, lh_error *error) {
  if (p->data) {
    memcpy(to, p->data + from, n);
    return LH_OK;
  }
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(p->file, to + done, n - done, (off_t)(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_to_read(p, errno, error);
    if (got == 0) return fail_changed(p, error); /* cut meanwhile */
    done += (size_t)got;
  }
  return LH_OK;
}

static int open_file(lh_profile *p, const char *path, lh_error *error) {
  struct stat status;
  /* Without O_NONBLOCK the open of a named pipe would wait for a writer. */
  p->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (p->file < 0) return lh_fail_errno(error, errno, "cannot open '%s'", p->name);
  if (fstat(p->file, &status) != 0) return fail_to_read(p, errno, error);
  if (S_ISDIR(status.st_mode)) return fail_to_read(p, EISDIR, error);
  p->info.file_bytes = (uint64_t)status.st_size;
  if (S_ISREG(status.st_mode)) return LH_OK;
  int code = lh_fail(error, LH_EIO, "cannot read '%s': it is no regular file", p->name);
  if (error) error->os_errno = ESPIPE;
  return code;
}

static int check_header(lh_profile *p, lh_error *error) {
  uint8_t head[LH_PROFILE_HEADER_BYTES] = LH_PROFILE_MAGIC;
  uint64_t size = p->info.file_bytes;
  if (size == 0) return lh_fail(error, LH_EFOREIGN, "'%s' is empty, not a profile", p->name);
  int code = read_at(p, head, size < sizeof head ? (size_t)size : sizeof head, 0, error);
  if (code != LH_OK) return code;
  if (memcmp(head, LH_PROFILE_MAGIC, 8) != 0)
    return lh_fail(error, LH_EFOREIGN, "'%s' is not a profile of luaheap", p->name);
  p->info.version = size < 12 ? LH_PROFILE_VERSION : lh_load32(head + 8);
  if (p->info.version > LH_PROFILE_VERSION)
    return lh_fail(error, LH_EVERSION,
                   "'%s' is a profile of format version %u: it takes a newer luaheap, this one "
                   "reads up to version %u",
                   p->name, p->info.version, LH_PROFILE_VERSION);
  if (size >= sizeof head && (p->info.version == 0 || lh_load32(head + 12) != 0))
    return fail_damaged(p, 8, "its header makes no sense", error);
  return LH_OK;
}

bool lh_is_profile(const char *path) {
  lh_profile p = {.name = (char *)path};
  uint8_t head[8];
  bool is_one = open_file(&p, path, NULL) == LH_OK && p.info.file_bytes >= sizeof head &&
                read_at(&p, head, sizeof head, 0, NULL) == LH_OK &&
                memcmp(head, LH_PROFILE_MAGIC, sizeof head) == 0;
  if (p.file >= 0) (void)close(p.file);
  return is_one;
}

/* ==== Blocks ======================================================================== */

typedef struct block {
  uint32_t bytes, kind; /* bytes 0: no whole block is left */
} block;

/* Reads the block at pass->offset, and sets the cursor to its content. */
static int read_block(lh_pass *pass, block *b, lh_error *error) {
  lh_profile *p = pass->profile;
  uint64_t offset = pass->offset, rest = p->info.file_bytes - offset;
  uint8_t head[LH_PROFILE_BLOCK_HEAD];
  *b = (block){0, 0};
  if (rest < sizeof head) return LH_OK;
  int code = read_at(p, head, sizeof head, offset, error);
  if (code != LH_OK) return code;
  uint32_t n = lh_load32(head);
  if (lh_load64(head + 8) != lh_hash(head, 8, offset) || n == 0 || n > LH_PROFILE_BLOCK_BYTES)
    return fail_damaged(p, offset, "the head of a block does not fit its checksum", error);
  if (n > rest - sizeof head) return LH_OK;
  code = read_at(p, p->buffer, n, offset + sizeof head, error);
  if (code != LH_OK) return code;
  if (lh_load64(head + 16) != lh_hash(p->buffer, n, offset))
    return fail_damaged(p, offset, "a block does not fit its checksum", error);
  memset(p->buffer + n, 0, BEHIND);
  *b = (block){n, lh_load32(head + 4)};
  pass->c.at = p->buffer;
  pass->c.end = p->buffer + n;
  return LH_OK;
}

static void read_facts(lh_pass *pass) {
  enum { ALL_FLAGS = LH_PROFILE_HAS_STACKS | LH_PROFILE_IS_AGGREGATE | LH_PROFILE_HAS_CALLS };
  lh_cursor *c = &pass->c;
  lh_profile_info *info = &pass->profile->info;
  info->state_id = lh_read_u64(c);
  info->process_id = lh_read_upto(c, INT64_MAX, "its process id is too big");
  info->start_unix_ns = lh_read_time(c);
  info->start_bytes = lh_read_upto(c, LH_MOST_BYTES, "its size is that of no address space");
  info->sample_bytes = lh_read_upto(c, UINT64_C(1) << 47, "its samples are too far apart");
  unsigned flags = lh_read_u8(c);
  if (flags > ALL_FLAGS) lh_fault(c, c->at - 1, "it has unknown flags");
  info->has_stacks = flags & LH_PROFILE_HAS_STACKS;
  info->is_aggregate = flags & LH_PROFILE_IS_AGGREGATE;
  info->has_calls = flags & LH_PROFILE_HAS_CALLS;
  lh_file_text release = lh_read_text(c), program = lh_read_text(c);
  if (c->fault) return;
  char *at = pass->profile->texts = lh_alloc(release.n + program.n + 2, 1);
  pass->out_of_memory = !at;
  if (!at) return;
  info->release = lh_keep_text(&at, release);
  info->program = lh_keep_text(&at, program);
}

static void read_end(lh_pass *pass) {
  lh_cursor *c = &pass->c;
  lh_profile_info *info = &pass->profile->info;
  uint64_t time_ns = lh_read_upto(c, INT64_MAX, "the time is too late");
  const uint8_t *start = c->at;
  if (lh_read_uvarint(c) != pass->n_events) lh_fault(c, start, "it counts other events");
  uint64_t lost = lh_read_upto(c, INT64_MAX, "it counts too many lost events");
  unsigned is_final = lh_read_u8(c);
  if (is_final > 1) lh_fault(c, c->at - 1, "a flag is neither 0 nor 1");
  if (time_ns < pass->time_ns) lh_fault(c, start, "it ends before its last event");
  pass->time_ns = time_ns;
  pass->has_ended = true;
  info->lost_events = lost;
  info->is_whole = is_final == 1;
}

static const char *misplaced(const lh_pass *pass, unsigned kind) {
  const lh_profile *p = pass->profile;
  bool is_first = pass->offset == LH_PROFILE_HEADER_BYTES;
  if (is_first != (kind == LH_BLOCK_FACTS)) return "its facts are not its first block";
  if (kind == 0 || kind > LH_BLOCK_END) return "a block is of an unknown kind";
  if (!pass->see && ((p->counts.is_begun && kind != LH_BLOCK_COUNTS) ||
                     (p->calls.is_begun && kind != LH_BLOCK_CALLS)))
    return "a table has no end";
  if (kind == LH_BLOCK_COUNTS && !p->info.is_aggregate) return "it counts, and is no aggregate";
  if (kind == LH_BLOCK_CALLS && !p->info.has_calls) return "it has calls, and does not say so";
  return NULL;
}

/* A replay needs only records. */
static void read_content(lh_pass *pass, unsigned kind) {
  if (pass->see && kind != LH_BLOCK_RECORDS) {
    pass->c.at = pass->c.end;
    return;
  }
  switch (kind) {
    case LH_BLOCK_FACTS: read_facts(pass); break;
    case LH_BLOCK_RECORDS: read_records(pass); break;
    case LH_BLOCK_COUNTS:
      read_table(pass, &pass->profile->counts, sizeof(lh_profile_count), read_count);
      break;
    case LH_BLOCK_CALLS:
      read_table(pass, &pass->profile->calls, sizeof(lh_profile_call), read_call);
      break;
    default: read_end(pass); break;
  }
  if (pass->c.at < pass->c.end && !pass->is_stopped)
    lh_fault(&pass->c, pass->c.at, "a block goes on after its end");
}

static int read_blocks(lh_pass *pass, uint64_t end, lh_error *error) {
  lh_profile *p = pass->profile;
  pass->offset = LH_PROFILE_HEADER_BYTES;
  while (pass->offset < end && !pass->is_stopped) {
    block b;
    if (pass->has_ended) return fail_damaged(p, pass->offset, "it goes on after its end", error);
    int code = read_block(pass, &b, error);
    if (code != LH_OK || b.bytes == 0) return code;
    const char *fault = misplaced(pass, b.kind);
    if (fault) return fail_damaged(p, pass->offset + 4, fault, error);
    read_content(pass, b.kind);
    if (pass->out_of_memory) return lh_fail_memory(error, "reading a profile");
    if (pass->c.fault) {
      uint64_t in_block = (uint64_t)(pass->c.fault_at - p->buffer);
      return fail_damaged(p, pass->offset + LH_PROFILE_BLOCK_HEAD + in_block, pass->c.fault, error);
    }
    pass->offset += LH_PROFILE_BLOCK_HEAD + b.bytes;
  }
  return LH_OK;
}

/* ==== For all ======================================================================= */

static int load(lh_profile *p, lh_error *error) {
  lh_pass pass = {.profile = p};
  p->sites = lh_sites_new();
  p->buffer = lh_alloc(LH_PROFILE_BLOCK_BYTES + BEHIND, 1);
  if (!p->sites || !p->buffer) return lh_fail_memory(error, "reading a profile");
  int code = check_header(p, error);
  if (code == LH_OK && p->info.file_bytes > LH_PROFILE_HEADER_BYTES)
    code = read_blocks(&pass, p->info.file_bytes, error);
  if (code != LH_OK) return code;
  if (!p->texts)
    return lh_fail_at(error, p->info.file_bytes, "'%s' was cut before its first block ends",
                      p->name);
  p->info.read_bytes = pass.offset;
  p->info.n_events = pass.n_events;
  p->info.duration_ns = pass.time_ns;
  return LH_OK;
}

static int open_any(const char *path, const void *data, size_t size, lh_profile **out,
                    lh_error *error) {
  int code = LH_OK;
  *out = NULL;
  lh_profile *p = lh_alloc_zeroed(1, sizeof *p);
  if (!p) return lh_fail_memory(error, "opening a profile");
  p->file = -1;
  p->data = data;
  p->info.file_bytes = size;
  p->name = lh_copy_text(path);
  if (!p->name) code = lh_fail_memory(error, "opening a profile");
  if (code == LH_OK && !data) code = open_file(p, path, error);
  if (code == LH_OK) code = load(p, error);
  if (code != LH_OK)
    lh_profile_close(p);
  else
    *out = p;
  return code;
}

int lh_profile_open(const char *path, lh_profile **profile, lh_error *error) {
  return open_any(path, NULL, 0, profile, error);
}

int lh_profile_open_memory(const void *data, size_t size, const char *name, lh_profile **profile,
                           lh_error *error) {
  return open_any(name, data, size, profile, error);
}

void lh_profile_close(lh_profile *p) {
  if (!p) return;
  if (p->file >= 0) (void)close(p->file);
  free_count_rows(&p->counts);
  free_count_rows(&p->calls);
  lh_sites_free(p->sites);
  LH_FREE_ALL(p->texts, p->buffer, p->name, p);
}

const lh_profile_info *lh_profile_about(const lh_profile *p) {
  return &p->info;
}

const lh_sites *lh_profile_sites(const lh_profile *p) {
  return p->sites;
}

int lh_profile_replay(lh_profile *p, bool (*see)(const lh_event *event, void *data), void *data,
                      lh_error *error) {
  lh_pass pass = {.profile = p, .see = see, .data = data};
  return read_blocks(&pass, p->info.read_bytes, error);
}

const lh_profile_count *lh_profile_counts(const lh_profile *p, size_t *n) {
  *n = p->counts.n;
  return p->counts.rows;
}

const lh_profile_call *lh_profile_calls(const lh_profile *p, size_t *n) {
  *n = p->calls.n;
  return p->calls.rows;
}
