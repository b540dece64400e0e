/*
** suspects.c - what leaks, from one snapshot, in sentences: who holds how many of what, how much
** that is, and what to ask next. Finding them is the library's (lh_find_suspects).
*/
#include <string.h>

#include "heaptop.h"

/* {=== The words ====================================================================== */

/* What is big about it, where that can be counted. */
static char *itself(cli *c, const lh_snapshot *snapshot, lh_id id) {
  char *what = cli_what(snapshot, id);
  const char *unit[] = {NULL, "entry", "entries"};
  uint64_t n = 0;
  lh_object object;
  lh_object_at(snapshot, id, &object);
  if (object.type == LH_TYPE_TABLE) {
    n = lh_lasting_entries(snapshot, id);
    unit[0] = "with ";
  } else if (object.type == LH_TYPE_THREAD) {
    n = object.as.thread.frames;
    unit[0] = "with a stack of ", unit[1] = "frame", unit[2] = "frames";
  }
  if (unit[0] == NULL) return what;
  char *text = cli_must(malloc(strlen(what) + 2 * LH_NUMBER_BYTES));
  sprintf(text, "%s %s%s", what, unit[0], cli_count_of(c, n, unit[1], unit[2]));
  free(what);
  return text;
}

/* What hangs there: the class with most, if it has half. */
static char *contents(cli *c, const lh_snapshot *snapshot, const lh_suspect *s) {
  if (s->n_accumulated == 0) return itself(c, snapshot, s->id);
  if (2 * s->accumulated[0].bytes >= s->bytes)
    return cli_things(c, snapshot, s->accumulated[0].class_index, s->accumulated[0].objects);
  char *text = cli_must(malloc(4 * LH_NUMBER_BYTES));
  sprintf(text, "%s of %s", cli_count_of(c, s->objects, "object", "objects"),
          cli_count_of(c, s->n_classes, "class", "classes"));
  return text;
}

const char *share_of_heap(cli *c, const lh_snapshot *snapshot, uint64_t bytes) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  return cli_share(c, bytes, reach.reachable_bytes);
}

/* " (through _G.handlers[*])", of an object whose path begins at a function; else empty. */
static char *through_text(cli *c, lh_snapshot *snapshot, lh_id id, bool folded) {
  lh_path path;
  lh_error error;
  char *through;
  cli_check(c, lh_shortest_path(snapshot, id, &path, &error), NULL, &error);
  cli_check(c, lh_path_through(snapshot, &path, folded, &through, &error), NULL, &error);
  lh_paths_free(&path, 1);
  if (through == NULL) return cli_must(strdup(""));
  size_t size = strlen(through) + 16;
  char *text = cli_must(malloc(size));
  snprintf(text, size, " (through %s)", through);
  lh_free(through);
  return text;
}

