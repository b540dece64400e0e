/*
** functions.c - names functions, prototypes and coroutines.
**
** A Lua function has the name that the enclosing code gives it (the writer found it in the
** bytecode), else the key or variable of a closure. A C function has its key in a loaded module or
** _G, with the module's name in front, else its symbol and place, if taken from outside. Names have
** no addresses, so they are the same in all runs.
*/
#include "names.h"
#include "read/decode.h"

static void put_in_map(lh_namer *namer, lh_map *map, lh_id key, lh_id value) {
  uint32_t *at = lh_map_at(map, key);
  if (at) *at = value;
  namer->failed |= !at;
}

void lh_collect_nested_names(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  for (lh_id id = 1; id <= snapshot->n && !namer->failed; id++) {
    lh_edges it;
    lh_edge edge;
    lh_object around;
    if (lh_type_of(snapshot, id) != LH_TYPE_PROTO || lh_is_dead(snapshot, id)) continue;
    lh_object_at(snapshot, id, &around);
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) {
      if (edge.kind != LH_EDGE_NESTED) continue;
      bool is_inside = around.as.proto.line > 0;
      if (is_inside) namer->flags[edge.target] |= LH_INSIDE;
      if (is_inside) put_in_map(namer, &namer->around, edge.target, id);
      if (edge.name != LH_NO_OBJECT) put_in_map(namer, &namer->nested, edge.target, edge.name);
    }
  }
}

/* "off", or "bus.off" with a holder; an odd key: "bus[\"(\"]". False: the file lacks the key. */
static bool add_field(lh_text *text, const lh_snapshot *snapshot, const char *holder, lh_id key) {
  const char *bytes;
  size_t n;
  bool is_odd = lh_string_whole(snapshot, key, &bytes, &n) && !lh_is_identifier(bytes, n);
  if (holder) lh_text_format(text, is_odd ? "%s" : "%s.", holder);
  if (!is_odd) return lh_add_name(text, snapshot, key);
  lh_add_key(text, snapshot, (lh_value){.kind = LH_VALUE_OBJECT, .as.object = key}, true);
  return true;
}

/* Light C functions are no objects, but stack frames need their names. */
static void collect_from(lh_namer *namer, lh_id table, const char *module) {
  lh_text text = {0};
  lh_edges it;
  lh_value key, value;
  lh_entries_begin(namer->snapshot, table, &it);
  while (!namer->failed && lh_entries_next(&it, &key, &value)) {
    if (value.kind != LH_VALUE_CFUNCTION || key.kind != LH_VALUE_OBJECT) continue;
    if (!add_field(&text, namer->snapshot, module, key.as.object)) {
      lh_text_clear(&text);
      continue;
    }
    lh_text_id name = lh_namer_text(namer, &text);
    uint32_t *known = lh_map_at(&namer->classes->c_functions, value.as.pointer);
    if (lh_namer_fails(namer, !known || namer->failed)) break;
    if (*known == LH_NO_NUMBER ||
        strcmp(lh_namer_chars(namer, name), lh_namer_chars(namer, *known)) < 0)
      *known = name;
  }
  lh_text_free(&text);
}

void lh_collect_c_functions(lh_namer *namer) {
  lh_classes *classes = namer->classes;
  for (size_t i = 0; i < classes->modules.n; i++)
    collect_from(namer, (lh_id)classes->modules.keys[i],
                 lh_namer_chars(namer, classes->modules.values[i]));
  /* A function in _G has its bare name: print, not _G.print. */
  if (classes->globals != LH_NO_OBJECT) collect_from(namer, classes->globals, NULL);
}

static lh_text_id name_with_place(lh_namer *namer, lh_text *text, size_t n_own) {
  lh_text_id name = lh_namer_text(namer, text);
  if (!namer->failed) put_in_map(namer, &namer->classes->named, name, (uint32_t)n_own);
  return namer->failed ? LH_NO_NUMBER : name;
}

static lh_text_id name_in_lua(lh_namer *namer, lh_text *text, const lh_object *proto) {
  size_t n_own = text->n;
  lh_add_source(text, namer->snapshot, proto->as.proto.source);
  lh_text_mark(text, LH_MARK_BEGIN);
  if (proto->as.proto.line) lh_text_format(text, ":%u", proto->as.proto.line);
  lh_text_mark(text, LH_MARK_END);
  return name_with_place(namer, text, n_own);
}

