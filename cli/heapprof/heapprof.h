/*
** heapprof.h - what the modes of heapprof share. A mode is an option that says what is told, and a
** struct in the file that tells it; without one heapprof tells what is in a profile.
**
**     questions.c        what the library is asked, of one profile and of two; Memory Blueprint
**     folded.c           stacks, as flamegraph.pl takes them
**     memprof.c          the reports of LuaJIT's memprof (luajit-parse-memprof) and luamemprofiler
**     lmprof.c           lmprof's flat and call-graph profile
**     live*.c            a running program, by type and site, looked at again and again
**
** What is counted is the library's (luaheap_usage.h).
*/
#ifndef LUAHEAP_HEAPPROF_H
#define LUAHEAP_HEAPPROF_H

#include "cli.h"

typedef struct request request;

/* Options that only some modes take: a set. */
enum { TAKES_EVERY = 1, TAKES_LEAK_ONLY = 2, TAKES_ONCE = 4 };

typedef struct mode {
  const char *name, *argument, *help; /* of its option; an argument is in request.argument */
  size_t n_files;
  bool takes_moments; /* --since and --until */
  bool takes_by;      /* --by */
  bool has_no_json;   /* what it prints has a form of its own */
  unsigned takes;     /* --every and the like */
  lh_usage_order order;
  bool peak, to_the_end; /* lh_usage_query */

  /* One of these. Of one profile: what the library is asked of its counts; what is told of them,
  ** and of the profile as such. Else all that is done, which returns the exit status. */
  const char *question;
  void (*tell_counts)(cli *c, const request *r, const lh_usage *usage);
  void (*tell_profile)(cli *c, const request *r, lh_profile *profile);
  int (*run)(cli *c, const request *r);
} mode;

struct request {
  const mode *mode; /* NULL: none was asked for */
  const char *argument;
  char **files;
  size_t n_files;
  lh_usage_query query;
  const char *since; /* as it was given; NULL: not said */
  lh_request asked;  /* limit, by */
  uint64_t every_ns;
  bool leak_only, once;
};

/* In the order of --help; NULL behind the last. */
extern const mode *const modes[];
extern const mode overview_mode, live_mode, peak_mode, leaks_mode, calls_mode, folded_mode,
    advice_mode, diff_mode, memprof_mode, lmprof_mode, luamemprofiler_mode, blueprint_mode,
    live_of_mode;

/* What the mode does; returns the exit status. */
int run_mode(cli *c, const request *r);

/* A profile, opened, and what of it is counted. */
lh_usage *count_profile(cli *c, const request *r, const char *file);
void free_usage(lh_usage *usage); /* and its profile */

/* With --json: opens the document, with what the profile is in front. */
void begin_json(cli *c, cli_json *w, const request *r, const lh_usage *usage);

/* All that is told by a mode that is a question. */
void tell_question(cli *c, const request *r, const char *question, const lh_usage *usage);

/* Asks a question of the library about one usage or two, as text or into what `w` has open. */
void answer(cli *c, cli_json *w, const request *r, const char *question,
            const lh_usage *const *usages, size_t n);

#endif
