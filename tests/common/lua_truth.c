/*
** lua_truth.c - holds what lib/track says of each allocation against a Lua that keeps a record of
** its own (tests/track/truth.sh): `lua -l lua_truth program.lua`.
**
** An allocation function that does nothing but ask both. What was found is printed at the end, as
** one line on stderr or, with LUAHEAP_TRUTH, to the end of the file of that name:
**
**     truth: 120034 allocations, 0 wrong threads, 0 wrong places, 0 wrong lines; unattributed: 0,
**     0 of 31200 tables; searched: 12; learnt: yes
**
** (one line), then up to five of those that are wrong.
*/
#include <stdio.h>
#include <stdlib.h>

#include "../track/truth.h"
#include "take/raw_code.h"
#include "track/position.h"
#include "track/running.h"
#include "weak_lua.h"

static struct {
  lh_recorder recorder;
  lua_Alloc alloc;
  void *alloc_data;
  bool checks;
  uint32_t random;
  uint64_t n, wrong_threads, wrong_places, wrong_lines, unattributed, untold;
  char examples[5][240];
  unsigned n_examples;
} g;

static const raw_proto *proto_of(truth t) {
  const raw_value *slot = raw_call_slot(&g.recorder.layout, t.thread, t.call);
  return ((const raw_lua_closure *)slot->as.object)->proto;
}

/* A function that has not fetched its first instruction is at that. */
static long true_pc(truth t) {
  const uint32_t *code = proto_of(t)->code;
  return t.next > code ? t.next - 1 - code : 0;
}

static uint32_t true_line(truth t) {
  return lh_walk_line(proto_of(t), true_pc(t));
}

static void note(const char *what, truth t, const void *thread, const raw_call *call,
                 const uint32_t *pc, size_t old_bytes, size_t bytes) {
  if (g.n_examples == 5) return;
  const raw_proto *proto = t.call ? proto_of(t) : NULL;
  (void)snprintf(g.examples[g.n_examples++], sizeof *g.examples,
                 "  %s at %llu: %zu -> %zu; truth %p %p %s:%u pc %ld, told %p %p pc %ld (op %u)\n",
                 what, (unsigned long long)g.n, old_bytes, bytes, t.thread, (const void *)t.call,
                 proto && proto->source ? raw_text(&g.recorder.layout, proto->source) : "?",
                 proto ? true_line(t) : 0, proto ? true_pc(t) : 0, thread, (const void *)call,
                 proto && pc ? pc - proto->code : -1L,
                 proto ? raw_opcode(proto->code[true_pc(t)]) : 0);
}

static bool is_same_line(truth t, const uint32_t *pc) {
  return lh_walk_line(proto_of(t), pc - proto_of(t)->code) == true_line(t);
}

static const uint32_t *ask_position(const void *thread, const raw_call *call, const void *block,
                                    size_t old_bytes, size_t bytes, const void *frame) {
  lh_position *p = g.recorder.position;
  if (frame) return lh_position_of_table(p, thread, call, frame);
  if (block || old_bytes == 0) return lh_position_of_part(p, thread, call, block, bytes);
  return lh_position_of_object(p, thread, call);
}

/* Behind OP_NEWTABLE the place is that of its second word, while the collector runs. */
static bool is_same_place(truth t, const uint32_t *pc) {
  const uint32_t *place = proto_of(t)->code + true_pc(t);
  return pc == place || (pc == place + 1 && raw_opcode(*pc) == RAW_OP_EXTRAARG);
}

static void check_position(const void *block, size_t old_bytes, size_t bytes, const void *frame) {
  if (!g.checks || (block && bytes <= old_bytes)) return;
  if (g.recorder.sample_bytes && (g.random = g.random * 1103515245 + 12345) >> 29) return;
  g.n++;
  truth t = truth_now(&g.recorder.layout);
  const void *thread = lh_running_thread(g.recorder.running);
  if (!thread) {
    g.unattributed++;
    if (frame) (void)lh_position_of_table(g.recorder.position, NULL, NULL, frame);
    if (getenv("LUAHEAP_TRUTH_UNTOLD")) note("not told", t, NULL, NULL, NULL, old_bytes, bytes);
    return;
  }
  const raw_call *call = lh_running_call(thread);
  if (call != t.call || (call && thread != t.thread)) {
    g.wrong_threads++;
    note("wrong thread", t, thread, call, NULL, old_bytes, bytes);
  } else if (call) {
    const uint32_t *pc = ask_position(thread, call, block, old_bytes, bytes, frame);
    g.untold += !pc;
    if (!pc || is_same_place(t, pc)) return;
    g.wrong_places++;
    bool is_line = is_same_line(t, pc);
    g.wrong_lines += !is_line;
    note(is_line ? "wrong place" : "wrong line", t, thread, call, pc, old_bytes, bytes);
  }
}

