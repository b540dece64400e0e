/*
** list.c - --list: the Lua states of a process or a core.
*/
#include <inttypes.h>

#include "heapattach/heapattach.h"

static void print_row(cli_table *table, const cli *c, size_t number, const lh_found_state *state) {
  char *script = cli_escape(state->script);
  lh_number n = lh_count_text(number), bytes = lh_size_text(state->gc_bytes, c->exact_bytes);
  cli_table_row(table,
                (const char *[]){n.text, bytes.text, state->release,
                                 state->has_luaheap ? "loaded" : "no", script},
                LH_PLAIN);
  lh_free(script);
}

static void print_text(const subject *s) {
  static const cli_column columns[] = {{"state", CLI_RIGHT},
                                       {"heap", CLI_RIGHT},
                                       {"Lua", CLI_LEFT},
                                       {"luaheap", CLI_LEFT},
                                       {"script", CLI_WRAP}};
  char *program = cli_escape(s->info.program), *file = unused_name("a");
  printf("%s%s in %s: %s%s\n\n", cli_style_on(s->c, LH_BOLD),
         lh_count_of(s->n_states, "Lua state", "Lua states").text, s->shown, program,
         cli_style_off(s->c));
  cli_table *table = cli_table_new(s->c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < s->n_states; i++) print_row(table, s->c, i + 1, &s->states[i]);
  cli_table_print(table);
  request next = {.target = s->name, .state = s->n_states > 1 ? "1" : NULL, .file = file};
  fputs("\nA snapshot: ", stdout);
  print_request(stdout, &next);
  putchar('\n');
  lh_free(program);
  free(file);
}

static void print_json(const subject *s, const workers *left_out, bool is_compact) {
  cli_json w = {.is_compact = is_compact};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "core", json_boolean(s->info.is_core));
  cli_json_value(&w, "process", cli_json_size(s->info.process_id));
  cli_json_value(&w, "program", cli_json_text(s->info.program));
  cli_json_value(&w, "executable", cli_json_text(s->info.executable));
  cli_json_value(&w, "private_bytes", cli_json_size(s->info.private_bytes));
  cli_json_open(&w, "states", '[');
  for (size_t i = 0; i < s->n_states; i++) {
    const lh_found_state *state = &s->states[i];
    cli_json_open(&w, NULL, '{');
    cli_json_value(&w, "state", cli_json_size(i + 1));
    json_state(&w, state);
    cli_json_value(&w, "gc_bytes", cli_json_size(state->gc_bytes));
    cli_json_value(&w, "luaheap", json_boolean(state->has_luaheap));
    cli_json_close(&w, '}');
  }
  cli_json_close(&w, ']');
  json_workers(&w, left_out);
  cli_json_close(&w, '}');
}

static void list_as_json(const subject *s, const request *r) {
  workers left_out = {0};
  bool leaves_out = leaves_workers_out(r) && !s->info.is_core;
  if (leaves_out) find_workers(s->c, s->process_id, &left_out);
  print_json(s, leaves_out ? &left_out : NULL, r->workers);
  free_workers(&left_out);
}

int list_states(cli *c, const request *r) {
  subject s;
  subject_open(&s, c, r);
  if (c->json)
    list_as_json(&s, r);
  else
    print_text(&s);
  bool is_told = c->json || s.info.is_core || !leaves_workers_out(r);
  uint64_t process_id = is_told ? 0 : s.process_id;
  subject_close(&s); /* one target at a time */
  cli_flush(c);      /* what follows is on stderr */
  if (process_id > 0) tell_started(c, r, process_id);
  return CLI_DONE;
}
