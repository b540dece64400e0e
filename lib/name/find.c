/*
** find.c - finds objects by address, by place in a file or by class (see find.h); and cuts.
**
** A cut is the references that the last step of a path or phrase follows, as if set to nil in Lua;
** for an address, place or class the objects themselves. An entry of a table is cut with its key.
** An upvalue is a variable: its content is cut for all functions that share it, and in its thread
** if the variable is in scope.
*/
#include "find.h"
#include "graph/graph.h"

/* ==== Ranges and sets =============================================================== */

bool lh_range_is(lh_range range, const char *text) {
  return lh_range_length(range) == strlen(text) && memcmp(range.at, text, strlen(text)) == 0;
}

bool lh_range_skip(lh_range *range, const char *prefix) {
  size_t n = strlen(prefix);
  if (lh_range_length(*range) < n || memcmp(range->at, prefix, n) != 0) return false;
  range->at += n;
  return true;
}

bool lh_range_address(lh_range *range, uint64_t *address) {
  lh_range r = *range;
  unsigned n_digits = 0;
  *address = 0;
  if (!lh_range_skip(&r, "0x")) return false;
  for (; r.at < r.end && n_digits <= 16; r.at++, n_digits++) {
    char c = *r.at;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) break;
    *address = *address << 4 | (uint64_t)digit;
  }
  *range = r;
  return n_digits > 0 && n_digits <= 16;
}

bool lh_range_split(lh_range range, const char *text, bool last, lh_range *left, lh_range *right) {
  size_t n = strlen(text), length = lh_range_length(range);
  for (size_t i = 0; n <= length && i <= length - n; i++) {
    const char *at = last ? range.end - n - i : range.at + i;
    if (memcmp(at, text, n) != 0) continue;
    *left = (lh_range){range.at, at};
    *right = (lh_range){at + n, range.end};
    return true;
  }
  return false;
}

bool lh_range_has_star(lh_range range) {
  return memchr(range.at, '*', lh_range_length(range)) != NULL;
}

