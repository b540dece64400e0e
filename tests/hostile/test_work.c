/*
** test_work.c - does the work of each question grow as the file does? For each family of files
** (families.h), and each question that the commands ask of the library.
**
** Work is counted, not timed (work.h). Four times the file may take a bit more than four times the
** work, which leaves room for n log n; a square would be 16 times. What has a limit of its own
** grows faster until it is there, so little work is never too much.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyses/answers.h"
#include "compare/answers.h"
#include "families.h"
#include "graph/answers.h"
#include "rooms/all.h"
#include "view/answers.h"
#include "work.h"

/* ==== The questions ================================================================= */

/* Three snapshots of one run, whose objects are new in the second, or older than all. */
typedef struct run {
  const char *family;
  forge files[3];
  lh_snapshot *at[3];
} run;

enum { ROWS = 20 };

static void drop(char *text) {
  lh_free(text);
}

static void ask_verify(run *r) {
  (void)lh_verify(r->at[2], NULL, NULL);
}

static void ask_analyse(run *r) {
  assert_int_equal(lh_analyse(r->at[2], NULL), LH_OK);
}

static void ask_classify(run *r) {
  assert_int_equal(lh_classify(r->at[2], NULL), LH_OK);
}

static void ask_classes(run *r) {
  lh_top_query query = {.sort = LH_SORT_RETAINED};
  lh_class_row *rows;
  size_t n;
  assert_int_equal(lh_top_classes(r->at[2], &query, &rows, &n, NULL), LH_OK);
  lh_free(rows);
}

static void ask_objects(run *r) {
  lh_top_query query = {.sort = LH_SORT_RETAINED};
  lh_id *ids;
  size_t n, n_left_out;
  uint64_t total;
  assert_int_equal(lh_rank_objects(r->at[2], &query, true, &ids, &n, &n_left_out, &total, NULL),
                   LH_OK);
  lh_free(ids);
}

static void ask_waste(run *r) {
  lh_waste *waste;
  assert_int_equal(lh_find_waste(r->at[2], &waste, NULL), LH_OK);
  lh_waste_free(waste);
}

static void ask_growing(run *r) {
  lh_growings growings;
  assert_int_equal(lh_find_growing(r->at[2], NULL, &growings, NULL), LH_OK);
  lh_growings_free(&growings);
}

static void ask_suspects(run *r) {
  lh_suspects suspects;
  assert_int_equal(lh_find_suspects(r->at[2], &suspects, NULL), LH_OK);
  lh_suspects_free(&suspects);
}

static void ask_modules(run *r) {
  lh_modules modules;
  assert_int_equal(lh_find_modules(r->at[2], ROWS, &modules, NULL), LH_OK);
  lh_modules_free(&modules);
}

static void ask_threads(run *r) {
  lh_thread_groups found;
  assert_int_equal(lh_group_threads(r->at[2], &found, NULL), LH_OK);
  for (size_t i = 0; i < found.n; i++) {
    lh_edges it;
    lh_frame frame;
    lh_frames_begin(r->at[2], found.list[i].example, &it);
    while (lh_frames_next(&it, &frame)) drop(lh_frame_text(r->at[2], &frame));
  }
  lh_thread_groups_free(&found);
}

