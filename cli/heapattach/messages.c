/*
** messages.c - prints the results: size, pause, uncertainties of each snapshot, and the commands to
** type next. Only unusual facts are printed.
*/
#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

#include "heapattach/heapattach.h"

/* ==== Text =========================================================================== */

char *program_text(const char *program) {
  enum { MOST_BYTES = 60 };
  char *escaped = cli_escape(program);
  size_t n = strlen(escaped);
  if (n <= MOST_BYTES) return escaped;
  for (n = MOST_BYTES - 3; (escaped[n] & 0xC0) == 0x80; n--) continue;
  memcpy(escaped + n, "...", 4);
  return escaped;
}

static lh_number pause_text(uint64_t ns) {
  enum { TENTH_NS = 100000, MOST_TENTHS = 100 };
  uint64_t tenths = (ns + TENTH_NS / 2) / TENTH_NS;
  lh_number number;
  if (tenths >= MOST_TENTHS) return lh_duration_text(ns);
  (void)snprintf(number.text, sizeof number.text, tenths == 0 ? "less than 0.1 ms" : "%d.%d ms",
                 (int)tenths / 10, (int)tenths % 10);
  return number;
}

static void print_stillness(const subject *s, const lh_outside_result *result) {
  const char *signal = s->info.is_core ? lh_signal_name(s->info.signal) : NULL;
  if (signal != NULL)
    printf("; ended by SIG%s", signal);
  else if (result->stillness == LH_STILL_IDLE)
    printf("; not stopped: it was waiting in a system call");
  else if (!s->info.is_core)
    printf("; stopped for %s", pause_text(result->stopped_ns).text);
  putchar('\n');
}

static void print_size(const subject *s, const shot *taken) {
  const lh_taken *is = &taken->done.taken;
  char *path = cli_escape(taken->path);
  printf("%s%s: %s, %s", cli_style_on(s->c, LH_BOLD), path,
         lh_count_of(is->objects, "object", "objects").text,
         lh_size_text(is->bytes, s->c->exact_bytes).text);
  if (is->external_bytes > 0)
    printf(" and %s of external strings", lh_size_text(is->external_bytes, s->c->exact_bytes).text);
  fputs(cli_style_off(s->c), stdout);
  lh_free(path);
}

static lh_taken the_program_has(const lh_snapshot *snapshot) {
  const lh_info *info = lh_snapshot_info(snapshot);
  uint64_t counted = info->object_bytes - info->external_bytes;
  lh_taken has = {.objects = info->objects, .bytes = counted + info->string_table_bytes};
  for (lh_id id = 1; id <= info->objects; id++) {
    lh_object object;
    if (!lh_is_own(snapshot, id)) continue;
    lh_object_at(snapshot, id, &object);
    has.objects--;
    has.bytes -= object.shallow_bytes;
  }
  return has;
}

/* Compares all objects at the two moments, garbage included; heapdiff tells which objects stay. */
static void print_growth(const subject *s, const shot *taken) {
  if (taken->after == NULL) return;
  const lh_outside_request *done = &taken->done;
  lh_taken before = the_program_has(taken->after);
  char *after = cli_escape(taken->after_path);
  printf(", %s objects and %s since %s, garbage included",
         lh_count_change(before.objects, done->taken.objects - done->own.objects).text,
         lh_size_change(before.bytes, done->taken.bytes - done->own.bytes, s->c->exact_bytes).text,
         after);
  lh_free(after);
}

static void print_doubts(const subject *s, const shot *taken) {
  const lh_outside_request *done = &taken->done;
  int64_t missing = done->unaccounted_bytes;
  bool was_amid_change = s->info.is_core && done->is_in_doubt && missing != 0;
  if (missing != 0)
    printf("%s in it belong to no object: %s\n",
           missing > 0 ? lh_size_text((uint64_t)missing, s->c->exact_bytes).text
                       : lh_size_change((uint64_t)-missing, 0, s->c->exact_bytes).text,
           was_amid_change ? "a table was probably growing or shrinking, and may lack entries"
                           : "a parser or other C code was at work");
  if (done->is_in_doubt && !was_amid_change)
    printf(
        "It was computing %s: no fault is seen in its heap, but a table that was just growing may "
        "show values of another one\n",
        s->info.is_core ? "when the core was written" : "at each stop");
  if (done->has_panicked)
    puts(
        "It ended by an error that nothing had caught: what its running functions alone held is "
        "garbage here, or was freed before");
}

