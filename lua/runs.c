/*
** runs.c - `require "heap.runs"`, in heap.so: C functions of heap/leaks.lua, heap/busted_watch.lua.
** Captures are analysed as if the call, or a test framework, were not there. Trials keep, outside
** of the Lua heap, the results for the runs of a function.
*/
#include "host.h"
#include "live/live.h"

/* ==== Analyses ======================================================================= */

/* Without the n objects, the frames of the function at `index`, and the frames of its callees. */
static int analyse_below(lua_State *L, hr_snapshot *of, int index, const lh_id *objects, size_t n,
                         lh_error *error) {
  of->analyse = NULL;
  return hl_analyse_below(of->snapshot, lh_find_value(L, of->snapshot, index), objects, n, error);
}

/* analyse(snapshot, function, objects): without the listed objects, which must be alive, the frames
** of `function`, and the frames of its callees. Classes keep their first names. */
static int analyse(lua_State *L) {
  enum { MOST_OBJECTS = 64 };
  hr_snapshot *of = hr_check_snapshot(L, 1);
  lh_id objects[MOST_OBJECTS];
  size_t n_objects = 0;
  lh_error error;
  for (lua_Integer i = 1; lua_istable(L, 3) && n_objects < MOST_OBJECTS; i++) {
    if (lua_rawgeti(L, 3, i) == LUA_TNIL) break;
    lh_id id = lh_find_value(L, of->snapshot, lua_gettop(L));
    if (id != LH_NO_OBJECT) objects[n_objects++] = id;
    lua_pop(L, 1);
  }
  hr_check(L, analyse_below(L, of, 2, objects, n_objects, &error), &error);
  return 0;
}

/* ==== Trials ========================================================================= */

static const char trial_kind[] = "heap.trial";

enum { MOST_MARKS = 256 };

/* Four marks are planted for each doubling of the runs. */
typedef struct trial {
  const char *kind;
  lh_trial *trial;
  bool again;        /* the function itself holds some of the latest snapshot */
  bool tracks;       /* this trial tracks the state */
  lua_Integer n_own; /* objects that the trial made since the first mark */
  size_t n_marks;
  uint32_t serials[MOST_MARKS];
  uint64_t runs[MOST_MARKS]; /* runs before each mark */
} trial;

static trial *check_trial(lua_State *L, int index) {
  return hr_check_is(L, index, trial_kind);
}

/* __close and __gc: drops the marks, ends the tracking and frees the trial. */
static int end_trial(lua_State *L) {
  trial *t = check_trial(L, 1);
  for (size_t i = 0; i < t->n_marks; i++) lh_drop_mark(L, t->serials[i]);
  t->n_marks = 0;
  if (t->tracks) (void)lh_untrack(L, NULL);
  t->tracks = false;
  lh_trial_free(t->trial);
  t->trial = NULL;
  return 0;
}

/* trial() --> trial */
static int new_trial(lua_State *L) {
  static const luaL_Reg events[] = {{"__close", end_trial}, {"__gc", end_trial}, {NULL, NULL}};
  lh_error error;
  trial *t = hr_new(L, trial_kind, sizeof *t, 0);
  hr_push_kind(L, trial_kind, events);
  lua_setmetatable(L, -2);
  hr_check(L, lh_trial_new(&t->trial, &error), &error);
  return 1;
}

/* track(trial) --> entries: tracks the state until the trial ends. That leaves some entries of
** tables, which are luaheap's: returns their number. Changes nothing if tracking fails or was
** already on. */
static int track(lua_State *L) {
  trial *t = check_trial(L, 1);
  uint64_t before = 0, after = 0;
  lh_error error;
  hr_stay_loaded();
  hr_check(L, lh_count_entries(L, &before, &error), &error);
  t->tracks |= lh_track(L, &(lh_track_options){.brief = true, .stacks = true}, NULL) == LH_OK;
  hr_check(L, lh_count_entries(L, &after, &error), &error);
  if (t->n_marks > 0) t->n_own += (lua_Integer)(after - before); /* one entry for each object */
  lua_pushinteger(L, (lua_Integer)(after - before));
  return 1;
}

