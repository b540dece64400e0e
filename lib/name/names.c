/* names.c - objects, keys and edges as text, in Lua's language where possible (see names.h). */
#include "names.h"
#include "read/decode.h"

lh_text_id lh_strings_take(lh_strings *strings, lh_text *text) {
  lh_text_id id = text->failed ? LH_NO_NUMBER : lh_strings_add(strings, text->bytes, text->n);
  lh_text_free(text);
  return id;
}

const char *lh_list_text(lh_strings *strings, const char *const *first, size_t stride, size_t n,
                         const char *between) {
  enum { MOST_TOLD = 2 };
  const char *at = (const char *)first;
  lh_text text = {0};
  for (size_t i = 0; i < n && i < MOST_TOLD; i++, at += stride) {
    if (i > 0) lh_text_string(&text, between);
    lh_text_string(&text, *(const char *const *)(const void *)at);
  }
  if (n > MOST_TOLD) lh_text_format(&text, " and %zu more", n - MOST_TOLD);
  lh_text_id id = lh_strings_take(strings, &text);
  return id == LH_NO_NUMBER ? NULL : strings->texts[id];
}

bool lh_string_whole(const lh_snapshot *snapshot, lh_id id, const char **bytes, size_t *n) {
  *bytes = "";
  *n = 0;
  if (!lh_is_string(snapshot, id) || lh_is_dead(snapshot, id)) return false;
  lh_kept_string string = lh_string_at(snapshot, id);
  *bytes = string.bytes;
  *n = string.kept < LH_NAME_BYTES ? (size_t)string.kept : LH_NAME_BYTES;
  if (*n == string.length) return true;
  *n = lh_text_cut(*bytes, *n);
  return false;
}

bool lh_string_is(const lh_snapshot *snapshot, lh_id id, const char *text) {
  const char *bytes;
  size_t n;
  return lh_string_whole(snapshot, id, &bytes, &n) && n == strlen(text) &&
         memcmp(bytes, text, n) == 0;
}

lh_content lh_content_of(const lh_snapshot *snapshot, lh_id id, uint64_t limit) {
  lh_kept_string string = lh_string_at(snapshot, id);
  lh_content content = {.bytes = string.bytes,
                        .n = (size_t)(string.kept < limit ? string.kept : limit),
                        .length = string.length};
  if (string.kept < string.length)
    content.hash = string.hash;
  else if (content.n < string.kept)
    content.hash = lh_hash(content.bytes, (size_t)string.kept, 0);
  return content;
}

bool lh_same_content(const lh_content *a, const lh_content *b) {
  return a->n == b->n && a->length == b->length && a->hash == b->hash &&
         (a->n == 0 || memcmp(a->bytes, b->bytes, a->n) == 0);
}

uint64_t lh_hash_content(const lh_content *content, uint64_t seed) {
  uint64_t hash = lh_hash(content->bytes, content->n, seed);
  uint64_t words[] = {content->length, content->hash, hash};
  return content->n == content->length ? hash : lh_hash(words, sizeof words, seed);
}

bool lh_add_name(lh_text *text, const lh_snapshot *snapshot, lh_id string) {
  const char *bytes = "";
  size_t n = 0;
  bool whole = lh_string_whole(snapshot, string, &bytes, &n);
  lh_text_escaped(text, bytes, n, false);
  if (!whole && n > 0) lh_text_string(text, "...");
  return n > 0;
}

static void add_quoted(lh_text *text, const lh_snapshot *snapshot, lh_id id, size_t max_bytes) {
  lh_object object;
  lh_object_at(snapshot, id, &object);
  if (object.dead || (object.as.string.kept == 0 && object.as.string.length > 0)) {
    lh_text_format(text, "string: 0x%llx", (unsigned long long)object.address);
    return;
  }
  size_t n = object.as.string.kept < max_bytes ? (size_t)object.as.string.kept : max_bytes;
  bool whole = n == object.as.string.length;
  if (!whole) n = lh_text_cut(object.as.string.bytes, n);
  lh_text_add(text, "\"", 1);
  lh_text_escaped(text, object.as.string.bytes, n, true);
  lh_text_string(text, whole ? "\"" : "...\"");
}

char *lh_string_text(const lh_snapshot *snapshot, lh_id id, size_t max_bytes) {
  lh_text text = {0};
  if (lh_is_string(snapshot, id)) add_quoted(&text, snapshot, id, max_bytes);
  return lh_text_finish(&text);
}

static void add_address(lh_text *text, const lh_snapshot *snapshot, lh_id id) {
  if (id == LH_ROOT || id > snapshot->n) {
    lh_text_string(text, id == LH_ROOT ? "root" : "none");
    return;
  }
  lh_type type = lh_type_of(snapshot, id);
  lh_text_format(text, "%s: 0x", type == LH_TYPE_CLOSURE ? "function" : lh_type_name(type));
  lh_text_mark(text, LH_MARK_BEGIN);
  lh_text_format(text, "%llx", (unsigned long long)lh_pointer_of(snapshot, id));
  lh_text_mark(text, LH_MARK_END);
}

