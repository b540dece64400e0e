/*
** apart.c - snapshots of different processes or Lua states: what one has more of than the other, by
** path, by class, and strings by what they say. Never by address: no object of one is an object of
** another.
*/
#include <string.h>

#include "heapdiff.h"

typedef struct apart {
  const comparison *x;
  lh_ladder *ladder;
  lh_growth *growth;
  known_rows known;
  lh_string_changes strings;
} apart;

static void compare(cli *c, const comparison *x, apart *a) {
  lh_error error;
  *a = (apart){.x = x};
  cli_check(c, lh_ladder_new(&a->ladder, &error), NULL, &error);
  if (lh_object_count(x->snapshots[2]) > 200000) cli_progress(c, "comparing");
  for (int i = 0; i < 3; i++)
    if (x->snapshots[i] != NULL)
      cli_check(c, lh_ladder_add(a->ladder, x->snapshots[i], &error), x->files[i], &error);
  cli_check(c, lh_ladder_growth(a->ladder, &a->growth, &error), NULL, &error);
  a->known = leave_out_known(x->r, a->growth);
  cli_check(c, lh_compare_strings(x->snapshots[0], x->snapshots[2], &a->strings, &error), NULL,
            &error);
  cli_progress(c, NULL);
}

static void print_sentence(cli *c, const apart *a) {
  const comparison *x = a->x;
  const lh_figures *first = &a->growth->whole[0],
                   *last = &a->growth->whole[a->growth->n_snapshots - 1];
  uint64_t process = lh_snapshot_info(x->snapshots[0])->process_id;
  bool same_process = process == lh_snapshot_info(x->snapshots[2])->process_id;
  printf("%sFrom %s to %s: %s objects, %s%s\n", cli_style_on(c, CLI_BOLD), x->names[0], x->names[2],
         cli_count_change(c, first->objects, last->objects),
         cli_size_change(c, first->bytes, last->bytes), cli_style_off(c));
  known_print(c, &x->r->known, a->known.n, a->known.bytes, a->known.objects);
  printf(
      "The snapshots are of different %s, so no object of one is an object of another:\n"
      "compared by path, by class, and strings by content.\n",
      same_process ? "Lua states" : "processes");
  if (x->snapshots[1] != NULL) printf("The figures of %s are in --json.\n", x->names[1]);
}

static int compare_rows(const void *left, const void *right) {
  const lh_growth_row *a = left, *b = right;
  int64_t x = a->grew_bytes[0] + a->grew_bytes[1], y = b->grew_bytes[0] + b->grew_bytes[1];
  if (x != y) return x > y ? -1 : 1;
  int order = strcmp(a->held_by, b->held_by);
  return order != 0 ? order : strcmp(a->fingerprint, b->fingerprint);
}

/* Or did only a snapshot between the two have more or less of it? */
static bool has_changed(const lh_growth_row *row, size_t last) {
  return row->at[0].bytes != row->at[last].bytes || row->at[0].objects != row->at[last].objects;
}

/* As the classes: what grew most first, what shrank most last. */
static void print_paths(cli *c, const apart *a) {
  static const cli_column columns[] = {
      {"fingerprint", CLI_LEFT}, {"bytes", CLI_RIGHT}, {"now", CLI_RIGHT},   {"objects", CLI_RIGHT},
      {"now", CLI_RIGHT},        {"class", CLI_WRAP},  {"held by", CLI_WRAP}};
  const request *r = a->x->r;
  size_t last = a->growth->n_snapshots - 1;
  lh_growth_row *rows = a->growth->paths;
  cli_table *table = cli_table_new(c, columns + !r->fingerprints, 6 + (size_t)r->fingerprints);
  size_t n_all = a->growth->n_paths, n = 0;
  for (size_t i = 0; i < n_all; i++) n += has_changed(&rows[i], last);
  size_t n_left = n_rows(c, r, n);
  printf("\n%sChange of what is held, with what it retains, from %s to %s%s\n",
         cli_style_on(c, CLI_BOLD), a->x->names[0], a->x->names[2], cli_style_off(c));
  if (n_all > 1) qsort(rows, n_all, sizeof *rows, compare_rows);
  for (size_t i = 0; i < n_all && n_left > 0; i++) {
    if (!has_changed(&rows[i], last)) continue;
    const lh_figures *at = rows[i].at;
    n_left--;
    const char *cells[] = {rows[i].fingerprint,
                           cli_size_change(c, at[0].bytes, at[last].bytes),
                           cli_size(c, at[last].bytes),
                           cli_count_change(c, at[0].objects, at[last].objects),
                           cli_count(c, at[last].objects),
                           rows[i].class_name,
                           rows[i].held_by};
    cli_table_row(table, cells + !r->fingerprints, CLI_PLAIN);
  }
  cli_table_print(table);
  cli_print_hidden(c, n - n_rows(c, r, n), "path", "paths");
}

