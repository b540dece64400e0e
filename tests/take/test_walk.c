/*
** test_walk.c - the walk over the objects of each release of Lua 5.4, in forged memory
** (forged_memory.h), read back through lh_open.
**
** What differs between releases, and what a running Lua hardly ever shows: an array whose size
** field is not its size, dead keys of both forms, objects that are half built, objects condemned in
** a sweep with pointers that dangle (0xA5 everywhere: following one ends the program), deep call
** lists.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forged_file.h"
#include "forged_memory.h"
#include "read/snapshot.h"
#include "take/walk.h"

/* ==== A walk ======================================================================== */

/* Puts `object` at the head of the list at `head` (of the global state). */
static void push(image *m, size_t head, char *object) {
  memcpy(object, m->global + head, 8);
  put_pointer(m->global + head, object);
}

enum { ALLGC = 112, FINOBJ = 128, TOBEFNZ = 176, FIXEDGC = 184 };

/* The mark of the snapshot itself. */
static void push_mark(image *m) {
  char *u = image_object(m, 40 + sizeof(lh_own_content) + 1, 7);
  lh_own_content content = {.magic = LH_OWN_MAGIC,
                            .state_id = 0x1122334455667788u,
                            .time_ns = 1,
                            .serial = 1,
                            .kind = LH_MARK_BY_SNAPSHOT,
                            .name_length = 1};
  u[10] = u[11] = 0;
  put64(u + 16, sizeof content + 1);
  put_pointer(u + 24, NULL);
  memcpy(u + 32, &content, sizeof content);
  memcpy(u + 32 + sizeof content, "s", 1);
  push(m, ALLGC, u);
}

static size_t refuse(const void *data, size_t n, void *payload) {
  (void)data, (void)n, (void)payload;
  return 0;
}

