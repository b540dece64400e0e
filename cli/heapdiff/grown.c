/*
** grown.c - the containers that grew, for a person. Those of one class whose paths differ only in
** what is folded to * are one row: a leak in each of a thousand inboxes is one cause.
*/
#include <stdlib.h>
#include <string.h>

#include "heapdiff.h"

/* Containers of one class and place: how many, their sums, and the one that grew most. */
typedef struct place {
  const lh_grown *first;
  size_t n;
  lh_grown sum;
} place;

uint64_t grown_bytes(const lh_grown *grown) {
  const uint64_t *at = grown->shallow_bytes;
  return at[2] > at[0] ? at[2] - at[0] : 0;
}

/* The containers of a place stay in their order, that of what they grew by. */
static int compare_places(const void *left, const void *right) {
  const lh_grown *a = *(const lh_grown *const *)left, *b = *(const lh_grown *const *)right;
  if (a->class_index != b->class_index) return a->class_index < b->class_index ? -1 : 1;
  int order = strcmp(a->place, b->place);
  return order ? order : (a > b) - (a < b);
}

static int compare_sums(const void *left, const void *right) {
  const place *a = left, *b = right;
  uint64_t x = grown_bytes(&a->sum), y = grown_bytes(&b->sum);
  if (x != y) return x > y ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

/* The rows, in the order of what they grew by. */
static place *fold(const lh_grown *grown, size_t n, size_t *n_places) {
  const lh_grown **order = cli_must(malloc(n * sizeof *order));
  place *places = cli_must(malloc(n * sizeof *places));
  size_t m = 0;
  for (size_t i = 0; i < n; i++) order[i] = &grown[i];
  qsort(order, n, sizeof *order, compare_places);
  for (size_t i = 0; i < n; i++) {
    const lh_grown *one = order[i];
    place *at = m > 0 ? &places[m - 1] : NULL;
    if (at == NULL || at->first->class_index != one->class_index ||
        strcmp(at->first->place, one->place) != 0) {
      places[m++] = (place){.first = one, .n = 1, .sum = *one};
      continue;
    }
    at->n++;
    for (int k = 0; k < 3; k++) {
      at->sum.shallow_bytes[k] += one->shallow_bytes[k];
      at->sum.entries[k] += one->entries[k];
    }
  }
  qsort(places, m, sizeof *places, compare_sums);
  free(order);
  *n_places = m;
  return places;
}

static char *three(cli *c, const uint64_t values[3], const char *(*print)(cli *c, uint64_t n)) {
  char *text = cli_must(malloc(4 * LH_NUMBER_BYTES));
  snprintf(text, 4 * LH_NUMBER_BYTES, "%s -> %s -> %s", print(c, values[0]), print(c, values[1]),
           print(c, values[2]));
  return text;
}

enum { MOST_COLUMNS = 8 };

/* On a narrow terminal there is no room for all columns. */
static void print_row(cli *c, const comparison *x, const place *row, bool folded,
                      cli_table *table) {
  bool narrow = cli_is_narrow(c);
  char *bytes = three(c, row->sum.shallow_bytes, cli_size);
  bool has_entries = lh_type_of(x->snapshots[2], row->first->id) == LH_TYPE_TABLE;
  char *entries = has_entries ? three(c, row->sum.entries, cli_count) : NULL;
  const char *cells[MOST_COLUMNS];
  size_t n = 0;
  if (x->r->fingerprints) cells[n++] = row->first->fingerprint;
  cells[n++] = cli_size_change(c, row->sum.shallow_bytes[0], row->sum.shallow_bytes[2]);
  if (folded) cells[n++] = cli_count(c, row->n);
  if (!narrow) cells[n++] = bytes;
  cells[n++] = entries != NULL ? entries : "-";
  cells[n++] = cli_address(c, x->snapshots[2], row->first->id);
  if (!narrow) cells[n++] = lh_class_name_of(x->snapshots[2], row->first->id);
  cells[n++] = row->n > 1 ? row->first->place : row->first->held_by;
  cli_table_row(table, cells, CLI_PLAIN);
  free(bytes);
  free(entries);
}

static void print_table(cli *c, const comparison *x, const place *places, size_t n, bool folded) {
  cli_column columns[MOST_COLUMNS];
  bool narrow = cli_is_narrow(c);
  size_t k = 0;
  if (x->r->fingerprints) columns[k++] = (cli_column){"fingerprint", CLI_LEFT};
  columns[k++] = (cli_column){"grew", CLI_RIGHT};
  if (folded) columns[k++] = (cli_column){"containers", CLI_RIGHT};
  if (!narrow) columns[k++] = (cli_column){"bytes", CLI_RIGHT};
  columns[k++] = (cli_column){"entries", CLI_RIGHT};
  columns[k++] = (cli_column){folded ? "example" : "address", CLI_LEFT};
  if (!narrow) columns[k++] = (cli_column){"class", CLI_WRAP};
  columns[k++] = (cli_column){"path", CLI_WRAP};
  cli_table *table = cli_table_new(c, columns, k);
  for (size_t i = 0; i < n; i++) print_row(c, x, &places[i], folded, table);
  cli_table_print(table);
}

void print_grown(cli *c, const comparison *x) {
  size_t n_places, hidden = 0;
  bool folded = false;
  if (x->snapshots[1] == NULL) {
    printf("\nWhether older containers grew is told by three snapshots only\n");
    return;
  }
  if (x->n_grown == 0) {
    printf("\nNo container that is older than %s grew both times\n", x->names[0]);
    return;
  }
  place *places = fold(x->diff->grown, x->n_grown, &n_places);
  size_t n_shown = n_rows(c, x->r, n_places);
  for (size_t i = 0; i < n_shown; i++) folded = folded || places[i].n > 1;
  for (size_t i = n_shown; i < n_places; i++) hidden += places[i].n;
  printf("\n%sContainers older than %s that grew until %s and again until %s%s\n",
         cli_style_on(c, CLI_BOLD), x->names[0], x->names[1], x->names[2], cli_style_off(c));
  print_table(c, x, places, n_shown, folded);
  cli_print_hidden(c, hidden, "container", "containers");
  free(places);
}
