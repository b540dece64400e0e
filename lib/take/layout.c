/*
** layout.c - finds out which release of Lua a state belongs to.
**
** The thread and the global state of 5.4 come in four layouts, those of 5.5 in one. The Lua of
** skynet has one more of each, with strings that have 8 bytes more. The probe takes the layout in
** which every field agrees with the public API. It first compares the address of the
** global state with that of the main thread, and follows no pointer. Both are in one block of about
** 1,620 bytes. All further reads stay inside this block until its pointers have been compared too.
** In 5.5 the main thread is the last in the block, so the build's choices (measure.c) are between
** the two.
*/
#include "raw.h"

/* Columns: the fields of lh_layout in their order. The last three in PUC Lua: */
#define PUC 0, 16, 0
/* clang-format off */
const lh_layout lh_layouts[] = {
#if LH_LUA == 504
    {"5.4.3 to 5.4.8", 40, 48, 56, 96, 264, 272, 280, 480, 208, 1624, 200, 188, 8, 40, 104, 0, 0,
     PUC},
    {"5.4.2", 40, 48, 56, 88, 264, 272, 280, 480, 200, 1616, 192, 180, 8, 40, 103, 0, 0, PUC},
    {"5.4.1", 40, 48, 56, 88, 264, 272, 280, 480, 200, 1624, 192, 184, 4, 40, 103, 0, 0, PUC},
    {"5.4.0", 48, 56, 64, 96, 256, 264, 272, 472, 208, 1624, 200, 188, 4, 40, 103, 1, 1, PUC},
    {"5.4 (skynet)", 40, 48, 56, 96, 264, 272, 280, 480, 208, 1624, 200, 188, 8, 40, 100, 0, 0,
     1, 24, 4},
#else
    {"5.5.0 or 5.5.1", 40, 48, 56, 96, 0, 264, 272, 472, 216, 1624, -1416, 192, 1 << 20, 40, 100,
     0, 0, PUC},
    {"5.5 (skynet)", 40, 48, 56, 96, 0, 264, 272, 472, 216, 1624, -1416, 192, 1 << 20, 40, 100,
     0, 0, 1, 24, 0},
#endif
    {.releases = NULL}};
/* clang-format on */

/* lua_ident reads "$LuaVersion: Lua 5.4.4  Copyright ..."; in 5.1 "$Lua: Lua 5.1.5 ...". */
void lh_layout_release(const char *ident, char *out) {
  const char *release = ident ? strstr(ident, "Lua 5.") : NULL;
  size_t n = 0;
  strcpy(out, LH_LUA_NAME);
  if (!release) return;
  release += strlen("Lua ");
  while (n < 15 && ((release[n] >= '0' && release[n] <= '9') || release[n] == '.')) n++;
  memcpy(out, release, n);
  out[n] = '\0';
}

static bool is_metamethod_name(const lh_layout *layout, const void *address, const char *name) {
  const raw_string *s = address;
  return s && s->type == RAW_SHORT_STRING && raw_string_length(layout, s) == strlen(name) &&
         memcmp(raw_text(layout, s), name, strlen(name)) == 0;
}

static bool is_string_metatable(const lh_layout *layout, const void *global, const lh_host *host) {
  const void *const *metatables =
      (const void *const *)(const void *)((const char *)global + layout->type_metatables);
  return metatables[RAW_SHORT_STRING] == host->string_metatable;
}

static bool fits_stack(const lh_layout *layout, const void *thread, const lh_host *host) {
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *last = RAW_FIELD(thread, layout->stack_last, const raw_value *);
  const raw_value *top = RAW_FIELD(thread, RAW_THREAD_TOP, const raw_value *);
  const raw_call *base = raw_base_call(layout, thread);
  if (!stack || stack >= top || top > last + RAW_STACK_EXTRA || base->function != stack)
    return false;
  return top[-1].type == RAW_LIGHT_USERDATA && top[-1].as.pointer == host->top_pointer;
}

/* Of the fields that are read, 5.4.1 and 5.4.2 differ only in the block's size and the place of the
** hook's count. 5.4.1 has `stacksize`, a 32-bit count, where 5.4.2 has the hook's count. */
static bool has_stack_size_field(const lh_layout *layout, const void *thread) {
  uint64_t slots = raw_stack_slots(layout, thread);
  return (uint64_t)RAW_FIELD(thread, 176, uint32_t) == slots;
}

