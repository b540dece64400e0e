/*
** answers.c - what can be asked of what is open, and the answers as JSON.
*/
#include "heapview/heapview.h"

int view_answer(view *v, const view_question *question, FILE *out) {
  char text[128];
  cli_json w = {.out = out, .is_compact = true};
  (void)v;
  snprintf(text, sizeof text, "there is no question '%s'", question->name);
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "error", cli_json_text(text));
  cli_json_close(&w, '}');
  return LH_EARGUMENT;
}
