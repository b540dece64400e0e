/* blocks.c - finds the lives of blocks (blocks.h). */
#include "blocks.h"

enum { FULL = UINT8_MAX };

lh_blocks *lh_blocks_new(void) {
  return lh_alloc_zeroed(1, sizeof(lh_blocks));
}

static const lh_blocks none;

lh_blocks *lh_blocks_none(void) {
  return (lh_blocks *)(uintptr_t)&none;
}

void lh_blocks_free(lh_blocks *b) {
  if (!b || b == &none) return;
  lh_free(b->list);
  lh_index_free(&b->index);
  lh_free(b);
}

static uint8_t *filter_of(lh_blocks *b, const void *block) {
  return &b->filter[lh_block_hash(block) >> (64 - LH_FILTER_SHIFT)];
}

static uint32_t index_hash(const void *block) {
  return (uint32_t)(lh_block_hash(block) >> 20);
}

static uint32_t slot_number(const lh_blocks *b, const void *block) {
  uint32_t number = 0;
  if (lh_blocks_may_have(b, block))
    LH_INDEX_FIND(number, &b->index, index_hash(block), b->list[number].address == block);
  return number;
}

bool lh_blocks_add(lh_blocks *b, const void *block, lh_life life) {
  uint32_t number =
      lh_index_new(&b->index, index_hash(block), &b->list, &b->capacity, sizeof *b->list);
  if (!number) return false;
  b->list[number] = (lh_block){.address = block, .life = life};
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)++;
  return true;
}

lh_life *lh_blocks_find(const lh_blocks *b, const void *block) {
  uint32_t number = slot_number(b, block);
  return number ? &b->list[number].life : NULL;
}

bool lh_blocks_remove(lh_blocks *b, const void *block, lh_life *life) {
  uint32_t number = slot_number(b, block);
  if (!number) return false;
  *life = b->list[number].life;
  lh_index_remove(&b->index, index_hash(block), number);
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)--;
  return true;
}

/* The blocks of a Lua state are its objects, the parts that these own, and the string table. None
** is missing if their bytes add up to the collector's count.
**
** C code may have requested blocks that the collector does not count, and keep them in userdata, as
** LPeg keeps its patterns. So the first words of each userdata are taken for addresses of blocks,
** too. A word that is no address does no harm (allocate_trailer.c). The text of an external string
** of 5.5 may be such a block, or other memory. */

enum { MOST_WORDS = 64 };

typedef struct census {
  lh_recorder *r;
  uint64_t bytes;
  bool failed; /* no memory */
} census;

static void add_old_block(census *c, const void *block) {
  if (!block || c->failed || lh_blocks_find(c->r->blocks, block)) return;
  c->failed = !lh_blocks_add(c->r->blocks, block, (lh_life){0});
}

static void add_old_table(census *c, const raw_table *t) {
  add_old_block(c, raw_array_block(&c->r->layout, t));
  add_old_block(c, raw_slots_block(t));
}

static void add_old_proto(census *c, const raw_proto *p) {
  add_old_block(c, p->constants);
  add_old_block(c, p->code);
  add_old_block(c, p->nested);
  add_old_block(c, p->upvalues);
  add_old_block(c, p->line_deltas);
  add_old_block(c, p->lines);
  add_old_block(c, p->locals);
}

static void add_old_thread(census *c, const void *thread) {
  const lh_layout *layout = &c->r->layout;
  bool is_main = thread == c->r->main_thread;
  add_old_block(c, is_main ? c->r->main_block : (const char *)thread - raw_extra_bytes(layout));
  add_old_block(c, raw_stack(layout, thread));
  const raw_call *call = raw_base_call(layout, thread)->next;
  for (; call; call = call->next) add_old_block(c, call);
}

static void add_words(census *c, const raw_userdata *u) {
  const char *content = (const char *)u + raw_content_offset(&c->r->layout, u);
  const void *word;
  size_t n = u->length / sizeof word;
  for (size_t i = 0; i < n && i < MOST_WORDS; i++) {
    memcpy(&word, content + i * sizeof word, sizeof word);
    if ((uintptr_t)word % sizeof word == 0) add_old_block(c, word);
  }
}

static void add_old_text(census *c, const raw_string *s) {
  if (raw_kind_of_string(s) == RAW_STRING_EXTERNAL) add_old_block(c, raw_text(&c->r->layout, s));
}

static void add_old_object(census *c, const raw_object *o) {
  c->bytes += lh_walk_shallow_bytes(&c->r->layout, c->r->main_thread, o);
  if (o->type != RAW_THREAD) add_old_block(c, o);
  switch (o->type) {
    case RAW_TABLE: add_old_table(c, (const raw_table *)o); break;
    case RAW_PROTO: add_old_proto(c, (const raw_proto *)o); break;
    case RAW_THREAD: add_old_thread(c, o); break;
    case RAW_USERDATA: add_words(c, (const raw_userdata *)o); break;
    case RAW_LONG_STRING: add_old_text(c, (const raw_string *)o); break;
    default: break;
  }
}

bool lh_blocks_add_all(lh_recorder *r) {
  census c = {.r = r};
  c.bytes = sizeof(void *) * (uint64_t)RAW_FIELD(r->global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  add_old_block(&c, RAW_FIELD(r->global, RAW_GLOBAL_STRINGS, const void *));
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FIXEDGC; list++) {
    for (const raw_object *o = raw_list(r->global, list); o && !c.failed; o = o->next)
      add_old_object(&c, o);
  }
  return !c.failed && c.bytes == lh_gc_bytes(r->global);
}
