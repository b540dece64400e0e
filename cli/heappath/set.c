/*
** set.c - why a whole set of objects is alive: the merged paths of all of them, as one tree. The
** tree is the library's (lh_merge_paths); here is which objects are meant, and the text.
*/
#include <string.h>

#include "heappath.h"

/* Without -n. */
enum { USUAL_ROWS = 20, USUAL_BOXES = 30 };

/* Of the paths by which most are held so many are told, and one more if it is the last; in one
** sentence if it is short. */
enum { MOST_TOLD = 3, LONG_SENTENCE = 80 };

/* {=== The objects ==================================================================== */

static _Noreturn void say_no(cli *c, const request *r, const char *message) {
  cli_say(c, "%s: %s", r->file, message);
  exit(cli_finish(c, CLI_NO));
}

/* Freed by lh_free, but those of a query by free. */
static object_set find_objects(cli *c, const request *r, lh_snapshot *snapshot, bool query) {
  object_set set = {NULL, 0};
  lh_error error;
  int code = LH_OK;
  if (query)
    find_by_query(c, r->file, snapshot, r->set, &set);
  else if (lh_is_fingerprint(r->set))
    code = lh_objects_with(snapshot, r->set, &set.ids, &set.n, &error);
  else
    code = lh_find_all(snapshot, r->set, &set.ids, &set.n, &error);
  if (code == LH_ENOTFOUND) say_no(c, r, error.message);
  if (code == LH_EARGUMENT) cli_usage_error(c, "%s", error.message);
  cli_check(c, code, r->file, &error);
  if (set.n == 0) say_no(c, r, "the query names no object");
  return set;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

/* "198 Listener tables", "198 objects" */
static char *things(cli *c, const lh_snapshot *snapshot, uint32_t class_index, uint64_t objects) {
  if (class_index != UINT32_MAX) return cli_things(c, snapshot, class_index, objects);
  return cli_must(strdup(cli_count_of(c, objects, "object", "objects")));
}

/* "upvalue s of function @app.lua:7 (through _G.bus[*])", or "(12 of them through _G.bus[*])" */
static void print_holder(FILE *out, cli *c, const lh_holder *holder) {
  fprintf(out, "%s", holder->path);
  if (holder->through == NULL) return;
  fputs(" (", out);
  if (holder->through_objects < holder->objects)
    fprintf(out, "%s of them ", cli_count(c, holder->through_objects));
  fprintf(out, "through %s)", holder->through);
}

/* "198 are held by _G.bus.listeners.tick[*], 2 by registry[*] and 3 by 2 other paths"; with `lines`
** each on a line of its own. */
static char *holders_text(cli *c, const lh_ways *ways, bool lines) {
  const uint32_t most = ways->total_holders == MOST_TOLD + 1 ? MOST_TOLD + 1 : MOST_TOLD;
  const uint32_t n = ways->n_holders < most ? ways->n_holders : most;
  const char *between = lines ? "\n    " : ", ", *last = lines ? between : " and ";
  uint64_t left = ways->objects;
  char *text = NULL;
  size_t size;
  FILE *out = cli_must(open_memstream(&text, &size));
  for (uint32_t i = 0; i < n; i++) {
    uint64_t objects = ways->holders[i].objects;
    bool all = objects == ways->objects, one = objects == 1;
    fprintf(out, "%s%s%s by ", i > 0 || lines ? between : " ", all ? "" : cli_count(c, objects),
            i > 0        ? ""
            : all && one ? "held"
            : all        ? "all are held"
            : one        ? " is held"
                         : " are held");
    print_holder(out, c, &ways->holders[i]);
    left -= objects;
  }
  if (left > 0)
    fprintf(out, "%s%s by %s other paths", last, cli_count(c, left),
            cli_count(c, ways->total_holders - n));
  if (fclose(out) != 0) cli_must(NULL);
  return text;
}

/* "(all of them also by _G.by_name[*])": so a cut of what was named does not free these. */
static void print_elsewhere(cli *c, const lh_ways *ways) {
  uint64_t n = ways->objects_elsewhere;
  if (n == 0) return;
  if (ways->objects == 1)
    printf("\n(also by ");
  else
    printf("\n(%s of them also by ", n == ways->objects ? "all" : cli_count(c, n));
  print_holder(stdout, c, &ways->elsewhere);
  printf("%s)", ways->elsewhere.objects < n ? " and others" : "");
}

static void print_answer(cli *c, const lh_snapshot *snapshot, const lh_ways *ways) {
  char *what = things(c, snapshot, ways->class_index, ways->objects);
  char *holders = holders_text(c, ways, false);
  if (ways->total_holders > 1 && strlen(what) + strlen(holders) > LONG_SENTENCE) {
    free(holders);
    holders = holders_text(c, ways, true);
  }
  printf("%s%s %s %s%s:%s", cli_style_on(c, CLI_BOLD), what,
         ways->objects == 1 ? "retains" : "retain", cli_size(c, ways->bytes),
         ways->objects == 1 ? "" : " together", holders);
  print_elsewhere(c, ways);
  printf("%s\n", cli_style_off(c));
  free(holders);
  free(what);
}

/* Garbage of the set, whose bytes are in no row. */
static const char *garbage_text(const request *r) {
  return r->n_ignored > 0 ? "garbage or held by what is ignored only"
                          : "garbage that was not yet collected";
}

static void print_garbage(cli *c, const request *r, const lh_ways *ways) {
  if (ways->garbage_objects == 0) return;
  printf("%s more %s %s, %s\n", cli_count(c, ways->garbage_objects),
         ways->garbage_objects == 1 ? "is" : "are", garbage_text(r),
         cli_size(c, ways->garbage_bytes));
}

/* What is there; NULL where that is known: the class of the set, or one that the steps tell. */
static char *row_things(cli *c, const lh_snapshot *snapshot, const lh_ways *ways,
                        const lh_way *way) {
  if (way->id == LH_ROOT) return NULL;
  if (way->through == way->here && way->class_index == ways->class_index) return NULL;
  if (way->through > 1) return things(c, snapshot, way->class_index, way->through);
  char *what = cli_what(snapshot, way->id);
  if (strstr(what, way->steps) == NULL) return what;
  free(what);
  return NULL;
}

/* .listeners.tick[*]: 198 Listener tables */
static char *row_text(cli *c, const lh_snapshot *snapshot, const lh_ways *ways, const lh_way *way) {
  char *text = NULL, *what = NULL;
  size_t size;
  FILE *out = cli_must(open_memstream(&text, &size));
  if (way->hidden > 0) {
    fprintf(out, "... %s more", cli_count(c, way->hidden));
  } else {
    what = row_things(c, snapshot, ways, way);
    fprintf(out, "%s%s%s", way->steps, what != NULL ? ": " : "", what != NULL ? what : "");
    if (way->here > 0 && way->here < way->objects)
      fprintf(out, " (%s here)", cli_count(c, way->here));
  }
  if (fclose(out) != 0) cli_must(NULL);
  free(what);
  return text;
}

static void print_tree(cli *c, const lh_snapshot *snapshot, const lh_ways *ways) {
  static const cli_column columns[] = {{"retained", CLI_RIGHT},
                                       {"share", CLI_RIGHT},
                                       {"objects", CLI_RIGHT},
                                       {"held by way of", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  cli_tree tree;
  cli_tree_begin(&tree, ways->n_rows);
  for (size_t i = 0; i < ways->n_rows; i++) tree.depths[i] = ways->rows[i].depth;
  for (size_t i = 0; i < ways->n_rows; i++) {
    const lh_way *way = &ways->rows[i];
    char *text = row_text(c, snapshot, ways, way), *line = cli_tree_line(c, &tree, i, text);
    const char *cells[] = {cli_size(c, way->bytes), cli_share(c, way->bytes, ways->bytes),
                           cli_count(c, way->objects), line};
    cli_table_row(table, cells, way->hidden > 0 ? CLI_FAINT : CLI_PLAIN);
    free(line);
    free(text);
  }
  cli_tree_end(&tree);
  cli_table_print(table);
}

static void print(cli *c, const request *r, const lh_snapshot *snapshot, const lh_ways *ways) {
  uint64_t hidden = 0;
  print_answer(c, snapshot, ways);
  print_ignored(c, r);
  print_garbage(c, r, ways);
  putchar('\n');
  print_tree(c, snapshot, ways);
  for (size_t i = 0; i < ways->n_rows; i++) hidden += ways->rows[i].hidden;
  if (hidden > 0) printf("%s-n 0 shows all%s\n", cli_style_on(c, CLI_FAINT), cli_style_off(c));
}

/* Text goes where the answer is expected; a graph of nothing is none, so there it is said aside. */
static void print_none(cli *c, const request *r, const lh_ways *ways) {
  const char *objects = cli_count_of(c, ways->garbage_objects, "object", "objects");
  if (r->format == FORMAT_DOT)
    cli_say(c, "nothing keeps %s alive: %s, %s", r->set, objects, garbage_text(r));
  if (r->format != FORMAT_TEXT) return;
  printf("%snothing keeps them alive:%s %s, %s, %s\n", cli_style_on(c, CLI_BOLD), cli_style_off(c),
         objects, cli_size(c, ways->garbage_bytes), garbage_text(r));
  print_ignored(c, r);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *class_json(const lh_snapshot *snapshot, uint32_t class_index) {
  return class_index == UINT32_MAX ? json_null()
                                   : json_string(lh_class_at(snapshot, class_index)->name);
}

static json_t *row_json(cli *c, const lh_snapshot *snapshot, const lh_way *way) {
  json_t *json =
      cli_must(json_pack("{sI sI sI}", "depth", (json_int_t)way->depth, "objects",
                         (json_int_t)way->objects, "retained_bytes", (json_int_t)way->bytes));
  if (way->hidden > 0) {
    json_object_set_new(json, "hidden", cli_json_size(way->hidden));
    return json;
  }
  json_object_set_new(json, "steps", json_string(way->steps));
  json_object_set_new(json, "path", json_string(way->path));
  if (way->id == LH_ROOT) return json;
  json_object_set_new(json, "class", class_json(snapshot, way->class_index));
  json_object_set_new(json, "through", cli_json_size(way->through));
  json_object_set_new(json, "here", cli_json_size(way->here));
  json_object_set_new(json, "example", json_string(cli_address(c, snapshot, way->id)));
  return json;
}

static json_t *holder_json(const lh_holder *holder) {
  bool told = holder->through != NULL;
  return cli_must(json_pack("{ss ss? so sI}", "path", holder->path, "through", holder->through,
                            "through_objects",
                            told ? cli_json_size(holder->through_objects) : json_null(), "objects",
                            (json_int_t)holder->objects));
}

static void print_json(cli *c, const request *r, const lh_snapshot *snapshot, const lh_ways *ways) {
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "set", cli_json_text(r->set));
  json_ignored(&w, r);
  cli_json_value(&w, "objects", cli_json_size(ways->objects));
  cli_json_value(&w, "class",
                 ways->objects > 0 ? class_json(snapshot, ways->class_index) : json_null());
  cli_json_value(&w, "retained_bytes", cli_json_size(ways->bytes));
  cli_json_value(&w, "garbage_objects", cli_json_size(ways->garbage_objects));
  cli_json_value(&w, "garbage_bytes", cli_json_size(ways->garbage_bytes));
  cli_json_value(&w, "total_held_by", cli_json_size(ways->total_holders));
  cli_json_open(&w, "held_by", '[');
  for (uint32_t i = 0; i < ways->n_holders; i++)
    cli_json_value(&w, NULL, holder_json(&ways->holders[i]));
  cli_json_close(&w, ']');
  cli_json_value(&w, "objects_elsewhere", cli_json_size(ways->objects_elsewhere));
  cli_json_value(&w, "elsewhere",
                 ways->objects_elsewhere > 0 ? holder_json(&ways->elsewhere) : json_null());
  cli_json_open(&w, "rows", '[');
  for (size_t i = 0; i < ways->n_rows; i++)
    cli_json_value(&w, NULL, row_json(c, snapshot, &ways->rows[i]));
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
}

/* }=================================================================================== */

bool answer_set(cli *c, const request *r, lh_snapshot *snapshot) {
  bool query = is_query(r->set);
  object_set set = find_objects(c, r, snapshot, query);
  size_t limit = r->limit_given             ? r->limit
                 : r->format == FORMAT_JSON ? 0
                 : r->format == FORMAT_DOT  ? USUAL_BOXES
                                            : USUAL_ROWS;
  lh_ways *ways;
  lh_error error;
  if (lh_object_count(snapshot) > 1000000) cli_progress(c, "looking for paths");
  cli_check(c, lh_merge_paths(snapshot, set.ids, set.n, limit, &ways, &error), NULL, &error);
  cli_progress(c, NULL);
  bool alive = ways->objects > 0;
  if (r->format == FORMAT_JSON)
    print_json(c, r, snapshot, ways);
  else if (!alive)
    print_none(c, r, ways);
  else if (r->format == FORMAT_DOT)
    cli_check(c, lh_dot_ways(snapshot, ways, stdout, &error), NULL, &error);
  else
    print(c, r, snapshot, ways);
  lh_ways_free(ways);
  if (query)
    free(set.ids);
  else
    lh_free(set.ids);
  return alive;
}
