/*
** sites.c - writes the definitions of sites and stacks, and reads them into tables (see sites.h).
**
** A site takes 40 bytes in memory for at least 5 in the file, a stack 8 for 3. Names stand one
** behind the other in pieces of 64 KB. Pieces never move, since the sites point into them.
*/
#include "sites.h"

uint8_t *lh_put_name_head(uint8_t *p, uint32_t name_bytes) {
  *p++ = LH_DEFINE_NAME;
  return lh_put_uvarint(p, name_bytes);
}

uint8_t *lh_put_function(uint8_t *p, uint32_t source, uint32_t first_line, uint32_t name) {
  *p++ = LH_DEFINE_FUNCTION;
  return lh_put_uvarint(lh_put_uvarint(lh_put_uvarint(p, source), first_line), name);
}

uint8_t *lh_put_site(uint8_t *p, uint32_t function, uint32_t line, lh_maker maker,
                     uint32_t c_function) {
  *p++ = LH_DEFINE_SITE;
  p = lh_put_uvarint(lh_put_uvarint(p, function), line);
  *p++ = (uint8_t)maker;
  return lh_put_uvarint(p, c_function);
}

uint8_t *lh_put_stack(uint8_t *p, lh_stack_id parent, lh_site_id site) {
  *p++ = LH_DEFINE_STACK;
  return lh_put_uvarint(lh_put_uvarint(p, parent), site);
}

enum { PIECE_BYTES = 1 << 16 };
_Static_assert((int)PIECE_BYTES > (int)LH_MOST_SITE_NAME_BYTES, "a name fits in a piece");

/* A function's definition; its sites copy the fields. */
typedef struct function {
  const char *source, *name;
  uint32_t first_line;
} function;

/* The entry with id i is at index i - 1. */
struct lh_sites {
  const char **names;
  function *functions;
  lh_site *sites;
  lh_stack *stacks;
  uint32_t n_names, n_functions, n_sites, n_stacks;
  size_t name_capacity, function_capacity, site_capacity, stack_capacity;
  char **pieces; /* blocks that hold the names */
  size_t n_pieces, piece_capacity;
  size_t piece_used; /* bytes used in the last piece */
};

lh_sites *lh_sites_new(void) {
  return lh_alloc_zeroed(1, sizeof(lh_sites));
}

void lh_sites_free(lh_sites *s) {
  if (!s) return;
  for (size_t i = 0; i < s->n_pieces; i++) lh_free(s->pieces[i]);
  LH_FREE_ALL(s->pieces, s->names, s->functions, s->sites, s->stacks, s);
}

uint32_t lh_n_sites(const lh_sites *s) {
  return s->n_sites;
}

uint32_t lh_n_stacks(const lh_sites *s) {
  return s->n_stacks;
}

const lh_site *lh_site_of(const lh_sites *s, lh_site_id id) {
  return &s->sites[id - 1];
}

const lh_stack *lh_stack_of(const lh_sites *s, lh_stack_id id) {
  return &s->stacks[id - 1];
}

/* The first piece is small, so a small file does not take 64 KB. */
static char *room_for_name(lh_sites *s, size_t n) {
  enum { FIRST_BYTES = 2 * LH_MOST_SITE_NAME_BYTES };
  size_t piece_bytes = s->n_pieces == 1 ? FIRST_BYTES : PIECE_BYTES;
  if (s->n_pieces > 0 && n <= piece_bytes - s->piece_used)
    return s->pieces[s->n_pieces - 1] + s->piece_used;
  if (!lh_grow(&s->pieces, s->n_pieces, &s->piece_capacity, sizeof *s->pieces)) return NULL;
  char *piece = lh_alloc(s->n_pieces == 0 ? FIRST_BYTES : PIECE_BYTES, 1);
  if (!piece) return NULL;
  s->pieces[s->n_pieces++] = piece;
  s->piece_used = 0;
  return piece;
}

