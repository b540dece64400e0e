/*
** heapdiff - what was allocated and stays. Three snapshots: allocated between a and b, alive in c;
** two: what appeared and what went; one with marks: the same from inside one file. First a
** sentence, then the groups of one class and one holder, then the containers that grew or the
** change of each class.
*/
#include <errno.h>
#include <string.h>

#include "cli.h"

enum { KEY_SORT = CLI_FIRST_KEY, KEY_SINCE, KEY_UNTIL, KEY_FACTOR, KEY_FAIL_OVER };

static const cli_option options[] = {
    {'n', "top", "N", "rows in each table (default 20; 0: all)"},
    {KEY_SORT, "sort", "ORDER", "groups by retained (default), shallow or count"},
    {KEY_SINCE, "since", "MARK", "what was allocated after this mark of the snapshot"},
    {KEY_UNTIL, "until", "MARK", "with --since: and before this one"},
    {KEY_FACTOR, "factor", "N", "flag groups whose object count is a multiple of N"},
    {KEY_FAIL_OVER, "fail-over", "SIZE", "exit with 1 if more is retained; 512, 100K, 2M, 1G"},
    CLI_COMMON_OPTIONS};

static const cli_tool tool = {
    "heapdiff",
    "Shows what was allocated between two moments and is still alive: the leaks.",
    {"[options] A B C       allocated between A and B, still alive in C",
     "[options] A B         what appeared and what went between A and B",
     "[options] --since MARK [--until MARK] C"},
    options,
    sizeof options / sizeof *options,
    "Example: heapdiff --factor 100 a b c     the suspicious work ran 100 times\n"
    "Exit status: 0 done, 1 more than --fail-over is retained, 2 wrong usage or failure.\n"};

typedef struct request {
  const char *files[3]; /* a, b, c; two: a, NULL, c; marks: NULL, NULL, c */
  const char *since, *until;
  lh_sort sort;
  size_t limit;
  bool limit_given, has_fail_over;
  uint64_t factor, fail_over_bytes;
} request;

/* What is compared, and how; names are escaped. */
typedef struct comparison {
  const request *r;
  lh_snapshot *snapshots[3];
  char *names[3];
  lh_diff *diff;
} comparison;

/* {=== Options ======================================================================== */

static uint64_t size_argument(const cli *c, const char *option) {
  static const char units[] = "KMGT";
  char *end;
  const char *unit;
  unsigned shift = 0;
  unsigned long long n;
  errno = 0;
  n = strtoull(optarg, &end, 10);
  unit = *end != '\0' ? strchr(units, *end) : NULL;
  if (unit != NULL) {
    shift = 10 * (unsigned)(unit - units + 1);
    end++;
  }
  if (*optarg < '0' || *optarg > '9' || *end != '\0' || errno != 0 || n > UINT64_MAX >> shift)
    cli_usage_error(c, "%s needs a size such as 512, 100K, 2M or 1G, not '%s'", option, optarg);
  return (uint64_t)n << shift;
}

static void parse_options(cli *c, request *r, int argc, char **argv) {
  static const lh_sort orders[] = {LH_SORT_RETAINED, LH_SORT_SHALLOW, LH_SORT_COUNT};
  int key;
  while ((key = cli_next_option(c, argc, argv)) != -1) {
    switch (key) {
      case 'n':
        r->limit = cli_number_argument(c, "--top");
        r->limit_given = true;
        break;
      case KEY_SORT:
        r->sort = orders[cli_word_argument(c, "--sort", "retained|shallow|count")];
        break;
      case KEY_SINCE: r->since = optarg; break;
      case KEY_UNTIL: r->until = optarg; break;
      case KEY_FACTOR:
        r->factor = cli_number_argument(c, "--factor");
        if (r->factor < 2) cli_usage_error(c, "--factor needs a number of at least 2");
        break;
      case KEY_FAIL_OVER:
        r->fail_over_bytes = size_argument(c, "--fail-over");
        r->has_fail_over = true;
        break;
    }
  }
}

