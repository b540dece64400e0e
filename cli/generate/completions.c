/*
** completions.c - writes a command's completions for bash and zsh from its table of options.
**
**     build/generate/heaptop heaptop.bash      on stdout; any other name: for zsh
**
** It is linked with all files of the command and replaces cli_parse (linker option --wrap), when
** the table is complete. Only the build runs it; it is not installed.
*/
#include "cli.h"

enum { WIDTH = 100 };

_Noreturn void __wrap_cli_parse(cli *c, struct request *r, int argc, char **argv);

static bool has_letter(const cli_option *option) {
  return option->letter != '\0';
}

static bool is_list(const cli_option *option) {
  return option->argument != NULL && strstr(option->argument, ",...") != NULL;
}

static bool is_file(const cli_option *option) {
  return strcmp(option->argument, "FILE") == 0 || strcmp(option->argument, "A [B]") == 0;
}

static bool is_directory(const cli_option *option) {
  return strcmp(option->argument, "DIR") == 0;
}

static void put_words(const cli_option *option) {
  const char *words = strchr(option->argument, '=') + 1;
  for (; *words != '\0'; words++) putchar(*words == '|' ? ' ' : *words);
}

static void put_bash_case(const cli_option *option) {
  if (option->argument == NULL || is_file(option)) return;
  printf("    ");
  if (has_letter(option)) printf("-%c | ", option->letter);
  printf("--%s) ", option->name);
  if (is_directory(option)) {
    puts(
        "\n      mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
        "      return\n      ;;");
    return;
  }
  if (strchr(option->argument, '=') == NULL) {
    puts("return ;;");
    return;
  }
  printf("words='");
  put_words(option);
  puts("' ;;");
}

static void put_bash_name(size_t *at, const char *dashes, const char *name) {
  static const char first[] = "        words='", others[] = "          ";
  size_t n = strlen(dashes) + strlen(name);
  const char *before = *at == 0 ? first : " ";
  if (*at + 1 + n > WIDTH) {
    putchar('\n');
    before = others;
    *at = 0;
  }
  printf("%s%s%s", before, dashes, name);
  *at += strlen(before) + n;
}

static void put_bash(const cli *c) {
  const char *name = c->tool->name;
  size_t at = 0;
  printf(
      "# Completion of %s for bash, made of its options. bash splits --color=always in three.\n\n"
      "_%s() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
      "  if [[ $before == = ]]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  elif [[ $current == = ]]; then\n"
      "    current=\n"
      "  fi\n"
      "  case $before in\n",
      name, name);
  for (size_t i = 0; i < c->n_options; i++) put_bash_case(&c->options[i]);
  printf(
      "    *)\n"
      "      if [[ $current == -* ]]; then\n");
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *option = &c->options[i];
    char letter[2] = {option->letter, '\0'};
    if (has_letter(option)) put_bash_name(&at, "-", letter);
    put_bash_name(&at, "--", option->name);
  }
  printf(
      "'\n"
      "      else\n"
      "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "        return\n"
      "      fi\n"
      "      ;;\n"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "}\n\n"
      "complete -o filenames -F _%s %s\n",
      name, name);
}

static void put_zsh_help(const char *help) {
  putchar('[');
  for (; *help != '\0'; help++) {
    if (*help == '\'') fputs("'\\'", stdout);
    if (*help == '[' || *help == ']') putchar('\\');
    putchar(*help);
  }
  putchar(']');
}

static void put_zsh_names(const cli_option *option) {
  bool ends = option->kind == CLI_IS_HELP || option->kind == CLI_IS_VERSION;
  const char *takes = option->argument == NULL ? "" : "=", *more = *takes != '\0' ? "+" : "";
  bool repeats = is_list(option) || strstr(option->help, "repeatable") != NULL;
  const char *before = ends ? "(- *)" : repeats ? "*" : "";
  if (!has_letter(option))
    printf("  '%s--%s%s", before, option->name, takes);
  else if (ends)
    printf("  '%s'{-%c,--%s}'", before, option->letter, option->name);
  else
    printf("  '(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter, more,
           option->name, takes);
}

static void put_zsh_argument(const cli_option *option) {
  const char *argument = option->argument;
  int n = (int)strcspn(argument, ",= ");
  if (strchr(argument, '=') == NULL) {
    printf(":%.*s:%s", n, argument,
           is_file(option)        ? "_files"
           : is_directory(option) ? "_files -/"
                                  : "");
    return;
  }
  printf("'\\\n':%.*s:%s", n, argument, is_list(option) ? "_values -s , type " : "(");
  put_words(option);
  if (!is_list(option)) putchar(')');
}

static void put_zsh(const cli *c) {
  printf("#compdef %s\n# Completion of %s for zsh, made of its options.\n\n_arguments -s \\\n",
         c->tool->name, c->tool->name);
  for (size_t i = 0; i < c->n_options; i++) {
    const cli_option *option = &c->options[i];
    put_zsh_names(option);
    put_zsh_help(option->help);
    if (option->argument != NULL) put_zsh_argument(option);
    puts("' \\");
  }
  puts("  '*:snapshot:_files'");
}

_Noreturn void __wrap_cli_parse(cli *c, struct request *r, int argc, char **argv) {
  (void)r;
  if (argc == 2 && strstr(argv[1], ".bash") != NULL)
    put_bash(c);
  else
    put_zsh(c);
  exit(cli_finish(c, CLI_DONE));
}
