/*
** take.c - takes a snapshot: plants the mark, walks the heap, writes the file.
**
** The order: create the file (an unwritable folder shows before anything was done), allocate, plant
** the mark, check for room, walk, give the file its name. If a step after the mark fails, the mark
** is voided. background.c does the same with a fork behind the mark.
**
** A host may run Lua in a thread or a coroutine with a C stack of 16 KB. So nothing large is on the
** stack: an lh_shot and an lh_file have 24 KB, in pages of their own.
*/
#include <unistd.h>

#include "state.h"
#include "take.h"
#include "track/track.h"

/* Planting the mark may add its stack to the sites: room for the deepest without recursion. */
enum { OWN_SITES_BYTES = 1 << 20 };

int lh_shot_prepare(lua_State *L, const char *name, lh_writer writer, void *payload,
                    const lh_take_options *options, lh_shot *shot, lh_error *error) {
  *shot = (lh_shot){.facts = {.name = name, .process_id = (uint64_t)getpid()}};
  lh_facts *facts = &shot->facts;
  uint64_t string_bytes = options ? options->string_bytes : LH_DEFAULT_STRING_BYTES;
  if (!lua_checkstack(L, 2)) return lh_fail_memory(error, "planting a mark");
  const lh_state *state = lh_push_state(L);
  if (!state) return lh_fail(error, LH_EARGUMENT, "lh_attach was not called for this Lua state");
  facts->state_id = state->own.state_id;
  facts->release = state->release;
  facts->ours[0] = lh_state_object(state);
  lua_getiuservalue(L, -1, LH_STATE_METATABLE);
  if (lua_istable(L, -1)) facts->ours[1] = lua_topointer(L, -1); /* else tampered with */
  lua_pop(L, 2);
  lh_watched watched = lh_watch_facts(L);
  facts->ours[2] = watched.own_thread;
  facts->n_finalized = watched.n_finalized;
  const char *global = lh_global_state(L);
  const lh_recorder *recorder = lh_recorder_of(L);
  uint64_t sites_bytes = recorder ? lh_sites_longest(recorder) + OWN_SITES_BYTES : 0;
  uint64_t longest =
      lh_shot_longest(&state->layout, lh_gc_bytes(global), sites_bytes, string_bytes);
  int rc = lh_out_open(&shot->out, longest, writer, payload, error);
  if (rc == LH_OK) rc = lh_plant(L, LH_MARK_BY_SNAPSHOT, name, strlen(name), &shot->planted, error);
  if (rc < 0) return rc;
  facts->serial = shot->planted.serial;
  facts->time_ns = shot->planted.time_ns;
  shot->walk = (lh_walk){.thread = L == watched.own_thread ? watched.running : L,
                         .closes = watched.closes,
                         .recorder = recorder,
                         .more = recorder ? &lh_walk_with_sites : NULL,
                         .string_bytes = string_bytes,
                         .hash_seed = string_bytes ? 0 : state->string_seed};
  lh_shot_aim(shot, global, &state->layout, recorder ? lh_sites_longest(recorder) : 0);
  return LH_OK;
}

int lh_stream_snapshot(lua_State *L, const char *name, lh_writer writer, void *payload,
                       const lh_take_options *options, lh_taken *taken, lh_error *error) {
  lh_taken ignored;
  lh_shot *shot = lh_alloc_pages(sizeof *shot);
  if (!shot) return lh_fail_memory(error, "taking a snapshot");
  int rc = lh_shot_prepare(L, name, writer, payload, options, shot, error);
  if (rc == LH_OK) rc = lh_shot_write(shot, taken ? taken : &ignored, error);
  if (rc < 0) lh_void_mark(L, &shot->planted);
  lh_shot_free(shot);
  lh_free_pages(shot, sizeof *shot);
  return rc;
}

typedef struct taking {
  lh_file file;
  lh_shot shot;
} taking;

static int take_file(lua_State *L, const char *path, const lh_take_options *options, taking *t,
                     lh_taken *taken, lh_error *error) {
  int rc = lh_file_open(&t->file, path, error);
  if (rc == LH_OK) rc = lh_shot_prepare(L, path, lh_file_write, &t->file, options, &t->shot, error);
  if (rc == LH_OK &&
      !(lh_shot_may_fit(&t->shot, &t->file) && lh_shot_save(&t->shot, &t->file, taken)))
    rc = lh_file_fail(&t->file.failure, path, error);
  if (rc < 0) lh_void_mark(L, &t->shot.planted);
  lh_shot_free(&t->shot);
  lh_file_close(&t->file);
  return rc;
}

int lh_take_file(lua_State *L, const char *path, const lh_take_options *options, lh_taken *taken,
                 lh_error *error) {
  lh_taken ignored;
  taking *t = lh_alloc_pages(sizeof *t);
  if (!t) return lh_fail_memory(error, "taking a snapshot");
  int before = lh_hold_cancel();
  int rc = take_file(L, path, options, t, taken ? taken : &ignored, error);
  lh_release_cancel(before);
  lh_free_pages(t, sizeof *t);
  return rc;
}

int lh_take_snapshot(lua_State *L, const char *path, uint64_t string_bytes, lh_error *error) {
  return lh_take_file(L, path, &(lh_take_options){string_bytes}, NULL, error);
}
