/*
** heapattach.h - what the parts of heapattach share:
**
**     apart.c     all is done in a child, which is left where a file system does not answer
**     target.c    what was named: a process or a core, its states, and which of them is meant
**     started.c   which of the processes that a process has started run Lua
**     workers.c   --workers: the same of all of them
**     take.c      snapshots: files, ages, and what is told of them
**     tell.c      the words for a snapshot, and the commands to type next
**     beside.c    an older snapshot to compare with
**     list.c      --list
**     series.c    --every
**     watch.c     --watch
**     wait.c      waiting that ends with the process, or by Control-C
**
** All addresses and memory of the target are the library's (luaheap_outside.h). What fails here
** ends this program, as it does elsewhere in the commands, unless it is said that it does not.
*/
#ifndef HEAPATTACH_H
#define HEAPATTACH_H

#include "cli.h"
#include "luaheap_outside.h"

typedef enum mode { MODE_TAKE, MODE_LIST, MODE_SERIES, MODE_WATCH } mode;

typedef struct request {
  mode mode;
  const char *target; /* as it was given: the number of a process, or a core file */
  const char *file, *directory, *after;
  const char *state; /* NULL: the only one */
  const char *every; /* as it was given; NULL: not said */
  uint64_t every_ns;
  uint64_t max;        /* 0: not said */
  const char *strings; /* as it was given; NULL: not said */
  lh_outside_options options;
  bool workers;        /* of all that it has started, too */
  lh_awaited *awaited; /* what is waited for, for this program's parent; NULL: it has none */
  char **arguments; /* of this program, to run it again; NULL: it is a child that asks a worker */
} request;

/* The name itself, or one like it that no file has. Freed by free. */
char *unused_name(const char *name);

/* The command line of a request, as a shell takes it; and on stderr, with what it is about. */
void print_request(FILE *out, const request *r);
void print_choice(const request *r, const char *what);

/* {=== What was named ================================================================ */

typedef struct subject {
  cli *c;
  const char *name;    /* as it was given */
  char *shown;         /* the same for a terminal */
  uint64_t process_id; /* as it was given; 0: it is a core */
  lh_target *target;
  lh_target_info info;
  lh_found_state *states;
  size_t n_states;
} subject;

bool subject_is_process(const char *name);

/* The command that tells the number of a process that is called like that. Freed by free. */
char *command_for_number(const char *name);

/* The target of a request. Where there is no Lua, it says so and ends with CLI_NO; and asks, of the
** processes that it started, for those that run Lua (started.c). */
void subject_open(subject *s, cli *c, const request *r);
void subject_close(subject *s);

/* Looks for states again. Fails with what the library says. */
int subject_look(subject *s, lh_error *error);

/* The one that is meant by --state or is of `after` (may be NULL), from 0 on. */
size_t subject_choose(const subject *s, const request *r, const lh_snapshot *after);

bool is_all(const request *r); /* are all states meant? */

typedef struct worker {
  int64_t id;
  char *program;
  size_t n_states;
} worker;

/* The processes that a process has started and that run Lua 5.4. */
typedef struct workers {
  worker *of;
  size_t n;
  size_t n_started; /* with those that run no Lua, or were not looked at */
  size_t n_looked_at;
  lh_error refused; /* why the first that may not be looked at may not; code LH_OK: none */
} workers;

/* Adds to what is there. A process that cannot be looked at, since a file system does not answer, is
** told on stderr, and costs no more than five seconds. */
void find_workers(cli *c, uint64_t process_id, workers *w);
void look_for_worker(cli *c, int64_t id, workers *w); /* adds this process, if it runs Lua 5.4 */
void free_workers(workers *w);

/* On stderr: the command lines that ask the same of its children, those that run Lua 5.4. */
void tell_started(cli *c, const request *r, uint64_t process_id);

/* On stderr: who was not asked, and the command line that asks all; nothing if there is nobody. */
void tell_left_out(cli *c, const request *r, const workers *w);

