/*
** test_growth.c - ladders: the parts of a heap, the rows of a ladder and their verdicts, recomputed
** from their definitions on random heaps and random figures; a failure prints the seed. And
** any allocation that fails on the way.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>

#include "compare/answers.h"
#include "compare/compare.h"
#include "graph/answers.h"
#include "graph/graph.h"
#include "steps.h"

static lh_ladder *ladder_of(const program *p) {
  lh_ladder *ladder;
  assert_int_equal(lh_ladder_new(&ladder, NULL), LH_OK);
  for (size_t i = 0; i < p->n; i++)
    assert_int_equal(lh_ladder_add(ladder, p->snapshots[i], NULL), LH_OK);
  return ladder;
}

/* ==== Random heaps ================================================================== */

/* Each step adds tables, closures and strings somewhere below what is there, and takes some away:
** under names, in arrays, as keys, shared, and in circles. */
static const char random_step[] =
    "local seed, step = ...\n"
    "math.randomseed(seed * 100 + step)\n"
    "all = all or {{}}  g = g or all[1]\n"
    "local names = {'red', 'green', 'blue', 'list', 'next'}\n"
    "for i = 1, math.random(60) do\n"
    "  local from, to = all[math.random(#all)], {}\n"
    "  local way = math.random(12)\n"
    "  if way == 1 or way > 8 then to = all[math.random(#all)] end\n"
    "  if way == 2 then from[#from + 1] = to\n"
    "  elseif way == 3 then from[to] = 'text' .. math.random(30)\n"
    "  elseif way == 4 then from.fn = function() return to end\n"
    "  elseif way == 5 then setmetatable(from, to)\n"
    "  elseif way == 6 then _G['global' .. math.random(4)] = to\n"
    "  else from[names[math.random(#names)]] = to end\n"
    "  all[#all + 1] = to\n"
    "end\n"
    "for i = 1, math.random(0, 3) do all[math.random(#all)].red = nil end\n"
    "weak = weak or setmetatable({}, {__mode = 'v'})\n"
    "for i, v in ipairs(all) do weak[i] = v end  all = {g}  collectgarbage()\n"
    "for _, v in pairs(weak) do all[#all + 1] = v end";

static program random_program(uint64_t seed, size_t n_steps) {
  program p = program_begin();
  char text[sizeof random_step + 100];
  for (size_t i = 1; i <= n_steps; i++) {
    snprintf(text, sizeof text, "(function(...) %s end)(%llu, %zu)", random_step,
             (unsigned long long)seed, i);
    program_step(&p, text);
  }
  return p;
}

/* Sums by name. */
typedef struct sum {
  char *name;
  uint64_t objects, bytes;
} sum;

typedef struct sums {
  sum *list;
  size_t n;
} sums;

static sum *sum_of(sums *s, const char *name) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->list[i].name, name) == 0) return &s->list[i];
  s->list = realloc(s->list, (s->n + 1) * sizeof *s->list);
  assert_non_null(s->list);
  s->list[s->n] = (sum){.name = strdup(name)};
  return &s->list[s->n++];
}

static void free_sums(sums *s) {
  for (size_t i = 0; i < s->n; i++) free(s->list[i].name);
  free(s->list);
}

/* ==== Parts ========================================================================= */

enum { MOST_LABELS = 600 };

static bool is_base(const lh_snapshot *s, lh_id id) {
  return id == LH_ROOT || id == s->classes->globals || id == s->classes->loaded ||
         id == s->classes->registry;
}

/* The object before it on the path that is told. */
static lh_id before(lh_snapshot *s, lh_id id) {
  lh_path path;
  assert_int_equal(lh_shortest_path(s, id, &path, NULL), LH_OK);
  lh_id source = path.steps[path.n_steps - 1].source;
  lh_paths_free(&path, 1);
  return source;
}

