/*
** matched.c - Finds where a mark would stand in a later snapshot of the same state.
** A snapshot from outside the process leaves no mark in the heap. Objects stand on a list in the
** order of allocation and never move. So, from its old end, a list of the later snapshot has the
** surviving objects, in the same order, and then the new ones. A survivor has the same address,
** type and constant properties: content of a string, size of a userdata, function of a closure. The
** mark belongs before the first object without a match in order.
** So no old object is called new. A new one passes as old only if it is the next, at the address of
** a dead object of its kind that was younger than all survivors. Two figures bound their number
** (passed_at_most): the longest run of certainly new objects that could pass, and the distance to
** enough unchanged objects (same entries or upvalues). Of objects that pass, few are unchanged, and
** never four.
** Measured with 100 seeds (tests/compare/test_matched.c), twelve kinds of programs, both collector
** modes: in 455,712 comparisons no old object was called new; in 4 of 100 new ones passed, mostly 1
** to 3, at most 484, and never more than the bound, 4 to 32 on average. This is no proof: objects
** rebuilt alike in the same order at the same addresses cannot be told apart.
** One pass over the later snapshot, with a lookup in the earlier one for each object.
*/
#include "compare.h"

#include "read/decode.h"

/* ==== Same object? ================================================================== */

static bool is_whole_string(const lh_object *string) {
  return string->as.string.kept == string->as.string.length;
}

/* Hashes made with a secret of a process or tool prove nothing. */
static bool has_open_hash(const lh_snapshot *s) {
  return s->info.string_limit > 0;
}

static bool may_have_hash(const lh_snapshot *s, const lh_object *whole, uint64_t hash) {
  return !has_open_hash(s) || lh_hash(whole->as.string.bytes, whole->as.string.length, 0) == hash;
}

static bool may_be_same_string(const lh_snapshot *a, const lh_object *x, const lh_snapshot *b,
                               const lh_object *y) {
  uint64_t n = x->as.string.kept < y->as.string.kept ? x->as.string.kept : y->as.string.kept;
  if (x->shallow_bytes != y->shallow_bytes) return false;
  if (memcmp(x->as.string.bytes, y->as.string.bytes, n) != 0) return false;
  if (is_whole_string(x)) return is_whole_string(y) || may_have_hash(b, x, y->as.string.hash);
  if (is_whole_string(y)) return may_have_hash(a, y, x->as.string.hash);
  return !has_open_hash(a) || !has_open_hash(b) || x->as.string.hash == y->as.string.hash;
}

/* A closure has no function yet while Lua creates it. */
static bool may_be_same_closure(const lh_snapshot *a, const lh_object *x, const lh_snapshot *b,
                                const lh_object *y) {
  if (x->as.closure.is_c != y->as.closure.is_c || x->as.closure.upvalues != y->as.closure.upvalues)
    return false;
  if (x->as.closure.is_c) return x->as.closure.function == y->as.closure.function;
  return x->as.closure.proto == LH_NO_OBJECT || y->as.closure.proto == LH_NO_OBJECT ||
         lh_address_of(a, x->as.closure.proto) == lh_address_of(b, y->as.closure.proto);
}

/* Lines of a function are 0 until the parser knows them. */
static bool may_be_same_proto(const lh_object *x, const lh_object *y) {
  return (x->as.proto.line == 0 || x->as.proto.line == y->as.proto.line) &&
         (x->as.proto.last_line == 0 || x->as.proto.last_line == y->as.proto.last_line);
}

