/*
** output.c - errors, colours, the progress line, and the end of a command.
**
** Results are on stdout; all else is on stderr, behind the command's name and escaped.
**
** A name of 4 KB in a file can stand in each of a million rows, so stdout counts its bytes, and
** code that prints rows asks cli_has_room before each.
*/
#include <stdarg.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

static void clear_progress(const cli *c) {
  if (c->progress_shown) fputs("\r\033[K", stderr);
}

static char *format_list(const char *format, va_list arguments) {
  char *text;
  return cli_must(vasprintf(&text, format, arguments) >= 0 ? text : NULL);
}

char *cli_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_list(format, arguments);
  va_end(arguments);
  return text;
}

static void say(const cli *c, const char *format, va_list arguments) {
  char *line = format_list(format, arguments), *escaped = cli_escape(line);
  clear_progress(c);
  fprintf(stderr, "%s%s%s\n", c->is_nameless ? "" : c->tool->name, c->is_nameless ? "" : ": ",
          escaped);
  free(line);
  lh_free(escaped);
}

void cli_say(const cli *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(c, format, arguments);
  va_end(arguments);
}

void cli_usage_error(const cli *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(c, format, arguments);
  va_end(arguments);
  fprintf(stderr, "Try '%s --help'.\n", c->tool->name);
  cli_json_drop();
  exit(CLI_FAILURE);
}

void cli_die(const cli *c, char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(c, format, arguments);
  va_end(arguments);
  if (hint != NULL) fprintf(stderr, "%s\n", hint);
  free(hint);
  cli_json_drop();
  exit(CLI_FAILURE);
}

void cli_check_writable(cli *c, const char *path) {
  lh_file *file;
  lh_error error;
  if (lh_create_file(&file, path, &error) != LH_OK) cli_die(c, NULL, "%s", error.message);
  lh_discard_file(file); /* it has no name yet */
}

void *cli_must(void *result) {
  if (result == NULL) {
    fputs("luaheap: out of memory\n", stderr);
    cli_json_drop();
    exit(CLI_FAILURE);
  }
  return result;
}

uint64_t cli_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

FILE *cli_open_text(char **text, size_t *n) {
  return cli_must(open_memstream(text, n));
}

void cli_close_text(FILE *out) {
  if (fclose(out) != 0) cli_must(NULL);
}

static const char *what_to_do(const lh_error *error, bool with_profile) {
  switch (error->code) {
    case LH_EFOREIGN:
      return with_profile ? "Give it a file that heap.track{file = \"run.prof\"} wrote; for a "
                            "snapshot there is heaptop."
                          : "Give it a file that heap.snapshot(\"file\") or heapattach wrote; for "
                            "a profile there is heapprof.";
    case LH_EVERSION: return "Update luaheap on this machine: this is version " LH_VERSION ".";
    case LH_EDAMAGED:
      return "The file was cut or changed after it was written: copy it again or take it again.";
    case LH_EMEMORY: return "Close other programs, or read the file on a bigger machine.";
    case LH_EIO:
      if (error->os_errno == ENOENT)
        return "Is the name right? A file whose name has no directory lies in the directory in "
               "which "
               "its program was started.";
      if (error->os_errno == EACCES)
        return "It can be read only by the user whose program wrote it.";
      return NULL;
    default: return NULL;
  }
}

void cli_say_error(const cli *c, const char *file, const lh_error *error) {
  const char *hint = what_to_do(error, c->reads_profiles);
  cli_say(c, "%s%s%s", file != NULL ? file : "", file != NULL ? ": " : "", error->message);
  if (hint != NULL) fprintf(stderr, "%s\n", hint);
}

void cli_check(cli *c, int code, const char *file, const lh_error *error) {
  if (code == LH_OK) return;
  cli_say_error(c, file, error);
  cli_json_drop();
  exit(CLI_FAILURE);
}

const char *cli_style_on(const cli *c, lh_style style) {
  static const char *const sequences[] = {"", "\033[1m", "\033[2m", "\033[1;31m"};
  return c->color ? sequences[style] : "";
}

const char *cli_style_off(const cli *c) {
  return c->color ? "\033[0m" : "";
}

void cli_progress(cli *c, const char *format, ...) {
  va_list arguments;
  char line[256];
  char *escaped;
  if (format != NULL) {
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
  }
  if (c->show_progress) c->show_progress(c->payload, format != NULL ? line : NULL);
  if (!c->progress_terminal) return;
  clear_progress(c);
  c->progress_shown = format != NULL;
  if (format == NULL) return;
  escaped = cli_escape(line);
  fprintf(stderr, "%s: %s ...", c->tool->name, escaped);
  fflush(stderr);
  lh_free(escaped);
}

/* ==== Room for rows ================================================================== */

