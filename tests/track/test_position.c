/*
** test_position.c - the instruction that is told where the interpreter's place is not known, and of
** parts: a thread is forged that stands anywhere in real code.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "take/raw_code.h"
#include "track/position.h"

enum { SLOTS = 300 };

/* A thread that runs the function on top of a real state's stack. */
typedef struct stage {
  lua_State *L;
  lh_recorder recorder;
  lh_position *position;
  const raw_proto *proto;
  raw_value stack[SLOTS];
  raw_call call, next;
  _Alignas(16) char thread[512];
} stage;

static void set_field(stage *s, size_t offset, const void *value) {
  memcpy(s->thread + offset, &value, sizeof value);
}

static void open_stage(stage *s, const char *source) {
  memset(s, 0, sizeof *s);
  s->L = luaL_newstate();
  assert_non_null(s->L);
  assert_int_equal(lh_attach(s->L, NULL), LH_OK);
  s->recorder.layout = lh_find_state(s->L, NULL)->layout;
  s->position = lh_position_new(&s->recorder);
  assert_non_null(s->position);
  assert_int_equal(luaL_loadstring(s->L, source), LUA_OK);
  const raw_lua_closure *closure = lua_topointer(s->L, -1);
  s->proto = closure->proto;
  const lh_layout *layout = &s->recorder.layout;
  set_field(s, layout->stack, s->stack);
  set_field(s, layout->stack_last, s->stack + SLOTS - RAW_STACK_EXTRA);
  set_field(s, RAW_THREAD_CALL, &s->call);
  s->stack[0] =
      (raw_value){{.object = (const raw_object *)closure}, RAW_LUA_CLOSURE | RAW_COLLECTABLE};
  s->call.function = s->stack;
  s->call.top = s->stack + 1 + s->proto->max_stack;
}

static void close_stage(stage *s) {
  lh_free(s->position);
  lua_close(s->L);
}

/* The n-th instruction of that kind, from 0. */
static const uint32_t *find_nth(const stage *s, unsigned op, int n) {
  for (int32_t i = 0; i < s->proto->n_code; i++) {
    if (raw_opcode(s->proto->code[i]) == op && n-- == 0) return &s->proto->code[i];
  }
  fail_msg("there is no such instruction");
  return NULL;
}

/* The place was saved behind this instruction, and the registers up to `reg` are in use. */
static void stand(stage *s, const uint32_t *saved_at, unsigned reg) {
  s->call.saved_pc = saved_at + 1;
  set_field(s, RAW_THREAD_TOP, s->stack + 1 + reg + 1);
}

static uint32_t line_of(const stage *s, const uint32_t *pc) {
  return pc ? lh_walk_line(s->proto, pc - s->proto->code) : 0;
}

static const uint32_t *ask_table(stage *s) {
  return lh_position_of_table(s->position, s->thread, &s->call, NULL);
}

static const uint32_t *ask_part(stage *s, const void *block, uint64_t bytes) {
  return lh_position_of_part(s->position, s->thread, &s->call, block, bytes);
}

static void finds_tables_by_their_register(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "f()\nlocal t = {}\nlocal u = {}\nf()\nlocal v = {}\n\nlocal w = t and {}");
  const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0), *other = find_nth(&s, RAW_OP_CALL, 1);
  stand(&s, call, 0);
  assert_int_equal(line_of(&s, ask_table(&s)), 2);
  stand(&s, call, 1);
  assert_int_equal(line_of(&s, ask_table(&s)), 3);
  stand(&s, call, 2); /* behind an instruction that saves its place */
  assert_null(ask_table(&s));
  stand(&s, other, 2);
  assert_int_equal(line_of(&s, ask_table(&s)), 5);
  stand(&s, other, 3);
  assert_int_equal(line_of(&s, ask_table(&s)), 7);
  assert_int_equal(s.position->n_untold, 1);
  close_stage(&s);
}

static void tells_no_line_of_several(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "local t f() if x then\nt = {1}\nelse\nt = {2}\nend");
  stand(&s, find_nth(&s, RAW_OP_CALL, 0), 0);
  set_field(&s, RAW_THREAD_TOP, s.stack + 1 + raw_operand_a(*find_nth(&s, RAW_OP_NEWTABLE, 0)) + 1);
  assert_null(ask_table(&s));
  assert_null(ask_part(&s, NULL, raw_array_bytes(1)));
  close_stage(&s);
  open_stage(&s, "local t f() local i = x\nif i then t = {1} else t = {x = 2} end");
  stand(&s, find_nth(&s, RAW_OP_CALL, 0), 0);
  set_field(&s, RAW_THREAD_TOP, s.stack + 1 + raw_operand_a(*find_nth(&s, RAW_OP_NEWTABLE, 0)) + 1);
  assert_int_equal(line_of(&s, ask_table(&s)), 2);
  assert_null(ask_part(&s, NULL, raw_array_bytes(1))); /* which of the two has it is not known */
  close_stage(&s);
}

