/*
** protos.c - see protos.h. What is to be searched is a list, linked both ways: most prototypes
** leave it soon, and those of a chunk that could not be loaded when they are freed.
*/
#include "protos.h"

#include "names.h"
#include "take/raw_code.h"

void lh_protos_free(lh_protos *protos) {
  for (uint32_t i = 1; i <= protos->n; i++) lh_free(protos->known[i].name);
  lh_free(protos->known);
  lh_index_free(&protos->index);
  *protos = (lh_protos){0};
}

static void link_to_search(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  p->is_to_search = true;
  p->next = protos->first_to_search;
  p->previous = 0;
  if (p->next) protos->known[p->next].previous = number;
  protos->first_to_search = number;
}

static void unlink_searched(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  if (p->next) protos->known[p->next].previous = p->previous;
  if (p->previous)
    protos->known[p->previous].next = p->next;
  else
    protos->first_to_search = p->next;
  p->is_to_search = false;
}

/* A number that is free, or 0; it stays free until take_number. */
static uint32_t find_free(lh_protos *protos) {
  if (protos->first_free) return protos->first_free;
  if (!lh_grow(&protos->known, (size_t)protos->n + 1, &protos->capacity, sizeof *protos->known)) {
    return 0;
  }
  return protos->n + 1;
}

static void take_number(lh_protos *protos, uint32_t number) {
  if (number > protos->n)
    protos->n = number;
  else
    protos->first_free = protos->known[number].next;
}

uint32_t lh_protos_add(lh_protos *protos, const raw_proto *proto) {
  uint32_t number = lh_protos_find(protos, proto);
  if (number) return number;
  number = find_free(protos);
  uint32_t hash = lh_index_hash((uintptr_t)proto, 0);
  if (!number || !lh_index_add(&protos->index, hash, number)) return 0;
  take_number(protos, number);
  protos->known[number] = (lh_known_proto){.proto = proto};
  link_to_search(protos, number);
  return number;
}

void lh_protos_remove(lh_protos *protos, uint32_t number) {
  lh_known_proto *p = &protos->known[number];
  lh_index_remove(&protos->index, lh_index_hash((uintptr_t)p->proto, 0), number);
  if (p->is_to_search) unlink_searched(protos, number);
  lh_free(p->name);
  *p = (lh_known_proto){.next = protos->first_free};
  protos->first_free = number;
}

/* Is nothing missing? Its code ends in a return, and its functions are made in order. */
static bool is_whole(const raw_proto *p) {
  if (p->n_code <= 0 || !p->code) return false;
  unsigned last = raw_opcode(p->code[p->n_code - 1]);
  bool has_functions = p->n_nested == 0 || (p->nested && p->nested[p->n_nested - 1]);
  return last >= RAW_OP_RETURN && last <= RAW_OP_RETURN1 && has_functions;
}

static void note_name(lh_known_proto *p, const lh_nested *nested) {
  char name[LH_NAME_BYTES];
  size_t n = lh_name_nested(nested, name);
  if (n == 0 || p->name) return;
  p->name = lh_alloc(n + 1, 1);
  if (!p->name) return;
  memcpy(p->name, name, n);
  p->name[n] = '\0';
}

static void search_one(lh_protos *protos, const raw_proto *proto) {
  lh_nested nested;
  for (lh_nested_begin(&nested, proto); lh_nested_next(&nested);) {
    uint32_t inside = nested.proto ? lh_protos_find(protos, nested.proto) : 0;
    if (inside) note_name(&protos->known[inside], &nested);
  }
}

/* Of one that is dead what it refers to may be freed already. */
void lh_protos_search(lh_protos *protos, const char *global) {
  uint8_t dead_white = raw_dead_white(global);
  for (uint32_t i = protos->first_to_search, next; i; i = next) {
    const raw_proto *proto = protos->known[i].proto;
    next = protos->known[i].next;
    if (proto->marked & dead_white || !is_whole(proto)) continue;
    unlink_searched(protos, i);
    search_one(protos, proto);
  }
}
