/*
** layout.c - which release of Lua 5.4 is this?
**
** The thread and the global state of 5.4 come in four layouts. The probe tries each and takes the one
** in which every field that the public API also tells agrees with the API. It is careful about
** what it reads. A main thread and its global state are one block of some 1,620 bytes, so the
** first question, "is the global state 192 or 200 bytes behind the main thread?", compares an address and
** follows none; from then on all reads are inside that block until the pointers found there have been
** compared too.
**
** 5.4.1 and 5.4.2 differ in nothing that is read but the size of the block (and the table flag). Where
** lua_ident is hidden they are told apart by a field that 5.4.2 dropped: the size of the stack.
*/
#include <stdlib.h>

#include "raw.h"

static const lh_layout layouts[] = {{.releases = "5.4.3 to 5.4.8",
                                     .stack_last = 40,
                                     .stack = 48,
                                     .open_upvalues = 56,
                                     .base_call = 96,
                                     .main_thread = 264,
                                     .memory_message = 272,
                                     .metamethod_names = 280,
                                     .type_metatables = 480,
                                     .thread_bytes = 208,
                                     .main_thread_bytes = 1624,
                                     .global_from_main = 200,
                                     .size_flag_in_mark = false},
                                    {.releases = "5.4.2",
                                     .stack_last = 40,
                                     .stack = 48,
                                     .open_upvalues = 56,
                                     .base_call = 88,
                                     .main_thread = 264,
                                     .memory_message = 272,
                                     .metamethod_names = 280,
                                     .type_metatables = 480,
                                     .thread_bytes = 200,
                                     .main_thread_bytes = 1616,
                                     .global_from_main = 192,
                                     .size_flag_in_mark = false},
                                    {.releases = "5.4.1",
                                     .stack_last = 40,
                                     .stack = 48,
                                     .open_upvalues = 56,
                                     .base_call = 88,
                                     .main_thread = 264,
                                     .memory_message = 272,
                                     .metamethod_names = 280,
                                     .type_metatables = 480,
                                     .thread_bytes = 200,
                                     .main_thread_bytes = 1624,
                                     .global_from_main = 192,
                                     .size_flag_in_mark = true},
                                    {.releases = "5.4.0",
                                     .stack_last = 48,
                                     .stack = 56,
                                     .open_upvalues = 64,
                                     .base_call = 96,
                                     .main_thread = 256,
                                     .memory_message = 264,
                                     .metamethod_names = 272,
                                     .type_metatables = 472,
                                     .thread_bytes = 208,
                                     .main_thread_bytes = 1624,
                                     .global_from_main = 200,
                                     .size_flag_in_mark = true},
                                    {.releases = NULL}};

const lh_layout *lh_layouts(void) {
  return layouts;
}

/* lua_ident reads "$LuaVersion: Lua 5.4.4  Copyright ..."; in 5.1 "$Lua: Lua 5.1.5 ...". */
void lh_layout_release(const char *ident, char *out) {
  const char *release = ident ? strstr(ident, "Lua 5.") : NULL;
  size_t n = 0;
  strcpy(out, "5.4");
  if (!release) return;
  release += strlen("Lua ");
  while (n < 15 && ((release[n] >= '0' && release[n] <= '9') || release[n] == '.')) n++;
  memcpy(out, release, n);
  out[n] = '\0';
}

static bool is_metamethod_name(const void *address, const char *name) {
  const raw_string *s = address;
  return s && s->type == RAW_SHORT_STRING && s->short_length == strlen(name) &&
         memcmp(s->contents, name, s->short_length) == 0;
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
  if (!stack || stack >= top || top > last + RAW_STACK_EXTRA || base->function != stack) {
    return false;
  }
  return top[-1].type == RAW_LIGHT_USERDATA && top[-1].as.pointer == host->top_pointer;
}