static void print_sentence(cli *c, lh_snapshot *snapshot, const lh_suspect *s) {
  static const char *const words[] = {"holds", "is big by itself:", "begins a list of",
                                      "is the root of a tree of", "are held by many"};
  char *path = s->kind == LH_SUSPECT_SPREAD ? NULL : cli_held_by(c, snapshot, s->id);
  char *what = contents(c, snapshot, s);
  char *through =
      through_text(c, snapshot, path != NULL ? s->id : s->accumulated[0].example, path == NULL);
  printf("%s", cli_style_on(c, CLI_BOLD));
  if (path != NULL)
    printf("%s%s %s %s", path, through, words[s->kind], what);
  else if (s->total_holders == 1)
    printf("%s%s %s %s", s->holders[0].path, through, words[LH_SUSPECT_HOLDER], what);
  else
    printf("%s %s", what, words[s->kind]);
  printf(", %s, %s of the heap%s\n", cli_size(c, s->bytes), share_of_heap(c, snapshot, s->bytes),
         cli_style_off(c));
  free(through);
  lh_free(path);
  free(what);
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static void print_accumulated(cli *c, const lh_snapshot *snapshot, const lh_suspect *s) {
  uint64_t objects = s->objects, bytes = 0;
  if (s->n_classes == 1) {
    uint64_t each = s->accumulated[0].bytes / objects;
    printf("    %s each%s\n", cli_size(c, each), objects > 1 ? " on average" : "");
    return;
  }
  for (uint32_t i = 0; i < s->n_accumulated; i++) {
    const lh_accumulated *a = &s->accumulated[i];
    char *what = cli_things(c, snapshot, a->class_index, a->objects);
    printf("    %s, %s, %s each%s\n", what, cli_size(c, a->bytes),
           cli_size(c, a->bytes / a->objects), a->objects > 1 ? " on average" : "");
    objects -= a->objects;
    bytes += a->bytes;
    free(what);
  }
  if (objects > 0)
    printf("    and %s of %s, %s\n", cli_count_of(c, objects, "other object", "other objects"),
           cli_count_of(c, s->n_classes - s->n_accumulated, "class", "classes"),
           cli_size(c, s->bytes > bytes ? s->bytes - bytes : 0));
}

static void print_holders(cli *c, lh_snapshot *snapshot, const lh_suspect *s) {
  if (s->total_holders == 1) return;
  for (uint32_t i = 0; i < s->n_holders; i++)
    printf("    %s by %s\n", cli_count(c, s->holders[i].objects), s->holders[i].path);
  if (s->total_holders > s->n_holders)
    printf("    and by %s\n", cli_count_of(c, s->total_holders - s->n_holders, "other", "others"));
  if (s->id == LH_ROOT) return;
  char *path = cli_held_by(c, snapshot, s->id);
  printf("    all of them go with %s only\n", path);
  lh_free(path);
}

/* Does another object than the place that dominates them refer to what accumulated there? Tasks in
** two queues of a module go with the module only, but the queues hold them. */
static bool is_held_below(cli *c, lh_snapshot *snapshot, const lh_suspect *s) {
  lh_path path;
  lh_error error;
  if (s->kind != LH_SUSPECT_HOLDER || s->accumulated[0].objects < 2) return false;
  if (lh_type_of(snapshot, s->accumulated[0].example) == LH_TYPE_STRING) return false;
  cli_check(c, lh_shortest_path(snapshot, s->accumulated[0].example, &path, &error), NULL, &error);
  bool below = path.n_steps > 0 && path.steps[path.n_steps - 1].source != s->id;
  lh_paths_free(&path, 1);
  return below;
}

/* The commands that tell more. Where no single object has them, they are about one of them. */
static void print_next(cli *c, lh_snapshot *snapshot, const lh_suspect *s, const char *file) {
  bool spread = s->kind == LH_SUSPECT_SPREAD;
  char *word = cli_shell_word(file);
  printf("    Why %s: heappath %s%s %s\n", spread ? "one of them stays" : "it stays",
         s->total_holders > 1 ? "-k 5 " : "", word,
         cli_address(c, snapshot, spread ? s->accumulated[0].example : s->id));
  if (s->kind != LH_SUSPECT_ITSELF)
    printf("    What is in %s: heaptop --under %s %s\n", spread ? "one" : "it",
           cli_address(c, snapshot, spread ? s->accumulated[0].example : s->id), word);
  if (is_held_below(c, snapshot, s)) {
    char *class = cli_shell_word(lh_class_at(snapshot, s->accumulated[0].class_index)->name);
    printf("    What holds them: heappath --set %s %s\n", class, word);
    free(class);
  }
  free(word);
}

static void print_suspect(cli *c, lh_snapshot *snapshot, const lh_suspect *s, const char *file) {
  print_sentence(c, snapshot, s);
  if (s->kind == LH_SUSPECT_SPREAD) print_holders(c, snapshot, s);
  print_accumulated(c, snapshot, s);
  print_next(c, snapshot, s, file);
}

/* Without -n all are shown: there are ten or so at most. */
static size_t count_shown(const lh_suspects *suspects, const request *r) {
  bool all = !r->limit_given || r->query.limit == 0 || r->query.limit > suspects->n;
  return all ? suspects->n : r->query.limit;
}

static lh_suspects find(cli *c, lh_snapshot *snapshot) {
  lh_suspects suspects;
  lh_error error;
  cli_check(c, lh_find_suspects(snapshot, &suspects, &error), NULL, &error);
  return suspects;
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  lh_suspects suspects = find(c, snapshot);
  size_t n = count_shown(&suspects, r);
  if (suspects.n == 0)
    printf("Nothing suspicious: no place and no class holds %s, %s of the heap\n",
           cli_size(c, suspects.least_bytes), share_of_heap(c, snapshot, suspects.least_bytes));
  for (size_t i = 0; i < n; i++) {
    if (i > 0) putchar('\n');
    print_suspect(c, snapshot, &suspects.list[i], r->file);
  }
  cli_print_hidden(c, suspects.n - n, "suspect", "suspects");
  lh_suspects_free(&suspects);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *accumulated_json(cli *c, const lh_snapshot *snapshot, const lh_suspect *s) {
  json_t *list = cli_must(json_array());
  for (uint32_t i = 0; i < s->n_accumulated; i++) {
    const lh_accumulated *a = &s->accumulated[i];
    const lh_class *class = lh_class_at(snapshot, a->class_index);
    json_array_append_new(
        list, cli_must(json_pack("{ss ss sI sI ss}", "class", class->name, "type",
                                 lh_type_name(class->type), "objects", (json_int_t)a->objects,
                                 "retained_bytes", (json_int_t)a->bytes, "example",
                                 cli_address(c, snapshot, a->example))));
  }
  return list;
}

static json_t *holders_json(const lh_suspect *s) {
  json_t *list = cli_must(json_array());
  for (uint32_t i = 0; i < s->n_holders; i++)
    json_array_append_new(list, cli_must(json_pack("{ss sI}", "path", s->holders[i].path, "objects",
                                                   (json_int_t)s->holders[i].objects)));
  return list;
}

static json_t *suspect_json(cli *c, lh_snapshot *snapshot, const lh_suspect *s) {
  char *path = s->id == LH_ROOT ? NULL : cli_held_by(c, snapshot, s->id);
  json_t *json = cli_must(json_pack(
      "{ss ss? ss? ss? sI sI sI so so sI}", "kind", lh_suspect_kind_name(s->kind), "address",
      s->id == LH_ROOT ? NULL : cli_address(c, snapshot, s->id), "class",
      s->id == LH_ROOT ? NULL : lh_class_name_of(snapshot, s->id), "held_by", path,
      "retained_bytes", (json_int_t)s->bytes, "objects", (json_int_t)s->objects, "total_classes",
      (json_int_t)s->n_classes, "accumulated", accumulated_json(c, snapshot, s), "holders",
      holders_json(s), "total_holders", (json_int_t)s->total_holders));
  lh_free(path);
  return json;
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_suspects suspects = find(c, snapshot);
  size_t n = count_shown(&suspects, r);
  cli_json_value(w, "total_suspects", cli_json_size(suspects.n));
  cli_json_value(w, "least_bytes", cli_json_size(suspects.least_bytes));
  cli_json_open(w, "suspects", '[');
  for (size_t i = 0; i < n; i++)
    cli_json_value(w, NULL, suspect_json(c, snapshot, &suspects.list[i]));
  cli_json_close(w, ']');
  lh_suspects_free(&suspects);
}

/* }=================================================================================== */

const report suspects_report = {"suspects", print, print_json};
