/*
** class.c - what the instances of a class are like: how many and how big they are, what one more
** costs, when they were made, what is in them, and who refers to them. The figures are the
** library's (lh_describe_class).
*/
#include <string.h>

#include "heaptop.h"

static lh_description find(cli *c, lh_snapshot *snapshot, const request *r) {
  lh_description d;
  lh_error error;
  cli_check(c, lh_describe_class(snapshot, r->class_name, &d, &error), r->file, &error);
  return d;
}

/* Without -n twenty rows of each table; in JSON all. */
static size_t shown(const cli *c, const request *r, size_t n) {
  bool all = r->query.limit == 0 || (c->json && !r->limit_given) || r->query.limit > n;
  return all ? n : r->query.limit;
}

/* {=== The words ====================================================================== */

/* "before a", "between a and b", "since b" */
static void put_interval(FILE *out, cli *c, const lh_snapshot *snapshot, uint32_t i, uint32_t n) {
  bool is_time;
  char *from = i > 0 ? mark_name(c, lh_mark_at(snapshot, i - 1), &is_time) : NULL;
  char *to = i + 1 < n ? mark_name(c, lh_mark_at(snapshot, i), &is_time) : NULL;
  if (from == NULL)
    fprintf(out, "before %s", to);
  else if (to == NULL)
    fprintf(out, "since %s", from);
  else
    fprintf(out, "between %s and %s", from, to);
  lh_free(from);
  lh_free(to);
}

char *ages(cli *c, const lh_snapshot *snapshot, const uint64_t *epochs, uint32_t n) {
  enum { MOST_TOLD = 4 };
  uint32_t n_some = 0, first = n, last = 0;
  char *text = NULL;
  size_t size;
  for (uint32_t i = 0; i < n; i++) {
    if (epochs[i] == 0) continue;
    n_some++;
    last = i;
    if (first == n) first = i;
  }
  if (n < 2 || n_some == 0) return NULL;
  FILE *out = cli_must(open_memstream(&text, &size));
  if (n_some > MOST_TOLD)
    fprintf(out, "in %s of %s intervals between marks, the oldest ", cli_count(c, n_some),
            cli_count(c, n));
  for (uint32_t i = first; i <= last; i++) {
    if (epochs[i] == 0 || (n_some > MOST_TOLD && i != first && i != last)) continue;
    if (i != first) fputs(n_some > MOST_TOLD ? ", the youngest " : ", ", out);
    if (n_some <= MOST_TOLD) fprintf(out, "%s ", cli_count(c, epochs[i]));
    put_interval(out, c, snapshot, i, n);
  }
  if (fclose(out) != 0) cli_must(NULL);
  return text;
}

static uint64_t average(const lh_description *d) {
  return d->retained_bytes / d->objects;
}

