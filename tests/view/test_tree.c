/*
** test_tree.c - the tiles of pictures against their definition on random heaps: whatever tree,
** part, interval and number of tiles is asked for, those below a tile add up to it, the biggest
** are shown, and a group has the bytes that a walk up the dominators of each object gives it. Then
** chains, and an allocation that fails.
**
** A failure prints the seed of its heap: run the program with it as its argument to see only that
** one.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "random_heap.h"
#include "rooms/all.h"
#include "view/answers.h"
#include "view/tree.h"

static unsigned long only_seed;

typedef struct trial {
  unsigned long seed;
  random_heap heap;
  forge file;
  lh_snapshot *s;
  lh_tiles_query query;
  lh_tiles tiles;
} trial;

#define check(t, condition)                                                         \
  do {                                                                              \
    if (!(condition))                                                               \
      fail_msg("seed %lu, %s of %s: %s", (t)->seed, lh_tree_by_name((t)->query.by), \
               (t)->query.of ? (t)->query.of : "root", #condition);                 \
  } while (0)

static trial begin_trial(unsigned long seed) {
  trial t = {.seed = seed, .heap = random_heap_make(seed)};
  t.query = (lh_tiles_query){.depth = 100, .interval = LH_EVER};
  t.s = random_heap_open(&t.heap, &t.file);
  assert_non_null(t.s);
  assert_int_equal(lh_analyse(t.s, NULL), LH_OK);
  assert_int_equal(lh_classify(t.s, NULL), LH_OK);
  return t;
}

static void end_trial(trial *t) {
  lh_close(t->s);
  forge_free(&t->file);
}

/* ==== The definition ================================================================= */

/* Of what `id` dominates, itself included, what was allocated in the interval. */
static uint64_t bytes_below(const trial *t, lh_id id) {
  uint64_t bytes = 0;
  for (lh_id v = 1; v <= t->s->n; v++) {
    lh_id at = v;
    if (!lh_is_reachable(t->s, v) || !lh_in_interval(t->s, t->query.interval, v)) continue;
    while (at != id && at != LH_ROOT) at = t->s->idom[at];
    if (at == id) bytes += lh_shallow_bytes(t->s, v);
  }
  return bytes;
}

enum { NAME_BYTES = 24 };

/* What the object is called among those of its group: no such heap has upvalues. */
static void add_name(const trial *t, lh_id id, char *name) {
  if (t->query.by == LH_TREE_OF_PLACES) {
    const lh_group_tree *groups = t->s->trees->groups[1];
    const lh_place *place = &groups->places.list[groups->list[groups->of[id]].what];
    const char *path = groups->places.texts.texts[place->path];
    (void)snprintf(name, NAME_BYTES, "%llx %d", (unsigned long long)lh_hash(path, strlen(path), 0),
                   lh_type_of(t->s, id));
  } else {
    (void)snprintf(name, NAME_BYTES, "%u", lh_class_of(t->s, id));
  }
}

/* The names from the root to the object's group, each once where it follows itself. */
static void group_text(const trial *t, lh_id id, char *text) {
  lh_id way[RANDOM_MOST_OBJECTS + 2];
  char name[NAME_BYTES], last[NAME_BYTES] = "";
  size_t n = 0;
  for (lh_id at = t->s->trees->lists.top[id]; at != LH_ROOT;
       at = t->s->trees->lists.top[t->s->idom[at]])
    way[n++] = at;
  for (*text = '\0'; n-- > 0; memcpy(last, name, sizeof last)) {
    add_name(t, way[n], name);
    if (strcmp(name, last) == 0) continue;
    strcat(text, "/");
    strcat(text, name);
  }
}

/* ==== What tiles have in common ======================================================= */

static const lh_tile *above_of(const trial *t, const lh_tile *tile) {
  uint32_t depth = tile->depth;
  while (tile->depth >= depth) tile--;
  return tile >= t->tiles.list ? tile : NULL;
}

