/* forged_memory.c - forging the memory of a Lua state (forged_memory.h). */
#include "forged_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ==== What the description says ======================================================= */

const release image_releases[N_RELEASES] = {
    {"$LuaVersion: Lua 5.4.0  Copyright (C) $", "5.4.0", 208, 1624, 200, 48, 56, 64, 96, 176, 256,
     264, 272, 472, true, true},
    {"$LuaVersion: Lua 5.4.1  Copyright (C) $", "5.4.1", 200, 1624, 192, 40, 48, 56, 88, 176, 264,
     272, 280, 480, false, true},
    {"$LuaVersion: Lua 5.4.2  Copyright (C) $", "5.4.2", 200, 1616, 192, 40, 48, 56, 88, 0, 264,
     272, 280, 480, false, false},
    {"$LuaVersion: Lua 5.4.4  Copyright (C) $", "5.4.3 to 5.4.8", 208, 1624, 200, 40, 48, 56, 96, 0,
     264, 272, 280, 480, false, false},
};

/* ==== The forge ===================================================================== */

char *image_block(image *m, size_t bytes) {
  char *b = malloc(bytes);
  assert_non_null(b);
  assert_true(m->n_blocks < sizeof m->blocks / sizeof m->blocks[0]);
  memset(b, 0xA5, bytes);
  m->blocks[m->n_blocks++] = b;
  return b;
}

void put64(char *at, uint64_t n) {
  memcpy(at, &n, 8);
}

void put32(char *at, uint32_t n) {
  memcpy(at, &n, 4);
}

void put_pointer(char *at, const void *p) {
  memcpy(at, &p, 8);
}

void put_value(char *at, uint64_t payload, uint8_t type) {
  put64(at, payload);
  at[8] = (char)type;
}

void put_object(char *at, const char *object) {
  put_value(at, (uintptr_t)object, (uint8_t)(object[8] | 0x40));
}

char *image_object(image *m, size_t bytes, uint8_t type) {
  char *o = image_block(m, bytes);
  put_pointer(o, NULL);
  o[8] = (char)type;
  o[9] = WHITE;
  return o;
}

char *image_string(image *m, const char *text) {
  size_t n = strlen(text);
  char *s = image_object(m, 24 + n + 1, n <= 40 ? 4 : 20);
  s[11] = (char)(n <= 40 ? n : 0xA5);
  put32(s + 12, 7); /* all hashes are the same */
  if (n > 40) put64(s + 16, n);
  memcpy(s + 24, text, n + 1);
  return s;
}

/* Without slots. */
char *image_table(image *m) {
  static char dummy[24];
  char *t = image_object(m, 56, 5);
  t[10] = 0;
  t[11] = 0;
  put32(t + 12, 0);
  put_pointer(t + 16, NULL);
  put_pointer(t + 24, dummy);
  put_pointer(t + 32, NULL);
  put_pointer(t + 40, NULL);
  return t;
}

char *image_array(image *m, char *table, uint32_t size_field, size_t slots) {
  char *array = image_block(m, 16 * slots);
  for (size_t i = 0; i < slots; i++) put_value(array + 16 * i, 0xA5A5, 16);
  put32(table + 12, size_field);
  put_pointer(table + 16, array);
  return array;
}

char *image_slots(image *m, char *table, unsigned log2_slots) {
  size_t n = (size_t)1 << log2_slots;
  char *slots = image_block(m, 24 * n);
  for (size_t i = 0; i < n; i++) {
    slots[24 * i + 8] = 16;
    slots[24 * i + 9] = 0;
    put32(slots + 24 * i + 12, 0);
  }
  table[11] = (char)log2_slots;
  put_pointer(table + 24, slots);
  put_pointer(table + 32, slots + 24 * n);
  return slots;
}

/* A thread with a stack of nils and nothing but its base call. */
void image_thread(image *m, char *thread, char **stack) {
  const release *r = m->r;
  char *s = *stack = image_block(m, 16 * STACK_SLOTS);
  for (size_t i = 0; i < STACK_SLOTS; i++) put_value(s + 16 * i, 0xA5A5, 0);
  thread[8] = 8;
  thread[9] = WHITE;
  thread[10] = 0;
  put_pointer(thread, NULL);
  put_pointer(thread + 16, s + 16); /* top */
  put_pointer(thread + 24, m->global);
  put_pointer(thread + 32, thread + r->base_call);
  put_pointer(thread + r->stack, s);
  put_pointer(thread + r->stack_last, s + 16 * (STACK_SLOTS - 5));
  put_pointer(thread + r->open_upvalues, NULL);
  if (r->stack_size) put32(thread + r->stack_size, STACK_SLOTS);
  char *base = thread + r->base_call;
  put_pointer(base, s);
  put_pointer(base + 16, NULL);
  put_pointer(base + 24, NULL);
  base[62] = 2; /* a C function's */
  base[63] = 0;
}

static void put_global(image *m) {
  char *g = m->global;
  static const char *const names[25] = {[0] = "__index", [3] = "__mode", [24] = "__close"};
  put_pointer(g + 0, &m->allocator);
  put_pointer(g + 8, m);
  put64(g + 16, GC_BYTES + 5000);
  put64(g + 24, (uint64_t)-5000);
  put32(g + 60, 128); /* string table */
  put_object(g + 64, m->registry);
  put_value(g + 80, 0, 0); /* it is built */
  g[100] = WHITE;
  g[101] = 8;
  g[102] = 0;
  static const size_t lists[] = {112, 128, 176, 184};
  for (size_t i = 0; i < 4; i++) put_pointer(g + lists[i], NULL);
  put_pointer(g + m->r->main_thread, m->main);
  put_pointer(g + m->r->memory_message, image_string(m, "not enough memory"));
  for (size_t i = 0; i < 25; i++) {
    put_pointer(g + m->r->metamethods + 8 * i, image_string(m, names[i] ? names[i] : "__other"));
  }
  for (size_t i = 0; i < 9; i++) put_pointer(g + m->r->metatables + 8 * i, NULL);
  put_pointer(g + m->r->metatables + 8 * 4, m->string_metatable);
}

/* What lh_attach would ask the API. */
void image_begin(image *m, const release *r, bool with_ident) {
  if (LH_LUA != 504) skip(); /* the library has no layout of 5.4 */
  *m = (image){.r = r};
  m->main = image_block(m, r->block_bytes) + 8; /* behind the extra space */
  m->global = m->main + r->global;
  m->registry = image_table(m);
  m->string_metatable = image_table(m);
  image_thread(m, m->main, &m->stack);
  put_global(m);
  put_value(m->stack + 16, (uintptr_t)&m->host, 2); /* the light userdata on top */
  put_pointer(m->main + 16, m->stack + 32);
  m->host = (lh_host){.thread = m->main,
                      .main_thread = m->main,
                      .registry = m->registry,
                      .alloc = &m->allocator,
                      .alloc_data = m,
                      .string_metatable = m->string_metatable,
                      .top_pointer = &m->host,
                      .gc_bytes = GC_BYTES,
                      .ident = with_ident ? r->ident : NULL};
}

void image_end(image *m) {
  while (m->n_blocks > 0) free(m->blocks[--m->n_blocks]);
}
