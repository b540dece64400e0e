/*
** modules.c - what each module and each global keeps alive alone, and what it reaches: the figures
** are the library's (lh_find_modules).
*/
#include "heaptop.h"

static lh_modules find(cli *c, lh_snapshot *snapshot, size_t limit) {
  lh_modules modules;
  lh_error error;
  cli_check(c, lh_find_modules(snapshot, limit, &modules, &error), NULL, &error);
  return modules;
}

static void print_answer(cli *c, const lh_snapshot *snapshot, const lh_modules *m) {
  const lh_module *first = &m->list[0];
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  printf("%s%s keeps most alive alone: %s, %s of the heap%s\n", cli_style_on(c, CLI_BOLD),
         first->name, cli_size(c, first->retained_bytes),
         share_of_heap(c, snapshot, first->retained_bytes), cli_style_off(c));
  printf("%s: %s are kept alive by one of them alone, %s are reached from them, %s are not\n\n",
         cli_count_of(c, m->total, "module or global", "modules and globals"),
         cli_size(c, m->retained_bytes), cli_size(c, m->reached_bytes),
         cli_size(c, reach.reachable_bytes - m->reached_bytes));
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  static const cli_column columns[] = {{"alone", CLI_RIGHT},   {"share", CLI_RIGHT},
                                       {"shared", CLI_RIGHT},  {"reached", CLI_RIGHT},
                                       {"objects", CLI_RIGHT}, {"name", CLI_WRAP}};
  lh_modules m = find(c, snapshot, r->query.limit);
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  if (m.n > 0) print_answer(c, snapshot, &m);
  for (size_t i = 0; i < m.n; i++) {
    const lh_module *row = &m.list[i];
    const char *cells[] = {cli_size(c, row->retained_bytes),
                           share_of_heap(c, snapshot, row->retained_bytes),
                           cli_size(c, row->reached_bytes - row->retained_bytes),
                           cli_size(c, row->reached_bytes),
                           cli_count(c, row->reached_objects),
                           row->name};
    cli_table_row(table, cells, CLI_PLAIN);
  }
  cli_table_print(table);
  cli_print_hidden(c, m.total - m.n, "module or global", "modules and globals");
  lh_modules_free(&m);
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  lh_modules m = find(c, snapshot, r->limit_given ? r->query.limit : 0);
  cli_json_value(w, "total_modules", cli_json_size(m.total));
  cli_json_value(w, "retained_bytes", cli_json_size(m.retained_bytes));
  cli_json_value(w, "reached_bytes", cli_json_size(m.reached_bytes));
  cli_json_open(w, "modules", '[');
  for (size_t i = 0; i < m.n; i++) {
    const lh_module *row = &m.list[i];
    cli_json_value(
        w, NULL,
        json_pack("{ss ss ss ss sI sI sI sI}", "name", row->name, "address",
                  cli_address(c, snapshot, row->id), "class", cli_class_of(snapshot, row->id),
                  "type", lh_type_name(lh_type_of(snapshot, row->id)), "retained_bytes",
                  (json_int_t)row->retained_bytes, "reached_bytes", (json_int_t)row->reached_bytes,
                  "shared_bytes", (json_int_t)(row->reached_bytes - row->retained_bytes),
                  "reached_objects", (json_int_t)row->reached_objects));
  }
  cli_json_close(w, ']');
  lh_modules_free(&m);
}

const report modules_report = {"modules", print, print_json};