bool lh_layout_is_other(const lh_layout *layout, const void *main_thread, const char *release) {
  bool is_541 = layout->main_thread_bytes == 1624;
  if (layout->global_from_main != 192) return false;
  if (strlen(release) > 3) return strcmp(release, layout->releases) != 0;
  return has_stack_size_field(layout, main_thread) != is_541;
}

static bool has_metamethod_names(const lh_layout *layout, const char *global) {
  const void *const *names = (const void *const *)(const void *)(global + layout->metamethod_names);
  return is_metamethod_name(layout, names[0], "__index") &&
         is_metamethod_name(layout, names[RAW_TM_MODE], "__mode") &&
         is_metamethod_name(layout, names[RAW_METAMETHODS - 1], "__close");
}

static bool is_counted(const char *global, const lh_host *host) {
  return host->gc_bytes < 0 || lh_gc_bytes(global) == (uint64_t)host->gc_bytes;
}

/* Are the main thread and its global state as far from each other as in one block? The distance of
** 5.5, which the build may choose, is put into the layout. */
static bool are_in_one_block(lh_layout *layout, const char *main_thread, const char *global) {
  ptrdiff_t distance = global - main_thread;
#if LH_LUA == 505
  enum { NEAREST = 560, FARTHEST = 1 << 16 };
  if (-distance < NEAREST || -distance > FARTHEST || distance % (int)sizeof(void *) != 0)
    return false;
  layout->global_from_main = (int32_t)distance;
#endif
  return distance == layout->global_from_main;
}

/* The order of the checks matters: see the top of the file. */
static bool check_layout(lh_layout *layout, const lh_host *host, lh_misfit *m) {
  m->n = 0;
  LH_CHECK(m, host->main_thread, "the registry does not hold the main thread");
  const char *global = raw_global(host->main_thread);
  LH_CHECK(m, are_in_one_block(layout, host->main_thread, global),
           "the global state is not in one block with the main thread");
  LH_CHECK(m, raw_global(host->thread) == global, "the thread has another global state");
  LH_CHECK(m, ((const raw_object *)host->main_thread)->type == RAW_THREAD,
           "the main thread's type byte is not a thread's");
  LH_CHECK(m, raw_main_thread(layout, global) == host->main_thread,
           "the global state names another main thread");
  const raw_value *registry = &RAW_FIELD(global, RAW_GLOBAL_REGISTRY, raw_value);
  LH_CHECK(m,
           registry->type == (RAW_TABLE | RAW_COLLECTABLE) && registry->as.object == host->registry,
           "the registry is not where it is expected");
  LH_CHECK(m,
           RAW_FIELD(global, RAW_GLOBAL_ALLOC, void *) == host->alloc &&
               RAW_FIELD(global, RAW_GLOBAL_ALLOC_DATA, void *) == host->alloc_data,
           "the allocation function is not where it is expected");
  LH_CHECK(m, is_counted(global, host), "the collector's byte count differs");
  LH_CHECK(m,
           raw_gc_byte(layout, global, RAW_GLOBAL_GC_STATE) <= 8 &&
               raw_gc_byte(layout, global, RAW_GLOBAL_GC_KIND) <= RAW_LAST_GC_KIND,
           "the collector's state is unknown");
  LH_CHECK(m, is_string_metatable(layout, global, host),
           "the metatable of strings is not where it is expected");
  LH_CHECK(m, has_metamethod_names(layout, global),
           "the metamethod names are not where they are expected");
  LH_CHECK(m, fits_stack(layout, host->thread, host), "the stack is not where it is expected");
  char release[16];
  lh_layout_release(host->ident, release);
  LH_CHECK(m, !lh_layout_is_other(layout, host->main_thread, release), "another release");
  return true;
}

int lh_layout_probe(const lh_host *host, lh_layout *layout, lh_error *error) {
  lh_misfit m = {0};
  for (const lh_layout *l = lh_layouts; l->releases; l++) {
    *layout = *l;
    if (check_layout(layout, host, &m)) return LH_OK;
  }
  char release[16];
  lh_layout_release(host->ident, release);
  return lh_fail(error, LH_EHOST,
                 "luaheap needs an unmodified PUC Lua " LH_LUA_RELEASES
                 " on a 64-bit platform; this host "
                 "says it is Lua %s, but its memory is laid out differently: %s",
                 release, m.why);
}
