/*
** walk.h - writes every object on the collector's lists as a record, in one pass.
**
** walk.c has the pass and the small objects, walk_proto.c prototypes and names of functions,
** walk_thread.c coroutines, walk_shared.c objects of other states, track/walk_sites.c the sites of
** a tracked program.
**
** The pass follows the lists' `next` and reads only memory that the object itself owns. So there is
** no visited set and no recursion, and any heap takes about the time of a full collection, most of
** it cache misses. Two exceptions: stacks and the objects that they lead to, which the collector
** marks anew in each cycle, and the text of a __mode (walk.c). Faults of Lua leave dangling
** references, which are written as addresses: a metatable that a table got while it was being
** collected as weak (all releases), and many in 5.4.0's generational mode.
**
** During a sweep an object with the other white is dead: its bytes are counted, but its pointers
** may dangle and are not read. (A thread's call list is its own memory, and is read.)
*/
#pragma once

#include "raw.h"
#include "writer.h"

typedef struct lh_recorder lh_recorder; /* track/track.h */

/* The first bytes of every userdata of ours: no valid pointer or small number on any platform. */
#define LH_OWN_MAGIC 0xC8D5F1A7616C6872u

/* The content of a mark, followed by its name. The state's userdata has only the first fields. */
typedef struct lh_own_content {
  uint64_t magic;
  uint64_t state_id;
  union {
    uint64_t time_ns;
    const void *tag; /* of LH_MARK_STATE: the kind of userdata (lh_test_own) */
  };
  uint32_t serial;
  uint8_t kind;     /* LH_MARK_* */
  uint8_t periodic; /* see mark.c; not in the file */
  uint16_t name_length;
} lh_own_content;

enum { LH_MODES_KNOWN = 16, LH_POSITIONS_CACHED = 4, LH_REGISTERS = 256 };

/* A position in a function's code: its line, and the local variables in scope, by register. Cached:
** many frames stand at few positions, and a big function has thousands of local variables. */
typedef struct lh_code_position {
  const raw_proto *proto; /* NULL: unused */
  int64_t pc;
  uint32_t line; /* 0: unknown */
  unsigned n_names;
  const raw_string *names[LH_REGISTERS];
} lh_code_position;

/* A key that was met in the hash part of a table; direct-mapped by address. */
typedef struct lh_met_key {
  const raw_object *key;
  unsigned times; /* meetings in a row, until it is frequent */
  unsigned index; /* in `keys`, plus 1; 0: not frequent */
} lh_met_key;

enum { LH_KEYS_MET = 512 };

/* walk_shared.c: the shared objects that a walk met, in skynet's Lua. */
typedef struct lh_shared_object {
  const raw_object *object;
  bool is_on_list; /* of this state; else another state has it */
} lh_shared_object;

typedef struct lh_shared {
  lh_shared_object *met; /* in the order of their first meeting */
  size_t capacity;
  uint32_t *slots; /* a hash table of indices in `met` plus 1, behind `met`; 0: free */
  uint32_t n;
  bool is_elsewhere; /* the walk is behind the lists, at objects of other states */
} lh_shared;

typedef struct lh_walk lh_walk;

/* Additions of some walks: a tracked program has sites, a heap read from outside is checked. Each
** function may be NULL. */
typedef struct lh_walk_more {
  /* The stack at which the object was allocated, for its record. */
  lh_stack_id (*find_stack)(const lh_walk *walk, const raw_object *object, uint64_t shallow_bytes);
  /* Sees each object before its contents are read. False: it is no object, and the walk ends. */
  bool (*accept)(const lh_walk *walk, const raw_object *object, uint64_t shallow_bytes);
  /* May the header of an object be read that is met as a target, in skynet's Lua? */
  bool (*may_read)(const lh_walk *walk, const raw_object *object);
  /* May a string be read that need not be on any list: the text of a __mode; in skynet's Lua a key?
  ** False: the walk ends. */
  bool (*may_read_text)(const lh_walk *walk, const raw_string *string);
  /* Writes section number `section` (LH_SECTION_*) behind the records. */
  unsigned section;
  void (*put_section)(lh_walk *walk);
} lh_walk_more;

struct lh_walk {
  lh_out *out;
  const lh_layout *layout;
  const char *global; /* global state */
  const void *thread; /* the running one: the caller's lua_State */
  const void *main_thread;
  const lh_recorder *recorder; /* NULL: the program is not tracked */
  const lh_walk_more *more;    /* may be NULL */
  void *more_payload;
  uint64_t string_bytes;                   /* kept of each string */
  uint64_t hash_seed;                      /* of strings that are not kept whole */
  uint64_t previous;                       /* address of the object before */
  uint8_t dead_white;                      /* mask of the other white in a sweep phase, else 0 */
  const raw_string *mode_name;             /* "__mode" */
  const raw_string *modes[LH_MODES_KNOWN]; /* 5.4.0: texts seen on the lists; direct-mapped */
  lh_code_position positions[LH_POSITIONS_CACHED]; /* by pc, direct-mapped */
  lh_met_key met[LH_KEYS_MET];
  lh_shared shared;
  const raw_object *keys[LH_MOST_KEYS]; /* frequent ones */
  unsigned n_keys;
  uint64_t n_objects[4];                 /* by list */
  uint64_t object_bytes, external_bytes; /* of the objects; of their texts elsewhere */
  bool closes; /* the state is closing: tobefnz is written as finobj (watch_close.c) */
  bool ended;  /* latched: a list has something that is no object or was not accepted */
};

