/*
** heapattach.h - shared by the parts of heapattach.
**
**     child.c       runs the work in a child, abandoned if a file system does not answer
**     target.c      the named process or core, its states, the choice of one
**     state_rows.c  sorts states, and folds those of one script
**     list.c        --list
**     workers.c     the processes that a process has started, and --workers
**     take.c        snapshots: files, older snapshots
**     messages.c    messages about a snapshot, and the commands to type next
**     series.c      --every
**     watch.c       --watch of one state
**     watch_all.c   --watch of all states
**     wait.c        waits until a time, the end of the process, or Control-C
**
** The library (rooms/outside.h) reads the target. Functions here end this program on failure,
** unless their comment says otherwise.
*/
#pragma once

#include "cli.h"
#include "rooms/outside.h"

typedef enum mode { MODE_TAKE, MODE_LIST, MODE_SERIES, MODE_WATCH } mode;

typedef struct request {
  mode mode;
  const char *target; /* as given: a process id, or a core file */
  const char *file, *directory, *after;
  const char *state; /* NULL: the only one */
  const char *every; /* as given; NULL: none */
  uint64_t every_ns;
  uint64_t max;        /* 0: none given */
  const char *strings; /* as given; NULL: none */
  lh_outside_options options;
  bool workers;        /* also for all processes that it has started */
  lh_awaited *awaited; /* the awaited file, for this program's parent; NULL: no parent */
  char **arguments;    /* of this program, to run it again; NULL: a child that handles a worker */
} request;

/* `name`, or a similar one that no file has. Freed by free. */
char *unused_name(const char *name);

/* Prints the request as a shell command; print_choice prints it on stderr with an explanation. */
void print_request(FILE *out, const request *r);
void print_choice(const request *r, const char *what);

/* ==== The target ================================================================== */

typedef struct subject {
  cli *c;
  const char *name;    /* as given */
  char *shown;         /* escaped for a terminal */
  uint64_t process_id; /* as given; 0: a core */
  lh_target *target;
  lh_target_info info;
  const lh_found_state *states;
  size_t n_states;
} subject;

bool subject_is_process(const char *name);

/* The command that prints the id of processes with this name. Freed by free. */
char *command_for_number(const char *name);

/* Without Lua in the target, searches the processes that it has started, and exits with CLI_NO. */
void subject_open(subject *s, cli *c, const request *r);
void subject_close(subject *s);
int subject_look(subject *s, lh_error *error);

/* Index of the state that --state names or that `after` (may be NULL) was taken of. */
size_t subject_choose(const subject *s, const request *r, const lh_snapshot *after);

bool is_all(const request *r); /* `--state all` */

/* Does a state have this number or script, with or without folders, or is the name `all`?
** check_is_named: no such state is wrong usage. Returns the index of the first. */
bool is_named(const subject *s, size_t i, const char *name);
size_t check_is_named(const subject *s, const char *name);

/* One state, or all that run the same script: then bytes are sums. For --list `last` and `first`
** are 0, so growth is size. */
typedef struct state_row {
  size_t n;     /* states in it */
  size_t state; /* index of the one that grew most since the first look */
  uint64_t bytes;
  uint64_t last, first; /* bytes at the look before, and at the first one; 0: it is new */
  size_t n_with_luaheap;
  const char *script;
  const char *oldest, *newest; /* releases */
} state_row;

/* More states than this are folded by script. */
enum { MOST_STATES_APART = 20 };

state_row state_row_of(const lh_found_state *state, size_t i);

/* Sorts by growth since the first look, most first. Returns the number of rows: fewer if folded. */
size_t sort_state_rows(state_row *rows, size_t n, bool is_folded);

typedef struct worker {
  int64_t id;
  char *program;
  size_t n_states;
} worker;

/* The processes that a process has started and that run Lua 5.4 or 5.5. */
typedef struct workers {
  worker *of;
  size_t n;
  size_t n_started; /* also those without Lua, and those not inspected */
  size_t n_looked_at;
  lh_error refused; /* error of the first process that may not be inspected; LH_OK: none */
} workers;

/* Adds to *w. Skips a process, with a message, after five seconds without an answer. */
void find_workers(cli *c, uint64_t process_id, workers *w);
void free_workers(workers *w);

