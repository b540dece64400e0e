/*
** write_state.c - walks and writes one state of a mirror, which it may change.
**
** The heap is consistent if all bytes add up to the collector's count and every key is reached from
** its main position (consistency.c). If Lua may still have been in a change, lh_verify reads the
** file, too: an unfinished change leaves a reference to no object or to a freed one.
**
** Bytes without an object are a parser's, while it loads a chunk. They are accepted if the caller
** allows that and a function is incomplete, and in cores, which have only one attempt. In a core
** that does not run on they make the snapshot uncertain: the old vector of a table being resized
** (luaH_resize) has entries, but belongs to no object.
**
** Cost: 1.5 times the instructions of a snapshot from inside, and 1 us for each small page.
**
** Security: no code of the target runs here, but its pointers are followed, and a forged one could
** copy memory of this process into the snapshot. Even a vector of pointers would, since they become
** references. So each object and each vector of it must be in the mirror, or the heap is refused.
*/
#include <sys/mman.h>

#include "mirrored.h"

typedef struct state_writer {
  const lh_mirrored *mirrored;
  lh_outside_request *request;
  int64_t *more_extra_bytes;
  lh_mirrored_state state;
  lh_consistency consistency;
  const lh_memory_region *region; /* of the last object checked; NULL */
  lh_elsewhere elsewhere;
  uint64_t walked_bytes; /* without the contents of userdata */
  lh_carried_mark *carried;
  size_t n_carried;
  int64_t noted_more_bytes; /* by malloc's note, as lh_mirrored.more_extra_bytes */
  int64_t n_threads;        /* walked */
  char release[16];
  lh_shot shot;
} state_writer;

/* ==== The state ===================================================================== */

/* A forged heap may point to memory of this process. Most objects are in the last one's region. */
static bool is_of_target(state_writer *s, const void *at, uint64_t bytes) {
  uint64_t start = (uintptr_t)at;
  const lh_memory_region *r = s->region;
  if (bytes == 0) return true;
  if (r && start >= r->start && start - r->start < r->present_bytes &&
      bytes <= r->present_bytes - (start - r->start))
    return true;
  if (!lh_mirror_has(s->mirrored->mirror, start, bytes)) return false;
  s->region = lh_region_at(s->mirrored->memory, start);
  return true;
}

static bool has_table_of_target(state_writer *s, const raw_table *t) {
  enum { MOST_LOG2 = 40 }; /* the size of more slots could wrap around */
  if (!is_of_target(s, t, sizeof *t) || t->log2_slots > MOST_LOG2) return false;
  uint64_t n = raw_array_slots(&s->state.layout, t), n_hash = raw_hash_slots(t);
  return is_of_target(s, raw_array_block(&s->state.layout, t), raw_array_bytes(n)) &&
         is_of_target(s, raw_slots_block(t), raw_slots_bytes(n_hash));
}

/* A length near 2^64 makes a small size: the text behind it, or the name of a mark, would be read
** beyond what is checked. An external text is not counted (has_string_of_target). */
static bool has_bounded_length(const state_writer *s, const raw_object *object) {
  uint64_t most_bytes = s->shot.walk.shared.is_elsewhere ? lh_mirrored_bytes(s->mirrored->memory)
                                                         : s->consistency.most_bytes;
  const raw_string *string = (const raw_string *)object;
  if (object->type == RAW_LONG_STRING && raw_kind_of_string(string) == RAW_STRING_REGULAR)
    return raw_string_length(&s->state.layout, string) <= most_bytes;
  return object->type != RAW_USERDATA || ((const raw_userdata *)object)->length <= most_bytes;
}

/* marks.c writes into luaheap's userdata, which a forged registry may have anywhere. */
static bool has_own_of_target(state_writer *s, uint64_t most_bytes) {
  const raw_userdata *ours = s->state.ours;
  return !ours ||
         (ours->length <= most_bytes &&
          is_of_target(s, ours, raw_content_offset(&s->state.layout, ours) + ours->length));
}

