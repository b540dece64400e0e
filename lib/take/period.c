/*
** period.c - marks by period, bounded in number, for programs that run for months; and dropping
** marks.
**
** Each periodic mark is named with its time. When the 129th is planted, every second one is
** dropped, so that the first and the last stay and the steps between those that are left are twice
** as long: so are those to come, if the caller doubles its period now. So 64 to 128 steps cover the
** whole life of the state, in 27 KB at most.
**
** To drop a mark is to void both of its userdata, so that no reader takes them for one, and to take
** them out of the chain of user values (state.h), so that Lua may collect them. That allocates
** nothing and runs nothing: the write barrier of the user value may turn the next younger mark gray
** again, as planting does with our state, and a finalizer that does nothing is called when the
** collector finds the dropped one. Marks of snapshots and those with a name are never dropped by
** period: other files and people refer to them. Nobody refers to a periodic mark but by its place
** in the heap that it is in; and to that of a snapshot nobody does that was never in a file.
*/
#include "state.h"

enum { MOST_MARKS = 128, CHAIN = LH_STATE_NEWEST_MARK /* user value, of each mark too */ };

/* The content of the mark on top of the stack; NULL where something else is. */
static lh_own_content *top_mark(lua_State *L, const lh_state *state) {
  lh_own_content *content = lua_touserdata(L, -1);
  bool ours = lua_type(L, -1) == LUA_TUSERDATA && lua_rawlen(L, -1) >= sizeof *content &&
              content->magic == LH_OWN_MAGIC && content->state_id == state->own.state_id &&
              content->kind != LH_MARK_STATE;
  return ours ? content : NULL;
}

/* Calls `dropped` for each mark, the newest first, and drops those that it says. On top of the
** stack is the state; behind it in the chain come the two userdata of the newest mark, those of the
** next one, and so on. The program may have changed user values with its debug library, even to a
** circle: but there are no more marks than serials. */
static void drop_marks(lua_State *L, lh_state *state,
                       bool (*dropped)(const lh_own_content *mark, void *payload), void *payload) {
  int top = lua_gettop(L);
  lua_pushvalue(L, -1); /* holder: what has the next mark for its user value */
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
  bool drop; /* what the last one was told */
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
  lh_state *state = lh_push_state(L); /* lh_plant has made room on the stack for it, and for thin */
  if (++state->n_periodic > MOST_MARKS) {
    thinning t = {.drop = true};
    drop_marks(L, state, is_second, &t);
    state->n_periodic = t.n_left;
    if (thinned) *thinned = true;
  }
  lua_pop(L, 1);
  return LH_OK;
}
