/*
** cli.h - what the commands share. A command is one file that parses, opens, computes through
** lib/luaheap.h, and prints; it needs from here:
**
**     options.c   one table of options for each command, from which --help is printed too
**     output.c    errors on stderr, colours, the progress line, the exit with all output written;
**                 names as a terminal and a shell take them
**     open.c      a snapshot, opened and analysed, and what to say about one object of it
**     table.c     aligned columns, printed as the rows come once there are many
**     report.c    an answer of the library, as text or JSON
**     json.c      JSON written as it is made, with jansson: a million rows need no memory
**
** A failure of any of these ends the process with exit status 2 and one sentence; so their callers
** need no checks. What they hand out lives until the process ends, unless said otherwise.
*/
#ifndef LUAHEAP_CLI_H
#define LUAHEAP_CLI_H

#include <getopt.h>
#include <jansson.h>

#include "luaheap.h"

enum { CLI_DONE = 0, CLI_NO = 1, CLI_FAILURE = 2 }; /* exit status */

typedef struct cli cli;
struct request; /* what a command was asked for: each has its own */

/* ==== Options ======================================================================== */

/* What an option does. Of most it is the type of a field of the command's `request`, which the
** option fills; CLI_NUMBER and CLI_SIZE fill an unsigned integer of any width. */
typedef enum cli_kind {
  CLI_IS_FLAG, /* bool; it has no argument */
  CLI_IS_TEXT, /* const char * */
  CLI_IS_FILE, /* the same, the name of a file that is written. That gets its name when it is whole,
                  so there is no way to stdout, and no file is called "-" by mistake */
  CLI_IS_NUMBER, /* in digits alone */
  CLI_IS_SIZE,   /* 512, 100KB */
  CLI_IS_WORD,   /* unsigned: which one of the words behind the = of `argument` */
  CLI_IS_TOP,    /* lh_request: its limit, and that somebody said so */
  CLI_IS_TAKEN,  /* `take` does it */
  CLI_IS_JSON,
  CLI_IS_BYTES,
  CLI_IS_COLOR,
  CLI_IS_HELP, /* these two end the process */
  CLI_IS_VERSION
} cli_kind;

typedef struct cli_option cli_option;