/* A greater count than mapped memory is wrong, and would let the walk go in circles for as long. */
static int see_state(state_writer *s, const lh_seen_state *seen, lh_error *error) {
  const lh_mirrored *m = s->mirrored;
  if (seen->gc_bytes > lh_mirrored_bytes(m->memory)) return lh_fail_amid_change(error);
  const char *release = lh_release_of(m->target, s->request->state);
  (void)snprintf(s->release, sizeof s->release, "%s%s", *release ? release : LH_LUA_NAME,
                 *release ? "" : seen->dialect);
  s->state = (lh_mirrored_state){.layout = *seen->layout,
                                 .global = (char *)(uintptr_t)seen->global,
                                 .main_thread = (const char *)(uintptr_t)seen->main_thread,
                                 .seed = seen->seed};
  s->state.layout.global_from_main = (int32_t)(seen->global - seen->main_thread);
  s->state.layout.thread_bytes = seen->thread_bytes + (size_t)m->more_extra_bytes;
  s->state.layout.main_thread_bytes = seen->main_thread_bytes + (size_t)m->more_extra_bytes;
  s->state.layout.user_values = lh_user_values_of(&s->state, release);
  s->noted_more_bytes = (int64_t)seen->noted_extra_bytes - LH_USUAL_EXTRA_BYTES;
  const raw_value *registry = &RAW_FIELD(s->state.global, RAW_GLOBAL_REGISTRY, raw_value);
  uint64_t of_global = s->state.layout.type_metatables + RAW_BASIC_TYPES * sizeof(void *);
  if (!is_of_target(s, s->state.global, of_global) ||
      !has_table_of_target(s, (const raw_table *)registry->as.object))
    return lh_fail_amid_change(error);
  lh_find_own(&s->state);
  return has_own_of_target(s, seen->gc_bytes) ? LH_OK : lh_fail_amid_change(error);
}