static void print_one_shot(const subject *s, const shot *taken, const lh_outside_result *result,
                           bool is_first) {
  const lh_found_state *state = &s->states[taken->state];
  char *program = program_text(s->info.program);
  print_size(s, taken);
  if (is_first) printf(" of %s (%s, Lua %s)", s->shown, program, state->release);
  print_growth(s, taken);
  print_stillness(s, result);
  print_doubts(s, taken);
  lh_free(program);
}

static void print_several_shots(const subject *s, const shot *shots, size_t n,
                                const lh_outside_result *result) {
  char *program = program_text(s->info.program);
  printf("%s of %s (%s)", lh_count_of(n, "Lua state", "Lua states").text, s->shown, program);
  print_stillness(s, result);
  for (size_t i = 0; i < n; i++) {
    const lh_found_state *state = &s->states[shots[i].state];
    char *script = cli_escape(state->script);
    print_size(s, &shots[i]);
    printf(" (%s%sLua %s)", script, *script != '\0' ? ", " : "", state->release);
    print_growth(s, &shots[i]);
    putchar('\n');
    print_doubts(s, &shots[i]);
    lh_free(script);
  }
  lh_free(program);
}

void print_shots(const subject *s, const request *r, const shot *shots, size_t n,
                 const lh_outside_result *result, bool is_first) {
  enum { FEW_ATTEMPTS = 3 };
  if (is_all(r))
    print_several_shots(s, shots, n, result);
  else
    print_one_shot(s, &shots[0], result, is_first);
  bool is_in_doubt = false;
  for (size_t i = 0; i < n; i++) is_in_doubt |= shots[i].done.is_in_doubt;
  if (result->attempts > FEW_ATTEMPTS && !is_in_doubt) /* else no such moment was found */
    printf("It took %u attempts to find it between two changes of its heap\n", result->attempts);
}

void print_common_facts(const subject *s, const request *r, const lh_outside_result *result) {
  struct stat info;
  if (result->no_fork != NULL && result->stillness == LH_STILL_STOPPED && !r->options.never_fork)
    printf("It was stopped for the time of a copy, since it could not be forked: %s\n",
           result->no_fork);
  if (!s->info.is_core) return;
  if (r->options.string_bytes > 0)
    puts(
        "A core has the program's secrets, and so has its snapshot: "
        "--strings 0 leaves texts out of it");
  if (stat(s->name, &info) == 0 && (info.st_mode & 077) != 0) {
    char *core = cli_shell_word(s->name);
    printf("Others can read this core: chmod 600 %s\n", core);
    free(core);
  }
}

/* ==== Next commands ================================================================= */

static void print_word(FILE *out, const char *option, const char *text) {
  if (text == NULL) return;
  char *word = cli_shell_word(text);
  fprintf(out, " %s%s", option, word);
  free(word);
}

void print_request(FILE *out, const request *r) {
  static const char *const modes[] = {
      [MODE_TAKE] = "", [MODE_SERIES] = "", [MODE_LIST] = " --list", [MODE_WATCH] = " --watch"};
  fprintf(out, "heapattach%s", modes[r->mode]);
  print_word(out, "--state ", r->state);
  print_word(out, "--every ", r->every);
  if (r->max > 0) fprintf(out, " --max %" PRIu64, r->max);
  print_word(out, "--strings ", r->strings);
  if (r->workers) fputs(" --workers", out);
  if (r->options.never_fork) fputs(" --stop", out);
  print_word(out, "--after ", r->after);
  print_word(out, "-o ", r->file);
  print_word(out, "-d ", r->directory);
  print_word(out, "", r->target);
}

void print_choice(const request *r, const char *what) {
  fputs("    ", stderr);
  print_request(stderr, r);
  fprintf(stderr, "    %s\n", what);
}

static void print_command(const char *what, const char *command, const char *const *files,
                          size_t n) {
  printf("%s: %s", what, command);
  for (size_t i = 0; i < n; i++) {
    char *file = cli_shell_word(files[i]);
    printf("%s %s", i == 0 && *files[i] == '-' ? " --" : "", file);
    free(file);
  }
  putchar('\n');
}

