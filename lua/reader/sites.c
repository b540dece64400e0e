/*
** sites.c - where the objects of a program that was tracked were allocated. A site is a table that
** prints as its text; a stack is a list of them, the site itself first and its outermost caller
** last, with what was made and freed there.
*/
#include "handles.h"

/* A stack that is deeper was made up: Lua's own have at most 200 calls of C and fold recursion. */
enum { MOST_CALLS = 1000, TOLD_CALLERS = 1 };

/* object.site: its text; nil where it is not known. */
int hr_site(lua_State *L) {
  const hr_object *o = hr_check_object(L);
  const lh_snapshot *snapshot = hr_opened(L, o->of);
  lh_stack_id stack = lh_object_stack(snapshot, o->id);
  if (stack == 0) return 0;
  hr_push_text(L, o->of, lh_stack_text(lh_snapshot_sites(snapshot), stack, 0));
  return 1;
}

/* Pushes a site of the snapshot, which is held. */
static void push_site(lua_State *L, hr_snapshot *of, const lh_site *site) {
  hr_push_list(L, "heap.site", 0);
  hr_push_text(L, of, lh_site_text(site));
  lua_setfield(L, -2, "text");
  hr_set_string(L, "maker", lh_maker_name(site->maker));
  hr_set_string(L, "file", site->source);
  hr_set_string(L, "function", site->function);
  hr_set_string(L, "c_function", site->c_function);
  if (site->line != 0) hr_set_integer(L, "line", site->line);
  if (site->source) hr_set_integer(L, "first_line", site->first_line);
}

/* object.stack: nil where it is not known. */
int hr_stack(lua_State *L) {
  const hr_object *o = hr_check_object(L);
  const lh_snapshot *snapshot = hr_opened(L, o->of);
  const lh_stack_id of_object = lh_object_stack(snapshot, o->id);
  lh_stack_id stack = of_object;
  if (stack == 0) return 0;
  lh_stack_counts counts = lh_stack_counts_of(snapshot, stack);
  lua_settop(L, 1);
  (void)lua_getiuservalue(L, 1, 1);
  (void)hr_hold(L, 2, 0, NULL);
  hr_push_list(L, "heap.stack", 0);
  for (lua_Integer i = 1; stack != 0 && i <= MOST_CALLS; i++) {
    const lh_stack *call = lh_stack_of(lh_snapshot_sites(snapshot), stack);
    push_site(L, o->of, lh_site_of(lh_snapshot_sites(snapshot), call->site));
    lua_rawseti(L, -2, i);
    stack = call->parent;
  }
  hr_push_text(L, o->of, lh_allocated_text(lh_snapshot_sites(snapshot), of_object, TOLD_CALLERS));
  lua_setfield(L, -2, "allocated");
  hr_set_integer(L, "made_objects", counts.made_objects);
  hr_set_integer(L, "made_bytes", counts.made_bytes);
  hr_set_integer(L, "freed_objects", counts.freed_objects);
  hr_set_integer(L, "freed_bytes", counts.freed_bytes);
  hr_let_go(L, 3);
  return 1;
}

/* snapshot.tracking: nil where the program was not tracked. */
int hr_tracking(lua_State *L) {
  const lh_tracking *found = lh_snapshot_tracking(hr_check_snapshot(L, 1)->snapshot);
  if (!found) return 0;
  lh_tracking tracking = *found;
  lua_createtable(L, 0, 4);
  hr_set_boolean(L, "stacks", tracking.has_stacks);
  hr_set_integer(L, "sample_bytes", tracking.sample_bytes);
  hr_set_integer(L, "made", tracking.made);
  hr_set_integer(L, "unattributed", tracking.unattributed);
  return 1;
}
