/* lookup.c - see stacks.h. */
#include "stacks.h"

#include "position.h"

const char lh_hook_function = 0;

void lh_lookup_forget_all(lh_lookup *lookup) {
  lh_protos_free(&lookup->protos);
  lh_free(lookup->keys);
  lh_index_free(&lookup->key_index);
  lookup->keys = NULL;
  lookup->key_capacity = 0;
}

void lh_lookup_free(lh_lookup *lookup) {
  lh_lookup_forget_all(lookup);
  lh_free(lookup->c_functions);
  lh_index_free(&lookup->c_function_index);
  lookup->c_functions = NULL;
  lookup->c_function_capacity = 0;
}

/* The frame's function if it is an object of this type, else NULL. *light: a light C function. */
static const raw_object *frame_function(const lh_lookup *lookup, lh_call_frame frame, uint8_t type,
                                        raw_payload *light) {
  const raw_value *stack = raw_stack(lookup->layout, frame.thread);
  const raw_value *slot = raw_call_slot(lookup->layout, frame.thread, frame.call);
  uint64_t slots = raw_stack_slots(lookup->layout, frame.thread);
  if (slot < stack || slot >= stack + slots) return NULL;
  if (light && slot->type == RAW_LIGHT_C_FUNCTION) *light = slot->as;
  return slot->type == (type | RAW_COLLECTABLE) ? slot->as.object : NULL;
}

const raw_proto *lh_frame_proto(const lh_lookup *lookup, lh_call_frame frame) {
  const raw_object *closure = frame_function(lookup, frame, RAW_LUA_CLOSURE, NULL);
  return closure ? ((const raw_lua_closure *)(const void *)closure)->proto : NULL;
}

const void *lh_frame_c_function(const lh_lookup *lookup, lh_call_frame frame) {
  raw_payload light = {.pointer = NULL};
  const raw_object *closure = frame_function(lookup, frame, RAW_C_CLOSURE, &light);
  return closure ? ((const raw_c_closure *)(const void *)closure)->function : light.pointer;
}

static lh_c_function *find_c_function(lh_lookup *lookup, const void *function) {
  uint32_t hash = lh_index_hash((uintptr_t)function, 0), number;
  LH_INDEX_FIND(number, &lookup->c_function_index, hash,
                lookup->c_functions[number].function == function);
  if (number) return &lookup->c_functions[number];
  number = lh_index_new(&lookup->c_function_index, hash, &lookup->c_functions,
                        &lookup->c_function_capacity, sizeof *lookup->c_functions);
  if (!number) return NULL;
  lookup->c_functions[number] = (lh_c_function){.function = function};
  return &lookup->c_functions[number];
}

/* The function's name in the modules; 0: none. An unknown function is searched again at its 2nd,
** 4th, 8th ... key: its module may be loaded by then. */
static uint32_t define_in_modules(lh_lookup *lookup, const void *function) {
  char name[LH_NAME_BYTES];
  lh_c_function *known = find_c_function(lookup, function);
  if (!known || known->name) return known ? known->name : 0;
  uint32_t asked = ++known->asked;
  if (asked & (asked - 1)) return 0;
  size_t n = lh_name_c_function(lookup->layout, lookup->global, function, name);
  if (n > 0) known->name = lh_define_name(lookup->definitions, name, n);
  return known->name;
}

static uint32_t define_c_function(lh_lookup *lookup, const raw_proto *proto, const uint32_t *pc,
                                  const void *function) {
  char name[LH_NAME_BYTES] = "(hook)";
  size_t n = strlen(name);
  if (function != &lh_hook_function) {
    uint32_t known = define_in_modules(lookup, function);
    if (known) return known;
    n = lh_name_called(lookup->layout, proto, pc, name);
    if (n == 0) n = (size_t)snprintf(name, sizeof name, "(C function)");
  }
  return lh_define_name(lookup->definitions, name, n);
}

static size_t name_by_caller(const lh_lookup *lookup, lh_call_frame frame, char *name) {
  lh_call_frame caller = {frame.thread, frame.call->previous};
  const lh_layout *layout = lookup->layout;
  bool is_called = caller.call && !(caller.call->status & RAW_CALL_IS_C) &&
                   !raw_call_is(layout, frame.call, RAW_CALL_TAIL) &&
                   !raw_call_is(layout, caller.call, RAW_CALL_HOOKED) &&
                   !raw_call_is(layout, caller.call, RAW_CALL_FINALIZES);
  const raw_proto *proto = is_called ? lh_frame_proto(lookup, caller) : NULL;
  return proto ? lh_name_called(lookup->layout, proto, caller.call->saved_pc - 1, name) : 0;
}