/* Walks the image and opens what was written. */
static lh_snapshot *walk_image(image *m, forge *f) {
  lh_out out;
  lh_error error = {0};
  lh_snapshot *snapshot;
  lh_layout layout;
  lh_walk walk = {.out = &out,
                  .layout = &layout,
                  .global = m->global,
                  .thread = m->main,
                  .main_thread = m->main,
                  .string_bytes = 1000};
  push_mark(m);
  if (lh_layout_probe(&m->host, &layout, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(lh_out_open(&out, 0, refuse, NULL, NULL), LH_OK);
  lh_out_begin(&out, LH_SECTIONS_VERSION);
  lh_walk_lists(&walk);
  forge_begin(f);
  forge_version(f, 2);
  const uint8_t *records = out.base + LH_HEADER_BYTES;
  forge_bytes_of(f, records, (size_t)(out.at - records));
  lh_out_free(&out);
  f->footer.object_bytes = walk.object_bytes;
  memcpy(f->footer.objects, walk.n_objects, sizeof walk.n_objects);
  lh_walk_root roots[LH_WALK_ROOTS];
  size_t n = lh_walk_roots(&walk, roots);
  for (size_t i = 0; i < n; i++) {
    forge_root(f, roots[i].kind, roots[i].index, (uintptr_t)roots[i].address);
  }
  forge_finish(f);
  if (lh_open_memory(&snapshot, f->data, f->size, "forged", &error) < 0) {
    fail_msg("%s", error.message);
  }
  return snapshot;
}

static lh_object find(const lh_snapshot *s, const char *address, lh_type type, uint64_t bytes) {
  lh_object object;
  lh_id id = lh_find_address(s, (uintptr_t)address);
  assert_true(id != LH_NO_OBJECT);
  lh_object_at(s, id, &object);
  assert_int_equal(object.type, type);
  assert_int_equal(object.shallow_bytes, bytes);
  return object;
}

/* How many edges lead from one object to another; any other if that is NULL. */
static unsigned edges(const lh_snapshot *s, const char *from, const char *to) {
  unsigned n = 0;
  lh_edges it;
  lh_edge edge;
  lh_id target = to ? lh_find_address(s, (uintptr_t)to) : LH_NO_OBJECT;
  lh_edges_begin(s, lh_find_address(s, (uintptr_t)from), &it);
  while (lh_edges_next(&it, &edge)) n += !to || edge.target == target;
  return n;
}

/* The edge to an object that has one. */
static lh_edge only_edge(const lh_snapshot *s, const char *from, const char *to) {
  lh_edges it;
  lh_edge edge, found = {0};
  assert_int_equal(edges(s, from, to), 1);
  lh_edges_begin(s, lh_find_address(s, (uintptr_t)from), &it);
  while (lh_edges_next(&it, &edge)) {
    if (edge.target == lh_find_address(s, (uintptr_t)to)) found = edge;
  }
  return found;
}

/* Runs a test on every release. */
static void on_all(void (*test)(image *m)) {
  for (size_t i = 0; i < N_RELEASES; i++) {
    image m;
    image_begin(&m, &image_releases[i], true);
    test(&m);
    image_end(&m);
  }
}

/* ==== Tables and strings ============================================================= */

static void set_size_flag(const image *m, char *table) {
  int at = m->r->size_flag_in_mark ? 9 : 10;
  table[at] = (char)(table[at] | 0x80);
}

/* The same bit of the byte where other releases have the flag. */
static void set_unused_flag(const image *m, char *table) {
  int at = m->r->size_flag_in_mark ? 10 : 9;
  table[at] = (char)(table[at] | 0x80);
}

static void put_entry(char *slot, const char *key, const char *value) {
  put64(slot + 16, (uintptr_t)key);
  slot[9] = (char)(key[8] | 0x40);
  put_object(slot, value); /* ends before the key's type */
}

/* As a collection leaves them: the key is freed. */
static void put_dead_entry(const image *m, char *slot) {
  slot[8] = 16; /* empty */
  slot[9] = m->r->old_dead_keys ? 5 : 11;
  put64(slot + 16, m->r->old_dead_keys ? 0 : 0xA5A5A5A5A5A5A5A5u);
}

static void tables(image *m) {
  forge f;
  char *key = image_string(m, "key"),
       *value = image_string(m, "a value of more than forty bytes ....");
  char *longer = image_string(m, "a long string, since it has more than 40 bytes");
  char *sized = image_table(m), *power = image_table(m), *hashed = image_table(m);
  char *exact = image_table(m);
  char *array = image_array(m, sized, 5, 8); /* eight slots, but the field says five */
  set_size_flag(m, sized);
  put_object(array + 16 * 7, value);
  put_value(array, 42, 3);
  image_array(m, power, 4, 4);
  set_size_flag(m, power); /* means nothing with a power of two */
  image_array(m, exact, 5, 5);
  set_unused_flag(m, exact);
  char *slots = image_slots(m, hashed, 2);
  put_entry(slots, key, value);
  put_dead_entry(m, slots + 24);
  slots[2 * 24 + 8] = 16; /* emptied, but the collector has not come by */
  slots[2 * 24 + 9] = 4 | 0x40;
  put64(slots + 2 * 24 + 16, 0xA5A5A5A5A5A5A5A5u);
  put_pointer(hashed + 40, sized); /* metatable */
  push(m, ALLGC, key);
  push(m, ALLGC, value);
  push(m, FIXEDGC, longer);
  push(m, ALLGC, sized);
  push(m, ALLGC, exact);
  push(m, FINOBJ, hashed);
  push(m, TOBEFNZ, power);
  lh_snapshot *s = walk_image(m, &f);

  lh_object o = find(s, sized, LH_TYPE_TABLE, 56 + 8 * 16);
  assert_int_equal(o.as.table.array_slots, 8);
  assert_int_equal(o.as.table.hash_slots, 0);
  assert_int_equal(edges(s, sized, NULL), 1);
  assert_int_equal(only_edge(s, sized, value).key.as.integer, 8);
  find(s, exact, LH_TYPE_TABLE, 56 + 5 * 16);
  o = find(s, power, LH_TYPE_TABLE, 56 + 4 * 16);
  assert_int_equal(o.list, LH_LIST_TOBEFNZ);
  o = find(s, hashed, LH_TYPE_TABLE, 56 + 4 * 24);
  assert_int_equal(o.list, LH_LIST_FINOBJ);
  assert_int_equal(o.as.table.hash_slots, 4);
  assert_int_equal(o.as.table.hash_used, 1);
  assert_int_equal(edges(s, hashed, NULL), 3);
  assert_int_equal(edges(s, hashed, sized), 1);
  o = find(s, longer, LH_TYPE_STRING, 25 + 46);
  assert_int_equal(o.as.string.length, 46);
  assert_memory_equal(o.as.string.bytes, "a long string", 13);
  assert_int_equal(o.list, LH_LIST_FIXEDGC);
  find(s, key, LH_TYPE_STRING, 28);
  lh_close(s);
  forge_free(&f);
}

/* A metatable whose __mode is found along a chain of slots with one hash. */
static void weak_tables(image *m) {
  forge f;
  char *mode, *metatable = image_table(m), *weak = image_table(m), *strong = image_table(m);
  memcpy(&mode, m->global + m->r->metamethods + 24, 8);
  char *slots = image_slots(m, metatable, 2); /* hash 7 & 3: the chain starts at slot 3 */
  char *other = image_string(m, "__modest"), *text = image_string(m, "kv");
  put_entry(slots + 3 * 24, other, text);
  put32(slots + 3 * 24 + 12, (uint32_t)-2); /* to slot 1 */
  put_entry(slots + 24, mode, text);
  put_pointer(weak + 40, metatable);
  char *similar = image_table(m);
  put_entry(image_slots(m, similar, 0), other, text);
  put_pointer(strong + 40, similar);
  char *dangling = image_table(m); /* Lua's own fault: its metatable is freed */
  put64(dangling + 40, 0xA5A5A5A5A5A5A5A0u);
  char *all[] = {metatable, weak, strong, similar, dangling, other, text};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) push(m, ALLGC, all[i]);
  lh_snapshot *s = walk_image(m, &f);
  lh_object o = find(s, weak, LH_TYPE_TABLE, 56);
  assert_true(o.as.table.weak_keys && o.as.table.weak_values);
  o = find(s, strong, LH_TYPE_TABLE, 56);
  assert_false(o.as.table.weak_keys || o.as.table.weak_values);
  o = find(s, metatable, LH_TYPE_TABLE, 56 + 4 * 24);
  assert_false(o.as.table.weak_keys || o.as.table.weak_values);
  assert_int_equal(edges(s, dangling, NULL), 0);
  lh_close(s);
  forge_free(&f);
}

/* 5.4.0 frees what tables refer to that were finalized when they were old: the text of a __mode,
** too, which other releases keep. */
static void dangling_mode(image *m) {
  forge f;
  char *mode, *metatable = image_table(m), *table = image_table(m);
  if (strcmp(m->r->releases, "5.4.0") != 0) return;
  memcpy(&mode, m->global + m->r->metamethods + 24, 8);
  char *slots = image_slots(m, metatable, 0);
  put_entry(slots, mode, image_string(m, "k"));
  put64(slots, 0xA5A5A5A5A5A5A5A0u);
  put_pointer(table + 40, metatable);
  push(m, ALLGC, metatable);
  push(m, ALLGC, table);
  lh_snapshot *s = walk_image(m, &f);
  assert_false(find(s, table, LH_TYPE_TABLE, 56).as.table.weak_keys);
  lh_close(s);
  forge_free(&f);
}

/* ==== Functions and threads ========================================================== */

/* A prototype without anything. */
static char *new_proto(image *m) {
  char *p = image_object(m, 128, 10);
  p[10] = 1; /* parameters */
  p[11] = 1; /* vararg */
  p[12] = 5;
  memset(p + 16, 0, 112);
  return p;
}

static char *new_upvalue(image *m, const char *value) {
  char *u = image_object(m, 40, 9);
  put_object(u + 24, value);
  put_pointer(u + 16, u + 24);
  return u;
}

static char *new_closure(image *m, const char *proto, const char *upvalue) {
  char *c = image_object(m, 40, 6);
  c[10] = 1;
  put_pointer(c + 24, proto);
  put_pointer(c + 32, upvalue);
  return c;
}

/* main thread ... coroutine: [nil] [f: its copy, a vararg | f, a parameter, a local] and what is
** above top */
static void threads(image *m) {
  forge f;
  char *stack, *t = image_block(m, m->r->thread_bytes) + 8;
  image_thread(m, t, &stack);
  char *proto = new_proto(m), *name = image_string(m, "param"), *local = image_string(m, "local");
  char *code = image_block(m, 4 * 10), *locals = image_block(m, 2 * 16);
  put32(proto + 24, 10); /* instructions */
  put_pointer(proto + 64, code);
  put32(proto + 36, 2); /* locals */
  put_pointer(proto + 104, locals);
  for (int i = 0; i < 2; i++) {
    put_pointer(locals + 16 * i, i ? local : name);
    put32(locals + 16 * i + 8, i ? 1 : 0);
    put32(locals + 16 * i + 12, 10);
  }
  char *values[4];
  for (int i = 0; i < 4; i++) values[i] = image_table(m);
  char *open = new_upvalue(m, values[0]), *closed = new_upvalue(m, values[3]);
  put_pointer(open + 16, stack + 16 * 4);
  put_pointer(open + 24, NULL); /* next */
  put_pointer(t + m->r->open_upvalues, open);
  char *closure = new_closure(m, proto, closed);
  const char *slots[] = {closure, values[1], closure, values[0], values[2]};
  for (int i = 0; i < 5; i++) put_object(stack + 16 * (1 + i), slots[i]);
  char *above = image_table(m);
  put_object(stack + 16 * 6, above); /* above top: holds nothing */
  put_pointer(t + 16, stack + 16 * 6);
  char *call = image_block(m, 64), *unused = image_block(m, 64), *base = t + m->r->base_call;
  put_pointer(base + 24, call);
  put_pointer(call, stack + 16 * 3);
  put_pointer(call + 16, base);
  put_pointer(call + 24, unused); /* kept for the next call: counts, but is no frame */
  put_pointer(unused + 24, NULL);
  put_pointer(call + 32, code + 4 * 5);
  put32(call + 44, 0); /* extra arguments: the one slot is the parameter's first place */
  put_pointer(t + 32, call);
  t[10] = 1; /* yielded */
  char *all[] = {m->main, t,         proto,     name,      local,     open, closed,
                 closure, values[0], values[1], values[2], values[3], above};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) push(m, ALLGC, all[i]);
  lh_snapshot *s = walk_image(m, &f);

  lh_object o = find(s, t, LH_TYPE_THREAD, m->r->thread_bytes + 16 * STACK_SLOTS + 2 * 64);
  assert_int_equal(o.as.thread.status, LH_THREAD_SUSPENDED);
  assert_int_equal(o.as.thread.frames, 2);
  assert_int_equal(o.as.thread.stack_slots, STACK_SLOTS);
  o = find(s, m->main, LH_TYPE_THREAD, m->r->block_bytes + 16 * STACK_SLOTS);
  assert_true(o.as.thread.is_main);
  assert_int_equal(o.as.thread.status, LH_THREAD_RUNNING);
  assert_int_equal(only_edge(s, t, values[0]).kind, LH_EDGE_LOCAL);
  assert_int_equal(only_edge(s, t, values[0]).name, lh_find_address(s, (uintptr_t)name));
  assert_int_equal(only_edge(s, t, values[2]).name, lh_find_address(s, (uintptr_t)local));
  assert_int_equal(only_edge(s, t, open).kind, LH_EDGE_OPEN_UPVALUE);
  assert_int_equal(edges(s, t, above), 0);
  o = find(s, open, LH_TYPE_UPVALUE, 40);
  assert_true(o.as.upvalue.open);
  assert_int_equal(edges(s, open, values[0]), 1);
  o = find(s, closed, LH_TYPE_UPVALUE, 40);
  assert_false(o.as.upvalue.open);
  assert_int_equal(edges(s, closed, values[3]), 1);
  find(s, closure, LH_TYPE_CLOSURE, 40);
  assert_int_equal(only_edge(s, closure, proto).kind, LH_EDGE_PROTO);
  find(s, proto, LH_TYPE_PROTO, 128 + 4 * 10 + 2 * 16);
  lh_close(s);
  forge_free(&f);
}