static void finds_tables_in_loops(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "for i = 1, 3 do\nlocal a = {}\nlocal b = a\nlocal c = f()\nend");
  const uint32_t *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, find_nth(&s, RAW_OP_FORPREP, 0), raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), table);
  stand(&s, find_nth(&s, RAW_OP_CALL, 0), raw_operand_a(*table)); /* around the loop */
  assert_ptr_equal(ask_table(&s), table);
  close_stage(&s);
}

static void gives_up_in_code_that_is_too_long(void **state) {
  (void)state;
  stage s;
  char *source = malloc(1 << 16), *end = source;
  assert_non_null(source);
  end += sprintf(end, "local a, t f() ");
  for (int i = 0; i < 3000; i++) end += sprintf(end, "a = 1 ");
  (void)sprintf(end, "\nt = {}");
  open_stage(&s, source);
  const uint32_t *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, find_nth(&s, RAW_OP_CALL, 0), raw_operand_a(*table));
  assert_null(ask_table(&s));
  stand(&s, table - 1000, raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), table);
  close_stage(&s);
  free(source);
}

/* The array and the slots, each once; then the same size is another instruction's. */
static void tells_parts_once(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "f()\nlocal t = {1, 2, x = 3}");
  const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0), *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, call, 0);
  assert_ptr_equal(ask_table(&s), table);
  assert_ptr_equal(ask_part(&s, NULL, 24), table);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), table);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), call);
  assert_ptr_equal(ask_table(&s), table);
  assert_ptr_equal(ask_part(&s, NULL, 24), table);
  lh_position_failed(s.position, 24); /* there was no memory: asked for again */
  assert_ptr_equal(ask_part(&s, NULL, 24), table);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), table);
  lh_position_failed(s.position, raw_array_bytes(2));
  assert_ptr_equal(ask_part(&s, NULL, 24), call);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), table);
  close_stage(&s);
}

/* The table of a part was none of the samples, or of a thread that was not known. */
static void searches_parts_of_unseen_tables(void **state) {
  (void)state;
  for (int samples = 0; samples < 2; samples++) {
    stage s;
    open_stage(&s, "f()\nlocal t = {1, 2}\nlocal u = {1, 2, 3}\na.x = 1 local v = {y = 1}");
    const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0);
    s.position->sees_all = !samples;
    assert_null(lh_position_of_table(s.position, NULL, NULL, NULL));
    stand(&s, call, 0);
    assert_int_equal(line_of(&s, ask_part(&s, NULL, raw_array_bytes(2))), 2);
    assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(3)), call);
    stand(&s, call, 1);
    assert_int_equal(line_of(&s, ask_part(&s, NULL, raw_array_bytes(3))), 3);
    const uint32_t *assignment = find_nth(&s, RAW_OP_SETFIELD, 0); /* may ask for slots itself */
    stand(&s, assignment, 2);
    s.call.top = s.stack + 1 + 3;
    assert_null(ask_part(&s, NULL, 24));
    s.call.top = s.stack + 1 + 4;
    assert_int_equal(line_of(&s, ask_part(&s, NULL, 24)), 4);
    close_stage(&s);
  }
}

static void tells_lists_from_the_calls_before_them(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "local t = {7,\nf()\n}");
  const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0), *list = find_nth(&s, RAW_OP_SETLIST, 0);
  raw_value *reg = &s.stack[1 + raw_operand_a(*list)];
  raw_table table = {.type = RAW_TABLE};
  *reg = (raw_value){{.object = (const raw_object *)&table}, RAW_TABLE | RAW_COLLECTABLE};
  raw_array array[1];
  const void *grown = LH_LUA == 504 ? array : NULL; /* the block that Lua resizes */
  table.array = array;
  s.call.saved_pc = call + 1;
  set_field(&s, RAW_THREAD_TOP, reg + 1 + 5); /* 7 and four results */
  assert_ptr_equal(list, call + 1);
  assert_ptr_equal(ask_part(&s, grown, raw_array_bytes(5)), call); /* not called yet */
  s.call.next = &s.next;
  assert_ptr_equal(ask_part(&s, grown, raw_array_bytes(5)), list);
  assert_ptr_equal(ask_part(&s, grown, raw_array_bytes(6)), call);
  assert_ptr_equal(ask_part(&s, s.stack, raw_array_bytes(5)), call);
  assert_ptr_equal(ask_part(&s, NULL, sizeof(raw_call)), call);
  close_stage(&s);
}

