/*
** mark.c - plants marks without waking the collector, and drops marks.
**
** A mark is a userdata, newer than all objects before it on its list and older than all later ones.
** Each serial has two: one stays on allgc; the other gets a metatable with __gc, which moves it to
** the head of finobj. Three disturbances are avoided:
**
** - A collector step. After making a userdata the API checks for a step, but only if no credit is
**   left (raw.h). So the credit is raised, which leaves the true total as it is.
** - A memory error, which would run an emergency collection and jump out with the credit still
**   raised. So the memory is taken from the host's allocator first, and a temporary allocation
**   function hands it to Lua: Lua cannot fail.
** - A sweep. Moving an object to finobj makes Lua sweep on if the sweep stands at the object's
**   `next`. But a sweep starts behind the first survivor of the list, so it never stands at an
**   object newer than itself, as the mark is.
*/
#include "file.h"
#include "state.h"

enum { MARK_USER_VALUES = 1 };

/* Blocks of one size, taken from the host's allocator in advance. */
typedef struct reserve {
  lua_Alloc alloc;
  void *alloc_data;
  size_t bytes;
  void *blocks[2];
  int64_t credit; /* bytes that were added to the collector's credit meanwhile */
} reserve;

static void *hand_out_block(void *data, void *block, size_t old_bytes, size_t bytes) {
  reserve *r = data;
  if (!block && bytes == r->bytes) {
    for (int i = 0; i < 2; i++) {
      void *reserved = r->blocks[i];
      if (!reserved) continue;
      r->blocks[i] = NULL;
      return reserved;
    }
  }
  return r->alloc(r->alloc_data, block, old_bytes, bytes);
}

/* Takes blocks for n (1 or 2) userdata of `content_bytes`. False: no memory, and none is held. */
static bool take_reserve(lua_State *L, const lh_layout *layout, reserve *r, int n,
                         size_t content_bytes) {
  *r = (reserve){0};
  r->alloc = lua_getallocf(L, &r->alloc_data);
  r->bytes = layout->user_values + MARK_USER_VALUES * sizeof(raw_value) + content_bytes;
  for (int i = 0; i < n; i++) {
    r->blocks[i] = r->alloc(r->alloc_data, NULL, LUA_TUSERDATA, r->bytes);
    if (r->blocks[i]) continue;
    if (i > 0) (void)r->alloc(r->alloc_data, r->blocks[0], r->bytes, 0);
    return false;
  }
  return true;
}

/* Until end_silence no allocation wakes the collector, and allocations from the reserve succeed. */
static void begin_silence(lua_State *L, reserve *r) {
  enum { ENOUGH = 1 << 20 };
  int64_t credit = raw_credit(lh_global_state(L));
  r->credit = credit < ENOUGH ? ENOUGH - credit : 0;
  raw_add_credit(lh_global_state(L), r->credit);
  lua_setallocf(L, hand_out_block, r);
}

static void end_silence(lua_State *L, const reserve *r) {
  lua_setallocf(L, r->alloc, r->alloc_data);
  raw_add_credit(lh_global_state(L), -r->credit);
}

/* Pushes one mark whose user value is the value below it on the stack. */
static lh_own_content *push_mark(lua_State *L, const lh_own_content *content, const char *name) {
  lh_own_content *mark =
      lua_newuserdatauv(L, sizeof *mark + content->name_length, MARK_USER_VALUES);
  memcpy(mark, content, sizeof *mark);
  memcpy(mark + 1, name, content->name_length);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1);
  return mark;
}

enum { TIME_NAME_BYTES = 32 };

/* Returns the name's length; 0 if the time cannot be converted. */
static size_t name_by_time(const struct timespec *now, char name[TIME_NAME_BYTES]) {
  struct tm utc;
  if (gmtime_r(&now->tv_sec, &utc) == NULL) return 0;
  return strftime(name, TIME_NAME_BYTES, "%Y-%m-%d %H:%M:%S", &utc);
}

