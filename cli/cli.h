/*
** cli.h - shared parts of the commands. A command is one file that parses options, opens snapshots,
** computes through lib/luaheap.h, and prints:
**
**     options.c   one table of options for each command, from which --help is printed too
**     output.c    errors, colours, progress; the exit with all output written; escaped names
**     open.c      opens and analyses a snapshot
**     table.c     aligned columns; a long table is printed while its rows come
**     report.c    an answer of the library, as text or JSON
**     json.c      JSON, written while it is made: a million rows need no memory
**
** A failure in any of these functions ends the process with exit status 2 and one sentence, so
** callers need no checks. Results live until the process ends, unless said otherwise.
*/
#pragma once

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rooms/all.h"

enum { CLI_DONE = 0, CLI_NO = 1, CLI_FAILURE = 2 }; /* exit status */

typedef struct cli cli;
struct request; /* the options' values; each command defines its own */

/* ==== Options ======================================================================== */

/* Most kinds set a field of this type in the `request`; a number takes any unsigned integer. */
typedef enum cli_kind {
  CLI_IS_FLAG,   /* bool; no argument */
  CLI_IS_TEXT,   /* const char * */
  CLI_IS_FILE,   /* const char *, a file to write; "-" is refused: no result file goes to stdout */
  CLI_IS_NUMBER, /* digits alone */
  CLI_IS_SIZE,   /* 512, 100KB */
  CLI_IS_WORD,   /* unsigned: index of the word among those behind = in `argument` */
  CLI_IS_TOP,    /* lh_request: limit and has_limit */
  CLI_IS_TAKEN,  /* calls `take` */
  CLI_IS_JSON,
  CLI_IS_BYTES,
  CLI_IS_COLOR,
  CLI_IS_HELP, /* this and the next end the process */
  CLI_IS_VERSION
} cli_kind;

typedef struct cli_option cli_option;

struct cli_option {
  char letter;          /* '\0': none */
  const char *name;     /* NULL: `add` adds options in place of this row */
  const char *argument; /* as in ORDER=this|or|that: name in --help, words; NULL: none */
  const char *help;
  cli_kind kind;
  size_t field, bytes;                                               /* offset and size in it */
  uint64_t least;                                                    /* smallest number allowed */
  void (*take)(cli *c, struct request *r, const cli_option *option); /* parses optarg */
  void (*add)(cli *c, const cli_option *row);
  size_t number; /* of an added option: index of its question or mode */
};

/* clang-format off */
#define CLI_FIELD(its_kind, its_field, ...) \
  .kind = its_kind, .bytes = sizeof(((request *)0)->its_field), \
  .field = offsetof(request, its_field) + 0 * _Generic(((request *)0)->its_field, __VA_ARGS__)
#define CLI_INTEGER unsigned: 1, unsigned long: 1, unsigned long long: 1
#define CLI_FLAG(field) CLI_FIELD(CLI_IS_FLAG, field, bool: 1)
#define CLI_TEXT(field) CLI_FIELD(CLI_IS_TEXT, field, const char *: 1)
#define CLI_FILE(field) CLI_FIELD(CLI_IS_FILE, field, const char *: 1)
#define CLI_NUMBER(field) CLI_FIELD(CLI_IS_NUMBER, field, CLI_INTEGER)
#define CLI_SIZE(field) CLI_FIELD(CLI_IS_SIZE, field, CLI_INTEGER)
#define CLI_WORD(field) CLI_FIELD(CLI_IS_WORD, field, unsigned: 1)
#define CLI_TAKEN(function) .kind = CLI_IS_TAKEN, .take = function

#define CLI_TOP_OPTION(help) {'n', "top", "N", help, CLI_FIELD(CLI_IS_TOP, asked, lh_request: 1)}
#define CLI_JSON_OPTION \
  {0, "json", NULL, "print JSON; its keys are in the manual page", .kind = CLI_IS_JSON}
#define CLI_BYTES_OPTION \
  {0, "bytes", NULL, "exact bytes (else 1 KB is 1,024 bytes)", .kind = CLI_IS_BYTES}
