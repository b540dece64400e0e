/*
** names.c - what the reports of other tools have in common: lines as memprof calls them, printable
** and on one line.
*/
#include "modes.h"

int print_by(cli *c, const request *r, print_profile *print) {
  lh_profile *profile = open_profile(c, r->files[0]);
  print(c, profile, r);
  lh_profile_close(profile);
  return CLI_DONE;
}

char *line_text(const lh_line *line) {
  if (line->source == NULL) return cli_must(lh_escaped("INTERNAL", 8));
  lh_site at = {.source = line->source, .line = line->line, .maker = LH_MADE_OTHERWISE};
  return cli_must(lh_site_text(&at));
}
