/*
** blocks.c - a hash table from blocks to their lives (blocks.h).
** A removal leaves no gap: entries behind the hole move up towards their home.
*/
#include "blocks.h"

#include "base.h"

enum { FEWEST_SLOTS = 256, FULL = UINT8_MAX };

lh_blocks *lh_blocks_new(void) {
  return lh_alloc_zeroed(1, sizeof(lh_blocks));
}

void lh_blocks_free(lh_blocks *b) {
  if (b) lh_free(b->slots);
  lh_free(b);
}

static uint8_t *filter_of(lh_blocks *b, const void *block) {
  return &b->filter[lh_block_hash(block) >> (64 - LH_FILTER_SHIFT)];
}

static size_t home_of(const lh_blocks *b, const void *block) {
  return (size_t)(lh_block_hash(block) >> 20) & (b->capacity - 1);
}

static size_t slot_of(const lh_blocks *b, const void *block) {
  size_t i = home_of(b, block);
  while (b->slots[i].address && b->slots[i].address != block) i = (i + 1) & (b->capacity - 1);
  return i;
}

static bool grow(lh_blocks *b) {
  lh_blocks bigger = {.capacity = b->capacity ? b->capacity * 2 : FEWEST_SLOTS};
  bigger.slots = lh_alloc_zeroed(bigger.capacity, sizeof *bigger.slots);
  if (!bigger.slots) return false;
  for (size_t i = 0; i < b->capacity; i++) {
    const lh_block *block = &b->slots[i];
    if (block->address) bigger.slots[slot_of(&bigger, block->address)] = *block;
  }
  lh_free(b->slots);
  b->slots = bigger.slots;
  b->capacity = bigger.capacity;
  return true;
}

bool lh_blocks_add(lh_blocks *b, const void *block, lh_life life) {
  if (b->n >= b->capacity / 4 * 3 && !grow(b)) return false;
  b->slots[slot_of(b, block)] = (lh_block){.address = block, .life = life};
  b->n++;
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)++;
  return true;
}

lh_life *lh_blocks_find(const lh_blocks *b, const void *block) {
  if (!lh_blocks_may_have(b, block)) return NULL;
  lh_block *found = &b->slots[slot_of(b, block)];
  return found->address ? &found->life : NULL;
}

/* Is the hole between the home of the block in slot `i` and slot `i`? */
static bool may_move(const lh_blocks *b, size_t i, size_t hole) {
  size_t mask = b->capacity - 1, home = home_of(b, b->slots[i].address);
  return ((i - home) & mask) >= ((i - hole) & mask);
}

bool lh_blocks_remove(lh_blocks *b, const void *block, lh_life *life) {
  const lh_life *found = lh_blocks_find(b, block);
  if (!found) return false;
  *life = *found;
  size_t mask = b->capacity - 1, hole = slot_of(b, block);
  for (size_t i = (hole + 1) & mask; b->slots[i].address; i = (i + 1) & mask) {
    if (!may_move(b, i, hole)) continue;
    b->slots[hole] = b->slots[i];
    hole = i;
  }
  b->slots[hole].address = NULL;
  b->n--;
  uint8_t *count = filter_of(b, block);
  if (*count < FULL) (*count)--;
  return true;
}

/* ==== Blocks from before tracking ================================================== */

/* The blocks of a Lua state are its objects, the parts that these own, and the string table. None
** is missing if their bytes add up to the collector's count.
**
** C code may have requested blocks that the collector does not count, and keep them in userdata, as
** LPeg keeps its patterns. So the first words of each userdata are taken for addresses of blocks,
** too. A word that is no address does no harm (allocate_trailer.c). */

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
    for (const raw_object *o = raw_list(r->global, list); o && !c.failed; o = o->next)
      add_object(&c, o);
  }
  return !c.failed && c.bytes == lh_gc_bytes(r->global);
}