static uint64_t time_of_shot(const lh_mirrored *m) {
  struct timespec now;
  if (m->target->is_core) return m->target->written_ns;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Strings that are not kept are told apart by a hash with a secret seed: that of luaheap in the
** process, or one made from the process's random bytes. */
static uint64_t secret_seed(const state_writer *s) {
  const lh_own_content *content = lh_mirrored_content(&s->state);
  if (content && s->state.ours->length == sizeof(lh_state)) {
    return ((const lh_state *)(const void *)content)->string_seed;
  }
  const lh_target *target = s->mirrored->target;
  return lh_hash(target->random, sizeof target->random, s->shot.facts.state_id);
}

static uint32_t newest_serial(const state_writer *s) {
  const lh_snapshot *after = s->request->after;
  uint32_t serial = lh_newest_serial(&s->state);
  for (uint32_t i = 0; after && i < lh_mark_count(after); i++) {
    uint32_t other = lh_mark_at(after, i)->serial;
    if (other > serial) serial = other;
  }
  return serial;
}

static void gather_facts(state_writer *s) {
  const lh_mirrored *m = s->mirrored;
  const lh_own_content *content = lh_mirrored_content(&s->state);
  const char *path = s->request->path;
  s->shot.facts = (lh_facts){
      .state_id = content ? content->state_id
                          : lh_outside_state_id(m->target, s->request->state, s->state.seed),
      .time_ns = time_of_shot(m),
      .process_id = m->target->own_process_id,
      .serial = newest_serial(s) + 1,
      .release = s->release,
      .name = path ? path : "",
      .program = m->target->program ? m->target->program : ""};
}

/* ==== The walk ====================================================================== */

static state_writer *writer_of(const lh_walk *walk) {
  return walk->more_payload;
}

static void count_object(const lh_layout *layout, lh_counts *counts, const raw_object *object,
                         bool is_dead, uint64_t bytes) {
  static const uint8_t types[64] = {
      [RAW_SHORT_STRING] = LH_TYPE_STRING, [RAW_LONG_STRING] = LH_TYPE_STRING,
      [RAW_TABLE] = LH_TYPE_TABLE,         [RAW_LUA_CLOSURE] = LH_TYPE_CLOSURE,
      [RAW_C_CLOSURE] = LH_TYPE_CLOSURE,   [RAW_USERDATA] = LH_TYPE_USERDATA,
      [RAW_THREAD] = LH_TYPE_THREAD,       [RAW_UPVALUE] = LH_TYPE_UPVALUE,
      [RAW_PROTO] = LH_TYPE_PROTO};
  lh_count *counted[] = {&counts->all, &counts->by_type[types[object->type & 0x3F]],
                         is_dead ? &counts->dead : &counts->all};
  for (int i = 0; i < (is_dead ? 3 : 2); i++) {
    counted[i]->objects++;
    counted[i]->bytes += bytes;
  }
  counts->external_bytes += raw_external_bytes(layout, object);
}

/* The same objects as in the file (lh_is_own). */
static bool is_own(const state_writer *s, const raw_object *object) {
  if (object == s->state.metatable || object == s->state.own_thread) return true;
  return object->type == RAW_USERDATA &&
         lh_walk_own_content(&s->state.layout, (const raw_userdata *)object) != NULL;
}

/* An earlier walk may have measured the file, so the first object resets the counts. */
static void count_own(state_writer *s, const raw_object *object, uint64_t bytes) {
  lh_taken *own = &s->request->own;
  if (s->shot.walk.object_bytes == 0) {
    *own = (lh_taken){0};
    s->n_threads = 0;
  }
  s->n_threads += object->type == RAW_THREAD;
  if (raw_is_dead(object, s->shot.walk.dead_white) || !is_own(s, object)) return;
  own->objects++;
  own->bytes += bytes;
}

static bool is_brought(state_writer *s, const void *at, uint64_t bytes) {
  return lh_bring(&s->elsewhere, s->mirrored, at, bytes);
}

static bool has_string_of_target(state_writer *s, const raw_string *string, uint64_t bytes) {
  uint64_t length = raw_string_length(&s->state.layout, string);
  if (!is_of_target(s, string, bytes)) return false;
  switch (raw_kind_of_string(string)) {
    case RAW_STRING_REGULAR:
      return raw_text(&s->state.layout, string) == (const char *)string + bytes - 1 - length;
    case RAW_STRING_FIXED:
    case RAW_STRING_EXTERNAL: return is_brought(s, raw_text(&s->state.layout, string), length);
    default: return false;
  }
}

static bool may_read(const lh_walk *walk, const raw_object *object) {
  return is_of_target(writer_of(walk), object, sizeof *object);
}

/* A __mode need not be on any list. */
static bool may_read_text(const lh_walk *walk, const raw_string *string) {
  state_writer *s = writer_of(walk);
  return is_of_target(s, string, raw_text_offset(&s->state.layout)) &&
         (string->type == RAW_SHORT_STRING || string->type == RAW_LONG_STRING) &&
         has_bounded_length(s, (const raw_object *)string) &&
         has_string_of_target(s, string, raw_string_bytes(&s->state.layout, string));
}

/* A negative number is a vector of more bytes than there are. A function of 5.5 may have its code
** in memory that Lua does not own. */
static bool has_proto_of_target(state_writer *s, const raw_proto *p) {
  enum { N_OF_CODE = 3 };
  if (!is_of_target(s, p, sizeof *p)) return false;
  const struct {
    const void *at;
    int32_t n;
    size_t each;
  } vectors[] = {{p->code, p->n_code, sizeof *p->code},
                 {p->line_deltas, p->n_line_deltas, sizeof *p->line_deltas},
                 {p->lines, p->n_lines, sizeof *p->lines},
                 {p->constants, p->n_constants, sizeof *p->constants},
                 {p->nested, p->n_nested, sizeof *p->nested},
                 {p->upvalues, p->n_upvalues, sizeof *p->upvalues},
                 {p->locals, p->n_locals, sizeof *p->locals}};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    uint64_t bytes = (uint64_t)vectors[i].n * vectors[i].each;
    bool is_fixed = i < N_OF_CODE && (p->flags & RAW_PROTO_FIXED) != 0;
    if (!is_of_target(s, vectors[i].at, bytes) &&
        !(is_fixed && is_brought(s, vectors[i].at, bytes)))
      return false;
  }
  return true;
}