static bool is_shared(lh_snapshot *s, lh_id id) {
  lh_id above = lh_immediate_dominator(s, id), source = before(s, id);
  return is_base(s, above) ? !is_base(s, source) : source != above;
}

static char *path_of(lh_snapshot *s, lh_id id) {
  lh_path path;
  assert_int_equal(lh_shortest_path(s, id, &path, NULL), LH_OK);
  char *text = lh_path_text(s, &path, true);
  assert_non_null(text);
  lh_paths_free(&path, 1);
  return text;
}

/* The names of an object's dominators, the outermost first; what comes again leads back. A shared
** one has a "+" of its own before it. Joined by newlines. */
static char *chain_of(lh_snapshot *s, lh_id id) {
  lh_id ids[MOST_LABELS];
  char *labels[2 * MOST_LABELS];
  size_t n_ids = 0, n = 0, bytes = 1;
  for (; !is_base(s, id) || n_ids == 0; id = lh_immediate_dominator(s, id)) {
    assert_true(n_ids < MOST_LABELS);
    ids[n_ids++] = id;
  }
  while (n_ids-- > 0) {
    if (is_shared(s, ids[n_ids])) labels[n++] = strdup("+");
    char *label = path_of(s, ids[n_ids]);
    size_t same = 0;
    while (same < n && strcmp(labels[same], label) != 0) same++;
    for (size_t i = same; i < n; i++) free(labels[i]);
    labels[same] = strdup(label);
    n = same + 1;
    lh_free(label);
  }
  for (size_t i = 0; i < n; i++) bytes += strlen(labels[i]) + 1;
  char *chain = calloc(bytes, 1);
  assert_non_null(chain);
  for (size_t i = 0; i < n; i++) {
    strcat(strcat(chain, "\n"), labels[i]);
    free(labels[i]);
  }
  return chain;
}

static void name_part(const lh_part *parts, size_t i, char *name) {
  *name = '\0';
  if (i == 0) return;
  name_part(parts, parts[i].above, name);
  strcat(strcat(name, "\n"), parts[i].shared ? "+" : parts[i].path);
}

/* The own figures of each part are those of the objects with this chain of dominators, and the
** figures of a part are its own and those of the parts below it. */
static void check_parts(const program *p, uint64_t seed) {
  static char name[1 << 20];
  lh_ladder *ladder = ladder_of(p);
  lh_part *parts;
  size_t n_parts;
  assert_int_equal(lh_ladder_owners(ladder, &parts, &n_parts, NULL), LH_OK);
  for (int k = 0; k < 2; k++) {
    lh_snapshot *s = p->snapshots[k ? p->n - 1 : 0];
    sums right = {NULL, 0};
    uint64_t bytes = 0, objects = 0;
    for (lh_id id = 1; id <= lh_object_count(s); id++) {
      if (!lh_is_reachable(s, id) || lh_is_own(s, id)) continue;
      char *chain = chain_of(s, id);
      sum *own = sum_of(&right, chain);
      own->objects++;
      own->bytes += lh_shallow_bytes(s, id);
      free(chain);
    }
    for (size_t i = 0; i < n_parts; i++) {
      name_part(parts, i, name);
      const sum *own = sum_of(&right, name);
      if (parts[i].own_bytes[k] != own->bytes || parts[i].own_objects[k] != own->objects)
        fail_msg("seed %llu: %s has %llu bytes, not %llu", (unsigned long long)seed, name,
                 (unsigned long long)parts[i].own_bytes[k], (unsigned long long)own->bytes);
      uint64_t below = parts[i].own_bytes[k];
      for (size_t j = i + 1; j < n_parts; j++)
        if (parts[j].above == i) below += parts[j].bytes[k];
      assert_int_equal(below, parts[i].bytes[k]);
      bytes += parts[i].own_bytes[k];
      objects += parts[i].own_objects[k];
    }
    for (size_t i = 0; i < right.n; i++) {
      bytes -= right.list[i].bytes;
      objects -= right.list[i].objects;
    }
    assert_int_equal(bytes, 0);
    assert_int_equal(objects, 0);
    free_sums(&right);
  }
  lh_free(parts);
  lh_ladder_free(ladder);
}

