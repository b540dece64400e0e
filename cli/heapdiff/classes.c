/*
** classes.c - the change of each class between two snapshots, or three of different Lua states.
*/
#include "heapdiff.h"

static bool has_changed(const lh_class_change *change) {
  return change->objects[0] != change->objects[2] ||
         change->shallow_bytes[0] != change->shallow_bytes[2] || change->appeared > 0 ||
         change->gone > 0;
}

static void class_row(cli *c, const comparison *x, const lh_class_change *change,
                      cli_table *table) {
  bool same = x->diff->same_state;
  const char *cells[] = {cli_size_change(c, change->shallow_bytes[0], change->shallow_bytes[2]),
                         cli_size(c, change->shallow_bytes[2]),
                         cli_count_change(c, change->objects[0], change->objects[2]),
                         cli_count(c, change->objects[2]),
                         same ? cli_count(c, change->appeared) : change->name,
                         cli_count(c, change->gone),
                         change->name};
  cli_table_row(table, cells, CLI_PLAIN);
}

/* Only what changed; which objects appeared and went is not known of different states. */
void print_class_changes(cli *c, const comparison *x) {
  static const cli_column of_one_state[] = {
      {"bytes", CLI_RIGHT},    {"now", CLI_RIGHT},  {"objects", CLI_RIGHT}, {"now", CLI_RIGHT},
      {"appeared", CLI_RIGHT}, {"gone", CLI_RIGHT}, {"class", CLI_WRAP}};
  static const cli_column of_two[] = {{"bytes", CLI_RIGHT},
                                      {"now", CLI_RIGHT},
                                      {"objects", CLI_RIGHT},
                                      {"now", CLI_RIGHT},
                                      {"class", CLI_WRAP}};
  const lh_diff *d = x->diff;
  size_t n_changed = 0, n_shown = 0;
  cli_table *table;
  if (d->n_classes == 0) return;
  for (size_t i = 0; i < d->n_classes; i++) n_changed += has_changed(&d->classes[i]);
  table = cli_table_new(c, d->same_state ? of_one_state : of_two, d->same_state ? 7 : 5);
  printf("\n%sChange of classes from %s to %s%s (%s did not change)\n", cli_style_on(c, CLI_BOLD),
         x->names[0], x->names[2], cli_style_off(c), cli_count(c, d->n_classes - n_changed));
  for (size_t i = 0; i < d->n_classes && (x->r->limit == 0 || n_shown < x->r->limit); i++) {
    if (!has_changed(&d->classes[i])) continue;
    class_row(c, x, &d->classes[i], table);
    n_shown++;
  }
  cli_table_print(table);
  cli_print_hidden(c, n_changed - n_shown, "class", "classes");
}