/* A running function may be on no list. A call whose slot is not below `top` has lost it, and is
** not read, unless it is the first one. */
static bool has_function_of_target(state_writer *s, const raw_call *call, const raw_value *top) {
  bool is_read = !call->previous || call->function < top;
  if (!is_read || call->function->type != (RAW_LUA_CLOSURE | RAW_COLLECTABLE)) return true;
  const raw_lua_closure *c = (const raw_lua_closure *)call->function->as.object;
  return is_of_target(s, c, sizeof *c) && (!c->proto || has_proto_of_target(s, c->proto));
}

/* The thread is sound (lh_is_consistent). */
static bool has_thread_of_target(state_writer *s, const raw_object *thread) {
  const lh_layout *layout = &s->state.layout;
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  const raw_call *last = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  const raw_call *call = raw_base_call(layout, thread);
  if (!is_of_target(s, thread, layout->base_call + sizeof *call)) return false;
  if (!stack) return true; /* the thread is just being created */
  bool is_so = is_of_target(s, stack, raw_stack_slots(layout, thread) * sizeof *stack);
  for (; is_so; call = call->next) {
    is_so = is_of_target(s, call, sizeof *call) && has_function_of_target(s, call, top);
    if (call == last) break;
  }
  return is_so;
}

static bool has_made(const lh_mirrored_state *state, const raw_object *object) {
  for (size_t i = 0; i < state->n_made; i++)
    if ((const raw_object *)state->made[i] == object) return true;
  return false;
}

/* Of a dead object only its address and size go into the file. */
static bool is_whole_of_target(state_writer *s, const raw_object *object, uint64_t bytes) {
  const raw_upvalue *u = (const raw_upvalue *)object;
  if (raw_is_dead(object, s->consistency.dead_white) && !raw_is_external(object)) return true;
  switch (object->type) {
    case RAW_TABLE: return has_table_of_target(s, (const raw_table *)object);
    case RAW_SHORT_STRING:
    case RAW_LONG_STRING: return has_string_of_target(s, (const raw_string *)object, bytes);
    case RAW_PROTO: return has_proto_of_target(s, (const raw_proto *)object);
    case RAW_THREAD: return has_thread_of_target(s, object);
    case RAW_UPVALUE:
      return is_of_target(s, u, sizeof *u) && is_of_target(s, u->value, sizeof *u->value);
    default: return is_of_target(s, object, bytes) || has_made(&s->state, object);
  }
}

/* Bounds the walk by the bytes that the program wrote: no forged string in untouched memory is
** hashed, and no list goes in circles for long. Lua writes each object completely, and at least
** half of a vector that grows while it loads a chunk. Only C may leave the content of a userdata
** untouched. A core by gdb has holes for strings of zeros, too. */
static bool may_be_written(state_writer *s, const lh_walk *walk, const raw_object *object,
                           uint64_t bytes) {
  const uint64_t in_holes = s->mirrored->target->is_core ? (uint64_t)1 << 30 : 0;
  if (walk->object_bytes == 0) s->walked_bytes = 0; /* an earlier walk may have counted */
  if (object->type == RAW_USERDATA)
    bytes = raw_content_offset(walk->layout, (const raw_userdata *)object);
  s->walked_bytes += bytes + raw_external_bytes(walk->layout, object);
  return s->walked_bytes / 2 <= s->mirrored->written_bytes + in_holes;
}

