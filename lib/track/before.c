/*
** before.c - which blocks a Lua state has: those of its objects, with the parts that these own, and
** the string table. That nothing is missing shows when their bytes add up to what the collector
** counts.
**
** C code may have asked the allocation function for blocks that nobody counts, and keeps them in
** userdata, as LPeg its patterns. So the words at the beginning of each userdata are taken for
** addresses of blocks, too: one that is none does no harm (allocate_trailer.c).
*/
#include "before.h"

enum { MOST_WORDS = 64 };

typedef struct census {
  lh_recorder *r;
  uint64_t bytes;
  bool failed; /* no memory */
} census;

static void add(census *c, const void *block) {
  if (!block || c->failed || lh_blocks_find(c->r->blocks, block)) return;
  c->failed = !lh_blocks_add(c->r->blocks, block, (lh_life){0});
}

static void add_table(census *c, const raw_table *t) {
  add(c, t->array);
  if (t->last_free) add(c, t->slots);
}

static void add_proto(census *c, const raw_proto *p) {
  add(c, p->constants);
  add(c, p->code);
  add(c, p->nested);
  add(c, p->upvalues);
  add(c, p->line_deltas);
  add(c, p->lines);
  add(c, p->locals);
}

static void add_thread(census *c, const void *thread) {
  const lh_layout *layout = &c->r->layout;
  add(c, (const char *)thread - lh_extra_bytes(layout));
  add(c, raw_stack(layout, thread));
  const raw_call *call = raw_base_call(layout, thread)->next;
  for (; call; call = call->next) add(c, call);
}

static void add_words(census *c, const raw_userdata *u) {
  const char *content = (const char *)u + raw_content_offset(u);
  const void *word;
  size_t n = u->length / sizeof word;
  for (size_t i = 0; i < n && i < MOST_WORDS; i++) {
    memcpy(&word, content + i * sizeof word, sizeof word);
    if ((uintptr_t)word % sizeof word == 0) add(c, word);
  }
}

static void add_object(census *c, const raw_object *o) {
  c->bytes += lh_walk_shallow_bytes(&c->r->layout, c->r->main_thread, o);
  if (o->type != RAW_THREAD) add(c, o);
  switch (o->type) {
    case RAW_TABLE: add_table(c, (const raw_table *)o); break;
    case RAW_PROTO: add_proto(c, (const raw_proto *)o); break;
    case RAW_THREAD: add_thread(c, o); break;
    case RAW_USERDATA: add_words(c, (const raw_userdata *)o); break;
    default: break;
  }
}

bool lh_blocks_add_all(lh_recorder *r) {
  census c = {.r = r};
  c.bytes = sizeof(void *) * (uint64_t)RAW_FIELD(r->global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  add(&c, RAW_FIELD(r->global, RAW_GLOBAL_STRINGS, const void *));
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(r->global, list); o && !c.failed; o = o->next) {
      add_object(&c, o);
    }
  }
  return !c.failed && c.bytes == lh_gc_bytes(r->global);
}