static void parts_are_chains_of_dominators(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 25; seed++) {
    program p = random_program(seed, 2);
    check_parts(&p, seed);
    program_end(&p);
  }
}

/* ==== Rows ========================================================================== */

static uint64_t reachable_of(const lh_snapshot *s, uint64_t *objects) {
  uint64_t bytes = 0;
  *objects = 0;
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (!lh_is_reachable(s, id) || lh_is_own(s, id)) continue;
    bytes += lh_shallow_bytes(s, id);
    ++*objects;
  }
  return bytes;
}

static const lh_growth_row *class_row(const lh_growth *growth, const lh_class *class) {
  for (size_t i = 0; i < growth->n_classes; i++)
    if (strcmp(growth->classes[i].class_name, class->name) == 0 &&
        growth->classes[i].type == class->type)
      return &growth->classes[i];
  return NULL;
}

/* Each byte and each object is in one row or in none; a row of a class has what the class has. */
static void check_rows(const program *p, uint64_t seed) {
  lh_ladder *ladder = ladder_of(p);
  lh_growth *growth;
  assert_int_equal(lh_ladder_growth(ladder, &growth, NULL), LH_OK);
  for (size_t k = 0; k < p->n; k++) {
    const lh_snapshot *s = p->snapshots[k];
    uint64_t objects, bytes = reachable_of(s, &objects);
    uint64_t in_rows = growth->level[k].bytes, n = growth->level[k].all_objects;
    for (size_t i = 0; i < growth->n_paths; i++) {
      in_rows += growth->paths[i].at[k].bytes;
      n += growth->paths[i].at[k].all_objects;
      assert_true(growth->paths[i].at[k].objects <= growth->paths[i].at[k].all_objects);
    }
    if (in_rows != bytes || n != objects) fail_msg("seed %llu", (unsigned long long)seed);
    for (uint32_t c = 0; c < lh_class_count(s); c++) {
      const lh_class *class = lh_class_at(s, c);
      const lh_growth_row *row = class_row(growth, class);
      if (!row) continue;
      assert_int_equal(row->at[k].objects, class->objects);
      assert_int_equal(row->at[k].bytes, class->shallow_bytes);
    }
  }
  lh_growth_free(growth);
  lh_ladder_free(ladder);
}

static void rows_add_up(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 25; seed++) {
    program p = random_program(seed, 5);
    check_rows(&p, seed);
    program_end(&p);
  }
}

static const lh_growth_row *row_at(const lh_growth *growth, const char *path) {
  for (size_t i = 0; i < growth->n_paths; i++)
    if (strcmp(growth->paths[i].held_by, path) == 0) return &growth->paths[i];
  return NULL;
}

/*  _G.leak -> [i] -> {record} -> buffer        more at every step
**  _G.warm -> [i]                              made once
**  _G.saw -> [i]                               comes and goes
**  _G.less -> [i]                              goes
**  _G.plugin -> log -> [i]                     the plugin comes once, its log grows
**  _G.numbers -> numbers */
static const char all_kinds[] =
    "step = (step or 0) + 1\n"
    "leak = leak or {}  less = less or (function(t) for i = 1, 40 do t[i] = {l = i} end return t "
    "end)({})\n"
    "numbers = numbers or {}  saw = {}\n"
    "for i = 1, 5 do leak[#leak + 1] = {record = i, buffer = {}} end\n"
    "if step == 2 then warm = {} for i = 1, 20 do warm[i] = {w = i} end plugin = {log = {}} end\n"
    "for i = 1, step % 2 * 10 do saw[i] = {s = i} end\n"
    "for i = 1, 6 do less[#less] = nil end\n"
    "if plugin then for i = 1, 3 do table.insert(plugin.log, {line = i}) end end\n"
    "for i = 1, 10 do numbers[#numbers + 1] = i end";

