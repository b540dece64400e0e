/*
** stand_in.c - rooms/outside.h without a process, for what heapattach says of things that cannot
** be had at will: a filter on system calls, a heap that is never still, a process that ends. What
** there is, and what becomes of it, is in the file that $STAND_IN names, a word and its value a
** line:
**
**     program lua5.4 server.lua
**     state FILE BYTES no server.lua   a snapshot of it is a copy of FILE; is luaheap loaded?
**     still fork 700000                idle, fork, stopped or core; for so many ns
**     attempts 4 | computes 1 | no_fork TEXT | unaccounted BYTES | passed OBJECTS | doubt TEXT
**     signal NUMBER
**     text 1                           the last state's script is the text of its program
**     lacks 2 TEXT                     the second state is one that luaheap does not know: message
**     fail 3 -10 0 TEXT                the third time that it is taken: code, errno, message
**     grow 1000                        bytes at each look, of each state
**     grows 100                        the last state: so many more
**     release 5.5.0                    of the last state
**     log FILE                         each call that touches the process is a line in it
*/
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rooms/all.h"
#include "rooms/outside.h"

enum { MOST_STATES = 64 };

struct lh_target {
  char *text, *program, *log, *doubt, *no_fork, *failure, *lack;
  lh_found_state states[MOST_STATES];
  const char *files[MOST_STATES];
  uint64_t own_growth[MOST_STATES];
  size_t n_states;
  bool is_core;
  uint64_t process_id, stopped_ns, passed, grown, n_takes;
  int64_t unaccounted;
  int signal, lacks, fail_at, fail_code, fail_errno;
  unsigned attempts;
  bool computes;
  lh_stillness stillness;
};

static int fail(lh_error *error, int code, int os_errno, const char *message) {
  *error = (lh_error){.code = code, .os_errno = os_errno};
  (void)snprintf(error->message, sizeof error->message, "%s", message);
  return code;
}

static void note(const lh_target *t, const char *call) {
  FILE *log = t->log != NULL ? fopen(t->log, "a") : NULL;
  if (log == NULL) return;
  fprintf(log, "%s\n", call);
  fclose(log);
}

/* ==== What there is ================================================================= */

static char *next_word(char **at) {
  char *word = *at;
  *at += strcspn(*at, " ");
  if (**at != '\0') *(*at)++ = '\0';
  return word;
}

static void add_state(lh_target *t, char *at) {
  lh_snapshot *snapshot;
  lh_error error;
  lh_found_state *state = &t->states[t->n_states];
  t->files[t->n_states] = next_word(&at);
  if (lh_open(&snapshot, t->files[t->n_states], &error) != LH_OK) abort();
  *state = (lh_found_state){.address = 0x1000 * ++t->n_states,
                            .id = lh_snapshot_info(snapshot)->state_id,
                            .release = "5.4.4"};
  state->gc_bytes = strtoull(next_word(&at), NULL, 10);
  state->has_luaheap = strcmp(next_word(&at), "yes") == 0;
  (void)snprintf(state->script, sizeof state->script, "%s", at);
  lh_close(snapshot);
}

static lh_stillness stillness_of(const char *word) {
  return strcmp(word, "idle") == 0      ? LH_STILL_IDLE
         : strcmp(word, "fork") == 0    ? LH_STILL_FORK
         : strcmp(word, "stopped") == 0 ? LH_STILL_STOPPED
                                        : LH_STILL_CORE;
}

