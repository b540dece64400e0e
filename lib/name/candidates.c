/*
** candidates.c - finds names for metatables and functions: keys, upvalues, local variables.
**
** The best name of each wins: by lh_name_rank, then the shortest, then the first in the alphabet.
** So the result does not depend on addresses. Only objects that refer to a wanted one are decoded.
*/
#include "names.h"
#include "read/decode.h"

static bool is_wanted(const lh_namer *namer, lh_id id) {
  return id != LH_NO_OBJECT && namer->flags[id] & LH_WANTED;
}

/* Functions are named by prototype, because its closures are alike; other objects by themselves. */
static lh_id subject_of(const lh_namer *namer, lh_id target) {
  if (lh_type_of(namer->snapshot, target) != LH_TYPE_CLOSURE) return target;
  return lh_is_c_closure(namer->snapshot, target) ? target : lh_proto_of(namer->snapshot, target);
}

const lh_candidate *lh_candidate_of(const lh_namer *namer, lh_id id) {
  uint32_t i = lh_map_get(&namer->candidate_of, id);
  return i == LH_NO_NUMBER ? NULL : &namer->candidates[i];
}

static int compare_candidates(const lh_namer *namer, const lh_candidate *a, const lh_candidate *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->text == b->text && a->qualifier == b->qualifier) return 0;
  const char *x = lh_namer_chars(namer, a->text), *y = lh_namer_chars(namer, b->text);
  if (strlen(x) != strlen(y)) return strlen(x) < strlen(y) ? -1 : 1;
  int order = strcmp(x, y);
  if (order || a->qualifier == b->qualifier) return order;
  if (a->qualifier == LH_NO_NUMBER || b->qualifier == LH_NO_NUMBER)
    return a->qualifier == LH_NO_NUMBER ? 1 : -1;
  return strcmp(lh_namer_chars(namer, a->qualifier), lh_namer_chars(namer, b->qualifier));
}

/* A callback with several names gets none; nor do closures of one prototype with different names,
** for example results of memoize(f). But one function may be both print and _G.log. */
static void note_ambiguity(const lh_namer *namer, lh_candidate *candidate, lh_candidate *best) {
  const char *name = lh_namer_chars(namer, candidate->text);
  bool several = best->several || candidate->closure != best->closure;
  bool other = best->other_names || strcmp(name, lh_namer_chars(namer, best->text)) != 0;
  best->several = candidate->several = several;
  best->other_names = candidate->other_names = other;
  best->ambiguous = candidate->ambiguous =
      other && (several || candidate->rank >= LH_NAME_CAPITAL_KEY);
}

static void propose(lh_namer *namer, lh_id target, lh_candidate candidate) {
  lh_id subject = subject_of(namer, target);
  if (namer->failed || subject == LH_NO_OBJECT || candidate.rank >= LH_NAME_NONE) return;
  uint32_t *index = lh_map_at(&namer->candidate_of, subject);
  candidate.closure = target;
  namer->flags[target] |= LH_NAMED;
  if (lh_namer_fails(namer, !index)) return;
  if (*index != LH_NO_NUMBER) {
    lh_candidate *best = &namer->candidates[*index];
    int order = compare_candidates(namer, &candidate, best);
    bool is_other_closure = subject != target && best->closure != target;
    if (candidate.rank == best->rank || is_other_closure) note_ambiguity(namer, &candidate, best);
    if (order < 0) *best = candidate;
    return;
  }
  if (lh_namer_fails(namer, !lh_grow(&namer->candidates, namer->n_candidates,
                                     &namer->candidate_capacity, sizeof *namer->candidates)))
    return;
  *index = (uint32_t)namer->n_candidates;
  namer->candidates[namer->n_candidates++] = candidate;
}

/* ==== How good a name is ============================================================ */

