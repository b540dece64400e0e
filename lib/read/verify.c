/*
** verify.c - checks what lh_open does not: that a snapshot is the heap of a real Lua.
**
** After lh_open nothing breaks if a value is wrong. A file with right checksums can still be wrong,
** by a fault of the writer or by intent. Here every reference must end at an object of a fitting
** type that is not condemned, every size must be what Lua allocates, and lists, threads, marks and
** totals must fit each other. Eight million references: a second, no memory.
*/
#include <stdarg.h>

#include "reader.h"
#include "scan.h"

enum {
  STRING = 1 << LH_TYPE_STRING,
  TABLE = 1 << LH_TYPE_TABLE,
  CLOSURE = 1 << LH_TYPE_CLOSURE,
  UPVALUE = 1 << LH_TYPE_UPVALUE,
  PROTO = 1 << LH_TYPE_PROTO,
  USERDATA = 1 << LH_TYPE_USERDATA,
  THREAD = 1 << LH_TYPE_THREAD,
  VALUE = STRING | TABLE | CLOSURE | USERDATA | THREAD /* the types that a variable can hold */
};

typedef struct expected {
  const char *what;
  unsigned types; /* 1 << lh_type */
} expected;

static const expected of_edge[] = {[LH_EDGE_VALUE] = {"a value", VALUE},
                                   [LH_EDGE_KEY] = {"a key", VALUE},
                                   [LH_EDGE_METATABLE] = {"its metatable", TABLE},
                                   [LH_EDGE_UPVALUE] = {"an upvalue", UPVALUE},
                                   [LH_EDGE_CONTENT] = {"its value", VALUE},
                                   [LH_EDGE_C_UPVALUE] = {"an upvalue", VALUE},
                                   [LH_EDGE_USER_VALUE] = {"a user value", VALUE},
                                   [LH_EDGE_PROTO] = {"its prototype", PROTO},
                                   [LH_EDGE_CONSTANT] = {"a constant", STRING},
                                   [LH_EDGE_NESTED] = {"a prototype inside", PROTO},
                                   [LH_EDGE_SOURCE] = {"its source", STRING},
                                   [LH_EDGE_DEBUG_NAME] = {"the name of a variable", STRING},
                                   [LH_EDGE_FUNCTION] = {"the function of a frame", CLOSURE},
                                   [LH_EDGE_LOCAL] = {"a local variable", VALUE},
                                   [LH_EDGE_TEMPORARY] = {"a temporary value", VALUE},
                                   [LH_EDGE_VARARG] = {"an extra argument", VALUE},
                                   [LH_EDGE_ARGUMENT] = {"an argument", VALUE},
                                   [LH_EDGE_OPEN_UPVALUE] = {"an open upvalue", UPVALUE}};

static const expected a_name = {"a name", STRING};

static const expected of_root[] = {[LH_ROOT_REGISTRY] = {"the registry", TABLE},
                                   [LH_ROOT_GLOBALS] = {"the globals", TABLE},
                                   [LH_ROOT_LOADED] = {"package.loaded", TABLE},
                                   [LH_ROOT_MAIN_THREAD] = {"the main thread", THREAD},
                                   [LH_ROOT_RUNNING_THREAD] = {"the running thread", THREAD},
                                   [LH_ROOT_TYPE_METATABLE] = {"a type's metatable", TABLE},
                                   [LH_ROOT_METAMETHOD_NAME] = {"a metamethod's name", STRING},
                                   [LH_ROOT_MEMORY_MESSAGE] = {"the memory message", STRING},
                                   [LH_ROOT_FIXED] = {"a fixed object", STRING},
                                   [LH_ROOT_FINALIZER] = {"a finalizer's object", VALUE},
                                   [LH_ROOT_OWN] = {"luaheap's state", VALUE}};

static const unsigned of_list[] = {[LH_LIST_ALLGC] = ~0u,
                                   [LH_LIST_FINOBJ] = TABLE | USERDATA,
                                   [LH_LIST_TOBEFNZ] = TABLE | USERDATA,
                                   [LH_LIST_FIXEDGC] = STRING,
                                   [LH_LIST_ELSEWHERE] = ~0u};

