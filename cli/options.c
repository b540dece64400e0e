/*
** options.c - a command's options: getopt_long fed from the command's table, and the help printed
** from the same table. An option that is not in the table, or a wrong argument, is a usage error.
*/
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void add_questions(cli *c, int first_key) {
  for (int i = 0; lh_questions[i] != NULL; i++) {
    const lh_question *q = lh_questions[i];
    const char *command = q->command != NULL ? q->command : "heaptop";
    if (q->help != NULL && strcmp(command, c->tool->name) == 0)
      c->options[c->n_options++] = (cli_option){first_key + i, q->name, q->argument, q->help};
  }
}

/* Output is UTF-8 whatever the locale, so widths are computed as in one. A closed pipe ends us
** quietly, even where the parent ignores that signal. */
void cli_begin(cli *c, const cli_tool *tool) {
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  char *shorts = c->short_options;
  *c = (cli){.tool = tool};
  setlocale(LC_CTYPE, "");
  c->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  if (!c->unicode) setlocale(LC_CTYPE, "C.UTF-8");
  signal(SIGPIPE, SIG_DFL);
  c->stdout_terminal = isatty(STDOUT_FILENO) == 1;
  c->progress_terminal = isatty(STDERR_FILENO) == 1;
  c->color = c->stdout_terminal && (no_color == NULL || *no_color == '\0') && terminal != NULL &&
             strcmp(terminal, "dumb") != 0;
  *shorts++ = ':'; /* tell a missing argument from an unknown option */
  for (size_t i = 0; i < tool->n_options; i++) {
    if (tool->options[i].name != NULL)
      c->options[c->n_options++] = tool->options[i];
    else
      add_questions(c, tool->options[i].key);
  }
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *option = &c->options[i];
    c->long_options[i] =
        (struct option){option->name, option->argument != NULL ? required_argument : no_argument,
                        NULL, option->key};
    if (option->key >= CLI_JSON) continue;
    *shorts++ = (char)option->key;
    if (option->argument != NULL) *shorts++ = ':';
  }
  opterr = 0;
}

static void print_help(const cli *c) {
  const cli_tool *tool = c->tool;
  for (size_t i = 0; i < CLI_MAX_FORMS && tool->usage[i] != NULL; i++)
    printf("%s %s %s\n", i == 0 ? "usage:" : "      ", tool->name, tool->usage[i]);
  printf("%s\n\n", tool->summary);
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *option = &c->options[i];
    char left[64];
    const char *argument = option->argument != NULL ? option->argument : "";
    snprintf(left, sizeof left, "%s%s%.*s", option->name, *argument != '\0' ? " " : "",
             (int)strcspn(argument, "="), argument);
    if (option->key < CLI_JSON)
      printf("  -%c, --%-19s %s\n", option->key, left, option->help);
    else
      printf("      --%-19s %s\n", left, option->help);
  }
  printf("\n%s", tool->epilogue);
}

/* The option may be one of the last release. */
static void refuse_removed(const cli *c, const char *word) {
  for (const char *const *option = c->removed; option != NULL && *option != NULL; option += 2) {
    size_t n = strlen(*option);
    if (strncmp(word, *option, n) == 0 && (word[n] == '\0' || word[n] == '='))
      cli_usage_error(c, "%s was removed: %s", *option, option[1]);
  }
}

static _Noreturn void refuse(const cli *c, int key, char **argv) {
  const char *word = argv[optind - 1];
  refuse_removed(c, word);
  if (key == ':') cli_usage_error(c, "option '%s' needs an argument", word);
  if (strncmp(word, "--", 2) == 0 && optopt >= CLI_JSON)
    cli_usage_error(c, "option '%s' takes no argument", word);
  if (strncmp(word, "--", 2) == 0) cli_usage_error(c, "unknown option '%s'", word);
  cli_usage_error(c, "unknown option '-%c'", optopt);
}

static void set_color(cli *c) {
  unsigned when = cli_word_argument(c, CLI_COLOR);
  if (when != 0) c->color = when == 1;
}

int cli_next_option(cli *c, int argc, char **argv) {
  for (;;) {
    int key = getopt_long(argc, argv, c->short_options, c->long_options, NULL);
    switch (key) {
      case CLI_JSON: c->json = true; break;
      case CLI_BYTES: c->exact_bytes = true; break;
      case CLI_COLOR: set_color(c); break;
      case 'h': print_help(c); exit(cli_finish(c, CLI_DONE));
      case CLI_VERSION:
        printf("%s (luaheap) %s\n", c->tool->name, LH_VERSION);
        exit(cli_finish(c, CLI_DONE));
      case ':':
      case '?': refuse(c, key, argv);
      default: return key;
    }
  }
}

bool cli_read_number(const char *text, uint64_t *n) {
  char *end;
  errno = 0;
  *n = strtoumax(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *n <= INT64_MAX;
}

uint64_t cli_number_argument(const cli *c, const char *option) {
  uint64_t n;
  if (!cli_read_number(optarg, &n))
    cli_usage_error(c, "%s needs a number, not '%s'", option, optarg);
  return n;
}

void cli_take_top(const cli *c, lh_request *asked) {
  asked->limit = cli_number_argument(c, "--top");
  asked->has_limit = true;
}

uint64_t cli_size_argument(const cli *c, const char *option) {
  static const char units[] = "KMGT";
  char *end;
  const char *unit;
  unsigned shift = 0;
  unsigned long long n;
  errno = 0;
  n = strtoull(optarg, &end, 10);
  unit = *end != '\0' ? strchr(units, *end) : NULL;
  if (unit != NULL) {
    shift = 10 * (unsigned)(unit - units + 1);
    end++;
    if (*end == 'B') end++;
  }
  if (*optarg < '0' || *optarg > '9' || *end != '\0' || errno != 0 || n > UINT64_MAX >> shift)
    cli_usage_error(c, "%s needs a size such as 512, 100KB, 2MB or 1GB, not '%s'", option, optarg);
  return (uint64_t)n << shift;
}

const char *cli_file_argument(const cli *c, const char *option) {
  if (strcmp(optarg, "-") == 0)
    cli_usage_error(c,
                    "%s writes a file, which gets its name when it is whole, and never to stdout; "
                    "one that is called - is ./-",
                    option);
  return optarg;
}

bool cli_read_word(const char *text, const char *words, unsigned *position) {
  size_t length = strlen(text);
  *position = 0;
  for (const char *word = words; word != NULL; ++*position) {
    const char *end = strchr(word, '|');
    size_t n = end != NULL ? (size_t)(end - word) : strlen(word);
    if (n == length && memcmp(word, text, n) == 0) return true;
    word = end != NULL ? end + 1 : NULL;
  }
  return false;
}

unsigned cli_word_argument(const cli *c, int key) {
  const cli_option *option = c->options;
  unsigned position;
  while (option->key != key) option++;
  const char *words = strchr(option->argument, '=') + 1;
  if (cli_read_word(optarg, words, &position)) return position;
  cli_usage_error(c, "--%s needs one of %s, not '%s'", option->name, words, optarg);
}