/* Prints on stderr the commands for the processes that it has started and that run Lua. */
void print_started(cli *c, const request *r, uint64_t process_id);
void print_left_out(cli *c, const request *r, const workers *w);

static inline bool leaves_workers_out(const request *r) {
  return r->arguments != NULL;
}

/* A command line, escaped for a terminal and cut if long. Freed by lh_free. */
char *program_text(const char *program);

/* True if the process has ended or the state was closed. */
bool is_over(const lh_error *error);

/* ==== Snapshots =================================================================== */

typedef struct shot {
  size_t state; /* index among the subject's states */
  char *path;
  char *after_path; /* NULL: none */
  lh_snapshot *after;
  lh_outside_request done; /* filled in when taken */
} shot;

/* Call if nothing was printed or written yet. If this program's memory overlaps the target's, runs
** the program again with other addresses. Returns otherwise. */
void relocate_self(const request *r, const lh_error *error);

/* Takes all states at one instant. If one of several fails, prints why and takes the others, which
** come first. Returns the library's error about the process, or about the only state. */
int take_all(const subject *s, const request *r, shot *shots, size_t n, size_t *n_taken,
             lh_outside_result *result, lh_error *error);

int take_once(cli *c, const request *r);

lh_snapshot *open_older(cli *c, const request *r, const char *path);

/* print_shots: a line for each snapshot, the first time also its process. print_common_facts:
** what holds for all snapshots of the subject. */
void print_shots(const subject *s, const request *r, const shot *shots, size_t n,
                 const lh_outside_result *result, bool is_first);
void print_common_facts(const subject *s, const request *r, const lh_outside_result *result);
void print_next_steps(const subject *s, const request *r, const shot *first);
void print_next_snapshot(const request *r);
void json_shots(const subject *s, const shot *shots, size_t n, const lh_outside_result *result,
                const workers *left_out, bool is_compact);

/* The key "workers"; none if NULL. */
void json_workers(lh_json *w, const workers *left_out);
void json_state(lh_json *w, const lh_found_state *state);

/* Prints "What appeared and what went: heapdiff a b", for files of one state in order of time. */
void print_analyses(const char *const *files, size_t n);

/* ==== Waiting ===================================================================== */

typedef enum wait_end { WAIT_DUE, WAIT_ENDED, WAIT_LEFT } wait_end;

typedef struct waiter {
  int process; /* pidfd; -1: the system has none */
} waiter;

/* From now on a first Control-C ends only the wait, a second one this program. */
void wait_begin(waiter *w, uint64_t process_id);
void wait_close(waiter *w);

uint64_t real_time_ns(void); /* since 1970 */

/* Calls `see` at each tick, --max times at most, until it returns false, the process ends, or a
** signal ends the wait. False: the process has ended, or `see` returned false. */
bool look_repeatedly(const subject *s, const request *r, bool (*see)(void *payload), void *payload);

/* For both kinds of --watch: "14:03:22", and the width of a size. */
enum { TIME_WIDTH = 8, LINES_UNDER_A_HEADING = 20 };
void print_time(uint64_t time_ns);
int size_width(const cli *c);

typedef struct watch_growth {
  uint64_t first, last; /* bytes */
  uint64_t elapsed_ns, n_looks;
} watch_growth;

/* If the heap grew and the process still runs, suggests a series of three snapshots. */
void print_watch_end(const subject *s, const request *r, const char *state,
                     const watch_growth *growth, bool goes_on);

/* Waits until cli_now_ns() is `ns`, the process ends, or a signal ends the wait. */
wait_end wait_until(const waiter *w, uint64_t ns);

/* The next tick in the future: `start` plus a multiple of `every_ns`. */
uint64_t next_tick(uint64_t start, uint64_t every_ns);

/* Returns in a child of this process, whose exit status becomes ours. NULL: cannot fork. */
lh_awaited *run_in_child(cli *c, const request *r);

/* Memory of zeros that child processes share. Freed by munmap. */
void *share_memory(size_t bytes);

/* False: the child waited for a file system that does not answer, and was killed. */
bool wait_for_child(cli *c, pid_t child, const lh_awaited *awaited);

int run_request(cli *c, const request *r);
int run_for_workers(cli *c, const request *r);
int list_states(cli *c, const request *r);
int take_series(cli *c, const request *r);
int watch_state(cli *c, const request *r);
int watch_all_states(cli *c, const request *r);