/* Marks are linked behind any object, also a dead one, and lh_is_consistent writes into a
** thread. So both must be the target's before. */
static bool is_sound(state_writer *s, const raw_object *object, uint64_t bytes) {
  uint64_t of_thread = s->state.layout.base_call + sizeof(raw_call);
  if (!is_of_target(s, object, sizeof *object) && !has_made(&s->state, object)) return false;
  if (object->type == RAW_THREAD && !is_of_target(s, object, of_thread)) return false;
  return has_bounded_length(s, object) && lh_is_consistent(&s->consistency, object) &&
         is_whole_of_target(s, object, bytes);
}

static bool accept(const lh_walk *walk, const raw_object *object, uint64_t bytes) {
  state_writer *s = writer_of(walk);
  uint64_t most_bytes = s->consistency.most_bytes;
  bool is_elsewhere = walk->shared.is_elsewhere;
  bool may_add = bytes <= most_bytes && walk->object_bytes <= most_bytes - bytes;
  if (!may_add && !is_elsewhere) return false;
  if (!is_sound(s, object, bytes) || !may_be_written(s, walk, object, bytes)) return false;
  if (is_elsewhere) return true;
  bool is_dead = raw_is_dead(object, walk->dead_white);
  if (object->type == RAW_THREAD && !is_dead)
    s->shot.walk.thread = lh_deeper_thread(walk->layout, walk->thread, object);
  count_own(s, object, bytes);
  if (!s->request->path) count_object(walk->layout, &s->request->counts, object, is_dead, bytes);
  return true;
}

static bool adds_up(const state_writer *s) {
  uint64_t bytes = s->shot.walk.object_bytes + s->shot.string_table_bytes;
  return bytes == s->shot.gc_bytes;
}

/* In a core, bytes without an object are mostly a growing table's old vector, with entries that no
** other vector has yet; or, if a function is incomplete, a parser's. */
static bool is_in_doubt(const state_writer *s) {
  uint64_t bytes = s->shot.walk.object_bytes + s->shot.string_table_bytes;
  if (lh_is_in_doubt(s->mirrored)) return true;
  if (s->mirrored->is_quiet || adds_up(s)) return false;
  return !s->consistency.is_loading || lh_fit_table(s->shot.gc_bytes - bytes);
}

/* ==== The section on the capture ==================================================== */

/* The longest parts: the places of marks, and the names of C functions. */
static uint64_t longest_section(const state_writer *s) {
  return 64 + s->n_carried * 5 * LH_MAX_VARINT +
         LH_MOST_C_FUNCTIONS * (sizeof(lh_code_name) + 4 * LH_MAX_VARINT);
}

static void put_text(lh_out *out, const char *text) {
  lh_out_uvarint(out, strlen(text));
  lh_out_bytes(out, text, strlen(text));
}

static void put_marks(lh_out *out, const state_writer *s) {
  lh_out_uvarint(out, s->n_carried);
  for (size_t i = 0; i < s->n_carried; i++) {
    const lh_carried_mark *mark = &s->carried[i];
    uint8_t *p = lh_put_uvarint(lh_out_room(out), mark->serial);
    lh_store64(p, mark->time_ns);
    p = lh_put_uvarint(p + 8, mark->possibly_newer[LH_LIST_ALLGC]);
    lh_out_took(out, lh_put_uvarint(p, mark->possibly_newer[LH_LIST_FINOBJ]));
  }
}

