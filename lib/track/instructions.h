/* instructions.h - what each Lua instruction does with its registers, its position and memory. */
#pragma once

#include "rooms/read.h"
#include "take/raw_code.h"

typedef enum lh_sets {
  LH_SETS_NONE,
  LH_SETS_A,
  LH_SETS_A_TO_B, /* A to A + B */
  LH_SETS_FROM_A,
  LH_SETS_FROM_A2 /* from A + 2 on */
} lh_sets;

typedef enum lh_follows {
  LH_FOLLOWS_NONE,
  LH_FOLLOWS_NEXT,
  LH_FOLLOWS_SECOND, /* the next one is for a metamethod, or is skipped */
  LH_FOLLOWS_EITHER, /* of the two */
  LH_FOLLOWS_JUMP,
  LH_FOLLOWS_BACK,  /* the next one, or Bx in front of it */
  LH_FOLLOWS_BEYOND /* the next one, or Bx + 1 behind it */
} lh_follows;

typedef struct lh_instruction {
  uint8_t sets;    /* lh_sets */
  bool saves;      /* always writes its position to the frame (position.h) */
  uint8_t follows; /* lh_follows */
  uint8_t maker;   /* lh_maker, where neither a C function nor a hook is on top */
} lh_instruction;

/* Of an opcode that Lua does not have: all zero. */
lh_instruction lh_instruction_of(uint32_t code);

bool lh_instruction_sets(uint32_t code, unsigned reg);