static void parse(cli *c, request *r, int argc, char **argv) {
  int n;
  *r = (request){.sort = LH_SORT_RETAINED, .limit = 20};
  parse_options(c, r, argc, argv);
  n = argc - optind;
  if (r->until != NULL && r->since == NULL) cli_usage_error(c, "--until needs --since MARK too");
  if (r->since != NULL && n != 1)
    cli_usage_error(c, "with --since it takes one snapshot, not %d", n);
  if (r->since == NULL && n != 2 && n != 3)
    cli_usage_error(c,
                    n == 1 ? "one snapshot alone needs --since MARK"
                           : "it takes two or three snapshots, not %d",
                    n);
  for (int i = 0; i < n; i++) r->files[i] = argv[optind + i];
  if (n < 3) {
    r->files[2] = r->files[n - 1];
    r->files[n - 1] = NULL;
  }
}

/* }=================================================================================== */

/* {=== Comparing ====================================================================== */

static bool is_flagged(const request *r, const lh_diff_group *group) {
  return r->factor != 0 && group->objects > 0 && group->objects % r->factor == 0;
}

static uint64_t rank(const request *r, const lh_diff_group *group) {
  if (r->sort == LH_SORT_SHALLOW) return group->shallow_bytes;
  return r->sort == LH_SORT_COUNT ? group->objects : group->retained_bytes;
}

/* Flagged groups first, then by the order asked for; no two groups have the same example. */
static int compare_groups(const void *left, const void *right, void *payload) {
  const lh_diff_group *a = left, *b = right;
  const request *r = payload;
  if (is_flagged(r, a) != is_flagged(r, b)) return is_flagged(r, a) ? -1 : 1;
  if (rank(r, a) != rank(r, b)) return rank(r, a) > rank(r, b) ? -1 : 1;
  if (a->retained_bytes != b->retained_bytes) return a->retained_bytes > b->retained_bytes ? -1 : 1;
  return a->example < b->example ? -1 : a->example > b->example;
}

static void compare(cli *c, request *r, comparison *x) {
  lh_error error;
  int code;
  *x = (comparison){.r = r};
  for (int i = 0; i < 3; i++) {
    if (r->files[i] == NULL) continue;
    x->snapshots[i] = cli_open(c, r->files[i]);
    x->names[i] = cli_escape(r->files[i]);
  }
  if (lh_object_count(x->snapshots[2]) > 200000) cli_progress(c, "comparing");
  if (r->since != NULL)
    code = lh_diff_marks(x->snapshots[2], r->since, r->until, &x->diff, &error);
  else
    code = lh_diff_snapshots(x->snapshots[0], x->snapshots[1], x->snapshots[2], &x->diff, &error);
  cli_progress(c, NULL);
  cli_check(c, code, r->since != NULL ? r->files[2] : NULL, &error);
  if (x->diff->n_groups > 1)
    qsort_r(x->diff->groups, x->diff->n_groups, sizeof *x->diff->groups, compare_groups, r);
}

static void close_all(comparison *x) {
  lh_diff_free(x->diff);
  for (int i = 0; i < 3; i++) {
    lh_close(x->snapshots[i]);
    free(x->names[i]);
  }
}

static size_t n_rows(const cli *c, const request *r, size_t n) {
  return r->limit == 0 || n < r->limit || (c->json && !r->limit_given) ? n : r->limit;
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
  free(since);
  free(until);
  return text;
}

static void print_gone(cli *c, const comparison *x) {
  const lh_diff *d = x->diff;
  if (x->snapshots[0] == NULL || x->snapshots[1] != NULL || !d->same_state) return;
  if (d->gone_objects == 0)
    printf("\nNothing of %s is gone\n", x->names[0]);
  else
    printf("\n%s of %s %s gone: %s\n", cli_count_of(c, d->gone_objects, "object", "objects"),
           x->names[0], d->gone_objects == 1 ? "is" : "are", cli_size(c, d->gone_bytes));
}

/* By how much the containers grew from the first snapshot to the last. */
static uint64_t grown_bytes(const lh_diff *d) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < d->n_grown; i++) {
    const uint64_t *at = d->grown[i].shallow_bytes;
    if (at[2] > at[0]) bytes += at[2] - at[0];
  }
  return bytes;
}

