/*
** folded.c - the mode that prints stacks as text of lines, which flamegraph.pl and its like take:
**
**     @server.lua:120 in main chunk;@server.lua:88 in serve;string.rep at @fmt.lua:12 in render 160
**
** A line has a stack from its first caller to who allocates, and bytes. A semicolon in a name is
** written as a comma.
*/
#include <string.h>

#include "heapprof.h"

enum { MOST_FRAMES = 200 };

static void print_site(const lh_sites *sites, lh_stack_id stack) {
  char *text = cli_must(lh_stack_text(sites, stack, 0));
  for (char *at = strchr(text, ';'); at != NULL; at = strchr(at, ';')) *at = ',';
  fputs(text, stdout);
  lh_free(text);
}

/* A stack that is deeper begins with dots; what calls itself in circles is folded already. */
static void print_stack(const lh_sites *sites, lh_stack_id stack, double bytes) {
  lh_stack_id frames[MOST_FRAMES];
  size_t n = 0;
  lh_stack_id at = stack;
  do {
    frames[n++] = at;
    at = at != 0 && at <= lh_n_stacks(sites) ? lh_stack_of(sites, at)->parent : 0;
  } while (at != 0 && n < MOST_FRAMES);
  if (at != 0) fputs("...;", stdout);
  while (n > 0) {
    print_site(sites, frames[--n]);
    if (n > 0) putchar(';');
  }
  printf(" %.0f\n", bytes);
}

static void print_stacks(cli *c, const request *r, const lh_usage *usage) {
  const lh_sites *sites = lh_profile_sites(lh_usage_profile(usage));
  lh_usage_group *groups;
  lh_error error;
  size_t n;
  int code = lh_usage_groups(usage, LH_BY_STACK, LH_MOST_ALLOCATED, &groups, &n, &error);
  cli_check(c, code, r->files[0], &error);
  if (r->asked.has_limit && r->asked.limit != 0 && n > r->asked.limit) n = r->asked.limit;
  for (size_t i = 0; i < n; i++)
    if (cli_has_room()) print_stack(sites, groups[i].stack, groups[i].ordered);
  lh_free(groups);
}

const mode folded_mode = {.name = "folded",
                          .help = "all stacks, a line each with bytes, as for flame graphs",
                          .n_files = 1,
                          .takes_moments = true,
                          .has_no_json = true,
                          .tell_counts = print_stacks};
