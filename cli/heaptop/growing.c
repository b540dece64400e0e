/*
** growing.c - collections that look as if they had no limit, in sentences, with what speaks for and
** against that. Finding them is the library's (lh_find_growing).
*/
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "heaptop.h"

static lh_growings find(cli *c, lh_snapshot *snapshot) {
  lh_growings found;
  lh_error error;
  cli_check(c, lh_find_growing(snapshot, &found, &error), NULL, &error);
  return found;
}

/* {=== The words ====================================================================== */

/* "1,020 Listener tables", "5,012 strings as keys", "240 tables of several classes": how many of
** that class there are. */
static void put_elements(FILE *out, cli *c, const lh_growing *g) {
  const char *type = lh_type_name(g->type);
  bool by_type = strcmp(g->element, type) == 0;
  fprintf(out, "%s %s%s", cli_count(c, g->alike_entries), g->element,
          by_type || g->type == LH_TYPE_ROOT ? "s" : "");
  if (!by_type && (g->type == LH_TYPE_TABLE || g->type == LH_TYPE_USERDATA))
    fprintf(out, " %s%s", type, g->type == LH_TYPE_TABLE ? "s" : "");
  if (by_type && g->type == LH_TYPE_TABLE) fputs(" of several classes", out);
  if (g->are_keys) fputs(" as keys", out);
}

static const char *number(cli *c, double n) {
  if (fabs(n) < 9e15 && n == floor(n) && n >= 0) return cli_count(c, (uint64_t)n);
  char *text = c->numbers[c->next_number++ % (sizeof c->numbers / sizeof c->numbers[0])];
  snprintf(text, CLI_NUMBER_BYTES, "%.14g", n);
  return text;
}

static const char *time_of(cli *c, double seconds) {
  return cli_time(c, (uint64_t)(seconds * 1e9));
}

static void print_keys(cli *c, const lh_snapshot *snapshot, const lh_growing *g) {
  static const char *const words[] = {
      [LH_KEYED_UUIDS] = "uuids",
      [LH_KEYED_HEX] = "hexadecimal ids",
      [LH_KEYED_NUMBERED] = "strings that differ in their digits",
      [LH_KEYED_TOKENS] = "strings of one length, as of a random generator",
      [LH_KEYED_NAMES] = "names",
      [LH_KEYED_STRINGS] = "strings"};
  switch (g->keying) {
    case LH_KEYED_NOT: printf("linked with each other"); return;
    case LH_KEYED_SEQUENCE:
      printf("keys are 1 to %s, one after the other", cli_count(c, g->elements));
      return;
    case LH_KEYED_INTEGERS:
      printf("keys are integers from %s to %s", number(c, g->least), number(c, g->greatest));
      return;
    case LH_KEYED_NUMBERS:
      printf("keys are numbers from %s to %s", number(c, g->least), number(c, g->greatest));
      return;
    case LH_KEYED_TIMES:
    case LH_KEYED_MILLISECONDS:
      printf("keys are times from %s to %s", time_of(c, g->least), time_of(c, g->greatest));
      return;
    case LH_KEYED_OBJECTS: printf("keys are objects"); return;
    case LH_KEYED_MIXED: printf("keys are of all kinds"); return;
    default: break;
  }
  char *example = cli_must(lh_string_text(snapshot, g->example_key, 40));
  printf("keys are %s, such as %s", words[g->keying], example);
  lh_free(example);
}

/* Why a table that should let go does not. */
static void print_weak(const lh_growing *g) {
  bool numbers = g->keying >= LH_KEYED_SEQUENCE && g->keying <= LH_KEYED_NUMBERS;
  if (g->weak_keys && g->weak_values)
    puts("    weak, but neither its keys nor its values are objects: nothing goes");
  else if (g->weak_keys)
    printf("    weak keys, but the keys are %s: nothing goes\n", numbers ? "numbers" : "strings");
  else if (g->weak_values)
    printf("    weak values, but the values are %s: nothing goes\n",
           g->type == LH_TYPE_STRING && !g->are_keys ? "strings" : "no objects");
}

static char *interval_begin(cli *c, const lh_snapshot *snapshot, uint32_t epoch) {
  bool is_time;
  return epoch == 0 ? cli_must(strdup("the start"))
                    : mark_name(c, lh_mark_at(snapshot, epoch - 1), &is_time);
}

