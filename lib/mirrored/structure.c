/*
** structure.c - checks whether there is a Lua state at an address (structure.h).
**
** The main thread and the global state, which are in one block, are copied once and their fields
** are compared: the pointer to a global state at the right distance, in 5.4 the pointer back, a
** registry that is a table, a valid collector state.
** Blocks of closed states can pass these checks. So the names of three metamethods and the registry
** are read too, and the byte count: a closed state counts only its block, an open one also strings
** and a stack.
**
** Two sizes that a build may choose are not in the block (measure.c asks Lua for them). The string
** cache ends where its pointers to strings end. The extra space in front of the thread is assumed
** to be the usual one. malloc's note of the block's size suggests another size, but a host's
** allocator may put a header there. The sum of all objects decides (write_state.c).
*/
#include "mirrored.h"

#include <assert.h>
#include <stdalign.h>

enum { CACHED_STRINGS = 106, EXTRA_BYTES = LH_USUAL_EXTRA_BYTES };
_Static_assert((int)LH_MAIN_THREAD_TYPE == RAW_THREAD, "a thread's type byte");
_Static_assert((int)LH_THREAD_TYPE == offsetof(raw_object, type), "a thread's type byte");
_Static_assert((int)LH_THREAD_GLOBAL == RAW_THREAD_GLOBAL, "a thread's global state");
_Static_assert((int)LH_THREAD_CALL == RAW_THREAD_CALL, "a thread's running call");
_Static_assert((int)LH_CALL_PREVIOUS == offsetof(raw_call, previous), "a call");
_Static_assert((int)LH_CALL_NEXT == offsetof(raw_call, next), "a call");
_Static_assert((int)LH_CALL_PLACE == offsetof(raw_call, saved_pc), "a call");

/* ==== The block ===================================================================== */

typedef struct block {
  const lh_layout *layout;
  uint64_t main_thread, global;
  alignas(8) char thread[208], of_global[480]; /* copied: all that is read of either */
} block;

/* A host of 5.4 may append fields of its own to the thread's (tup does). In 5.5 the build's choices
** are in between. */
static bool may_be_of(const lh_layout *layout, uint64_t main_thread, uint64_t global) {
  uint64_t nearest = main_thread + (uint64_t)(int64_t)layout->global_from_main;
  return lh_may_be_global(main_thread, global) && global % sizeof(void *) == 0 &&
         (LH_LUA == 504 ? global >= nearest : global < main_thread);
}

static bool copy_block(const lh_peek *p, const lh_layout *layout, uint64_t main_thread, block *b) {
  b->layout = layout;
  b->main_thread = main_thread;
  assert(layout->type_metatables <= sizeof b->of_global);
  if (!lh_peek_at(p, main_thread, b->thread, sizeof b->thread)) return false;
  b->global = RAW_FIELD(b->thread, RAW_THREAD_GLOBAL, uint64_t);
  if (may_be_of(layout, main_thread, b->global))
    return lh_peek_at(p, b->global, b->of_global, layout->type_metatables);
  b->global = 0;
  return true;
}

/* A thread's first call is of a C function, the host's, and has no call before it. This tells apart
** layouts that have the first call elsewhere. */
static bool has_base_call(const block *b) {
  const raw_call *base = raw_base_call(b->layout, b->thread);
  return !base->previous && (base->status & RAW_CALL_IS_C);
}

/* In 5.5 nothing points back, but the main thread is the last of all objects. */
static bool is_main_thread(const block *b) {
  bool is_main = LH_LUA == 505
                     ? !((const raw_object *)(const void *)b->thread)->next
                     : RAW_FIELD(b->of_global, b->layout->main_thread, uint64_t) == b->main_thread;
  return b->global != 0 && RAW_FIELD(b->thread, LH_THREAD_TYPE, uint8_t) == RAW_THREAD &&
         has_base_call(b) && is_main;
}

static bool is_global_state(const block *b) {
  const char *global = b->of_global;
  const raw_value *registry = &RAW_FIELD(global, RAW_GLOBAL_REGISTRY, raw_value);
  const raw_value *nil = &RAW_FIELD(global, RAW_GLOBAL_NIL, raw_value);
  int32_t size = RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  uint8_t white = raw_gc_byte(b->layout, global, RAW_GLOBAL_WHITE) & RAW_WHITES;
  return registry->type == (RAW_TABLE | RAW_COLLECTABLE) && raw_is_empty(nil->type) && size > 0 &&
         (size & (size - 1)) == 0 && white != 0 && white != RAW_WHITES &&
         raw_gc_byte(b->layout, global, RAW_GLOBAL_GC_STATE) <= 8 &&
         raw_gc_byte(b->layout, global, RAW_GLOBAL_GC_KIND) <= RAW_LAST_GC_KIND &&
         RAW_FIELD(global, RAW_GLOBAL_ALLOC, uint64_t) != 0;
}