/* mark(trial, name, runs) */
static int mark(lua_State *L) {
  size_t length;
  trial *t = check_trial(L, 1);
  const char *name = luaL_checklstring(L, 2, &length);
  lh_error error;
  luaL_argcheck(L, t->n_marks < MOST_MARKS, 1, "too many marks");
  hr_check(L, lh_mark(L, name, length, &error), &error);
  t->serials[t->n_marks] = hl_newest_mark(L);
  t->runs[t->n_marks++] = (uint64_t)luaL_checkinteger(L, 3);
  return 0;
}

/* young(trial) --> number of living objects, without luaheap's own, that were made after the first
** mark and before the last but one */
static int young(lua_State *L) {
  enum { OWN = 2 }; /* objects of a mark */
  const trial *t = check_trial(L, 1);
  lh_epoch_count epochs[MOST_MARKS + 1];
  lh_counts counts;
  lh_error error;
  lua_Integer n = 0;
  hr_check(L, lh_count_objects(L, &counts, epochs, t->n_marks + 1, &error), &error);
  for (size_t i = 1; i + 1 < t->n_marks; i++) n += (lua_Integer)epochs[i].allocated.objects - OWN;
  lua_pushinteger(L, n - t->n_own);
  return 1;
}

static void set_cut(const trial *t, lh_trial_step *step, int cut, uint64_t runs) {
  step->serials[cut] = UINT32_MAX;
  step->runs[cut] = 0;
  for (size_t i = 0; i < t->n_marks && t->runs[i] <= runs; i++) {
    step->serials[cut] = t->serials[i];
    step->runs[cut] = t->runs[i];
  }
}

/* The step from `before`, the runs at the previous snapshot, to `now`. */
static lh_trial_step step_of(const trial *t, uint64_t before, uint64_t now) {
  lh_trial_step step = {.runs[LH_TRIAL_CUTS] = now};
  uint64_t n = now - before;
  const uint64_t cuts[LH_TRIAL_CUTS] = {
      0, before - before / 8, before, before + n / 4, before + n / 2, before + n - n / 4};
  for (int i = 0; i < LH_TRIAL_CUTS; i++) set_cut(t, &step, i, cuts[i]);
  return step;
}

/* add(trial, snapshot, main, f, runs before, runs now): adds the snapshot without `f` and the
** frames of `main`, and then the objects that f holds. */
static int add_snapshot(lua_State *L) {
  trial *t = check_trial(L, 1);
  hr_snapshot *of = hr_check_snapshot(L, 2);
  lh_trial_step step =
      step_of(t, (uint64_t)luaL_checkinteger(L, 5), (uint64_t)luaL_checkinteger(L, 6));
  lh_id f = lh_find_value(L, of->snapshot, 4);
  lh_error error;
  hr_check(L, analyse_below(L, of, 3, &f, f != LH_NO_OBJECT, &error), &error);
  hr_check(L, lh_trial_add(t->trial, of->snapshot, &step, false, &t->again, &error), &error);
  if (!t->again) return 0;
  hr_check(L, hl_analyse(of->snapshot, HL_WHOLE, &error), &error);
  hr_check(L, lh_trial_add(t->trial, of->snapshot, &step, true, NULL, &error), &error);
  return 0;
}

/* verdict(trial) --> "nothing", "open" or "certain" */
static int verdict(lua_State *L) {
  static const char *const names[] = {"nothing", "open", "certain"};
  lh_trial_verdict found;
  lh_error error;
  hr_check(L, lh_trial_next(check_trial(L, 1)->trial, &found, &error), &error);
  lua_pushstring(L, names[found]);
  return 1;
}

