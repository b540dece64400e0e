/*
** raw.h - the memory layout of PUC Lua's objects, in our own words.
**
** The object structures are the same in all releases of LH_LUA (layout.h) on LP64 platforms; enough
** offsets are asserted that no field can be elsewhere. What differs between 5.4 and 5.5 differs
** here and in raw_code.h alone, and others read it through the functions below. The thread
** (lua_State) and the global state differ by release, and are read through a table of offsets,
** which lh_layout_probe chooses.
** Everything is read in place. luaheap writes only the collector's debt and total (mark.c,
** allocate.c), slots on top of a stack (values.c), a bit of a call (stacks.h), the rest of a hook's
** count (watch_hook.c) and who frees a text (watch_alloc.c).
*/
#pragma once

#include "layout.h"

/* A type byte: bits 0 to 3 are the basic type, 4 and 5 a variant; bit 6 in a value: collectable. */
enum {
  RAW_NIL = 0x00, /* and the variants 0x10 (empty slot), 0x20 (absent key) */
  RAW_FALSE = 0x01,
  RAW_TRUE = 0x11,
  RAW_LIGHT_USERDATA = 0x02,
  RAW_INTEGER = 0x03,
  RAW_FLOAT = 0x13,
  RAW_SHORT_STRING = 0x04,
  RAW_LONG_STRING = 0x14,
  RAW_TABLE = 0x05,
  RAW_LUA_CLOSURE = 0x06,
  RAW_LIGHT_C_FUNCTION = 0x16,
  RAW_C_CLOSURE = 0x26,
  RAW_USERDATA = 0x07,
  RAW_THREAD = 0x08,
  RAW_UPVALUE = 0x09,
  RAW_PROTO = 0x0A,
  RAW_COLLECTABLE = 0x40,
  RAW_BASIC_TYPE = 0x0F /* mask */
};

/* The start of every collectable object. `marked`: bits 3 and 4 are the two whites. */
#define RAW_HEADER               \
  const struct raw_object *next; \
  uint8_t type;                  \
  uint8_t marked

typedef struct raw_object {
  RAW_HEADER;
} raw_object;

enum { RAW_WHITES = 0x18, RAW_FINALIZED = 0x40 /* has a finalizer: on finobj or tobefnz */ };

/* In skynet's Lua an object may have this age: other states refer to it, and it is never freed. */
enum { RAW_AGE = 0x07, RAW_SHARED = 0x07 };

typedef union raw_payload {
  const raw_object *object;
  void *pointer;
  int64_t integer;
  double number;
} raw_payload;

typedef struct raw_value {
  raw_payload as;
  uint8_t type;
} raw_value;

typedef struct raw_string {
  RAW_HEADER;
  uint8_t extra;
  int8_t short_length; /* of a short string; in 5.5 a long one's raw_string_kind */
  uint32_t hash;
} raw_string;

/* The rest of a string, behind the part above; in skynet's Lua 8 bytes behind it (raw_body). */
typedef struct raw_string_body {
  uint64_t long_length; /* of a long string */
#if LH_LUA == 504
  char contents[];
#else
  union {
    char contents[8];      /* of a short string, which goes on behind it */
    const char *elsewhere; /* of a long string: its text */
  };
  void *free_text, *free_data; /* of a long string, unless its kind is RAW_STRING_REGULAR */
#endif
} raw_string_body;

/* In 5.5, where the text of a long string is: behind the string itself, in memory that nobody
** frees, or in a block that the string frees. */
typedef enum raw_string_kind {
  RAW_STRING_REGULAR = -1,
  RAW_STRING_FIXED = -2,
  RAW_STRING_EXTERNAL = -3
} raw_string_kind;

typedef struct raw_slot {
  raw_payload value;
  uint8_t value_type;
  uint8_t key_type;
  int32_t next; /* distance in slots to the next slot of the chain, 0 at its end */
  raw_payload key;
} raw_slot;

/* The array part of a table: see raw_array_value. */
#if LH_LUA == 504
typedef raw_value raw_array;
#else
typedef struct raw_array {
  uint32_t length_hint;
  uint8_t types[]; /* the payloads are in front, the first one nearest */
} raw_array;
#endif