/* A dead object has no match, except a string, which the program may revive. An object that died
** later may be any object. */
static bool may_be_same(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now) {
  lh_object x, y;
  lh_type type = lh_type_of(a, then);
  if (type != lh_type_of(b, now)) return false;
  if (lh_is_dead(a, then)) return type == LH_TYPE_STRING;
  if (lh_is_dead(b, now) || type == LH_TYPE_TABLE || type == LH_TYPE_THREAD) return true;
  lh_object_at(a, then, &x);
  lh_object_at(b, now, &y);
  switch (type) {
    case LH_TYPE_STRING: return may_be_same_string(a, &x, b, &y);
    case LH_TYPE_CLOSURE: return may_be_same_closure(a, &x, b, &y);
    case LH_TYPE_UPVALUE:
      return x.as.upvalue.open || !y.as.upvalue.open; /* a closed upvalue
                                                                             never opens again */
    case LH_TYPE_PROTO: return may_be_same_proto(&x, &y);
    case LH_TYPE_USERDATA:
      return x.as.userdata.bytes == y.as.userdata.bytes &&
             x.as.userdata.user_values == y.as.userdata.user_values;
    default: return true;
  }
}

/* ==== Unchanged? ==================================================================== */

static bool is_same_value(const lh_snapshot *a, const lh_value *x, const lh_snapshot *b,
                          const lh_value *y) {
  if (x->kind != y->kind) return false;
  switch (x->kind) {
    case LH_VALUE_OBJECT: return lh_address_of(a, x->as.object) == lh_address_of(b, y->as.object);
    case LH_VALUE_BOOLEAN: return x->as.boolean == y->as.boolean;
    case LH_VALUE_NIL:
    case LH_VALUE_ABSENT: return true;
    default: return x->as.integer == y->as.integer; /* all bits of a number or pointer */
  }
}

static bool has_same_entries(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now) {
  lh_edges at_a, at_b;
  lh_value key_a, key_b, value_a, value_b;
  bool more_a, more_b, any = false;
  lh_entries_begin(a, then, &at_a);
  lh_entries_begin(b, now, &at_b);
  for (;; any = true) {
    more_a = lh_entries_next(&at_a, &key_a, &value_a);
    more_b = lh_entries_next(&at_b, &key_b, &value_b);
    if (!more_a || !more_b) return any && more_a == more_b;
    if (!is_same_value(a, &key_a, b, &key_b) || !is_same_value(a, &value_a, b, &value_b))
      return false;
  }
}

static bool has_same_references(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now) {
  lh_edges at_a, at_b;
  lh_edge edge_a, edge_b;
  bool more_a, more_b, any = false;
  lh_edges_begin(a, then, &at_a);
  lh_edges_begin(b, now, &at_b);
  for (;; any = true) {
    more_a = lh_edges_next(&at_a, &edge_a);
    more_b = lh_edges_next(&at_b, &edge_b);
    if (!more_a || !more_b) return any && more_a == more_b;
    if (lh_address_of(a, edge_a.target) != lh_address_of(b, edge_b.target)) return false;
  }
}

/* True if a table or function has the same contents, and at least one. */
static bool is_unchanged(const lh_snapshot *a, lh_id then, const lh_snapshot *b, lh_id now) {
  if (lh_is_dead(a, then) || lh_is_dead(b, now)) return false;
  return lh_type_of(b, now) == LH_TYPE_TABLE ? has_same_entries(a, then, b, now)
                                             : has_same_references(a, then, b, now);
}

/* ==== One list ====================================================================== */

/* One list of both snapshots, walked from the old end. */
typedef struct pass {
  const lh_snapshot *earlier, *later;
  lh_list list;
  lh_matched_place *places;
  uint32_t n_placed;     /* marks of the earlier snapshot that have a place */
  uint32_t at, at_then;  /* next marks of both that the program may have set */
  lh_id anchor;          /* youngest mark in both heaps; 0: none */
  lh_id newest;          /* objects with lower ids are younger than the earlier snapshot */
  lh_id older;           /* youngest object called older */
  lh_id behind;          /* objects with lower ids are called younger */
  lh_id last;            /* match of the last object called older */
  uint32_t n, n_certain; /* objects called older; those behind a mark in both heaps */
} pass;

/* True if the mark is in the heap itself. */
static bool is_real(const lh_snapshot *s, uint32_t mark) {
  bool is_own = s->is_outside && mark + 1 == s->n_marks;
  return !is_own && !(s->placed && s->placed[mark].is_placed);
}