static bool define_name_of(lh_lookup *lookup, const lh_known_proto *known, lh_call_frame frame,
                           uint32_t *name) {
  char text[LH_NAME_BYTES];
  bool is_main = known->proto->first_line == 0;
  size_t n = known->name ? strlen(known->name) : 0;
  if (!known->name && !is_main && lh_protos_is_one(&lookup->protos, known))
    n = name_by_caller(lookup, frame, text);
  *name = 0;
  if (n == 0 && !is_main) return true;
  *name = lh_define_name(lookup->definitions, known->name ? known->name : text, n);
  return *name != 0;
}

/* The source as sites have it; 0: no memory. *is_own: it has sites of its own. */
static uint32_t define_source(lh_lookup *lookup, const raw_string *source, bool *is_own) {
  *is_own = true;
  if (!source) return lh_define_name(lookup->definitions, "=?", 2);
  const char *text = raw_text(lookup->layout, source);
  size_t n = raw_string_length(lookup->layout, source);
  uint32_t known = lh_find_name(lookup->definitions, text, n);
  if (known) return known;
  bool is_named = text[0] == '@' || text[0] == '=';
  uint32_t *n_met = is_named ? &lookup->n_named : &lookup->n_texts;
  *is_own = *n_met < (is_named ? LH_MOST_NAMED_SOURCES : LH_MOST_TEXT_SOURCES);
  if (!*is_own) return lh_define_name(lookup->definitions, "=(loaded code)", 14);
  ++*n_met;
  return lh_define_name(lookup->definitions, text, n);
}

static uint32_t define_function(lh_lookup *lookup, uint32_t number, lh_call_frame frame) {
  const lh_known_proto *known = &lookup->protos.known[number];
  const raw_string *source = known->proto->source;
  if (known->function) return known->function;
  if (!known->name && known->proto->first_line)
    lh_protos_search(&lookup->protos, lookup->layout, lookup->global);
  lh_function_definition f = {.first_line = (uint32_t)known->proto->first_line};
  bool is_own, is_main = f.first_line == 0;
  f.source = define_source(lookup, source, &is_own);
  if (!f.source) return 0;
  if ((is_own || is_main) && !define_name_of(lookup, known, frame, &f.name)) return 0;
  return lh_define_function(lookup->definitions, f);
}

static lh_site_id define_site(lh_lookup *lookup, const raw_proto *proto, uint32_t function,
                              const uint32_t *pc, const void *c_function) {
  lh_site_definition site = {.function = function};
  if (pc == lh_unknown_position(proto)) {
    site.maker = LH_MADE_TABLE; /* only a new table's position can be unknown */
  } else if (pc == lh_whole_function(proto)) {
    site.line = (uint32_t)proto->first_line;
    site.maker = LH_MADE_CALL;
  } else {
    site.line = lh_walk_line(proto, pc - proto->code);
    site.maker = lh_position_maker(proto, pc);
  }
  if (c_function) {
    site.maker = LH_MADE_BY_C;
    site.c_function = define_c_function(lookup, proto, pc, c_function);
    if (!site.c_function) return 0;
  }
  return lh_define_site(lookup->definitions, site);
}

static lh_key *add_key(lh_lookup *lookup, lh_known_proto *known, lh_key key) {
  uint32_t hash = lh_index_hash((uintptr_t)key.pc, (uintptr_t)key.c_function);
  uint32_t number =
      lh_index_new(&lookup->key_index, hash, &lookup->keys, &lookup->key_capacity, sizeof key);
  if (!number) return NULL;
  key.next = known->first_key;
  known->first_key = number;
  lookup->keys[number] = key;
  return &lookup->keys[number];
}

lh_key *lh_lookup_resolve(lh_lookup *lookup, lh_call_frame frame, const uint32_t *pc,
                          const void *c_function) {
  const raw_proto *proto = lh_frame_proto(lookup, frame);
  if (!proto) return NULL;
  bool is_inside = (pc >= proto->code && pc < proto->code + proto->n_code) ||
                   pc == lh_unknown_position(proto) || pc == lh_whole_function(proto);
  if (!is_inside) return NULL;
  uint32_t number = lh_protos_add(&lookup->protos, proto);
  if (!number) return NULL;
  uint32_t function = define_function(lookup, number, frame);
  if (!function) return NULL;
  lookup->protos.known[number].function = function;
  lh_key key = {.pc = pc, .c_function = c_function};
  key.site = define_site(lookup, proto, function, pc, c_function);
  return key.site ? add_key(lookup, &lookup->protos.known[number], key) : NULL;
}

void lh_lookup_forget(lh_lookup *lookup, uint32_t known_proto) {
  for (uint32_t i = lookup->protos.known[known_proto].first_key, next; i; i = next) {
    const lh_key *key = &lookup->keys[i];
    next = key->next;
    lh_index_remove(&lookup->key_index,
                    lh_index_hash((uintptr_t)key->pc, (uintptr_t)key->c_function), i);
  }
  lh_protos_remove(&lookup->protos, known_proto);
}
