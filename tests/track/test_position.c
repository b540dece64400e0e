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
  assert_null(ask_part(&s, NULL, 16));
  close_stage(&s);
  open_stage(&s, "local t f() local i = x\nif i then t = {1} else t = {x = 2} end");
  stand(&s, find_nth(&s, RAW_OP_CALL, 0), 0);
  set_field(&s, RAW_THREAD_TOP, s.stack + 1 + raw_operand_a(*find_nth(&s, RAW_OP_NEWTABLE, 0)) + 1);
  assert_int_equal(line_of(&s, ask_table(&s)), 2);
  assert_null(ask_part(&s, NULL, 16)); /* which of the two has it is not known */
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
  assert_ptr_equal(ask_part(&s, NULL, 32), table);
  assert_ptr_equal(ask_part(&s, NULL, 32), call);
  assert_ptr_equal(ask_table(&s), table);
  assert_ptr_equal(ask_part(&s, NULL, 24), table);
  lh_position_failed(s.position, 24); /* there was no memory: asked for again */
  assert_ptr_equal(ask_part(&s, NULL, 24), table);
  assert_ptr_equal(ask_part(&s, NULL, 32), table);
  lh_position_failed(s.position, 32);
  assert_ptr_equal(ask_part(&s, NULL, 24), call);
  assert_ptr_equal(ask_part(&s, NULL, 32), table);
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
    assert_int_equal(line_of(&s, ask_part(&s, NULL, 32)), 2);
    assert_ptr_equal(ask_part(&s, NULL, 48), call);
    stand(&s, call, 1);
    assert_int_equal(line_of(&s, ask_part(&s, NULL, 48)), 3);
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
  raw_value array[1];
  table.array = (const raw_array *)array;
  s.call.saved_pc = call + 1;
  set_field(&s, RAW_THREAD_TOP, reg + 1 + 5); /* 7 and four results */
  assert_ptr_equal(list, call + 1);
  assert_ptr_equal(ask_part(&s, array, 5 * sizeof(raw_value)), call); /* not called yet */
  s.call.next = &s.next;
  assert_ptr_equal(ask_part(&s, array, 5 * sizeof(raw_value)), list);
  assert_ptr_equal(ask_part(&s, array, 6 * sizeof(raw_value)), call);
  assert_ptr_equal(ask_part(&s, s.stack, 5 * sizeof(raw_value)), call);
  assert_ptr_equal(ask_part(&s, NULL, sizeof(raw_call)), call);
  close_stage(&s);
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
  assert_ptr_equal(ask_part(&s, NULL, 32), table);
  assert_ptr_equal(ask_table(&s), table);
  lh_position_forget(s.position, s.proto);
  assert_ptr_equal(ask_part(&s, NULL, 32), call);
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
                                     cmocka_unit_test(forgets_code_that_is_freed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
