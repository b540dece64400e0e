/*
** raw_code.h - the Lua instructions that the writing half reads.
**
** They are the same in all releases of a minor release, which share one bytecode version.
**
**     bits  0-6   7-14  15    16-23  24-31
**           op    A     k     B      C           in 5.5 OP_NEWTABLE and OP_SETLIST: B 16-21, C 22-31
**           op    A     Bx (15-31)               OP_CLOSURE, loops
**           op    sJ (7-31), less 2^24 - 1       OP_JMP
*/
#ifndef LUAHEAP_RAW_CODE_H
#define LUAHEAP_RAW_CODE_H

#include "raw.h"

enum {
  RAW_OP_MOVE = 0,
  RAW_OP_LFALSESKIP = 6,
  RAW_OP_LOADNIL = 8,
  RAW_OP_GETUPVAL = 9,
  RAW_OP_GETTABUP = 11,
  RAW_OP_GETFIELD = 14,
  RAW_OP_SETTABUP = 15,
  RAW_OP_SETTABLE = 16,
  RAW_OP_SETI = 17,
  RAW_OP_SETFIELD = 18,
  RAW_OP_NEWTABLE = 19,
  RAW_OP_SELF = 20,
  RAW_OP_ADDI = 21, /* to SHR: arithmetic, each followed by its MMBIN, MMBINI or MMBINK */
  RAW_OP_SHR = 45,
  RAW_OP_MMBIN = 46,
  RAW_OP_MMBINK = 48,
  RAW_OP_LEN = 52,
  RAW_OP_CONCAT = 53,
  RAW_OP_CLOSE = 54,
  RAW_OP_TBC = 55,
  RAW_OP_JMP = 56,
  RAW_OP_EQ = 57, /* to TESTSET: tests, each followed by a JMP */
  RAW_OP_TESTSET = 67,
  RAW_OP_CALL = 68,
  RAW_OP_TAILCALL = 69,
  RAW_OP_RETURN = 70, /* and RETURN0, RETURN1 */
  RAW_OP_RETURN1 = 72,
  RAW_OP_FORLOOP = 73,
  RAW_OP_FORPREP = 74,
  RAW_OP_TFORPREP = 75,
  RAW_OP_TFORCALL = 76,
  RAW_OP_TFORLOOP = 77,
  RAW_OP_SETLIST = 78,
  RAW_OP_CLOSURE = 79,
  RAW_OP_VARARG = 80,
#if LH_LUA == 505
  RAW_OP_GETVARG = 81,
  RAW_OP_ERRNNIL = 82,
  RAW_OP_VARARGPREP = 83,
  RAW_OP_EXTRAARG = 84
#else
  RAW_OP_VARARGPREP = 81,
  RAW_OP_EXTRAARG = 82
#endif
};

static inline unsigned raw_opcode(uint32_t i) {
  return i & 0x7F;
}

static inline unsigned raw_operand_a(uint32_t i) {
  return (i >> 7) & 0xFF;
}

static inline unsigned raw_operand_b(uint32_t i) {
  return (i >> 16) & 0xFF;
}

static inline unsigned raw_operand_c(uint32_t i) {
  return i >> 24;
}

/* The k bit: C, or B in a few instructions, is the number of a constant. */
static inline bool raw_operand_k(uint32_t i) {
  return (i >> 15) & 1;
}

static inline uint32_t raw_operand_bx(uint32_t i) {
  return i >> 15;
}

/* The distance of an OP_JMP, counted from the next instruction. */
static inline int32_t raw_jump(uint32_t i) {
  return (int32_t)(i >> 7) - ((1 << 24) - 1);
}

#endif