static void expect_row(const lh_growth *growth, const char *path, lh_verdict verdict,
                       uint64_t first, uint64_t last) {
  const lh_growth_row *row = row_at(growth, path);
  if (!row) fail_msg("no row for %s", path);
  assert_string_equal(lh_verdict_name(row->verdict), lh_verdict_name(verdict));
  assert_int_equal(row->at[0].objects, first);
  assert_int_equal(row->at[growth->n_snapshots - 1].objects, last);
}

static void verdicts_tell_the_kinds_of_growth(void **state) {
  program p = program_begin();
  lh_growth *growth;
  (void)state;
  for (int i = 0; i < 6; i++) program_step(&p, all_kinds);
  lh_ladder *ladder = ladder_of(&p);
  assert_int_equal(lh_ladder_growth(ladder, &growth, NULL), LH_OK);
  expect_row(growth, "_G.leak[*]", LH_GROWS_STEADILY, 5, 30);
  expect_row(growth, "_G.warm", LH_GREW_ONCE, 0, 1);
  expect_row(growth, "_G.plugin", LH_GREW_ONCE, 0, 1);
  expect_row(growth, "_G.plugin.log[*]", LH_GROWS_STEADILY, 0, 15);
  expect_row(growth, "_G.saw[*]", LH_SAW_TOOTH, 10, 0);
  expect_row(growth, "_G.less[*]", LH_SHRINKS, 34, 4);
  expect_row(growth, "_G.numbers", LH_GROWS_STEADILY, 1, 1);
  assert_null(row_at(growth, "_G.leak[*].buffer")); /* part of _G.leak[*] */
  assert_null(row_at(growth, "_G.warm[*]"));
  const lh_growth_row *leak = row_at(growth, "_G.leak[*]");
  assert_int_equal(leak->at[5].all_objects, 60);
  assert_int_equal(leak->grew_objects[0], 10);
  assert_int_equal(leak->grew_objects[1], 40);
  assert_true(leak->bytes_per_step == (double)leak->grew_bytes[1] / 4);
  assert_int_equal(growth->paths[0].verdict, LH_GROWS_STEADILY);
  lh_growth_free(growth);
  lh_ladder_free(ladder);
  program_end(&p);
}

/*  coroutine `keep` -> local t -> items -> [i]     5 more at each step
**  coroutine `also` -> local w -> items            from the third step on */
static const char two_paths[] =
    "step = (step or 0) + 1\n"
    "keep = keep or coroutine.wrap(function()\n"
    "  local t = {items = {}}\n"
    "  while true do\n"
    "    for i = 1, 5 do t.items[#t.items + 1] = {item = i} end\n"
    "    coroutine.yield(t.items)\n"
    "  end\n"
    "end)\n"
    "local items = keep()\n"
    "also = coroutine.wrap(function() local w = items coroutine.yield() return w end)\n"
    "if step > 2 then also() else also = nil end";

static void a_container_with_two_paths_is_one_row(void **state) {
  program p = program_begin();
  lh_growth *growth;
  size_t n = 0;
  (void)state;
  for (int i = 0; i < 5; i++) program_step(&p, two_paths);
  lh_ladder *ladder = ladder_of(&p);
  assert_int_equal(lh_ladder_growth(ladder, &growth, NULL), LH_OK);
  for (size_t i = 0; i < growth->n_paths; i++) {
    const lh_growth_row *row = &growth->paths[i];
    assert_null(strstr(row->held_by, "local w"));
    if (strcmp(row->class_name, "{item}") != 0) continue;
    n++;
    assert_non_null(strstr(row->held_by, "(local t in function"));
    for (size_t k = 0; k < p.n; k++) assert_int_equal(row->at[k].objects, 5 * (k + 1));
  }
  assert_int_equal(n, 1);
  lh_growth_free(growth);
  lh_ladder_free(ladder);
  program_end(&p);
}

