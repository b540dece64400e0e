/*
** classes.c - finds the class of every object: what people call it.
**
** The first sweep over the objects collects metatables, prototypes and names of upvalues, for which
** names are found (metatables.c, functions.c). The second gives each object its class: for most by
** a table look-up, for a plain table by one pass over its keys. Then plain collections get the
** classes of their contents (collections.c). 4 bytes an object remain; 2.2 million objects take
** about 0.25 s.
*/
#define LH_OF_CLASSES /* emits lh_class_of */
#include "names.h"
#include "read/decode.h"

/* Limit in sizes of the file. A real program's names are shorter than the file; a file made for an
** attack could need 150 times its size. */
enum { MOST_NAMES = 16 };

/* ==== Interning ===================================================================== */

static lh_text_id unmarked(lh_classes *classes, lh_text_id marked, bool stable) {
  lh_text text = {0};
  const char *chars = classes->texts.texts[marked];
  if (!strchr(chars, LH_MARK_BEGIN)) return marked;
  lh_text_unmarked(&text, chars, strlen(chars), stable);
  return lh_strings_take(&classes->texts, &text);
}

uint32_t lh_class_intern(lh_classes *classes, lh_text_id name, lh_text_id fields, lh_type type,
                         bool specific) {
  lh_class_key key = lh_key_of_class(name, fields, type);
  uint32_t *index = lh_map_at_words(&classes->by_identity, key.words, LH_CLASS_WORDS);
  if (!index) return LH_NO_NUMBER;
  if (*index != LH_NO_NUMBER) return *index;
  if (!lh_grow(&classes->list, classes->n, &classes->capacity, sizeof *classes->list))
    return LH_NO_NUMBER;
  lh_class_entry entry = {.marked = name,
                          .name = unmarked(classes, name, false),
                          .stable = unmarked(classes, name, true),
                          .fields = fields,
                          .plain = LH_NO_NUMBER,
                          .specific = specific};
  if (entry.name == LH_NO_NUMBER || entry.stable == LH_NO_NUMBER) return LH_NO_NUMBER;
  entry.visible.name = classes->texts.texts[entry.name];
  entry.visible.type = type;
  classes->list[classes->n] = entry;
  *index = (uint32_t)classes->n++;
  return *index;
}

/* False: the code is stripped, or out of memory. */
static bool find_code(lh_namer *namer, lh_id id, lh_type type, lh_function_code *code) {
  lh_object proto;
  lh_text text = {0};
  const char *source;
  size_t n;
  lh_object_at(namer->snapshot, id, &proto);
  if (!lh_string_whole(namer->snapshot, proto.as.proto.source, &source, &n)) return false;
  lh_text_escaped(&text, source, n, true);
  *code = (lh_function_code){{(uint64_t)type << 40 | (uint64_t)proto.as.proto.parameters << 32 |
                                  lh_namer_text(namer, &text),
                              (uint64_t)proto.as.proto.line << 32 | proto.as.proto.last_line,
                              proto.as.proto.instructions,
                              (uint64_t)proto.as.proto.constants << 32 | proto.as.proto.upvalues}};
  return !namer->failed;
}

static uint32_t intern_function(lh_namer *namer, lh_text_id name, lh_type type, lh_id proto) {
  lh_function_code code;
  uint32_t index = lh_class_intern(namer->classes, name, LH_NO_NUMBER, type, true);
  if (index == LH_NO_NUMBER || namer->classes->list[index].code.words[0] != 0) return index;
  if (!find_code(namer, proto, type, &code)) return namer->failed ? LH_NO_NUMBER : index;
  namer->classes->list[index].code = code;
  return index;
}

lh_text_id lh_namer_string(lh_namer *namer, const char *bytes, size_t n) {
  lh_text_id id = lh_strings_add(&namer->classes->texts, bytes, n);
  if (id == LH_NO_NUMBER) namer->failed = true;
  return id;
}

lh_text_id lh_namer_text(lh_namer *namer, lh_text *text) {
  lh_text_id id = text->failed ? LH_NO_NUMBER : lh_namer_string(namer, text->bytes, text->n);
  if (text->failed) namer->failed = true;
  lh_text_free(text);
  return id;
}

static uint32_t class_of_chars(lh_namer *namer, const char *name, lh_type type, bool specific) {
  lh_text_id text = lh_namer_string(namer, name, strlen(name));
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(namer->classes, text, LH_NO_NUMBER, type, specific);
  if (made == LH_NO_NUMBER) namer->failed = true;
  return made;
}