void print_analyses(const char *const *files, size_t n) {
  switch (n) {
    case 0: break;
    case 1: print_command("What leaks or is big", "heaptop", files, n); break;
    case 2: print_command("What appeared and what went", "heapdiff", files, n); break;
    case 3:
      print_command("What was made between the first two and stays", "heapdiff", files, n);
      break;
    default: print_command("What grows at every step", "heapdiff", files, n); break;
  }
}

/* "b" after "a", "s10" after "s9", else NAME-2; a name that no file has. Freed by free. */
static char *next_name(const char *path) {
  enum { MOST_TRIES = 100, MOST_DIGITS = 8 };
  char *name = cli_must(strdup(path));
  for (int tries = 0; tries < MOST_TRIES && (tries == 0 || access(name, F_OK) == 0); tries++) {
    size_t n = strlen(name), digits = 0;
    bool is_letter = n > 0 && isalpha((unsigned char)name[n - 1]) &&
                     tolower((unsigned char)name[n - 1]) != 'z' && (n == 1 || name[n - 2] == '/');
    while (digits < n && digits < MOST_DIGITS && isdigit((unsigned char)name[n - digits - 1]))
      digits++;
    char *next = is_letter    ? cli_format("%.*s%c", (int)n - 1, name, name[n - 1] + 1)
                 : digits > 0 ? cli_format("%.*s%lu", (int)(n - digits), name,
                                           strtoul(name + n - digits, NULL, 10) + 1)
                              : cli_format("%s-2", name);
    free(name);
    name = next;
  }
  return name;
}

char *unused_name(const char *name) {
  return access(name, F_OK) == 0 ? next_name(name) : cli_must(strdup(name));
}

/* The file of the last snapshot before `after`, if its mark names a readable file; or NULL. */
static const char *file_before(const lh_snapshot *after) {
  uint32_t n = lh_mark_count(after);
  if (n < 2) return NULL;
  const lh_mark_info *mark = lh_mark_at(after, n - 2);
  bool is_file = mark->is_snapshot && strlen(mark->name) == mark->name_length;
  return is_file && access(mark->name, R_OK) == 0 ? mark->name : NULL;
}

static void print_analyses_of(const shot *taken) {
  const char *files[3];
  size_t n = 0;
  if (taken->after != NULL) {
    const char *before = file_before(taken->after);
    if (before != NULL) files[n++] = before;
    files[n++] = taken->after_path;
  }
  files[n++] = taken->path;
  print_analyses(files, n);
}

void print_next_snapshot(const request *r) {
  char *name = next_name(r->file);
  request next = *r;
  next.after = r->file;
  next.file = name;
  printf("Another one, to compare with it: ");
  print_request(stdout, &next);
  putchar('\n');
  free(name);
}

/* An older snapshot of the same state in the same directory, among 32 files, 64 MB in all. */
enum { MOST_FILES = 32, MOST_BYTES = 64 << 20 };

typedef struct search {
  const char *new_path;
  uint64_t state_id, before_ns;
  size_t n_files;
  uint64_t bytes; /* of all files opened */
  uint64_t time_ns;
  char *found; /* the newest; NULL: none yet */
} search;

/* Owns `path`: keeps it if it is the newest, else frees it. */
static void compare_beside(search *s, char *path) {
  struct stat info, own;
  lh_snapshot *snapshot;
  bool is_better = false;
  bool is_other = lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
                  stat(s->new_path, &own) == 0 && info.st_ino != own.st_ino &&
                  s->n_files < MOST_FILES && s->bytes + (uint64_t)info.st_size <= MOST_BYTES;
  if (is_other && lh_open(&snapshot, path, NULL) == LH_OK) {
    const lh_info *is = lh_snapshot_info(snapshot);
    is_better =
        is->state_id == s->state_id && is->time_ns > s->time_ns && is->time_ns < s->before_ns;
    if (is_better) s->time_ns = is->time_ns;
    s->n_files++;
    s->bytes += (uint64_t)info.st_size;
    lh_close(snapshot);
  }
  if (!is_better) {
    free(path);
    return;
  }
  free(s->found);
  s->found = path;
}