/* Calls whose slots were used again, up to 5.4.3 when a state is closed deep in calls: base, one,
** two and three were there; then `top` went back to below two, and closing was called. What two and
** three have for their function dangles. At first closing is innermost, then it has returned. */
static void stale_calls(image *m) {
  enum { ONE, TWO, THREE, CLOSING, N_CALLS };
  static const size_t slots[] = {1, 4, 6, 3};
  char *stack, *t = image_block(m, m->r->thread_bytes) + 8, *calls[N_CALLS];
  image_thread(m, t, &stack);
  char *closure = new_closure(m, new_proto(m), NULL), *kept = image_table(m);
  char *caller = t + m->r->base_call;
  for (size_t i = 0; i < N_CALLS; i++) {
    calls[i] = image_block(m, 64);
    put_pointer(calls[i], stack + 16 * slots[i]);
    put_pointer(calls[i] + 16, caller);
    put_pointer(calls[i] + 24, NULL);
    put_pointer(caller + 24, calls[i]);
    put64(calls[i] + 32, 0);
    caller = calls[i];
    put_value(stack + 16 * slots[i], 0xA5A5A5A5A5A5A5A5u, (uint8_t)(closure[8] | 0x40));
  }
  put_object(stack + 16 * 1, closure);
  put_object(stack + 16 * 2, kept);
  put_object(stack + 16 * 3, closure);
  put_object(stack + 16 * 4, kept);
  char *all[] = {t, closure, kept};
  for (size_t i = 0; i < 3; i++) push(m, ALLGC, all[i]);
  void *first;
  memcpy(&first, m->global + ALLGC, 8);
  for (int returned = 0; returned < 2; returned++) {
    forge f;
    put_pointer(m->global + ALLGC, first);
    put_pointer(t + 32, calls[returned ? THREE : CLOSING]);
    put_pointer(t + 16, stack + 16 * (returned ? 3 : 5)); /* top */
    lh_snapshot *s = walk_image(m, &f);
    lh_object o = find(s, t, LH_TYPE_THREAD, m->r->thread_bytes + 16 * STACK_SLOTS + N_CALLS * 64);
    assert_int_equal(o.as.thread.frames, returned ? 2 : 3);
    assert_int_equal(edges(s, t, closure), returned ? 1 : 2);
    assert_int_equal(edges(s, t, kept), returned ? 1 : 2);
    lh_close(s);
    forge_free(&f);
  }
}

