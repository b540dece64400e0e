/*
** owners.c - who owns the growth: the parts of the heap as a tree, each with what it had, what it
** has, and the difference. Of a part that did not change much no parts are shown. What is not shown
** is one line, so that the lines below a part always add up to it.
*/
#include <string.h>

#include "heapdiff.h"

enum {
  LEAST_SHARE = 100, /* shown is what changed by a hundredth of the greatest change */
  MOST_SHARES = 10   /* a part of what changed by less is told no share of it */
};

typedef struct tree {
  lh_ladder *ladder;
  lh_part *parts;
  size_t n;
  size_t *order; /* the parts but the whole: by the part above, then by change */
  size_t *first; /* of each part: where those below it begin in `order`; n + 1 numbers */
  bool *is_shown;
  uint64_t total; /* the size of the change of the whole */
} tree;

static uint64_t change_of(const lh_part *part) {
  const uint64_t *bytes = part->bytes;
  return bytes[1] > bytes[0] ? bytes[1] - bytes[0] : bytes[0] - bytes[1];
}

/* {=== The tree ====================================================================== */

static int compare_parts(const void *left, const void *right, void *payload) {
  const lh_part *parts = payload, *a = &parts[*(const size_t *)left],
                *b = &parts[*(const size_t *)right];
  int order;
  if (a->above != b->above) return a->above < b->above ? -1 : 1;
  if (change_of(a) != change_of(b)) return change_of(a) > change_of(b) ? -1 : 1;
  if (a->bytes[1] != b->bytes[1]) return a->bytes[1] > b->bytes[1] ? -1 : 1;
  order = strcmp(a->held_by, b->held_by);
  return order != 0 ? order : a < b ? -1 : a > b;
}

static void sort_parts(tree *t) {
  size_t at = 0;
  t->order = cli_must(malloc(t->n * sizeof *t->order));
  t->first = cli_must(malloc((t->n + 1) * sizeof *t->first));
  for (size_t i = 1; i < t->n; i++) t->order[i - 1] = i;
  if (t->n > 2) qsort_r(t->order, t->n - 1, sizeof *t->order, compare_parts, t->parts);
  for (size_t i = 0; i <= t->n; i++) {
    while (at < t->n - 1 && t->parts[t->order[at]].above < i) at++;
    t->first[i] = at;
  }
}

/* What comes next: of each part that is shown the first below it that is not. A heap, the greatest
** change on top. */
typedef struct queue {
  const tree *t;
  size_t *places; /* in `order` */
  size_t n;
} queue;

static bool comes_first(const queue *q, size_t a, size_t b) {
  const lh_part *x = &q->t->parts[q->t->order[q->places[a]]],
                *y = &q->t->parts[q->t->order[q->places[b]]];
  return change_of(x) != change_of(y) ? change_of(x) > change_of(y) : q->places[a] < q->places[b];
}

static void swap(queue *q, size_t a, size_t b) {
  size_t place = q->places[a];
  q->places[a] = q->places[b];
  q->places[b] = place;
}

static void push(queue *q, size_t part, size_t place) {
  size_t at = q->n;
  if (place >= q->t->first[part + 1]) return;
  q->places[q->n++] = place;
  for (; at > 0 && comes_first(q, at, (at - 1) / 2); at = (at - 1) / 2) swap(q, at, (at - 1) / 2);
}

static size_t pop(queue *q) {
  size_t top = q->places[0], at = 0;
  q->places[0] = q->places[--q->n];
  for (size_t below; (below = 2 * at + 1) < q->n; at = below) {
    if (below + 1 < q->n && comes_first(q, below + 1, below)) below++;
    if (!comes_first(q, below, at)) break;
    swap(q, at, below);
  }
  return top;
}

/* Shows the parts that changed most, each below parts that are shown, too. */
static void choose(const cli *c, const request *r, tree *t) {
  bool all = r->limit == 0 || (c->json && !r->limit_given);
  uint64_t greatest = 0;
  queue q = {.t = t, .places = cli_must(malloc((t->n + 1) * sizeof *q.places))};
  t->is_shown = cli_must(calloc(t->n, sizeof *t->is_shown));
  t->is_shown[0] = true;
  for (size_t i = 0; i < t->n; i++)
    if (change_of(&t->parts[i]) > greatest) greatest = change_of(&t->parts[i]);
  push(&q, 0, t->first[0]);
  for (size_t n_shown = 0; q.n > 0 && (all || n_shown < r->limit); n_shown++) {
    size_t place = pop(&q), part = t->order[place];
    uint64_t change = change_of(&t->parts[part]);
    if (!c->json && (change == 0 || (!all && change < greatest / LEAST_SHARE))) break;
    t->is_shown[part] = true;
    push(&q, part, t->first[part]);
    push(&q, t->parts[part].above, place + 1);
  }
  free(q.places);
}