/* ==== Its pointers' targets ========================================================= */

static bool is_table(const lh_peek *p, uint64_t address) {
  raw_object header;
  return lh_peek_at(p, address, &header, sizeof header) && header.type == RAW_TABLE;
}

static bool is_short_string(const lh_peek *p, const lh_layout *layout, uint64_t address,
                            const char *text) {
  enum { LONGEST = 8, MOST_BODY = 64 };
  alignas(raw_string) char copy[MOST_BODY + LONGEST];
  const raw_string *s = (const raw_string *)(const void *)copy;
  size_t n = strlen(text);
  assert(n < LONGEST && raw_text_offset(layout) <= MOST_BODY);
  return lh_peek_at(p, address, copy, raw_text_offset(layout) + n + 1) &&
         s->type == RAW_SHORT_STRING && raw_string_length(layout, s) == n &&
         memcmp(raw_text(layout, s), text, n + 1) == 0;
}

static bool has_metamethod_names(const lh_peek *p, const block *b) {
  static const struct {
    unsigned index;
    const char *text;
  } names[] = {{0, "__index"}, {RAW_TM_MODE, "__mode"}, {RAW_METAMETHODS - 1, "__close"}};
  const char *strings = b->of_global + b->layout->metamethod_names;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t address = RAW_FIELD(strings, names[i].index * sizeof(void *), uint64_t);
    if (!is_short_string(p, b->layout, address, names[i].text)) return false;
  }
  return true;
}

/* A string of either kind. The byte behind its text is zero. */
static bool is_string(const lh_peek *p, const lh_layout *layout, uint64_t address) {
  uint64_t length, text = lh_peek_text(p, layout, address, &length);
  char end = 1;
  return text != 0 && text + length >= text && lh_peek_at(p, text + length, &end, 1) && !end;
}

/* ==== Sizes ========================================================================= */

/* The number of strings in the cache. Two pointers that are not to strings follow it. */
static size_t cached_strings(const lh_peek *p, const block *b) {
  enum { MOST = 1 << 16 };
  uint64_t at = b->global + b->layout->type_metatables + RAW_BASIC_TYPES * sizeof(void *);
  size_t n = 0;
  for (uint64_t string; n < MOST; n++, at += sizeof string)
    if (!lh_peek_at(p, at, &string, sizeof string) || !is_string(p, b->layout, string)) break;
  return n;
}

#if LH_LUA == 505
/* The extra space is what the cache leaves between the global state's fields and the thread. */
static void measure(const lh_peek *p, const block *b, lh_seen_state *seen) {
  const lh_layout *l = b->layout;
  size_t thread_bytes = l->thread_bytes - EXTRA_BYTES, distance = b->main_thread - b->global;
  size_t fields = l->main_thread_bytes - l->thread_bytes - CACHED_STRINGS * sizeof(void *);
  size_t extra = distance - fields - cached_strings(p, b) * sizeof(void *);
  if (extra > LH_MOST_EXTRA_BYTES) extra = EXTRA_BYTES;
  seen->main_thread_bytes = distance + thread_bytes;
  seen->thread_bytes = thread_bytes + extra;
  seen->noted_extra_bytes = EXTRA_BYTES;
}
#else
/* Is the block, with this extra space, a malloc block of the right size? malloc notes the size plus
** its own eight bytes, rounded up to 16, perhaps with 16 more. The low bits are flags. */
static bool is_malloc_block(const lh_peek *p, const block *b, uint64_t extra, uint64_t bytes) {
  enum { FLAGS = 7, NOTE = 8, UNIT = 16 };
  uint64_t note, needed = (bytes + NOTE + UNIT - 1) / UNIT * UNIT;
  if (!lh_peek_at(p, b->main_thread - extra - NOTE, &note, NOTE)) return false;
  note &= ~(uint64_t)FLAGS;
  return note == needed || note == needed + UNIT;
}

/* The extra space by malloc's note, if the thread has nothing else in front; else the usual one. */
static uint64_t noted_extra_bytes(const lh_peek *p, const block *b, uint64_t other_bytes) {
  if (is_malloc_block(p, b, EXTRA_BYTES, other_bytes + EXTRA_BYTES)) return EXTRA_BYTES;
  for (uint64_t extra = 0; extra <= LH_MOST_EXTRA_BYTES; extra += sizeof(void *))
    if (is_malloc_block(p, b, extra, other_bytes + extra)) return extra;
  return EXTRA_BYTES;
}

