/*
** csv.c - growth over many snapshots as CSV with a line for each row and snapshot, which is what
** programs that plot like best.
*/
#include <string.h>

#include "heapdiff.h"

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

static void csv_row(const lh_request *asked, const lh_growth *growth, const char *by,
                    const lh_growth_row *row) {
  for (size_t i = 0; i < growth->n_snapshots; i++) {
    const lh_figures *at = &row->at[i];
    char *file = cli_escape(asked->names[i]);
    print_field(by);
    print_field(row->verdict != LH_LEVEL ? lh_verdict_name(row->verdict) : "");
    print_field(row->fingerprint);
    print_field(row->class_name);
    print_field(row->held_by != NULL ? row->held_by : "");
    print_field(file);
    printf("%zu,%.3f,%llu,%llu,%llu\n", i, growth->at_seconds[i], (unsigned long long)at->bytes,
           (unsigned long long)at->objects, (unsigned long long)at->entries);
    lh_free(file);
  }
}

/* What is known is left out, and so is what is behind as many rows as were asked for. */
static void csv_rows(const lh_request *asked, const lh_growth *growth, const char *by,
                     const lh_growth_row *rows, size_t n) {
  size_t n_left = asked->limit != 0 ? asked->limit : n;
  for (size_t i = 0; i < n && n_left > 0; i++) {
    if (rows[i].held_by != NULL && lh_is_known(asked, rows[i].fingerprint)) continue;
    csv_row(asked, growth, by, &rows[i]);
    n_left--;
  }
}

void print_csv(cli *c, const lh_request *asked) {
  lh_growth *growth;
  lh_error error;
  cli_check(c, lh_ladder_growth(asked->ladder, &growth, &error), NULL, &error);
  const lh_growth_row whole = {.class_name = "", .at = growth->whole};
  puts("by,verdict,fingerprint,class,held_by,snapshot,step,seconds,bytes,objects,entries");
  csv_row(asked, growth, "whole", &whole);
  csv_rows(asked, growth, "path", growth->paths, growth->n_paths);
  csv_rows(asked, growth, "class", growth->classes, growth->n_classes);
  lh_growth_free(growth);
}