static char *older_beside(lh_awaited *awaited, const char *path, uint64_t state_id,
                          uint64_t before_ns) {
  search s = {.new_path = path, .state_id = state_id, .before_ns = before_ns};
  const char *slash = strrchr(path, '/');
  size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char *folder = cli_must(n > 0 ? strndup(path, n) : strdup("./"));
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    char *other = cli_format("%.*s%s", (int)n, path, entry->d_name);
    lh_await(awaited, other);
    compare_beside(&s, other);
    lh_await_end(awaited);
  }
  if (directory != NULL) closedir(directory);
  free(folder);
  return s.found;
}

/* heapdiff can also compare snapshots taken without --after. */
static void print_older(const subject *s, const request *r, const shot *taken) {
  if (taken->after != NULL) return;
  uint64_t id = s->states[taken->state].id;
  uint64_t before_ns = s->info.is_core ? s->info.written_ns : UINT64_MAX;
  char *older = older_beside(r->awaited, taken->path, id, before_ns);
  if (older == NULL) return;
  const char *files[] = {older, taken->path};
  print_command("An older one of the same state is beside it", "heapdiff", files, 2);
  free(older);
}

void print_next_steps(const subject *s, const request *r, const shot *first) {
  print_analyses_of(first);
  if (!is_all(r)) print_older(s, r, first);
  if (!s->info.is_core && !r->workers) print_next_snapshot(r);
}

/* ==== JSON =========================================================================== */

void json_state(lh_json *w, const lh_found_state *state) {
  char address[24], id[24];
  (void)snprintf(address, sizeof address, "0x%llx", (unsigned long long)state->address);
  (void)snprintf(id, sizeof id, "%016" PRIx64, state->id); /* too large for a JSON number */
  cli_json_name(w, "script", state->script);
  lh_json_string(w, "lua", state->release);
  lh_json_string(w, "address", address);
  lh_json_string(w, "state_id", id);
}

static void json_shot(lh_json *w, const subject *s, const shot *taken) {
  const lh_outside_request *done = &taken->done;
  cli_json_open(w, NULL, '{');
  cli_json_name(w, "file", taken->path);
  lh_json_count(w, "state", taken->state + 1);
  json_state(w, &s->states[taken->state]);
  lh_json_count(w, "objects", done->taken.objects);
  lh_json_count(w, "bytes", done->taken.bytes);
  lh_json_count(w, "external_bytes", done->taken.external_bytes);
  lh_json_integer(w, "unaccounted_bytes", done->unaccounted_bytes);
  lh_json_flag(w, "in_doubt", done->is_in_doubt);
  cli_json_name(w, "after", taken->after_path);
  if (taken->after != NULL)
    lh_json_count(w, "passed_as_old", done->possibly_newer);
  else
    lh_json_null(w, "passed_as_old");
  cli_json_close(w, '}');
}

void json_workers(lh_json *w, const workers *left_out) {
  if (left_out == NULL) return;
  cli_json_open(w, "workers", '[');
  for (size_t i = 0; i < left_out->n; i++) {
    const worker *of = &left_out->of[i];
    cli_json_open(w, NULL, '{');
    lh_json_count(w, "process", (uint64_t)of->id);
    cli_json_name(w, "program", of->program);
    lh_json_count(w, "states", of->n_states);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
}

void json_shots(const subject *s, const shot *shots, size_t n, const lh_outside_result *result,
                const workers *left_out, bool is_compact) {
  lh_json w = {.is_compact = is_compact};
  cli_json_open(&w, NULL, '{');
  lh_json_count(&w, "process", s->info.process_id);
  cli_json_name(&w, "program", s->info.program);
  lh_json_string(&w, "stillness", lh_stillness_name(result->stillness));
  lh_json_count(&w, "stopped_ns", result->stopped_ns);
  lh_json_count(&w, "copied_bytes", result->copied_bytes);
  lh_json_flag(&w, "in_system_call", result->was_in_system_call);
  lh_json_count(&w, "attempts", result->attempts);
  cli_json_name(&w, "no_fork", result->no_fork);
  json_workers(&w, left_out);
  cli_json_open(&w, "snapshots", '[');
  for (size_t i = 0; i < n; i++) json_shot(&w, s, &shots[i]);
  cli_json_close(&w, ']');
  cli_json_close(&w, '}');
}