static void print_strings(cli *c, const apart *a) {
  static const cli_column columns[] = {
      {"bytes", CLI_RIGHT}, {"objects", CLI_RIGHT}, {"string", CLI_WRAP}, {"held by", CLI_WRAP}};
  const lh_string_changes *s = &a->strings;
  lh_snapshot *snapshot = a->x->snapshots[2];
  size_t n_shown = n_rows(c, a->x->r, s->n_rows);
  cli_table *table = cli_table_new(c, columns, 4);
  printf("\n%sStrings of %s: %s new, %s more often than in %s, %s%s\n", cli_style_on(c, CLI_BOLD),
         a->x->names[2], cli_count(c, s->new_contents), cli_count(c, s->more_contents),
         a->x->names[0], cli_size_change(c, 0, s->more_bytes), cli_style_off(c));
  for (size_t i = 0; i < n_shown; i++) {
    const lh_string_change *row = &s->rows[i];
    char *text = cli_must(lh_string_text(snapshot, row->example, 32));
    char *path = cli_held_by(c, snapshot, row->example);
    const char *cells[] = {cli_size_change(c, row->bytes[0], row->bytes[1]),
                           cli_count_change(c, row->objects[0], row->objects[1]), text, path};
    cli_table_row(table, cells, CLI_PLAIN);
    lh_free(text);
    lh_free(path);
  }
  cli_table_print(table);
  cli_print_hidden(c, s->n_rows - n_shown, "string", "strings");
}

static void print_json(cli *c, const apart *a) {
  const comparison *x = a->x;
  const lh_string_changes *s = &a->strings;
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "same_state", json_false());
  cli_json_value(&w, "groups", json_array()); /* of new objects: not known here */
  cli_json_value(&w, "grown", json_array());
  cli_json_value(&w, "known_paths", cli_json_size(a->known.n));
  cli_json_value(&w, "total_paths", cli_json_size(a->growth->n_paths));
  json_growth_rows(c, &w, x->r, a->growth, "paths", a->growth->paths, a->growth->n_paths);
  json_class_changes(c, &w, x);
  cli_json_value(&w, "new_strings", cli_json_size(s->new_contents));
  cli_json_value(&w, "total_strings", cli_json_size(s->n_rows));
  cli_json_open(&w, "strings", '[');
  for (size_t i = 0; i < n_rows(c, x->r, s->n_rows); i++) {
    const lh_string_change *row = &s->rows[i];
    char *text = cli_must(lh_string_text(x->snapshots[2], row->example, 256));
    char *path = cli_held_by(c, x->snapshots[2], row->example);
    cli_json_value(
        &w, NULL,
        json_pack("{ss s[II] s[II] ss}", "string", text, "objects", (json_int_t)row->objects[0],
                  (json_int_t)row->objects[1], "bytes", (json_int_t)row->bytes[0],
                  (json_int_t)row->bytes[1], "held_by", path));
    lh_free(text);
    lh_free(path);
  }
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
}

/* By how much the heap grew, but for what is known. */
static int limit(cli *c, const apart *a) {
  int64_t bytes = 0, objects = 0;
  for (size_t i = 0; i < a->growth->n_paths; i++) {
    const lh_growth_row *row = &a->growth->paths[i];
    bytes += row->grew_bytes[0] + row->grew_bytes[1];
    objects += row->grew_objects[0] + row->grew_objects[1];
  }
  return gate(c, a->x->r, bytes > 0 ? (uint64_t)bytes : 0, 0, objects > 0 ? (uint64_t)objects : 0,
              "more");
}

int apart_report(cli *c, const comparison *x) {
  apart a;
  int status;
  compare(c, x, &a);
  if (c->json) {
    print_json(c, &a);
  } else {
    print_sentence(c, &a);
    print_paths(c, &a);
    print_class_changes(c, x);
    print_strings(c, &a);
  }
  status = limit(c, &a);
  lh_free(a.strings.rows);
  lh_growth_free(a.growth);
  lh_ladder_free(a.ladder);
  return status;
}