/* Writes the records of all lists; fills n_objects and object_bytes. Errors are latched in
** walk->out, and in walk->ended. */
void lh_walk_lists(lh_walk *walk);
const lh_own_content *lh_walk_own_content(const lh_layout *layout, const raw_userdata *u);

/* The slot of a short string key, by Lua's own chains; NULL if there is no value. */
const raw_slot *lh_find_string_key(const lh_layout *layout, const raw_table *table,
                                   const raw_string *key);

/* The table under a short string; NULL: none. O(slots): the hash of the string is not known. */
const raw_table *lh_find_table(const lh_layout *layout, const raw_table *table, const char *key);

uint64_t lh_walk_shallow_bytes(const lh_layout *layout, const void *main_thread,
                               const raw_object *object);

/* Begins a record: type, flags, address, size. False: the record ends here (a dead object). */
bool lh_walk_begin(lh_walk *walk, const raw_object *object, unsigned type_and_flags);

/* walk_shared.c: begins a walk; notes an object and its targets; returns the next object that only
** another state has, from *at = 0 on, and NULL behind the last. Without memory the walk ends. */
void lh_shared_begin(lh_walk *walk);
void lh_shared_note(lh_walk *walk, const raw_object *object, bool is_dead);
const raw_object *lh_shared_next(lh_walk *walk, uint32_t *at);
void lh_shared_free(lh_shared *shared); /* leaves it empty */

/* track/walk_sites.c: the additions for a tracked program, and the most bytes of its section. */
extern const lh_walk_more lh_walk_with_sites;
uint64_t lh_sites_longest(const lh_recorder *recorder);

/* Stores a value's payload at *p (at most 20 bytes) and returns its tag. */
static inline unsigned lh_put_value(uint8_t **p, uint64_t own, raw_payload payload, uint8_t type) {
  if (type & RAW_COLLECTABLE) {
    *p = lh_put_reference(*p, own, payload.object);
    return LH_VAL_OBJECT;
  }
  switch (type) {
    case RAW_FALSE: return LH_VAL_FALSE;
    case RAW_TRUE: return LH_VAL_TRUE;
    case RAW_INTEGER: *p = lh_put_uvarint(*p, lh_zigzag(payload.integer)); return LH_VAL_INTEGER;
    case RAW_FLOAT:
      lh_store64(*p, (uint64_t)payload.integer);
      *p += 8;
      return LH_VAL_FLOAT;
    case RAW_LIGHT_USERDATA:
      *p = lh_put_uvarint(*p, (uint64_t)payload.integer);
      return LH_VAL_POINTER;
    case RAW_LIGHT_C_FUNCTION:
      *p = lh_put_uvarint(*p, (uint64_t)payload.integer);
      return LH_VAL_CFUNCTION;
    default: return LH_VAL_NIL;
  }
}

void lh_walk_value(lh_walk *walk, uint64_t own, const raw_value *value);

void lh_walk_proto(lh_walk *walk, const raw_proto *proto);
void lh_walk_thread(lh_walk *walk, const raw_object *thread);

/* walk_proto.c: the line of instruction `pc`; 0 if the debug information was stripped. */
uint32_t lh_walk_line(const raw_proto *proto, int64_t pc);

/* walk_proto.c: the functions inside another, in the order of their numbers, with their names:
**
**     lh_nested it;
**     for (lh_nested_begin(&it, layout, proto); lh_nested_next(&it);) use(it.proto, it.name); */
typedef struct lh_scope {
  int32_t next; /* the first local variable that has not begun */
  unsigned n;
  const raw_local *alive[LH_REGISTERS]; /* by register */
} lh_scope;

typedef struct lh_nested {
  const raw_proto *proto;  /* NULL: not made yet */
  const raw_string *name;  /* local variable, or key; NULL: none */
  const raw_string *table; /* that has this key; NULL: unknown, or a global function */
  const lh_layout *layout;
  const raw_proto *around;
  int32_t next, next_pc;
  lh_scope scope;
} lh_nested;

void lh_nested_begin(lh_nested *it, const lh_layout *layout, const raw_proto *around);
bool lh_nested_next(lh_nested *it);

/* A prototype's constant or upvalue name by index, which is checked; NULL: none, or no string. */
const raw_string *lh_constant_string(const raw_proto *proto, uint32_t index);
const raw_string *lh_upvalue_name(const raw_proto *proto, uint32_t index);

bool lh_is_text(const lh_layout *layout, const raw_string *string, const char *text);

/* Stores at most LH_WALK_ROOTS roots for the footer; returns their number. */
enum { LH_WALK_ROOTS = 64 };
typedef struct lh_walk_root {
  lh_root_kind kind;
  uint8_t index;
  const void *address;
} lh_walk_root;
size_t lh_walk_roots(const lh_walk *walk, lh_walk_root *roots);