static void measure(const lh_peek *p, const block *b, lh_seen_state *seen) {
  size_t strings = cached_strings(p, b);
  uint64_t appended = b->global - b->main_thread - (uint64_t)b->layout->global_from_main;
  seen->main_thread_bytes = b->layout->main_thread_bytes + appended;
  if (strings > 0) seen->main_thread_bytes += (strings - CACHED_STRINGS) * sizeof(void *);
  seen->thread_bytes = b->layout->thread_bytes + appended;
  seen->noted_extra_bytes = noted_extra_bytes(p, b, seen->main_thread_bytes - EXTRA_BYTES);
}
#endif

/* An open state counts at least its block, its string table and a registry. */
static bool is_closed(const block *b) {
  uint64_t strings = RAW_FIELD(b->of_global, RAW_GLOBAL_STRINGS_SIZE, uint32_t);
  uint64_t of_block =
      LH_LUA == 504 ? b->layout->main_thread_bytes : b->main_thread - b->global + sizeof b->thread;
  uint64_t least = of_block + sizeof(void *) * strings + sizeof(raw_table);
  return (int64_t)lh_gc_bytes(b->of_global) < (int64_t)least;
}

static bool check_block(const lh_peek *p, const lh_layout *layout, uint64_t main_thread,
                        const char *release, block *b, lh_misfit *m) {
  m->n = 0;
  LH_CHECK(m, copy_block(p, layout, main_thread, b), "no memory is there");
  LH_CHECK(m, is_main_thread(b), "no main thread with its global state is there");
  LH_CHECK(m, is_global_state(b), "a global state is not built yet, or overwritten");
  LH_CHECK(m, is_table(p, RAW_FIELD(b->of_global, RAW_GLOBAL_REGISTRY, uint64_t)),
           "its registry is no table");
  LH_CHECK(m, has_metamethod_names(p, b),
           "the names of its metamethods are not where they are expected");
  LH_CHECK(m, !lh_layout_is_other(b->layout, b->thread, release), "it is of another release");
  LH_CHECK(m, !is_closed(b), "it was closed");
  return true;
}

/* The states of skynet have one seed. So the addresses that a state keeps tell it from the state
** that had its block before. */
static uint32_t seed_of(const block *b) {
  const char *global = b->of_global;
  if (!b->layout->shares) return RAW_FIELD(global, RAW_GLOBAL_SEED, uint32_t);
  uint64_t registry = RAW_FIELD(global, RAW_GLOBAL_REGISTRY, uint64_t);
  return (uint32_t)lh_hash(global + b->layout->metamethod_names, RAW_METAMETHODS * sizeof(void *),
                           registry);
}

bool lh_recognise(const lh_peek *p, uint64_t main_thread, const char *release, lh_seen_state *seen,
                  const char **why, int *n_checks) {
  lh_misfit m = {0};
  for (const lh_layout *l = lh_layouts; l->releases; l++) {
    block b;
    if (!check_block(p, l, main_thread, release, &b, &m)) continue;
    *seen = (lh_seen_state){.lua = &LH_LUA_TABLE,
                            .layout = l,
                            .release = strchr(l->releases, ' ') ? LH_LUA_NAME : l->releases,
                            .dialect = l->shares ? LH_SKYNET : "",
                            .main_thread = main_thread,
                            .global = b.global,
                            .alloc = RAW_FIELD(b.of_global, RAW_GLOBAL_ALLOC, uint64_t),
                            .gc_bytes = lh_gc_bytes(b.of_global),
                            .seed = seed_of(&b)};
    measure(p, &b, seen);
    return true;
  }
  *why = m.why;
  *n_checks = m.furthest;
  return false;
}

uint16_t lh_user_values_of(const lh_mirrored_state *state, const char *release) {
  enum { ALIGNED = 48 };
  uint64_t sum = 0, counted = lh_gc_bytes(state->global), n_moved = 0, bytes = 1;
  uint16_t usual = state->layout.user_values;
  if (LH_LUA == 504) return usual;
  bool is_known = strlen(release) > strlen(LH_LUA_NAME) && release[strlen(LH_LUA_NAME)] == '.';
  if (is_known) return strncmp(release, "5.5.0", strlen("5.5.0")) == 0 ? usual : ALIGNED;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    const raw_object *o = raw_list(state->global, list);
    for (; o && bytes > 0 && sum <= counted; o = o->next) {
      n_moved += o->type == RAW_USERDATA && ((const raw_userdata *)o)->n_user_values > 0;
      bytes = lh_walk_shallow_bytes(&state->layout, state->main_thread, o);
      sum += bytes;
    }
  }
  sum += sizeof(void *) * RAW_FIELD(state->global, RAW_GLOBAL_STRINGS_SIZE, uint32_t);
  return sum != counted && sum + n_moved * (ALIGNED - usual) == counted ? ALIGNED : usual;
}
