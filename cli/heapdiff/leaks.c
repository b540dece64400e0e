/*
** leaks.c - the new objects that stay, for a person: first a sentence, then the groups of one class
** and one holder, then the containers that grew (grown.c) or the change of each class.
*/
#include <string.h>

#include "heapdiff.h"

/* {=== Comparing ====================================================================== */

bool is_flagged(const request *r, const lh_diff_group *group) {
  return r->factor != 0 && group->objects > 0 && group->objects % r->factor == 0;
}

static uint64_t rank(const request *r, const lh_diff_group *group) {
  if (r->sort == LH_SORT_SHALLOW) return group->shallow_bytes;
  return r->sort == LH_SORT_COUNT ? group->objects : group->retained_bytes;
}

/* What is known last, flagged groups first, then by the order asked for; no two groups have the
** same example. */
static int compare_groups(const void *left, const void *right, void *payload) {
  const lh_diff_group *a = left, *b = right;
  const request *r = payload;
  bool known = known_has(&r->known, a->fingerprint);
  if (known != known_has(&r->known, b->fingerprint)) return known ? 1 : -1;
  if (is_flagged(r, a) != is_flagged(r, b)) return is_flagged(r, a) ? -1 : 1;
  if (rank(r, a) != rank(r, b)) return rank(r, a) > rank(r, b) ? -1 : 1;
  if (a->retained_bytes != b->retained_bytes) return a->retained_bytes > b->retained_bytes ? -1 : 1;
  return a->example < b->example ? -1 : a->example > b->example;
}

/* Counts what is known apart from what is not. */
static void split_groups(comparison *x) {
  const lh_diff *d = x->diff;
  for (size_t i = 0; i < d->n_groups; i++) {
    const lh_diff_group *group = &d->groups[i];
    if (!known_has(&x->r->known, group->fingerprint)) {
      x->n_groups++;
      continue;
    }
    x->known.objects += group->new_objects;
    x->known.shallow_bytes += group->new_bytes;
    x->known.retained_bytes += group->retained_bytes;
  }
  x->unknown.objects = d->objects - x->known.objects;
  x->unknown.shallow_bytes = d->shallow_bytes - x->known.shallow_bytes;
  x->unknown.retained_bytes = d->retained_bytes - x->known.retained_bytes;
}

/* The same with the containers, which keep their order. */
static void split_grown(comparison *x) {
  lh_diff *d = x->diff;
  lh_grown *known = cli_must(malloc((d->n_grown + 1) * sizeof *known));
  size_t n_known = 0;
  for (size_t i = 0; i < d->n_grown; i++) {
    bool is_known = known_has(&x->r->known, d->grown[i].fingerprint);
    *(is_known ? &x->known.grown_bytes : &x->unknown.grown_bytes) += grown_bytes(&d->grown[i]);
    if (is_known)
      known[n_known++] = d->grown[i];
    else
      d->grown[x->n_grown++] = d->grown[i];
  }
  if (n_known > 0) memcpy(d->grown + x->n_grown, known, n_known * sizeof *known);
  free(known);
}

static void compare(cli *c, request *r, comparison *x) {
  lh_error error;
  int code;
  *x = (comparison){.r = r, .files[2] = r->files[r->n_files - 1]};
  if (r->n_files > 1) x->files[0] = r->files[0];
  if (r->n_files > 2) x->files[1] = r->files[1];
  for (int i = 0; i < 3; i++) {
    if (x->files[i] == NULL) continue;
    x->snapshots[i] = cli_open(c, x->files[i]);
    x->names[i] = cli_escape(x->files[i]);
  }
  if (lh_object_count(x->snapshots[2]) > 200000) cli_progress(c, "comparing");
  if (r->since != NULL)
    code = lh_diff_marks(x->snapshots[2], r->since, r->until, &x->diff, &error);
  else
    code = lh_diff_snapshots(x->snapshots[0], x->snapshots[1], x->snapshots[2], &x->diff, &error);
  cli_progress(c, NULL);
  cli_check(c, code, r->since != NULL ? x->files[2] : NULL, &error);
  if (x->diff->n_groups > 1)
    qsort_r(x->diff->groups, x->diff->n_groups, sizeof *x->diff->groups, compare_groups, r);
  split_groups(x);
  split_grown(x);
}

static void close_all(comparison *x) {
  lh_diff_free(x->diff);
  for (int i = 0; i < 3; i++) {
    lh_close(x->snapshots[i]);
    lh_free(x->names[i]);
  }
}