static void order_of_time_is_asked_for(void **state) {
  program p = program_begin();
  lh_growth *growth;
  lh_part *parts;
  size_t n;
  lh_error error;
  (void)state;
  lh_snapshot *a = program_step(&p, ""), *b = program_step(&p, "");
  lh_ladder *ladder;
  assert_int_equal(lh_ladder_new(&ladder, NULL), LH_OK);
  assert_int_equal(lh_ladder_add(ladder, b, NULL), LH_OK);
  assert_int_equal(lh_ladder_growth(ladder, &growth, &error), LH_EARGUMENT);
  assert_int_equal(lh_ladder_owners(ladder, &parts, &n, &error), LH_EARGUMENT);
  assert_string_equal(error.message, "growth needs at least two snapshots");
  assert_int_equal(lh_ladder_add(ladder, a, NULL), LH_OK);
  assert_int_equal(lh_ladder_growth(ladder, &growth, &error), LH_EARGUMENT);
  assert_string_equal(error.message,
                      "snapshots must be given in the order of time: 'test' was not taken before "
                      "'test'");
  assert_int_equal(lh_ladder_halves(ladder, &growth, &error), LH_OK); /* one before, one after */
  lh_growth_free(growth);
  lh_ladder_free(ladder);
  program_end(&p);
}

/* ==== Verdicts ====================================================================== */

/* Lists the rates of the parts, after that of the first step, in parts of 840: all whole. */
static bool right_slowdown(const uint64_t *v, size_t n, bool by_thirds) {
  enum { WHOLE = 840 };
  int64_t rates[4] = {((int64_t)v[1] - (int64_t)v[0]) * WHOLE}, steps = 1, most = 0;
  size_t n_late = n - 2, n_parts = n_late < 3 ? n_late : 3;
  for (size_t part = 0; part < n_parts; part++) {
    size_t from = by_thirds ? 1 + n_late * part / n_parts : n - 4 + part;
    size_t to = by_thirds ? 1 + n_late * (part + 1) / n_parts : n - 3 + part;
    steps = (int64_t)(to - from);
    rates[part + 1] = ((int64_t)v[to] - (int64_t)v[from]) * WHOLE / steps;
  }
  for (size_t i = n_parts > 1; i < n_parts; i++)
    if (rates[i] > most) most = rates[i];
  int64_t last = rates[n_parts], missing = (most - last) * steps;
  bool falls = n_parts > 1 && rates[n_parts - 1] * 2 >= last * 3 &&
               rates[n_parts - 2] * 2 >= rates[n_parts - 1] * 3;
  return (most >= 3 * last || falls) && missing > 0 && missing * missing > 4 * most * steps * WHOLE;
}

/* From the words of rooms/compare.h, in another way: with sums of what rises and falls. */
static lh_verdict right_verdict(const uint64_t *v, size_t n) {
  double up = 0, down = 0, late_up = 0, late_down = 0;
  bool steady = n > 2;
  for (size_t i = 1; i < n; i++) {
    double change = (double)v[i] - (double)v[i - 1];
    *(change > 0 ? &up : &down) += change > 0 ? change : -change;
    if (i > 1) *(change > 0 ? &late_up : &late_down) += change > 0 ? change : -change;
  }
  if (up == 0 && down == 0) return LH_LEVEL;
  size_t n_late = n > 2 ? n - 2 : 0, n_parts = n_late < 3 ? n_late : 3;
  for (size_t part = 0; part < n_parts; part++)
    if (v[1 + n_late * part / n_parts] >= v[1 + n_late * (part + 1) / n_parts]) steady = false;
  if (n == 3 && v[1] <= v[0]) steady = false;
  bool by_thirds = steady;
  if (n > 4 && v[n - 4] < v[n - 3] && v[n - 3] < v[n - 2] && v[n - 2] < v[n - 1]) steady = true;
  double first = n > 1 ? (double)v[1] - (double)v[0] : 0;
  if (first < 0 && -10 * first <= (double)v[0] && late_up < -2 * first) steady = false;
  if (steady && late_down * 10 <= late_up)
    return right_slowdown(v, n, by_thirds) ? LH_LEVELS_OFF : LH_GROWS_STEADILY;
  if (down * 10 <= up) return LH_GREW_ONCE;
  return up * 10 <= down ? LH_SHRINKS : LH_SAW_TOOTH;
}