/* 5.4.1 still has stacksize, a 32-bit count, where 5.4.2 has the count of the hook. */
static bool has_stack_size_field(const lh_layout *layout, const void *thread) {
  uint64_t slots = raw_stack_slots(layout, thread);
  return (uint64_t)RAW_FIELD(thread, 176, uint32_t) == slots;
}

static bool is_other_release(const lh_layout *layout, const lh_host *host) {
  char release[16];
  bool is_541 = layout->size_flag_in_mark;
  if (layout->global_from_main != 192) return false;
  lh_layout_release(host->ident, release);
  if (strlen(release) > 3) return strcmp(release, layout->releases) != 0;
  return has_stack_size_field(layout, host->main_thread) != is_541;
}

/* NULL when the layout fits, else what does not. The order matters: see the head of the file. */
static const char *misfit(const lh_layout *layout, const lh_host *host) {
  const char *global = (const char *)host->main_thread + layout->global_from_main;
  if (RAW_FIELD(host->main_thread, RAW_THREAD_GLOBAL, const void *) != global) {
    return "the global state does not follow the main thread";
  }
  if (RAW_FIELD(host->thread, RAW_THREAD_GLOBAL, const void *) != global) {
    return "the thread has another global state";
  }
  if (((const raw_object *)host->main_thread)->type != RAW_THREAD) {
    return "the main thread's type byte is not a thread's";
  }
  if (RAW_FIELD(global, layout->main_thread, const void *) != host->main_thread) {
    return "the global state names another main thread";
  }
  const raw_value *registry = &RAW_FIELD(global, RAW_GLOBAL_REGISTRY, raw_value);
  if (registry->type != (RAW_TABLE | RAW_COLLECTABLE) || registry->as.object != host->registry) {
    return "the registry is not where it is expected";
  }
  if (RAW_FIELD(global, RAW_GLOBAL_ALLOC, void *) != host->alloc ||
      RAW_FIELD(global, RAW_GLOBAL_ALLOC_DATA, void *) != host->alloc_data) {
    return "the allocation function is not where it is expected";
  }
  int64_t total = RAW_FIELD(global, RAW_GLOBAL_TOTAL_BYTES, int64_t) +
                  RAW_FIELD(global, RAW_GLOBAL_DEBT, int64_t);
  if (host->gc_bytes >= 0 && total != host->gc_bytes) {
    return "the collector's byte count differs";
  }
  if (RAW_FIELD(global, RAW_GLOBAL_GC_STATE, uint8_t) > 8 ||
      RAW_FIELD(global, RAW_GLOBAL_GC_KIND, uint8_t) > 1) {
    return "the collector's state is unknown";
  }
  if (!is_string_metatable(layout, global, host)) {
    return "the metatable of strings is not where it is expected";
  }
  const void *const *names = (const void *const *)(const void *)(global + layout->metamethod_names);
  if (!is_metamethod_name(names[0], "__index") ||
      !is_metamethod_name(names[RAW_TM_MODE], "__mode") ||
      !is_metamethod_name(names[RAW_METAMETHODS - 1], "__close")) {
    return "the metamethod names are not where they are expected";
  }
  if (!fits_stack(layout, host->thread, host)) return "the stack is not where it is expected";
  if (is_other_release(layout, host)) return "another release";
  return NULL;
}

int lh_layout_probe(const lh_host *host, const lh_layout **layout, lh_error *error) {
  const char *why = NULL;
  for (const lh_layout *l = layouts; l->releases; l++) {
    const char *reason = misfit(l, host);
    if (!reason) {
      *layout = l;
      return LH_OK;
    }
    if (!why) why = reason;
  }
  char release[16];
  lh_layout_release(host->ident, release);
  return lh_fail(
      error, LH_EHOST,
      "luaheap needs an unmodified PUC Lua 5.4.0 to 5.4.8 on a 64-bit platform; this host "
      "says it is Lua %s, but its memory is laid out differently: %s",
      release, why);
}