/* Those below a tile add up to it, in the order of their bytes, its own first and the rest last. */
static void check_sums(const trial *t, const lh_tile *tile) {
  const lh_tile *end = t->tiles.list + t->tiles.n, *last = NULL;
  uint64_t bytes = 0, n = 0;
  for (const lh_tile *at = tile + 1; at < end && at->depth > tile->depth; at++) {
    if (at->depth > tile->depth + 1) continue;
    bool is_own = at->kind == LH_TILE_OWN || at->kind == LH_TILE_SHARED;
    bytes += at->bytes;
    check(t, at->bytes > 0 && above_of(t, at) == tile);
    check(t, !is_own || n == 0);
    check(t, !last || last->kind < LH_TILE_REST);
    check(t, !last || last->kind >= LH_TILE_SHARED || at->kind == LH_TILE_REST ||
                 last->bytes >= at->bytes);
    last = at;
    n++;
  }
  check(t, n == 0 || bytes == tile->bytes);
  check(t, n == 0 || tile->opens);
  check(t, n == 0 || tile->kind < LH_TILE_SHARED);
}

static bool is_in_tree(const lh_tile *tile) {
  return tile->kind < LH_TILE_SHARED;
}

static void check_tiles(const trial *t) {
  size_t n = 0;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < t->tiles.n; i++) {
    const lh_tile *tile = &t->tiles.list[i];
    check_sums(t, tile);
    check(t, tile->depth <= t->query.depth);
    check(t, (tile->key[0] != '\0') == is_in_tree(tile));
    n += is_in_tree(tile) && i > 0;
    if (is_in_tree(tile) && tile->bytes < least) least = tile->bytes;
  }
  if (t->query.limit == 0)
    for (size_t i = 0; i < t->tiles.n; i++) check(t, t->tiles.list[i].kind != LH_TILE_REST);
  else
    check(t, n <= 2 * t->query.limit); /* each that is opened may have a single one more */
}

/* In a tree of objects a tile is what the object dominates. */
static void check_objects(const trial *t) {
  const lh_lists *lists = &t->s->trees->lists;
  for (size_t i = 0; i < t->tiles.n; i++) {
    const lh_tile *tile = &t->tiles.list[i], *above = i > 0 ? above_of(t, tile) : NULL;
    if (!is_in_tree(tile)) continue;
    check(t, tile->bytes == bytes_below(t, tile->id));
    check(t, !above || (above->id == LH_ROOT && t->query.by == LH_TREE_OF_MODULES) ||
                 lists->top[t->s->idom[tile->id]] == lists->top[above->id]);
    check(t, !tile->has_edge || tile->edge.target == tile->id);
  }
}

/* In a tree of groups a tile is all objects whose text begins with its own. */
static void check_groups(const trial *t) {
  static char texts[RANDOM_MOST_OBJECTS + 2][RANDOM_MOST_OBJECTS * (NAME_BYTES + 1)];
  for (lh_id id = 1; id <= t->s->n; id++)
    if (lh_is_reachable(t->s, id)) group_text(t, id, texts[id]);
  for (size_t i = 0; i < t->tiles.n; i++) {
    const lh_tile *tile = &t->tiles.list[i];
    uint64_t bytes = 0, own = 0;
    if (!is_in_tree(tile)) continue;
    const char *text = tile->id == LH_ROOT ? "" : texts[tile->id];
    size_t n = strlen(text);
    for (lh_id id = 1; id <= t->s->n; id++) {
      if (!lh_is_reachable(t->s, id) || strncmp(texts[id], text, n) != 0) continue;
      if (texts[id][n] != '/' && texts[id][n] != '\0') continue;
      if (texts[id][n] == '\0') own += lh_shallow_bytes(t->s, id);
      if (lh_in_interval(t->s, t->query.interval, id)) bytes += lh_shallow_bytes(t->s, id);
    }
    check(t, tile->bytes == bytes && tile->shallow_bytes == own);
  }
}

static void ask_tiles(trial *t) {
  lh_error error;
  int code = lh_find_tiles(t->s, &t->query, &t->tiles, &error);
  if (code != LH_OK) fail_msg("seed %lu: %s", t->seed, error.message);
  check_tiles(t);
  if (t->query.by == LH_TREE_OF_OBJECTS || t->query.by == LH_TREE_OF_MODULES)
    check_objects(t);
  else
    check_groups(t);
}

/* ==================================================================================== */

/* Each tile is asked for by its key, and is the same then; and the way to it is told. */
static void ask_for_each(trial *t) {
  lh_tiles all = t->tiles;
  for (size_t i = 0; i < all.n; i++) {
    if (!is_in_tree(&all.list[i])) continue;
    t->query.of = all.list[i].key;
    ask_tiles(t);
    const lh_tile *top = t->tiles.list;
    check(t, top->id == all.list[i].id && top->bytes == all.list[i].bytes && top->depth == 0);
    check(t, i > 0 || t->tiles.n_above == 0);
    check(t, i == 0 || t->tiles.n_above == all.list[i].depth);
    if (i > 0) assert_string_equal(t->tiles.above[0].key, "root");
    lh_tiles_free(&t->tiles);
  }
  t->query.of = NULL;
  lh_tiles_free(&all);
}

