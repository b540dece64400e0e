/* options.c - parses a command's options and prints its help, both from one table. */
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>

#include "cli.h"

void cli_add_option(cli *c, const cli_option *option) {
  c->options[c->n_options++] = *option;
}

void cli_add_questions(cli *c, const cli_option *row) {
  for (size_t i = 0; lh_questions[i] != NULL; i++) {
    const lh_question *q = lh_questions[i];
    const char *command = q->command != NULL ? q->command : "heaptop";
    cli_option option = *row;
    option.name = q->name;
    option.argument = q->argument;
    option.help = q->help;
    option.number = i;
    if (q->help != NULL && strcmp(command, c->tool->name) == 0) cli_add_option(c, &option);
  }
}

/* Output is UTF-8 in every locale, so widths are computed for UTF-8. A closed pipe ends the process
** quietly, even if its parent ignores SIGPIPE. */
void cli_begin(cli *c, const cli_tool *tool) {
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  *c = (cli){.tool = tool};
  cli_count_output();
  setlocale(LC_CTYPE, "");
  c->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  if (!c->unicode) setlocale(LC_CTYPE, "C.UTF-8");
  signal(SIGPIPE, SIG_DFL);
  c->stdout_terminal = isatty(STDOUT_FILENO) == 1;
  c->progress_terminal = isatty(STDERR_FILENO) == 1;
  c->color = c->stdout_terminal && (no_color == NULL || *no_color == '\0') && terminal != NULL &&
             strcmp(terminal, "dumb") != 0;
  for (const cli_option *o = tool->options; o->name != NULL || o->add != NULL; o++)
    (o->add != NULL ? o->add : cli_add_option)(c, o);
}

static _Noreturn void print_help(cli *c) {
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
    if (option->letter != '\0')
      printf("  -%c, --%-19s %s\n", option->letter, left, option->help);
    else
      printf("      --%-19s %s\n", left, option->help);
  }
  printf("\n%s", tool->epilogue);
  exit(cli_finish(c, CLI_DONE));
}

/* "-n (--top)": the user typed one of them. Valid until the next call. */
static const char *option_name(const cli_option *option) {
  static char name[64];
  if (option->letter != '\0')
    snprintf(name, sizeof name, "-%c (--%s)", option->letter, option->name);
  else
    snprintf(name, sizeof name, "--%s", option->name);
  return name;
}

static uint64_t number_in(const cli *c, const cli_option *option) {
  uint64_t n;
  if (!lh_read_number(optarg, &n))
    cli_usage_error(c, "%s needs a number, not '%s'", option_name(option), optarg);
  if (n < option->least)
    cli_usage_error(c, "%s needs a number of at least %" PRIu64, option_name(option),
                    option->least);
  return n;
}

uint64_t cli_size_argument(const cli *c, const cli_option *option) {
  static const char units[] = "KMGT";
  char *end;
  unsigned shift = 0;
  errno = 0;
  unsigned long long n = strtoull(optarg, &end, 10);
  const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
  if (unit != NULL) {
    shift = 10 * (unsigned)(unit - units + 1);
    end++;
    if (*end == 'B') end++;
  }
  if (*optarg < '0' || *optarg > '9' || *end != '\0' || errno != 0 || n > UINT64_MAX >> shift)
    cli_usage_error(c, "--%s needs a size such as 512, 100KB, 2MB or 1GB, not '%s'", option->name,
                    optarg);
  return (uint64_t)n << shift;
}

static const char *file_in(const cli *c, const cli_option *option) {
  if (strcmp(optarg, "-") != 0) return optarg;
  char letter[2] = {option->letter, '\0'};
  cli_usage_error(c,
                  "%s%s writes a file, which gets its name when it is whole, and never to stdout; "
                  "one that is called - is ./-",
                  *letter != '\0' ? "-" : "--", *letter != '\0' ? letter : option->name);
}

unsigned cli_word_argument(const cli *c, const cli_option *option) {
  const char *words = strchr(option->argument, '=') + 1;
  unsigned position;
  if (lh_read_word(optarg, words, &position)) return position;
  cli_usage_error(c, "--%s needs one of %s, not '%s'", option->name, words, optarg);
}