static void put_functions(const state_writer *s, lh_function_set *functions, lh_symbols *symbols) {
  lh_out *out = s->shot.walk.out;
  lh_out_uvarint(out, functions->n);
  for (size_t i = 0; i < functions->n; i++) {
    lh_code_name name = {0};
    lh_await_end(s->mirrored->writing);
    if (!lh_symbols_find(symbols, functions->slots[i], &name)) name = (lh_code_name){0};
    lh_await_output(s->mirrored->writing, s->request->path ? s->request->path : "");
    lh_out_uvarint(out, functions->slots[i]);
    put_text(out, name.symbol);
    put_text(out, name.library);
    lh_out_uvarint(out, name.offset);
  }
}

/* Looks up no names if the snapshot will be discarded. */
static void put_section(lh_walk *walk) {
  state_writer *s = writer_of(walk);
  lh_out *out = walk->out;
  lh_function_set functions = s->consistency.functions;
  const lh_mirrored *m = s->mirrored;
  bool is_wanted = s->request->path && !out->refused && (adds_up(s) || s->consistency.is_loading) &&
                   !lh_has_silent_file(m);
  lh_symbols *symbols = is_wanted ? lh_symbols_open(m->target, m->reading) : NULL;
  lh_function_sort(&functions);
  lh_out_u8(out, s->mirrored->stillness);
  lh_out_u8(out, (s->mirrored->was_in_system_call ? LH_OUTSIDE_IN_CALL : 0) |
                     (is_in_doubt(s) ? LH_OUTSIDE_IN_DOUBT : 0));
  put_marks(out, s);
  put_functions(s, &functions, symbols);
  lh_symbols_close(symbols);
}

static const lh_walk_more doubting = {.accept = accept,
                                      .may_read = may_read,
                                      .may_read_text = may_read_text,
                                      .section = LH_SECTION_OUTSIDE,
                                      .put_section = put_section};

/* ==== Writing ======================================================================= */

static int begin_shot(state_writer *s, lh_writer writer, void *payload, lh_error *error) {
  const lh_outside_options *options = s->mirrored->options;
  uint64_t string_bytes = options ? options->string_bytes : LH_DEFAULT_STRING_BYTES;
  lh_shot *shot = &s->shot;
  lh_consistency_begin(&s->consistency, &s->state);
  shot->walk = (lh_walk){.thread = lh_running_thread(&s->state),
                         .more = &doubting,
                         .more_payload = s,
                         .string_bytes = s->request->path ? string_bytes : 0,
                         .hash_seed = string_bytes ? 0 : secret_seed(s)};
  shot->facts.ours[0] = s->state.ours;
  shot->facts.ours[1] = s->state.metatable;
  shot->facts.ours[2] = s->state.own_thread;
  lh_shot_aim(shot, s->state.global, &s->state.layout, longest_section(s));
  return lh_out_open(&shot->out, shot->longest_bytes, writer, payload, error);
}

static bool may_have_more(const state_writer *s) {
  if (s->mirrored->stillness == LH_STILL_CORE) return true;
  return s->mirrored->is_lenient && s->consistency.is_loading;
}

/* Asleep in a call and loading no function, Lua changes nothing: its count differs for another
** reason. The same holds for a core with too low a count, unless Lua was just about to count. */
static int fail_sum(const state_writer *s, uint64_t bytes, lh_error *error) {
  const lh_mirrored *m = s->mirrored;
  bool is_core = m->stillness == LH_STILL_CORE;
  bool was_asleep = m->stillness == LH_STILL_IDLE && m->is_quiet && !s->consistency.is_loading;
  if (!is_core && !was_asleep) return lh_fail_amid_change(error);
  return lh_fail(error, LH_EHOST,
                 "its objects have %" PRIu64 " bytes, and its collector counts %" PRIu64
                 "; luaheap does not know why%s",
                 bytes, s->shot.gc_bytes,
                 is_core ? ": the process may have ended while it changed its heap" : "");
}