static int compare_bytes(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a < b) - (a > b);
}

/* The bytes of all tiles, biggest first, without those of their objects alone and of what is not
** shown. */
static size_t list_bytes(const trial *t, uint64_t *bytes) {
  size_t n = 0;
  for (size_t i = 0; i < t->tiles.n; i++)
    if (is_in_tree(&t->tiles.list[i])) bytes[n++] = t->tiles.list[i].bytes;
  qsort(bytes, n, sizeof *bytes, compare_bytes);
  return n;
}

/* Those that are shown are the biggest of all. */
static void check_biggest(trial *t) {
  uint64_t shown[RANDOM_MOST_OBJECTS + 2], all[RANDOM_MOST_OBJECTS + 2];
  size_t limit = t->query.limit, n_shown = list_bytes(t, shown);
  lh_tiles_free(&t->tiles);
  t->query.limit = 0;
  ask_tiles(t);
  size_t n = list_bytes(t, all);
  check(t, n_shown >= (n < limit + 1 ? n : limit + 1));
  for (size_t i = 0; i < n && i < limit + 1; i++) check(t, shown[i] == all[i]);
}

static void ask_with(trial *t, size_t limit, uint32_t depth, lh_interval interval) {
  t->query.limit = limit;
  t->query.depth = depth;
  t->query.interval = interval;
  ask_tiles(t);
  if (limit > 0) check_biggest(t);
  lh_tiles_free(&t->tiles);
}

static void tiles_are_those_of_the_definition(void **state) {
  (void)state;
  static const lh_interval ever = LH_EVER;
  for (unsigned long seed = 1; seed <= 1500; seed++) {
    if (only_seed && seed != only_seed) continue;
    trial t = begin_trial(seed);
    uint64_t random = seed;
    for (lh_tree_by by = LH_TREE_OF_OBJECTS; by <= LH_TREE_OF_MODULES; by++) {
      t.query.by = by;
      t.query.limit = 0;
      t.query.depth = 100;
      t.query.interval = ever;
      ask_tiles(&t);
      check(&t, t.tiles.whole_bytes == t.s->reach.reachable_bytes);
      ask_for_each(&t);
      ask_with(&t, 1 + random_below(&random, 10), 100, ever);
      ask_with(&t, 0, random_below(&random, 4), ever);
      uint64_t since = random_below(&random, t.s->n), until = since + random_below(&random, 20);
      ask_with(&t, 1 + random_below(&random, 10), 100, (lh_interval){since, until});
      ask_with(&t, 0, 100, (lh_interval){0, until});
    }
    end_trial(&t);
  }
}

/* ==== A program ====================================================================== */

/* A list of 100,000 elements is one thing; a chain as long, in which none is like those before it,
** is not, and is cut. What is wide has the biggest shown. */
static const char program[] =
    "local heap = ...\n"
    "list, chain, wide = nil, {}, {}\n"
    "for i = 1, 100000 do list = {value = i, next = list} end\n"
    "for i = 1, 100000 do chain = {['k' .. i % 12] = chain, n = i} end\n"
    "for i = 1, 5000 do wide[i] = ('x'):rep(100 + i) .. i end\n"
    "queue = nil\n"
    "for i = 1, 1000 do queue = {held = {('z'):rep(i % 37) .. i}, behind = queue} end\n"
    "heap()\n"
    "fresh = {}\n"
    "for i = 1, 300 do queue = {held = {('z'):rep(i % 41) .. -i}, behind = queue} end\n"
    "for i = 1, 1000 do fresh[i] = {('y'):rep(50) .. i} end\n"
    "wide[5001] = {}\n";

static forge_bytes files[2];

static int take_first(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT, 0);
  return lh_stream_snapshot(L, "a", forge_write, &files[0], NULL, NULL, NULL);
}