/* A closure without prototype or upvalue, a prototype with arrays of nulls, a thread without a
** stack. */
static void half_built(image *m) {
  forge f;
  char *closure = new_closure(m, NULL, NULL), *proto = new_proto(m);
  char *nested = image_block(m, 8 * 4), *upvalues = image_block(m, 16 * 3);
  char *locals = image_block(m, 16 * 2), *thread = image_block(m, m->r->thread_bytes) + 8, *stack;
  memset(nested, 0, 8 * 4);
  for (int i = 0; i < 3; i++) put_pointer(upvalues + 16 * i, NULL);
  for (int i = 0; i < 2; i++) put_pointer(locals + 16 * i, NULL);
  put32(proto + 32, 4);
  put_pointer(proto + 72, nested);
  put32(proto + 16, 3);
  put_pointer(proto + 80, upvalues);
  put32(proto + 36, 2);
  put_pointer(proto + 104, locals);
  image_thread(m, thread, &stack);
  put_pointer(thread + m->r->stack, NULL);
  put64(thread + m->r->stack_last, 0xA5A5A5A5A5A5A5A5u);
  put64(thread + 16, 0xA5A5A5A5A5A5A5A5u);
  put64(thread + 32, 0xA5A5A5A5A5A5A5A5u);
  put64(thread + m->r->base_call + 24, 0xA5A5A5A5A5A5A5A5u);
  push(m, ALLGC, closure);
  push(m, ALLGC, proto);
  push(m, ALLGC, thread);
  lh_snapshot *s = walk_image(m, &f);
  find(s, closure, LH_TYPE_CLOSURE, 40);
  find(s, proto, LH_TYPE_PROTO, 128 + 8 * 4 + 16 * 3 + 16 * 2);
  find(s, thread, LH_TYPE_THREAD, m->r->thread_bytes);
  assert_int_equal(edges(s, closure, NULL) + edges(s, proto, NULL) + edges(s, thread, NULL), 0);
  lh_close(s);
  forge_free(&f);
}