typedef struct raw_table {
  RAW_HEADER;
  uint8_t flags;
  uint8_t log2_slots;
  uint32_t array_limit; /* in 5.5 the array's size */
  const raw_array *array;
  const raw_slot *slots;
#if LH_LUA == 504
  const raw_slot *last_free; /* NULL: the slots are the shared dummy */
#endif
  const struct raw_table *metatable;
  const raw_object *gclist;
} raw_table;

typedef struct raw_userdata {
  RAW_HEADER;
  uint16_t n_user_values;
  uint64_t length;
  const raw_table *metatable;
  const raw_object *gclist; /* without user values the content starts here */
} raw_userdata;

typedef struct raw_upvalue {
  RAW_HEADER;
  const raw_value *value; /* &u.own_value when closed, else a slot of a stack */
  union {
    raw_value own_value;
    const struct raw_upvalue *next_open;
  } u;
} raw_upvalue;

typedef struct raw_upvalue_name {
  const raw_string *name;
  uint8_t in_stack, index, kind;
} raw_upvalue_name;

typedef struct raw_local {
  const raw_string *name;
  int32_t start_pc, end_pc; /* in scope for start_pc <= pc < end_pc */
} raw_local;

typedef struct raw_line {
  int32_t pc, line;
} raw_line;

typedef struct raw_proto {
  RAW_HEADER;
  uint8_t n_parameters, flags /* raw_proto_flag */, max_stack;
  int32_t n_upvalues, n_constants, n_code, n_line_deltas, n_nested, n_locals, n_lines;
  int32_t first_line, last_line;
  const raw_value *constants;
  const uint32_t *code;
  const struct raw_proto *const *nested;
  const raw_upvalue_name *upvalues;
  const int8_t *line_deltas; /* one per instruction; RAW_LINE_ABSOLUTE: look in `lines` */
  const raw_line *lines;
  const raw_local *locals;
  const raw_string *source;
  const raw_object *gclist;
} raw_proto;

enum { RAW_LINE_ABSOLUTE = -128 };

/* In 5.4 `flags` tells only whether the function is vararg. */
typedef enum raw_proto_flag {
#if LH_LUA == 504
  RAW_PROTO_COPIED_UP = 0xFF,
  RAW_PROTO_VARARG = 0xFF,
  RAW_PROTO_VARARG_TABLE = 0,
  RAW_PROTO_FIXED = 0
#else
  RAW_PROTO_COPIED_UP = 1, /* vararg: it is copied up behind its extra arguments when it starts */
  RAW_PROTO_VARARG = 3,    /* mask */
  RAW_PROTO_VARARG_TABLE = 2, /* the extra arguments are in a table */
  RAW_PROTO_FIXED = 4         /* code and line information are in memory that Lua does not own */
#endif
} raw_proto_flag;

typedef struct raw_lua_closure {
  RAW_HEADER;
  uint8_t n_upvalues;
  const raw_object *gclist;
  const raw_proto *proto;
  const raw_upvalue *upvalues[];
} raw_lua_closure;

typedef struct raw_c_closure {
  RAW_HEADER;
  uint8_t n_upvalues;
  const raw_object *gclist;
  void *function;
  raw_value upvalues[];
} raw_c_closure;

typedef struct raw_call {
  const raw_value *function; /* the slot that holds the function; its registers follow */
  const raw_value *top;
  const struct raw_call *previous, *next;
  const uint32_t *saved_pc; /* of a Lua function */
  int32_t trap, n_varargs;  /* of a Lua function */
#if LH_LUA == 504
  uint8_t rest[14];
  uint16_t status;
#else
  uint8_t rest[12];
  uint32_t status;
#endif
} raw_call;

/* Bits of raw_call.status; raw_call_bit has more. */
#if LH_LUA == 504
enum { RAW_CALL_IS_C = 2, RAW_CALL_OURS = 0x8000 };
#else
enum { RAW_CALL_IS_C = 0x8000 };
#define RAW_CALL_OURS 0x80000000u
#endif
enum { RAW_STACK_EXTRA = 5 }; /* slots of a stack past stack_last */

#define RAW_OFFSET(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field)

