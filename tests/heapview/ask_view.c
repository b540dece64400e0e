/*
** ask_view.c - the answer to one question as heapview has it, without a page or a server:
**
**     ask_view 'classes?limit=3' a b c
**     ask_view 'allocations?by=type' run.prof c
**
** The values in the key are taken as they stand between & and =.
*/
#include <string.h>

#include "heapview/heapview.h"

enum { MOST_FILES = 16 };

static void open_profile(view *v, const char *file) {
  lh_profile *profile;
  lh_usage *usage;
  lh_error error;
  cli_check(v->c, lh_profile_open(file, &profile, &error), NULL, &error);
  cli_check(v->c, lh_usage_new(&usage, profile, &(lh_usage_query){.peak = true}, &error), file,
            &error);
  v->usage = usage;
  v->profile = file;
}

int main(int argc, char **argv) {
  static const cli_tool tool = {.name = "ask_view"};
  lh_snapshot *snapshots[MOST_FILES];
  const char *files[MOST_FILES];
  view_question question;
  cli c = {.tool = &tool};
  view v = {.c = &c, .snapshots = snapshots, .files = files};
  if (argc < 2 || argc > MOST_FILES) return CLI_FAILURE;
  for (int i = 2; i < argc; i++) {
    if (lh_is_profile(argv[i])) {
      open_profile(&v, argv[i]);
    } else {
      files[v.n] = argv[i];
      snapshots[v.n++] = cli_open(&c, argv[i]);
    }
  }
  view_take_key(argv[1], &question);
  int code = view_answer(&v, &question, stdout);
  putchar('\n');
  view_end(&v);
  for (size_t i = 0; i < v.n; i++) lh_close(snapshots[i]);
  if (v.usage != NULL) {
    lh_profile *profile = lh_usage_profile(v.usage);
    lh_usage_free((lh_usage *)v.usage);
    lh_profile_close(profile);
  }
  return code == LH_OK ? CLI_DONE : CLI_NO;
}
