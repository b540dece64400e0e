/*
** reader.c - opens snapshot files; also the accessors that need no decoding.
**
** lh_open reads the file and runs the steps of reader.h; afterwards no read can fail. Threads
** (base.h) work block by block, and the reported fault is the first in the file. Only stretches,
** weak tables and names, a tenth of the time, need one thread.
**
** The file is read, not mapped: a mapped file can change after it was verified, and a truncated one
** kills the process by a signal. Reading takes 0.4 s a GB more; the peak of memory is the same. An
** open snapshot takes 45 bytes an object besides the file. 2.2 million objects (60 MB) open in 0.3
** s.
*/
#define LH_COLUMN /* emits what snapshot.h has inline, for callers with public headers alone */

#include "reader.h"
#include "decode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== The file ====================================================================== */

static int fail_to_read(const lh_snapshot *s, int os_errno, lh_error *error) {
  return lh_fail_errno(error, os_errno, "cannot read '%s'", s->name);
}

static int fail_changed(const lh_snapshot *s, lh_error *error) {
  int code = lh_fail(error, LH_EIO, "'%s' was changed while it was read: try again", s->name);
  if (error) error->os_errno = EAGAIN;
  return code;
}

static int check_regular(const lh_snapshot *s, const struct stat *status, lh_error *error) {
  if (S_ISREG(status->st_mode)) return 0;
  if (S_ISDIR(status->st_mode)) return fail_to_read(s, EISDIR, error);
  int code = lh_fail(error, LH_EIO, "cannot read '%s': it is no regular file", s->name);
  if (error) error->os_errno = ESPIPE;
  return code;
}

static int read_at(const lh_snapshot *s, int file, uint8_t *to, size_t n, size_t from,
                   lh_error *error) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(file, to + done, n - done, (off_t)(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_to_read(s, errno, error);
    if (got == 0) return fail_changed(s, error); /* the file was truncated */
    done += (size_t)got;
  }
  return 0;
}

/* Checks magic and trailer first, so that a foreign file of 100 GB is not read. */
static int read_ends(const lh_snapshot *s, int file, lh_error *error) {
  uint8_t head[LH_HEADER_BYTES] = {0}, tail[LH_TAIL_BYTES] = {0};
  size_t n_head = s->size < sizeof head ? s->size : sizeof head;
  size_t n_tail = s->size < sizeof tail ? 0 : sizeof tail;
  int code = read_at(s, file, head, n_head, 0, error);
  if (!code) code = read_at(s, file, tail, n_tail, s->size - n_tail, error);
  return code ? code : lh_check_head(s, head, tail, error);
}

typedef struct reading {
  lh_snapshot *s;
  int file;
} reading;

static int read_block(const reading *r, uint32_t i, lh_error *error) {
  size_t from = (size_t)i * LH_BLOCK_BYTES, n = (size_t)lh_bytes_of_block(r->s->size, i);
  return read_at(r->s, r->file, r->s->own_data + from, n, from, error);
}

static bool try_block(void *data, uint32_t i) {
  return read_block(data, i, NULL) == LH_OK;
}