#define CLI_COLOR_OPTION \
  {0, "color", "WHEN=auto|always|never", "auto (default; heeds NO_COLOR), always, never", \
   .kind = CLI_IS_COLOR}

/* The library's questions for this command become options; `function` takes them. */
#define CLI_QUESTIONS(function) \
  { .add = cli_add_questions, CLI_TAKEN(function) }

/* The last rows of every table, and of most tables. */
#define CLI_LAST_OPTIONS \
  {'h', "help", NULL, "print this help", .kind = CLI_IS_HELP}, \
  {0, "version", NULL, "print the version", .kind = CLI_IS_VERSION}, {0}
#define CLI_COMMON_OPTIONS CLI_JSON_OPTION, CLI_BYTES_OPTION, CLI_COLOR_OPTION, CLI_LAST_OPTIONS
/* clang-format on */

enum { CLI_MAX_FORMS = 6, CLI_MAX_OPTIONS = 40 };

typedef struct cli_tool {
  const char *name;
  const char *summary;
  const char *usage[CLI_MAX_FORMS]; /* what follows the name, one line each; ends with NULL */
  const cli_option *options;
  const char *epilogue; /* examples and exit status, for --help */
} cli_tool;

struct cli {
  const cli_tool *tool;
  bool reads_profiles;                 /* not snapshots: decides the hints of errors */
  bool opens_alone;                    /* opens snapshots with one thread */
  cli_option options[CLI_MAX_OPTIONS]; /* of the tool, and the added ones */
  bool given[CLI_MAX_OPTIONS];
  size_t n_options;
  char **arguments;
  int n_arguments;
  bool json, exact_bytes;
  bool unicode; /* the user's locale is UTF-8 */
  bool color;
  bool stdout_terminal;   /* tables fit its width */
  bool progress_terminal; /* stderr shows progress */
  bool progress_shown;
  bool is_nameless; /* messages begin without the command's name */
  void (*show_progress)(void *payload, const char *doing); /* also gets progress; NULL `doing`:
                                                              done */
  void *payload;
  const char *const *removed; /* pairs: removed option, replacement; then NULL */
};

void cli_begin(cli *c, const cli_tool *tool);
void cli_add_option(cli *c, const cli_option *option);
void cli_add_questions(cli *c, const cli_option *row);

/* Fills the request; then optind is the first operand. --help and wrong usage end the process. */
void cli_parse(cli *c, struct request *r, int argc, char **argv);

/* `name` must be in the table. */
bool cli_is_given(const cli *c, const char *name);

/* For `take`: optarg as a size or a word; the next argument, NULL if that is an option. */
uint64_t cli_size_argument(const cli *c, const cli_option *option);
unsigned cli_word_argument(const cli *c, const cli_option *option);
const char *cli_next_operand(const cli *c);

/* ==== Errors, colours, progress ===================================================== */