/* Behind an arithmetic, a comparison or the head of a loop, all of which may save the position, not
** only the next instruction may run. */
static void follows_instructions_that_have_saved(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "local a, t = x f()\na = a % 2\nt = {1, 2}");
  const uint32_t *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, find_nth(&s, RAW_OP_MMBINK, 0) - 1, raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), table);
  close_stage(&s);
  open_stage(&s, "local a, t = x f()\nif a == t then\nt = {1, 2}\nend\nt = f()");
  table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, find_nth(&s, RAW_OP_EQ, 0), raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), table);
  close_stage(&s);
  open_stage(&s, "local t for i = 1, x do f() end\nt = {1, 2}");
  table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  stand(&s, find_nth(&s, RAW_OP_FORPREP, 0), raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), table);
  close_stage(&s);
}

/* Does the list grow behind a call, or has it grown and the next table gets its array? */
static void tells_lists_from_the_tables_behind_them(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "local t = {f()}\ng({1, 2})");
  const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0), *list = find_nth(&s, RAW_OP_SETLIST, 0);
  const uint32_t *second = find_nth(&s, RAW_OP_NEWTABLE, 1);
  raw_table table = {.type = RAW_TABLE, .array_limit = 2};
  s.stack[1] = (raw_value){{.object = (const raw_object *)&table}, RAW_TABLE | RAW_COLLECTABLE};
  s.call.next = &s.next;
  s.position->sees_all = false;
  stand(&s, call, raw_operand_a(*second));
  assert_int_equal(raw_operand_a(*second), 2);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), second);
  table.array_limit = 1;
  assert_null(ask_part(&s, NULL, raw_array_bytes(2)));
  stand(&s, call, 3);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(3)), list);
  close_stage(&s);
}

/* In 5.5 the first instruction may make a table of the extra arguments, which is behind the
** parameters afterwards. The next table may have the same register. */
static void makes_tables_of_extra_arguments(void **state) {
  (void)state;
#if LH_LUA == 504
  skip();
#else
  stage s;
  open_stage(&s, "return function(a, ...t)\nlocal u = {1, 2}\nreturn t end");
  lua_call(s.L, 0, 1);
  const raw_lua_closure *closure = lua_topointer(s.L, -1);
  s.stack[0].as.object = (const raw_object *)closure;
  s.proto = closure->proto;
  const uint32_t *first = s.proto->code, *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  assert_int_equal(lh_position_maker(s.proto, first), LH_MADE_TABLE);
  stand(&s, first, raw_operand_a(*table));
  assert_ptr_equal(ask_table(&s), first);
  stand(&s, first, raw_operand_a(*table) + 1); /* it is behind the arguments */
  assert_ptr_equal(ask_part(&s, NULL, raw_slots_bytes(1)), first);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), first);
  s.stack[2].type = RAW_TABLE | RAW_COLLECTABLE; /* that table, or the first argument of it */
  stand(&s, first, raw_operand_a(*table));
  assert_null(ask_table(&s));
  stand(&s, first, raw_operand_a(*table) + 7);
  assert_ptr_equal(ask_table(&s), first);
  close_stage(&s);
#endif
}

/* Frees of other blocks of a prototype's size change nothing, those of its own code do. */
static void forgets_code_that_is_freed(void **state) {
  (void)state;
  stage s;
  open_stage(&s, "f()\nlocal t = {1, 2}");
  const uint32_t *call = find_nth(&s, RAW_OP_CALL, 0), *table = find_nth(&s, RAW_OP_NEWTABLE, 0);
  raw_proto other = {.n_code = 10, .code = s.proto->code + 1000};
  stand(&s, call, 0);
  assert_ptr_equal(ask_table(&s), table);
  lh_position_forget(s.position, &other);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), table);
  assert_ptr_equal(ask_table(&s), table);
  lh_position_forget(s.position, s.proto);
  assert_ptr_equal(ask_part(&s, NULL, raw_array_bytes(2)), call);
  close_stage(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(finds_tables_by_their_register),
                                     cmocka_unit_test(tells_no_line_of_several),
                                     cmocka_unit_test(finds_tables_in_loops),
                                     cmocka_unit_test(gives_up_in_code_that_is_too_long),
                                     cmocka_unit_test(tells_parts_once),
                                     cmocka_unit_test(searches_parts_of_unseen_tables),
                                     cmocka_unit_test(tells_lists_from_the_calls_before_them),
                                     cmocka_unit_test(follows_instructions_that_have_saved),
                                     cmocka_unit_test(tells_lists_from_the_tables_behind_them),
                                     cmocka_unit_test(makes_tables_of_extra_arguments),
                                     cmocka_unit_test(forgets_code_that_is_freed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