static bool define_name(lh_sites *s, lh_cursor *c) {
  size_t n = lh_read_upto(c, LH_MOST_SITE_NAME_BYTES, "a name is too long");
  const uint8_t *bytes = lh_read_bytes(c, n);
  if (c->fault) return true;
  if (!lh_grow(&s->names, s->n_names, &s->name_capacity, sizeof *s->names)) return false;
  char *name = room_for_name(s, n + 1);
  if (!name) return false;
  memcpy(name, bytes, n);
  name[n] = '\0';
  s->piece_used += n + 1;
  s->names[s->n_names++] = name;
  return true;
}

static const char *read_name(const lh_sites *s, lh_cursor *c) {
  uint64_t id = lh_read_upto(c, s->n_names, "a name is not defined");
  return id == 0 ? NULL : s->names[id - 1];
}

static bool define_function(lh_sites *s, lh_cursor *c) {
  function f;
  f.source = read_name(s, c);
  f.first_line = (uint32_t)lh_read_upto(c, UINT32_MAX, "a line number is too big");
  f.name = read_name(s, c);
  if (c->fault) return true;
  if (!lh_grow(&s->functions, s->n_functions, &s->function_capacity, sizeof f)) return false;
  s->functions[s->n_functions++] = f;
  return true;
}

static bool define_site(lh_sites *s, lh_cursor *c) {
  static const function none;
  uint64_t id = lh_read_upto(c, s->n_functions, "a function is not defined");
  const function *f = id == 0 ? &none : &s->functions[id - 1];
  lh_site site = {.source = f->source, .function = f->name, .first_line = f->first_line};
  site.line = (uint32_t)lh_read_upto(c, UINT32_MAX, "a line number is too big");
  uint8_t maker = lh_read_u8(c);
  if (maker > LH_MADE_OTHERWISE) lh_fault(c, c->at - 1, "what allocates is unknown");
  site.maker = (lh_maker)maker;
  site.c_function = read_name(s, c);
  if (c->fault) return true;
  if (!lh_grow(&s->sites, s->n_sites, &s->site_capacity, sizeof site)) return false;
  s->sites[s->n_sites++] = site;
  return true;
}

static bool define_stack(lh_sites *s, lh_cursor *c) {
  lh_stack stack;
  stack.parent = (lh_stack_id)lh_read_upto(c, s->n_stacks, "a stack's caller is not defined");
  const uint8_t *start = c->at;
  stack.site = (lh_site_id)lh_read_upto(c, s->n_sites, "a site is not defined");
  if (stack.site == 0) lh_fault(c, start, "a stack has no site");
  if (c->fault) return true;
  if (!lh_grow(&s->stacks, s->n_stacks, &s->stack_capacity, sizeof stack)) return false;
  s->stacks[s->n_stacks++] = stack;
  return true;
}

bool lh_sites_define(lh_sites *s, lh_cursor *c) {
  const uint8_t *start = c->at;
  unsigned kind = lh_read_u8(c);
  const uint32_t so_far[] = {0, s->n_names, s->n_functions, s->n_sites, s->n_stacks};
  if (kind == 0 || kind > LH_DEFINE_STACK) {
    lh_fault(c, start, "it defines nothing known");
  } else if (so_far[kind] == LH_MOST_DEFINITIONS) {
    lh_fault(c, start, "it defines too many names, functions, sites or stacks");
  }
  if (c->fault) return true;
  switch (kind) {
    case LH_DEFINE_NAME: return define_name(s, c);
    case LH_DEFINE_FUNCTION: return define_function(s, c);
    case LH_DEFINE_SITE: return define_site(s, c);
    default: return define_stack(s, c);
  }
}

void lh_sites_skip(lh_cursor *c) {
  const uint8_t *start = c->at;
  unsigned kind = lh_read_u8(c);
  if (kind == LH_DEFINE_NAME) {
    (void)lh_read_bytes(c, lh_read_uvarint(c));
  } else if (kind >= LH_DEFINE_FUNCTION && kind <= LH_DEFINE_STACK) {
    (void)lh_read_uvarint(c);
    (void)lh_read_uvarint(c);
    if (kind == LH_DEFINE_SITE) (void)lh_read_u8(c);
    if (kind != LH_DEFINE_STACK) (void)lh_read_uvarint(c);
  } else {
    lh_fault(c, start, "it defines nothing known");
  }
}
