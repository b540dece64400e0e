/*
** ladder_data.c - growth over many snapshots, for machines: as JSON, and as CSV with a line for
** each row and snapshot, which is what programs that plot like best.
*/
#include <string.h>

#include "heapdiff.h"

/* {=== JSON ========================================================================== */

static json_t *json_series(const lh_figures *at, size_t n, size_t offset) {
  json_t *list = cli_must(json_array());
  for (size_t i = 0; i < n; i++) {
    uint64_t value;
    memcpy(&value, (const char *)&at[i] + offset, sizeof value);
    json_array_append_new(list, cli_json_size(value));
  }
  return list;
}

static json_t *json_figures(const lh_figures *at, size_t n) {
  return json_pack("{so so so so}", "bytes", json_series(at, n, offsetof(lh_figures, bytes)),
                   "objects", json_series(at, n, offsetof(lh_figures, objects)), "entries",
                   json_series(at, n, offsetof(lh_figures, entries)), "all_objects",
                   json_series(at, n, offsetof(lh_figures, all_objects)));
}

static json_t *json_pair(const int64_t values[2]) {
  return json_pack("[I, I]", (json_int_t)values[0], (json_int_t)values[1]);
}

void json_growth_rows(cli *c, cli_json *w, const request *r, const lh_growth *growth,
                      const char *key, const lh_growth_row *rows, size_t n) {
  cli_json_open(w, key, '[');
  for (size_t i = 0; i < n_rows(c, r, n); i++) {
    json_t *row = cli_must(json_figures(rows[i].at, growth->n_snapshots));
    json_object_set_new(row, "verdict", json_string(lh_verdict_name(rows[i].verdict)));
    json_object_set_new(row, "class", json_string(rows[i].class_name));
    json_object_set_new(row, "type", json_string(lh_type_name(rows[i].type)));
    json_object_set_new(row, "grew_bytes", json_pair(rows[i].grew_bytes));
    json_object_set_new(row, "grew_objects", json_pair(rows[i].grew_objects));
    json_object_set_new(row, "bytes_per_step", json_real(rows[i].bytes_per_step));
    if (growth->seconds > 0)
      json_object_set_new(row, "bytes_per_second", json_real(rows[i].bytes_per_second));
    if (rows[i].held_by != NULL) {
      json_object_set_new(row, "held_by", json_string(rows[i].held_by));
      json_object_set_new(row, "fingerprint", json_string(rows[i].fingerprint));
    }
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

/* A row as the answer to "is it fixed?" has it. */
static json_t *json_answer_row(const lh_growth_row *row) {
  return row != NULL ? json_string(row->held_by) : json_null();
}

static void json_answer(cli_json *w, const lh_growth *growth) {
  lh_answer answer;
  lh_answer_of(growth, &answer);
  cli_json_value(w, "fixed", json_boolean(answer.is_fixed));
  cli_json_value(w, "no_longer_grows", json_answer_row(answer.no_longer));
  cli_json_value(w, "still_grows", json_answer_row(answer.still));
  cli_json_value(w, "grows_now", json_answer_row(answer.now));
}

void ladder_print_json(cli *c, const request *r, const lh_growth *growth, const known_rows *known) {
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "same_state", json_boolean(growth->same_state));
  cli_json_open(&w, "snapshots", '[');
  for (size_t i = 0; i < r->n_files; i++) cli_json_value(&w, NULL, cli_json_text(r->files[i]));
  cli_json_close(&w, ']');
  if (r->n_before > 0)
    json_answer(&w, growth);
  else
    cli_json_value(&w, "seconds", growth->seconds > 0 ? json_real(growth->seconds) : json_null());
  cli_json_value(&w, "whole", json_figures(growth->whole, growth->n_snapshots));
  cli_json_value(&w, "level", json_figures(growth->level, growth->n_snapshots));
  cli_json_value(&w, "known_paths", cli_json_size(known->n));
  cli_json_value(&w, "total_paths", cli_json_size(growth->n_paths));
  json_growth_rows(c, &w, r, growth, "paths", growth->paths, growth->n_paths);
  cli_json_value(&w, "total_classes", cli_json_size(growth->n_classes));
  json_growth_rows(c, &w, r, growth, "classes", growth->classes, growth->n_classes);
  cli_json_close(&w, '}');
}

/* }=================================================================================== */

/* {=== CSV =========================================================================== */

/* A field as RFC 4180 has it. */
static void print_field(const char *text) {
  if (text[strcspn(text, "\",\n\r")] == '\0') {
    printf("%s,", text);
    return;
  }
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"') putchar('"');
    putchar(*text);
  }
  fputs("\",", stdout);
}

static void csv_row(const request *r, const lh_growth *growth, const char *by,
                    const lh_growth_row *row) {
  for (size_t i = 0; i < growth->n_snapshots; i++) {
    const lh_figures *at = &row->at[i];
    char *file = cli_escape(r->files[i]);
    print_field(by);
    print_field(row->verdict != LH_LEVEL ? lh_verdict_name(row->verdict) : "");
    print_field(row->fingerprint);
    print_field(row->class_name);
    print_field(row->held_by != NULL ? row->held_by : "");
    print_field(file);
    printf("%zu,%.3f,%llu,%llu,%llu\n", i, growth->at_seconds[i], (unsigned long long)at->bytes,
           (unsigned long long)at->objects, (unsigned long long)at->entries);
    free(file);
  }
}

static void csv_rows(const cli *c, const request *r, const lh_growth *growth, const char *by,
                     const lh_growth_row *rows, size_t n) {
  for (size_t i = 0; i < n_rows(c, r, n); i++) csv_row(r, growth, by, &rows[i]);
}

void ladder_print_csv(const cli *c, const request *r, const lh_growth *growth) {
  const lh_growth_row whole = {.class_name = "", .at = growth->whole};
  puts("by,verdict,fingerprint,class,held_by,snapshot,step,seconds,bytes,objects,entries");
  csv_row(r, growth, "whole", &whole);
  csv_rows(c, r, growth, "path", growth->paths, growth->n_paths);
  csv_rows(c, r, growth, "class", growth->classes, growth->n_classes);
}

/* }=================================================================================== */