/* ==================================================================================== */

/* Condemned in a sweep: sizes are read, nothing else. In another phase the same color is alive. */
static void condemned(image *m) {
  static const uint8_t phases[] = {3, 4, 5, 6};
  char *table = image_table(m), *closure = new_closure(m, NULL, NULL), *u = image_object(m, 50, 7);
  image_array(m, table, 4, 4);
  put64(table + 16, 0xA5A5A5A5A5A5A5A5u); /* its array */
  put64(table + 40, 0xA5A5A5A5A5A5A5A5u); /* its metatable */
  put64(closure + 24, 0xA5A5A5A5A5A5A5A5u);
  put64(u + 16, 50 - 40 - 0);
  u[10] = u[11] = 0;
  put64(u + 24, 0xA5A5A5A5A5A5A5A5u);
  table[9] = closure[9] = u[9] = OTHER_WHITE;
  put64(u + 16, 18);
  push(m, ALLGC, table);
  push(m, ALLGC, closure);
  push(m, FINOBJ, u);
  void *first;
  memcpy(&first, m->global + ALLGC, 8);
  for (size_t i = 0; i < sizeof phases; i++) {
    forge f;
    put_pointer(m->global + ALLGC, first);
    m->global[101] = (char)phases[i];
    lh_snapshot *s = walk_image(m, &f);
    assert_true(find(s, table, LH_TYPE_TABLE, 56 + 4 * 16).dead);
    assert_true(find(s, closure, LH_TYPE_CLOSURE, 40).dead);
    assert_true(find(s, u, LH_TYPE_USERDATA, 32 + 18).dead);
    assert_int_equal(edges(s, table, NULL) + edges(s, closure, NULL) + edges(s, u, NULL), 0);
    lh_close(s);
    forge_free(&f);
  }
}

