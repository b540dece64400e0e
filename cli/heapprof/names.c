/*
** names.c - what the reports of other tools have in common: lines and functions as memprof and
** lmprof call them, printable and on one line.
*/
#include "names.h"

char *line_text(const lh_line *line) {
  if (line->source == NULL) return cli_must(lh_escaped("INTERNAL", 8));
  lh_site at = {.source = line->source, .line = line->line, .maker = LH_MADE_OTHERWISE};
  return cli_must(lh_site_text(&at));
}

char *function_text(const lh_sites *sites, const lh_function_usage *f) {
  static const lh_site unknown = {.maker = LH_MADE_UNKNOWN};
  const lh_site *site = &unknown;
  if (f->stack > 0) site = lh_site_of(sites, lh_stack_of(sites, f->stack)->site);
  const char *called = f->is_c ? site->c_function : site->source != NULL ? site->function : NULL;
  if (called == NULL) called = "?";
  const lh_site named = {.c_function = *called == '\0' ? "main chunk" : called};
  char *result, *name = cli_must(lh_site_text(&named)); /* of a long one the beginning */
  lh_line first = {.source = site->source, .line = site->first_line};
  char *at = line_text(&first);
  int n;
  if (site->source == NULL && site->maker == LH_MADE_UNKNOWN && !f->is_c)
    n = asprintf(&result, "(unattributed)");
  else if (f->is_c || site->source == NULL)
    n = asprintf(&result, "%s [C]", name);
  else
    n = asprintf(&result, "%s (%s)", name, at + (at[0] == '@'));
  lh_free(name);
  lh_free(at);
  return cli_must(n >= 0 ? result : NULL);
}