/* The classes of the objects that retain most. */
static void ask_class(run *r) {
  lh_top_query query = {.sort = LH_SORT_SHALLOW, .limit = 3};
  lh_class_row *rows;
  size_t n;
  assert_int_equal(lh_top_classes(r->at[2], &query, &rows, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) {
    lh_description d;
    const char *name = lh_class_at(r->at[2], rows[i].class_index)->name;
    assert_int_equal(lh_describe_class(r->at[2], name, &d, NULL), LH_OK);
    lh_description_free(&d);
  }
  lh_free(rows);
}

static void ask_under(run *r) {
  lh_under_query query = {.depth = 8, .limit = 0};
  lh_branch *rows;
  size_t n;
  assert_int_equal(lh_under(r->at[2], LH_ROOT, &query, &rows, &n, NULL), LH_OK);
  lh_free(rows);
}

/* Pictures of all trees, down to their leaves, and the part of each that is told last. */
static void ask_tiles(run *r) {
  for (lh_tree_by by = LH_TREE_OF_OBJECTS; by <= LH_TREE_OF_MODULES; by++) {
    lh_tiles_query query = {.by = by, .depth = 60, .limit = 300, .interval = LH_EVER};
    char key[LH_TILE_KEY_BYTES] = "root";
    lh_tiles tiles;
    for (int i = 0; i < 4; i++) {
      query.of = key;
      assert_int_equal(lh_find_tiles(r->at[2], &query, &tiles, NULL), LH_OK);
      for (size_t k = 0; k < tiles.n; k++) {
        drop(lh_tile_steps(r->at[2], &tiles.list[k]));
        if (*tiles.list[k].key) memcpy(key, tiles.list[k].key, sizeof key);
      }
      lh_tiles_free(&tiles);
      query.interval = (lh_interval){3, lh_object_count(r->at[2]) / 2 + (uint32_t)i};
    }
  }
}

static void ask_ways(run *r) {
  uint32_t n = lh_object_count(r->at[2]);
  lh_id *ids = malloc(n * sizeof *ids);
  lh_merged_paths merged;
  for (lh_id id = 1; id <= n; id++) ids[id - 1] = id;
  assert_int_equal(lh_merge_paths(r->at[2], ids, n, 0, &merged, NULL), LH_OK);
  lh_merged_paths_free(&merged);
  free(ids);
}

static void ask_held_by(run *r) {
  for (lh_id id = 1; id <= lh_object_count(r->at[2]); id++) {
    char *text;
    if (lh_held_by(r->at[2], id, &text, NULL) == LH_OK) drop(text);
  }
}

static void ask_labels(run *r) {
  for (lh_id id = 0; id <= lh_object_count(r->at[2]); id++) {
    lh_edges it;
    lh_edge edge;
    for (lh_edges_begin(r->at[2], id, &it); lh_edges_next(&it, &edge);)
      drop(lh_edge_text(r->at[2], &edge));
  }
}

static void ask_names(run *r) {
  static const char *const names[] = {"_G[table: 0x18]",
                                      "_G[*]",
                                      "registry[*]",
                                      "@a.lua:1",
                                      "metatable of _G[*]",
                                      "_G.next*",
                                      "upvalue * of function *",
                                      "value of _G[*] in weak table _G[*]",
                                      "local x in function *"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lh_found found;
    (void)lh_find(r->at[2], names[i], &found, NULL);
  }
}

static void ask_cuts(run *r) {
  static const char *const names[] = {"_G[*]", "registry[*]", "_G.next*"};
  lh_without cuts[3];
  lh_freed alone[3], together, only_together;
  size_t n = 0;
  for (size_t i = 0; i < 3; i++) n += lh_find_cut(r->at[2], names[i], &cuts[n], NULL) == LH_OK;
  assert_int_equal(
      lh_what_if(r->at[2], cuts, n, LH_NO_OBJECT, alone, &together, &only_together, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) lh_without_free(&cuts[i]);
}

/* The object that is furthest from the root. */
static lh_id find_deepest(const lh_snapshot *s) {
  lh_id deepest = LH_NO_OBJECT;
  for (lh_id id = 1; id <= lh_object_count(s); id++)
    if (lh_is_reachable(s, id) &&
        (deepest == LH_NO_OBJECT || lh_distance(s, id) > lh_distance(s, deepest)))
      deepest = id;
  return deepest;
}

static void ask_paths(run *r) {
  lh_snapshot *s = r->at[2];
  lh_path *paths;
  size_t n;
  lh_independent independent;
  lh_id id = find_deepest(s), common_holder;
  if (id == LH_NO_OBJECT) return;
  assert_int_equal(lh_shortest_paths(s, id, 5, &paths, &n, NULL), LH_OK);
  for (size_t i = 0; i < n; i++) drop(lh_path_text(s, &paths[i], i % 2));
  lh_paths_free(paths, n);
  lh_free(paths);
  if (lh_find_independent(s, id, 3, &independent, NULL) == LH_OK) lh_independent_free(&independent);
  if (lh_find_common_holder(s, id, 3, &common_holder, &independent, NULL) == LH_OK)
    lh_independent_free(&independent);
}

static void ask_referrers(run *r) {
  lh_edge *edges;
  size_t n;
  lh_id id = find_deepest(r->at[2]);
  if (id == LH_NO_OBJECT) return;
  assert_int_equal(lh_referrers(r->at[2], id, &edges, &n, NULL), LH_OK);
  lh_free(edges);
}

/* What is kept is made here, too. */
static void ask_timeline(run *r) {
  for (int by = 0; by < 3; by++) {
    lh_age_chart chart;
    const lh_age_chart_query query = {.by = (lh_age_chart_by)by, .interval = LH_EVER};
    assert_int_equal(lh_find_age_chart(r->at[2], &query, &chart, NULL), LH_OK);
    lh_age_chart_free(&chart);
  }
}

static void ask_interval(run *r) {
  uint64_t n = lh_position_count(r->at[2]);
  lh_diff *diff;
  assert_int_equal(lh_diff_interval(r->at[2], (lh_interval){n / 3, n}, &diff, NULL), LH_OK);
  lh_diff_free(diff);
}

static void ask_map(run *r) {
  lh_memory_map map;
  const lh_map_query query = {.to = UINT64_MAX,
                              .most_cells = 1000,
                              .most_objects = ROWS,
                              .snapshots = r->at,
                              .n_snapshots = 3,
                              .before = r->at[0]};
  assert_int_equal(lh_find_memory_map(r->at[2], &query, &map, NULL), LH_OK);
  lh_memory_map_free(&map);
}

static void ask_diff(run *r) {
  lh_diff *diff;
  assert_int_equal(lh_diff_snapshots(r->at[0], r->at[1], r->at[2], &diff, NULL), LH_OK);
  for (size_t i = 0; i < diff->n_groups && i < 3; i++) {
    lh_id *ids;
    size_t n;
    if (lh_objects_with(r->at[2], diff->groups[i].fingerprint, &ids, &n, NULL) == LH_OK)
      lh_free(ids);
  }
  lh_diff_free(diff);
}

static void ask_changes(run *r) {
  lh_diff *diff;
  lh_string_changes strings;
  assert_int_equal(lh_diff_snapshots(r->at[0], NULL, r->at[2], &diff, NULL), LH_OK);
  lh_diff_free(diff);
  assert_int_equal(lh_compare_strings(r->at[0], r->at[2], &strings, NULL), LH_OK);
  lh_free(strings.rows);
}

static void ask_ladder(run *r) {
  lh_ladder *ladder;
  lh_growth *growth;
  lh_part *parts;
  size_t n;
  assert_int_equal(lh_ladder_new(&ladder, NULL), LH_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(lh_ladder_add(ladder, r->at[i], NULL), LH_OK);
  assert_int_equal(lh_ladder_growth(ladder, &growth, NULL), LH_OK);
  lh_growth_free(growth);
  assert_int_equal(lh_ladder_owners(ladder, &parts, &n, NULL), LH_OK);
  lh_free(parts);
  lh_ladder_free(ladder);
}

static void ask_leaks(run *r) {
  work_ask("leaks", r->at[2], &(lh_request){0});
}

static void ask_epochs(run *r) {
  work_ask("epochs", r->at[2], &(lh_request){0});
}

/* Of what was tracked. */
static void ask_sites(run *r) {
  work_ask("info", r->at[2], &(lh_request){0});
  if (!lh_snapshot_tracking(r->at[2])) return;
  work_ask("sites", r->at[2], &(lh_request){0});
  work_ask("stack", r->at[2], &(lh_request){.id = lh_object_count(r->at[2])});
}

/* The families whose pages have long texts, long paths or many rows. */
static bool has_hard_pages(const char *family) {
  static const char *const hard[] = {"a list of one long name",
                                     "an array",
                                     "an object of many referrers",
                                     "a ring of classes",
                                     "classes of long names",
                                     "nested ephemerons",
                                     "weak tables",
                                     "weak tables behind a long path",
                                     "nested classes of two",
                                     "one long source",
                                     "a great prototype",
                                     "frames",
                                     "user values"};
  bool is_hard = false;
  for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
    is_hard = is_hard || strcmp(hard[i], family) == 0;
  return is_hard;
}

/* The questions of heapview's pages about objects near the root, of one in 64. */
static void ask_pages(run *r) {
  static const char *const asked[] = {"object",    "fields",     "paths",
                                      "referrers", "dominators", "treemap"};
  enum { STEP = 64, NEAR = 64 };
  if (!has_hard_pages(r->family)) return;
  for (lh_id id = 1; id <= lh_object_count(r->at[2]); id += STEP) {
    lh_request request = {.id = id, .depth = 2, .has_depth = true, .class_index = UINT32_MAX};
    request.interval = (lh_interval)LH_EVER;
    if (!lh_is_reachable(r->at[2], id) || lh_distance(r->at[2], id) > NEAR) continue;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
      request.has_limit = strcmp(asked[i], "paths") != 0; /* pages ask for the shortest path */
      request.limit = request.has_limit ? ROWS : 0;
      work_ask(asked[i], r->at[2], &request);
    }
  }
}

/* The last ones are asked of old objects, too. */
static const struct {
  const char *name;
  void (*ask)(run *r);
} questions[] = {
    {"verify", ask_verify},     {"analyse", ask_analyse},     {"classify", ask_classify},
    {"classes", ask_classes},   {"objects", ask_objects},     {"waste", ask_waste},
    {"growing", ask_growing},   {"suspects", ask_suspects},   {"modules", ask_modules},
    {"threads", ask_threads},   {"class", ask_class},         {"under", ask_under},
    {"tiles", ask_tiles},       {"ways", ask_ways},           {"held by", ask_held_by},
    {"labels", ask_labels},     {"names", ask_names},         {"cuts", ask_cuts},
    {"paths", ask_paths},       {"referrers", ask_referrers}, {"map", ask_map},
    {"timeline", ask_timeline}, {"interval", ask_interval},   {"epochs", ask_epochs},
    {"sites", ask_sites},       {"leaks", ask_leaks},         {"pages", ask_pages},
    {"diff", ask_diff},         {"changes", ask_changes},     {"ladder", ask_ladder}};
enum { QUESTIONS = sizeof questions / sizeof *questions, OF_SEVERAL = 4 };

/* ==================================================================================== */

/* Fills in the work of each question. `old`: the objects are older than all three. */
static void ask_all_of(const heap_family *family, size_t bytes, bool old, uint64_t *figures) {
  run r = {.family = family->name};
  unsigned n = family_scale(family, bytes);
  for (unsigned i = 0; i < 3; i++) {
    unsigned here = old ? n - n / 8 * (2 - i) : i == 0 ? 0 : n;
    family_make(&r.files[i], family, here, i + 1, old ? 0 : 1);
    assert_int_equal(lh_open_memory(&r.at[i], r.files[i].data, r.files[i].size, "f", NULL), LH_OK);
    if (i == 2 && !old) continue; /* its analysis is a question */
    assert_int_equal(lh_analyse(r.at[i], NULL), LH_OK);
    assert_int_equal(lh_classify(r.at[i], NULL), LH_OK);
  }
  assert_true(work_done > 0); /* it is counted */
  for (int i = old ? QUESTIONS - OF_SEVERAL : 0; i < QUESTIONS; i++) {
    uint64_t before = work_done;
    questions[i].ask(&r);
    figures[i] = work_done - before;
  }
  for (int i = 0; i < 3; i++) {
    lh_close(r.at[i]);
    forge_free(&r.files[i]);
  }
}

enum { SMALL_BYTES = 32000, TIMES = 4, LITTLE = 8000000, ATTEMPTS = 3 };
#define MOST_TIMES 7.0

/* The seeds of hash tables are others each time, so only what is too much each time is. */
static void check_family(const heap_family *family, bool old, bool *too_much) {
  uint64_t small[QUESTIONS], great[QUESTIONS];
  ask_all_of(family, SMALL_BYTES, old, small);
  ask_all_of(family, TIMES * SMALL_BYTES, old, great);
  for (int i = old ? QUESTIONS - OF_SEVERAL : 0; i < QUESTIONS; i++) {
    double times = (double)great[i] / (double)(small[i] + 1);
    too_much[i] = too_much[i] && times > MOST_TIMES && great[i] > LITTLE;
    if (too_much[i])
      printf("%s, %s: %llu, then %llu: %.1f times\n", family->name, questions[i].name,
             (unsigned long long)small[i], (unsigned long long)great[i], times);
  }
}

static size_t count_too_much(const heap_family *family, bool old) {
  bool too_much[QUESTIONS] = {false};
  size_t n = 1;
  for (int i = old ? QUESTIONS - OF_SEVERAL : 0; i < QUESTIONS; i++) too_much[i] = true;
  for (int attempt = 0; n > 0 && attempt < ATTEMPTS; attempt++) {
    check_family(family, old, too_much);
    n = 0;
    for (int i = 0; i < QUESTIONS; i++) n += too_much[i];
  }
  return n;
}

static void work_grows_as_the_file_does(void **state) {
  size_t n_too_much = 0, n_cases = family_count() * (QUESTIONS + OF_SEVERAL);
  (void)state;
  for (size_t i = 0; i < family_count(); i++) {
    n_too_much += count_too_much(family_number(i), false);
    n_too_much += count_too_much(family_number(i), true);
  }
  assert_int_equal(n_too_much, 0);
  printf("faults: four times the file, its work at most %.0f times: %zu cases, %zu survived\n",
         MOST_TIMES, n_cases, n_cases);
}

static const heap_family *family_called(const char *name) {
  for (size_t i = 0; i < family_count(); i++)
    if (strcmp(family_number(i)->name, name) == 0) return family_number(i);
  fail_msg("there is no family '%s'", name);
  return NULL;
}

/* The work of finding all objects that a pattern fits. */
static uint64_t work_of_pattern(lh_snapshot *s, const char *pattern) {
  lh_id *ids;
  size_t n;
  uint64_t before = work_done;
  assert_int_equal(lh_find_all(s, pattern, &ids, &n, NULL), LH_OK);
  assert_true(n > 10000);
  lh_free(ids);
  return work_done - before;
}

/* It is compared with the name of each class some times, however many objects there are; neighbours
** in this family are of different classes. */
static void a_long_pattern_is_not_compared_for_each_object(void **state) {
  enum { STARS = 20000, TIMES_OF_ALL = 40, TIMES_OF_A_CLASS = 10 };
  char stars[STARS + 1] = "";
  const heap_family *family = family_called("maps of records");
  forge file;
  lh_snapshot *s;
  (void)state;
  memset(stars, '*', STARS);
  family_make(&file, family, family_scale(family, 16 * SMALL_BYTES), 1, 1);
  assert_int_equal(lh_open_memory(&s, file.data, file.size, "f", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  uint64_t most = STARS * (TIMES_OF_ALL + TIMES_OF_A_CLASS * (uint64_t)lh_class_count(s));
  assert_true(work_of_pattern(s, stars) < work_of_pattern(s, "*") + most);
  lh_close(s);
  forge_free(&file);
}

/* What a report asks of three snapshots, in basic blocks for each byte of the three files. */
static double work_of_comparing(const char *family) {
  enum { LADDERS = 2 }; /* of all snapshots, of the first and last */
  run r = {.family = family};
  uint64_t bytes = 0;
  for (unsigned i = 0; i < 3; i++) {
    const heap_family *of = family_called(family);
    family_make(&r.files[i], of, family_scale(of, TIMES * SMALL_BYTES), i + 1, 1);
    assert_int_equal(lh_open_memory(&r.at[i], r.files[i].data, r.files[i].size, "f", NULL), LH_OK);
    assert_int_equal(lh_analyse(r.at[i], NULL), LH_OK);
    assert_int_equal(lh_classify(r.at[i], NULL), LH_OK);
    bytes += r.files[i].size;
  }
  uint64_t before = work_done;
  ask_leaks(&r);
  ask_diff(&r);
  for (int i = 0; i < LADDERS; i++) ask_ladder(&r);
  uint64_t work = work_done - before;
  for (int i = 0; i < 3; i++) {
    lh_close(r.at[i]);
    forge_free(&r.files[i]);
  }
  return (double)work / (double)bytes;
}

/* Each object of these families has a place of its own, up to 256 steps from its base. A block
** takes about a nanosecond, and a report may take 2 us a byte. */
static void many_places_are_compared_in_little_work(void **state) {
  enum { MOST_BLOCKS = 800 };
  static const char *const families[] = {
      "a list, each step under its own name", "a list, each step under its own long name",
      "a ring of classes", "a tree of names", "weak tables in each other"};
  (void)state;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    double work = work_of_comparing(families[i]);
    if (work > MOST_BLOCKS) fail_msg("%s: %.0f blocks a byte", families[i], work);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_grows_as_the_file_does),
      cmocka_unit_test(many_places_are_compared_in_little_work),
      cmocka_unit_test(a_long_pattern_is_not_compared_for_each_object)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