static void free_leaks(void *content) {
  lh_leaks *leaks = content;
  lh_free(leaks->rows);
  lh_free(leaks->classes);
}

static void push_leak(lua_State *L, hr_snapshot *of, const lh_leak *leak) {
  const lh_allocated *where = &leak->allocated;
  double runs = (double)leak->runs;
  lua_createtable(L, 0, 9);
  hr_set_number(L, "per_run", (double)leak->objects / runs);
  hr_set_string(L, "class", leak->class_name);
  hr_set_string(L, "type", lh_type_name(leak->type));
  hr_set_string(L, "held_by", leak->held_by);
  hr_set_string(L, "fingerprint", leak->fingerprint);
  if (leak->entries) {
    hr_set_boolean(L, "entries", true);
  } else {
    hr_set_number(L, "objects_per_run", (double)leak->new_objects / runs);
    hr_set_number(L, "bytes_per_run", (double)leak->new_bytes / runs);
  }
  if (leak->unsteady) hr_set_boolean(L, "unsteady", true);
  if (where->stack == 0) return;
  const lh_sites *sites = lh_snapshot_sites(of->snapshot);
  hr_push_text(L, of, lh_allocated_text(sites, where->stack, where->callers));
  lua_setfield(L, -2, "allocated");
}

/* `list`: index of the list of leaks; `classes`: of the table of objects per run of each class. */
static void add_leaks(lua_State *L, trial *t, hr_snapshot *of, bool again, bool all, int list,
                      int classes) {
  lh_error error;
  lh_leaks *leaks = hr_hold(L, 2, sizeof *leaks, free_leaks);
  int code = lh_trial_leaks(t->trial, of->snapshot, again, all, leaks, &error);
  hr_check(L, hr_filled(L, -1, code), &error);
  for (size_t i = 0; i < leaks->n_rows; i++) {
    push_leak(L, of, &leaks->rows[i]);
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
  }
  for (size_t i = 0; i < leaks->n_classes; i++) {
    const lh_leaked_class *class = &leaks->classes[i];
    lua_pushstring(L, class->name);
    lua_pushvalue(L, -1);
    (void)lua_rawget(L, classes);
    lua_pushnumber(L, lua_tonumberx(L, -1, NULL) + (double)class->objects / (double)leaks->runs);
    lua_remove(L, -2);
    lua_rawset(L, classes);
  }
  hr_release(L, -1);
  lua_pop(L, 1);
}

/* leaks(trial, snapshot, main, f, all) --> rows, {class = objects per run}: of the snapshot added
** last, which stays analysed as after `add`. `all`: also leaks that may still have a bound. */
static int leaks(lua_State *L) {
  enum { LIST = 6, CLASSES };
  trial *t = check_trial(L, 1);
  hr_snapshot *of = hr_check_snapshot(L, 2);
  lh_error error;
  bool all = lua_toboolean(L, 5);
  lua_settop(L, 5);
  lua_newtable(L);
  lua_newtable(L);
  if (t->again) {
    lh_id f = lh_find_value(L, of->snapshot, 4);
    add_leaks(L, t, of, true, all, LIST, CLASSES);
    hr_check(L, analyse_below(L, of, 3, &f, f != LH_NO_OBJECT, &error), &error);
  }
  add_leaks(L, t, of, false, all, LIST, CLASSES);
  if (t->again) hr_check(L, hl_analyse(of->snapshot, HL_WHOLE, &error), &error);
  return 2;
}

__attribute__((visibility("default"))) int luaopen_heap_runs(lua_State *L);

int luaopen_heap_runs(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"analyse", analyse}, {"trial", new_trial},  {"track", track},
      {"mark", mark},       {"add", add_snapshot}, {"young", young},
      {"verdict", verdict}, {"leaks", leaks},      {NULL, NULL}};
  if (!HR_IS_AT_HOME(L)) return 0;
  lua_createtable(L, 0, 8);
  luaL_setfuncs(L, functions, 0);
  return 1;
}