/* The extra space before each thread with which the sum is right; 0: none. malloc's note is
** evidence. Without it the sum of several threads decides, if no change is in progress: a change
** may lack as many bytes, and one thread may lack them for any reason. */
static int64_t find_more_extra_bytes(const state_writer *s, uint64_t bytes) {
  const lh_mirrored *m = s->mirrored;
  int64_t missing = (int64_t)(s->shot.gc_bytes - bytes);
  if (m->more_extra_bytes != 0 || s->n_threads == 0 || missing % (8 * s->n_threads) != 0) return 0;
  int64_t more = missing / s->n_threads, extra = LH_USUAL_EXTRA_BYTES + more;
  if (extra < 0 || extra > LH_MOST_EXTRA_BYTES) return 0;
  bool is_certain = s->n_threads > 1 && m->is_quiet && m->stillness != LH_STILL_CORE &&
                    !s->consistency.is_loading;
  return is_certain || more == s->noted_more_bytes ? more : 0;
}

static int check_sum(state_writer *s, lh_error *error) {
  uint64_t bytes = s->shot.walk.object_bytes + s->shot.string_table_bytes;
  s->request->unaccounted_bytes = (int64_t)(s->shot.gc_bytes - bytes);
  s->request->is_in_doubt = is_in_doubt(s);
  if (adds_up(s)) return LH_OK;
  *s->more_extra_bytes = find_more_extra_bytes(s, bytes);
  if (*s->more_extra_bytes != 0) return lh_fail_amid_change(error); /* until retried with them */
  if (bytes < s->shot.gc_bytes && may_have_more(s)) return LH_OK;
  return fail_sum(s, bytes, error);
}

typedef struct written {
  void *data;
  size_t size;
  lh_snapshot *snapshot;
} written;

static int open_written(int fd, const char *name, written *w, lh_error *error) {
  struct stat st;
  *w = (written){.data = MAP_FAILED};
  if (fstat(fd, &st) < 0) return lh_fail_errno(error, errno, "cannot read '%s' again", name);
  w->size = (size_t)st.st_size;
  w->data = mmap(NULL, w->size, PROT_READ, MAP_SHARED, fd, 0);
  if (w->data == MAP_FAILED) return lh_fail_errno(error, errno, "cannot read '%s' again", name);
  return lh_open_memory(&w->snapshot, w->data, w->size, name, error);
}

static void close_written(written *w) {
  lh_close(w->snapshot);
  if (w->data != MAP_FAILED) (void)munmap(w->data, w->size);
}

/* Any fault means that the program was changing its heap. */
static int verify(const state_writer *s, int fd, lh_error *error) {
  written w;
  lh_error fault = {0};
  bool is_core = s->mirrored->stillness == LH_STILL_CORE; /* a core may be forged */
  if (s->mirrored->is_quiet && !is_core && s->request->unaccounted_bytes == 0) return LH_OK;
  int rc = open_written(fd, s->request->path, &w, &fault);
  if (rc == LH_OK) rc = lh_verify(w.snapshot, NULL, &fault);
  close_written(&w);
  if (rc == LH_OK) return rc;
  if (rc == LH_EMEMORY || rc == LH_EIO) {
    if (error) *error = fault;
    return rc;
  }
  return lh_fail(error, LH_EBUSY, "the program was changing its heap: %s", fault.message);
}

static int write_now(state_writer *s, lh_file *file, lh_error *error) {
  int rc = begin_shot(s, lh_file_write, file, error);
  if (rc < 0) return rc;
  if (!lh_shot_may_fit(&s->shot, file) || !lh_shot_put(&s->shot, file, &s->request->taken)) {
    if (s->shot.walk.ended) return lh_fail_amid_change(error);
    return lh_file_fail(&file->failure, s->request->path, error);
  }
  rc = check_sum(s, error);
  if (rc == LH_OK) rc = verify(s, file->fd, error);
  if (rc == LH_OK && !lh_file_finish(file)) {
    rc = lh_file_fail(&file->failure, s->request->path, error);
  }
  return rc;
}

