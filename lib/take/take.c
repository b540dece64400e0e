/*
** take.c - take a snapshot: plant the mark, walk the heap, write the file.
**
** The file is written under a temporary name beside the one asked for and renamed when it is whole,
** so that no reader ever sees half a snapshot and a failure leaves the older file as it was. The
** order is: make the temporary file (an unwritable folder shows before anything was done), plant
** the mark, walk, close, rename. When a later step fails the mark is in the heap already, and is
** voided.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

/* {=== The footer ==================================================================== */

enum { PROGRAM_BYTES = 1024 };

/* The command line of the process, its words separated by spaces. */
static size_t read_program(char *out, size_t size) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, size);
  if (fd >= 0) (void)close(fd);
  if (n < 0) n = 0;
  while (n > 0 && out[n - 1] == '\0') n--;
  for (ssize_t i = 0; i < n; i++) {
    if (out[i] == '\0') out[i] = ' ';
  }
  return (size_t)n;
}

static uint8_t *put_bytes(uint8_t *p, const char *data, size_t n) {
  p = lh_put_uvarint(p, n);
  memcpy(p, data, n);
  return p + n;
}

/* What the footer says that the walk does not know. */
typedef struct occasion {
  const lh_state *state;
  const lh_planted *planted;
  const char *name;
  uint64_t string_bytes, gc_bytes, string_table_bytes;
} occasion;

static uint8_t *put_roots(uint8_t *p, const lh_walk *walk, const lh_state *state,
                          const void *metatable) {
  lh_walk_root roots[LH_WALK_ROOTS];
  size_t n = lh_walk_roots(walk, roots);
  const char *state_object = (const char *)state - offsetof(raw_userdata, user_values) -
                             LH_STATE_USER_VALUES * sizeof(raw_value);
  roots[n++] = (lh_walk_root){.kind = LH_ROOT_OWN, .index = 0, .address = state_object};
  roots[n++] = (lh_walk_root){.kind = LH_ROOT_OWN, .index = 1, .address = metatable};
  p = lh_put_uvarint(p, n);
  for (size_t i = 0; i < n; i++) {
    *p++ = (uint8_t)roots[i].kind;
    *p++ = roots[i].index;
    p = lh_put_uvarint(p, (uintptr_t)roots[i].address >> 3);
  }
  return p;
}

static int write_footer(lh_walk *walk, const occasion *now, const void *metatable,
                        lh_error *error) {
  char program[PROGRAM_BYTES];
  size_t program_length = read_program(program, sizeof program);
  size_t name_length = strlen(now->name);
  size_t room = 24 * LH_MAX_VARINT + program_length + name_length + LH_WALK_ROOTS * 12;
  uint8_t *footer = lh_alloc(room, 1);
  if (!footer) return lh_fail_memory(error, "writing the snapshot's footer");
  uint8_t *p = footer;
  lh_store64(p, now->state->own.state_id);
  p = lh_put_uvarint(p + 8, now->planted->serial);
  lh_store64(p, now->planted->time_ns);
  p = lh_put_uvarint(p + 8, (uint64_t)getpid());
  p = put_bytes(p, now->state->release, strlen(now->state->release));
  p = put_bytes(p, program, program_length);
  p = put_bytes(p, now->name, name_length);
  p = lh_put_uvarint(p, now->string_bytes);
  p = lh_put_uvarint(p, now->gc_bytes);
  p = lh_put_uvarint(p, now->string_table_bytes);
  *p++ = RAW_FIELD(walk->global, RAW_GLOBAL_GC_STATE, uint8_t);
  *p++ = RAW_FIELD(walk->global, RAW_GLOBAL_GC_KIND, uint8_t);
  for (unsigned i = 0; i < 4; i++) p = lh_put_uvarint(p, walk->n_objects[i]);
  p = lh_put_uvarint(p, walk->object_bytes);
  p = put_roots(p, walk, now->state, metatable);
  int rc = lh_out_close(walk->out, footer, (size_t)(p - footer), error);
  lh_free(footer);
  return rc;
}

/* }=================================================================================== */

/* {=== The stream ==================================================================== */