static void print_sentence(cli *c, const comparison *x) {
  const lh_diff *d = x->diff;
  char *when = when_text(x);
  const char *last = x->names[2];
  fputs(cli_style_on(c, CLI_BOLD), stdout);
  if (d->objects == 0)
    printf("Nothing that was allocated %s is still alive in %s", when, last);
  else
    printf("%s allocated %s %s still alive in %s: %s",
           cli_count_of(c, d->objects, "object", "objects"), when, d->objects == 1 ? "is" : "are",
           last, cli_size(c, d->shallow_bytes));
  if (d->retained_bytes != d->shallow_bytes)
    printf(", retaining %s", cli_size(c, d->retained_bytes));
  if (d->n_grown > 0)
    printf("; %s grew by %s", cli_count_of(c, d->n_grown, "older container", "older containers"),
           cli_size(c, grown_bytes(d)));
  puts(cli_style_off(c));
  free(when);
}

/* Of different states nothing but numbers can be compared; the sums are over the classes. */
static void print_sentence_by_class(cli *c, const comparison *x) {
  const lh_info *first = lh_snapshot_info(x->snapshots[0]),
                *last = lh_snapshot_info(x->snapshots[2]);
  uint64_t objects[2] = {0, 0}, bytes[2] = {0, 0};
  for (size_t i = 0; i < x->diff->n_classes; i++) {
    const lh_class_change *change = &x->diff->classes[i];
    for (int k = 0; k < 2; k++) {
      objects[k] += change->objects[2 * k];
      bytes[k] += change->shallow_bytes[2 * k];
    }
  }
  printf("%sFrom %s to %s: %s objects, %s%s\n", cli_style_on(c, CLI_BOLD), x->names[0], x->names[2],
         cli_count_change(c, objects[0], objects[1]), cli_size_change(c, bytes[0], bytes[1]),
         cli_style_off(c));
  printf(
      "The snapshots are of different %s, so no object of one is an object of another:\n"
      "compared by class only.\n",
      first->process_id != last->process_id ? "processes" : "Lua states");
  if (x->snapshots[1] != NULL) printf("The figures of %s are in --json.\n", x->names[1]);
}

/* }=================================================================================== */

/* {=== Text: the tables =============================================================== */

static void group_row(cli *c, const comparison *x, const lh_diff_group *group, cli_table *table) {
  const lh_class *class = lh_class_at(x->snapshots[2], group->class_index);
  bool flagged = is_flagged(x->r, group);
  const char *cells[] = {cli_size(c, group->retained_bytes),
                         cli_size(c, group->shallow_bytes),
                         cli_count(c, group->objects),
                         class->name,
                         group->held_by,
                         flagged ? cli_count(c, group->objects / x->r->factor) : ""};
  if (x->r->factor == 0) {
    cli_table_row(table, cells, CLI_PLAIN);
  } else {
    const char *with_factor[] = {cells[0], cells[1], cells[2], cells[5], cells[3], cells[4]};
    cli_table_row(table, with_factor, flagged ? CLI_ALARM : CLI_PLAIN);
  }
}

static void print_groups(cli *c, const comparison *x) {
  char heading[CLI_NUMBER_BYTES];
  const cli_column plain[] = {{"retained", CLI_RIGHT},
                              {"shallow", CLI_RIGHT},
                              {"objects", CLI_RIGHT},
                              {"class", CLI_WRAP},
                              {"held by", CLI_WRAP}};
  const cli_column with_factor[] = {{"retained", CLI_RIGHT}, {"shallow", CLI_RIGHT},
                                    {"objects", CLI_RIGHT},  {heading, CLI_RIGHT},
                                    {"class", CLI_WRAP},     {"held by", CLI_WRAP}};
  bool factor = x->r->factor != 0;
  size_t n = x->diff->n_groups, n_shown = n_rows(c, x->r, n), n_flagged = 0;
  uint64_t n_heads = 0;
  cli_table *table;
  if (n == 0) return;
  snprintf(heading, sizeof heading, "/ %s", cli_count(c, x->r->factor));
  table = cli_table_new(c, factor ? with_factor : plain, factor ? 6 : 5);
  for (size_t i = 0; i < n; i++) {
    n_flagged += is_flagged(x->r, &x->diff->groups[i]);
    n_heads += x->diff->groups[i].objects;
  }
  for (size_t i = 0; i < n_shown; i++) group_row(c, x, &x->diff->groups[i], table);
  if (n_heads < x->diff->objects)
    printf("%s of them %s the others; by class and by what holds them:\n", cli_count(c, n_heads),
           n_heads == 1 ? "retains" : "retain");
  if (factor)
    printf("%s of %s %s a multiple of %s objects%s\n",
           n_flagged == 0 ? "None" : cli_count(c, n_flagged), cli_count_of(c, n, "group", "groups"),
           n_flagged < 2 ? "has" : "have", cli_count(c, x->r->factor),
           n_flagged == 0 ? "" : ": look there first");
  putchar('\n');
  cli_table_print(table);
  cli_print_hidden(c, n - n_shown, "group", "groups");
}