size_t n_rows(const cli *c, const request *r, size_t n) {
  return r->limit == 0 || n < r->limit || ((c->json || r->csv) && !r->limit_given) ? n : r->limit;
}

/* }=================================================================================== */

/* {=== Text: the sentence ============================================================= */

/* "between a and b", "since mark x": the time in which the objects were allocated. */
static char *when_text(const comparison *x) {
  size_t size = 64;
  char *text, *since, *until;
  if (x->r->since == NULL) {
    const char *to = x->names[x->names[1] != NULL ? 1 : 2];
    size += strlen(x->names[0]) + strlen(to);
    text = cli_must(malloc(size));
    snprintf(text, size, "between %s and %s", x->names[0], to);
    return text;
  }
  since = cli_escape(x->r->since);
  until = cli_escape(x->r->until != NULL ? x->r->until : "");
  size += strlen(since) + strlen(until);
  text = cli_must(malloc(size));
  if (x->r->until != NULL)
    snprintf(text, size, "between the marks %s and %s", since, until);
  else
    snprintf(text, size, "since the mark %s", since);
  lh_free(since);
  lh_free(until);
  return text;
}

static void print_gone(cli *c, const comparison *x) {
  const lh_diff *d = x->diff;
  if (x->snapshots[0] == NULL || x->snapshots[1] != NULL) return;
  if (d->gone_objects == 0)
    printf("\nNothing of %s is gone\n", x->names[0]);
  else
    printf("\n%s of %s %s gone: %s\n", cli_count_of(c, d->gone_objects, "object", "objects"),
           x->names[0], d->gone_objects == 1 ? "is" : "are", cli_size(c, d->gone_bytes));
}

static void print_sentence(cli *c, const comparison *x) {
  const sums *new = &x->unknown;
  const char *shallow = cli_size(c, new->shallow_bytes),
             *retained = cli_size(c, new->retained_bytes);
  char *when = when_text(x);
  const char *last = x->names[2];
  fputs(cli_style_on(c, CLI_BOLD), stdout);
  if (new->objects == 0)
    printf("Nothing that was allocated %s is still alive in %s", when, last);
  else
    printf("%s allocated %s %s still alive in %s: %s",
           cli_count_of(c, new->objects, "object", "objects"), when,
           new->objects == 1 ? "is" : "are", last, shallow);
  if (strcmp(retained, shallow) != 0) printf(", retaining %s", retained);
  if (x->n_grown > 0)
    printf("; %s ", cli_count_of(c, x->n_grown, "older container", "older containers"));
  if (new->grown_bytes > 0)
    printf("grew by %s", cli_size(c, new->grown_bytes));
  else if (x->n_grown > 0)
    printf("%s more entries, but no more bytes", x->n_grown == 1 ? "has" : "have");
  puts(cli_style_off(c));
  known_print(c, &x->r->known, x->diff->n_groups - x->n_groups + x->diff->n_grown - x->n_grown,
              x->known.retained_bytes + x->known.grown_bytes, x->known.objects);
  free(when);
}

/* }=================================================================================== */

/* {=== Text: the tables =============================================================== */

enum { MOST_COLUMNS = 7 };

/* With --fingerprints and --factor there is one more column each. */
static void group_row(cli *c, const comparison *x, const lh_diff_group *group, cli_table *table) {
  bool flagged = is_flagged(x->r, group);
  const char *cells[MOST_COLUMNS];
  size_t n = 0;
  if (x->r->fingerprints) cells[n++] = group->fingerprint;
  cells[n++] = cli_size(c, group->retained_bytes);
  cells[n++] = cli_size(c, group->shallow_bytes);
  cells[n++] = cli_count(c, group->objects);
  if (x->r->factor != 0) cells[n++] = flagged ? cli_count(c, group->objects / x->r->factor) : "";
  cells[n++] = group->class_name;
  cells[n] = group->held_by;
  cli_table_row(table, cells, flagged ? CLI_ALARM : CLI_PLAIN);
}

static void print_group_table(cli *c, const comparison *x, size_t n_shown) {
  char heading[LH_NUMBER_BYTES];
  cli_column columns[MOST_COLUMNS];
  size_t n = 0;
  cli_table *table;
  snprintf(heading, sizeof heading, "/ %s", cli_count(c, x->r->factor));
  if (x->r->fingerprints) columns[n++] = (cli_column){"fingerprint", CLI_LEFT};
  columns[n++] = (cli_column){"retained", CLI_RIGHT};
  columns[n++] = (cli_column){"shallow", CLI_RIGHT};
  columns[n++] = (cli_column){"objects", CLI_RIGHT};
  if (x->r->factor != 0) columns[n++] = (cli_column){heading, CLI_RIGHT};
  columns[n++] = (cli_column){"class", CLI_WRAP};
  columns[n++] = (cli_column){"held by", CLI_WRAP};
  table = cli_table_new(c, columns, n);
  for (size_t i = 0; i < n_shown; i++) group_row(c, x, &x->diff->groups[i], table);
  cli_table_print(table);
}