static uint32_t class_of_parts(lh_namer *namer, const char *first, const char *second,
                               lh_type type) {
  lh_text text = {0};
  lh_text_format(&text, "%s%s", first, second);
  lh_text_id name = lh_namer_text(namer, &text);
  if (namer->failed) return LH_NO_NUMBER;
  return class_of_chars(namer, lh_namer_chars(namer, name), type, true);
}

/* ==== First sweep: the objects to name ============================================== */

static void find_roots(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  lh_classes *classes = namer->classes;
  classes->registry = classes->globals = classes->loaded = LH_NO_OBJECT;
  for (size_t i = 0; i < snapshot->n_roots; i++) {
    lh_id target = snapshot->roots[i].target;
    if (target == LH_NO_OBJECT || lh_type_of(snapshot, target) != LH_TYPE_TABLE) continue;
    if (snapshot->roots[i].kind == LH_ROOT_REGISTRY) classes->registry = target;
    if (snapshot->roots[i].kind == LH_ROOT_GLOBALS) classes->globals = target;
    if (snapshot->roots[i].kind == LH_ROOT_LOADED) classes->loaded = target;
  }
}

/* A module loaded under two names has the shorter name. */
static void find_modules(lh_namer *namer) {
  lh_classes *classes = namer->classes;
  lh_edges it;
  lh_edge edge;
  if (classes->loaded == LH_NO_OBJECT) return;
  lh_edges_begin(namer->snapshot, classes->loaded, &it);
  while (!namer->failed && lh_edges_next(&it, &edge)) {
    lh_text text = {0};
    if (edge.kind != LH_EDGE_VALUE || edge.target == classes->globals ||
        edge.key.kind != LH_VALUE_OBJECT ||
        lh_type_of(namer->snapshot, edge.target) != LH_TYPE_TABLE ||
        !lh_add_name(&text, namer->snapshot, edge.key.as.object)) {
      lh_text_free(&text);
      continue;
    }
    lh_text_id name = lh_namer_text(namer, &text);
    uint32_t *known = lh_map_at(&classes->modules, edge.target);
    if (lh_namer_fails(namer, !known || namer->failed)) return;
    namer->flags[edge.target] |= LH_MODULE;
    namer->snapshot->kind[edge.target] |= LH_KIND_RUNTIME;
    const char *chars = lh_namer_chars(namer, name);
    const char *old = *known == LH_NO_NUMBER ? NULL : lh_namer_chars(namer, *known);
    if (!old || strlen(chars) < strlen(old) ||
        (strlen(chars) == strlen(old) && strcmp(chars, old) < 0))
      *known = name;
  }
}

/* For now, of[] of a table or userdata is the number of its metatable. */
static void collect_metatable(lh_namer *namer, lh_id id) {
  lh_id metatable = lh_metatable_of(namer->snapshot, id);
  if (metatable != LH_NO_OBJECT) namer->classes->of[id] = lh_add_meta(namer, metatable);
}

static uint32_t class_of_upvalue(lh_namer *namer, lh_id name, lh_map *upvalue_classes) {
  uint32_t *known = lh_map_at(upvalue_classes, name);
  if (known && *known == LH_NO_NUMBER) {
    lh_text text = {0};
    (void)lh_add_name(&text, namer->snapshot, name);
    char *chars = lh_text_finish(&text);
    *known = chars ? class_of_parts(namer, "upvalue ", chars, LH_TYPE_UPVALUE) : LH_NO_NUMBER;
    lh_free(chars);
  }
  if (!known || *known == LH_NO_NUMBER) namer->failed = true;
  return namer->failed ? LH_NO_NUMBER : *known;
}

/* For now, of[] of a Lua closure is its prototype. Upvalues get their final class here. */
static void collect_closure(lh_namer *namer, lh_id id, lh_map *upvalue_classes) {
  const lh_snapshot *s = namer->snapshot;
  uint32_t *of = namer->classes->of, first = s->first_edge[id], end = s->first_edge[id + 1];
  lh_id proto = lh_proto_of(s, id);
  if (proto != LH_NO_OBJECT) {
    of[id] = proto;
    if (namer->flags[proto] & LH_INSIDE) namer->classes->inside[id / 8] |= (uint8_t)(1u << id % 8);
    if (lh_map_get(&namer->nested, proto) == LH_NO_NUMBER) namer->flags[id] |= LH_WANTED;
  } else {
    namer->flags[id] |= LH_WANTED; /* C functions have no name of their own */
  }
  for (uint32_t e = first; e < end && !namer->failed; e++) {
    lh_id upvalue = s->edge[e];
    if (lh_label_kind(s->label[e]) != LH_EDGE_UPVALUE ||
        lh_type_of(s, upvalue) != LH_TYPE_UPVALUE || of[upvalue] != UINT32_MAX)
      continue;
    lh_id name = lh_name_of_upvalue(s, id, e);
    if (name != LH_NO_OBJECT) of[upvalue] = class_of_upvalue(namer, name, upvalue_classes);
  }
}