/* The question that comes next, ready to be copied: of the biggest group. */
static void print_next_step(cli *c, const comparison *x) {
  char *file;
  if (x->diff->n_groups == 0) return;
  file = cli_shell_word(x->r->files[2]);
  printf("\n%sWhy the first of them stays: heappath %s %s%s\n", cli_style_on(c, CLI_FAINT), file,
         cli_address(c, x->snapshots[2], x->diff->groups[0].example), cli_style_off(c));
  free(file);
}

static char *three(cli *c, const uint64_t values[3], const char *(*print)(cli *c, uint64_t n)) {
  char *text = cli_must(malloc(4 * CLI_NUMBER_BYTES));
  snprintf(text, 4 * CLI_NUMBER_BYTES, "%s -> %s -> %s", print(c, values[0]), print(c, values[1]),
           print(c, values[2]));
  return text;
}

static void grown_row(cli *c, const comparison *x, const lh_grown *grown, cli_table *table) {
  char *bytes = three(c, grown->shallow_bytes, cli_size);
  bool has_entries = lh_type_of(x->snapshots[2], grown->id) == LH_TYPE_TABLE;
  char *entries = has_entries ? three(c, grown->entries, cli_count) : NULL;
  const char *cells[] = {cli_size_change(c, grown->shallow_bytes[0], grown->shallow_bytes[2]),
                         bytes,
                         entries != NULL ? entries : "-",
                         cli_address(c, x->snapshots[2], grown->id),
                         cli_class_of(x->snapshots[2], grown->id),
                         grown->held_by};
  cli_table_row(table, cells, CLI_PLAIN);
  free(bytes);
  free(entries);
}

static void print_grown(cli *c, const comparison *x) {
  static const cli_column columns[] = {{"grew", CLI_RIGHT},    {"bytes", CLI_RIGHT},
                                       {"entries", CLI_RIGHT}, {"address", CLI_LEFT},
                                       {"class", CLI_WRAP},    {"path", CLI_WRAP}};
  size_t n = x->diff->n_grown, n_shown = n_rows(c, x->r, n);
  cli_table *table;
  if (!x->diff->same_state) return;
  if (x->snapshots[1] == NULL) {
    printf("\nWhether older containers grew is told by three snapshots only\n");
    return;
  }
  if (n == 0) {
    printf("\nNo container that is older than %s grew both times\n", x->names[0]);
    return;
  }
  printf("\n%sContainers older than %s that grew until %s and again until %s%s\n",
         cli_style_on(c, CLI_BOLD), x->names[0], x->names[1], x->names[2], cli_style_off(c));
  table = cli_table_new(c, columns, 6);
  for (size_t i = 0; i < n_shown; i++) grown_row(c, x, &x->diff->grown[i], table);
  cli_table_print(table);
  cli_print_hidden(c, n - n_shown, "container", "containers");
}

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
static void print_classes(cli *c, const comparison *x) {
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
  table = cli_table_new(c, d->same_state ? of_one_state : of_two, d->same_state ? 7 : 5);
  for (size_t i = 0; i < d->n_classes; i++) {
    if (!has_changed(&d->classes[i])) continue;
    if (x->r->limit == 0 || n_changed < x->r->limit) {
      class_row(c, x, &d->classes[i], table);
      n_shown++;
    }
    n_changed++;
  }
  printf("\n%sChange of classes from %s to %s%s (%s did not change)\n", cli_style_on(c, CLI_BOLD),
         x->names[0], x->names[2], cli_style_off(c), cli_count(c, d->n_classes - n_changed));
  cli_table_print(table);
  cli_print_hidden(c, n_changed - n_shown, "class", "classes");
}

