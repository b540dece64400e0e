/*
** luaheap_sites.h - where objects were allocated, as heap.track recorded it: sites and stacks.
**
** A *site* is a position in a Lua function, and what allocates there: "a table at @app/bus.lua:31
** in Bus:on". Where a C function allocates, the site is the nearest Lua function's, with the name
** of the C function: "string.rep at @fmt.lua:12". A *stack* is a site with the stack that
** called it; where stacks were not asked for, each is its site alone. Snapshots that were taken
** while the program was tracked have both, and so have profiles (luaheap_profile.h).
*/
#ifndef LUAHEAP_PUBLIC_SITES_H
#define LUAHEAP_PUBLIC_SITES_H

#include <stddef.h>
#include <stdint.h>

/* Around the declarations of each of these headers: their names are C's, and the shared library
** shows them. */
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

/* What allocated, by the instruction at which the function stood. */
typedef enum lh_maker {
  LH_MADE_UNKNOWN, /* not attributed: it could not be told who ran */
  LH_MADE_BY_HOST, /* a program's own C code, with no Lua function below it */
  LH_MADE_BY_C,    /* a C function that Lua code called */
  LH_MADE_TABLE,   /* a table constructor, with its parts */
  LH_MADE_CLOSURE, /* a function that was made */
  LH_MADE_CONCATENATION,
  LH_MADE_GROWTH,   /* a table that grew by an assignment */
  LH_MADE_CALL,     /* a stack or a list of calls that grew; varargs */
  LH_MADE_OTHERWISE /* as a string by arithmetic, or an upvalue */
} lh_maker;

/* Both count from 1; 0 is none. */
typedef uint32_t lh_site_id;
typedef uint32_t lh_stack_id;

typedef struct lh_site {
  const char *source;     /* as Lua has it, "@app/bus.lua"; NULL: no Lua function */
  const char *function;   /* as classes name it, "Bus:on"; "" for a main chunk; NULL: unknown */
  const char *c_function; /* "string.rep"; NULL: Lua itself allocated */
  uint32_t first_line;    /* of the function; 0: a main chunk */
  uint32_t line;          /* 0: unknown, as in stripped code */
  lh_maker maker;
} lh_site;

typedef struct lh_stack {
  lh_stack_id parent; /* its caller's; always a smaller one, or 0 */
  lh_site_id site;
} lh_stack;

/* What was allocated at a stack (by it alone, not by what it called), since tracking began. Blocks
** that an object owns count as bytes only. Sampled: estimates without bias. */
typedef struct lh_stack_counts {
  uint64_t made_objects, made_bytes;
  uint64_t freed_objects, freed_bytes;
} lh_stack_counts;

/* Where many objects were allocated, told by the site of most of them. */
typedef struct lh_allocated {
  lh_stack_id stack; /* one of those at that site; 0: it is not known of any */
  uint32_t callers;  /* of it, that nine in ten of these have: 0 or 1 */
  uint64_t objects;  /* have the site, and that caller, too */
  uint64_t of;       /* of so many; only sampled ones are counted where not all are known */
  uint64_t made;     /* objects, of all classes, that were made there in the time that is asked
                        about; 0: not known */
  uint64_t stay;     /* and how many of them are still alive; sampled: estimated */
} lh_allocated;

/* All sites and stacks of a snapshot or a profile. Borrowed from it. */
typedef struct lh_sites lh_sites;

uint32_t lh_n_sites(const lh_sites *sites);
uint32_t lh_n_stacks(const lh_sites *sites);

/* Of an id from 1 to n. O(1). Borrowed. */
const lh_site *lh_site_of(const lh_sites *sites, lh_site_id id);
const lh_stack *lh_stack_of(const lh_sites *sites, lh_stack_id id);

/* What a site is called everywhere: "@app/bus.lua:31 in Bus:on", where a C function allocates
** "string.rep at @fmt.lua:12 in render", without a Lua function "host", and what is not known
** "unattributed". And a stack: its site and the first of those that called it, so many at most,
** "@app/bus.lua:31 in Bus:on, from @app/session.lua:88 in connect"; with the words before it, for a
** sentence, "allocated at @app/bus.lua:31 in Bus:on". An id that the table has not, as 0, is
** unattributed. Freed by lh_free; NULL when out of memory. */
char *lh_site_text(const lh_site *site);
char *lh_stack_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);
char *lh_allocated_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* "table", "function", "concatenation"; what allocates, in one word or two. */
const char *lh_maker_name(lh_maker maker);

LH_API_END

#endif