/* In which intervals between marks its elements were allocated. */
static void print_epochs(cli *c, const lh_snapshot *snapshot, const lh_growing *g) {
  uint32_t n = lh_mark_count(snapshot);
  if (n < 2 || g->aged == 0 || 2 * g->aged < g->elements) return; /* they share a few */
  char *first = interval_begin(c, snapshot, 1), *oldest, *youngest;
  oldest = interval_begin(c, snapshot, g->oldest_epoch);
  youngest = interval_begin(c, snapshot, g->youngest_epoch);
  if (g->since_first_mark == 0)
    printf("    all of it from before %s, the first mark\n", first);
  else if (g->epochs == 1)
    printf("    all of it allocated in the interval that begins with %s\n", oldest);
  else
    printf("    allocated in %s of %s intervals between marks, from %s to %s\n",
           cli_count(c, g->epochs), cli_count(c, n), oldest, youngest);
  lh_free(first);
  lh_free(oldest);
  lh_free(youngest);
}

/* What is known without marks. */
static void print_order(cli *c, const lh_growing *g) {
  if (g->exact) printf("    made in one piece: nothing was ever put behind its end\n");
  if (2 * g->aged < g->elements || g->aged == 0) return;
  uint64_t thousandths = (uint64_t)(g->younger * 1000);
  if (g->in_one_go && g->prospect == LH_FILLED_ONCE)
    printf("    allocated in one go; %s of the heap's objects are younger\n",
           cli_share(c, thousandths, 1000));
  else if (g->younger < 0.1)
    printf("    its youngest is among the youngest %s of the heap's objects\n",
           g->younger < 0.01 ? "hundredth" : "tenth");
  else
    printf("    %s of the heap's objects are younger than its youngest\n",
           cli_share(c, thousandths, 1000));
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static void print_sentence(cli *c, lh_snapshot *snapshot, const lh_growing *g) {
  static const char *const verdicts[] = {"was filled once:", "may grow:", "grows:"};
  printf("%s%s %s ", cli_style_on(c, g->prospect == LH_FILLED_ONCE ? CLI_PLAIN : CLI_BOLD),
         g->held_by, verdicts[g->prospect]);
  put_elements(stdout, c, g);
  if (g->tables > 1) printf(" in %s %s", cli_count(c, g->tables), g->is_list ? "lists" : "tables");
  if (g->prospect != LH_FILLED_ONCE && g->tables_filled_once > 0)
    printf(" (%s filled once)", cli_count(c, g->tables_filled_once));
  printf(", %s, %s of the heap%s\n", cli_size(c, g->bytes), share_of_heap(c, snapshot, g->bytes),
         cli_style_off(c));
}

static void print_evidence(cli *c, const lh_snapshot *snapshot, const lh_growing *g) {
  if (g->tables > 1)
    printf("    one of these, with %s:\n", cli_count_of(c, g->elements, "element", "elements"));
  fputs("    ", stdout);
  print_keys(c, snapshot, g);
  putchar('\n');
  print_weak(g);
  print_epochs(c, snapshot, g);
  print_order(c, g);
}

/* next[i]: the next row with just the elements of row i, or found->n. Freed by free. */
static size_t *link_same(const lh_growings *found) {
  size_t *next = cli_must(calloc(found->n + 1, sizeof *next));
  size_t *last = cli_must(calloc(found->n + 1, sizeof *last));
  for (size_t i = 0; i < found->n; i++) {
    size_t first = found->list[i].same_as;
    next[i] = found->n;
    if (first != i) next[last[first]] = i;
    last[first] = i;
  }
  free(last);
  return next;
}

static void print_row(cli *c, lh_snapshot *snapshot, const lh_growings *found, size_t i,
                      const size_t *next, const char *file) {
  const lh_growing *g = &found->list[i];
  char *word = cli_shell_word(file);
  print_sentence(c, snapshot, g);
  print_evidence(c, snapshot, g);
  for (size_t k = next[i]; k < found->n; k = next[k])
    printf("    also in %s\n", found->list[k].held_by);
  printf("    Why it stays: heappath %s %s\n", word, cli_address(c, snapshot, g->id));
  free(word);
}

/* The first n rows; of those with just the same elements the first. */
static void print_rows(cli *c, lh_snapshot *snapshot, const lh_growings *found, size_t n,
                       const request *r) {
  size_t *next = link_same(found), n_printed = 0, n_hidden = 0;
  for (size_t i = 0; i < n; i++) {
    if (found->list[i].same_as != i) continue;
    if (r->query.limit != 0 && n_printed == r->query.limit) {
      n_hidden++;
      continue;
    }
    if (n_printed++ > 0) putchar('\n');
    print_row(c, snapshot, found, i, next, r->file);
  }
  cli_print_hidden(c, n_hidden, "collection", "collections");
  free(next);
}

/* Those that were filled once are left out, unless all are asked for. */
static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  lh_growings found = find(c, snapshot);
  size_t n_left = found.n - found.n_filled_once, n = r->query.limit == 0 ? found.n : n_left;
  if (n_left == 0) printf("Nothing looks like a collection without a limit\n");
  if (n_left == 0 && n > 0) putchar('\n');
  print_rows(c, snapshot, &found, n, r);
  if (n < found.n)
    printf("\n%sLeft out: %s that %s filled once; -n 0 shows all%s\n", cli_style_on(c, CLI_FAINT),
           cli_count_of(c, found.n_filled_once, "collection", "collections"),
           found.n_filled_once == 1 ? "was" : "were", cli_style_off(c));
  lh_growings_free(&found);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *row_json(cli *c, const lh_snapshot *snapshot, const lh_growings *found, size_t i) {
  const lh_growing *g = &found->list[i];
  bool numbers = g->keying >= LH_KEYED_SEQUENCE && g->keying <= LH_KEYED_NUMBERS;
  char *example = g->example_key == LH_NO_OBJECT
                      ? NULL
                      : cli_must(lh_string_text(snapshot, g->example_key, 64));
  json_t *json = cli_must(json_pack(
      "{ss ss ss sI sI sI sI sI ss sI sb ss so so ss? sb}", "prospect",
      lh_prospect_name(g->prospect), "held_by", g->held_by, "address",
      cli_address(c, snapshot, g->id), "tables", (json_int_t)g->tables, "entries",
      (json_int_t)g->entries, "bytes", (json_int_t)g->bytes, "retained_bytes",
      (json_int_t)lh_retained_bytes(snapshot, g->id), "elements", (json_int_t)g->elements,
      "element", g->element, "alike", (json_int_t)g->alike, "are_keys", (int)g->are_keys, "keys",
      lh_keying_name(g->keying), "least", numbers ? json_real(g->least) : json_null(), "greatest",
      numbers ? json_real(g->greatest) : json_null(), "example_key", example, "exact",
      (int)g->exact));
  json_object_set_new(json, "alike_entries", json_integer((json_int_t)g->alike_entries));
  json_object_set_new(json, "tables_filled_once", json_integer((json_int_t)g->tables_filled_once));
  json_object_set_new(json, "weak_keys", json_boolean(g->weak_keys));
  json_object_set_new(json, "weak_values", json_boolean(g->weak_values));
  json_object_set_new(json, "aged", json_integer((json_int_t)g->aged));
  json_object_set_new(json, "since_first_mark", json_integer((json_int_t)g->since_first_mark));
  json_object_set_new(json, "epochs", json_integer((json_int_t)g->epochs));
  json_object_set_new(json, "oldest_epoch", json_integer((json_int_t)g->oldest_epoch));
  json_object_set_new(json, "youngest_epoch", json_integer((json_int_t)g->youngest_epoch));
  json_object_set_new(json, "in_one_go", json_boolean(g->in_one_go));
  json_object_set_new(json, "younger_share", json_real(g->younger));
  json_object_set_new(json, "same_as",
                      g->same_as == i ? json_null() : json_string(found->list[g->same_as].held_by));
  lh_free(example);
  return json;
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_growings found = find(c, snapshot);
  bool all = !r->limit_given || r->query.limit == 0 || r->query.limit > found.n;
  size_t n = all ? found.n : r->query.limit;
  cli_json_value(w, "total_collections", cli_json_size(found.n));
  cli_json_value(w, "total_filled_once", cli_json_size(found.n_filled_once));
  cli_json_open(w, "collections", '[');
  for (size_t i = 0; i < n; i++) cli_json_value(w, NULL, row_json(c, snapshot, &found, i));
  cli_json_close(w, ']');
  lh_growings_free(&found);
}

/* }=================================================================================== */

const report growing_report = {"growing", print, print_json};