/* On stderr: why some that it has started were not looked at. */
void tell_not_looked_at(const cli *c, const workers *w);

/* A request without --workers asks the process alone. */
static inline bool leaves_workers_out(const request *r) {
  return r->arguments != NULL;
}

/* A command line, for a terminal; cut where it is long. Freed by lh_free. */
char *program_text(const char *program);

/* The process has ended, or the state was closed: no more can be had of it. */
bool is_over(const lh_error *error);

/* }=================================================================================== */

/* {=== Snapshots ====================================================================== */

/* A state, its file, and the older one. */
typedef struct shot {
  size_t state; /* from 0 on, among those of the subject */
  char *path;
  char *after_path; /* NULL: none */
  lh_snapshot *after;
  lh_outside_request done; /* once it was taken */
} shot;

/* After a failure, where nothing was told or written: if this program's memory was in the way, runs
** it again from its start, with other addresses. Else it returns, and where that does not help. */
void make_way(const request *r, const lh_error *error);

/* Takes them at one instant. Where one of several states cannot be read, its own line tells why,
** and the others are taken. Those that were taken come first then. Fails with what the library says
** of the process, or of the only state. */
int take_all(const subject *s, const request *r, shot *shots, size_t n, size_t *n_taken,
             lh_outside_told *told, lh_error *error);

int take_once(cli *c, const request *r);

/* The file of --after, or one of several. */
lh_snapshot *open_older(cli *c, const request *r, const char *path);

/* What was taken, and of whom where that is not known yet; and what holds for all that is taken of
** this subject. */
void tell_shots(const subject *s, const request *r, const shot *shots, size_t n,
                const lh_outside_told *told, bool is_first);
void tell_once(const subject *s, const request *r, const lh_outside_told *told);

/* What to ask of a snapshot, and how to take the next one. */
void tell_next_steps(const subject *s, const request *r, const shot *first);
void tell_next_snapshot(const request *r);

/* The newest other snapshot of a state in the directory of a file that is older than so. NULL: none
** was found. Freed by free. */
char *older_beside(lh_awaited *awaited, const char *path, uint64_t state_id, uint64_t before_ns);

/* A JSON object; compact, it is a line. */
void json_shots(const subject *s, const shot *shots, size_t n, const lh_outside_told *told,
                const workers *left_out, bool is_compact);

/* The key "workers"; none if it is NULL. */
void json_workers(cli_json *w, const workers *left_out);
void json_state(cli_json *w, const lh_found_state *state);

/* "What appeared and what went: heapdiff a b", of files of one state in the order of time. */
void tell_questions(const char *const *files, size_t n);

/* }=================================================================================== */

/* {=== Waiting ======================================================================= */

typedef enum wait_end { WAIT_DUE, WAIT_ENDED, WAIT_LEFT } wait_end;

typedef struct waiter {
  int process; /* a descriptor that tells when it ends; -1: the system has none */
} waiter;

/* From now on Control-C ends a wait, and no more than that; twice, the process. */
void wait_begin(waiter *w, uint64_t process_id);
void wait_close(waiter *w);

uint64_t clock_ns(void);

/* Until clock_ns() is `ns`, the process has ended, or somebody does not want any more. */
wait_end wait_until(const waiter *w, uint64_t ns);

/* The next multiple of `every_ns` since `start` that is yet to come. */
uint64_t next_tick(uint64_t start, uint64_t every_ns);

/* }=================================================================================== */

/* Returns in a child of this process, which ends as the child does. NULL: there is none. */
lh_awaited *stand_apart(cli *c, const request *r);

/* Until a child has ended. False: it waited for a file system that does not answer, and is killed.
*/
bool wait_for_child(cli *c, pid_t child, const lh_awaited *awaited);

int run_request(cli *c, const request *r);
int ask_workers(cli *c, const request *r);
int list_states(cli *c, const request *r);
int take_series(cli *c, const request *r);
int watch_state(cli *c, const request *r);

#endif
