/*
** values.c - returns objects of a snapshot as values of the Lua state that it was taken of.
**
** An address alone proves nothing, because memory is reused. But the objects behind a snapshot's
** marks on allgc and finobj existed at that instant, and neither list is ever reordered. So the
** live objects there are the snapshot's, less the freed ones, in the same order: one pass over both
** sequences pairs them. Reused memory lies in front of the marks. Objects that moved are not found:
** those that since got a finalizer (now at the head of finobj), wait for it, or were revived by it.
** fixedgc has no marks, and its objects are never freed.
**
** The pass reads the header of each live object (a cache miss, 5 to 50 ns) and one address for each
** of the snapshot's. It allocates nothing, so that no object is freed meanwhile.
*/
#include "state.h"

typedef struct pass {
  lua_State *L;
  int table; /* index of the table */
  const lh_snapshot *snapshot;
  const lh_id *ids;
  size_t n, at; /* number of ids; ids that are done */
  uint8_t dead_white;
} pass;

/* A function that `load` is still building must not be called: it lacks a prototype or upvalues. */
static bool is_half_built(const raw_lua_closure *c) {
  if (!c->proto || !c->proto->code) return true;
  for (unsigned i = 0; i < c->n_upvalues; i++)
    if (!c->upvalues[i]) return true;
  return false;
}

static bool is_value(const pass *p, const raw_object *o) {
  if (raw_is_dead(o, p->dead_white)) return false;
  switch (o->type) {
    case RAW_LUA_CLOSURE: return !is_half_built((const raw_lua_closure *)o);
    case RAW_SHORT_STRING:
    case RAW_LONG_STRING:
    case RAW_TABLE:
    case RAW_C_CLOSURE:
    case RAW_USERDATA:
    case RAW_THREAD: return true;
    default: return false;
  }
}

/* table[at + 1] = o. No API function turns an address into a value, so we fill in a slot. */
static void hand_out_value(pass *p, const raw_object *o) {
  if (!is_value(p, o) || lh_is_own(p->snapshot, p->ids[p->at])) return;
  lua_pushnil(p->L);
  raw_value *slot = (raw_value *)(uintptr_t)lh_stack_slot(p->L, lua_gettop(p->L));
  slot->as.object = o;
  slot->type = o->type | RAW_COLLECTABLE;
  lua_rawseti(p->L, p->table, (lua_Integer)p->at + 1);
}

static void pair(pass *p, lh_list list, const raw_object *o) {
  uint32_t n_objects = lh_object_count(p->snapshot);
  lh_id id = o ? lh_find_address(p->snapshot, (uintptr_t)o) : LH_NO_OBJECT;
  while (p->at < p->n && p->ids[p->at] < id) p->at++;
  for (; o && id <= n_objects; o = o->next, id++) {
    while (id <= n_objects && lh_address_of(p->snapshot, id) != (uintptr_t)o) id++;
    while (p->at < p->n && p->ids[p->at] < id) p->at++; /* these were freed */
    if (p->at >= p->n || lh_list_of(p->snapshot, p->ids[p->at]) != list) return;
    if (p->ids[p->at] == id) hand_out_value(p, o);
  }
}

/* Is the object on `list`, which is allgc or finobj? */
static bool is_on(const raw_object *o, lh_list list) {
  return ((o->marked & RAW_FINALIZED) != 0) == (list == LH_LIST_FINOBJ);
}

/* Where the pass may start: at ids[0] if the caller's table has it, else at the mark. */
static const raw_object *start_of(const pass *p, lh_list list, const lh_chain *marks) {
  const raw_table *table = (const raw_table *)lh_stack_slot(p->L, p->table)->as.object;
  if (list >= LH_LIST_TOBEFNZ) return raw_list(lh_global_state(p->L), list);
  if (p->at == 0 && raw_array_type(table->array, 0) & RAW_COLLECTABLE) {
    const raw_object *first = raw_array_payload(table->array, 0).object;
    if ((uintptr_t)first == lh_address_of(p->snapshot, p->ids[0]) && is_on(first, list))
      return first;
  }
  const raw_object *half = (const raw_object *)marks->halves[list];
  return is_on(half, list) ? half : NULL;
}

static bool find_own_mark(const lh_state *state, const lh_snapshot *snapshot, lh_chain *chain) {
  const lh_info *info = lh_snapshot_info(snapshot);
  if (info->state_id != state->own.state_id) return false;
  *chain = lh_chain_begin(state);
  while (lh_chain_next(chain))
    if (chain->content->serial == info->serial) return true;
  return false;
}

/* The table must have room for all values, and ids must rise. */
static bool may_pass(const pass *p, const lh_layout *layout) {
  const raw_value *slot = lh_stack_slot(p->L, p->table);
  if (!slot || slot->type != (RAW_TABLE | RAW_COLLECTABLE)) return false;
  if (raw_array_slots(layout, (const raw_table *)slot->as.object) < p->n) return false;
  for (size_t i = 0; i < p->n; i++) {
    if (p->ids[i] == LH_ROOT || p->ids[i] > lh_object_count(p->snapshot)) return false;
    if (i > 0 && p->ids[i] <= p->ids[i - 1]) return false;
  }
  return true;
}

int lh_push_values(lua_State *L, const lh_snapshot *snapshot, const lh_id *ids, size_t n, int table,
                   lh_error *error) {
  lh_chain marks;
  if (!lua_checkstack(L, 2)) return lh_fail_memory(error, "handing out values");
  const lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  if (!find_own_mark(state, snapshot, &marks))
    return lh_fail(error, LH_ENOTFOUND,
                   "the snapshot is not of this Lua state, or its mark was taken away");
  pass p = {.L = L,
            .table = table,
            .snapshot = snapshot,
            .ids = ids,
            .n = n,
            .dead_white = raw_dead_white(&state->layout, lh_global_state(L))};
  if (!may_pass(&p, &state->layout))
    return lh_fail(error, LH_EARGUMENT,
                   "ids must rise, and the table at the index have an array part for all of them");
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    while (p.at < n && lh_list_of(snapshot, ids[p.at]) < list) p.at++;
    if (p.at == n) break;
    if (lh_list_of(snapshot, ids[p.at]) != list || list == LH_LIST_TOBEFNZ) continue;
    pair(&p, list, start_of(&p, list, &marks));
  }
  return LH_OK;
}

lh_id lh_find_value(lua_State *L, const lh_snapshot *snapshot, int index) {
  const raw_value *slot = lh_stack_slot(L, index);
  if (!slot || !(slot->type & RAW_COLLECTABLE)) return LH_NO_OBJECT;
  return lh_find_address(snapshot, (uintptr_t)slot->as.object);
}