static void print_text(cli *c, const comparison *x) {
  if (x->diff->same_state)
    print_sentence(c, x);
  else
    print_sentence_by_class(c, x);
  print_groups(c, x);
  print_grown(c, x);
  print_gone(c, x);
  print_classes(c, x);
  print_next_step(c, x);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *json_triple(const uint64_t values[3]) {
  return json_pack("[I, I, I]", (json_int_t)values[0], (json_int_t)values[1],
                   (json_int_t)values[2]);
}

static void json_groups(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_groups", cli_json_size(d->n_groups));
  cli_json_open(w, "groups", '[');
  for (size_t i = 0; i < n_rows(c, x->r, d->n_groups); i++) {
    const lh_diff_group *group = &d->groups[i];
    const lh_class *class = lh_class_at(x->snapshots[2], group->class_index);
    json_t *row = cli_must(json_pack(
        "{ss ss ss sI sI sI sI ss}", "class", class->name, "type", lh_type_name(class->type),
        "held_by", group->held_by, "objects", (json_int_t)group->objects, "shallow_bytes",
        (json_int_t)group->shallow_bytes, "retained_bytes", (json_int_t)group->retained_bytes,
        "new_objects", (json_int_t)group->new_objects, "example",
        cli_address(c, x->snapshots[2], group->example)));
    if (x->r->factor != 0)
      json_object_set_new(row, "flagged", json_boolean(is_flagged(x->r, group)));
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

static void json_grown(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_grown", cli_json_size(d->n_grown));
  cli_json_open(w, "grown", '[');
  for (size_t i = 0; i < n_rows(c, x->r, d->n_grown); i++) {
    const lh_grown *grown = &d->grown[i];
    cli_json_value(
        w, NULL,
        json_pack("{ss ss ss so so}", "address", cli_address(c, x->snapshots[2], grown->id),
                  "class", cli_class_of(x->snapshots[2], grown->id), "held_by", grown->held_by,
                  "shallow_bytes", json_triple(grown->shallow_bytes), "entries",
                  json_triple(grown->entries)));
  }
  cli_json_close(w, ']');
}

/* With two snapshots the middle one does not exist, and is left out. */
static json_t *json_change(const uint64_t values[3], bool has_middle) {
  if (has_middle) return json_triple(values);
  return json_pack("[I, I]", (json_int_t)values[0], (json_int_t)values[2]);
}

static void json_classes(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_classes", cli_json_size(d->n_classes));
  cli_json_open(w, "classes", '[');
  for (size_t i = 0; i < n_rows(c, x->r, d->n_classes); i++) {
    const lh_class_change *change = &d->classes[i];
    bool middle = x->snapshots[1] != NULL;
    json_t *row = cli_must(json_pack("{ss ss so so}", "class", change->name, "type",
                                     lh_type_name(change->type), "objects",
                                     json_change(change->objects, middle), "shallow_bytes",
                                     json_change(change->shallow_bytes, middle)));
    if (d->same_state) {
      json_object_set_new(row, "appeared", cli_json_size(change->appeared));
      json_object_set_new(row, "gone", cli_json_size(change->gone));
    }
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

static void print_json(cli *c, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "same_state", json_boolean(d->same_state));
  cli_json_value(&w, "objects", cli_json_size(d->objects));
  cli_json_value(&w, "shallow_bytes", cli_json_size(d->shallow_bytes));
  cli_json_value(&w, "retained_bytes", cli_json_size(d->retained_bytes));
  cli_json_value(&w, "gone_objects", cli_json_size(d->gone_objects));
  cli_json_value(&w, "gone_bytes", cli_json_size(d->gone_bytes));
  json_groups(c, &w, x);
  json_grown(c, &w, x);
  json_classes(c, &w, x);
  cli_json_close(&w, '}');
}

/* }=================================================================================== */

int main(int argc, char **argv) {
  cli c;
  request r;
  comparison x;
  uint64_t growth;
  bool exceeded;
  cli_begin(&c, &tool);
  parse(&c, &r, argc, argv);
  compare(&c, &r, &x);
  if (c.json)
    print_json(&c, &x);
  else
    print_text(&c, &x);
  growth = x.diff->retained_bytes + grown_bytes(x.diff);
  exceeded = r.has_fail_over && growth > r.fail_over_bytes;
  if (exceeded)
    cli_say(&c, "%s retained, which is more than %s", cli_size(&c, growth),
            cli_size(&c, r.fail_over_bytes));
  close_all(&x);
  return cli_finish(&c, exceeded ? CLI_NO : CLI_DONE);
}