static void verdicts_are_as_defined(void **state) {
  uint64_t figures[24];
  int seen[LH_GROWS_STEADILY + 1] = {0};
  (void)state;
  srand(1);
  for (int i = 0; i < 200000; i++) {
    size_t n = 2 + (size_t)rand() % 23;
    int most_up = rand() % 12, most_down = rand() % 12 / (1 + rand() % 12);
    uint64_t at = 10 * (uint64_t)(rand() % 20);
    for (size_t k = 0; k < n; k++) {
      if (most_up) at += (uint64_t)(rand() % (most_up + 1));
      if (most_down) at -= (uint64_t)(rand() % (most_down + 1)) * (at > 12);
      figures[k] = at;
    }
    lh_verdict verdict = lh_verdict_of(figures, n);
    if (verdict != right_verdict(figures, n)) fail_msg("case %d", i);
    seen[verdict]++;
  }
  for (int i = LH_LEVEL; i <= LH_GROWS_STEADILY; i++)
    assert_true(i == LH_GROWS_A_LITTLE ? seen[i] == 0 : seen[i] > 100);
}

static void expect_verdict(const char *expected, size_t n, const uint64_t *figures) {
  assert_string_equal(lh_verdict_name(lh_verdict_of(figures, n)), expected);
}

#define EXPECT(expected, ...)                                                  \
  expect_verdict(expected, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t), \
                 (const uint64_t[]){__VA_ARGS__})

static void verdicts_of_examples(void **state) {
  (void)state;
  EXPECT("level", 5, 5, 5, 5);
  EXPECT("grows steadily", 10, 20, 30, 40);
  EXPECT("grows steadily", 10, 20, 30);
  EXPECT("grew once", 10, 10, 30);            /* with three snapshots the first step counts, too */
  EXPECT("grows steadily", 1000, 20, 30, 40); /* the first step does not count */
  EXPECT("grows steadily", 0, 100, 110, 119, 118, 130);        /* a little noise */
  EXPECT("grows steadily", 0, 10, 10, 20, 20, 30, 30, 40);     /* every other step */
  EXPECT("grows steadily", 40, 40, 40, 40, 40, 110, 180, 250); /* it began late */
  EXPECT("grew once", 40, 40, 40, 40, 40, 40, 110, 180);
  EXPECT("grew once", 0, 100, 100, 100);
  EXPECT("grew once", 0, 80, 95, 100, 100, 100, 100); /* warms up in several steps */
  EXPECT("levels off", 895, 1115, 1170, 1193, 1198);
  EXPECT("levels off", 538700, 578700, 585900, 587200, 587400);
  EXPECT("levels off", 559, 573, 590, 599, 604);
  EXPECT("levels off", 895, 1115, 1170);
  EXPECT("levels off", 0, 50, 150, 200, 220, 230, 234, 236, 238);
  EXPECT("grows steadily", 80, 232, 382, 494, 567);       /* slower, but not near a stop */
  EXPECT("grows steadily", 0, 3, 7, 10, 11);              /* that may be chance */
  EXPECT("grows steadily", 4000, 3900, 4200, 4500, 4800); /* more than the fall */
  EXPECT("saw-tooth", 3207, 3187, 3198, 3202, 3208);      /* no more than the fall */
  EXPECT("grew once", 10, 10, 10, 50);
  EXPECT("grew once", 10, 20);
  EXPECT("saw-tooth", 10, 90, 20, 80, 10);
  EXPECT("saw-tooth", 0, 50, 20, 80, 40, 120);
  EXPECT("shrinks", 100, 80, 60, 61, 10);
  EXPECT("shrinks", 20, 10);
  assert_int_equal(lh_verdict_of_two(100, 10), LH_NO_LONGER_GROWS);
  assert_int_equal(lh_verdict_of_two(100, -5), LH_NO_LONGER_GROWS);
  assert_int_equal(lh_verdict_of_two(100, 11), LH_STILL_GROWS);
  assert_int_equal(lh_verdict_of_two(0, 1), LH_GROWS_NOW);
  assert_int_equal(lh_verdict_of_two(-7, 0), LH_LEVEL);
}

