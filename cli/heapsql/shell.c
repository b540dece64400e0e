/*
** shell.c - starts the sqlite3 shell with the extension loaded, a heap_open for each file, and
** heap_read_only: queries only read the snapshots. The shell's own commands, such as .output, still
** work. Of the limits only that of memory holds; Ctrl-C interrupts a query.
*/
#include <limits.h>

#include "heapsql.h"

/* The extension lies beside the command, in the build, or in its installed place. */
static char *find_extension(cli *c) {
  static const char *const places[] = {"heapsnap.so", "../heapsnap.so",
                                       "../lib/luaheap/heapsnap.so"};
  char self[PATH_MAX], path[PATH_MAX + 64];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash != NULL) slash[1] = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s%s", self, places[i]);
    char *found = realpath(path, NULL);
    if (found != NULL) return found;
  }
  cli_die(c, NULL,
          "heapsnap.so is neither beside this command nor in ../lib/luaheap: run 'make install' "
          "again, or give a query here");
}

static char *dot_word(const char *word) {
  char *result = cli_must(malloc(2 * strlen(word) + 3)), *q = result;
  *q++ = '"';
  for (; *word != '\0'; word++) {
    if (*word == '"' || *word == '\\') *q++ = '\\';
    *q++ = *word;
  }
  memcpy(q, "\"", 2);
  return result;
}

static void print_banner(cli *c, char **schemas, size_t n_files) {
  printf("%s", cli_style_on(c, LH_BOLD));
  for (size_t i = 0; i < n_files; i++) printf("%s%s", i > 0 ? ", " : "Snapshots: ", schemas[i]);
  printf("%s\n", cli_style_off(c));
  printf(
      "Tables: objects, edges, entries, strings, classes, threads, frames, sites, "
      "stacks,\nmodules, marks, info;"
      " of one snapshot: %s.objects ... Columns: pragma table_xinfo(objects); more: man heapsql\n",
      schemas[n_files - 1]);
  puts(
      "  select class, count(*), sum(shallow_bytes) from objects group by 1 order by 3 desc limit "
      "9;\n"
      "  select path, class, retained_bytes from objects order by retained_bytes desc limit 9;\n"
      "  select path_of(id), text from strings where text like '%password%' limit 9;\n"
      "  select class, status, line, count(*) from threads group by 1, 2, 3 order by 4 desc;");
}

static char *open_all(const cli *c, char **files, char **schemas, size_t n_files) {
  sqlite3_str *sql = sqlite3_str_new(NULL);
  sqlite3_str_appendall(sql, "SELECT ");
  for (size_t i = 0; i < n_files; i++)
    sqlite3_str_appendf(sql, "heap_open(%Q, %Q), ", files[i], schemas[i]);
  if (c->stdout_terminal) sqlite3_str_appendall(sql, "heap_for_terminal(), ");
  sqlite3_str_appendall(sql, "heap_read_only()");
  return cli_must(sqlite3_str_finish(sql));
}

_Noreturn void heapsql_shell(cli *c, char **files, char **schemas, size_t n_files,
                             const heapsql_limits *limits) {
  bool types = isatty(STDIN_FILENO) == 1;
  char *extension = find_extension(c), *word = dot_word(extension);
  char *load = cli_must(sqlite3_mprintf(".load %s", word));
  char *open = open_all(c, files, schemas, n_files), memory[64];
  snprintf(memory, sizeof memory, "PRAGMA hard_heap_limit = %llu",
           (unsigned long long)limits->bytes);
  free(extension);
  free(word);
  const char *words[] = {"sqlite3",  "-bail", /* stop if a command here fails */
                         "-cmd",     load,
                         "-cmd",     "PRAGMA temp_store = 2",
                         "-cmd",     ".output /dev/null", /* hide their results */
                         "-cmd",     memory,
                         "-cmd",     open,
                         "-cmd",     ".output",
                         ":memory:", types ? "-header" : NULL,
                         "-column",  NULL};
  if (types) print_banner(c, schemas, n_files);
  if (fflush(stdout) != 0) cli_die(c, NULL, "cannot write: %s", strerror(errno));
  execvp(words[0], (char *const *)words);
  if (errno == ENOENT)
    cli_die(c, NULL,
            "sqlite3 is not installed: install it (Debian's package sqlite3), or give a "
            "query here");
  cli_die(c, NULL, "cannot run sqlite3: %s", strerror(errno));
}
