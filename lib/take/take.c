/*
** take.c - take a snapshot: plant the mark, walk the heap, write the file.
**
** The order is: make the file (an unwritable folder shows before anything was done), take all
** memory, plant the mark, see that there is room, walk, give the file its name. When a later step
** fails the mark is in the heap already, and is voided. background.c does the same with a fork
** behind the mark.
*/
#include "take.h"
#include "track/track.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* {=== The footer ==================================================================== */

enum { PROGRAM_BYTES = 1024, ROOT_BYTES = 2 + LH_MAX_VARINT };

/* Its numbers are fewer than 24, each with at most the longest encoding. */
_Static_assert(24 * LH_MAX_VARINT + sizeof(((lh_state *)0)->release) + PROGRAM_BYTES +
                       LH_MARK_NAME_BYTES + LH_WALK_ROOTS * ROOT_BYTES +
                       LH_MOST_KEYS * LH_MAX_VARINT <=
                   LH_OUT_FOOTER,
               "every footer fits");

size_t lh_read_program(char *out, size_t size) {
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

static uint8_t *append_bytes(uint8_t *p, const char *data, size_t n) {
  p = lh_put_uvarint(p, n);
  memcpy(p, data, n);
  return p + n;
}

static uint8_t *put_roots(uint8_t *p, const lh_shot *shot) {
  lh_walk_root roots[LH_WALK_ROOTS];
  size_t n = lh_walk_roots(&shot->walk, roots);
  roots[n++] =
      (lh_walk_root){.kind = LH_ROOT_OWN, .index = 0, .address = lh_state_object(shot->state)};
  if (shot->metatable) {
    roots[n++] = (lh_walk_root){.kind = LH_ROOT_OWN, .index = 1, .address = shot->metatable};
  }
  const void *own_thread = shot->watched.own_thread;
  if (own_thread) {
    roots[n++] = (lh_walk_root){.kind = LH_ROOT_OWN, .index = 2, .address = own_thread};
  }
  p = lh_put_uvarint(p, n);
  for (size_t i = 0; i < n; i++) {
    *p++ = (uint8_t)roots[i].kind;
    *p++ = roots[i].index;
    p = lh_put_uvarint(p, (uintptr_t)roots[i].address >> 3);
  }
  return p;
}

/* Fills in the footer and ends the file. Async-signal-safe without `error`. */
static int write_footer(lh_shot *shot, uint64_t sites_offset, lh_error *error) {
  const lh_walk *walk = &shot->walk;
  uint8_t *p = shot->out.footer;
  char program[PROGRAM_BYTES];
  size_t program_length = lh_read_program(program, sizeof program);
  lh_store64(p, shot->state->own.state_id);
  p = lh_put_uvarint(p + 8, shot->planted.serial);
  lh_store64(p, shot->planted.time_ns);
  p = lh_put_uvarint(p + 8, shot->process_id);
  p = append_bytes(p, shot->state->release, strlen(shot->state->release));
  p = append_bytes(p, program, program_length);
  p = append_bytes(p, shot->name, strlen(shot->name));
  p = lh_put_uvarint(p, walk->string_bytes);
  p = lh_put_uvarint(p, shot->gc_bytes);
  p = lh_put_uvarint(p, shot->string_table_bytes);
  *p++ = RAW_FIELD(walk->global, RAW_GLOBAL_GC_STATE, uint8_t);
  *p++ = RAW_FIELD(walk->global, RAW_GLOBAL_GC_KIND, uint8_t);
  p = lh_put_uvarint(p, shot->watched.n_finalized);
  for (unsigned i = 0; i < 4; i++) p = lh_put_uvarint(p, walk->n_objects[i]);
  p = lh_put_uvarint(p, walk->object_bytes);
  p = put_roots(p, shot);
  p = lh_put_uvarint(p, walk->n_keys);
  for (unsigned i = 0; i < walk->n_keys; i++) {
    p = lh_put_uvarint(p, (uintptr_t)walk->keys[i] >> 3);
  }
  if (walk->recorder) p = lh_put_uvarint(p, sites_offset);
  return lh_out_close(&shot->out, (size_t)(p - shot->out.footer), error);
}

/* }=================================================================================== */

/* {=== The stream ==================================================================== */

/* To plant the mark adds the stack at which that is done to the sites, where they have it not: so
** much, if it is as deep as a stack can be that does not call itself. */
enum { OWN_SITES_BYTES = 1 << 20 };

int lh_shot_prepare(lua_State *L, const char *name, lh_writer writer, void *payload,
                    const lh_take_options *options, lh_shot *shot, lh_error *error) {
  *shot = (lh_shot){.name = name, .process_id = (uint64_t)getpid()};
  uint64_t string_bytes = options ? options->string_bytes : LH_DEFAULT_STRING_BYTES;
  if (!lua_checkstack(L, 2)) return lh_fail_memory(error, "planting a mark");
  const lh_state *state = lh_push_state(L);
  if (!state) return lh_fail(error, LH_EARGUMENT, "lh_attach was not called for this Lua state");
  shot->state = state;
  lua_getiuservalue(L, -1, LH_STATE_METATABLE);
  shot->metatable = lua_istable(L, -1) ? lua_topointer(L, -1) : NULL; /* or tampered with */
  lua_pop(L, 2);
  shot->watched = lh_watch_tell(L);
  const char *global = lh_global_state(L);
  const lh_recorder *recorder = lh_recorder_of(L);
  uint64_t sites_bytes = recorder ? lh_sites_longest(recorder) + OWN_SITES_BYTES : 0;
  uint64_t longest = lh_out_longest(lh_gc_bytes(global), sites_bytes);
  int rc = lh_out_open(&shot->out, longest, writer, payload, error);
  if (rc == LH_OK) {
    rc = lh_plant(L, LH_MARK_BY_SNAPSHOT, name, strlen(name), &shot->planted, error);
  }
  if (rc < 0) return rc;
  shot->gc_bytes = lh_gc_bytes(global);
  shot->longest_bytes = lh_out_longest(shot->gc_bytes, recorder ? lh_sites_longest(recorder) : 0);
  shot->string_table_bytes =
      sizeof(void *) * (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  shot->short_strings = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_USED, int32_t);
  shot->walk = (lh_walk){.out = &shot->out,
                         .layout = &state->layout,
                         .global = global,
                         .thread = L == shot->watched.own_thread ? shot->watched.running : L,
                         .closes = shot->watched.closes,
                         .main_thread = RAW_FIELD(global, state->layout.main_thread, const void *),
                         .recorder = recorder,
                         .string_bytes = string_bytes,
                         .hash_seed = string_bytes ? 0 : state->string_seed};
  return LH_OK;
}

/* Writes everything; may be done again. Async-signal-safe if `error` is NULL. */
static int write_shot(lh_shot *shot, lh_taken *taken, lh_error *error) {
  lh_walk *walk = &shot->walk;
  lh_out_begin(&shot->out, walk->recorder ? LH_TRACKED : 0);
  lh_walk_lists(walk);
  uint64_t sites_offset = walk->recorder ? lh_walk_sites(walk) : 0;
  taken->bytes = walk->object_bytes + shot->string_table_bytes;
  taken->objects = 0;
  for (unsigned i = 0; i < 4; i++) taken->objects += walk->n_objects[i];
  return write_footer(shot, sites_offset, error);
}

void lh_shot_free(lh_shot *shot) {
  lh_out_free(&shot->out);
}

int lh_stream_snapshot(lua_State *L, const char *name, lh_writer writer, void *payload,
                       const lh_take_options *options, lh_taken *taken, lh_error *error) {
  lh_shot shot;
  lh_taken ignored;
  int rc = lh_shot_prepare(L, name, writer, payload, options, &shot, error);
  if (rc == LH_OK) rc = write_shot(&shot, taken ? taken : &ignored, error);
  if (rc < 0) lh_void_mark(L, &shot.planted);
  lh_shot_free(&shot);
  return rc;
}

/* }=================================================================================== */

/* {=== The file ====================================================================== */

static size_t take_all(const void *data, size_t n, void *payload) {
  (void)data, (void)payload;
  return n;
}

static uint64_t measure_file(lh_shot *shot) {
  lh_taken ignored;
  lh_writer writer = shot->out.writer;
  shot->out.writer = take_all;
  (void)write_shot(shot, &ignored, NULL);
  shot->out.writer = writer;
  return shot->out.flushed;
}

bool lh_shot_may_fit(const lh_shot *shot, lh_file *file) {
  return lh_file_has_room(file, lh_out_shortest(shot->short_strings), true);
}

bool lh_shot_save(lh_shot *shot, lh_file *file, lh_taken *taken) {
  if (file->room < shot->longest_bytes && !lh_file_has_room(file, measure_file(shot), false)) {
    return false;
  }
  return write_shot(shot, taken, NULL) == LH_OK && lh_file_finish(file);
}

int lh_take_snapshot(lua_State *L, const char *path, const lh_take_options *options,
                     lh_taken *taken, lh_error *error) {
  lh_file file;
  lh_shot shot = {0};
  lh_taken ignored;
  int rc = lh_file_open(&file, path, error);
  if (rc == LH_OK) rc = lh_shot_prepare(L, path, lh_file_write, &file, options, &shot, error);
  if (rc == LH_OK &&
      !(lh_shot_may_fit(&shot, &file) && lh_shot_save(&shot, &file, taken ? taken : &ignored))) {
    rc = lh_file_fail(&file.failure, path, error);
  }
  if (rc < 0) lh_void_mark(L, &shot.planted);
  lh_shot_free(&shot);
  lh_file_end(&file);
  return rc;
}

/* }=================================================================================== */