static void print_groups(cli *c, const comparison *x) {
  size_t n = x->n_groups, n_shown = n_rows(c, x->r, n), n_flagged = 0;
  uint64_t n_heads = 0;
  if (n == 0) return;
  for (size_t i = 0; i < n; i++) {
    n_flagged += is_flagged(x->r, &x->diff->groups[i]);
    n_heads += x->diff->groups[i].objects;
  }
  if (n_heads < x->unknown.objects)
    printf("%s of them %s the others; by class and by what holds them:\n", cli_count(c, n_heads),
           n_heads == 1 ? "retains" : "retain");
  if (x->r->factor != 0)
    printf("%s of %s %s a multiple of %s objects%s\n",
           n_flagged == 0 ? "None" : cli_count(c, n_flagged), cli_count_of(c, n, "group", "groups"),
           n_flagged < 2 ? "has" : "have", cli_count(c, x->r->factor),
           n_flagged == 0 ? "" : ": look there first");
  putchar('\n');
  print_group_table(c, x, n_shown);
  cli_print_hidden(c, n - n_shown, "group", "groups");
  print_how_held(c, x->snapshots[2], x->diff->groups[0].example);
}

/* The question that comes next, ready to be copied: of the biggest group. */
static void print_next_step(cli *c, const comparison *x) {
  char *file;
  if (x->n_groups == 0) return;
  file = cli_shell_word(x->files[2]);
  printf("\n%sWhy the first of them stays: heappath %s%s %s%s\n", cli_style_on(c, CLI_FAINT),
         x->files[2][0] == '-' ? "-- " : "", file,
         cli_address(c, x->snapshots[2], x->diff->groups[0].example), cli_style_off(c));
  free(file);
}

static uint64_t live_bytes(cli *c, lh_snapshot *snapshot, const char *file) {
  uint64_t bytes = 0;
  lh_error error;
  cli_check(c, lh_analyse(snapshot, &error), file, &error);
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++)
    if (lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id))
      bytes += lh_shallow_bytes(snapshot, id);
  return bytes;
}

/* Says so where the heap got bigger, and neither new objects nor containers tell why: a table that
** got bigger once, or was emptied, which does not make it smaller. */
static void print_untold(cli *c, const comparison *x) {
  enum { TENTH = 10, LEAST_BYTES = 16 * 1024 };
  uint64_t told = x->diff->retained_bytes + x->unknown.grown_bytes + x->known.grown_bytes, from, to;
  char *files[2];
  if (x->snapshots[1] == NULL) return;
  to = live_bytes(c, x->snapshots[2], x->files[2]);
  if (told >= to / TENTH) return;
  from = live_bytes(c, x->snapshots[0], x->files[0]);
  if (to < from + LEAST_BYTES || to < from + from / TENTH || told >= (to - from) / TENTH) return;
  for (int i = 0; i < 2; i++) files[i] = cli_shell_word(x->files[2 * i]);
  printf(
      "\nThe heap grew by %s all the same: heapdiff --owners %s %s tells where,\n"
      "heaptop --waste %s what could be given back\n",
      cli_size(c, to - from), files[0], files[1], files[1]);
  for (int i = 0; i < 2; i++) free(files[i]);
}

static void print_text(cli *c, const comparison *x) {
  print_sentence(c, x);
  print_groups(c, x);
  print_grown(c, x);
  print_untold(c, x);
  print_gone(c, x);
  print_class_changes(c, x);
  print_next_step(c, x);
}

/* }=================================================================================== */

int leaks_report(cli *c, request *r) {
  comparison x;
  int status;
  compare(c, r, &x);
  if (!x.diff->same_state) {
    status = apart_report(c, &x);
    close_all(&x);
    return status;
  }
  if (c->json)
    leaks_print_json(c, &x);
  else
    print_text(c, &x);
  status =
      gate(c, r, x.unknown.retained_bytes, x.unknown.grown_bytes, x.unknown.objects, "retained");
  close_all(&x);
  return status;
}
