/*
** reader.c - opens snapshot files: maps the file, then runs the steps of reader.h, after which
** nothing that is read from the snapshot can fail. Also the accessors that need no decoding.
**
** 22 bytes of memory an object; 2.2 million objects (60 MB) open in 0.2 s. The file must not
** change while it is mapped: the writer never changes a file, it replaces it. (cli/changed.c deals
** with those who do.)
*/
#include "reader.h"
#include "left_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(lh_snapshot *s, int file, lh_error *error) {
  struct stat status;
  if (fstat(file, &status) != 0) return lh_fail_errno(error, errno, "cannot read '%s'", s->name);
  if (S_ISDIR(status.st_mode)) return lh_fail_errno(error, EISDIR, "cannot read '%s'", s->name);
  if (!S_ISREG(status.st_mode)) {
    int code = lh_fail(error, LH_EIO, "cannot read '%s': it is no regular file", s->name);
    if (error) error->os_errno = ESPIPE;
    return code;
  }
  s->size = (size_t)status.st_size;
  if (s->size == 0) return 0; /* which cannot be mapped */
  void *data = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) return lh_fail_errno(error, errno, "cannot map '%s'", s->name);
  s->data = data;
  s->mapped = true;
  return 0;
}

/* Brings all of the file into memory at once, which saves a fault a page. */
static int populate(lh_snapshot *s, int file, lh_error *error) {
  void *data = (void *)(uintptr_t)s->data;
  if (s->size == 0 ||
      mmap(data, s->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE | MAP_FIXED, file, 0) == data)
    return 0;
  s->mapped = false; /* or in part: it is left alone */
  return lh_fail_errno(error, errno, "cannot map '%s'", s->name);
}

static int open_and_map(lh_snapshot *s, const char *path, lh_error *error) {
  /* Without O_NONBLOCK a named pipe would wait for its writer. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return lh_fail_errno(error, errno, "cannot open '%s'", s->name);
  int code = map(s, file, error);
  if (!code)
    code = lh_check_head(s, error); /* a film of 100 GB is not read to say that it is one */
  if (!code) code = populate(s, file, error);
  (void)close(file);
  return code;
}

static int load(lh_snapshot *s, lh_error *error) {
  uint64_t end;
  lh_id *mark_objects = NULL;
  uint32_t n_mark_objects = 0;
  int code = lh_read_footer(s, &end, error);
  if (!code) code = lh_check_records(s, end, &mark_objects, &n_mark_objects, error);
  if (!code) code = lh_index_addresses(s, error);
  if (!code) code = lh_collect_roots(s, error);
  if (!code) code = lh_collect_marks(s, mark_objects, n_mark_objects, error);
  lh_free(mark_objects);
  return code;
}

/* Without data the file is mapped. */
static int open_any(lh_snapshot **out, const void *data, size_t size, const char *path,
                    lh_error *error) {
  int code = 0;
  *out = NULL;
  lh_snapshot *s = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return lh_fail_memory(error, "opening a snapshot");
  s->data = data;
  s->size = size;
  s->name = lh_copy_text(path);
  if (!s->name) code = lh_fail_memory(error, "opening a snapshot");
  if (!code) code = data ? lh_check_head(s, error) : open_and_map(s, path, error);
  if (!code) code = load(s, error);
  if (code)
    lh_close(s);
  else
    *out = s;
  return code;
}

int lh_open(lh_snapshot **out, const char *path, lh_error *error) {
  return open_any(out, NULL, 0, path, error);
}

int lh_open_memory(lh_snapshot **out, const void *data, size_t size, const char *name,
                   lh_error *error) {
  return open_any(out, data, size, name, error);
}

void lh_close(lh_snapshot *s) {
  if (!s) return;
  lh_classes_free(s->classes);
  lh_steps_free(s->steps);
  lh_folds_free(s->folds);
  lh_left_out_free(s->left_out);
  void *const owned[] = {s->address,    s->record_low, s->record_high,   s->kind,
                         s->by_address, s->roots,      s->marks,         s->mark_ids,
                         s->mark_names, s->text,       s->upvalue_names, s->first_edge,
                         s->edge,       s->ephemerons, s->distance,      s->parent,
                         s->idom,       s->retained,   s->name};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) lh_free(owned[i]);
  if (s->mapped) (void)munmap((void *)(uintptr_t)s->data, s->size);
  lh_free(s);
}

const lh_info *lh_snapshot_info(const lh_snapshot *s) {
  return &s->info;
}

uint32_t lh_object_count(const lh_snapshot *s) {
  return s->n;
}

lh_type lh_type_of(const lh_snapshot *s, lh_id id) {
  return (lh_type)(s->kind[id] & 15);
}

uint64_t lh_address_of(const lh_snapshot *s, lh_id id) {
  return s->address[id];
}

uint64_t lh_shallow_bytes(const lh_snapshot *s, lh_id id) {
  if (id == LH_ROOT) return 0;
  const uint8_t *at = lh_record(s, id);
  return lh_get_shallow(&at);
}

bool lh_is_own(const lh_snapshot *s, lh_id id) {
  return s->kind[id] & LH_KIND_OWN;
}

bool lh_is_dead(const lh_snapshot *s, lh_id id) {
  return s->kind[id] & LH_KIND_DEAD;
}

lh_list lh_list_of(const lh_snapshot *s, lh_id id) {
  unsigned list = LH_LIST_ALLGC;
  while (list < LH_LIST_FIXEDGC && id >= s->list_first[list + 1]) list++;
  return (lh_list)list;
}