static int write_snapshots(void **state) {
  (void)state;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  bool ok = luaL_loadstring(L, program) == LUA_OK && lh_attach(L, NULL) == LH_OK;
  lua_pushcfunction(L, take_first);
  ok = ok && lua_pcall(L, 1, 0, 0) == LUA_OK;
  lua_gc(L, LUA_GCCOLLECT, 0);
  ok = ok && lh_stream_snapshot(L, "c", forge_write, &files[1], NULL, NULL, NULL) == LH_OK;
  lua_close(L);
  return ok ? 0 : -1;
}

static int free_snapshots(void **state) {
  (void)state;
  free(files[0].data);
  free(files[1].data);
  return 0;
}

static lh_snapshot *open_file(const forge_bytes *file) {
  lh_snapshot *s;
  assert_int_equal(lh_open_memory(&s, file->data, file->size, "s", NULL), LH_OK);
  assert_int_equal(lh_analyse(s, NULL), LH_OK);
  assert_int_equal(lh_classify(s, NULL), LH_OK);
  return s;
}

static const lh_tile *tile_under(const lh_snapshot *s, const lh_tiles *tiles, const char *steps) {
  for (size_t i = 0; i < tiles->n; i++) {
    char *text = lh_tile_steps(s, &tiles->list[i]);
    bool found = strcmp(text, steps) == 0;
    lh_free(text);
    if (found) return &tiles->list[i];
  }
  fail_msg("no tile %s", steps);
  return NULL;
}

static lh_id object_at(lh_snapshot *s, const char *path) {
  lh_found found;
  assert_int_equal(lh_find(s, path, &found, NULL), LH_OK);
  return found.id;
}

static lh_tiles tiles_of(lh_snapshot *s, lh_tree_by by, const char *of, uint32_t depth,
                         size_t limit) {
  lh_tiles_query query = {.by = by, .of = of, .depth = depth, .limit = limit, .interval = LH_EVER};
  lh_tiles tiles;
  lh_error error;
  if (lh_find_tiles(s, &query, &tiles, &error) != LH_OK) fail_msg("%s", error.message);
  return tiles;
}

/* The element behind: the only one of its class below. */
static lh_id object_at_next(lh_snapshot *s, lh_id id) {
  const lh_tree *tree = lh_dominator_tree(s);
  for (uint32_t p = lh_first_child(tree, id); p < lh_end_of(tree, id); p = tree->end[p])
    if (lh_class_of(s, tree->order[p]) == lh_class_of(s, id)) return tree->order[p];
  fail_msg("object %u is the last", id);
  return LH_NO_OBJECT;
}

static void key_of(const lh_snapshot *s, lh_id id, char key[LH_TILE_KEY_BYTES]) {
  (void)snprintf(key, LH_TILE_KEY_BYTES, "0x%llx", (unsigned long long)lh_pointer_of(s, id));
}

static void a_list_is_one_thing(void **state) {
  (void)state;
  lh_snapshot *s = open_file(&files[1]);
  char key[LH_TILE_KEY_BYTES];
  key_of(s, object_at(s, "_G.list"), key);
  lh_tiles tiles = tiles_of(s, LH_TREE_OF_OBJECTS, key, 3, 10);
  assert_int_equal(tiles.n, 4); /* itself, and below it the last element and a key */
  assert_int_equal(tiles.list[1].kind, LH_TILE_OWN);
  assert_int_equal(tiles.list[0].kind, LH_TILE_LIST);
  assert_int_equal(tiles.list[0].objects,
                   99999); /* the last has no next, and is of another class */
  lh_tiles_free(&tiles);
  tiles = tiles_of(s, LH_TREE_OF_PLACES, NULL, 10, 100);
  assert_int_equal(tile_under(s, &tiles, ".list")->objects, 99999);
  assert_string_equal(tile_under(s, &tiles, ".list")->path, "_G.list");
  lh_tiles_free(&tiles);
  lh_close(s);
}

/* What is below the elements of the list from `id` on, by the definition: sorted, biggest first. */
static size_t list_below(const lh_snapshot *s, lh_id id, uint64_t *bytes, uint64_t *sum) {
  const lh_id *top = s->trees->lists.top;
  size_t n = 0;
  *sum = 0;
  for (lh_id v = 1; v <= s->n; v++) {
    if (!lh_is_reachable(s, v) || top[v] == top[id] || top[s->idom[v]] != top[id]) continue;
    lh_id at = v;
    while (at != id && at != LH_ROOT) at = s->idom[at];
    if (at != id) continue;
    bytes[n++] = s->retained[v];
    *sum += s->retained[v];
  }
  qsort(bytes, n, sizeof *bytes, compare_bytes);
  return n;
}