char *lh_object_text(const lh_snapshot *snapshot, lh_id id) {
  lh_text text = {0};
  add_address(&text, snapshot, id);
  return lh_text_finish(&text);
}

void lh_add_source(lh_text *text, const lh_snapshot *snapshot, lh_id source) {
  const char *bytes = "";
  size_t n = 0;
  bool whole = source == LH_NO_OBJECT || lh_string_whole(snapshot, source, &bytes, &n);
  lh_text_source(text, bytes, n, whole);
}

void lh_add_value(lh_text *text, const lh_snapshot *snapshot, lh_value value) {
  switch (value.kind) {
    case LH_VALUE_NIL: lh_text_string(text, "nil"); break;
    case LH_VALUE_BOOLEAN: lh_text_string(text, value.as.boolean ? "true" : "false"); break;
    case LH_VALUE_INTEGER: lh_text_format(text, "%lld", (long long)value.as.integer); break;
    case LH_VALUE_FLOAT: lh_text_float(text, value.as.number); break;
    case LH_VALUE_POINTER:
      lh_text_format(text, "userdata: 0x%llx", (unsigned long long)value.as.pointer);
      break;
    case LH_VALUE_CFUNCTION:
      lh_text_format(text, "function: 0x%llx", (unsigned long long)value.as.pointer);
      break;
    case LH_VALUE_OBJECT:
      if (lh_is_string(snapshot, value.as.object))
        add_quoted(text, snapshot, value.as.object, LH_NAME_BYTES);
      else
        add_address(text, snapshot, value.as.object);
      break;
    case LH_VALUE_ABSENT: lh_text_string(text, "none"); break;
  }
}

char *lh_value_text(const lh_snapshot *snapshot, lh_value value) {
  lh_text text = {0};
  lh_add_value(&text, snapshot, value);
  return lh_text_finish(&text);
}

void lh_add_key(lh_text *text, const lh_snapshot *snapshot, lh_value key, bool brackets) {
  if (!brackets && key.kind == LH_VALUE_OBJECT && lh_is_name(snapshot, key.as.object)) {
    lh_text_add(text, ".", 1);
    (void)lh_add_name(text, snapshot, key.as.object);
    return;
  }
  lh_text_add(text, "[", 1);
  lh_add_value(text, snapshot, key);
  lh_text_add(text, "]", 1);
}

void lh_add_class(lh_text *text, const lh_snapshot *snapshot, lh_id id) {
  const lh_class_entry *entry = snapshot->classes ? lh_class_entry_of(snapshot, id) : NULL;
  if (entry && text->marks)
    lh_text_string(text, snapshot->classes->texts.texts[entry->marked]);
  else if (entry)
    lh_text_string(text, entry->visible.name);
  else
    add_address(text, snapshot, id);
}

/* ==== Edges ========================================================================= */

void lh_add_root(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  static const char *const types[] = {"nil",    "booleans",  "light userdata", "numbers", "strings",
                                      "tables", "functions", "userdata",       "threads"};
  uint32_t type;
  switch ((lh_root_kind)edge->index) {
    case LH_ROOT_REGISTRY: lh_text_string(text, "registry"); return;
    case LH_ROOT_GLOBALS: lh_text_string(text, "_G"); return;
    case LH_ROOT_LOADED: lh_text_string(text, "package.loaded"); return;
    case LH_ROOT_MAIN_THREAD: lh_text_string(text, "main thread"); return;
    case LH_ROOT_RUNNING_THREAD:
      lh_text_string(text, "running ");
      lh_add_class(text, snapshot, edge->target);
      return;
    case LH_ROOT_TYPE_METATABLE:
      type = edge->ordinal;
      lh_text_format(text, "metatable of %s%s", type == 0 || type == 2 ? "" : "all ",
                     type < sizeof types / sizeof *types ? types[type] : "values of a basic type");
      return;
    case LH_ROOT_METAMETHOD_NAME: lh_text_string(text, "name of a metamethod"); return;
    case LH_ROOT_MEMORY_MESSAGE: lh_text_string(text, "message for memory errors"); return;
    case LH_ROOT_FIXED: lh_text_string(text, "string fixed by Lua"); return;
    case LH_ROOT_FINALIZER: lh_text_string(text, "object waiting for its finalizer"); return;
    case LH_ROOT_OWN: lh_text_string(text, "luaheap's own state"); return;
  }
  lh_text_string(text, "root");
}

