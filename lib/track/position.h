/*
** position.h - the exact instruction at which a thread's innermost Lua function stands.
**
** The interpreter keeps its place in a register, and writes it to the frame (savedpc) only before
** what may raise an error. So the place in the frame is right for all that allocates but two
** instructions, alike in all releases:
**
** - OP_NEWTABLE. The frame still has the place of an earlier instruction, on another line for every
**   third table. But the register is saved by the called function, or spilled, always at the same
**   distance from the frame of the allocation function. That distance is learnt once, by a Lua
**   state of our own that makes tables at known instructions (lh_position_calibrate). What is read
**   there is checked. Where nothing was learnt, or what is there is no OP_NEWTABLE, the
**   instructions that may follow the saved place without saving theirs are searched: if all such
**   OP_NEWTABLE are of one line, it is it. Else it is not told. The array and the slots of the new
**   table are asked for next, of known sizes; where the table was not seen, as among samples, they
**   are searched by these.
** - OP_SETLIST, which may make an array bigger when the last items of a constructor are the results
**   of a call or varargs: then the saved place is the instruction just before.
**
** 5.4.0 alone does not save the place either when the collector runs behind OP_NEWTABLE, nor when
** the stack grows for varargs at the beginning of a function. And up to 5.4.4 the message of an
** integer's division by zero is made without saving: it is told to be of the line that the message
** names, which may be an earlier one.
*/
#ifndef LUAHEAP_POSITION_H
#define LUAHEAP_POSITION_H

#include "track/recorder.h"

typedef struct lh_lesson lh_lesson;

struct lh_position {
  const lh_layout *layout;
  uint16_t not_lua;  /* as in running.h */
  bool saves_less;   /* 5.4.0: see above */
  bool sees_all;     /* false where only samples are asked for */
  bool saw_last;     /* the last new table is the one below */
  lh_lesson *lesson; /* while it is learnt */
  int32_t word;      /* from LH_FRAME to what is the interpreter's place; 0: not learnt */
  uint32_t ahead;    /* by how many instructions that is past the one that runs */

  /* The last new table. */
  struct {
    const raw_call *call;
    const uint32_t *saved, *pc; /* pc NULL: not told */
    const raw_value *top;
    bool is_one_of;                    /* pc is one of several on its line, or not told */
    uint64_t slots_bytes, array_bytes; /* still to be asked for; LH_ANY_BYTES: of one of several */
  } table;

  uint64_t n_tables;   /* by OP_NEWTABLE; of them: */
  uint64_t n_searched; /* were not read off */
  uint64_t n_untold;
};

#define LH_ANY_BYTES UINT64_MAX

lh_position *lh_position_new(lh_recorder *r); /* freed by lh_free */

/* Learns where the interpreter's place is, with a state of its own that has L's allocation
** function, which is ours by now. Tables that are made meanwhile must come to lh_position_learns.
** Where memory or a function of Lua is missing nothing is learnt, which is no failure. After
** r->running was made. Some 50 us. */
void lh_position_calibrate(lh_recorder *r, lua_State *L);

/* A block of a prototype's size is freed, while its contents still are what they were: its code was
** freed before, and what is known of an instruction there does not hold any more. */
static inline void lh_position_forget(lh_position *position, const void *block) {
  const raw_proto *proto = block;
  uintptr_t distance = (uintptr_t)position->table.saved - (uintptr_t)proto->code;
  if (distance / sizeof *proto->code <= (uintptr_t)proto->n_code) position->table.call = NULL;
}

/* The frame of the function in which this stands, in front of which, towards lower addresses, all
** registers are saved that a function must save. That function must be jumped to, or called, always
** in the same way from the one that Lua calls, and be of its own (noinline). */
#define LH_FRAME() (__builtin_unwind_init(), (const void *)__builtin_frame_address(0))

/* While it is learnt, of each table: true, and that was all. */
void lh_position_learn(lh_position *position, const void *frame);
static inline bool lh_position_learns(lh_position *position, const void *frame) {
  if (__builtin_expect(!position->lesson, 1)) return false;
  lh_position_learn(position, frame);
  return true;
}

/* The instruction, by what is asked for. `thread` is the one that runs, and `call` its innermost
** frame of a Lua function, both not NULL. NULL: not told.
**
** A table (no block, and RAW_TABLE for the old size). To be asked also where it is not known who
** runs, with NULL for `call`: its parts come next. */
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

/* A part that was told to be of a new table could not be had: Lua asks again. */
void lh_position_failed(lh_position *position, uint64_t bytes);

/* What allocates at an instruction, where neither a C function nor a hook is on top. */
lh_maker lh_position_maker(uint32_t instruction);

#endif