static bool add_own_name(lh_namer *namer, lh_text *text, lh_id proto) {
  lh_id name = lh_map_get(&namer->nested, proto);
  const lh_candidate *candidate = lh_candidate_of(namer, proto);
  bool is_known = candidate && !candidate->ambiguous;
  if (name != LH_NO_OBJECT && add_field(text, namer->snapshot, NULL, name))
    lh_text_string(text, " ");
  else if (is_known)
    lh_text_format(text, "%s ", lh_namer_chars(namer, candidate->text));
  else
    return false;
  return true;
}

const char *lh_function_label(const lh_namer *namer, lh_id id, lh_text_id name) {
  lh_object proto;
  lh_object_at(namer->snapshot, id, &proto);
  bool is_main = proto.as.proto.line == 0;
  return lh_namer_chars(namer, name) + (is_main ? 0 : strlen("function "));
}

lh_text_id lh_function_name(lh_namer *namer, lh_id id) {
  const lh_snapshot *snapshot = namer->snapshot;
  uint32_t *known = lh_map_at(&namer->classes->functions, id);
  if (lh_namer_fails(namer, !known)) return LH_NO_NUMBER;
  if (*known != LH_NO_NUMBER) return *known;
  lh_text text = {.marks = true};
  lh_object proto;
  lh_object_at(snapshot, id, &proto);
  if (proto.as.proto.line == 0) {
    lh_text_string(&text, "main chunk ");
  } else {
    lh_text_string(&text, "function ");
    (void)add_own_name(namer, &text, id);
  }
  *known = name_in_lua(namer, &text, &proto);
  return *known;
}

/* The thread that is the only upvalue of a C function, as in the results of coroutine.wrap. */
static lh_id only_thread(const lh_snapshot *snapshot, lh_id closure) {
  lh_id found = LH_NO_OBJECT;
  lh_edges it;
  lh_edge edge;
  for (lh_edges_begin(snapshot, closure, &it); lh_edges_next(&it, &edge);) {
    bool is_thread = lh_type_of(snapshot, edge.target) == LH_TYPE_THREAD;
    if (!is_thread || lh_is_dead(snapshot, edge.target) || found != LH_NO_OBJECT)
      return LH_NO_OBJECT;
    found = edge.target;
  }
  return found;
}

/* "coroutine worker @app.lua:31". A function written inside coroutine.wrap(...) gets the name of
** the nearest named function around it, and its own line. */
static lh_text_id name_of_coroutine(lh_namer *namer, lh_id proto) {
  enum { MOST_AROUND = 8 };
  lh_text text = {.marks = true};
  lh_object code;
  lh_id at = proto;
  lh_object_at(namer->snapshot, proto, &code);
  lh_text_string(&text, code.as.proto.line == 0 ? "coroutine main chunk " : "coroutine ");
  for (int i = 0; i < MOST_AROUND && at != LH_NO_NUMBER && !add_own_name(namer, &text, at); i++)
    at = lh_map_get(&namer->around, at);
  return name_in_lua(namer, &text, &code);
}

/* Found once for each thread. LH_NO_NUMBER: the closure is no result of coroutine.wrap. */
static lh_text_id name_of_wrapped(lh_namer *namer, lh_id closure, bool *specific) {
  lh_id thread = only_thread(namer->snapshot, closure), proto;
  lh_object object;
  if (thread == LH_NO_OBJECT) return LH_NO_NUMBER;
  lh_text_id name = lh_map_get(&namer->classes->functions, thread);
  lh_text_id unknown = lh_namer_string(namer, "function [C]", 12);
  *specific = name != unknown;
  if (name != LH_NO_NUMBER || namer->failed) return name;
  (void)lh_thread_name(namer, thread, &proto, specific);
  if (namer->failed) return LH_NO_NUMBER;
  lh_object_at(namer->snapshot, thread, &object);
  *specific = !object.as.thread.is_main && *specific;
  if (proto != LH_NO_OBJECT)
    name = name_of_coroutine(namer, proto);
  else
    name = *specific ? lh_namer_string(namer, "coroutine (finished)", 20) : unknown;
  put_in_map(namer, &namer->classes->functions, thread, name);
  return namer->failed ? LH_NO_NUMBER : name;
}

/* Symbols may be long and have any bytes. */
static void add_bounded(lh_text *text, const char *name) {
  size_t n = strnlen(name, LH_NAME_BYTES);
  if (n == LH_NAME_BYTES) n = lh_text_cut(name, n);
  lh_text_escaped(text, name, n, false);
}