struct cli_option {
  char letter;          /* '\0': it has none */
  const char *name;     /* NULL: the row stands for those that `add` adds */
  const char *argument; /* what --help calls it; and behind a = the words that it may be, as in
                           ORDER=this|or|that; NULL: none */
  const char *help;     /* one line */
  cli_kind kind;
  size_t field, bytes;                                               /* in the request */
  uint64_t least;                                                    /* of a number */
  void (*take)(cli *c, struct request *r, const cli_option *option); /* of its argument, optarg */
  void (*add)(cli *c, const cli_option *row);
  size_t number; /* of one that was added: of the question, from 0 on */
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

/* The questions of the library that are options of this command: `function` takes them. */
#define CLI_QUESTIONS(function) \
  { .add = cli_add_questions, CLI_TAKEN(function) }

/* The rows that end a command's table, and those that end most of them. */
#define CLI_LAST_OPTIONS \
  {'h', "help", NULL, "print this help", .kind = CLI_IS_HELP}, \
  {0, "version", NULL, "print the version", .kind = CLI_IS_VERSION}, {0}
#define CLI_COMMON_OPTIONS CLI_JSON_OPTION, CLI_BYTES_OPTION, CLI_COLOR_OPTION, CLI_LAST_OPTIONS
/* clang-format on */

enum { CLI_MAX_FORMS = 6, CLI_MAX_OPTIONS = 40 };

typedef struct cli_tool {
  const char *name;
  const char *summary;
  const char *usage[CLI_MAX_FORMS]; /* what follows the name, a line each; NULL: no more */
  const cli_option *options;
  const char *epilogue; /* examples and exit status, as --help prints them */
} cli_tool;

struct cli {
  const cli_tool *tool;
  bool reads_profiles;                 /* and no snapshots */
  bool opens_alone;                    /* snapshots are opened without further threads */
  cli_option options[CLI_MAX_OPTIONS]; /* of the tool, with those that were added */
  bool given[CLI_MAX_OPTIONS];
  size_t n_options;
  char **arguments;
  int n_arguments;
  bool json, exact_bytes;
  bool unicode;           /* in the user's locale */
  bool color;             /* colours wanted on stdout */
  bool stdout_terminal;   /* tables fit its width */
  bool progress_terminal; /* stderr shows what is being done */
  bool progress_shown;
  bool is_nameless; /* messages have no name in front: somebody reads them who knows it */
  void (*told)(void *whom, const char *doing); /* who else is told what is being done, as a page;
                                                  NULL for `doing`: nothing */
  void *whom;
  const char *const *removed; /* options of the last release, each with what replaces it; or NULL */
};

void cli_begin(cli *c, const cli_tool *tool);
void cli_add_option(cli *c, const cli_option *option);
void cli_add_questions(cli *c, const cli_option *row);

/* Fills the request; then optind is the first operand. Help and version end the process, as does
** anything that is not in the table. */
void cli_parse(cli *c, struct request *r, int argc, char **argv);

/* Did the user give the option with that name? */
bool cli_is_given(const cli *c, const char *name);

/* For `take`: optarg as a size, or as one of the option's words; and the next argument where that
** is no option, NULL where it is one. */
uint64_t cli_size_argument(const cli *c, const cli_option *option);
unsigned cli_word_argument(const cli *c, const cli_option *option);
const char *cli_next_operand(const cli *c);

/* A text as a number in digits alone; as one of words such as "this|or|that"; or as a number with a
** unit such as "1.5h", of which one may have no name: the row ends with NULL, and the unit is
** returned. False, NULL: it is none. */
typedef struct cli_unit {
  const char *name;
  double factor;
} cli_unit;

bool cli_read_number(const char *text, uint64_t *n);
bool cli_read_word(const char *text, const char *words, unsigned *position);
const cli_unit *cli_read_amount(const char *text, const cli_unit *units, double *n);

/* ==== Errors, colours, progress ===================================================== */

/* "heaptop: ..." on stderr, a hint how to go on, and exit status 2. */
_Noreturn void cli_usage_error(const cli *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for failures: "heaptop: FILE: ...", and what to do if `hint` is not NULL. */
_Noreturn void cli_die(const cli *c, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line on stderr with the command's name in front, control characters made visible. */
void cli_say(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the process if `code` is an error of the library that concerns `file` (NULL: none). */
void cli_check(cli *c, int code, const char *file, const lh_error *error);

/* What cli_check says of an error, for a command that has more to do before it ends. */
void cli_say_error(const cli *c, const char *file, const lh_error *error);

/* Ends the process where no file can be made there, before work is done for one; leaves nothing. */
void cli_check_writable(cli *c, const char *path);

/* The result, which ends the process where it is NULL: out of memory. */
void *cli_must(void *result);

/* What is written becomes *text when it is closed, with a NUL behind its *n bytes. Freed by free.
** Both end the process where memory runs out. */
FILE *cli_open_text(char **text, size_t *n);
void cli_close_text(FILE *out);

/* Escape sequences on stdout, empty without colours. */
const char *cli_style_on(const cli *c, lh_style style);
const char *cli_style_off(const cli *c);

/* Shows on a terminal what takes so long, in place of what was shown before; NULL: nothing. */
void cli_progress(cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is printed has at most 200 times the bytes of the files that were read, and 4 MB: no file
** that fits a mail fills a disk. cli_limit_output counts a file; cli_has_room says before each row
** whether there is room for it, and counts those for which there is none: cli_finish tells how many
** were left out. Commands that read no file have no limit. */
void cli_limit_output(const char *file);
bool cli_has_room(void);

/* Writes what stdout has, or ends the process if anything was not written. */
void cli_flush(const cli *c);

/* Writes what is left of stdout; returns `status`, or ends the process if anything was not
** written. */
int cli_finish(cli *c, int status);

/* ==== Snapshots ===================================================================== */

/* By how many threads a command opens a snapshot: as many as there are processors, up to four. */
unsigned cli_threads(void);

/* As lh_open does, for a command that goes on after a failure; and as lh_analyse and
** lh_classify. */
int cli_try_open(cli *c, const char *file, lh_snapshot **snapshot, lh_error *error);
int cli_try_analyse(cli *c, const char *file, lh_snapshot *snapshot, lh_error *error);

/* Opened; and analysed and classified, too. */
lh_snapshot *cli_open(cli *c, const char *file);
lh_snapshot *cli_open_analysed(cli *c, const char *file);

/* The path to it, steps that vary folded where it is long. Freed by lh_free. */
char *cli_held_by(cli *c, lh_snapshot *snapshot, lh_id id);

/* ==== Text =========================================================================== */

/* lh_escaped: valid UTF-8 on one line, with nothing in it that a terminal would obey. What is
** escaped already stays as it is. Freed by lh_free. */
char *cli_escape(const char *text);

/* As a shell takes it: quoted where it must be, in the way of bash where not all can be seen. */
char *cli_shell_word(const char *text);

/* ==== Tables ======================================================================== */

typedef struct cli_column {
  const char *heading;
  enum { CLI_LEFT, CLI_RIGHT, CLI_WRAP } kind; /* wrapped on a terminal, whole elsewhere */
} cli_column;

typedef struct cli_table cli_table;

/* Rows are copied. They may be printed as they come, so what stands above the table is printed
** before the first. cli_table_print prints what is left and frees the table. */
cli_table *cli_table_new(cli *c, const cli_column *columns, size_t n_columns);
void cli_table_row(cli_table *table, const char *const *cells, lh_style style);
void cli_table_below(cli_table *table, const char *line); /* under the row that was last added */
void cli_table_print(cli_table *table);

/* Is stdout a terminal on which there is room only for the columns that matter most? */
bool cli_is_narrow(const cli *c);
void cli_table_free(cli_table *table); /* in place of printing it */

/* ==== JSON ========================================================================== */

/* One document. `key` is NULL inside an array. */
typedef struct cli_json {
  FILE *out;       /* NULL: stdout */
  bool is_compact; /* not for people: without blanks and lines */
  bool follows;    /* something stands before, so a comma is due */
  unsigned depth;
  off_t most_bytes; /* no row is begun behind so many; 0: all are */
  bool is_full;     /* so rows are missing, and the document is to be thrown away */
} cli_json;

void cli_json_open(cli_json *w, const char *key, char bracket);
void cli_json_close(cli_json *w, char bracket);
void cli_json_value(cli_json *w, const char *key, json_t *value);     /* steals value */
void cli_json_string(cli_json *w, const char *key, const char *text); /* valid UTF-8 */

/* Before a command fails: what stdout has of a document that has no end yet is forgotten, as far as
** it still can be. */
void cli_json_drop(void);

/* Inside an array: text keeps its control characters, and all beyond ASCII is \uXXXX. */
void cli_json_exact(cli_json *w, json_t *value);

json_t *cli_json_size(uint64_t n);
json_t *cli_json_text(const char *text); /* escaped first */

/* ==== Answers ======================================================================== */

/* The command that asks on about `file`, as a shell takes it. Freed by free. */
char *cli_next_command(lh_next next, const char *file, const char *subject, const char *other);

/* Prints an answer about the snapshot in `file`; and as the values of a JSON object that was
** opened. */
void cli_report_text(cli *c, lh_report *report, const char *file);
void cli_report_values(cli_json *w, lh_report *report);

/* The same of an answer that is asked for first: as text or, with --json, into what `w` has open.
** What is shown as progress ends then. False: it is an honest no. */
bool cli_answer(cli *c, cli_json *w, const char *name, lh_snapshot *snapshot, const char *file,
                const lh_request *request);

#endif