static bool is_generic(const char *name, bool of_function) {
  static const char *const names[] = {
      "callback",  "cb",     "fn",      "fun",       "func",     "handler", /* of functions */
      "base",      "class",  "cls",     "index",     "instance", "instance_mt", "meta",
      "metatable", "method", "methods", "module",    "mt",       "obj",         "object",
      "parent",    "proto",  "proxy",   "prototype", "self",     "static",      "super",
      "this",      "val",    "value",   "_M",        "_mt",      "metamethods"};
  enum { OF_FUNCTIONS = 6 };
  if (strlen(name) <= 1) return true;
  for (size_t i = of_function ? 0 : OF_FUNCTIONS; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* Removes suffixes: session_mt names its instances session. Returns the length that remains. */
static size_t strip_suffix(const char *name, size_t n) {
  static const char *const suffixes[] = {"_metatable", "_prototype", "_methods",  "_proto",
                                         "_meta",      "_mt",        "Metatable", "Methods",
                                         "Meta",       "Mt",         "MT"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t length = strlen(suffixes[i]);
    if (n > length && memcmp(name + n - length, suffixes[i], length) == 0) n -= length;
  }
  while (n > 1 && name[n - 1] == '_') n--;
  return n;
}

static bool is_capital(const char *name) {
  return name[0] >= 'A' && name[0] <= 'Z';
}

/* Ranks a name by `rank`, which says where it was found, and by its spelling. */
static lh_candidate weigh(lh_namer *namer, const char *name, size_t n, uint32_t rank,
                          bool of_function) {
  lh_candidate c = {LH_NAME_NONE, LH_NO_NUMBER, LH_NO_NUMBER, .container = LH_NO_OBJECT};
  char small[64];
  if (n == 0 || n >= sizeof small || !lh_is_identifier(name, n)) return c;
  memcpy(small, name, n);
  small[n] = '\0';
  c.rank = rank;
  bool is_dunder = n > 2 && memcmp(name, "__", 2) == 0;
  if (is_dunder && rank != LH_NAME_GLOBAL) {
    c.rank = LH_NAME_DUNDER;
  } else if (of_function) {
    if (is_generic(small, true)) c.rank = LH_NAME_GENERIC;
  } else {
    if (rank == LH_NAME_KEY && is_capital(small)) c.rank = LH_NAME_CAPITAL_KEY;
    if (rank == LH_NAME_VARIABLE && is_capital(small)) c.rank = LH_NAME_CAPITAL;
    if (!is_generic(small, false)) n = strip_suffix(small, n);
    small[n] = '\0';
    if (is_generic(small, false)) c.rank = LH_NAME_GENERIC;
  }
  c.text = lh_namer_string(namer, small, n);
  return c;
}

/* ==== Where a name comes from ======================================================= */

/* app.bus is in app/bus.lua. */
static int compare_slashed(const char *a, size_t n_a, const char *b, size_t n_b) {
  for (size_t i = 0; i < n_a && i < n_b; i++) {
    char x = a[i] == '.' ? '/' : a[i], y = b[i] == '.' ? '/' : b[i];
    if (x != y) return x < y ? -1 : 1;
  }
  return (n_a > n_b) - (n_a < n_b);
}

static int compare_modules(const void *left, const void *right, void *payload) {
  const char *a = lh_namer_chars(payload, *(const lh_text_id *)left);
  const char *b = lh_namer_chars(payload, *(const lh_text_id *)right);
  int order = compare_slashed(a, strlen(a), b, strlen(b));
  return order ? order : strcmp(a, b);
}

static bool sort_modules(lh_namer *namer) {
  const lh_map *modules = &namer->classes->modules;
  namer->module_names = lh_alloc(modules->n, sizeof *namer->module_names);
  if (!namer->module_names) return false;
  for (size_t i = 0; i < modules->n; i++)
    namer->module_names[namer->n_module_names++] = modules->values[i];
  if (namer->n_module_names > 1)
    qsort_r(namer->module_names, namer->n_module_names, sizeof *namer->module_names,
            compare_modules, namer);
  return true;
}

static int compare_module(const lh_namer *namer, size_t i, const char *path, size_t n) {
  const char *name = lh_namer_chars(namer, namer->module_names[i]);
  return compare_slashed(name, strlen(name), path, n);
}

static lh_text_id find_module(const lh_namer *namer, const char *path, size_t n) {
  size_t at;
  LH_LOWER_BOUND(at, namer->n_module_names, compare_module(namer, at, path, n) < 0);
  bool found = at < namer->n_module_names && compare_module(namer, at, path, n) == 0;
  return found ? namer->module_names[at] : LH_NO_NUMBER;
}

static lh_text_id qualifier_of_source(lh_namer *namer, lh_id source) {
  const char *path;
  size_t n;
  if (source == LH_NO_OBJECT || !lh_string_whole(namer->snapshot, source, &path, &n))
    return LH_NO_NUMBER;
  if (n < 2 || path[0] != '@') return LH_NO_NUMBER;
  path++, n--;
  size_t stem = n > 4 && memcmp(path + n - 4, ".lua", 4) == 0 ? n - 4 : n;
  if (stem > 5 && memcmp(path + stem - 5, "/init", 5) == 0) stem -= 5;
  for (size_t i = 0; i < stem; i++) { /* the longest first */
    lh_text_id module =
        i == 0 || path[i - 1] == '/' ? find_module(namer, path + i, stem - i) : LH_NO_NUMBER;
    if (module != LH_NO_NUMBER) return module;
  }
  size_t start = n;
  while (start > 0 && path[start - 1] != '/') start--;
  lh_text text = {0};
  lh_text_escaped(&text, path + start, n - start, false);
  return lh_namer_text(namer, &text);
}

/* The name of a source file for users: its module's, else the last part of its path. */
static lh_text_id qualifier_of(lh_namer *namer, lh_id proto) {
  lh_object object;
  if (proto == LH_NO_OBJECT || lh_type_of(namer->snapshot, proto) != LH_TYPE_PROTO)
    return LH_NO_NUMBER;
  lh_object_at(namer->snapshot, proto, &object);
  if (object.dead || object.as.proto.source == LH_NO_OBJECT) return LH_NO_NUMBER;
  uint32_t known = lh_map_get(&namer->sources, object.as.proto.source);
  if (known != LH_NO_NUMBER) return known;
  lh_text_id made = qualifier_of_source(namer, object.as.proto.source);
  uint32_t *slot = lh_map_at(&namer->sources, object.as.proto.source);
  if (!lh_namer_fails(namer, !slot)) *slot = made;
  return made;
}

/* ==== The sweep ===================================================================== */

static uint32_t rank_of_container(const lh_namer *namer, lh_id table) {
  const lh_classes *classes = namer->classes;
  if (table == classes->globals) return LH_NAME_GLOBAL;
  if (table == classes->loaded) return LH_NAME_MODULE;
  if (lh_map_get(&classes->modules, table) != LH_NO_NUMBER) return LH_NAME_MODULE_FIELD;
  return LH_NAME_KEY;
}

static lh_candidate weigh_key(lh_namer *namer, lh_id table, lh_id key, uint32_t rank,
                              bool of_function) {
  lh_candidate c = {LH_NAME_NONE, LH_NO_NUMBER, LH_NO_NUMBER, .container = table};
  const char *name;
  size_t n;
  if (!lh_string_whole(namer->snapshot, key, &name, &n) || n == 0) return c;
  if (rank == LH_NAME_MODULE) {
    lh_text text = {0};
    lh_text_escaped(&text, name, n, false);
    c.rank = rank;
    c.text = lh_namer_text(namer, &text);
    return c;
  }
  c = weigh(namer, name, n, rank, of_function);
  c.container = table;
  if (rank == LH_NAME_MODULE_FIELD) c.qualifier = lh_map_get(&namer->classes->modules, table);
  return c;
}

/* Caches the last result for a key: a million records may have one field. */
static lh_candidate weigh_field(lh_namer *namer, lh_id table, lh_id key, bool of_function) {
  lh_weighed *seen = &namer->weighed[key % LH_WEIGHED];
  if (!seen->is_set || seen->key != key || seen->of_function != of_function)
    *seen = (lh_weighed){true, of_function, key,
                         weigh_key(namer, table, key, LH_NAME_KEY, of_function)};
  lh_candidate c = seen->candidate;
  c.container = table;
  return c;
}

static void look_into_table(lh_namer *namer, lh_id table) {
  const lh_snapshot *s = namer->snapshot;
  uint32_t rank = rank_of_container(namer, table);
  for (uint32_t e = s->first_edge[table]; e < s->first_edge[table + 1] && !namer->failed; e++) {
    if (!(s->label[e] & LH_LABEL_KEYED)) continue;
    lh_id target = lh_true_target(s, e), key = lh_true_target(s, e - 1);
    /* for example its own __index */
    if (target == table || !is_wanted(namer, target)) continue;
    bool is_function = lh_type_of(s, target) == LH_TYPE_CLOSURE;
    /* A C function in an ordinary table may be a result of coroutine.wrap: no library's. */
    if (is_function && rank == LH_NAME_KEY && lh_is_c_closure(s, target)) continue;
    propose(namer, target,
            rank == LH_NAME_KEY ? weigh_field(namer, table, key, is_function)
                                : weigh_key(namer, table, key, rank, is_function));
  }
}

static void look_at_variable(lh_namer *namer, lh_id target, lh_id variable, lh_id proto) {
  const char *name;
  size_t n;
  if (!is_wanted(namer, target) || !lh_string_whole(namer->snapshot, variable, &name, &n)) return;
  bool is_function = lh_type_of(namer->snapshot, target) == LH_TYPE_CLOSURE;
  lh_candidate c = weigh(namer, name, n, LH_NAME_VARIABLE, is_function);
  if (c.rank == LH_NAME_GENERIC) c.qualifier = qualifier_of(namer, proto);
  propose(namer, target, c);
}

static void look_into_closure(lh_namer *namer, lh_id closure) {
  const lh_snapshot *s = namer->snapshot;
  for (uint32_t e = s->first_edge[closure]; e < s->first_edge[closure + 1] && !namer->failed; e++) {
    if (lh_label_kind(s->label[e]) != LH_EDGE_UPVALUE) continue;
    lh_id content = lh_content_of_upvalue(s, s->edge[e]);
    if (!is_wanted(namer, content)) continue;
    lh_id name = lh_name_of_upvalue(s, closure, e);
    if (name != LH_NO_OBJECT) look_at_variable(namer, content, name, lh_proto_of(s, closure));
  }
}

static bool has_wanted_local(const lh_namer *namer, lh_id thread) {
  const lh_snapshot *s = namer->snapshot;
  for (uint32_t e = s->first_edge[thread]; e < s->first_edge[thread + 1]; e++)
    if (lh_label_kind(s->label[e]) == LH_EDGE_LOCAL && is_wanted(namer, s->edge[e])) return true;
  return false;
}

static void look_into_thread(lh_namer *namer, lh_id thread) {
  lh_edges it;
  lh_edge edge;
  if (!has_wanted_local(namer, thread)) return;
  lh_edges_begin(namer->snapshot, thread, &it);
  while (!namer->failed && lh_edges_next(&it, &edge)) {
    if (edge.kind != LH_EDGE_LOCAL || edge.name == LH_NO_OBJECT) continue;
    lh_id proto = edge.holder == LH_NO_OBJECT ? LH_NO_OBJECT : subject_of(namer, edge.holder);
    look_at_variable(namer, edge.target, edge.name, proto);
  }
}

/* Does `id` refer to a wanted object, apart from its own metatable (its first edge)? For a closure,
** also by an upvalue's content. */
static bool leads_to_wanted(const lh_namer *namer, lh_id id, lh_type type) {
  const lh_snapshot *snapshot = namer->snapshot;
  const lh_id *edge = snapshot->edge;
  const uint8_t *flags = namer->flags;
  uint32_t e = snapshot->first_edge[id], end = snapshot->first_edge[id + 1];
  if (type != LH_TYPE_CLOSURE) {
    uint32_t meta = namer->classes->of[id]; /* still the number of its metatable, see classes.c */
    bool has_one = type == LH_TYPE_TABLE && meta != LH_NO_NUMBER;
    lh_id metatable = has_one ? namer->metas[meta].id : LH_ROOT;
    while (e < end && (!(flags[edge[e]] & LH_WANTED) || edge[e] == metatable)) e++;
    return e < end;
  }
  for (; e < end; e++) {
    lh_id content = lh_content_of_upvalue(snapshot, edge[e]);
    if (is_wanted(namer, content != LH_NO_OBJECT ? content : edge[e])) return true;
  }
  return false;
}

/* If some closures of a prototype have a name and another has none, the name is ambiguous. */
static void look_for_unnamed(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    if (lh_type_of(snapshot, id) != LH_TYPE_CLOSURE || namer->flags[id] & LH_NAMED ||
        snapshot->distance[id] == UINT32_MAX)
      continue;
    uint32_t i = lh_map_get(&namer->candidate_of, namer->classes->of[id]);
    if (i != LH_NO_NUMBER) namer->candidates[i].ambiguous = true;
  }
}

void lh_find_candidates(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  if (!sort_modules(namer)) namer->failed = true;
  for (lh_id id = 1; id <= snapshot->n && !namer->failed; id++) {
    lh_type type = lh_type_of(snapshot, id);
    if (type != LH_TYPE_TABLE && type != LH_TYPE_CLOSURE && type != LH_TYPE_THREAD) continue;
    if (snapshot->distance[id] == UINT32_MAX || lh_is_own(snapshot, id)) continue;
    if (!leads_to_wanted(namer, id, type)) continue;
    if (type == LH_TYPE_TABLE)
      look_into_table(namer, id);
    else if (type == LH_TYPE_CLOSURE)
      look_into_closure(namer, id);
    else
      look_into_thread(namer, id);
  }
  look_for_unnamed(namer);
}
