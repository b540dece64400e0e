/*
** definitions.c - see definitions.h.
** Each kind is an array that grows, with an index by contents. An element is complete before the
** next number is handed out. So a child process or a signal handler never reads a half-written one.
*/
#include "definitions.h"

void lh_definitions_free(lh_definitions *d) {
  lh_free(d->name_bytes);
  lh_free(d->name_ends);
  lh_free(d->functions);
  lh_free(d->sites);
  lh_free(d->stacks);
  lh_free(d->folds);
  lh_index_free(&d->name_index);
  lh_index_free(&d->function_index);
  lh_index_free(&d->site_index);
  lh_index_free(&d->stack_index);
  *d = (lh_definitions){0};
}

/* Makes room for one more element, and indexes it. `array_pointer`: address of the pointer. */
static bool make_room(void *array_pointer, uint32_t n, size_t *capacity, size_t size,
                      lh_index *index, uint32_t hash) {
  return n < LH_MOST_DEFINITIONS && lh_grow(array_pointer, n, capacity, size) &&
         lh_index_add(index, hash, n + 1);
}

/* The item's number, new if need be; its type has no gaps. 0: out of memory, or of numbers. */
static uint32_t define(void *array_pointer, uint32_t *n, size_t *capacity, lh_index *index,
                       const void *item, size_t size) {
  uint32_t hash = (uint32_t)lh_hash(item, size, 0), number;
  char *array; /* whatever its type */
  memcpy(&array, array_pointer, sizeof array);
  LH_INDEX_FIND(number, index, hash, memcmp(array + (number - 1) * size, item, size) == 0);
  if (number) return number;
  if (!make_room(array_pointer, *n, capacity, size, index, hash)) return 0;
  memcpy(&array, array_pointer, sizeof array);
  memcpy(array + *n * size, item, size);
  return ++*n;
}

static uint32_t name_start(const lh_definitions *d, uint32_t name) {
  return name > 1 ? d->name_ends[name - 2] : 0;
}

static uint32_t name_length(const lh_definitions *d, uint32_t name) {
  return d->name_ends[name - 1] - name_start(d, name);
}

static bool make_name_room(lh_definitions *d, size_t n) {
  size_t used = name_start(d, d->n_names + 1);
  if (used + n > LH_MOST_NAME_BYTES) return false;
  while (used + n >= d->name_bytes_capacity)
    if (!lh_grow(&d->name_bytes, d->name_bytes_capacity, &d->name_bytes_capacity, 1)) return false;
  return true;
}

uint32_t lh_find_name(const lh_definitions *d, const char *bytes, size_t n) {
  if (n > LH_MOST_SITE_NAME_BYTES) n = LH_MOST_SITE_NAME_BYTES;
  uint32_t name;
  LH_INDEX_FIND(
      name, &d->name_index, (uint32_t)lh_hash(bytes, n, 0),
      name_length(d, name) == n && memcmp(d->name_bytes + name_start(d, name), bytes, n) == 0);
  return name;
}

uint32_t lh_define_name(lh_definitions *d, const char *bytes, size_t n) {
  if (n > LH_MOST_SITE_NAME_BYTES) n = LH_MOST_SITE_NAME_BYTES;
  uint32_t known = lh_find_name(d, bytes, n), hash = (uint32_t)lh_hash(bytes, n, 0);
  if (known) return known;
  if (!make_name_room(d, n) || !make_room(&d->name_ends, d->n_names, &d->name_capacity,
                                          sizeof *d->name_ends, &d->name_index, hash))
    return 0;
  uint32_t start = name_start(d, d->n_names + 1);
  memcpy(d->name_bytes + start, bytes, n);
  d->name_ends[d->n_names] = start + (uint32_t)n;
  return ++d->n_names;
}

uint32_t lh_define_function(lh_definitions *d, lh_function_definition f) {
  return define(&d->functions, &d->n_functions, &d->function_capacity, &d->function_index, &f,
                sizeof f);
}