/* Prints "heaptop: ..." and a hint on stderr; exit status 2. */
_Noreturn void cli_usage_error(const cli *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For failures: prints "heaptop: FILE: ...", then `hint` (by malloc, or NULL); exit status 2. */
_Noreturn void cli_die(const cli *c, char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints a line on stderr with the command's name in front; control characters are made visible. */
void cli_say(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the process if `code` is an error of the library about `file` (NULL: none). */
void cli_check(cli *c, int code, const char *file, const lh_error *error);

/* Prints the message of cli_check and returns, for a command that goes on. */
void cli_say_error(const cli *c, const char *file, const lh_error *error);

/* Ends the process if `path` cannot be written. Called before long work; leaves no file. */
void cli_check_writable(cli *c, const char *path);

/* Returns `result`, or ends the process if it is NULL: out of memory. */
void *cli_must(void *result);

/* The text that printf would print. Freed by free. */
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t cli_now_ns(void);

/* cli_close_text completes *text: *n bytes and a NUL; freed by free. Out of memory: both exit. */
FILE *cli_open_text(char **text, size_t *n);
void cli_close_text(FILE *out);
const char *cli_style_on(const cli *c, lh_style style);
const char *cli_style_off(const cli *c);

/* Replaces the progress line on a terminal; NULL: clears it. */
void cli_progress(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Output has at most 200 times the bytes of the files read, plus 4 MB, so a small file cannot fill
** a disk; without files there is no limit. cli_limit_output counts a file. cli_has_room says before
** each row whether to print it. cli_finish reports the number of rows left out. cli_count_output
** makes stdout a FILE that counts; cli_begin calls it. */
void cli_count_output(void);
void cli_limit_output(const char *file);
bool cli_has_room(void);

/* Flushes stdout; ends the process if that fails. */
void cli_flush(const cli *c);

/* Closes stdout and returns `status`; a failed write ends the process. */
int cli_finish(cli *c, int status);

/* ==== Snapshots ===================================================================== */

/* As lh_open; as lh_analyse and lh_classify. For a command that goes on after a failure. */
int cli_try_open(cli *c, const char *file, lh_snapshot **snapshot, lh_error *error);
int cli_try_analyse(cli *c, const char *file, lh_snapshot *snapshot, lh_error *error);

/* The second analyses and classifies the snapshot too. */
lh_snapshot *cli_open(cli *c, const char *file);
lh_snapshot *cli_open_analysed(cli *c, const char *file);

/* The path to an object; varying steps of a long path are folded. Freed by lh_free. */
char *cli_held_by(cli *c, lh_snapshot *snapshot, lh_id id);

/* ==== Text =========================================================================== */

/* lh_escaped: one line of UTF-8 without control characters; keeps escapes. Freed by lh_free. */
char *cli_escape(const char *text);

/* Quoted for a shell if necessary, as $'...' if it has hidden characters. Freed by free. */
char *cli_shell_word(const char *text);

/* ==== Tables ======================================================================== */

typedef struct cli_column {
  const char *heading;
  enum { CLI_LEFT, CLI_RIGHT, CLI_WRAP } kind; /* CLI_WRAP: broken on a terminal, whole elsewhere */
} cli_column;

typedef struct cli_table cli_table;

/* cli_table_row copies its cells and may print them at once, so print the text above a table before
** its first row. cli_table_print prints the remaining rows and frees the table. */
cli_table *cli_table_new(cli *c, const cli_column *columns, size_t n_columns);
void cli_table_row(cli_table *table, const char *const *cells, lh_style style);
void cli_table_below(cli_table *table, const char *line); /* under the last row */
void cli_table_print(cli_table *table);
void cli_table_free(cli_table *table); /* without printing */

/* False: the terminal has no room for the kept rows with 24 columns for each broken cell. */
bool cli_table_fits(const cli_table *table);

/* Prints a line without its end; on a terminal in several, which end between words, if wide. */
void cli_print_sentence(const cli *c, const char *text);

/* True: stdout is a terminal with room for the most important columns only. */
bool cli_is_narrow(const cli *c);

/* ==== JSON ========================================================================== */

/* One document, on stdout where `out` is NULL. */
void cli_json_open(lh_json *w, const char *key, char bracket);
void cli_json_close(lh_json *w, char bracket);

/* Any bytes, escaped by cli_escape; NULL: null. */
void cli_json_name(lh_json *w, const char *key, const char *name);

/* Discards the unwritten rest of an unfinished document on stdout; called before a failure. */
void cli_json_drop(void);

/* ==== Answers ======================================================================== */

/* The shell command that asks the next question about `file`. Freed by free. */
char *cli_next_command(lh_next next, const char *file, const char *subject, const char *other);

/* Print an answer about the snapshot in `file`: as text, or as values of the open JSON object. */
void cli_report_text(cli *c, lh_report *report, const char *file);
void cli_report_values(lh_json *w, lh_report *report);

/* Asks, and prints text, or JSON into `w`. Clears the progress line. False: an honest no. */
bool cli_answer(cli *c, lh_json *w, const char *name, lh_snapshot *snapshot, const char *file,
                const lh_request *request);