static void store(const cli_option *option, void *field, uint64_t n) {
  if (option->bytes == sizeof(uint64_t))
    *(uint64_t *)field = n;
  else
    *(unsigned *)field = n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

static void set_color(cli *c, unsigned when) {
  if (when != 0) c->color = when == 1;
}

static void take_option(cli *c, struct request *r, const cli_option *option) {
  void *field = (char *)r + option->field;
  switch (option->kind) {
    case CLI_IS_FLAG: *(bool *)field = true; break;
    case CLI_IS_TEXT: *(const char **)field = optarg; break;
    case CLI_IS_FILE: *(const char **)field = file_in(c, option); break;
    case CLI_IS_NUMBER: store(option, field, number_in(c, option)); break;
    case CLI_IS_SIZE: store(option, field, cli_size_argument(c, option)); break;
    case CLI_IS_WORD: *(unsigned *)field = cli_word_argument(c, option); break;
    case CLI_IS_TOP:
      ((lh_request *)field)->limit = number_in(c, option);
      ((lh_request *)field)->has_limit = true;
      break;
    case CLI_IS_TAKEN: option->take(c, r, option); break;
    case CLI_IS_JSON: c->json = true; break;
    case CLI_IS_BYTES: c->exact_bytes = true; break;
    case CLI_IS_COLOR: set_color(c, cli_word_argument(c, option)); break;
    case CLI_IS_HELP: print_help(c);
    case CLI_IS_VERSION:
      printf("%s (luaheap) %s\n", c->tool->name, LH_VERSION);
      exit(cli_finish(c, CLI_DONE));
  }
}

static void refuse_removed(const cli *c, const char *word) {
  for (const char *const *option = c->removed; option != NULL && *option != NULL; option += 2) {
    size_t n = strlen(*option);
    if (strncmp(word, *option, n) == 0 && (word[n] == '\0' || word[n] == '='))
      cli_usage_error(c, "%s was removed: %s", *option, option[1]);
  }
}

enum { FIRST_KEY = 256 };

static _Noreturn void refuse_option(const cli *c, int key, char **argv) {
  const char *word = argv[optind - 1];
  refuse_removed(c, word);
  if (key == ':') cli_usage_error(c, "option '%s' needs an argument", word);
  if (strncmp(word, "--", 2) == 0 && optopt >= FIRST_KEY)
    cli_usage_error(c, "option '%s' takes no argument", word);
  if (strncmp(word, "--", 2) == 0) cli_usage_error(c, "unknown option '%s'", word);
  cli_usage_error(c, "unknown option '-%c'", optopt);
}

/* getopt_long's key is an option's letter, or FIRST_KEY plus its index. */
void cli_parse(cli *c, struct request *r, int argc, char **argv) {
  struct option longs[CLI_MAX_OPTIONS + 1] = {{0}};
  char shorts[2 * CLI_MAX_OPTIONS + 2] = ":", *end = shorts + 1; /* finds a missing argument */
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *option = &c->options[i];
    bool has_argument = option->argument != NULL;
    longs[i] = (struct option){option->name, has_argument ? required_argument : no_argument, NULL,
                               option->letter != '\0' ? option->letter : FIRST_KEY + (int)i};
    if (option->letter != '\0')
      end += sprintf(end, "%c%s", option->letter, has_argument ? ":" : "");
  }
  opterr = 0;
  c->arguments = argv;
  c->n_arguments = argc;
  for (int key; (key = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
    if (key == ':' || key == '?') refuse_option(c, key, argv);
    size_t i = 0;
    while (longs[i].val != key) i++;
    c->given[i] = true;
    take_option(c, r, &c->options[i]);
  }
}

const char *cli_next_operand(const cli *c) {
  bool is_one = optind < c->n_arguments && c->arguments[optind][0] != '-';
  return is_one ? c->arguments[optind++] : NULL;
}

bool cli_is_given(const cli *c, const char *name) {
  size_t i = 0;
  while (strcmp(c->options[i].name, name) != 0) i++;
  return c->given[i];
}