static void collect(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  lh_map upvalue_classes = {0};
  for (lh_id id = 1; id <= snapshot->n && !namer->failed; id++) {
    lh_type type = lh_type_of(snapshot, id);
    if (lh_is_dead(snapshot, id) || lh_is_own(snapshot, id)) continue;
    if (type == LH_TYPE_TABLE || type == LH_TYPE_USERDATA)
      collect_metatable(namer, id);
    else if (type == LH_TYPE_CLOSURE)
      collect_closure(namer, id, &upvalue_classes);
  }
  lh_map_free(&upvalue_classes);
}

/* ==== Second sweep: the classes ===================================================== */

static uint32_t class_by_metatable(lh_namer *namer, uint32_t i, lh_type type) {
  lh_meta *meta = &namer->metas[i];
  if (meta->result == LH_NO_NUMBER) return UINT32_MAX;
  const char *name = lh_namer_chars(namer, meta->result);
  if (type != LH_TYPE_TABLE) return class_of_chars(namer, name, type, true);
  if (meta->class_index == UINT32_MAX) meta->class_index = class_of_chars(namer, name, type, true);
  return meta->class_index;
}

static uint32_t class_of_metatable(lh_namer *namer, lh_id id) {
  uint32_t i = lh_map_get(&namer->meta_of, id);
  const lh_meta *meta = i == LH_NO_NUMBER ? NULL : &namer->metas[i];
  if (meta && meta->basic != LH_NO_NUMBER)
    return class_of_chars(namer, lh_namer_chars(namer, meta->basic), LH_TYPE_TABLE, true);
  if (!meta || !meta->is_metatable || meta->result == LH_NO_NUMBER) return UINT32_MAX;
  return class_of_parts(namer, meta->index == id ? "class " : "metatable of ",
                        lh_namer_chars(namer, meta->result), LH_TYPE_TABLE);
}

/* The second text keeps apart a class that a program itself calls "module x". */
static uint32_t class_of_module(lh_namer *namer, lh_text_id module) {
  lh_text text = {0};
  lh_text_format(&text, "module %s", lh_namer_chars(namer, module));
  lh_text_id name = lh_namer_text(namer, &text), kind = lh_namer_string(namer, "module", 6);
  if (namer->failed) return LH_NO_NUMBER;
  uint32_t made = lh_class_intern(namer->classes, name, kind, LH_TYPE_TABLE, true);
  if (!lh_namer_fails(namer, made == LH_NO_NUMBER)) namer->classes->list[made].is_module = true;
  return made;
}

static uint32_t class_of_table(lh_namer *namer, lh_id id) {
  const lh_classes *classes = namer->classes;
  uint32_t meta = classes->of[id], found = UINT32_MAX;
  if (id == classes->globals) return class_of_chars(namer, "globals (_G)", LH_TYPE_TABLE, true);
  if (id == classes->registry) return class_of_chars(namer, "registry", LH_TYPE_TABLE, true);
  if (id == classes->loaded)
    return class_of_chars(namer, "loaded modules (package.loaded)", LH_TYPE_TABLE, true);
  if (namer->flags[id] & LH_MODULE)
    return class_of_module(namer, lh_map_get(&classes->modules, id));
  if (namer->flags[id] & LH_WANTED) found = class_of_metatable(namer, id);
  if (found == UINT32_MAX && meta != UINT32_MAX)
    found = class_by_metatable(namer, meta, LH_TYPE_TABLE);
  return found == UINT32_MAX && !namer->failed ? lh_shape_of(namer, id) : found;
}

static uint32_t class_of_closure(lh_namer *namer, lh_id id) {
  lh_id proto = namer->classes->of[id];
  bool is_c = proto == LH_NO_OBJECT, specific = true;
  uint32_t *known = is_c ? NULL : lh_map_at(&namer->closures, proto);
  if (known && *known != LH_NO_NUMBER) return *known;
  lh_text_id name =
      is_c ? lh_c_function_name(namer, id, &specific) : lh_function_name(namer, proto);
  if (namer->failed) return LH_NO_NUMBER;
  if (known) return *known = intern_function(namer, name, LH_TYPE_CLOSURE, proto);
  return lh_class_intern(namer->classes, name, LH_NO_NUMBER, LH_TYPE_CLOSURE, specific);
}