lh_site_id lh_define_site(lh_definitions *d, lh_site_definition s) {
  return define(&d->sites, &d->n_sites, &d->site_capacity, &d->site_index, &s, sizeof s);
}

/* In the index a fold has its number plus FOLD; there can be more folds than stacks. */
enum { FOLD = 1u << 25, MOST_FOLDS = 1u << 25 };

static lh_stack_id find_step(const lh_definitions *d, lh_stack_id parent, lh_site_id site,
                             uint32_t hash) {
  uint32_t at = hash, found;
  while ((found = lh_index_next(&d->stack_index, hash, &at)) != 0) {
    if (found < FOLD) {
      const lh_stack *stack = &d->stacks[found - 1];
      if (stack->parent == parent && stack->site == site) return found;
    } else {
      const lh_fold *fold = &d->folds[found - FOLD];
      if (fold->parent == parent && fold->site == site) return fold->stack;
    }
  }
  return 0;
}

static lh_stack_id find_ancestor(const lh_definitions *d, lh_stack_id stack, lh_site_id site) {
  while (stack && d->stacks[stack - 1].site != site) stack = d->stacks[stack - 1].parent;
  return stack;
}

static lh_stack_id fold_back(lh_definitions *d, lh_fold fold, uint32_t hash) {
  if (d->n_folds < MOST_FOLDS && lh_grow(&d->folds, d->n_folds, &d->fold_capacity, sizeof fold) &&
      lh_index_add(&d->stack_index, hash, FOLD + d->n_folds))
    d->folds[d->n_folds++] = fold;
  return fold.stack;
}

lh_stack_id lh_define_stack(lh_definitions *d, lh_stack_id parent, lh_site_id site) {
  uint32_t hash = lh_index_hash(parent, site);
  lh_stack_id found = find_step(d, parent, site, hash);
  if (found) return found;
  found = find_ancestor(d, parent, site);
  if (found) return fold_back(d, (lh_fold){parent, found, site}, hash);
  if (!make_room(&d->stacks, d->n_stacks, &d->stack_capacity, sizeof *d->stacks, &d->stack_index,
                 hash))
    return 0;
  d->stacks[d->n_stacks] = (lh_stack){parent, site};
  return ++d->n_stacks;
}

static void write_names(const lh_definitions *d, uint32_t from, lh_put_bytes *put, void *payload) {
  uint8_t head[LH_LONGEST_DEFINITION];
  for (uint32_t i = from + 1; i <= d->n_names; i++) {
    put(head, (uint64_t)(lh_put_name_head(head, name_length(d, i)) - head), payload);
    put(d->name_bytes + name_start(d, i), name_length(d, i), payload);
  }
}

void lh_definitions_write(const lh_definitions *d, lh_defined *defined, lh_put_bytes *put,
                          void *payload) {
  uint8_t out[LH_LONGEST_DEFINITION];
  write_names(d, defined->names, put, payload);
  for (uint32_t i = defined->functions; i < d->n_functions; i++) {
    const lh_function_definition *f = &d->functions[i];
    put(out, (uint64_t)(lh_put_function(out, f->source, f->first_line, f->name) - out), payload);
  }
  for (uint32_t i = defined->sites; i < d->n_sites; i++) {
    const lh_site_definition *s = &d->sites[i];
    uint8_t *end = lh_put_site(out, s->function, s->line, s->maker, s->c_function);
    put(out, (uint64_t)(end - out), payload);
  }
  for (uint32_t i = defined->stacks; i < d->n_stacks; i++) {
    const lh_stack *s = &d->stacks[i];
    put(out, (uint64_t)(lh_put_stack(out, s->parent, s->site) - out), payload);
  }
  *defined = (lh_defined){d->n_names, d->n_functions, d->n_sites, d->n_stacks};
}

uint64_t lh_definitions_longest(const lh_definitions *d) {
  uint64_t n = (uint64_t)d->n_names + d->n_functions + d->n_sites + d->n_stacks;
  return n * LH_LONGEST_DEFINITION + name_start(d, d->n_names + 1);
}