/* Is the mark in the earlier heap, too? The next search begins at *then. */
static bool is_in_both(const pass *p, uint32_t mark, uint32_t *then) {
  const lh_snapshot *a = p->earlier;
  const lh_mark_info *info = &p->later->marks[mark];
  while (*then < a->n_marks && a->marks[*then].time_ns < info->time_ns) ++*then;
  return *then < a->n_marks && is_real(a, *then) &&
         lh_is_mark(info, a->marks[*then].serial, a->marks[*then].time_ns) &&
         a->mark_ids[*then][p->list] > 0;
}

/* Marks that the program set divide both lists at the same moments. */
static void find_anchors(pass *p) {
  const lh_snapshot *b = p->later;
  uint32_t then = 0;
  for (uint32_t i = 0; i < b->n_marks; i++) {
    lh_id id = b->mark_ids[i][p->list];
    if (!is_real(b, i) || id == 0) continue;
    if (is_in_both(p, i, &then)) {
      p->anchor = id;
    } else if (b->marks[i].time_ns > p->earlier->info.time_ns) {
      p->newest = id + 1;
      return;
    }
  }
}

static lh_id find_then(const pass *p, lh_id now) {
  lh_id then = lh_find_header(p->earlier, lh_address_of(p->later, now));
  if (then == LH_NO_OBJECT || lh_is_own(p->earlier, then)) return LH_NO_OBJECT;
  if (lh_list_of(p->earlier, then) != p->list) return LH_NO_OBJECT;
  return may_be_same(p->earlier, then, p->later, now) ? then : LH_NO_OBJECT;
}

/* Places the earlier snapshot's marks that are older than `then`; 0: all that are left, also the
** youngest ones, which may have 0 themselves. */
static void place_marks(pass *p, lh_id then) {
  const lh_snapshot *a = p->earlier;
  while (p->n_placed < a->n_marks && (then == 0 || then < a->mark_ids[p->n_placed][p->list])) {
    lh_matched_place *place = &p->places[p->n_placed++];
    place->ids[p->list] = p->older;
    place->n[p->list] = p->n;
  }
}

static void call_older(pass *p, lh_id now, lh_id then) {
  place_marks(p, then);
  p->older = now;
  p->last = then;
}

/* Handles an object of luaheap, which may be a mark in both heaps. */
static void meet_own(pass *p, lh_id now) {
  const lh_snapshot *b = p->later;
  while (p->at < b->n_marks && b->mark_ids[p->at][p->list] > now) p->at++;
  if (p->at == b->n_marks || b->mark_ids[p->at][p->list] != now || !is_real(b, p->at)) return;
  if (!is_in_both(p, p->at, &p->at_then)) return;
  call_older(p, now, p->earlier->mark_ids[p->at_then][p->list]);
  p->n_certain = p->n;
}

/* Walks up to the first object that cannot be older. */
static void follow_list(pass *p) {
  p->last = p->earlier->list_first[p->list + 1];
  p->older = p->later->list_first[p->list + 1];
  for (p->behind = p->older; p->behind > p->newest; p->behind--) {
    lh_id now = p->behind - 1;
    if (lh_is_own(p->later, now)) {
      meet_own(p, now);
      continue;
    }
    lh_id then = find_then(p, now);
    bool fits = then != LH_NO_OBJECT && then < p->last;
    if (!fits && now > p->anchor && p->anchor > 0) continue;
    if (!fits) break;
    call_older(p, now, then);
    p->n++;
  }
  place_marks(p, 0);
}

/* Returns the longest run of objects called younger that could pass as older. */
static uint32_t longest_run(const pass *p) {
  uint32_t longest = 0, run = 0;
  lh_id last = LH_NO_OBJECT;
  for (lh_id end = p->behind; end > p->later->list_first[p->list]; end--) {
    if (lh_is_own(p->later, end - 1)) continue;
    lh_id then = find_then(p, end - 1);
    run = then == LH_NO_OBJECT ? 0 : then < last ? run + 1 : 1;
    last = then;
    if (run > longest) longest = run;
  }
  return longest;
}

/* Evidence of age. Lua does not make a short string again while it exists. */
enum { UNCHANGED_TELLS = 16, STRING_TELLS = 1, ENOUGH = 64 };

