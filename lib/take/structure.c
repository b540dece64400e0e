/*
** structure.c - checks whether there is a Lua state at an address (structure.h).
**
** The block is copied once and its fields are compared: the main thread's pointer to a global state
** at the right distance, the pointer back, a registry that is a table, a valid collector state.
** Blocks of closed states can pass these checks. So the names of three metamethods and the registry
** are read too, and the byte count: a closed state counts only its block, an open one also strings
** and a stack.
**
** Two sizes that a build may choose are not in the block (measure.c asks Lua for them). The string
** cache ends where its pointers to strings end. The extra space in front of the thread is assumed
** to be the usual one. malloc's note of the block's size suggests another size, but a host's
** allocator may put a header there. The sum of all objects decides (write_state.c).
*/
#include "structure.h"

#include <assert.h>
#include <stdalign.h>

#include "raw.h"

enum { BLOCK_BYTES = 832, CACHED_STRINGS = 106, EXTRA_BYTES = LH_USUAL_EXTRA_BYTES };
_Static_assert((int)LH_MAIN_THREAD_TYPE == RAW_THREAD, "a thread's type byte");
_Static_assert((int)LH_TYPE_OFFSET == offsetof(raw_object, type), "a thread's type byte");
_Static_assert((int)LH_GLOBAL_OFFSET == RAW_THREAD_GLOBAL, "a thread's global state");

/* ==== The block ===================================================================== */

typedef struct block {
  const lh_layout *layout;
  uint64_t main_thread, global;
  alignas(8) char bytes[BLOCK_BYTES];
} block;

static const char *global_of(const block *b) {
  return b->bytes + (b->global - b->main_thread);
}

/* A host may append fields of its own to the thread's (tup does). */
static bool may_be_of(const lh_layout *layout, uint64_t distance) {
  enum { MOST_APPENDED = LH_GLOBAL_FARTHEST - 200 };
  return distance >= (uint64_t)layout->global_from_main && distance % sizeof(void *) == 0 &&
         distance <= (uint64_t)layout->global_from_main + MOST_APPENDED;
}

static bool copy_block(const lh_peek *p, const lh_layout *layout, uint64_t main_thread, block *b) {
  b->layout = layout;
  b->main_thread = main_thread;
  if (!lh_peek_at(p, main_thread + RAW_THREAD_GLOBAL, &b->global, sizeof b->global)) return false;
  if (!may_be_of(layout, b->global - main_thread)) b->global = main_thread;
  size_t bytes = b->global - main_thread + layout->type_metatables;
  assert(bytes <= sizeof b->bytes);
  return lh_peek_at(p, main_thread, b->bytes, bytes);
}

/* A thread's first call is of a C function, the host's, and has no call before it. This tells apart
** layouts that have the first call elsewhere. */
static bool has_base_call(const block *b) {
  const raw_call *base = raw_base_call(b->layout, b->bytes);
  return !base->previous && (base->status & RAW_CALL_IS_C);
}

static bool is_main_thread(const block *b) {
  return b->global != b->main_thread &&
         RAW_FIELD(b->bytes, RAW_THREAD_GLOBAL, uint64_t) == b->global &&
         RAW_FIELD(b->bytes, LH_TYPE_OFFSET, uint8_t) == RAW_THREAD && has_base_call(b) &&
         RAW_FIELD(global_of(b), b->layout->main_thread, uint64_t) == b->main_thread;
}

static bool is_global_state(const block *b) {
  const char *global = global_of(b);
  const raw_value *registry = &RAW_FIELD(global, RAW_GLOBAL_REGISTRY, raw_value);
  const raw_value *nil = &RAW_FIELD(global, RAW_GLOBAL_NIL, raw_value);
  int32_t size = RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  uint8_t white = RAW_FIELD(global, RAW_GLOBAL_WHITE, uint8_t) & RAW_WHITES;
  return registry->type == (RAW_TABLE | RAW_COLLECTABLE) && raw_is_empty(nil->type) && size > 0 &&
         (size & (size - 1)) == 0 && white != 0 && white != RAW_WHITES &&
         RAW_FIELD(global, RAW_GLOBAL_GC_STATE, uint8_t) <= 8 &&
         RAW_FIELD(global, RAW_GLOBAL_GC_KIND, uint8_t) <= 1 &&
         RAW_FIELD(global, RAW_GLOBAL_ALLOC, uint64_t) != 0;
}

/* ==== Its pointers' targets ========================================================= */

static bool is_table(const lh_peek *p, uint64_t address) {
  raw_object header;
  return lh_peek_at(p, address, &header, sizeof header) && header.type == RAW_TABLE;
}