int lh_plant(lua_State *L, uint8_t kind, const char *name, size_t name_length, lh_planted *planted,
             lh_error *error) {
  reserve r;
  struct timespec now;
  char time_name[TIME_NAME_BYTES];
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (name == NULL) {
    name = time_name;
    name_length = name_by_time(&now, time_name);
  }
  if (name_length > LH_MARK_NAME_BYTES)
    return lh_fail(error, LH_EARGUMENT, "the name of a mark is longer than %d bytes",
                   LH_MARK_NAME_BYTES);
  if (!lua_checkstack(L, 6)) return lh_fail_memory(error, "planting a mark");
  lh_state *state = lh_push_state(L);
  if (!state) return lh_fail(error, LH_EARGUMENT, "lh_attach was not called for this Lua state");
  if (state->tells_work && raw_is_at_work(&state->layout, lh_global_state(L))) {
    lua_pop(L, 1);
    return lh_fail(error, LH_EBUSY, "Lua is moving a stack or sweeping: not from an allocation");
  }
  if (!take_reserve(L, &state->layout, &r, 2, sizeof(lh_own_content) + name_length)) {
    lua_pop(L, 1);
    return lh_fail_memory(error, "planting a mark");
  }
  *planted = (lh_planted){.serial = ++state->last_serial};
  planted->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  lh_own_content content = {.magic = LH_OWN_MAGIC,
                            .state_id = state->own.state_id,
                            .time_ns = planted->time_ns,
                            .serial = planted->serial,
                            .kind = kind,
                            .name_length = (uint16_t)name_length};
  begin_silence(L, &r);
  lua_getiuservalue(L, -1, LH_STATE_NEWEST_MARK); /* state, newest */
  planted->contents[0] = push_mark(L, &content, name);
  planted->contents[1] = push_mark(L, &content, name); /* state, newest, one, two */
  end_silence(L, &r);
  if (lua_getiuservalue(L, -4, LH_STATE_METATABLE) != LUA_TTABLE) { /* tampered with */
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_setmetatable(L, -2);
  lua_setiuservalue(L, -4, LH_STATE_NEWEST_MARK);
  lua_pop(L, 3);
  return LH_OK;
}

void lh_void_mark(lua_State *L, const lh_planted *planted) {
  if (planted->serial == 0) return;
  for (int i = 0; i < 2; i++) planted->contents[i]->kind = LH_MARK_VOID;
  lh_drop_mark(L, planted->serial);
}

void *lh_push_userdata(lua_State *L, const void *tag, size_t bytes, lh_error *error) {
  reserve r;
  const lh_state *state = lua_checkstack(L, 1) ? lh_find_state(L, error) : NULL;
  if (!state) return NULL;
  if (!take_reserve(L, &state->layout, &r, 1, sizeof(lh_own_content) + bytes)) {
    (void)lh_fail_memory(error, "making a userdata");
    return NULL;
  }
  begin_silence(L, &r);
  lh_own_content *own = lua_newuserdatauv(L, sizeof *own + bytes, MARK_USER_VALUES);
  end_silence(L, &r);
  *own = (lh_own_content){.magic = LH_OWN_MAGIC, .kind = LH_MARK_STATE, .tag = tag};
  return memset(own + 1, 0, bytes);
}

void *lh_test_userdata(lua_State *L, int index, const void *tag) {
  lh_own_content *own = lh_test_own(L, index, tag);
  return own ? own + 1 : NULL;
}

int lh_mark(lua_State *L, const char *name, size_t name_length, lh_error *error) {
  lh_planted planted;
  return lh_plant(L, LH_MARK_BY_MARK, name, name_length, &planted, error);
}

int lh_sizeof(lua_State *L, int index, uint64_t *bytes, lh_error *error) {
  const lh_state *state = lh_push_state(L); /* first, because it may move the stack */
  if (state) lua_pop(L, 1);
  const raw_value *slot = lh_stack_slot(L, index);
  if (!state || !slot)
    return lh_fail(error, LH_EARGUMENT, "no value at this index, or lh_attach was not called");
  *bytes = 0;
  if (slot->type & RAW_COLLECTABLE) {
    const void *main_thread = raw_main_thread(&state->layout, lh_global_state(L));
    *bytes = lh_walk_shallow_bytes(&state->layout, main_thread, slot->as.object) +
             raw_external_bytes(&state->layout, slot->as.object);
  }
  return LH_OK;
}

/* ==== Marks by period ============================================================== */

/* Periodic marks are limited in number, for programs that run for months. Each is named with its
** time. Planting the 129th drops every second one; the caller then doubles its period. The first
** and the last stay. So 64 to 128 steps cover the whole life of the state, in 27 KB at most.
**
** Dropping a mark voids both of its userdata, so that no reader takes them for marks, and removes
** them from the chain of user values (state.h), so that Lua may collect them. It allocates nothing
** and runs nothing. The write barrier may turn the next younger mark gray again, as planting does
** with our state. A dropped mark's finalizer does nothing.
**
** Named marks and marks of snapshots are never dropped by period: files and people refer to them.
** Nobody outside its heap refers to a periodic mark, or to the mark of a snapshot that was not
** written. */

enum {
  MOST_MARKS = 128,
  CHAIN = LH_STATE_NEWEST_MARK /* user value of the state and of each mark */
};

/* The content of the mark on top of the stack; NULL for any other value. */
static lh_own_content *top_mark(lua_State *L, const lh_state *state) {
  lh_own_content *content = lua_touserdata(L, -1);
  bool ours = lua_type(L, -1) == LUA_TUSERDATA && lua_rawlen(L, -1) >= sizeof *content &&
              content->magic == LH_OWN_MAGIC && content->state_id == state->own.state_id &&
              content->kind != LH_MARK_STATE;
  return ours ? content : NULL;
}

/* Calls `dropped` for each mark, the newest first, and drops the marks for which it returns true.
** The state is on top of the stack. The chain leads from it to the two userdata of the newest mark,
** then to those of the next. The program may have made it a circle with its debug library: so there
** are at most as many steps as serials. */
static void drop_marks(lua_State *L, lh_state *state,
                       bool (*dropped)(const lh_own_content *mark, void *payload), void *payload) {
  int top = lua_gettop(L);
  lua_pushvalue(L, -1); /* holder: its user value is the next mark */
  for (uint32_t left = state->last_serial; left > 0; left--) {
    (void)lua_getiuservalue(L, top + 1, CHAIN);
    lh_own_content *one = top_mark(L, state);
    if (!one) break;
    (void)lua_getiuservalue(L, top + 2, CHAIN);
    lh_own_content *other = top_mark(L, state);
    if (!other || other->serial != one->serial) break;
    if (dropped(one, payload)) {
      one->kind = other->kind = LH_MARK_VOID;
      (void)lua_getiuservalue(L, top + 3, CHAIN);
      (void)lua_setiuservalue(L, top + 1, CHAIN);
    } else {
      lua_copy(L, top + 3, top + 1);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

typedef struct thinning {
  bool drop; /* whether the last periodic mark was dropped */
  uint32_t n_left;
} thinning;

/* Every second periodic mark, but not the newest. */
static bool is_second(const lh_own_content *mark, void *payload) {
  thinning *t = payload;
  if (!mark->periodic) return false;
  t->drop = !t->drop;
  t->n_left += !t->drop;
  return t->drop;
}

static bool has_serial(const lh_own_content *mark, void *payload) {
  return mark->serial == *(const uint32_t *)payload;
}

void lh_drop_mark(lua_State *L, uint32_t serial) {
  if (!lua_checkstack(L, 5)) return;
  lh_state *state = lh_push_state(L);
  if (!state) return;
  drop_marks(L, state, has_serial, &serial);
  lua_pop(L, 1);
}

int lh_mark_period(lua_State *L, bool *thinned, lh_error *error) {
  lh_planted planted;
  int rc = lh_plant(L, LH_MARK_BY_MARK, NULL, 0, &planted, error);
  if (thinned) *thinned = false;
  if (rc < 0) return rc;
  planted.contents[0]->periodic = planted.contents[1]->periodic = 1;
  lh_state *state =
      lh_push_state(L); /* lh_plant has reserved stack slots for this and for drop_marks */
  if (++state->n_periodic > MOST_MARKS) {
    thinning t = {.drop = true};
    drop_marks(L, state, is_second, &t);
    state->n_periodic = t.n_left;
    if (thinned) *thinned = true;
  }
  lua_pop(L, 1);
  return LH_OK;
}