static void take_line(lh_target *t, char *at) {
  const char *key = next_word(&at);
  if (strcmp(key, "program") == 0) t->program = at;
  if (strcmp(key, "state") == 0) add_state(t, at);
  if (strcmp(key, "still") == 0) {
    t->stillness = stillness_of(next_word(&at));
    t->stopped_ns = strtoull(at, NULL, 10);
  }
  if (strcmp(key, "attempts") == 0) t->attempts = (unsigned)atoi(at);
  if (strcmp(key, "computes") == 0) t->computes = true;
  if (strcmp(key, "no_fork") == 0) t->no_fork = at;
  if (strcmp(key, "unaccounted") == 0) t->unaccounted = strtoll(at, NULL, 10);
  if (strcmp(key, "passed") == 0) t->passed = strtoull(at, NULL, 10);
  if (strcmp(key, "doubt") == 0) t->doubt = at;
  if (strcmp(key, "signal") == 0) t->signal = atoi(at);
  if (strcmp(key, "grow") == 0) t->grown = strtoull(at, NULL, 10);
  if (strcmp(key, "text") == 0) t->states[t->n_states - 1].is_text = true;
  if (strcmp(key, "grows") == 0) t->own_growth[t->n_states - 1] = strtoull(at, NULL, 10);
  if (strcmp(key, "release") == 0)
    (void)snprintf(t->states[t->n_states - 1].release, sizeof t->states->release, "%s", at);
  if (strcmp(key, "lacks") == 0) {
    t->lacks = atoi(next_word(&at));
    t->lack = at;
  }
  if (strcmp(key, "log") == 0) t->log = at;
  if (strcmp(key, "fail") == 0) {
    t->fail_at = atoi(next_word(&at));
    t->fail_code = atoi(next_word(&at));
    t->fail_errno = atoi(next_word(&at));
    t->failure = at;
  }
}

static int open_target(lh_target **out, lh_error *error) {
  lh_target *t = calloc(1, sizeof *t);
  FILE *file = fopen(getenv("STAND_IN"), "r");
  size_t capacity = 0;
  if (t == NULL || file == NULL) abort();
  *out = NULL;
  if (getdelim(&t->text, &capacity, '\0', file) < 0) abort();
  fclose(file);
  t->attempts = 1;
  for (char *line = strtok(t->text, "\n"); line != NULL; line = strtok(NULL, "\n"))
    take_line(t, line);
  note(t, "open");
  if (t->fail_at == 0 && t->failure != NULL) {
    fail(error, t->fail_code, t->fail_errno, t->failure);
    lh_target_free(t);
    return error->code;
  }
  *out = t;
  return LH_OK;
}

/* ==================================================================================== */

void lh_reexec_elsewhere(char **arguments) {
  (void)arguments;
}

void lh_reexec_again(char **arguments) {
  fprintf(stderr, "%s again\n", arguments[1]);
}

void lh_await(lh_awaited *awaited, const char *path) {
  (void)awaited;
  (void)path;
}

void lh_await_output(lh_awaited *awaited, const char *path) {
  lh_await(awaited, path);
}

void lh_await_end(lh_awaited *awaited) {
  lh_await(awaited, "");
}

unsigned lh_await_look(lh_await_watch *watch, const lh_awaited *awaited) {
  (void)awaited;
  return watch->times;
}

int lh_open_process(int64_t process_id, lh_awaited *awaited, lh_target **target, lh_error *error) {
  (void)awaited;
  int code = open_target(target, error);
  if (code == LH_OK) (*target)->process_id = (uint64_t)process_id;
  return code;
}

int lh_open_core(const char *path, lh_target **target, lh_error *error) {
  FILE *file = fopen(path, "r");
  *target = NULL;
  if (file == NULL) return fail(error, LH_EIO, errno, "there is no such file");
  fclose(file);
  int code = open_target(target, error);
  if (code == LH_OK) (*target)->is_core = true;
  return code;
}

int lh_find_started(int64_t process_id, int64_t **ids, size_t *n, lh_error *error) {
  (void)process_id;
  (void)error;
  *ids = NULL;
  *n = 0;
  return LH_OK;
}

void lh_target_free(lh_target *t) {
  if (t == NULL) return;
  free(t->text);
  free(t);
}

lh_target_info lh_describe_target(const lh_target *t) {
  return (lh_target_info){.is_core = t->is_core,
                          .process_id = t->is_core ? 4711 : t->process_id,
                          .program = t->program,
                          .executable = "/usr/bin/lua5.4",
                          .private_bytes = 12345,
                          .signal = t->signal,
                          .doubt = t->doubt};
}

