/*
** heapprof.h - what the modes of heapprof share. A mode is an option that says what is told, and a
** file that has it as a struct; without one heapprof tells what is in a profile.
*/
#ifndef LUAHEAP_HEAPPROF_H
#define LUAHEAP_HEAPPROF_H

#include "cli.h"

typedef struct request request;

typedef enum format { FORMAT_TEXT, FORMAT_SVG, FORMAT_CSV } format;

/* Options that only some modes take: a set. */
enum { TAKES_EVERY = 1, TAKES_LEAK_ONLY = 2, TAKES_FORMAT = 4, TAKES_ONCE = 8 };

typedef struct mode {
  const char *name, *argument, *help; /* of its option; an argument is in request.argument */
  size_t least_files, most_files;
  bool takes_moments;                   /* --since and --until */
  bool takes_by;                        /* --by */
  bool has_no_json;                     /* what it prints has a form of its own */
  unsigned takes;                       /* --every and the like */
  int (*run)(cli *c, const request *r); /* returns the exit status */
} mode;

struct request {
  const mode *mode; /* NULL: none was asked for */
  const char *argument;
  char **files;
  size_t n_files;
  lh_usage_query query;
  lh_request asked; /* limit, by */
  bool has_by;
  unsigned taken; /* of the options that only some modes take, those that were given */
  uint64_t every_ns;
  format format;
  bool leak_only, once;
};

/* In the order of --help; NULL behind the last. */
extern const mode *const modes[];
extern const mode overview_mode, live_mode, peak_mode, leaks_mode, calls_mode, folded_mode,
    advice_mode, diff_mode, memprof_mode, lmprof_mode, luamemprofiler_mode, blueprint_mode,
    plot_mode, live_of_mode;

/* A profile, opened; and what of it is counted, with the peak if that is asked for. */
lh_profile *open_profile(cli *c, const char *file);
lh_usage *count_profile(cli *c, const request *r, const char *file, bool peak);
void free_usage(lh_usage *usage); /* and its profile */

/* With --json: opens the document, with what the profile is in front. */
void begin_json(cli *c, cli_json *w, const request *r, const lh_usage *usage);

/* Asks a question of the library about one usage or two, as text or into what `w` has open. */
void answer(cli *c, cli_json *w, const request *r, const char *question,
            const lh_usage *const *usages, size_t n);

#endif