RAW_OFFSET(raw_object, marked, 9);
RAW_OFFSET(raw_value, type, 8);
RAW_OFFSET(raw_string, hash, 12);
RAW_OFFSET(raw_string_body, contents, 8);
_Static_assert(sizeof(raw_string) == 16, "TString");
RAW_OFFSET(raw_slot, next, 12);
RAW_OFFSET(raw_slot, key, 16);
RAW_OFFSET(raw_table, array_limit, 12);
RAW_OFFSET(raw_userdata, n_user_values, 10);
RAW_OFFSET(raw_userdata, gclist, 32);
RAW_OFFSET(raw_upvalue, u, 24);
RAW_OFFSET(raw_upvalue_name, kind, 10);
RAW_OFFSET(raw_local, end_pc, 12);
RAW_OFFSET(raw_proto, max_stack, 12);
RAW_OFFSET(raw_proto, n_lines, 40);
RAW_OFFSET(raw_proto, last_line, 48);
RAW_OFFSET(raw_proto, constants, 56);
RAW_OFFSET(raw_proto, source, 112);
RAW_OFFSET(raw_lua_closure, upvalues, 32);
RAW_OFFSET(raw_c_closure, upvalues, 32);
RAW_OFFSET(raw_call, n_varargs, 44);
#if LH_LUA == 504
RAW_OFFSET(raw_table, metatable, 40);
RAW_OFFSET(raw_call, status, 62);
_Static_assert(sizeof(raw_table) == 56, "Table");
#else
RAW_OFFSET(raw_table, metatable, 32);
RAW_OFFSET(raw_call, status, 60);
RAW_OFFSET(raw_array, types, 4);
_Static_assert(sizeof(raw_table) == 48, "Table");
_Static_assert(sizeof(raw_string_body) == 32, "TString");
#endif
_Static_assert(sizeof(raw_value) == 16, "TValue");
_Static_assert(sizeof(raw_slot) == 24, "Node");
_Static_assert(sizeof(raw_upvalue) == 40, "UpVal");
_Static_assert(sizeof(raw_proto) == 128, "Proto");
_Static_assert(sizeof(raw_call) == 64, "CallInfo");

enum { RAW_METAMETHODS = 25, RAW_BASIC_TYPES = 9, RAW_TM_GC = 2, RAW_TM_MODE = 3 };

enum {
#if LH_LUA == 504
  RAW_THREAD_STATUS = 10,
#else
  RAW_THREAD_STATUS = 11,
#endif
  RAW_THREAD_TOP = 16,
  RAW_THREAD_GLOBAL = 24,
  RAW_THREAD_CALL = 32,
  RAW_GLOBAL_ALLOC = 0,
  RAW_GLOBAL_ALLOC_DATA = 8,
  RAW_GLOBAL_TOTAL_BYTES = 16,
  RAW_GLOBAL_DEBT = 24,
  RAW_GLOBAL_KEPT = 32, /* what the last cycle found alive; in 5.5 the present one, until it ends */
  RAW_GLOBAL_STRINGS = 48, /* the table of short strings */
  RAW_GLOBAL_STRINGS_USED = 56,
  RAW_GLOBAL_STRINGS_SIZE = 60,
  RAW_GLOBAL_REGISTRY = 64,
  RAW_GLOBAL_NIL = 80, /* a value that is nil once the state is built */
  RAW_GLOBAL_SEED = 96,
#if LH_LUA == 504
  RAW_GLOBAL_WHITE = 100, /* less layout->gc_moved, and so the next four */
  RAW_GLOBAL_GC_STATE = 101,
  RAW_GLOBAL_GC_KIND = 102,
  RAW_GLOBAL_AT_WORK = 103, /* "no emergency collection" since 5.4.4; a multiplier before */
  RAW_GLOBAL_STOP = 106,    /* since 5.4.4 */
  RAW_LAST_GC_KIND = 1,
#else
  RAW_GLOBAL_WHITE = 106,
  RAW_GLOBAL_GC_STATE = 107,
  RAW_GLOBAL_GC_KIND = 108,
  RAW_GLOBAL_AT_WORK = 109,
  RAW_GLOBAL_STOP = 110,
  RAW_LAST_GC_KIND = 2, /* generational, in a cycle of the whole heap */
#endif
  RAW_GLOBAL_ALLGC = 112,
  RAW_GLOBAL_FINOBJ = 128,
  RAW_GLOBAL_TOBEFNZ = 176,
  RAW_GLOBAL_FIXEDGC = 184
};

#define RAW_FIELD(block, offset, type) \
  (*(type const *)(const void *)((const char *)(block) + (offset)))

