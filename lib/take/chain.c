/* chain.c - iterates over the marks of a state, without Lua: heapattach does, too. */
#include "own.h"

lh_chain lh_chain_begin(const lh_state *state) {
  return (lh_chain){.layout = &state->layout, .last = lh_state_object(state)};
}

static const lh_own_content *next_half(const lh_layout *layout, const raw_userdata **half,
                                       const raw_userdata *holder) {
  const raw_value *v = raw_user_values(layout, holder);
  if (v->type != (RAW_USERDATA | RAW_COLLECTABLE)) return NULL;
  *half = (const raw_userdata *)v->as.object;
  const lh_own_content *content = lh_walk_own_content(layout, *half);
  return content && (*half)->n_user_values == 1 && content->kind != LH_MARK_STATE ? content : NULL;
}

/* The program may have changed user values with its debug library: a chain may end early, but never
** circles, because serials must fall. */
bool lh_chain_next(lh_chain *c) {
  for (;;) {
    uint32_t before = c->content ? c->content->serial : UINT32_MAX;
    const lh_own_content *one = next_half(c->layout, &c->halves[1], c->last);
    const lh_own_content *other = one ? next_half(c->layout, &c->halves[0], c->halves[1]) : NULL;
    if (!other || other->serial != one->serial || one->serial >= before) return false;
    c->last = c->halves[0];
    c->content = one;
    if (one->kind != LH_MARK_VOID) return true;
  }
}

uint32_t lh_chain_marks(const lh_state *state) {
  uint32_t n = 0;
  for (lh_chain c = lh_chain_begin(state); lh_chain_next(&c);) n++;
  return n;
}
