/*
** heapprof.h - shared parts of heapprof. A mode is an option that selects a report; the default is
** an overview. The library counts (rooms/usage.h).
**
**     memprof.c      the reports of LuaJIT's memprof and of luamemprofiler
**     lmprof.c       lmprof's flat and call-graph profile
**     live.c         a running program, by type and site
*/
#pragma once

#include "cli.h"

typedef struct request request;

/* A set of the options that only some modes take. */
enum {
  TAKES_MOMENTS = 1, /* --since and --until */
  TAKES_BY = 2,
  TAKES_JSON = 4, /* the other modes print a fixed form */
  TAKES_EVERY = 8,
  TAKES_LEAK_ONLY = 16,
  TAKES_ONCE = 32
};

typedef struct mode {
  const char *name, *argument, *help; /* of the option; its argument is request.argument */
  size_t n_files;
  unsigned takes;
  lh_usage_order order;
  bool peak, to_the_end; /* of lh_usage_query */

  /* One of these: a question of the library about one profile's counts, a printer of the counts, a
  ** printer of the profile, or a function that does all and returns the exit status. */
  const char *question;
  void (*print_counts)(cli *c, const request *r, const lh_usage *usage);
  void (*print_profile)(cli *c, const request *r, lh_profile *profile);
  int (*run)(cli *c, const request *r);
} mode;

struct request {
  const mode *mode; /* NULL: none given */
  const char *argument;
  char **files;
  size_t n_files;
  lh_usage_query query;
  const char *since; /* as typed; NULL: not given */
  lh_request asked;  /* limit, by */
  uint64_t every_ns;
  bool leak_only, once;
};

void print_lmprof(cli *c, const request *r, const lh_usage *usage);
void print_memprof(cli *c, const request *r, lh_profile *profile);
void print_luamemprofiler(cli *c, const request *r, lh_profile *profile);
int watch_live(cli *c, const request *r);