static inline const raw_object *raw_list(const char *global, lh_list list) {
  static const uint16_t heads[] = {RAW_GLOBAL_ALLGC, RAW_GLOBAL_FINOBJ, RAW_GLOBAL_TOBEFNZ,
                                   RAW_GLOBAL_FIXEDGC};
  return RAW_FIELD(global, heads[list], const raw_object *);
}

/* A thread's global state, and the main thread of a global state. */
static inline const char *raw_global(const void *thread) {
  return RAW_FIELD(thread, RAW_THREAD_GLOBAL, const char *);
}

static inline const void *raw_main_thread(const lh_layout *layout, const char *global) {
#if LH_LUA == 504
  return RAW_FIELD(global, layout->main_thread, const void *);
#else
  return global - layout->global_from_main;
#endif
}

static inline uint64_t lh_gc_bytes(const char *global) {
  int64_t total = RAW_FIELD(global, RAW_GLOBAL_TOTAL_BYTES, int64_t);
  int64_t debt = RAW_FIELD(global, RAW_GLOBAL_DEBT, int64_t);
  return (uint64_t)(LH_LUA == 504 ? total + debt : total - debt);
}

/* Bytes that may be allocated until a step of the collector is due; 0 or less: one is due. */
static inline int64_t raw_credit(const char *global) {
  int64_t debt = RAW_FIELD(global, RAW_GLOBAL_DEBT, int64_t);
  return LH_LUA == 504 ? -debt : debt;
}

/* Makes the credit greater, and the bytes that the collector counts stay. */
static inline void raw_add_credit(char *global, int64_t bytes) {
  *(int64_t *)(void *)(global + RAW_GLOBAL_DEBT) += LH_LUA == 504 ? -bytes : bytes;
  *(int64_t *)(void *)(global + RAW_GLOBAL_TOTAL_BYTES) += bytes;
}

/* RAW_GLOBAL_WHITE to RAW_GLOBAL_STOP. */
static inline uint8_t raw_gc_byte(const lh_layout *layout, const char *global, size_t at) {
  return RAW_FIELD(global, at - layout->gc_moved, uint8_t);
}

/* Is Lua moving a stack or sweeping, so that its allocation function must not read the heap? Of
** releases that tell (5.4.4 and later). A collection of young objects in 5.5 shows by its phase. */
static inline bool raw_is_at_work(const lh_layout *layout, const char *global) {
  if (raw_gc_byte(layout, global, RAW_GLOBAL_AT_WORK)) return true;
  uint8_t state = raw_gc_byte(layout, global, RAW_GLOBAL_GC_STATE);
  return LH_LUA == 505 && raw_gc_byte(layout, global, RAW_GLOBAL_GC_KIND) == 1 && state >= 1 &&
         state <= 6;
}

/* The mask of the white that dead objects have during a sweep; 0 in other phases. */
static inline uint8_t raw_dead_white(const lh_layout *layout, const char *global) {
  uint8_t state = raw_gc_byte(layout, global, RAW_GLOBAL_GC_STATE);
  uint8_t white = raw_gc_byte(layout, global, RAW_GLOBAL_WHITE);
  return state >= 3 && state <= 6 ? (uint8_t)((white ^ RAW_WHITES) & RAW_WHITES) : 0;
}

static inline bool raw_is_shared(const raw_object *object) {
  return (object->marked & RAW_AGE) == RAW_SHARED;
}

/* `dead_white`: see raw_dead_white. Only skynet's Lua shares objects. */
static inline bool raw_is_dead(const raw_object *object, uint8_t dead_white) {
  return (object->marked & dead_white) && !raw_is_shared(object);
}

static inline bool raw_is_empty(uint8_t type) {
  return (type & RAW_BASIC_TYPE) == 0;
}

static inline const raw_string_body *raw_body(const lh_layout *layout, const raw_string *s) {
  return (const void *)((const char *)s + layout->string_body);
}

/* The offset of a short string's text. */
static inline size_t raw_text_offset(const lh_layout *layout) {
  return layout->string_body + offsetof(raw_string_body, contents);
}

static inline uint64_t raw_string_length(const lh_layout *layout, const raw_string *s) {
  bool is_short = s->type == RAW_SHORT_STRING;
  return is_short ? (uint8_t)s->short_length : raw_body(layout, s)->long_length;
}

/* Its text. A short string's is always behind it. */
static inline const char *raw_text(const lh_layout *layout, const raw_string *s) {
#if LH_LUA == 505
  if (s->type != RAW_SHORT_STRING) return raw_body(layout, s)->elsewhere;
#endif
  return (const char *)s + raw_text_offset(layout);
}

