/*
** instructions.c - see instructions.h.
** The table has all instructions of 5.4 and 5.5: raw_code.h has the number of each in both. Those
** that both have do the same in both, but OP_VARARGPREP may make a table in 5.5 (position.h).
*/
#include "instructions.h"

/* clang-format off */
static const lh_instruction instructions[128] = {
    [RAW_OP_MOVE ... RAW_OP_LFALSESKIP - 1]
                        = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_LFALSESKIP] = {LH_SETS_A,      false, LH_FOLLOWS_SECOND, LH_MADE_OTHERWISE},
    [RAW_OP_LOADTRUE]   = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_LOADNIL]    = {LH_SETS_A_TO_B, false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_GETUPVAL]   = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_SETUPVAL]   = {LH_SETS_NONE,   false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_GETTABUP ... RAW_OP_GETFIELD]
                        = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_SETTABUP ... RAW_OP_SETFIELD]
                        = {LH_SETS_NONE,   false, LH_FOLLOWS_NEXT,   LH_MADE_GROWTH},
    [RAW_OP_NEWTABLE]   = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_TABLE},
    [RAW_OP_SELF]       = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_ADDI ... RAW_OP_SHR]
                        = {LH_SETS_A,      false, LH_FOLLOWS_SECOND, LH_MADE_OTHERWISE},
    [RAW_OP_MMBIN ... RAW_OP_MMBINK]
                        = {LH_SETS_NONE,   true,  LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_UNM ... RAW_OP_NOT]
                        = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_LEN]        = {LH_SETS_A,      true,  LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_CONCAT]     = {LH_SETS_A,      true,  LH_FOLLOWS_NEXT,   LH_MADE_CONCATENATION},
    [RAW_OP_CLOSE]      = {LH_SETS_NONE,   true,  LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_TBC]        = {LH_SETS_NONE,   true,  LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_JMP]        = {LH_SETS_NONE,   false, LH_FOLLOWS_JUMP,   LH_MADE_OTHERWISE},
    [RAW_OP_EQ]         = {LH_SETS_NONE,   true,  LH_FOLLOWS_EITHER, LH_MADE_OTHERWISE},
    [RAW_OP_LT ... RAW_OP_TEST]
                        = {LH_SETS_NONE,   false, LH_FOLLOWS_EITHER, LH_MADE_OTHERWISE},
    [RAW_OP_TESTSET]    = {LH_SETS_A,      false, LH_FOLLOWS_EITHER, LH_MADE_OTHERWISE},
    [RAW_OP_CALL]       = {LH_SETS_FROM_A, true,  LH_FOLLOWS_NEXT,   LH_MADE_CALL},
    [RAW_OP_TAILCALL]   = {LH_SETS_FROM_A, true,  LH_FOLLOWS_NEXT,   LH_MADE_CALL},
    [RAW_OP_RETURN ... RAW_OP_RETURN1]
                        = {LH_SETS_NONE,   true,  LH_FOLLOWS_NONE,   LH_MADE_OTHERWISE},
    [RAW_OP_FORLOOP]    = {LH_SETS_A,      false, LH_FOLLOWS_BACK,   LH_MADE_OTHERWISE},
    [RAW_OP_FORPREP]    = {LH_SETS_A,      true,  LH_FOLLOWS_BEYOND, LH_MADE_OTHERWISE},
    [RAW_OP_TFORPREP]   = {LH_SETS_NONE,   true,  LH_FOLLOWS_NONE,   LH_MADE_OTHERWISE},
    [RAW_OP_TFORCALL]   = {LH_SETS_FROM_A2,true,  LH_FOLLOWS_NEXT,   LH_MADE_CALL},
    [RAW_OP_TFORLOOP]   = {LH_SETS_A,      false, LH_FOLLOWS_BACK,   LH_MADE_OTHERWISE},
    [RAW_OP_SETLIST]    = {LH_SETS_NONE,   false, LH_FOLLOWS_NEXT,   LH_MADE_TABLE},
    [RAW_OP_CLOSURE]    = {LH_SETS_A,      true,  LH_FOLLOWS_NEXT,   LH_MADE_CLOSURE},
    [RAW_OP_VARARG]     = {LH_SETS_A,      true,  LH_FOLLOWS_NEXT,   LH_MADE_CALL},
    [RAW_OP_GETVARG]    = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_ERRNNIL]    = {LH_SETS_NONE,   false, LH_FOLLOWS_NEXT,   LH_MADE_OTHERWISE},
    [RAW_OP_VARARGPREP] = {LH_SETS_A,      false, LH_FOLLOWS_NEXT,   LH_MADE_CALL},
    [RAW_OP_EXTRAARG]   = {LH_SETS_NONE,   false, LH_FOLLOWS_NEXT,   LH_MADE_TABLE}};
/* clang-format on */

lh_instruction lh_instruction_of(uint32_t code) {
  return instructions[raw_opcode(code)];
}

bool lh_instruction_sets(uint32_t code, unsigned reg) {
  unsigned a = raw_operand_a(code);
  switch ((lh_sets)lh_instruction_of(code).sets) {
    case LH_SETS_NONE: return false;
    case LH_SETS_A: return reg == a;
    case LH_SETS_A_TO_B: return reg >= a && reg <= a + raw_operand_b(code);
    case LH_SETS_FROM_A: return reg >= a;
    case LH_SETS_FROM_A2: return reg >= a + 2;
  }
  return false;
}
