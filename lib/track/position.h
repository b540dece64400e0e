/*
** position.h - the exact instruction at which a thread's innermost Lua function stands.
**
** The interpreter keeps its position in a register. It writes the position to the frame (savedpc)
** only before an instruction that may raise an error. So savedpc is right for all instructions that
** allocate but two, in all releases:
**
** - OP_NEWTABLE. savedpc is an earlier instruction, for every third table on another line. But the
**   called function saves the register, or the compiler spills it, always at the same distance from
**   the frame of the allocation function. That distance is learnt once, by a Lua state of our own
**   that makes tables at known instructions (lh_position_calibrate). The word there is checked. If
**   it is no OP_NEWTABLE, or nothing was learnt, a search looks at the instructions that may follow
**   savedpc without saving theirs. If all OP_NEWTABLE among them are on one line, it is that line;
**   else the position is unknown. The array and the slots of the table are requested next, with
**   known sizes; if the table was not seen, as among samples, the search looks for these sizes.
** - OP_SETLIST, which may grow an array if the last items of a constructor are the results of a
**   call or varargs: savedpc is then the instruction just before. In 5.5 the array is a new block.
**
** In 5.5 OP_VARARGPREP, the first instruction, may make a table of the extra arguments. It saves
** its position, but an OP_NEWTABLE looks the same until the next instruction that does.
**
** 5.4.0 alone does not save the position either when the collector runs behind OP_NEWTABLE, nor
** when the stack grows for varargs at the start of a function. Up to 5.4.4 the message of an
** integer division by zero is made without saving: it counts for the line that the message names,
** which may be an earlier one.
*/
#pragma once

#include "track/recorder.h"

typedef struct lh_lesson lh_lesson;

struct lh_position {
  const lh_layout *layout;
  uint32_t not_lua;  /* as in running.h */
  bool saves_less;   /* 5.4.0: see above */
  bool sees_all;     /* false while sampling */
  bool saw_last;     /* `table` is the last new table */
  lh_lesson *lesson; /* NULL except while learning */
  int32_t word;      /* words from LH_FRAME to the position; 0: not learnt */
  uint32_t ahead;    /* instructions by which that is past the running one */

  /* The last new table. */
  struct {
    const raw_call *call;
    const uint32_t *saved, *pc; /* pc NULL: unknown */
    const raw_value *top;
    bool is_one_of;                    /* pc is one of several on its line, or unknown */
    uint64_t slots_bytes, array_bytes; /* still to be requested; LH_ANY_BYTES: unknown */
  } table;

  uint64_t n_tables;   /* by OP_NEWTABLE; of them: */
  uint64_t n_searched; /* were searched */
  uint64_t n_untold;
};

#define LH_ANY_BYTES UINT64_MAX

lh_position *lh_position_new(lh_recorder *r); /* freed by lh_free */

/* Learns where the interpreter's position is, by a state of its own with L's allocation function,
** which must be ours, in some 50 us. Each table made meanwhile must be passed to
** lh_position_learns. Needs r->running. Without memory, or a function of Lua, nothing is learnt,
** which is no error. */
void lh_position_calibrate(lh_recorder *r, lua_State *L);

/* A block of a prototype's size is freed, with its contents still intact. If the last new table was
** made by its code, that table is forgotten. */
static inline void lh_position_forget(lh_position *position, const void *block) {
  const raw_proto *proto = block;
  uintptr_t distance = (uintptr_t)position->table.saved - (uintptr_t)proto->code;
  if (distance / sizeof *proto->code <= (uintptr_t)proto->n_code) position->table.call = NULL;
}

/* The frame of the function that uses it. All registers that a function must save are saved in
** front of the frame, towards lower addresses. The function must be noinline, and be reached from
** the function that Lua calls always in the same way, by a jump or by a call. */
#define LH_FRAME() (__builtin_unwind_init(), (const void *)__builtin_frame_address(0))

/* For each new table while learning. True: nothing else is to be done. */
void lh_position_learn(lh_position *position, const void *frame);
static inline bool lh_position_learns(lh_position *position, const void *frame) {
  if (__builtin_expect(!position->lesson, 1)) return false;
  lh_position_learn(position, frame);
  return true;
}

/* The instruction that makes a request; NULL: unknown. `thread` is the running one, and `call` its
** innermost frame of a Lua function, both not NULL.
**
** A table (no block, old size RAW_TABLE). Also to be called where the running thread is unknown,
** with NULL for `call`, since the table's parts come next. */
const uint32_t *lh_position_of_table(lh_position *position, const void *thread,
                                     const raw_call *call, const void *frame);

/* A part, which has no type of its own (a block that grows, or no block and an old size of 0): */
const uint32_t *lh_position_of_part(lh_position *position, const void *thread, const raw_call *call,
                                    const void *block, uint64_t bytes);

/* An object of any other type: */
const uint32_t *lh_position_in_540(const lh_position *position, const void *thread,
                                   const raw_call *call);
static inline const uint32_t *lh_position_of_object(const lh_position *position, const void *thread,
                                                    const raw_call *call) {
  if (__builtin_expect(position->saves_less, 0)) return lh_position_in_540(position, thread, call);
  return call->saved_pc - 1;
}

/* The request for a part of a new table failed: Lua repeats it. */
void lh_position_failed(lh_position *position, uint64_t bytes);

/* What allocates at an instruction of the prototype, where neither a C function nor a hook is on
** top. */
lh_maker lh_position_maker(const raw_proto *proto, const uint32_t *pc);