/* On a mismatch the last star takes one more byte; earlier stars never need to. */
bool lh_range_fits(lh_range range, const char *bytes, size_t n) {
  const char *at = range.at, *after_star = NULL;
  size_t i = 0, resume = 0;
  while (i < n) {
    if (at < range.end && *at == '*') {
      after_star = ++at;
      resume = i;
    } else if (at < range.end && *at == bytes[i]) {
      at++;
      i++;
    } else if (after_star) {
      at = after_star;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (at < range.end && *at == '*') at++;
  return at == range.end;
}

bool lh_set_add(lh_finder *finder, lh_set *set, lh_id id) {
  if (id == LH_ROOT || id > finder->snapshot->n || finder->seen[id] & LH_SEEN) return true;
  if (!lh_grow(&set->ids, set->n, &set->capacity, sizeof *set->ids)) return false;
  finder->seen[id] |= LH_SEEN;
  set->ids[set->n++] = id;
  return true;
}

int lh_set_end(lh_finder *finder, const lh_set *set, bool has_room) {
  for (size_t i = 0; i < set->n; i++) finder->seen[set->ids[i]] &= (uint8_t)~LH_SEEN;
  return has_room ? 0 : lh_find_fail_memory(finder);
}

void lh_set_mark(lh_finder *finder, const lh_set *set, bool on) {
  for (size_t i = 0; i < set->n; i++) {
    uint8_t *seen = &finder->seen[set->ids[i]];
    *seen = (uint8_t)(on ? *seen | LH_MARKED : *seen & ~LH_MARKED);
  }
}

bool lh_is_marked(const lh_finder *finder, lh_id id) {
  return id <= finder->snapshot->n && finder->seen[id] & LH_MARKED;
}

int lh_find_fail(lh_finder *finder, int code, const char *format, lh_range range) {
  char *quoted = lh_escaped(range.at, lh_range_length(range));
  if (quoted)
    code = lh_fail(finder->error, code, format, quoted);
  else
    code = lh_fail_memory(finder->error, "looking for an object");
  lh_free(quoted);
  return code;
}

int lh_find_fail_memory(lh_finder *finder) {
  return lh_fail_memory(finder->error, "looking for an object");
}

int lh_find_fail_text(lh_finder *finder, lh_text *message) {
  char *chars = lh_text_finish(message);
  int code =
      chars ? lh_fail(finder->error, LH_ENOTFOUND, "%s", chars) : lh_find_fail_memory(finder);
  lh_free(chars);
  return code;
}

/* ==== Addresses ===================================================================== */

/* For example "0x55d0", "table: 0x55d0", "thread worker @app.lua:10 (0x55d0)". */
static bool is_address(lh_range range, uint64_t *address) {
  lh_range left, right, before_of, after_of, thread = range;
  if (!lh_range_split(range, "0x", true, &left, &right)) return false;
  right.at -= 2;
  if (!lh_range_address(&right, address)) return false;
  if (lh_range_length(left) == 0) return lh_range_length(right) == 0;
  char before = left.end[-1];
  if (before == '(' && !lh_range_skip(&thread, "thread ") &&
      lh_range_split(left, " of ", true, &before_of, &after_of))
    return false; /* such as: local x in function f of thread g (0x55d0) */
  if (before == '(') return lh_range_is(right, ")");
  return lh_range_length(right) == 0 && (before == ' ' || before == ':');
}

static int find_address(lh_finder *finder, lh_range range, uint64_t address, lh_set *out) {
  lh_id id = lh_find_address(finder->snapshot, address);
  lh_range rest = range;
  if (id == LH_NO_OBJECT && lh_range_skip(&rest, "file ("))
    return lh_find_fail(finder, LH_ENOTFOUND,
                        "no object is at '%s': Lua prints where C's FILE of a file is; "
                        "string.format(\"%%p\", file) gives the object's address",
                        range);
  if (id == LH_NO_OBJECT || id == LH_ROOT)
    return lh_find_fail(finder, LH_ENOTFOUND, "no object of the snapshot is at '%s'", range);
  return lh_set_end(finder, out, lh_set_add(finder, out, id));
}

/* ==== Functions by place ============================================================ */

static bool is_source(const lh_snapshot *snapshot, lh_id source, lh_range asked) {
  const char *bytes;
  size_t n, n_asked = lh_range_length(asked);
  if (source == LH_NO_OBJECT || !lh_string_whole(snapshot, source, &bytes, &n) || n == 0)
    return false;
  if (bytes[0] != '@' && bytes[0] != '=') return false;
  bytes++, n--;
  if (n_asked > n || memcmp(bytes + n - n_asked, asked.at, n_asked) != 0) return false;
  return n == n_asked || bytes[n - n_asked - 1] == '/';
}

/* The prototypes that start at `line`. *inside: the innermost one around the line. */
static int find_protos(lh_finder *finder, lh_range file, uint32_t line, lh_set *out, lh_id *inside,
                       bool *has_file) {
  const lh_snapshot *snapshot = finder->snapshot;
  uint32_t best_line = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    lh_object proto;
    if (lh_type_of(snapshot, id) != LH_TYPE_PROTO || lh_is_dead(snapshot, id)) continue;
    lh_object_at(snapshot, id, &proto);
    if (!is_source(snapshot, proto.as.proto.source, file)) continue;
    *has_file = true;
    if (proto.as.proto.line == line && !lh_set_add(finder, out, id)) return LH_EMEMORY;
    if (proto.as.proto.line < line && line <= proto.as.proto.last_line &&
        proto.as.proto.line >= best_line) {
      best_line = proto.as.proto.line;
      *inside = id;
    }
  }
  return 0;
}

/* If the prototypes have no closures, the result is the prototypes. */
static int closures_of(lh_finder *finder, lh_set *protos, lh_set *out) {
  const lh_snapshot *snapshot = finder->snapshot;
  bool ok = true;
  lh_set_mark(finder, protos, true);
  for (lh_id id = 1; ok && id <= snapshot->n; id++) {
    if (lh_type_of(snapshot, id) == LH_TYPE_CLOSURE &&
        lh_is_marked(finder, lh_proto_of(snapshot, id)))
      ok = lh_set_add(finder, out, id);
  }
  lh_set_mark(finder, protos, false);
  bool has_none = out->n == 0;
  for (size_t i = 0; ok && has_none && i < protos->n; i++)
    ok = lh_set_add(finder, out, protos->ids[i]);
  return ok ? 0 : LH_EMEMORY;
}

static int fail_place(lh_finder *finder, lh_range range, lh_id inside, bool has_file) {
  lh_text text = {0};
  lh_text_string(&text, has_file ? "no function starts at '"
                                 : "no function of the heap comes from the file in '");
  lh_text_escaped(&text, range.at, lh_range_length(range), false);
  lh_text_string(&text, "'");
  if (!has_file) lh_add_no_names(&text, finder->snapshot);
  if (inside != LH_NO_OBJECT) {
    lh_range file = range, digits;
    lh_object proto;
    lh_object_at(finder->snapshot, inside, &proto);
    lh_text_string(&text, ": try the one around it, ");
    (void)lh_range_split(range, ":", true, &file, &digits); /* else no line was given */
    lh_text_escaped(&text, file.at, lh_range_length(file), false);
    lh_text_format(&text, ":%u", proto.as.proto.line);
  }
  return lh_find_fail_text(finder, &text);
}

static int find_by_place(lh_finder *finder, lh_range range, lh_set *out) {
  lh_range file, digits;
  uint64_t line = 0;
  lh_set protos = {0};
  lh_id inside = LH_NO_OBJECT;
  bool has_file = false;
  if (!lh_range_split(range, ":", true, &file, &digits) || lh_range_length(digits) == 0)
    file = range, digits.at = digits.end = range.end; /* a main chunk */
  for (const char *c = digits.at; c < digits.end && line <= UINT32_MAX; c++) {
    if (*c < '0' || *c > '9')
      return lh_find_fail(finder, LH_EARGUMENT, "'%s' is no place: write @file.lua:42", range);
    line = line * 10 + (uint64_t)(*c - '0');
  }
  file.at++;
  int code = find_protos(finder, file, line > UINT32_MAX ? UINT32_MAX : (uint32_t)line, &protos,
                         &inside, &has_file);
  (void)lh_set_end(finder, &protos, true);
  if (!code && protos.n == 0) {
    code = fail_place(finder, range, inside, has_file);
  } else if (!code) {
    code = closures_of(finder, &protos, out);
    (void)lh_set_end(finder, out, true);
  }
  lh_free(protos.ids);
  return code == LH_EMEMORY ? lh_find_fail_memory(finder) : code;
}

/* ==== Classes ======================================================================= */

static bool is_name(lh_range asked, bool pattern, const char *name) {
  return pattern ? lh_range_fits(asked, name, strlen(name)) : lh_range_is(asked, name);
}

bool lh_is_class(const lh_snapshot *snapshot, uint32_t class_index, lh_range name, bool pattern) {
  const lh_class_entry *entry = &snapshot->classes->list[class_index];
  if (is_name(name, pattern, entry->visible.name)) return true;
  return entry->plain != LH_NO_NUMBER &&
         is_name(name, pattern, snapshot->classes->list[entry->plain].visible.name);
}

/* The reachable objects of the class; if there are none, or for `garbage`, the others. An empty
** result is no error. A pattern may be long, so it is compared with each class, not each object. */
static int add_instances(lh_finder *finder, lh_range name, bool pattern, bool garbage,
                         lh_set *out) {
  const lh_snapshot *snapshot = finder->snapshot;
  uint32_t n_classes = lh_class_count(snapshot);
  uint64_t n_reachable = 0, n_garbage = 0;
  bool *matches = lh_alloc(n_classes + (size_t)1, sizeof *matches), has_room = matches != NULL;
  for (uint32_t i = 0; has_room && i < n_classes; i++) {
    const lh_class *class = lh_class_at(snapshot, i);
    matches[i] = lh_is_class(snapshot, i, name, pattern);
    n_reachable += matches[i] ? class->objects : 0;
    n_garbage += matches[i] ? class->garbage_objects : 0;
  }
  garbage = garbage || n_reachable == 0;
  uint32_t n = (garbage ? n_garbage : n_reachable) > 0 ? snapshot->n : 0;
  for (lh_id id = 1; has_room && id <= n; id++) {
    uint32_t class_index = lh_class_of(snapshot, id);
    if (class_index == UINT32_MAX || lh_is_reachable(snapshot, id) == garbage) continue;
    if (matches[class_index]) has_room = lh_set_add(finder, out, id);
  }
  lh_free(matches);
  return lh_set_end(finder, out, has_room);
}

static lh_range trim(lh_range range) {
  while (range.at < range.end && (*range.at == ' ' || *range.at == '\t')) range.at++;
  while (range.at < range.end && (range.end[-1] == ' ' || range.end[-1] == '\t')) range.end--;
  return range;
}

/* "function @app.lua:42" is the function there, whatever its name; *place: "@app.lua:42". */
static bool is_function_at(lh_range range, lh_range *place) {
  *place = range;
  return lh_range_skip(place, "function ") && lh_range_length(*place) > 2 && *place->at == '@' &&
         place->end[-1] >= '0' && place->end[-1] <= '9';
}

/* The name of a class may begin or end with blanks, or begin with @. */
static int find_class_or(lh_finder *finder, lh_range whole, lh_range range, lh_set *out) {
  bool found = false;
  lh_range place;
  int code = add_instances(finder, whole, false, false, out);
  if (!code && out->n == 0) code = add_instances(finder, range, false, false, out);
  if (code || out->n) {
    if (out->n && finder->depth == 1)
      finder->class_index = lh_class_of(finder->snapshot, out->ids[0]);
    return code;
  }
  if (range.at == range.end)
    return lh_find_fail(finder, LH_EARGUMENT, "no object is named in '%s'",
                        (lh_range){finder->start, finder->start + strlen(finder->start)});
  if (*range.at == '@') return find_by_place(finder, range, out);
  code = lh_find_phrase(finder, range, out, &found);
  if (!code && !found && lh_range_has_star(range))
    code = add_instances(finder, range, true, false, out);
  if (!code && !found && out->n == 0 && is_function_at(range, &place))
    return find_by_place(finder, place, out);
  return code || out->n || found ? code : lh_find_path(finder, range, out);
}

int lh_find_set(lh_finder *finder, lh_range range, lh_set *out) {
  lh_range trimmed = trim(range);
  uint64_t address;
  if (++finder->depth > LH_FIND_DEPTH)
    return lh_find_fail(finder, LH_EARGUMENT, "too many phrases in one another: '%s'", trimmed);
  int code = is_address(trimmed, &address) ? find_address(finder, trimmed, address, out)
                                           : find_class_or(finder, range, trimmed, out);
  finder->depth--;
  return code;
}

/* The object's own class, or "array" for an "array of Listener", as asked. */
static uint32_t class_found(const lh_finder *finder, lh_id id) {
  uint32_t own = lh_class_of(finder->snapshot, id);
  const lh_class_entry *entry = &finder->snapshot->classes->list[own];
  lh_range asked = {finder->start, finder->start + strlen(finder->start)};
  const char *name = entry->visible.name;
  return lh_range_is(asked, name) || lh_range_is(trim(asked), name) ? own : entry->plain;
}

/* All objects of the whole expression. The caller frees the set and finder->seen. */
static int find_matches(lh_finder *finder, lh_set *set) {
  const char *end = finder->start + strlen(finder->start);
  if (!finder->snapshot->classes)
    return lh_fail(finder->error, LH_EARGUMENT,
                   "finding needs a classified snapshot (lh_classify)");
  finder->seen = lh_alloc_zeroed((size_t)finder->snapshot->n + 1, 1);
  return finder->seen ? lh_find_set(finder, (lh_range){finder->start, end}, set)
                      : lh_find_fail_memory(finder);
}

int lh_find(lh_snapshot *snapshot, const char *expression, lh_found *found, lh_error *error) {
  lh_finder finder = {
      .snapshot = snapshot, .error = error, .start = expression, .class_index = UINT32_MAX};
  lh_set set = {0};
  int code = find_matches(&finder, &set);
  if (!code) {
    *found = (lh_found){set.ids[0], set.n, finder.class_index};
    for (size_t i = 1; i < set.n; i++) {
      uint64_t bytes = lh_retained_bytes(snapshot, set.ids[i]);
      uint64_t most = lh_retained_bytes(snapshot, found->id);
      if (bytes > most || (bytes == most && set.ids[i] < found->id)) found->id = set.ids[i];
    }
    if (finder.class_index != UINT32_MAX) found->class_index = class_found(&finder, found->id);
  }
  LH_FREE_ALL(set.ids, finder.seen);
  return code;
}

int lh_find_all(lh_snapshot *snapshot, const char *expression, lh_id **ids, size_t *n_ids,
                lh_error *error) {
  lh_finder finder = {
      .snapshot = snapshot, .error = error, .start = expression, .class_index = UINT32_MAX};
  lh_set set = {0};
  int code = find_matches(&finder, &set);
  if (!code && finder.class_index != UINT32_MAX && lh_is_reachable(snapshot, set.ids[0])) {
    lh_range name = {expression, expression + strlen(expression)};
    if (!lh_is_class(snapshot, finder.class_index, name, false)) name = trim(name);
    code = add_instances(&finder, name, false, true, &set);
  }
  if (!code) {
    *ids = set.ids;
    *n_ids = set.n;
    set.ids = NULL;
  }
  LH_FREE_ALL(set.ids, finder.seen);
  return code;
}

/* ==== What an expression cuts ======================================================== */

static bool note_one(lh_edge_list *list, const lh_edge *edge) {
  if (!lh_grow(&list->edges, list->n, &list->capacity, sizeof *list->edges)) return false;
  list->edges[list->n++] = *edge;
  return true;
}

static bool note_edge(lh_finder *finder, const lh_edge *edge) {
  lh_edge_list *list = finder->followed;
  lh_edge other;
  if (!note_one(list, edge)) return false;
  return !lh_may_be_variable(finder->snapshot, edge) || list->n_variables++ >= LH_MOST_VARIABLES ||
         !lh_same_variable(finder->snapshot, edge, &other) || note_one(list, &other);
}

bool lh_follow_edge(lh_finder *finder, const lh_edge *edge) {
  lh_edges it;
  lh_edge content;
  if (!finder->is_last) return true;
  if (edge->kind != LH_EDGE_UPVALUE) return note_edge(finder, edge);
  uint32_t *noted = lh_map_at(&finder->followed->upvalues, edge->target);
  if (!noted || *noted == edge->target) return noted;
  *noted = edge->target;
  for (lh_edges_begin(finder->snapshot, edge->target, &it); lh_edges_next(&it, &content);)
    if (!note_edge(finder, &content)) return false;
  return true;
}

bool lh_follow_entry(lh_finder *finder, lh_id table, lh_value key, lh_value value) {
  lh_edge edge = {.source = table, .name = LH_NO_OBJECT, .holder = LH_NO_OBJECT, .key = key};
  if (!finder->is_last) return true;
  if (key.kind == LH_VALUE_OBJECT) {
    edge.kind = LH_EDGE_KEY;
    edge.target = key.as.object;
    if (!note_edge(finder, &edge)) return false;
  }
  if (value.kind != LH_VALUE_OBJECT) return true;
  edge.kind = LH_EDGE_VALUE;
  edge.target = value.as.object;
  return note_edge(finder, &edge);
}

int lh_find_cut(lh_snapshot *snapshot, const char *expression, lh_without *out, lh_error *error) {
  lh_edge_list followed = {0};
  lh_finder finder = {
      .snapshot = snapshot, .error = error, .start = expression, .followed = &followed};
  lh_set set = {0};
  int code = find_matches(&finder, &set);
  *out = (lh_without){0};
  if (!code && followed.n) {
    out->edges = followed.edges;
    out->n_edges = followed.n;
    followed.edges = NULL;
  } else if (!code) {
    out->objects = set.ids;
    out->n_objects = set.n;
    set.ids = NULL;
  }
  lh_free(followed.edges);
  lh_map_free(&followed.upvalues);
  LH_FREE_ALL(set.ids, finder.seen);
  return code;
}