enum { MOST_TIMES = 200, ALWAYS_BYTES = 4 << 20 };

static uint64_t input_bytes, written_bytes, rows_left_out;

/* For fopencookie: returns n, or 0 after an error. */
static ssize_t write_counted(void *cookie, const char *bytes, size_t n) {
  (void)cookie;
  for (size_t done = 0; done < n;) {
    ssize_t now = write(STDOUT_FILENO, bytes + done, n - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return 0;
    done += (size_t)now;
  }
  written_bytes += n;
  return (ssize_t)n;
}

static int close_counted(void *cookie) {
  (void)cookie;
  return close(STDOUT_FILENO);
}

void cli_count_output(void) {
  cookie_io_functions_t functions = {.write = write_counted, .close = close_counted};
  FILE *counted = cli_must(fopencookie(NULL, "w", functions));
  if (isatty(STDOUT_FILENO)) setvbuf(counted, NULL, _IOLBF, BUFSIZ);
  stdout = counted;
}

void cli_limit_output(const char *file) {
  struct stat status;
  if (stat(file, &status) == 0) input_bytes += (uint64_t)status.st_size;
}

bool cli_has_room(void) {
  uint64_t printed = written_bytes + __fpending(stdout);
  bool has_room = input_bytes == 0 || printed < MOST_TIMES * input_bytes + ALWAYS_BYTES;
  rows_left_out += !has_room;
  return has_room;
}

static void say_left_out(const cli *c) {
  if (rows_left_out > 0)
    cli_say(c, "%s left out: what is printed has at most %u times the bytes of what was read",
            lh_count_of(rows_left_out, "row was", "rows were").text, MOST_TIMES);
}

void cli_flush(const cli *c) {
  if (fflush(stdout) != 0) cli_die(c, NULL, "cannot write the results: %s", strerror(errno));
}

int cli_finish(cli *c, int status) {
  bool failed = ferror(stdout) != 0;
  cli_progress(c, NULL);
  errno = 0;
  if (failed) putchar('\n'); /* writes again, so that errno tells the cause */
  if (fclose(stdout) != 0 || failed)
    cli_die(c, NULL, "cannot write the results: %s",
            errno != 0 ? strerror(errno) : "the output is full or closed");
  say_left_out(c);
  return status;
}

/* ==== Names, as a terminal and a shell take them ====================================== */

char *cli_escape(const char *text) {
  return cli_must(lh_escaped(text, strlen(text)));
}

/* Hidden characters as $'...', which all but the simplest shells read. */
static char *dollar_quoted(const char *text) {
  char *word = cli_must(malloc(4 * strlen(text) + 4)), *q = word + sprintf(word, "$'");
  for (; *text != '\0'; text++)
    q += sprintf(q,
                 *text < ' ' || *text > '~'     ? "\\%03o"
                 : strchr("'\\", *text) != NULL ? "\\%c"
                                                : "%c",
                 (unsigned char)*text);
  memcpy(q, "'", 2);
  return word;
}

static char *single_quoted(const char *text) {
  char *word = cli_must(malloc(4 * strlen(text) + 3)), *q = word;
  *q++ = '\'';
  for (; *text != '\0'; text++) q += sprintf(q, *text == '\'' ? "'\\''" : "%c", *text);
  memcpy(q, "'", 2);
  return word;
}

char *cli_shell_word(const char *text) {
  char *escaped = cli_escape(text);
  bool hidden = strcmp(escaped, text) != 0;
  lh_free(escaped);
  if (hidden) return dollar_quoted(text);
  if (*text != '\0' && text[strspn(text,
                                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-./,:@%+")] == '\0')
    return cli_must(strdup(text));
  return single_quoted(text);
}

/* An unfinished document that fits this is never printed, so a failed command prints nothing. */
static char buffer[1 << 16];
static bool is_open;

void cli_json_drop(void) {
  if (is_open) __fpurge(stdout);
  is_open = false;
}

static void begin_document(lh_json *w) {
  static bool is_prepared;
  if (!is_prepared) is_prepared = setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0;
  is_open = true;
  w->out = stdout;
  w->has_room = cli_has_room;
}

void cli_json_open(lh_json *w, const char *key, char bracket) {
  if (w->out == NULL) begin_document(w);
  lh_json_open(w, key, bracket);
}

void cli_json_close(lh_json *w, char bracket) {
  lh_json_close(w, bracket);
  if (w->depth > 0 || w->out != stdout || !is_open) return;
  putchar('\n');
  is_open = false;
}

void cli_json_name(lh_json *w, const char *key, const char *name) {
  char *escaped = name != NULL ? cli_escape(name) : NULL;
  lh_json_string(w, key, escaped);
  lh_free(escaped);
}