/* ==== Depth and memory ============================================================== */

/* A chain of functions, each in an upvalue of the one before, with other names: deeper than what is
** told apart. All of it is still counted, once. */
static void a_deep_tree_adds_up(void **state) {
  program p = program_begin();
  uint64_t objects;
  lh_part *parts;
  size_t n_parts;
  (void)state;
  lh_snapshot *s = program_step(
      &p,
      "f = nil\n"
      "for i = 1, 2000 do\n"
      "  f = load(('local up%d = ... return function() return up%d end'):format(i, i))(f)\n"
      "end");
  program_step(&p, "f = nil");
  uint64_t bytes = reachable_of(s, &objects);
  lh_ladder *ladder = ladder_of(&p);
  assert_int_equal(lh_ladder_owners(ladder, &parts, &n_parts, NULL), LH_OK);
  assert_true(n_parts > 4000);
  assert_int_equal(parts[0].bytes[0], bytes);
  assert_int_equal(parts[0].objects[0], objects);
  lh_free(parts);
  lh_ladder_free(ladder);
  program_end(&p);
}

static int all_of(const program *p, lh_ladder **ladder, lh_error *error) {
  int code = lh_ladder_new(ladder, error);
  for (size_t i = 0; !code && i < p->n; i++) code = lh_ladder_add(*ladder, p->snapshots[i], error);
  if (!code) return 0;
  lh_ladder_free(*ladder);
  *ladder = NULL;
  return code;
}

static size_t fail_each(const char *step) {
  program p = program_begin();
  lh_error error;
  lh_ladder *ladder;
  lh_growth *growth;
  lh_part *parts;
  lh_string_changes strings;
  size_t n, n_cases = 0;
  for (int i = 0; i < 4; i++) program_step(&p, step);
  FAIL_EACH(all_of(&p, &ladder, &error));
  FAIL_EACH(lh_ladder_growth(ladder, &growth, &error));
  lh_growth_free(growth);
  FAIL_EACH(lh_ladder_halves(ladder, &growth, &error));
  lh_growth_free(growth);
  FAIL_EACH(lh_ladder_owners(ladder, &parts, &n, &error));
  lh_free(parts);
  FAIL_EACH(lh_compare_strings(p.snapshots[0], p.snapshots[3], &strings, &error));
  lh_free(strings.rows);
  lh_ladder_free(ladder);
  program_end(&p);
  return n_cases;
}

static void each_allocation_of_growth_fails(void **state) {
  (void)state;
  size_t n_cases = fail_each(all_kinds) + fail_each(two_paths);
  printf("faults: allocations of ladders: %zu cases, %zu survived\n", n_cases, n_cases);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_chains_of_dominators),
      cmocka_unit_test(rows_add_up),
      cmocka_unit_test(verdicts_tell_the_kinds_of_growth),
      cmocka_unit_test(a_container_with_two_paths_is_one_row),
      cmocka_unit_test(order_of_time_is_asked_for),
      cmocka_unit_test(verdicts_are_as_defined),
      cmocka_unit_test(verdicts_of_examples),
      cmocka_unit_test(a_deep_tree_adds_up),
      cmocka_unit_test(each_allocation_of_growth_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