/* }=================================================================================== */

/* {=== Text ========================================================================== */

/* The path below the one above: what is added to it, if it begins with that. */
static const char *name_of(const tree *t, const lh_part *part) {
  const char *above = t->parts[part->above].held_by, *name = part->held_by;
  size_t n = strlen(above);
  if (part->shared) return "(shared by several of these)";
  if (n > 0 && strncmp(name, above, n) == 0 && name[n] != '\0') return name + n;
  if (n > 0 && *name == '(' && strncmp(name + 1, above, n) == 0 && name[n + 1] == ')')
    return name + n + 2;
  return name;
}

/* Of the change of the whole; less than 0 is what went the other way, so they add up to 100 %.
** Where nearly as much went as came they say nothing. */
static const char *share(cli *c, const tree *t, const uint64_t bytes[2], char text[]) {
  uint64_t change = bytes[1] > bytes[0] ? bytes[1] - bytes[0] : bytes[0] - bytes[1];
  const uint64_t *whole = t->parts[0].bytes;
  bool against = change > 0 && (bytes[1] > bytes[0]) != (whole[1] > whole[0]);
  const char *positive = cli_share(c, change, t->total);
  if (change > 0 && change / MOST_SHARES >= t->total) return "-";
  against = against && strcmp(positive, "0.0%") != 0;
  snprintf(text, LH_NUMBER_BYTES + 1, "%s%s", against ? "-" : "", positive);
  return text;
}

static void line(cli *c, const tree *t, const uint64_t bytes[2], const uint64_t objects[2],
                 unsigned depth, const char *name, const char *class, cli_table *table) {
  char *text = cli_must(malloc(2 * depth + strlen(name) + 1));
  char of_whole[LH_NUMBER_BYTES + 1];
  const char *cells[7];
  size_t n = 0;
  cells[n++] = cli_size_change(c, bytes[0], bytes[1]);
  cells[n++] = share(c, t, bytes, of_whole);
  if (!cli_is_narrow(c)) cells[n++] = cli_size(c, bytes[0]);
  cells[n++] = cli_size(c, bytes[1]);
  cells[n++] = cli_count_change(c, objects[0], objects[1]);
  cells[n++] = text;
  cells[n] = class;
  sprintf(text, "%*s%s", 2 * (int)depth, "", name);
  cli_table_row(table, cells, CLI_PLAIN);
  free(text);
}

/* What of a part is not shown below it: itself, and the rest of its parts. */
static void print_rest(cli *c, const tree *t, size_t part, unsigned depth, cli_table *table) {
  const lh_part *p = &t->parts[part];
  uint64_t bytes[2] = {0, 0}, objects[2] = {0, 0}, n_hidden = 0, n_shown = 0;
  char name[2 * LH_NUMBER_BYTES];
  for (size_t i = t->first[part]; i < t->first[part + 1]; i++) {
    const lh_part *below = &t->parts[t->order[i]];
    n_shown += t->is_shown[t->order[i]];
    if (t->is_shown[t->order[i]]) continue;
    n_hidden++;
    for (int k = 0; k < 2; k++) {
      bytes[k] += below->bytes[k];
      objects[k] += below->objects[k];
    }
  }
  if (n_shown == 0) return;
  if (part != 0 && p->own_bytes[0] != p->own_bytes[1])
    line(c, t, p->own_bytes, p->own_objects, depth, "(itself)", "", table);
  if (n_hidden == 0 || (bytes[0] == bytes[1] && part != 0)) return;
  snprintf(name, sizeof name, "(%s)", cli_count_of(c, n_hidden, "other part", "other parts"));
  line(c, t, bytes, objects, depth, name, "", table);
}

/* From each part down to the first below it, then to the next beside it. */
static void print_tree(cli *c, const tree *t) {
  static const cli_column wide[] = {
      {"bytes", CLI_RIGHT},   {"share", CLI_RIGHT}, {"before", CLI_RIGHT}, {"after", CLI_RIGHT},
      {"objects", CLI_RIGHT}, {"owner", CLI_WRAP},  {"class", CLI_WRAP}};
  static const cli_column narrow[] = {{"bytes", CLI_RIGHT}, {"share", CLI_RIGHT},
                                      {"after", CLI_RIGHT}, {"objects", CLI_RIGHT},
                                      {"owner", CLI_WRAP},  {"class", CLI_WRAP}};
  cli_table *table = cli_is_narrow(c) ? cli_table_new(c, narrow, 6) : cli_table_new(c, wide, 7);
  size_t *next = cli_must(malloc(t->n * sizeof *next)), part = 0;
  unsigned depth = 0;
  memcpy(next, t->first, t->n * sizeof *next);
  for (;;) {
    size_t at = next[part];
    while (at < t->first[part + 1] && !t->is_shown[t->order[at]]) at++;
    next[part] = at + 1;
    if (at < t->first[part + 1]) {
      const lh_part *below = &t->parts[t->order[at]];
      part = t->order[at];
      line(c, t, below->bytes, below->objects, depth++, name_of(t, below),
           below->class_name != NULL ? below->class_name : "", table);
      continue;
    }
    print_rest(c, t, part, depth, table);
    if (part == 0) break;
    part = t->parts[part].above;
    depth--;
  }
  free(next);
  cli_table_print(table);
}