/* The picture of each element of a long list has all that is below those behind it. */
static void elements_of_a_list_show_what_is_behind(void **state) {
  enum { SHOWN = 10, STEPS = 13 };
  (void)state;
  lh_snapshot *first = open_file(&files[0]), *s = open_file(&files[1]);
  lh_id id = object_at(s, "_G.queue");
  uint64_t *bytes = malloc(((size_t)s->n + 1) * sizeof *bytes), sum;
  for (unsigned i = 0; bytes && i < 1290; i++, id = object_at_next(s, id)) {
    if (i % STEPS != 0) continue;
    char key[LH_TILE_KEY_BYTES];
    key_of(s, id, key);
    lh_tiles_query query = {
        .of = key, .depth = 1, .limit = SHOWN, .interval = LH_EVER, .first = i % 2 ? first : NULL};
    lh_tiles tiles;
    assert_int_equal(lh_find_tiles(s, &query, &tiles, NULL), LH_OK);
    size_t n = list_below(s, id, bytes, &sum), n_shown = 0;
    for (size_t k = 1; k < tiles.n; k++) {
      const lh_tile *tile = &tiles.list[k];
      if (tile->kind == LH_TILE_OWN) continue;
      if (tile->kind != LH_TILE_REST) assert_int_equal(tile->bytes, bytes[n_shown++]);
      sum -= tile->bytes;
    }
    assert_int_equal(sum, 0);
    assert_int_equal(n_shown, n > SHOWN + 1 ? SHOWN : n);
    lh_tiles_free(&tiles);
  }
  free(bytes);
  lh_close(first);
  lh_close(s);
}

/* However deep, there are so many tiles only, and the way to the deepest is told by its ends. */
static void a_long_chain_ends(void **state) {
  (void)state;
  lh_snapshot *s = open_file(&files[1]);
  lh_tiles tiles = tiles_of(s, LH_TREE_OF_CLASSES, NULL, UINT32_MAX, 0);
  uint32_t depth = 0;
  for (size_t i = 0; i < tiles.n; i++)
    if (tiles.list[i].depth > depth) depth = tiles.list[i].depth;
  assert_in_range(depth, 100, 250);
  lh_tiles_free(&tiles);
  char key[LH_TILE_KEY_BYTES];
  lh_id id = object_at(s, "_G.chain");
  for (uint32_t i = 0; i < 99990; i++) {
    const lh_tree *tree = lh_dominator_tree(s);
    uint32_t end = lh_end_of(tree, id), p = lh_first_child(tree, id);
    for (; p < end; p = tree->end[p]) id = tree->order[p];
  }
  key_of(s, id, key);
  tiles = tiles_of(s, LH_TREE_OF_OBJECTS, key, 3, 10);
  assert_int_equal(tiles.n_above, 24);
  assert_int_equal(tiles.above[11].depth, 11);
  assert_in_range(tiles.above[12].depth, 99980, 99992);
  lh_tiles_free(&tiles);
  lh_close(s);
}

/* Of 5,001 the ten biggest, and the others as one. */
static void the_rest_is_told(void **state) {
  (void)state;
  lh_snapshot *s = open_file(&files[1]);
  char key[LH_TILE_KEY_BYTES];
  lh_id wide = object_at(s, "_G.wide");
  key_of(s, wide, key);
  lh_tiles tiles = tiles_of(s, LH_TREE_OF_OBJECTS, key, 3, 10);
  assert_int_equal(tiles.n, 13);
  assert_int_equal(tiles.list[1].kind, LH_TILE_OWN);
  assert_int_equal(tiles.list[1].bytes, lh_shallow_bytes(s, wide));
  for (size_t i = 2; i < 12; i++) {
    assert_true(tiles.list[i].has_edge);
    assert_int_equal(tiles.list[i].edge.key.as.integer, 5002 - (int)i);
  }
  assert_int_equal(tiles.list[12].kind, LH_TILE_REST);
  assert_int_equal(tiles.list[12].objects, 5001 - 10);
  lh_tiles_free(&tiles);
  lh_close(s);
}

