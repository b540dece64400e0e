/*
** raw_code.h - the Lua instructions that the writing half reads.
**
** They are the same in all releases of a minor release, which share one bytecode version. What
** they do is in lib/track/instructions.c.
**
**     bits  0-6   7-14  15    16-23  24-31
**           op    A     k     B      C           but in 5.5 for lists: B 16-21, C 22-31
**           op    A     Bx (15-31)               OP_CLOSURE, loops
**           op    sJ (7-31), less 2^24 - 1       OP_JMP
*/
#pragma once

#include "raw.h"

/* An instruction's number in 5.4 and in 5.5; above 125: that release has none. */
#define RAW_OP(in_54, in_55) (LH_LUA == 504 ? (in_54) : (in_55))
enum {
  RAW_OP_MOVE = 0,
  RAW_OP_LFALSESKIP = 6,
  RAW_OP_LOADTRUE = 7,
  RAW_OP_LOADNIL = 8,
  RAW_OP_GETUPVAL = 9,
  RAW_OP_SETUPVAL = 10,
  RAW_OP_GETTABUP = 11,
  RAW_OP_GETFIELD = 14,
  RAW_OP_SETTABUP = 15,
  RAW_OP_SETFIELD = 18,
  RAW_OP_NEWTABLE = 19,
  RAW_OP_SELF = 20,
  RAW_OP_ADDI = 21,
  RAW_OP_SHR = 45,
  RAW_OP_MMBIN = 46,
  RAW_OP_MMBINK = 48,
  RAW_OP_UNM = 49,
  RAW_OP_NOT = 51,
  RAW_OP_LEN = 52,
  RAW_OP_CONCAT = 53,
  RAW_OP_CLOSE = 54,
  RAW_OP_TBC = 55,
  RAW_OP_JMP = 56,
  RAW_OP_EQ = 57,
  RAW_OP_LT = 58,
  RAW_OP_TEST = 66,
  RAW_OP_TESTSET = 67,
  RAW_OP_CALL = 68,
  RAW_OP_TAILCALL = 69,
  RAW_OP_RETURN = 70,
  RAW_OP_RETURN1 = 72,
  RAW_OP_FORLOOP = 73,
  RAW_OP_FORPREP = 74,
  RAW_OP_TFORPREP = 75,
  RAW_OP_TFORCALL = 76,
  RAW_OP_TFORLOOP = 77,
  RAW_OP_SETLIST = 78,
  RAW_OP_CLOSURE = 79,
  RAW_OP_VARARG = 80,
  RAW_OP_GETVARG = RAW_OP(126, 81),
  RAW_OP_ERRNNIL = RAW_OP(127, 82),
  RAW_OP_VARARGPREP = RAW_OP(81, 83),
  RAW_OP_EXTRAARG = RAW_OP(82, 84)
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

/* Is the key of an OP_SELF the constant C, and not a register? */
static inline bool raw_self_has_constant(uint32_t i) {
  return LH_LUA == 505 || raw_operand_k(i);
}

/* Of an OP_NEWTABLE or OP_SETLIST: B, and the number of items, of the array or set before. The next
** instruction, an OP_EXTRAARG, has the upper bits of that. */
static inline unsigned raw_list_b(uint32_t i) {
  return LH_LUA == 504 ? raw_operand_b(i) : (i >> 16) & 0x3F;
}

static inline uint64_t raw_list_items(const uint32_t *pc) {
  enum { C_BITS = LH_LUA == 504 ? 8 : 10 };
  uint64_t upper = raw_operand_k(pc[0]) ? pc[1] >> 7 : 0;
  return (upper << C_BITS) + (pc[0] >> (32 - C_BITS));
}

/* The distance of an OP_JMP, counted from the next instruction. */
static inline int32_t raw_jump(uint32_t i) {
  return (int32_t)(i >> 7) - ((1 << 24) - 1);
}