static void add_numbered(lh_text *text, const lh_snapshot *snapshot, const char *what,
                         const lh_edge *edge) {
  lh_text_string(text, what);
  if (edge->name != LH_NO_OBJECT && lh_add_name(text, snapshot, edge->name)) return;
  lh_text_format(text, "%u", edge->ordinal);
}

/* "string.format"; NULL: no name. */
static const char *name_of_c_function(const lh_snapshot *snapshot, uint64_t function) {
  const lh_classes *classes = snapshot->classes;
  uint32_t name = classes ? lh_map_get(&classes->c_functions, function) : LH_NO_NUMBER;
  return name != LH_NO_NUMBER ? classes->texts.texts[name] : NULL;
}

static void add_c_function(lh_text *text, const lh_snapshot *snapshot, uint64_t function) {
  const char *name = name_of_c_function(snapshot, function);
  if (name)
    lh_text_format(text, "function %s [C]", name);
  else if (!lh_add_c_code(text, snapshot, function))
    lh_text_string(text, "function [C]");
}

/* The function of a stack frame. A light C function is no object; the edge has its address. */
static void add_frame_function(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  if (edge->holder != LH_NO_OBJECT)
    lh_add_class(text, snapshot, edge->holder);
  else if (edge->key.kind == LH_VALUE_CFUNCTION)
    add_c_function(text, snapshot, edge->key.as.pointer);
  else
    lh_text_string(text, "the host program");
}

/* "C function f (libgame.so+0x1a2b)" without "C ", because "[C]" comes before. */
static bool add_c_code(lh_text *text, const lh_snapshot *snapshot, uint64_t function) {
  size_t begin = text->n + 2;
  if (!lh_add_c_code(text, snapshot, function)) return false;
  if (!text->failed) memmove(text->bytes + begin - 2, text->bytes + begin, text->n - begin);
  text->n -= text->failed ? 0 : 2;
  return true;
}

static void add_light_function(lh_text *text, const lh_snapshot *snapshot, uint64_t function) {
  const char *name = name_of_c_function(snapshot, function);
  if (name)
    lh_text_format(text, "function %s", name);
  else if (!add_c_code(text, snapshot, function))
    lh_text_string(text, "a function");
}

static void add_function(lh_text *text, const lh_snapshot *snapshot, lh_id function) {
  const lh_class_entry *class = snapshot->classes ? lh_class_entry_of(snapshot, function) : NULL;
  size_t n_own = class ? lh_own_bytes(snapshot, class) : 0;
  lh_object closure;
  if (n_own > sizeof "function") {
    lh_text_add(text, class->visible.name, n_own - 1);
    return;
  }
  lh_object_at(snapshot, function, &closure);
  bool is_c = closure.type == LH_TYPE_CLOSURE && !closure.dead && closure.as.closure.is_c;
  bool is_code = is_c && class && *class->visible.name == 'C'; /* only these begin with C */
  if (is_c && class && !class->specific)
    lh_text_string(text, "a function");
  else if (!is_code || !add_c_code(text, snapshot, closure.as.closure.function))
    lh_add_class(text, snapshot, function);
}

/* A Lua function is a closure with a prototype, unless the file is wrong. */
static bool find_proto(const lh_snapshot *snapshot, lh_value function, lh_object *proto) {
  bool is_closure = function.kind == LH_VALUE_OBJECT &&
                    lh_type_of(snapshot, function.as.object) == LH_TYPE_CLOSURE;
  lh_id id = is_closure ? lh_proto_of(snapshot, function.as.object) : LH_NO_OBJECT;
  if (id == LH_NO_OBJECT) return false;
  lh_object_at(snapshot, id, proto);
  return !proto->dead;
}

char *lh_frame_text(const lh_snapshot *snapshot, const lh_frame *frame) {
  lh_text text = {0};
  lh_object proto;
  if (find_proto(snapshot, frame->function, &proto)) {
    lh_add_source(&text, snapshot, proto.as.proto.source);
    if (text.n > 0 && text.bytes[0] == '@') memmove(text.bytes, text.bytes + 1, --text.n);
    if (frame->line > 0) lh_text_format(&text, ":%u", frame->line);
  } else {
    lh_text_string(&text, "[C]");
  }
  lh_text_string(&text, " in ");
  if (frame->function.kind == LH_VALUE_CFUNCTION)
    add_light_function(&text, snapshot, frame->function.as.pointer);
  else if (frame->function.kind == LH_VALUE_OBJECT)
    add_function(&text, snapshot, frame->function.as.object);
  else
    lh_text_string(&text, frame->function.kind == LH_VALUE_ABSENT ? "none" : "the host program");
  return lh_text_finish(&text);
}