/* A block that failed is read again, to get the system's error. */
static int read_all(lh_snapshot *s, int file, lh_error *error) {
  reading r = {s, file};
  uint32_t n = (uint32_t)((s->size + LH_BLOCK_BYTES - 1) / LH_BLOCK_BYTES);
  int code = LH_OK;
  s->own_data = lh_alloc(s->size, 1);
  if (!s->own_data) return lh_fail_memory(error, "reading a snapshot");
  s->data = s->own_data;
  for (uint32_t i = lh_parallel_for(s->threads, n, try_block, &r); i < n && !code; i++)
    code = read_block(&r, i, error);
  return code;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_open(lh_snapshot *s, int file, lh_error *error) {
  struct stat before, after;
  if (fstat(file, &before) != 0) return fail_to_read(s, errno, error);
  int code = check_regular(s, &before, error);
  s->size = (size_t)before.st_size;
  if (!code) code = read_ends(s, file, error);
  if (!code) code = read_all(s, file, error);
  if (!code && (fstat(file, &after) != 0 || !is_same(&before, &after)))
    code = fail_changed(s, error);
  return code;
}

static int read_file(lh_snapshot *s, const char *path, lh_error *error) {
  /* Without O_NONBLOCK a named pipe would wait for its writer. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return lh_fail_errno(error, errno, "cannot open '%s'", s->name);
  int code = read_open(s, file, error);
  (void)close(file);
  return code;
}

static int check_memory(const lh_snapshot *s, lh_error *error) {
  const uint8_t *end = s->data + s->size;
  return lh_check_head(s, s->data, s->size < LH_TAIL_BYTES ? s->data : end - LH_TAIL_BYTES, error);
}

static int load(lh_snapshot *s, lh_error *error) {
  lh_raw_rows rows = {0};
  int code = lh_read_footer(s, error);
  if (!code) code = lh_read_collector(s, error);
  if (!code) code = lh_read_outside(s, error);
  if (!code) code = lh_read_sites(s, error);
  if (!code) code = lh_check_records(s, &rows, error);
  if (!code) code = lh_index_addresses(s, error);
  if (!code) code = lh_collect_roots(s, error);
  if (!code) code = lh_make_rows(s, &rows, error);
  if (!code) code = lh_collect_marks(s, &rows, error);
  if (!code) code = lh_collect_passed(s, error);
  lh_free_raw_rows(&rows);
  return code;
}

static int open_any(lh_snapshot **out, const void *data, size_t size, const char *path,
                    unsigned threads, lh_error *error) {
  int code = 0;
  *out = NULL;
  lh_snapshot *s = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return lh_fail_memory(error, "opening a snapshot");
  s->data = s->in_memory = data;
  s->size = size;
  s->threads = threads;
  s->name = lh_copy_text(path);
  if (!s->name) code = lh_fail_memory(error, "opening a snapshot");
  if (!code) code = data ? check_memory(s, error) : read_file(s, path, error);
  if (!code) code = load(s, error);
  if (code)
    lh_close(s);
  else
    *out = s;
  return code;
}

int lh_open(lh_snapshot **out, const char *path, lh_error *error) {
  return lh_open_in_threads(out, path, 1, error);
}

int lh_open_in_threads(lh_snapshot **out, const char *path, unsigned threads, lh_error *error) {
  return open_any(out, NULL, 0, path, threads, error);
}

int lh_open_memory(lh_snapshot **out, const void *data, size_t size, const char *name,
                   lh_error *error) {
  return open_any(out, data, size, name, 1, error);
}

void lh_drop_rows(lh_snapshot *s) {
  LH_FREE_ALL(s->first_edge, s->edge, s->label, s->aside, s->ephemerons);
  s->first_edge = s->edge = NULL;
  s->label = NULL;
  s->aside = NULL;
  s->ephemerons = NULL;
  s->n_aside = s->n_ephemerons = 0;
}

int lh_need_rows(lh_snapshot *s, lh_error *error) {
  lh_snapshot *again;
  if (s->first_edge) return LH_OK;
  int code = open_any(&again, s->in_memory, s->size, s->name, s->threads, error);
  if (code) return code;
  if (again->info.state_id == s->info.state_id && again->info.time_ns == s->info.time_ns) {
    lh_snapshot before = *s;
    *s = *again;
    *again = before;
  } else {
    code = fail_changed(s, error);
  }
  lh_close(again);
  return code;
}

void lh_drop_objects(lh_snapshot *s) {
  lh_drop_rows(s);
  LH_FREE_ALL(s->address, s->record_low, s->record_high, s->kind, s->key_kinds, s->shallow,
              s->modes, s->units, s->by_rank, s->own_data);
  s->address = s->modes = NULL;
  s->record_low = s->shallow = s->by_rank = NULL;
  s->record_high = s->kind = s->key_kinds = s->own_data = NULL;
  s->data = NULL;
  s->units = NULL;
  s->n = 0;
}

void lh_close(lh_snapshot *s) {
  if (!s) return;
  if (s->counted) s->free_counted(s->counted);
  if (s->classes) s->free_classes(s->classes);
  if (s->steps) s->free_steps(s->steps);
  if (s->age_sums) s->free_age_sums(s->age_sums);
  if (s->dominator_tree) s->free_dominator_tree(s->dominator_tree);
  if (s->trees) s->free_trees(s->trees);
  if (s->referrers) s->free_referrers(s->referrers);
  if (s->fields) s->free_fields(s->fields);
  if (s->map_order) s->free_map_order(s->map_order);
  if (s->growings) s->free_growings(s->growings);
  if (s->waste) s->free_waste(s->waste);
  lh_ignored_free(s->ignored);
  lh_sites_free(s->sites);
  LH_FREE_ALL(s->address, s->record_low, s->record_high, s->kind, s->key_kinds, s->shallow,
              s->modes, s->stretches, s->units, s->by_rank, s->far_blocks, s->roots, s->marks,
              s->mark_ids, s->mark_names, s->text, s->upvalue_names, s->first_edge, s->edge,
              s->label, s->aside, s->bent, s->ephemerons, s->distance, s->parent, s->parent_edge,
              s->named_by, s->idom, s->retained, s->name, s->own_data, s->names, s->keys,
              s->stack_counts, s->clusters, s->limiters, s->placed, s->matched, s->c_functions,
              s->c_texts, s->blocks, s);
}

const lh_info *lh_snapshot_info(const lh_snapshot *s) {
  return &s->info;
}

uint32_t lh_object_count(const lh_snapshot *s) {
  return s->n;
}

uint64_t lh_shallow_of_big(const lh_snapshot *s, lh_id id) {
  const uint8_t *at = lh_record(s, id);
  return lh_get_shallow(s, &at) + lh_external_bytes(s, id);
}

uint64_t lh_external_bytes(const lh_snapshot *s, lh_id id) {
  if (s->info.external_bytes == 0 || !lh_is_string(s, id)) return 0;
  const uint8_t *at = lh_record(s, id);
  if (!(*at & LH_FLAG_EXTERNAL)) return 0;
  (void)lh_get_shallow(s, &at);
  return lh_get_uvarint(&at) + 1;
}