/* The part that changed most; of what is shared, that one of it. */
static const lh_part *greatest_part(const tree *t) {
  size_t part = t->order[0];
  if (t->parts[part].shared && t->first[part] < t->first[part + 1]) part = t->order[t->first[part]];
  return &t->parts[part];
}

static void print_sentence(cli *c, const request *r, const tree *t) {
  const lh_part *whole = &t->parts[0], *first = t->n > 1 ? greatest_part(t) : whole;
  bool shared = t->parts[first->above].shared;
  char *from = cli_escape(r->files[0]), *to = cli_escape(r->files[r->n_files - 1]);
  printf("%sFrom %s to %s: %s -> %s, %s", cli_style_on(c, CLI_BOLD), from, to,
         cli_size(c, whole->bytes[0]), cli_size(c, whole->bytes[1]),
         cli_size_change(c, whole->bytes[0], whole->bytes[1]));
  if (change_of(first) > 0)
    printf("; most by %s%s: %s", first->held_by, shared ? ", which several hold" : "",
           cli_size_change(c, first->bytes[0], first->bytes[1]));
  printf("%s\n", cli_style_off(c));
  free(from);
  free(to);
}

/* }=================================================================================== */

static void print_json(const request *r, const tree *t, bool same_state) {
  cli_json w = {0};
  size_t *number = cli_must(malloc(t->n * sizeof *number)), n = 0;
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "same_state", json_boolean(same_state));
  cli_json_open(&w, "snapshots", '[');
  cli_json_value(&w, NULL, cli_json_text(r->files[0]));
  cli_json_value(&w, NULL, cli_json_text(r->files[r->n_files - 1]));
  cli_json_close(&w, ']');
  cli_json_value(&w, "total_parts", cli_json_size(t->n));
  cli_json_open(&w, "parts", '[');
  for (size_t i = 0; i < t->n; i++) {
    const lh_part *p = &t->parts[i];
    if (!t->is_shown[i]) continue;
    number[i] = n++;
    cli_json_value(
        &w, NULL,
        json_pack("{ss ss? sb sI s[II] s[II] s[II] s[II]}", "held_by", p->held_by, "class",
                  p->class_name, "shared", p->shared, "above",
                  i > 0 ? (json_int_t)number[p->above] : -1, "bytes", (json_int_t)p->bytes[0],
                  (json_int_t)p->bytes[1], "objects", (json_int_t)p->objects[0],
                  (json_int_t)p->objects[1], "own_bytes", (json_int_t)p->own_bytes[0],
                  (json_int_t)p->own_bytes[1], "own_objects", (json_int_t)p->own_objects[0],
                  (json_int_t)p->own_objects[1]));
  }
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
  free(number);
}

/* Only the first and the last snapshot are read. */
int owners_report(cli *c, request *r) {
  tree t = {.n = 0};
  lh_error error;
  const lh_part *whole;
  bool same_state, grew;
  int status;
  r->files[1] = r->files[r->n_files - 1];
  r->n_files = 2;
  t.ladder = ladder_read(c, r);
  cli_check(c, lh_ladder_owners(t.ladder, &t.parts, &t.n, &error), NULL, &error);
  same_state = lh_ladder_same_state(t.ladder);
  whole = &t.parts[0];
  t.total = change_of(whole);
  sort_parts(&t);
  choose(c, r, &t);
  if (c->json) {
    print_json(r, &t, same_state);
  } else {
    print_sentence(c, r, &t);
    print_compared(same_state);
    putchar('\n');
    print_tree(c, &t);
  }
  grew = whole->bytes[1] > whole->bytes[0];
  status = gate(c, r, grew ? t.total : 0, 0,
                whole->objects[1] > whole->objects[0] ? whole->objects[1] - whole->objects[0] : 0,
                "more");
  free(t.order);
  free(t.first);
  free(t.is_shown);
  lh_free(t.parts);
  lh_ladder_free(t.ladder);
  return status;
}
