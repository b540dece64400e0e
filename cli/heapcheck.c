/*
** heapcheck - is a file a whole and sound snapshot? Reads all of each file, verifies it, and prints
** one line: what is in it, or on stderr at which byte it is wrong and what was being read there. A
** bad file does not keep the next from being checked. Four million objects take a second and a
** half.
*/
#include <errno.h>
#include <string.h>

#include "cli.h"

static const cli_option options[] = {
    {CLI_JSON, "json", NULL, "print JSON; its keys are in the manual page"},
    {CLI_BYTES, "bytes", NULL, "exact bytes (else 1 KB is 1,024 bytes)"},
    {'h', "help", NULL, "print this help"},
    {CLI_VERSION, "version", NULL, "print the version"}};

static const cli_tool tool = {
    "heapcheck",
    "Checks that snapshots of Lua heaps are whole and sound.",
    {"[options] FILE ...", NULL, NULL},
    options,
    sizeof options / sizeof *options,
    "One line for each file: what is in it, or at which byte it is wrong.\n"
    "Example: heapcheck /var/tmp/*.heap && echo all are sound\n"
    "Exit status: 0 all are sound, 2 at least one is not; wrong usage or failure.\n"};

static int verify(cli *c, const char *file, lh_snapshot **snapshot, uint64_t *edges,
                  lh_error *error) {
  int code = cli_try_open(c, file, snapshot, error);
  if (code != LH_OK) return code;
  cli_progress(c, "verifying %s", file);
  code = lh_verify(*snapshot, edges, error);
  cli_progress(c, NULL);
  return code;
}

static void print_sound(cli *c, const char *file, const lh_info *info, uint64_t edges) {
  char *name = cli_escape(file);
  int64_t missing = info->unaccounted_bytes;
  printf("%s: ok: %s, %s, %s, %s in the file", name,
         lh_count_of(info->objects, "object", "objects").text,
         lh_size_text(info->object_bytes, c->exact_bytes).text,
         lh_count_of(edges, "edge", "edges").text,
         lh_size_text(info->file_bytes, c->exact_bytes).text);
  if (missing != 0)
    printf(", %s unaccounted", missing > 0
                                   ? lh_size_text((uint64_t)missing, c->exact_bytes).text
                                   : lh_size_change((uint64_t)-missing, 0, c->exact_bytes).text);
  putchar('\n');
  free(name);
  if (fflush(stdout) != 0) /* each in its place between the lines on stderr */
    cli_die(c, NULL, "cannot write the results: %s", strerror(errno));
}

static void json_sound(cli_json *w, const lh_info *info, uint64_t edges) {
  cli_json_value(w, "objects", cli_json_size(info->objects));
  cli_json_value(w, "bytes", cli_json_size(info->object_bytes));
  cli_json_value(w, "gc_bytes", cli_json_size(info->gc_bytes));
  cli_json_value(w, "unaccounted_bytes", json_integer(info->unaccounted_bytes));
  cli_json_value(w, "edges", cli_json_size(edges));
  cli_json_value(w, "file_bytes", cli_json_size(info->file_bytes));
}

static void json_bad(cli_json *w, int code, const lh_error *error) {
  cli_json_value(w, "message", cli_json_text(error->message));
  if (code == LH_EDAMAGED) cli_json_value(w, "offset", cli_json_size(error->offset));
}

static bool check(cli *c, cli_json *w, const char *file) {
  lh_snapshot *snapshot = NULL;
  lh_error error;
  uint64_t edges = 0;
  int code = verify(c, file, &snapshot, &edges, &error);
  if (c->json) {
    cli_json_open(w, NULL, '{');
    cli_json_value(w, "file", cli_json_text(file));
    cli_json_value(w, "ok", json_boolean(code == LH_OK));
    if (code == LH_OK)
      json_sound(w, lh_snapshot_info(snapshot), edges);
    else
      json_bad(w, code, &error);
    cli_json_close(w, '}');
  } else if (code == LH_OK) {
    print_sound(c, file, lh_snapshot_info(snapshot), edges);
  }
  if (code != LH_OK) cli_say(c, "%s", error.message);
  lh_close(snapshot);
  return code == LH_OK;
}

int main(int argc, char **argv) {
  cli c;
  cli_json w = {0};
  int status = CLI_DONE;
  cli_begin(&c, &tool);
  (void)cli_next_option(&c, argc, argv); /* has none of its own */
  if (optind == argc) cli_usage_error(&c, "which files? Name at least one");
  if (c.json) cli_json_open(&w, NULL, '{');
  if (c.json) cli_json_open(&w, "files", '[');
  for (int i = optind; i < argc; i++)
    if (!check(&c, &w, argv[i])) status = CLI_FAILURE;
  if (c.json) cli_json_close(&w, ']');
  if (c.json) cli_json_close(&w, '}');
  return cli_finish(&c, status);
}