static inline raw_string_kind raw_kind_of_string(const raw_string *s) {
  bool tells = LH_LUA == 505 && s->type == RAW_LONG_STRING;
  return tells ? (raw_string_kind)s->short_length : RAW_STRING_REGULAR;
}

/* Of the string itself; an external text is not counted by the collector. */
static inline uint64_t raw_string_bytes(const lh_layout *layout, const raw_string *s) {
  uint64_t with_text = raw_text_offset(layout) + raw_string_length(layout, s) + 1;
#if LH_LUA == 505
  if (s->type == RAW_SHORT_STRING) return with_text;
  switch (raw_kind_of_string(s)) {
    case RAW_STRING_FIXED: return layout->string_body + offsetof(raw_string_body, free_text);
    case RAW_STRING_EXTERNAL: return layout->string_body + sizeof(raw_string_body);
    default: return with_text + sizeof(const char *);
  }
#endif
  return with_text;
}

static inline bool raw_is_external(const raw_object *o) {
  return o->type == RAW_LONG_STRING &&
         raw_kind_of_string((const raw_string *)o) == RAW_STRING_EXTERNAL;
}

/* The bytes of a text that the object frees and the collector does not count. For each library that
** `require` loaded there is a string with this text, which frees the library instead. */
static inline uint64_t raw_external_bytes(const lh_layout *layout, const raw_object *o) {
  static const char library[] = "01234567890";
  const raw_string *s = (const raw_string *)o;
  if (!raw_is_external(o)) return 0;
  uint64_t bytes = raw_string_length(layout, s) + 1;
  bool is_library =
      bytes == sizeof library && memcmp(raw_text(layout, s), library, sizeof library) == 0;
  return is_library ? 0 : bytes;
}

/* Slots of the hash part; 0: they are the dummy that all such tables share. */
static inline uint64_t raw_hash_slots(const raw_table *t) {
#if LH_LUA == 504
  return t->last_free ? (uint64_t)1 << t->log2_slots : 0;
#else
  return t->flags & 0x40 ? 0 : (uint64_t)1 << t->log2_slots;
#endif
}

/* The bytes of its block, and of what is in front of the slots: in 5.5 a pointer from 8 slots. */
static inline uint64_t raw_slots_head(uint64_t n_slots) {
  return LH_LUA == 505 && n_slots >= 8 ? sizeof(void *) : 0;
}

static inline uint64_t raw_slots_bytes(uint64_t n_slots) {
  return sizeof(raw_slot) * n_slots + raw_slots_head(n_slots);
}

/* In 5.4 the array part may be bigger than its limit: its size is then the next power of two. */
static inline uint64_t raw_array_slots(const lh_layout *layout, const raw_table *t) {
  uint64_t limit = t->array_limit, slots = 1;
  uint8_t flags = layout->size_flag_in_mark ? t->marked : t->flags;
  if (LH_LUA == 505 || !(flags & 0x80) || (limit & (limit - 1)) == 0) return limit;
  while (slots < limit) slots *= 2;
  return slots;
}

/* The bytes of the array part's block, and of the payloads in front of `array`. */
static inline uint64_t raw_array_head(uint64_t n_slots) {
  return LH_LUA == 504 ? 0 : sizeof(raw_payload) * n_slots;
}

static inline uint64_t raw_array_bytes(uint64_t n_slots) {
#if LH_LUA == 504
  return sizeof(raw_value) * n_slots;
#else
  return n_slots == 0 ? 0 : raw_array_head(n_slots) + sizeof(raw_array) + n_slots;
#endif
}

/* The blocks of a table's two parts; NULL: it has none. */
static inline const void *raw_array_block(const lh_layout *layout, const raw_table *t) {
  uint64_t n = raw_array_slots(layout, t);
  return n == 0 ? NULL : (const char *)t->array - raw_array_head(n);
}

static inline const void *raw_slots_block(const raw_table *t) {
  uint64_t n = raw_hash_slots(t);
  return n == 0 ? NULL : (const char *)t->slots - raw_slots_head(n);
}

/* Of slot i, counted from 0. */
static inline uint8_t raw_array_type(const raw_array *array, uint64_t i) {
#if LH_LUA == 504
  return array[i].type;
#else
  return array->types[i];
#endif
}