static uint32_t class_of_proto(lh_namer *namer, lh_id id) {
  lh_text_id name = lh_function_name(namer, id);
  if (namer->failed) return LH_NO_NUMBER;
  lh_text text = {0};
  lh_text_format(&text, "proto %s", lh_function_label(namer, id, name));
  name = lh_namer_text(namer, &text);
  return namer->failed ? LH_NO_NUMBER : intern_function(namer, name, LH_TYPE_PROTO, id);
}

static uint32_t class_of_thread(lh_namer *namer, lh_id id) {
  lh_id proto;
  bool specific;
  lh_text_id name = lh_thread_name(namer, id, &proto, &specific);
  if (namer->failed) return LH_NO_NUMBER;
  return proto == LH_NO_OBJECT
             ? lh_class_intern(namer->classes, name, LH_NO_NUMBER, LH_TYPE_THREAD, specific)
             : intern_function(namer, name, LH_TYPE_THREAD, proto);
}

static uint32_t class_of_object(lh_namer *namer, lh_id id) {
  const lh_snapshot *snapshot = namer->snapshot;
  lh_type type = lh_type_of(snapshot, id);
  uint32_t known = namer->classes->of[id];
  if (lh_is_dead(snapshot, id)) return class_of_chars(namer, lh_type_name(type), type, false);
  switch (type) {
    case LH_TYPE_TABLE: return class_of_table(namer, id);
    case LH_TYPE_CLOSURE: return class_of_closure(namer, id);
    case LH_TYPE_PROTO: return class_of_proto(namer, id);
    case LH_TYPE_THREAD: return class_of_thread(namer, id);
    case LH_TYPE_USERDATA:
      if (known != UINT32_MAX) known = class_by_metatable(namer, known, type);
      break;
    default: break; /* upvalues have their class already */
  }
  return known != UINT32_MAX ? known : class_of_chars(namer, lh_type_name(type), type, false);
}

static inline void count_in(const lh_snapshot *snapshot, lh_class *c, lh_id id) {
  bool garbage = snapshot->distance[id] == UINT32_MAX;
  *(garbage ? &c->garbage_objects : &c->objects) += 1;
  *(garbage ? &c->garbage_bytes : &c->shallow_bytes) += lh_shallow_bytes(snapshot, id);
}

void lh_count_object(const lh_snapshot *snapshot, lh_classes *classes, lh_id id) {
  count_in(snapshot, &classes->list[classes->of[id]].visible, id);
}

void lh_drop_folds(lh_classes *classes) {
  if (classes->folds) classes->free_folds(classes->folds);
  classes->folds = NULL;
}

static void count_classes(lh_snapshot *snapshot) {
  lh_classes *classes = snapshot->classes;
  lh_drop_folds(classes);
  for (size_t i = 0; i < classes->n; i++) {
    lh_class *c = &classes->list[i].visible;
    *c = (lh_class){.name = c->name, .type = c->type};
  }
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (classes->of[id] != UINT32_MAX) lh_count_object(snapshot, classes, id);
}

static void assign(lh_namer *namer) {
  const lh_snapshot *snapshot = namer->snapshot;
  uint32_t *of = namer->classes->of;
  uint32_t of_strings = class_of_chars(namer, "string", LH_TYPE_STRING, false);
  for (lh_id id = 1; id <= snapshot->n && !namer->failed; id++) {
    if (lh_is_own(snapshot, id)) {
      of[id] = UINT32_MAX;
      continue;
    }
    bool is_string = (snapshot->kind[id] & LH_KIND_TYPE) == LH_TYPE_STRING;
    uint32_t class_index = is_string ? of_strings : class_of_object(namer, id);
    of[id] = class_index;
    lh_class_entry *class = class_index != LH_NO_NUMBER ? &namer->classes->list[class_index] : NULL;
    if (!lh_namer_fails(namer, !class) && !namer->for_places && class->plain == LH_NO_NUMBER)
      count_in(snapshot, &class->visible, id);
  }
}

static void namer_free(lh_namer *namer) {
  LH_FREE_ALL(namer->flags, namer->candidates, namer->metas, namer->module_names);
  lh_strings_free(&namer->key_sets);
  LH_FREE_MAPS(&namer->candidate_of, &namer->meta_of, &namer->sources, &namer->given,
               &namer->nested, &namer->around, &namer->shapes, &namer->closures, &namer->threads);
}

static void free_classes(lh_classes *classes) {
  if (!classes) return;
  LH_FREE_ALL(classes->list, classes->of, classes->inside);
  LH_FREE_MAPS(&classes->by_identity, &classes->functions, &classes->c_functions, &classes->named,
               &classes->modules, &classes->varying);
  lh_free_code_references(&classes->code_references);
  lh_drop_folds(classes);
  if (classes->places) classes->free_places(classes->places);
  lh_strings_free(&classes->texts);
  lh_free(classes);
}