typedef struct verifier {
  const lh_snapshot *s;
  lh_error *error;
  uint64_t n_edges;
  uint32_t n_threads, n_main_threads;
  lh_id main_thread;
  bool sweeping;
} verifier;

/* ==== faults ======================================================================== */

/* `id`: the object at fault, or LH_ROOT for the footer. */
static int fault(verifier *v, lh_id id, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int fault(verifier *v, lh_id id, const uint8_t *at, const char *format, ...) {
  char where[64] = "footer", what[160];
  va_list args;
  if (id != LH_ROOT)
    (void)snprintf(where, sizeof where, "object %u of %u (%s)", id, v->s->n,
                   lh_record_name(*lh_record(v->s, id)));
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return lh_fail_damaged(v->s, at, where, what, v->error);
}

/* ==== references ==================================================================== */

enum { WRONG_BYTES = 64 };

/* Is it a live object of one of these types? If not, `wrong` says where the reference ends. */
static bool is_target(const lh_snapshot *s, uint64_t word, lh_id target, unsigned types,
                      char wrong[WRONG_BYTES]) {
  unsigned long long address = (unsigned long long)word << 3;
  if (target == LH_NO_OBJECT)
    (void)snprintf(wrong, WRONG_BYTES, "0x%llx, where there is no object", address);
  else if (!(types >> lh_type_of(s, target) & 1))
    (void)snprintf(wrong, WRONG_BYTES, "0x%llx, which is a %s", address,
                   lh_record_name(*lh_record(s, target)));
  else if (lh_is_dead(s, target))
    (void)snprintf(wrong, WRONG_BYTES, "0x%llx, which the collector has condemned", address);
  else
    return true;
  return false;
}

static int check_target(verifier *v, lh_id source, const uint8_t *at, uint64_t word,
                        const expected *wanted) {
  char wrong[WRONG_BYTES];
  if (is_target(v->s, word, lh_find_word(v->s, word), wanted->types, wrong)) return 0;
  return fault(v, source, at, "%s refers to %s", wanted->what, wrong);
}

/* Lengths of a prototype's lists, on which its size depends. */
typedef struct lists {
  uint64_t nested, upvalue_names, locals;
} lists;

static void note_list(const scan *c, lists *l) {
  if (c->kind == LH_EDGE_NESTED) l->nested = c->left;
  if (c->kind != LH_EDGE_DEBUG_NAME) return;
  if (c->frames_left == 1)
    l->upvalue_names = c->left;
  else
    l->locals = c->left;
}

static int verify_references(verifier *v, lh_id id, lists *l) {
  scan c;
  found reference;
  const uint8_t *at;
  step_result result;
  int code = 0;
  begin_record(v->s, id, &c);
  at = c.at;
  do {
    if (!c.pending) at = c.at; /* a pending reference was read with the item before */
    bool new_section = c.left == 0 && !c.pending;
    result = step_once(&c, &reference);
    if (new_section && result != STEP_END) note_list(&c, l);
    if (result != STEP_FOUND) continue;
    v->n_edges++;
    code = check_target(v, id, at, reference.word, &of_edge[reference.kind]);
    if (!code && reference.name_word) code = check_target(v, id, at, reference.name_word, &a_name);
  } while (!code && result != STEP_END);
  return code;
}

/* ==== objects ======================================================================= */

static uint64_t bytes_of_string(const lh_sizes *sizes, const lh_object *o) {
  if (o->as.string.is_fixed) return sizes->fixed_string;
  if (o->as.string.external_bytes > 0) return sizes->free_string + o->as.string.external_bytes;
  return sizes->string + o->as.string.length;
}

/* The bytes that Lua allocates; 0 for a thread, whose list of calls may be longer than its use
** (check_size checks a lower bound). */
static uint64_t bytes_needed(const lh_sizes *sizes, const lh_object *o, const lists *l) {
  switch (o->type) {
    case LH_TYPE_STRING: return bytes_of_string(sizes, o);
    case LH_TYPE_TABLE:
      return sizes->table + lh_slot_bytes(sizes, o->as.table.array_slots, o->as.table.hash_slots);
    case LH_TYPE_CLOSURE: return 32 + (o->as.closure.is_c ? 16 : 8) * o->as.closure.upvalues;
    case LH_TYPE_UPVALUE: return 40;
    case LH_TYPE_PROTO:
      return LH_PROTO_BYTES + 4 * o->as.proto.instructions + 16 * (uint64_t)o->as.proto.constants +
             8 * l->nested + 16 * l->upvalue_names + o->as.proto.debug_bytes;
    case LH_TYPE_USERDATA:
      return lh_userdata_header(o->as.userdata.user_values) + o->as.userdata.bytes;
    default: return 0;
  }
}

/* The code of a prototype that was loaded in mode "B" is not Lua's memory. A string may free a
** library in place of its text. */
static bool has_size(const lh_sizes *sizes, const lh_object *o, uint64_t needed) {
  bool is_string =
      o->type == LH_TYPE_STRING && !o->as.string.is_fixed && o->as.string.external_bytes == 0;
  bool has_more = is_string || (o->type == LH_TYPE_USERDATA && o->as.userdata.user_values > 0);
  bool lacks_code = o->type == LH_TYPE_PROTO && sizes->fixed_string > 0;
  bool frees_other =
      o->type == LH_TYPE_STRING && o->as.string.is_fixed && o->shallow_bytes == sizes->free_string;
  return o->shallow_bytes == needed || frees_other ||
         (has_more && o->shallow_bytes == needed + sizes->more) ||
         (lacks_code && o->shallow_bytes + 4 * o->as.proto.instructions == needed);
}

static int check_size(verifier *v, const lh_object *o, const lists *l) {
  const uint8_t *at = lh_record(v->s, o->id);
  if (o->list == LH_LIST_ELSEWHERE) return 0;
  uint64_t needed = bytes_needed(v->s->sizes, o, l);
  if (o->type != LH_TYPE_THREAD && !has_size(v->s->sizes, o, needed))
    return fault(v, o->id, at, "it has %llu bytes, its fields need %llu",
                 (unsigned long long)o->shallow_bytes, (unsigned long long)needed);
  if (o->type == LH_TYPE_PROTO && o->as.proto.upvalues != l->upvalue_names)
    return fault(v, o->id, at, "it names %llu of its %u upvalues",
                 (unsigned long long)l->upvalue_names, o->as.proto.upvalues);
  if (o->type == LH_TYPE_PROTO && o->as.proto.debug_bytes / 16 < l->locals)
    return fault(v, o->id, at, "it names more local variables than it has");
  if (o->type == LH_TYPE_THREAD && o->shallow_bytes / 16 < o->as.thread.stack_slots)
    return fault(v, o->id, at, "its stack is bigger than itself");
  return 0;
}

static int check_place(verifier *v, const lh_object *o) {
  const uint8_t *at = lh_record(v->s, o->id);
  if (!(of_list[o->list] >> o->type & 1))
    return fault(v, o->id, at, "it is on a list that never has objects of its type");
  if (o->dead && !v->sweeping)
    return fault(v, o->id, at, "it is condemned, though the collector is not sweeping");
  if (!o->own && lh_epoch(v->s, o->id) == v->s->n_marks)
    return fault(v, o->id, at, "it is younger than the snapshot");
  return 0;
}

static int verify_object(verifier *v, lh_id id) {
  lh_object o;
  lists l = {0, 0, 0};
  lh_object_at(v->s, id, &o);
  int code = check_place(v, &o);
  if (code || o.dead) return code;
  if (o.type == LH_TYPE_THREAD) {
    v->n_threads++;
    if (o.as.thread.is_main) {
      v->n_main_threads++;
      v->main_thread = id;
    }
  }
  code = verify_references(v, id, &l);
  return code ? code : check_size(v, &o, &l);
}

static int verify_objects(verifier *v) {
  int code = 0;
  for (uint64_t id = 1; id <= v->s->n && !code; id++) code = verify_object(v, (lh_id)id);
  return code;
}

/* ==== the footer ==================================================================== */

static int check_roots(verifier *v) {
  const lh_snapshot *s = v->s;
  const uint8_t *at = s->named_roots;
  uint32_t n_of[LH_ROOT_OWN + 1] = {0};
  for (uint32_t i = 0; i < s->n_named_roots; i++) {
    const uint8_t *start = at;
    unsigned kind = *at++;
    at++;
    uint64_t word = lh_get_uvarint(&at);
    char wrong[WRONG_BYTES];
    if (!is_target(s, word, lh_find_word(s, word), of_root[kind].types, wrong))
      return fault(v, LH_ROOT, start, "root %u of %u, %s, refers to %s", i + 1, s->n_named_roots,
                   of_root[kind].what, wrong);
    if (kind == LH_ROOT_MAIN_THREAD && lh_find_word(s, word) != v->main_thread)
      return fault(v, LH_ROOT, start, "its main thread is not the object that says so");
    n_of[kind]++;
  }
  v->n_edges += s->n_roots;
  if (n_of[LH_ROOT_REGISTRY] != 1 || n_of[LH_ROOT_MAIN_THREAD] != 1 ||
      n_of[LH_ROOT_RUNNING_THREAD] > 1 || v->n_main_threads != 1)
    return fault(v, LH_ROOT, s->named_roots,
                 "there is not one registry and one main thread, or more than one running thread");
  return 0;
}

static int check_totals(verifier *v) {
  const lh_info *info = &v->s->info;
  uint64_t table = info->string_table_bytes;
  const uint8_t *at = v->s->named_roots;
  /* A Lua built without the extra space in front of each thread has 8 bytes fewer a thread. */
  if (info->unaccounted_bytes < -8 * (int64_t)v->n_threads)
    return fault(v, LH_ROOT, at,
                 "its objects and string table have more bytes than the collector "
                 "counted");
  if (table < 8 || (table & (table - 1)) != 0)
    return fault(v, LH_ROOT, at, "its string table has %llu bytes: no power of two",
                 (unsigned long long)table);
  return 0;
}

static int check_own_mark(verifier *v) {
  const lh_snapshot *s = v->s;
  const lh_mark_info *own = &s->marks[s->n_marks - 1];
  lh_id id = s->mark_ids[s->n_marks - 1][0];
  const uint8_t *at = lh_record(s, id);
  if (!own->is_snapshot) return fault(v, id, at, "the youngest mark is no snapshot's");
  if (own->time_ns != s->info.time_ns || strcmp(own->name, s->info.name) != 0)
    return fault(v, id, at, "its name or time is not that of the snapshot");
  return 0;
}

static int check_matched(verifier *v) {
  const lh_snapshot *s = v->s;
  const uint8_t *at = s->data + s->outside_section.offset;
  uint32_t k = 0;
  for (uint32_t i = 0; i + 1 < s->n_marks && k < s->n_matched; i++) {
    const lh_matched_mark *matched = &s->matched[k];
    if (!lh_is_mark(&s->marks[i], matched->serial, matched->time_ns)) continue;
    for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
      if (matched->passed[list] >= s->list_first[list + 1] - s->mark_ids[i][list] &&
          matched->passed[list] > 0)
        return fault(v, LH_ROOT, at, "more objects pass as older than mark %u than are behind it",
                     matched->serial);
    k++;
  }
  if (k == s->n_matched) return 0;
  return fault(v, LH_ROOT, at, "mark %u, which was placed by a comparison, is not in the heap",
               s->matched[k].serial);
}

int lh_verify(const lh_snapshot *s, uint64_t *edges, lh_error *error) {
  verifier v = {.s = s, .error = error};
  v.sweeping = s->info.gc_state >= 3 && s->info.gc_state <= 6;
  int code = verify_objects(&v);
  if (!code) code = check_roots(&v);
  if (!code) code = check_totals(&v);
  if (!code) code = check_own_mark(&v);
  if (!code) code = check_matched(&v);
  if (!code && edges) *edges = v.n_edges;
  return code;
}