static bool is_short_string(const lh_peek *p, uint64_t address, const char *text) {
  enum { LONGEST = 8 };
  alignas(raw_string) char copy[sizeof(raw_string) + LONGEST];
  const raw_string *s = (const raw_string *)(const void *)copy;
  size_t n = strlen(text);
  assert(n < LONGEST);
  return lh_peek_at(p, address, copy, sizeof *s + n + 1) && s->type == RAW_SHORT_STRING &&
         raw_string_length(s) == n && memcmp(s->contents, text, n + 1) == 0;
}

static bool has_metamethod_names(const lh_peek *p, const block *b) {
  static const struct {
    unsigned index;
    const char *text;
  } names[] = {{0, "__index"}, {RAW_TM_MODE, "__mode"}, {RAW_METAMETHODS - 1, "__close"}};
  const char *strings = global_of(b) + b->layout->metamethod_names;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t address = RAW_FIELD(strings, names[i].index * sizeof(void *), uint64_t);
    if (!is_short_string(p, address, names[i].text)) return false;
  }
  return true;
}

/* A string of either kind. The byte behind its contents is zero. */
static bool is_string(const lh_peek *p, uint64_t address) {
  raw_string s;
  char end;
  if (!lh_peek_at(p, address, &s, sizeof s)) return false;
  if (s.type != RAW_SHORT_STRING && s.type != RAW_LONG_STRING) return false;
  uint64_t end_at = address + sizeof s + raw_string_length(&s);
  return end_at > address && lh_peek_at(p, end_at, &end, 1) && end == '\0';
}

/* ==== Sizes ========================================================================= */

/* The number of strings in the cache. Two pointers that are not to strings follow it. */
static size_t cached_strings(const lh_peek *p, const block *b) {
  enum { MOST = 1 << 16 };
  uint64_t at = b->global + b->layout->type_metatables + RAW_BASIC_TYPES * sizeof(void *);
  size_t n = 0;
  for (uint64_t string; n < MOST; n++, at += sizeof string)
    if (!lh_peek_at(p, at, &string, sizeof string) || !is_string(p, string)) break;
  return n;
}

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

static uint64_t counted_bytes(const block *b) {
  return RAW_FIELD(global_of(b), RAW_GLOBAL_TOTAL_BYTES, uint64_t) +
         RAW_FIELD(global_of(b), RAW_GLOBAL_DEBT, uint64_t);
}

/* An open state counts at least its block, its string table and a registry. */
static bool is_closed(const block *b) {
  uint64_t strings = RAW_FIELD(global_of(b), RAW_GLOBAL_STRINGS_SIZE, uint32_t);
  uint64_t least = b->layout->main_thread_bytes + sizeof(void *) * strings + sizeof(raw_table);
  return (int64_t)counted_bytes(b) < (int64_t)least;
}

static bool check_block(const lh_peek *p, const lh_layout *layout, uint64_t main_thread,
                        const char *release, block *b, lh_misfit *m) {
  m->n = 0;
  LH_CHECK(m, copy_block(p, layout, main_thread, b), "no memory is there");
  LH_CHECK(m, is_main_thread(b), "no main thread with its global state is there");
  LH_CHECK(m, is_global_state(b), "a global state is not built yet, or overwritten");
  LH_CHECK(m, is_table(p, RAW_FIELD(global_of(b), RAW_GLOBAL_REGISTRY, uint64_t)),
           "its registry is no table");
  LH_CHECK(m, has_metamethod_names(p, b),
           "the names of its metamethods are not where they are expected");
  LH_CHECK(m, !lh_layout_is_other(b->layout, b->bytes, release), "it is of another release");
  LH_CHECK(m, !is_closed(b), "it was closed");
  return true;
}

int lh_recognise_state(const lh_peek *p, uint64_t main_thread, const char *release,
                       lh_seen_state *seen, lh_error *error) {
  lh_misfit m = {0};
  for (const lh_layout *l = lh_layouts; l->releases; l++) {
    block b;
    if (!check_block(p, l, main_thread, release, &b, &m)) continue;
    *seen = (lh_seen_state){.layout = l,
                            .release = strchr(l->releases, ' ') ? "5.4" : l->releases,
                            .main_thread = main_thread,
                            .global = b.global,
                            .alloc = RAW_FIELD(global_of(&b), RAW_GLOBAL_ALLOC, uint64_t),
                            .gc_bytes = counted_bytes(&b),
                            .seed = RAW_FIELD(global_of(&b), RAW_GLOBAL_SEED, uint32_t)};
    measure(p, &b, seen);
    return LH_OK;
  }
  return lh_fail(error, LH_EHOST, "there is no open Lua 5.4 state at 0x%llx: %s",
                 (unsigned long long)main_thread, m.why);
}