static int write_file(state_writer *s, lh_file *file, lh_error *error) {
  lh_await_output(s->mirrored->writing, s->request->path);
  int rc = write_now(s, file, error);
  lh_await_end(s->mirrored->writing);
  return rc;
}

static int only_count(state_writer *s, lh_error *error) {
  int rc = begin_shot(s, lh_shot_discard, NULL, error);
  if (rc == LH_OK) rc = lh_shot_write(&s->shot, &s->request->taken, error);
  return rc == LH_OK ? check_sum(s, error) : rc;
}

/* For the older snapshot's own mark; 0 if the program's own luaheap has that mark. */
static uint64_t possibly_newer(const state_writer *s) {
  uint64_t time_ns = lh_snapshot_info(s->request->after)->time_ns;
  const lh_carried_mark *own = s->n_carried > 0 ? &s->carried[s->n_carried - 1] : NULL;
  if (!own || own->time_ns != time_ns) return 0;
  return own->possibly_newer[LH_LIST_ALLGC] + own->possibly_newer[LH_LIST_FINOBJ];
}

/* A first snapshot, written to memory with only its own mark, gives the places of older marks. */
static int match_marks(state_writer *s, lh_error *error) {
  written w = {.data = MAP_FAILED};
  lh_file memory = {.folder_fd = -1, .fd = memfd_create("luaheap", MFD_CLOEXEC)};
  if (memory.fd < 0) return lh_fail_errno(error, errno, "cannot compare with the older snapshot");
  int rc = begin_shot(s, lh_file_write, &memory, error);
  if (rc == LH_OK) rc = lh_shot_write(&s->shot, &s->request->taken, error);
  lh_shot_free(&s->shot);
  if (rc == LH_OK) rc = check_sum(s, error);
  if (rc == LH_OK) rc = open_written(memory.fd, s->request->path, &w, error);
  if (rc == LH_OK) {
    lh_await(s->mirrored->writing, lh_snapshot_info(s->request->after)->name);
    rc = lh_match_marks(s->request->after, w.snapshot, &s->carried, &s->n_carried, error);
    lh_await_end(s->mirrored->writing);
  }
  if (rc == LH_OK) {
    rc = lh_link_carried_marks(&s->state, s->shot.facts.state_id, s->carried, s->n_carried, error);
  }
  if (rc == LH_OK) s->request->possibly_newer = possibly_newer(s);
  close_written(&w);
  lh_file_close(&memory);
  return rc;
}

static int write_state(state_writer *s, const lh_seen_state *seen, lh_file *file, lh_error *error) {
  int rc = see_state(s, seen, error);
  if (rc < 0) return rc;
  gather_facts(s);
  s->request->has_panicked = lh_has_panicked(s->mirrored->target, &s->state);
  if (!s->request->path) return only_count(s, error);
  lh_own_content own = {.state_id = s->shot.facts.state_id,
                        .time_ns = s->shot.facts.time_ns,
                        .serial = s->shot.facts.serial,
                        .kind = LH_MARK_BY_SNAPSHOT,
                        .name_length = (uint16_t)strlen(s->request->path)};
  rc = lh_link_own_mark(&s->state, own, s->request->path, error);
  if (rc == LH_OK && s->request->after) rc = match_marks(s, error);
  return rc == LH_OK ? write_file(s, file, error) : rc;
}

int lh_write_state(const lh_mirrored *mirrored, const lh_seen_state *seen,
                   lh_outside_request *request, lh_file *file, int64_t *more_extra_bytes,
                   lh_error *error) {
  state_writer *s = lh_alloc_zeroed(1, sizeof *s);
  if (!s) return lh_fail_memory(error, "looking at the mirror of a heap");
  s->mirrored = mirrored;
  s->request = request;
  s->elsewhere.output = request->path ? request->path : "";
  s->more_extra_bytes = more_extra_bytes;
  return write_state(s, seen, file, error);
}
