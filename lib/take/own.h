/* own.h - the userdata that luaheap keeps in an attached Lua state, as memory: no Lua is needed. */
#pragma once

#include "walk.h"

enum { LH_STATE_NEWEST_MARK = 1, LH_STATE_METATABLE = 2, LH_STATE_USER_VALUES = 2 };

typedef struct lh_state {
  lh_own_content own; /* kind LH_MARK_STATE */
  lh_layout layout;
  uint64_t string_seed; /* secret, for hashes of strings that are not kept at all */
  uint32_t last_serial;
  uint32_t n_periodic; /* periodic marks: see mark.c */
  char release[16];
  bool tells_work; /* RAW_GLOBAL_AT_WORK tells when Lua must not be read */
} lh_state;

static inline const raw_userdata *lh_state_object(const lh_state *state) {
  return (const void *)((const char *)state - state->layout.user_values -
                        LH_STATE_USER_VALUES * sizeof(raw_value));
}

/* The two marks of one serial. */
typedef struct lh_planted {
  uint32_t serial;
  uint64_t time_ns;
  lh_own_content *contents[2];
} lh_planted;

/* chain.c: the marks of a state, youngest first: a chain of user values, in the order of both
** lists. */
typedef struct lh_chain {
  const lh_layout *layout;
  const raw_userdata *last;      /* older userdata of the current mark; the state at first */
  const raw_userdata *halves[2]; /* the mark's: on allgc and, if all is well, on finobj */
  const lh_own_content *content;
} lh_chain;

lh_chain lh_chain_begin(const lh_state *state);
bool lh_chain_next(lh_chain *chain); /* false behind the oldest */
uint32_t lh_chain_marks(const lh_state *state);