/* Modules and the main thread are marked where they are found. */
static void mark_plumbing(const lh_namer *namer) {
  const lh_classes *classes = namer->classes;
  const lh_id tables[] = {classes->registry, classes->globals, classes->loaded};
  uint8_t *kind = namer->snapshot->kind;
  for (lh_id id = 0; id <= namer->snapshot->n; id++)
    if ((kind[id] & LH_KIND_TYPE) == LH_TYPE_ROOT || (kind[id] & LH_KIND_TYPE) == LH_TYPE_PROTO)
      kind[id] |= LH_KIND_RUNTIME;
  for (int i = 0; i < 3; i++)
    if (tables[i] != LH_NO_OBJECT) kind[tables[i]] |= LH_KIND_RUNTIME;
}

static int classify(lh_snapshot *snapshot, bool for_places, lh_error *error) {
  if (snapshot->classes) return 0;
  if (!snapshot->distance)
    return lh_fail(error, LH_EARGUMENT, "classes need the analysis of a snapshot (lh_analyse)");
  lh_namer namer = {.snapshot = snapshot, .for_places = for_places};
  size_t n = (size_t)snapshot->n + 1;
  namer.classes = lh_alloc_zeroed(1, sizeof *namer.classes);
  namer.flags = lh_alloc_zeroed(n, 1);
  if (!namer.classes || !namer.flags) goto out;
  namer.classes->texts.most_bytes = MOST_NAMES * (uint64_t)snapshot->size + (1u << 20);
  namer.classes->of = lh_alloc(n, sizeof *namer.classes->of);
  namer.classes->inside = lh_alloc_zeroed(n / 8 + 1, 1);
  if (!namer.classes->of || !namer.classes->inside) goto out;
  memset(namer.classes->of, 0xFF, n * sizeof *namer.classes->of);
  find_roots(&namer);
  find_modules(&namer);
  lh_collect_nested_names(&namer);
  collect(&namer);
  if (!namer.failed) lh_name_metatables(&namer); /* and functions: it finds candidates for both */
  if (!namer.failed) lh_collect_c_functions(&namer);
  if (!namer.failed) assign(&namer);
  if (!namer.failed) lh_join_one_key_maps(&namer);
  if (!namer.failed && !for_places) lh_classify_collections(&namer);
  if (!namer.failed) {
    (void)lh_fit(&namer.classes->list, namer.classes->n, &namer.classes->capacity,
                 sizeof *namer.classes->list);
    snapshot->classes = namer.classes;
    snapshot->free_classes = free_classes;
    snapshot->count_classes = count_classes;
    mark_plumbing(&namer);
    namer.classes = NULL;
  }
out:;
  bool is_full = namer.classes && namer.classes->texts.full;
  free_classes(namer.classes);
  namer_free(&namer);
  if (is_full)
    return lh_fail(error, LH_ELIMIT,
                   "'%s' is no heap of a program: its names take %d times its size", snapshot->name,
                   MOST_NAMES);
  return snapshot->classes ? 0 : lh_fail_memory(error, "naming the objects");
}

int lh_classify(lh_snapshot *snapshot, lh_error *error) {
  return classify(snapshot, false, error);
}

int lh_classify_for_places(lh_snapshot *snapshot, lh_error *error) {
  return classify(snapshot, true, error);
}

uint32_t lh_class_count(const lh_snapshot *snapshot) {
  return snapshot->classes ? (uint32_t)snapshot->classes->n : 0;
}

const lh_class *lh_class_at(const lh_snapshot *snapshot, uint32_t class_index) {
  return &snapshot->classes->list[class_index].visible;
}

bool lh_continues_list(const lh_snapshot *snapshot, lh_id id) {
  const uint32_t *of = snapshot->classes ? snapshot->classes->of : NULL;
  lh_id dominator = lh_immediate_dominator(snapshot, id);
  if (dominator == LH_ROOT || dominator == LH_NO_OBJECT || (of && of[dominator] != of[id]))
    return false;
  uint64_t others = snapshot->retained[dominator] - lh_shallow_bytes(snapshot, dominator);
  return snapshot->retained[id] > others / 2;
}

bool lh_is_permanent(const lh_snapshot *snapshot, lh_id id) {
  return snapshot->classes && lh_type_of(snapshot, id) == LH_TYPE_TABLE &&
         snapshot->kind[id] & LH_KIND_RUNTIME;
}