bool lh_add_c_code(lh_text *text, const lh_snapshot *snapshot, uint64_t function) {
  lh_c_code code;
  if (!lh_c_function_at(snapshot, function, &code) || code.library[0] == '\0') return false;
  bool has_symbol = code.symbol[0] != '\0';
  lh_text_string(text, "C function ");
  if (has_symbol) {
    add_bounded(text, code.symbol);
    lh_text_string(text, " (");
  }
  add_bounded(text, code.library);
  lh_text_string(text, "+0x");
  lh_text_mark(text, LH_MARK_BEGIN);
  lh_text_format(text, "%llx", (unsigned long long)code.offset);
  lh_text_mark(text, LH_MARK_END);
  lh_text_string(text, has_symbol ? ")" : "");
  return true;
}

lh_text_id lh_c_function_name(lh_namer *namer, lh_id id, bool *specific) {
  lh_text text = {.marks = true};
  lh_object closure;
  const lh_candidate *candidate = lh_candidate_of(namer, id);
  lh_text_id wrapped = name_of_wrapped(namer, id, specific);
  if (wrapped != LH_NO_NUMBER) return wrapped;
  lh_object_at(namer->snapshot, id, &closure);
  *specific = true;
  if (candidate && !candidate->ambiguous) {
    lh_text_string(&text, "function ");
    if (candidate->rank == LH_NAME_MODULE_FIELD && candidate->qualifier != LH_NO_NUMBER)
      lh_text_format(&text, "%s.", lh_namer_chars(namer, candidate->qualifier));
    lh_text_format(&text, "%s ", lh_namer_chars(namer, candidate->text));
    size_t n_own = text.n;
    lh_text_string(&text, "[C]");
    return name_with_place(namer, &text, n_own);
  }
  if (!lh_add_c_code(&text, namer->snapshot, closure.as.closure.function)) {
    lh_text_string(&text, "function [C]");
    *specific = false;
  }
  return lh_namer_text(namer, &text);
}

/* The outermost Lua function says what a coroutine does. */
static lh_id outermost_proto(const lh_snapshot *snapshot, lh_id thread) {
  lh_edges it;
  lh_frame frame;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame);) {
    lh_id function = frame.function.as.object;
    if (frame.function.kind == LH_VALUE_OBJECT &&
        lh_type_of(snapshot, function) == LH_TYPE_CLOSURE &&
        lh_proto_of(snapshot, function) != LH_NO_OBJECT)
      return lh_proto_of(snapshot, function);
  }
  return LH_NO_OBJECT;
}

/* A coroutine that has not started has no frame, only its function on the stack. */
static lh_id first_function(const lh_snapshot *snapshot, lh_id thread) {
  uint32_t e = snapshot->first_edge[thread], end = snapshot->first_edge[thread + 1];
  while (e < end && lh_type_of(snapshot, lh_true_target(snapshot, e)) != LH_TYPE_CLOSURE) e++;
  return e < end ? lh_proto_of(snapshot, lh_true_target(snapshot, e)) : LH_NO_OBJECT;
}

static lh_text_id name_of_runner(lh_namer *namer, lh_id proto) {
  uint32_t known = lh_map_get(&namer->threads, proto);
  if (known != LH_NO_NUMBER) return known;
  lh_text_id function = lh_function_name(namer, proto);
  if (namer->failed) return LH_NO_NUMBER;
  lh_text text = {0};
  lh_text_format(&text, "thread %s", lh_function_label(namer, proto, function));
  lh_text_id made = lh_namer_text(namer, &text);
  if (!namer->failed) put_in_map(namer, &namer->threads, proto, made);
  return made;
}

lh_text_id lh_thread_name(lh_namer *namer, lh_id id, lh_id *proto, bool *specific) {
  const lh_snapshot *snapshot = namer->snapshot;
  lh_text text = {0};
  lh_object thread;
  lh_object_at(snapshot, id, &thread);
  *proto = LH_NO_OBJECT;
  *specific = true;
  if (thread.as.thread.is_main) {
    namer->snapshot->kind[id] |= LH_KIND_RUNTIME;
    return lh_namer_string(namer, "main thread", 11);
  }
  *proto = outermost_proto(snapshot, id);
  if (*proto == LH_NO_OBJECT && thread.as.thread.status == LH_THREAD_NOT_STARTED)
    *proto = first_function(snapshot, id);
  if (*proto != LH_NO_OBJECT) return name_of_runner(namer, *proto);
  lh_text_string(&text, "thread");
  if (thread.as.thread.status == LH_THREAD_FINISHED)
    lh_text_string(&text, " (finished)");
  else
    *specific = false;
  return lh_namer_text(namer, &text);
}