static inline raw_payload raw_array_payload(const raw_array *array, uint64_t i) {
#if LH_LUA == 504
  return array[i].as;
#else
  return ((const raw_payload *)(const void *)array)[-1 - (int64_t)i];
#endif
}

static inline const raw_value *raw_user_values(const lh_layout *layout, const raw_userdata *u) {
  return &RAW_FIELD(u, layout->user_values, raw_value);
}

/* The offset of a userdata's content. Userdata without user values have no `gclist`. */
static inline uint64_t raw_content_offset(const lh_layout *layout, const raw_userdata *u) {
  if (u->n_user_values == 0) return offsetof(raw_userdata, gclist);
  return layout->user_values + sizeof(raw_value) * (uint64_t)u->n_user_values;
}

static inline bool raw_is_open(const raw_upvalue *u) {
  return u->value != &u->u.own_value;
}

static inline const void *raw_c_function(raw_payload payload, uint8_t type) {
  if (type == RAW_LIGHT_C_FUNCTION) return payload.pointer;
  if (type != (RAW_C_CLOSURE | RAW_COLLECTABLE)) return NULL;
  return ((const raw_c_closure *)(const void *)payload.object)->function;
}

/* The extra space in front of each thread, which the build chose. */
static inline size_t raw_extra_bytes(const lh_layout *layout) {
  enum { THREAD_BYTES = 208 }; /* of 5.5 */
  return layout->thread_bytes - (LH_LUA == 504 ? (size_t)layout->global_from_main : THREAD_BYTES);
}

/* The block that the main thread and its global state are in. */
static inline const void *raw_main_block(const lh_layout *layout, const char *global) {
  if (LH_LUA == 505) return global;
  return (const char *)raw_main_thread(layout, global) - raw_extra_bytes(layout);
}

static inline const raw_value *raw_stack(const lh_layout *layout, const void *thread) {
  return RAW_FIELD(thread, layout->stack, const raw_value *);
}

/* The allocated slots of the stack; 0 before it is allocated. */
static inline uint64_t raw_stack_slots(const lh_layout *layout, const void *thread) {
  const raw_value *stack = raw_stack(layout, thread);
  const raw_value *last = RAW_FIELD(thread, layout->stack_last, const raw_value *);
  return stack ? (uint64_t)(last - stack) + RAW_STACK_EXTRA : 0;
}

static inline const raw_call *raw_base_call(const lh_layout *layout, const void *thread) {
  return (const raw_call *)(const void *)((const char *)thread + layout->base_call);
}

/* The slot of the call's function. While a stack is reallocated, 5.4.5 to 5.4.8 hold the distance
** from the stack's beginning in its place. */
static inline const raw_value *raw_call_slot(const lh_layout *layout, const void *thread,
                                             const raw_call *call) {
  uintptr_t stack = (uintptr_t)raw_stack(layout, thread), slot = (uintptr_t)call->function;
  bool is_distance = slot - stack >= raw_stack_slots(layout, thread) * sizeof(raw_value);
  return (const raw_value *)(is_distance ? stack + slot : slot);
}

/* Bits of raw_call.status, counted from the layout's `call_hooked`: a debug hook runs; the function
** was tail called; the last debug hook yielded; the collector called a finalizer from this call. */
typedef enum raw_call_bit {
  RAW_CALL_HOOKED = 0,
  RAW_CALL_TAIL = 2,
  RAW_CALL_HOOK_YIELDED = 3,
  RAW_CALL_FINALIZES = 4
} raw_call_bit;

static inline bool raw_call_is(const lh_layout *layout, const raw_call *call, raw_call_bit bit) {
  return (call->status & (unsigned)layout->call_hooked << bit) != 0;
}

/* The thread's innermost protected call, as a place on the C stack; 0 when it runs none. */
static inline uintptr_t raw_protected_call(const lh_layout *layout, const void *thread) {
  return RAW_FIELD(thread, layout->base_call - sizeof(void *), uintptr_t);
}

/* Does the thread run, or has it resumed one that runs? False while the thread is being made. */
static inline bool raw_stands_in_call(const lh_layout *layout, const void *thread) {
  const raw_call *call = RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *);
  return RAW_FIELD(thread, RAW_THREAD_STATUS, uint8_t) == 0 && call &&
         call != raw_base_call(layout, thread);
}