static unsigned evidence_of(const pass *p, lh_id now) {
  lh_id then = find_then(p, now);
  if (then == LH_NO_OBJECT) return 0;
  if (lh_type_of(p->later, now) == LH_TYPE_STRING)
    return lh_is_interned(p->later, now) ? STRING_TELLS : 0;
  return is_unchanged(p->earlier, then, p->later, now) ? UNCHANGED_TELLS : 0;
}

/* An upper bound, as the head of this file explains. */
static uint32_t passed_at_most(const pass *p) {
  uint32_t n = 0, run = longest_run(p), most = p->n - p->n_certain;
  unsigned evidence = 0;
  for (lh_id now = p->older; n < most && evidence < ENOUGH; now++) {
    if (lh_is_own(p->later, now)) continue;
    evidence += evidence_of(p, now);
    n += evidence < ENOUGH;
  }
  if (n < run) n = run;
  return n < most ? n : most;
}

/* The bound for n objects behind an older mark: passed when it was placed, or now so far back. */
static uint32_t passed_behind(const pass *p, uint32_t mark, uint32_t n, uint32_t passed) {
  const lh_placed *placed = p->earlier->placed;
  uint64_t then = placed ? placed[mark].passed[p->list] : 0;
  uint64_t now = passed > p->n - n ? passed - (p->n - n) : 0;
  return then + now < n ? (uint32_t)(then + now) : n;
}

static void match_list(const lh_snapshot *earlier, const lh_snapshot *later, lh_list list,
                       lh_matched_place *places) {
  pass p = {.earlier = earlier, .later = later, .list = list, .places = places};
  p.newest = later->list_first[list];
  find_anchors(&p);
  follow_list(&p);
  uint32_t passed = passed_at_most(&p);
  for (uint32_t i = 0; i < earlier->n_marks; i++)
    places[i].passed[list] = passed_behind(&p, i, places[i].n[list], passed);
}

void lh_match(const lh_snapshot *earlier, const lh_snapshot *later, lh_matched_place *places) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    match_list(earlier, later, list, places);
}

bool lh_find_own_mark(const lh_snapshot *earlier, const lh_snapshot *later, uint32_t *mark) {
  for (uint32_t i = later->n_marks; i-- > 0;) {
    if (!lh_is_mark(&later->marks[i], earlier->info.serial, earlier->info.time_ns)) continue;
    *mark = i;
    return true;
  }
  return false;
}

static int place_mark(const lh_snapshot *earlier, lh_snapshot *later, lh_error *error) {
  uint32_t mark;
  if (lh_find_own_mark(earlier, later, &mark)) return LH_OK;
  lh_matched_place *places = lh_alloc(earlier->n_marks, sizeof *places);
  if (!places) return lh_fail_memory(error, "comparing snapshots");
  lh_match(earlier, later, places);
  const lh_matched_place *place = &places[earlier->n_marks - 1];
  lh_placed placed = {true, {place->passed[0], place->passed[1]}};
  int code =
      lh_add_mark(later, &earlier->marks[earlier->n_marks - 1], place->ids, &placed, &mark, error);
  lh_free(places);
  return code;
}

bool lh_is_same_state(const lh_snapshot *a, const lh_snapshot *b) {
  return a->info.state_id == b->info.state_id;
}

bool lh_is_earlier(const lh_snapshot *a, const lh_snapshot *b) {
  bool are_numbered = lh_is_same_state(a, b) && !a->is_outside && !b->is_outside;
  return are_numbered ? a->info.serial < b->info.serial : a->info.time_ns < b->info.time_ns;
}

int lh_place_marks(lh_snapshot *const *snapshots, size_t n, lh_error *error) {
  int code = LH_OK;
  for (size_t i = 0; i < n && !code; i++)
    for (size_t k = 0; k < n && !code; k++)
      if (lh_is_same_state(snapshots[i], snapshots[k]) && lh_is_earlier(snapshots[i], snapshots[k]))
        code = place_mark(snapshots[i], snapshots[k], error);
  return code;
}