/* The mark is planted; writes everything. */
static int write_heap(lua_State *L, const lh_planted *planted, const char *name,
                      uint64_t string_bytes, lh_out *out, lh_taken *taken, lh_error *error) {
  const char *global = lh_global_state(L);
  const lh_state *state = lh_push_state(L);
  if (!state) return lh_fail(error, LH_EARGUMENT, "lh_attach was not called for this Lua state");
  lua_getiuservalue(L, -1, LH_STATE_METATABLE);
  const void *metatable = lua_topointer(L, -1);
  lua_pop(L, 2);
  occasion now = {.state = state, .planted = planted, .name = name, .string_bytes = string_bytes};
  now.gc_bytes = (uint64_t)(RAW_FIELD(global, RAW_GLOBAL_TOTAL_BYTES, int64_t) +
                            RAW_FIELD(global, RAW_GLOBAL_DEBT, int64_t));
  now.string_table_bytes =
      sizeof(void *) * (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  lh_walk walk = {.out = out,
                  .layout = state->layout,
                  .global = global,
                  .thread = L,
                  .main_thread = RAW_FIELD(global, state->layout->main_thread, const void *),
                  .string_bytes = string_bytes,
                  .hash_seed = string_bytes ? 0 : state->string_seed};
  lh_walk_lists(&walk);
  taken->bytes = walk.object_bytes + now.string_table_bytes;
  taken->objects = 0;
  for (unsigned i = 0; i < 4; i++) taken->objects += walk.n_objects[i];
  return write_footer(&walk, &now, metatable, error);
}

/* As lh_stream_snapshot; the caller voids the mark if what follows fails. */
static int stream(lua_State *L, const char *name, lh_writer writer, void *payload,
                  const lh_take_options *options, lh_taken *taken, lh_planted *planted,
                  lh_error *error) {
  lh_out out;
  lh_taken ignored;
  uint64_t string_bytes = options ? options->string_bytes : LH_DEFAULT_STRING_BYTES;
  int rc = lh_out_open(&out, writer, payload, error);
  if (rc < 0) return rc;
  rc = lh_plant(L, LH_MARK_BY_SNAPSHOT, name, strlen(name), planted, error);
  if (rc == LH_OK) {
    rc = write_heap(L, planted, name, string_bytes, &out, taken ? taken : &ignored, error);
  }
  lh_out_free(&out);
  return rc;
}

int lh_stream_snapshot(lua_State *L, const char *name, lh_writer writer, void *payload,
                       const lh_take_options *options, lh_taken *taken, lh_error *error) {
  lh_planted planted = {0};
  int rc = stream(L, name, writer, payload, options, taken, &planted, error);
  if (rc < 0) lh_void_mark(&planted);
  return rc;
}

/* }=================================================================================== */

/* {=== The file ====================================================================== */

typedef struct target {
  char *path;      /* what to replace: symbolic links followed */
  char *temporary; /* beside it */
  int fd;
  bool made, renamed; /* the temporary file */
  int os_errno;       /* of the write that failed, or 0 */
} target;

static size_t write_all(const void *data, size_t n, void *payload) {
  target *t = payload;
  const char *from = data;
  size_t done = 0;
  while (done < n) {
    ssize_t written = write(t->fd, from + done, n - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      t->os_errno = written < 0 ? errno : EIO;
      break;
    }
    done += (size_t)written;
  }
  return done;
}

/* The path to replace: `path` itself, or what it points to when it is a link; `buffer` has PATH_MAX
** bytes. Only a new or a regular file may be written: a rename would remove a device. */
static int resolve(const char *path, char *buffer, const char **out, lh_error *error) {
  struct stat info;
  *out = path;
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    *out = realpath(path, buffer);
    if (!*out) return lh_fail_errno(error, errno, "cannot follow the link '%s'", path);
  }
  if (stat(*out, &info) < 0 || S_ISREG(info.st_mode)) return LH_OK;
  if (S_ISDIR(info.st_mode)) return lh_fail_errno(error, EISDIR, "cannot write '%s'", path);
  return lh_fail_errno(error, EINVAL, "cannot write '%s', which is no regular file", path);
}

/* Fills t->path and t->temporary, which is in the same folder. */
static int name_target(target *t, const char *path, lh_error *error) {
  static const char pattern[] = ".luaheap-XXXXXX";
  const char *slash = strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  if (path[folder] == '\0') {
    return lh_fail_errno(error, folder ? EISDIR : ENOENT, "cannot write '%s'", path);
  }
  t->path = lh_copy_text(path);
  t->temporary = lh_alloc(folder + sizeof pattern, 1);
  if (!t->path || !t->temporary) return lh_fail_memory(error, "opening the snapshot's file");
  memcpy(t->temporary, path, folder);
  memcpy(t->temporary + folder, pattern, sizeof pattern);
  return LH_OK;
}

static int open_target(target *t, const char *path, lh_error *error) {
  char buffer[PATH_MAX];
  const char *resolved;
  *t = (target){.fd = -1};
  int rc = resolve(path, buffer, &resolved, error);
  if (rc == LH_OK) rc = name_target(t, resolved, error);
  if (rc < 0) return rc;
  t->fd = mkostemp(t->temporary, O_CLOEXEC); /* mode 0600 */
  if (t->fd < 0) return lh_fail_errno(error, errno, "cannot write '%s'", path);
  t->made = true;
  return LH_OK;
}

static int finish_target(target *t, const char *path, lh_error *error) {
  int closed = close(t->fd);
  t->fd = -1;
  if (closed < 0) return lh_fail_errno(error, errno, "cannot write '%s'", path);
  if (rename(t->temporary, t->path) < 0) {
    return lh_fail_errno(error, errno, "cannot write '%s'", path);
  }
  t->renamed = true;
  return LH_OK;
}

static void free_target(target *t) {
  if (t->fd >= 0) (void)close(t->fd);
  if (t->made && !t->renamed) (void)unlink(t->temporary);
  lh_free(t->temporary);
  lh_free(t->path);
}

int lh_take_snapshot(lua_State *L, const char *path, const lh_take_options *options,
                     lh_taken *taken, lh_error *error) {
  target t;
  lh_planted planted = {0};
  int rc = open_target(&t, path, error);
  if (rc == LH_OK) rc = stream(L, path, write_all, &t, options, taken, &planted, error);
  if (rc < 0 && t.os_errno) rc = lh_fail_errno(error, t.os_errno, "cannot write '%s'", path);
  if (rc == LH_OK) rc = finish_target(&t, path, error);
  if (rc < 0) lh_void_mark(&planted);
  free_target(&t);
  return rc;
}

/* }=================================================================================== */