void lh_add_slot(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_LOCAL: add_numbered(text, snapshot, "local ", edge); break;
    case LH_EDGE_TEMPORARY: lh_text_string(text, "temporary"); break;
    case LH_EDGE_VARARG: lh_text_format(text, "vararg %u", edge->ordinal); break;
    case LH_EDGE_ARGUMENT: lh_text_format(text, "argument %u", edge->ordinal); break;
    default: lh_add_class(text, snapshot, edge->target); return; /* the function itself */
  }
  lh_text_string(text, edge->kind == LH_EDGE_ARGUMENT ? " of " : " in ");
  add_frame_function(text, snapshot, edge);
}

void lh_add_edge(lh_text *text, const lh_snapshot *snapshot, const lh_edge *edge) {
  switch (edge->kind) {
    case LH_EDGE_ROOT: lh_add_root(text, snapshot, edge); break;
    case LH_EDGE_VALUE:
      lh_add_key(text, snapshot, edge->key,
                 snapshot->classes && edge->source == snapshot->classes->loaded);
      break;
    case LH_EDGE_KEY: lh_text_string(text, "key"); break;
    case LH_EDGE_METATABLE: lh_text_string(text, "metatable"); break;
    case LH_EDGE_EPHEMERON:
      lh_text_string(text, "its value in weak table ");
      lh_add_holder(text, snapshot, edge->holder);
      break;
    case LH_EDGE_UPVALUE: add_numbered(text, snapshot, "upvalue ", edge); break;
    case LH_EDGE_CONTENT: lh_text_string(text, "content"); break;
    case LH_EDGE_C_UPVALUE: lh_text_format(text, "upvalue %u", edge->ordinal); break;
    case LH_EDGE_USER_VALUE: lh_text_format(text, "user value %u", edge->ordinal); break;
    case LH_EDGE_PROTO: lh_text_string(text, "proto"); break;
    case LH_EDGE_CONSTANT: lh_text_string(text, "constant"); break;
    case LH_EDGE_NESTED: lh_text_string(text, "nested function"); break;
    case LH_EDGE_SOURCE: lh_text_string(text, "source name"); break;
    case LH_EDGE_DEBUG_NAME: lh_text_string(text, "name of a variable"); break;
    case LH_EDGE_OPEN_UPVALUE: lh_text_string(text, "open upvalue"); break;
    case LH_EDGE_FUNCTION:
    case LH_EDGE_LOCAL:
    case LH_EDGE_TEMPORARY:
    case LH_EDGE_VARARG:
    case LH_EDGE_ARGUMENT:
      if (edge->kind == LH_EDGE_FUNCTION) lh_text_string(text, "call of ");
      lh_add_slot(text, snapshot, edge);
      if (edge->line) lh_text_format(text, " (now at line %u)", edge->line);
      break;
  }
}

char *lh_edge_text(const lh_snapshot *snapshot, const lh_edge *edge) {
  lh_text text = {0};
  lh_add_edge(&text, snapshot, edge);
  return lh_text_finish(&text);
}

bool lh_same_key(lh_value a, lh_value b) {
  if (a.kind != b.kind) return false;
  return a.kind == LH_VALUE_OBJECT ? a.as.object == b.as.object : a.as.integer == b.as.integer;
}

/* Functions of one class have one text. */
static bool same_function(const lh_snapshot *snapshot, lh_id a, lh_id b) {
  return a == b || (snapshot->classes && a != LH_NO_OBJECT && b != LH_NO_OBJECT &&
                    lh_class_of(snapshot, a) == lh_class_of(snapshot, b));
}

bool lh_edges_alike(const lh_snapshot *snapshot, const lh_edge *a, const lh_edge *b) {
  bool same_name = a->name == b->name && (a->name != LH_NO_OBJECT || a->ordinal == b->ordinal);
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case LH_EDGE_ROOT: return a->target == b->target && a->index == b->index;
    case LH_EDGE_VALUE: return lh_same_key(a->key, b->key);
    case LH_EDGE_EPHEMERON: return a->holder == b->holder;
    case LH_EDGE_UPVALUE: return same_name;
    case LH_EDGE_C_UPVALUE:
    case LH_EDGE_USER_VALUE: return a->ordinal == b->ordinal;
    case LH_EDGE_FUNCTION:
      return a->line == b->line && same_function(snapshot, a->target, b->target);
    case LH_EDGE_LOCAL:
    case LH_EDGE_TEMPORARY:
    case LH_EDGE_VARARG:
    case LH_EDGE_ARGUMENT:
      return a->line == b->line && (same_name || a->kind == LH_EDGE_TEMPORARY) &&
             lh_same_key(a->key, b->key) && same_function(snapshot, a->holder, b->holder);
    default: return true;
  }
}

bool lh_is_named_by_root(const lh_snapshot *snapshot, lh_id id) {
  for (size_t i = 0; i < snapshot->n_roots; i++)
    if (snapshot->roots[i].target == id && snapshot->roots[i].kind <= LH_ROOT_MAIN_THREAD)
      return true;
  return false;
}
