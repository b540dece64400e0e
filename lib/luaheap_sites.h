/*
** luaheap_sites.h - sites and stacks: where objects were allocated, as heap.track recorded it.
**
** A *site* is a position in a Lua function, and what allocates there: "a table at @app/bus.lua:31
** in Bus:on". If a C function allocates, the site is in the nearest Lua function, with the C
** function's name: "string.rep at @fmt.lua:12". A *stack* is a site with its callers, or only a
** site if stacks were not recorded. Snapshots of tracked programs and profiles have both.
*/
#ifndef LUAHEAP_PUBLIC_SITES_H
#define LUAHEAP_PUBLIC_SITES_H

#include <stdint.h>

/* For the declarations of each public header: C linkage, and exported by the shared library. */
#ifdef __cplusplus
#define LH_API_BEGIN \
  extern "C" {       \
  _Pragma("GCC visibility push(default)")
#define LH_API_END              \
  _Pragma("GCC visibility pop") \
  }
#else
#define LH_API_BEGIN _Pragma("GCC visibility push(default)")
#define LH_API_END _Pragma("GCC visibility pop")
#endif

LH_API_BEGIN

/* What allocated, by the instruction of the function. */
typedef enum lh_maker {
  LH_MADE_UNKNOWN, /* not attributed: the running function was unknown */
  LH_MADE_BY_HOST, /* C code of the program, with no Lua function below */
  LH_MADE_BY_C,    /* a C function called by Lua code */
  LH_MADE_TABLE,   /* a table constructor, with its parts */
  LH_MADE_CLOSURE, /* a new function */
  LH_MADE_CONCATENATION,
  LH_MADE_GROWTH,   /* a table that an assignment grew */
  LH_MADE_CALL,     /* a growing stack or list of calls; varargs */
  LH_MADE_OTHERWISE /* such as a string made by arithmetic, or an upvalue */
} lh_maker;

/* Both count from 1; 0 is none. */
typedef uint32_t lh_site_id;
typedef uint32_t lh_stack_id;

typedef struct lh_site {
  const char *source;     /* as in Lua, "@app/bus.lua"; NULL: no Lua function */
  const char *function;   /* as in class names, "Bus:on"; "": main chunk; NULL: unknown */
  const char *c_function; /* "string.rep"; NULL: Lua itself allocated */
  uint32_t first_line;    /* of the function; 0: main chunk */
  uint32_t line;          /* 0: unknown, as in stripped code */
  lh_maker maker;
} lh_site;

typedef struct lh_stack {
  lh_stack_id parent; /* the caller's stack: a smaller id, or 0 */
  lh_site_id site;
} lh_stack;

/* The allocations at a stack since tracking began, without those of functions that it called.
** Blocks owned by an object count only as bytes. Sampled: unbiased estimates. */
typedef struct lh_stack_counts {
  uint64_t made_objects, made_bytes;
  uint64_t freed_objects, freed_bytes;
} lh_stack_counts;

/* Where many objects were allocated: the site of most of them. */
typedef struct lh_allocated {
  lh_stack_id stack; /* one stack at that site; 0: no stack is known */
  uint32_t callers;  /* 1: nine in ten of them have the stack's caller, too; else 0 */
  uint64_t objects;  /* with this site (and caller) */
  uint64_t of;       /* of this many; if not all are known, only sampled ones count */
  uint64_t made;     /* objects of all classes made there in the interval; 0: unknown */
  uint64_t stay;     /* of `made`, still alive; sampled: estimated */
} lh_allocated;

/* All sites and stacks of a snapshot or profile, which owns them. */
typedef struct lh_sites lh_sites;

uint32_t lh_n_sites(const lh_sites *sites);
uint32_t lh_n_stacks(const lh_sites *sites);

/* `id` is 1 to n. O(1). Borrowed. */
const lh_site *lh_site_of(const lh_sites *sites, lh_site_id id);
const lh_stack *lh_stack_of(const lh_sites *sites, lh_stack_id id);

/* The text of a site: "@app/bus.lua:31 in Bus:on"; with a C function "string.rep at @fmt.lua:12 in
** render"; without a Lua function "host"; else "unattributed". A stack adds at most `callers`
** callers: "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect". lh_allocated_text
** makes a phrase: "allocated at @app/bus.lua:31 in Bus:on". An unknown id, such as 0, has
** "unattributed". */
char *lh_site_text(const lh_site *site);
char *lh_stack_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);
char *lh_allocated_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* What allocates, in one or two words: "table", "function", "concatenation". */
const char *lh_maker_name(lh_maker maker);

LH_API_END

#endif
