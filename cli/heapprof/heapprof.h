/*
** heapprof.h - what the files of heapprof share. A mode is an option that says what is told;
** without one heapprof tells what is in a profile.
**
**     modes.c        the modes, and those that ask the library; Memory Blueprint, and stacks
**     memprof.c      the reports of LuaJIT's memprof (luajit-parse-memprof) and luamemprofiler
**     lmprof.c       lmprof's flat and call-graph profile
**     live.c         a running program, by type and site, looked at again and again
**
** What is counted is the library's (luaheap_usage.h).
*/
#ifndef LUAHEAP_HEAPPROF_H
#define LUAHEAP_HEAPPROF_H

#include "cli.h"

typedef struct request request;

/* Options that only some modes take: a set. */
enum {
  TAKES_MOMENTS = 1, /* --since and --until */
  TAKES_BY = 2,
  TAKES_JSON = 4, /* others print what has a form of its own */
  TAKES_EVERY = 8,
  TAKES_LEAK_ONLY = 16,
  TAKES_ONCE = 32
};

typedef struct mode {
  const char *name, *argument, *help; /* of its option; an argument is in request.argument */
  size_t n_files;
  unsigned takes;
  lh_usage_order order;
  bool peak, to_the_end; /* lh_usage_query */

  /* One of these. Of one profile: what the library is asked of its counts; what is told of them,
  ** and of the profile as such. Else all that is done, which returns the exit status. */
  const char *question;
  void (*print_counts)(cli *c, const request *r, const lh_usage *usage);
  void (*print_profile)(cli *c, const request *r, lh_profile *profile);
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

/* In the order of --help; the last has no name. */
extern const mode modes[], overview_mode;

/* What the mode does; returns the exit status. */
int run_mode(cli *c, const request *r);

void print_lmprof(cli *c, const request *r, const lh_usage *usage);
void print_memprof(cli *c, const request *r, lh_profile *profile);
void print_luamemprofiler(cli *c, const request *r, lh_profile *profile);
int watch_live(cli *c, const request *r);

#endif