int lh_find_states(lh_target *t, const lh_found_state **states, size_t *n, lh_error *error) {
  note(t, "find");
  if (t->n_states == 0)
    return fail(error, LH_EHOST, 0, "process 4711 runs Lua 5.1, and no Lua 5.4");
  *states = t->states;
  *n = t->n_states;
  return LH_OK;
}

void lh_show_search(lh_target *t, void (*show)(void *payload, uint64_t searched_bytes),
                    void *payload) {
  (void)t, (void)show, (void)payload;
}

static bool fails_now(lh_target *t, lh_error *error) {
  if ((uint64_t)t->fail_at != ++t->n_takes) return false;
  fail(error, t->fail_code, t->fail_errno, t->failure);
  return true;
}

static size_t index_of(uint64_t state) {
  return state / 0x1000 - 1;
}

int lh_outside_sizes(lh_target *t, lh_found_state *states, size_t n, lh_error *error) {
  (void)error;
  for (size_t i = 0; i < n; i++) {
    lh_found_state *is = &t->states[index_of(states[i].address)];
    states[i].gc_bytes = is->gc_bytes;
    is->gc_bytes += t->grown + t->own_growth[index_of(states[i].address)];
  }
  return LH_OK;
}

/* Copies, and counts. */
static int take_stand_in(lh_target *t, lh_outside_request *r, lh_error *error) {
  const char *file = t->files[index_of(r->state)];
  if ((size_t)t->lacks == index_of(r->state) + 1) return fail(error, LH_EHOST, 0, t->lack);
  lh_snapshot *snapshot;
  char *data = NULL;
  size_t capacity = 0;
  FILE *in = fopen(file, "r");
  if (in == NULL || lh_open(&snapshot, file, error) != LH_OK) abort();
  const lh_info *info = lh_snapshot_info(snapshot);
  r->taken =
      (lh_taken){.objects = info->objects, .bytes = info->object_bytes + info->string_table_bytes};
  for (lh_id id = 1; id <= info->objects; id++) {
    lh_object object;
    lh_object_at(snapshot, id, &object);
    r->own.objects += object.own;
    r->own.bytes += object.own ? object.shallow_bytes : 0;
  }
  r->unaccounted_bytes = t->unaccounted;
  r->is_in_doubt = t->computes;
  r->possibly_newer = r->after != NULL ? t->passed : 0;
  r->counts = (lh_counts){.all.objects = 28};
  for (unsigned type = 1; type < LH_TYPE_COUNT; type++) r->counts.by_type[type].objects = type;
  fseek(in, 0, SEEK_END);
  capacity = (size_t)ftell(in);
  rewind(in);
  data = malloc(capacity);
  if (data == NULL || fread(data, 1, capacity, in) != capacity) abort();
  int code = r->path != NULL ? lh_save(data, capacity, r->path, error) : LH_OK;
  free(data);
  fclose(in);
  lh_close(snapshot);
  return code;
}

int lh_take_outside(lh_target *t, lh_outside_request *requests, size_t n,
                    const lh_outside_options *options, lh_outside_result *result, lh_error *error) {
  char line[64];
  (void)snprintf(line, sizeof line, "take %zu %" PRIu64 "%s", n, options->string_bytes,
                 options->never_fork ? " stop" : "");
  note(t, line);
  *result = (lh_outside_result){.stillness = t->stillness,
                                .was_in_system_call = !t->computes,
                                .attempts = t->attempts,
                                .stopped_ns = t->stopped_ns,
                                .copied_bytes = 4096,
                                .no_fork = t->no_fork};
  int code = LH_OK;
  for (size_t i = 0; i < n; i++) {
    lh_error *failure = &requests[i].failure;
    if ((i > 0 || !fails_now(t, failure)) && take_stand_in(t, &requests[i], failure) == LH_OK)
      continue;
    if (code == LH_OK) *error = *failure;
    code = error->code;
    if (code == LH_EIO) break; /* which is the process's */
  }
  return code;
}