static __attribute__((noinline)) void *allocate_table(void *block, size_t old_bytes, size_t bytes) {
  const void *frame = LH_FRAME();
  if (!lh_position_learns(g.recorder.position, frame))
    check_position(block, old_bytes, bytes, frame);
  return g.alloc(g.alloc_data, block, old_bytes, bytes);
}

static __attribute__((noinline)) void *allocate_other(void *block, size_t old_bytes, size_t bytes) {
  check_position(block, old_bytes, bytes, NULL);
  void *made = g.alloc(g.alloc_data, block, old_bytes, bytes);
  if (!made) lh_position_failed(g.recorder.position, bytes);
  bool is_thread = made && g.checks && !block && old_bytes == LUA_TTHREAD;
  if (is_thread && bytes == g.recorder.layout.thread_bytes) {
    lh_running_born(g.recorder.running, made);
  }
  return made;
}

static __attribute__((noinline)) void *free_block(void *block, size_t old_bytes) {
  if (g.checks && old_bytes == g.recorder.layout.thread_bytes) {
    lh_running_died(g.recorder.running, block);
  }
  if (g.checks && old_bytes == sizeof(raw_proto)) lh_position_forget(g.recorder.position, block);
  return g.alloc(g.alloc_data, block, old_bytes, 0);
}

static void *allocate_checked(void *data, void *block, size_t old_bytes, size_t bytes) {
  (void)data;
  if (bytes == 0) return free_block(block, old_bytes);
  if (!block && old_bytes == LUA_TTABLE) return allocate_table(block, old_bytes, bytes);
  return allocate_other(block, old_bytes, bytes);
}

static void tell(void) {
  const char *path = getenv("LUAHEAP_TRUTH");
  FILE *out = path ? fopen(path, "a") : stderr;
  const lh_position *p = g.recorder.position;
  if (!out) return;
  (void)fprintf(
      out,
      "truth: %llu allocations, %llu wrong threads, %llu wrong places, %llu wrong lines; "
      "unattributed: %llu, %llu of known threads; %llu tables, searched: %llu; learnt: %s %d\n",
      (unsigned long long)g.n, (unsigned long long)g.wrong_threads,
      (unsigned long long)g.wrong_places, (unsigned long long)g.wrong_lines,
      (unsigned long long)g.unattributed, (unsigned long long)g.untold,
      (unsigned long long)p->n_tables, (unsigned long long)p->n_searched, p->word ? "yes" : "no",
      p->word);
  for (unsigned i = 0; i < g.n_examples; i++) (void)fputs(g.examples[i], out);
  if (path) (void)fclose(out);
}

__attribute__((visibility("default"))) int luaopen_lua_truth(lua_State *L);
int luaopen_lua_truth(lua_State *L) {
  lh_error error;
  if (!&luai_truth_running) return luaL_error(L, "this Lua knows no truth");
  if (lh_attach(L, &error) < 0) return luaL_error(L, "%s", error.message);
  const lh_state *state = lh_find_state(L, &error);
  lh_recorder *r = &g.recorder;
  r->layout = state->layout;
  r->global = lh_global_state(L);
  r->main_thread = (lua_State *)(uintptr_t)raw_main_thread(&r->layout, r->global);
  r->running = lh_running_new(r, L);
  r->sample_bytes = getenv("LUAHEAP_TRUTH_SAMPLE") != NULL;
  r->position = lh_position_new(r);
  g.alloc = lua_getallocf(L, &g.alloc_data);
  lua_setallocf(L, allocate_checked, NULL);
  lh_position_calibrate(r, L);
  if (getenv("LUAHEAP_TRUTH_SEARCH")) r->position->word = 0;
  g.checks = true;
  (void)atexit(tell);
  return 0;
}