/* What is new since the first snapshot, and what was there before, by place. */
static void changes_are_told(void **state) {
  (void)state;
  lh_snapshot *a = open_file(&files[0]), *c = open_file(&files[1]);
  lh_tiles_query query = {
      .by = LH_TREE_OF_PLACES, .depth = 10, .interval = LH_EVER, .first = a, .before = a};
  lh_tiles tiles;
  assert_int_equal(lh_find_tiles(c, &query, &tiles, NULL), LH_OK);
  const lh_tile *fresh = tile_under(c, &tiles, ".fresh"), *wide = tile_under(c, &tiles, ".wide");
  const lh_tile *list = tile_under(c, &tiles, ".list"), *root = tiles.list;
  assert_int_equal(root->before_bytes, a->reach.reachable_bytes);
  assert_int_equal(tiles.before_bytes, a->reach.reachable_bytes);
  assert_true(fresh->has_new && fresh->new_bytes == fresh->bytes && fresh->before_bytes == 0);
  assert_int_equal(list->before_bytes, lh_retained_bytes(a, object_at(a, "_G.list")));
  assert_int_equal(list->new_bytes, 0);
  assert_int_equal(wide->before_bytes, lh_retained_bytes(a, object_at(a, "_G.wide")));
  assert_true(wide->before_bytes < wide->bytes && wide->new_bytes == 56);
  assert_true(fresh->position > list->position && list->position >= 0);
  lh_tiles_free(&tiles);
  lh_close(a);
  lh_close(c);
}

static void wrong_keys_are_told(void **state) {
  (void)state;
  static const struct {
    lh_tree_by by;
    const char *of;
    int code;
  } wrong[] = {{LH_TREE_OF_OBJECTS, "", LH_EARGUMENT},
               {LH_TREE_OF_OBJECTS, "0123456789abcdef", LH_EARGUMENT},
               {LH_TREE_OF_OBJECTS, "0x", LH_EARGUMENT},
               {LH_TREE_OF_OBJECTS, "0x1", LH_ENOTFOUND},
               {LH_TREE_OF_OBJECTS, "-0x1", LH_EARGUMENT},
               {LH_TREE_OF_CLASSES, "0x1", LH_EARGUMENT},
               {LH_TREE_OF_CLASSES, "0123456789abcdef", LH_ENOTFOUND},
               {LH_TREE_OF_PLACES, "root ", LH_EARGUMENT}};
  lh_snapshot *s = open_file(&files[0]);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lh_tiles_query query = {.by = wrong[i].by, .of = wrong[i].of, .interval = LH_EVER};
    lh_tiles tiles;
    lh_error error;
    assert_int_equal(lh_find_tiles(s, &query, &tiles, &error), wrong[i].code);
    assert_true(strlen(error.message) > 5);
  }
  lh_close(s);
}

/* ==================================================================================== */

/* Whichever allocation fails: an error, and then the same tiles as ever. */
static void memory_may_run_out(void **state) {
  (void)state;
  trial t = begin_trial(7);
  for (lh_tree_by by = LH_TREE_OF_OBJECTS; by <= LH_TREE_OF_MODULES; by++) {
    int code = LH_EMEMORY;
    t.query = (lh_tiles_query){.by = by, .depth = 100, .limit = 5, .interval = {1, 20}};
    for (uint64_t n = 1; code == LH_EMEMORY; n++) {
      forge file;
      lh_snapshot *s = random_heap_open(&t.heap, &file);
      assert_int_equal(lh_analyse(s, NULL), LH_OK);
      assert_int_equal(lh_classify(s, NULL), LH_OK);
      (void)lh_test_fail_allocation(n);
      code = lh_find_tiles(s, &t.query, &t.tiles, NULL);
      (void)lh_test_fail_allocation(0);
      if (code == LH_OK) lh_tiles_free(&t.tiles);
      if (code != LH_OK) assert_int_equal(code, LH_EMEMORY);
      if (code != LH_OK) assert_int_equal(lh_find_tiles(s, &t.query, &t.tiles, NULL), LH_OK);
      if (code != LH_OK) lh_tiles_free(&t.tiles);
      lh_close(s);
      forge_free(&file);
    }
  }
  end_trial(&t);
}

int main(int argc, char **argv) {
  if (argc > 1) only_seed = strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_are_those_of_the_definition),
      cmocka_unit_test(a_list_is_one_thing),
      cmocka_unit_test(elements_of_a_list_show_what_is_behind),
      cmocka_unit_test(a_long_chain_ends),
      cmocka_unit_test(the_rest_is_told),
      cmocka_unit_test(changes_are_told),
      cmocka_unit_test(wrong_keys_are_told),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, write_snapshots, free_snapshots);
}
