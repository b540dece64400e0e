/*
** independent.c - the paths that hold an object independently of each other: as many cuts as there
** are of them free it, unless the object goes where they part. Where it is one path, and not every
** cut of it frees the object: where several come together on the way.
*/
#include <string.h>

#include "heappath.h"

/* More are not looked for: who has to cut so often had better look elsewhere. */
enum { MOST_INDEPENDENT = 5 };

lh_independent find_independent(cli *c, const subject *s) {
  lh_independent found;
  lh_error error;
  if (lh_object_count(s->snapshot) > 1000000) cli_progress(c, "looking for independent paths");
  cli_check(c, lh_find_independent(s->snapshot, s->id, MOST_INDEPENDENT, &found, &error), NULL,
            &error);
  cli_progress(c, NULL);
  return found;
}

/* 2 independent paths below _G.app */
char *independent_text(cli *c, const subject *s, const lh_independent *found) {
  char *from = found->from == LH_ROOT ? NULL : cli_held_by(c, s->snapshot, found->from);
  size_t size = (from != NULL ? strlen(from) : 0) + 96;
  char *text = cli_must(malloc(size));
  snprintf(text, size, "%s%s independent path%s%s%s", lh_count_text(found->n).text,
           found->is_limited ? " or more" : "", found->n == 1 ? "" : "s",
           from != NULL && found->n > 1 ? " below " : "", from != NULL && found->n > 1 ? from : "");
  lh_free(from);
  return text;
}

/* How many of them read the same as number i: two functions of one place. 0: told already. */
static size_t count_alike(char *const *texts, size_t first, size_t n, size_t i) {
  size_t n_alike = 0;
  for (size_t k = first; k < i; k++)
    if (strcmp(texts[k], texts[i]) == 0) return 0;
  for (size_t k = i; k < n; k++) n_alike += strcmp(texts[k], texts[i]) == 0;
  return n_alike;
}

void print_independent(cli *c, const subject *s, const lh_independent *found, size_t first) {
  static const cli_column columns[] = {{"steps", CLI_RIGHT}, {"path", CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  char **texts = cli_must(malloc((found->n + 1) * sizeof *texts));
  for (size_t i = first; i < found->n; i++)
    texts[i] = cli_must(lh_whole_path_text(s->snapshot, &found->paths[i], false));
  putchar('\n');
  for (size_t i = first; i < found->n; i++) {
    size_t n_alike = count_alike(texts, first, found->n, i), size = strlen(texts[i]) + 64;
    char *text = cli_must(malloc(size));
    lh_number n_steps = lh_count_text(found->paths[i].n_steps);
    const char *cells[] = {n_steps.text, text};
    snprintf(text, size, n_alike > 1 ? "%s (%s that read the same)" : "%s", texts[i],
             lh_count_text(n_alike).text);
    if (n_alike > 0) cli_table_row(table, cells, CLI_PLAIN);
    free(text);
  }
  for (size_t i = first; i < found->n; i++) lh_free(texts[i]);
  free(texts);
  cli_table_print(table);
}

/* Where on the one path that holds the object several come together. */
typedef struct junction {
  lh_id id;
  lh_independent found; /* what holds that, to be freed by lh_independent_free */
} junction;

/* False: nowhere, or at a module and the like, which nobody takes out of package.loaded to free
** what is in it. */
static bool find_junction(cli *c, const subject *s, junction *out) {
  lh_error error;
  int code = lh_find_junction(s->snapshot, s->id, MOST_INDEPENDENT, &out->id, &out->found, &error);
  if (code == LH_ENOTFOUND) return false;
  cli_check(c, code, NULL, &error);
  if (lh_is_for_good(s->snapshot, out->id)) lh_independent_free(&out->found);
  return out->found.n > 0;
}

void print_junction(cli *c, const subject *s, bool paths) {
  junction j;
  if (!find_junction(c, s, &j)) return;
  char *at = cli_held_by(c, s->snapshot, j.id), *text = independent_text(c, s, &j.found);
  printf("\nAbove %s one cut does not free it: that is held by %s%s\n", at, text,
         paths ? "; the others:" : "");
  if (paths) print_independent(c, s, &j.found, 1);
  lh_free(at);
  free(text);
  lh_independent_free(&j.found);
}

json_t *json_through(const subject *s, const lh_path *path) {
  char *through;
  if (lh_path_through(s->snapshot, path, false, &through, NULL) != LH_OK) cli_must(NULL);
  json_t *json = through != NULL ? json_string(through) : json_null();
  lh_free(through);
  return json;
}

/* The keys of what is found, in the object that is open. */
static void json_found(cli_json *w, const subject *s, const lh_independent *found) {
  cli_json_value(w, "count", cli_json_size(found->n));
  cli_json_value(w, "or_more", json_boolean(found->is_limited));
  cli_json_value(w, "below",
                 found->n < 2 || found->from == LH_ROOT ? json_null()
                                                        : json_of_object(s->snapshot, found->from));
  cli_json_open(w, "paths", '[');
  for (size_t i = 0; i < found->n; i++) {
    char *text = cli_must(lh_path_text(s->snapshot, &found->paths[i], false));
    cli_json_value(w, NULL, json_string(text));
    lh_free(text);
  }
  cli_json_close(w, ']');
  cli_json_open(w, "through", '[');
  for (size_t i = 0; i < found->n; i++) cli_json_value(w, NULL, json_through(s, &found->paths[i]));
  cli_json_close(w, ']');
}

void json_independent(cli *c, cli_json *w, const subject *s, const lh_independent *found) {
  junction j;
  cli_json_open(w, "independent", '{');
  json_found(w, s, found);
  if (found->n == 1 && find_junction(c, s, &j)) {
    cli_json_open(w, "junction", '{');
    cli_json_value(w, "object", json_of_object(s->snapshot, j.id));
    json_found(w, s, &j.found);
    cli_json_close(w, '}');
    lh_independent_free(&j.found);
  } else {
    cli_json_value(w, "junction", json_null());
  }
  cli_json_close(w, '}');
}