static void alive_outside_of_a_sweep(image *m) {
  static const uint8_t phases[] = {0, 1, 2, 7, 8};
  char *table = image_table(m);
  table[9] = OTHER_WHITE;
  push(m, ALLGC, table);
  void *first;
  memcpy(&first, m->global + ALLGC, 8);
  for (size_t i = 0; i < sizeof phases; i++) {
    forge f;
    put_pointer(m->global + ALLGC, first);
    m->global[101] = (char)phases[i];
    lh_snapshot *s = walk_image(m, &f);
    assert_false(find(s, table, LH_TYPE_TABLE, 56).dead);
    lh_close(s);
    forge_free(&f);
  }
}

/* A userdata of somebody else that begins like a mark, but has no room for its name. */
static void false_mark(image *m) {
  forge f;
  push_mark(m);
  char *u;
  memcpy(&u, m->global + ALLGC, 8);
  lh_own_content *content = (lh_own_content *)(void *)(u + 32);
  content->name_length = 2;
  lh_snapshot *s = walk_image(m, &f);
  assert_false(find(s, u, LH_TYPE_USERDATA, 32 + sizeof *content + 1).own);
  assert_int_equal(lh_mark_count(s), 1);
  lh_close(s);
  forge_free(&f);
}

#define ON_ALL(name)                        \
  static void name##_of_all(void **state) { \
    (void)state;                            \
    on_all(name);                           \
  }
ON_ALL(tables)
ON_ALL(weak_tables)
ON_ALL(dangling_mode)
ON_ALL(threads)
ON_ALL(stale_calls)
ON_ALL(half_built)
ON_ALL(condemned)
ON_ALL(false_mark)
ON_ALL(alive_outside_of_a_sweep)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_of_all),
      cmocka_unit_test(weak_tables_of_all),
      cmocka_unit_test(dangling_mode_of_all),
      cmocka_unit_test(threads_of_all),
      cmocka_unit_test(stale_calls_of_all),
      cmocka_unit_test(half_built_of_all),
      cmocka_unit_test(condemned_of_all),
      cmocka_unit_test(false_mark_of_all),
      cmocka_unit_test(alive_outside_of_a_sweep_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