static const lh_spread *spread_of(const lh_description *d, lh_measure measure) {
  for (uint32_t i = 0; i < d->n_spreads; i++)
    if (d->spreads[i].measure == measure) return &d->spreads[i];
  return NULL;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static void print_answer(cli *c, lh_snapshot *snapshot, const lh_description *d) {
  char *what = cli_things(c, snapshot, d->class_index, d->objects);
  printf("%s%s %s %s%s, %s of the heap%s\n", cli_style_on(c, CLI_BOLD), what,
         d->objects == 1 ? "retains" : "retain", cli_size(c, d->retained_bytes),
         d->objects == 1 ? "" : " together", share_of_heap(c, snapshot, d->retained_bytes),
         cli_style_off(c));
  free(what);
  if (d->objects > 1)
    printf("One more costs %s: the median of what one retains; on average one costs %s\n",
           cli_size(c, spread_of(d, LH_MEASURE_ALONE)->median), cli_size(c, average(d)));
  char *text = ages(c, snapshot, d->epochs, d->n_epochs);
  if (text != NULL) printf("Allocated: %s\n", text);
  free(text);
  if (d->repeated_bytes > 0)
    printf("%s different contents: %s are in strings that are equal to another\n",
           cli_count(c, d->contents), cli_size(c, d->repeated_bytes));
  if (d->garbage_objects > 0)
    printf("Besides, %s are garbage: %s\n", cli_count(c, d->garbage_objects),
           cli_size(c, d->garbage_bytes));
}

static void print_biggest(cli *c, lh_snapshot *snapshot, const lh_description *d,
                          const request *r) {
  char *path = cli_held_by(c, snapshot, d->biggest), *word = cli_shell_word(r->file);
  if (d->objects > 1)
    printf("The one that retains most: %s, %s\n", path,
           cli_size(c, lh_retained_bytes(snapshot, d->biggest)));
  printf("Why it stays: heappath %s %s\n\n", word, cli_address(c, snapshot, d->biggest));
  lh_free(path);
  free(word);
}

/* The figures of ALONE are those of RETAINED unless instances lie inside of each other. */
static bool is_told(const lh_description *d, const lh_spread *spread) {
  return spread->measure != LH_MEASURE_ALONE ||
         spread->sum != spread_of(d, LH_MEASURE_RETAINED)->sum;
}

static const char *figure(cli *c, lh_measure measure, uint64_t n) {
  bool bytes =
      measure <= LH_MEASURE_ALONE || measure == LH_MEASURE_LENGTH || measure == LH_MEASURE_CONTENT;
  return bytes ? cli_size(c, n) : cli_count(c, n);
}

static void print_spreads(cli *c, const lh_description *d) {
  static const cli_column columns[] = {{"each", CLI_LEFT},    {"least", CLI_RIGHT},
                                       {"median", CLI_RIGHT}, {"90% at most", CLI_RIGHT},
                                       {"most", CLI_RIGHT},   {"together", CLI_RIGHT}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (uint32_t i = 0; i < d->n_spreads; i++) {
    const lh_spread *s = &d->spreads[i];
    uint64_t sum = s->measure == LH_MEASURE_RETAINED ? d->retained_bytes : s->sum;
    const char *cells[] = {lh_measure_name(s->measure),      figure(c, s->measure, s->least),
                           figure(c, s->measure, s->median), figure(c, s->measure, s->ninth_tenth),
                           figure(c, s->measure, s->most),   figure(c, s->measure, sum)};
    if (is_told(d, s)) cli_table_row(table, cells, CLI_PLAIN);
  }
  cli_table_print(table);
}

/* "900 string, 120 number, 3 more kinds"; of one kind its name alone. */
static char *kinds_text(cli *c, const lh_field *field) {
  char *text = NULL;
  size_t size;
  FILE *out = cli_must(open_memstream(&text, &size));
  for (uint32_t i = 0; i < field->n_kinds; i++) {
    if (i > 0) fputs(", ", out);
    if (field->total_kinds > 1) fprintf(out, "%s ", cli_count(c, field->kinds[i].values));
    fputs(field->kinds[i].name, out);
  }
  if (field->total_kinds > field->n_kinds)
    fprintf(out, ", %s",
            cli_count_of(c, field->total_kinds - field->n_kinds, "more kind", "more kinds"));
  if (fclose(out) != 0) cli_must(NULL);
  return text;
}

static void print_fields(cli *c, const lh_description *d, const request *r) {
  static const cli_column columns[] = {{"bytes", CLI_RIGHT}, {"instances", CLI_RIGHT},
                                       {"share", CLI_RIGHT}, {"values", CLI_RIGHT},
                                       {"field", CLI_WRAP},  {"of class or type", CLI_WRAP}};
  size_t n = shown(c, r, d->n_fields);
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  printf("\n%sFields, and the bytes that only they keep alive%s\n", cli_style_on(c, CLI_BOLD),
         cli_style_off(c));
  for (size_t i = 0; i < n; i++) {
    const lh_field *field = &d->fields[i];
    char *kinds = kinds_text(c, field);
    const char *cells[] = {cli_size(c, field->bytes),
                           cli_count(c, field->instances),
                           cli_share(c, field->instances, d->objects),
                           cli_count(c, field->values),
                           field->name,
                           kinds};
    cli_table_row(table, cells, CLI_PLAIN);
    free(kinds);
  }
  cli_table_print(table);
  cli_print_hidden(c, d->n_fields - n, "field", "fields");
}

static const char *class_name(const lh_snapshot *snapshot, const lh_referring *row) {
  return row->class_index == UINT32_MAX ? "root" : lh_class_at(snapshot, row->class_index)->name;
}

static void print_referrers(cli *c, const lh_snapshot *snapshot, const lh_description *d,
                            const request *r) {
  static const cli_column columns[] = {
      {"references", CLI_RIGHT}, {"from", CLI_RIGHT}, {"class", CLI_WRAP}, {"by", CLI_WRAP}};
  size_t n = shown(c, r, d->n_referrers);
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  printf("\n%sWho refers to them%s\n", cli_style_on(c, CLI_BOLD), cli_style_off(c));
  for (size_t i = 0; i < n; i++) {
    const lh_referring *row = &d->referrers[i];
    char *label = cli_must(malloc(strlen(row->label) + sizeof " (weak)"));
    sprintf(label, "%s%s", row->label, row->weak ? " (weak)" : "");
    const char *cells[] = {cli_count(c, row->references), cli_count(c, row->sources),
                           class_name(snapshot, row), label};
    cli_table_row(table, cells, row->weak ? CLI_FAINT : CLI_PLAIN);
    free(label);
  }
  cli_table_print(table);
  cli_print_hidden(c, d->n_referrers - n, "kind of reference", "kinds of references");
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  lh_description d = find(c, snapshot, r);
  if (d.objects == 0) {
    char *what = cli_things(c, snapshot, d.class_index, d.garbage_objects);
    printf("Nothing keeps %s alive: garbage, %s\n", what, cli_size(c, d.garbage_bytes));
    free(what);
  } else {
    print_answer(c, snapshot, &d);
    print_biggest(c, snapshot, &d, r);
    print_spreads(c, &d);
    if (d.n_fields > 0) print_fields(c, &d, r);
    print_referrers(c, snapshot, &d, r);
  }
  lh_description_free(&d);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *spreads_json(const lh_description *d) {
  json_t *json = cli_must(json_object());
  for (uint32_t i = 0; i < d->n_spreads; i++) {
    const lh_spread *s = &d->spreads[i];
    json_t *row = cli_must(json_pack("{sI sI sI sI sI sI}", "objects", (json_int_t)s->objects,
                                     "least", (json_int_t)s->least, "median", (json_int_t)s->median,
                                     "ninth_tenth", (json_int_t)s->ninth_tenth, "most",
                                     (json_int_t)s->most, "sum", (json_int_t)s->sum));
    json_object_set_new(json, lh_measure_name(s->measure), row);
  }
  return json;
}

static json_t *kinds_json(const lh_field *field) {
  json_t *list = cli_must(json_array());
  for (uint32_t i = 0; i < field->n_kinds; i++)
    json_array_append_new(list, cli_must(json_pack("{ss sI}", "class", field->kinds[i].name,
                                                   "values", (json_int_t)field->kinds[i].values)));
  return list;
}

static void fields_json(cli_json *w, const lh_description *d, size_t n) {
  cli_json_open(w, "fields", '[');
  for (size_t i = 0; i < n; i++) {
    const lh_field *f = &d->fields[i];
    cli_json_value(
        w, NULL,
        json_pack("{ss sI sI sI sI so}", "field", f->name, "instances", (json_int_t)f->instances,
                  "values", (json_int_t)f->values, "retained_bytes", (json_int_t)f->bytes,
                  "total_kinds", (json_int_t)f->total_kinds, "kinds", kinds_json(f)));
  }
  cli_json_close(w, ']');
}

static void referrers_json(cli_json *w, const lh_snapshot *snapshot, const lh_description *d,
                           size_t n) {
  cli_json_open(w, "referrers", '[');
  for (size_t i = 0; i < n; i++) {
    const lh_referring *row = &d->referrers[i];
    bool is_root = row->class_index == UINT32_MAX;
    cli_json_value(
        w, NULL,
        json_pack("{ss? ss? ss sb sI sI}", "class", is_root ? NULL : class_name(snapshot, row),
                  "type",
                  is_root ? NULL : lh_type_name(lh_class_at(snapshot, row->class_index)->type),
                  "edge", row->label, "weak", (int)row->weak, "referrers", (json_int_t)row->sources,
                  "references", (json_int_t)row->references));
  }
  cli_json_close(w, ']');
}

static json_t *epochs_json(const lh_snapshot *snapshot, const lh_description *d) {
  json_t *list = cli_must(json_array());
  for (uint32_t i = 0; i < d->n_epochs; i++) {
    json_t *mark = i > 0 ? cli_json_text(lh_mark_at(snapshot, i - 1)->name) : json_null();
    json_array_append_new(list, cli_must(json_pack("{so sI}", "mark", cli_must(mark), "objects",
                                                   (json_int_t)d->epochs[i])));
  }
  return list;
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_description d = find(c, snapshot, r);
  const lh_class *class = lh_class_at(snapshot, d.class_index);
  bool some = d.objects > 0;
  char *path = some ? cli_held_by(c, snapshot, d.biggest) : NULL;
  cli_json_value(w, "class", json_string(class->name));
  cli_json_value(w, "type", json_string(lh_type_name(class->type)));
  cli_json_value(w, "objects", cli_json_size(d.objects));
  cli_json_value(w, "garbage_objects", cli_json_size(d.garbage_objects));
  cli_json_value(w, "shallow_bytes", cli_json_size(d.shallow_bytes));
  cli_json_value(w, "retained_bytes", cli_json_size(d.retained_bytes));
  cli_json_value(w, "average_bytes", cli_json_size(some ? average(&d) : 0));
  cli_json_value(w, "one_more_bytes",
                 cli_json_size(some ? spread_of(&d, LH_MEASURE_ALONE)->median : 0));
  cli_json_value(w, "spreads", spreads_json(&d));
  cli_json_value(w, "contents", cli_json_size(d.contents));
  cli_json_value(w, "repeated_bytes", cli_json_size(d.repeated_bytes));
  cli_json_value(w, "epochs", epochs_json(snapshot, &d));
  cli_json_value(w, "biggest",
                 some ? json_string(cli_address(c, snapshot, d.biggest)) : json_null());
  cli_json_value(w, "held_by", some ? json_string(path) : json_null());
  cli_json_value(w, "total_fields", cli_json_size(d.n_fields));
  fields_json(w, &d, shown(c, r, d.n_fields));
  cli_json_value(w, "total_referrers", cli_json_size(d.n_referrers));
  referrers_json(w, snapshot, &d, shown(c, r, d.n_referrers));
  lh_free(path);
  lh_description_free(&d);
}

/* }=================================================================================== */

const report class_report = {"class", print, print_json};
