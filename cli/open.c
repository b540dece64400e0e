/*
** open.c - opens a snapshot for a command, analyses and classifies it, and says meanwhile what is
** being done if that takes longer than a person notices (a file of 8 MB: a quarter of a second).
*/
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

#define SLOW_FILE_BYTES (8 << 20)

static bool is_slow(const char *file, uint64_t *bytes) {
  struct stat status;
  *bytes = stat(file, &status) == 0 ? (uint64_t)status.st_size : 0;
  return *bytes > SLOW_FILE_BYTES;
}

int cli_try_open(cli *c, const char *file, lh_snapshot **snapshot, lh_error *error) {
  uint64_t bytes;
  if (is_slow(file, &bytes)) cli_progress(c, "reading %s, %s", file, cli_size(c, bytes));
  int code = lh_open(snapshot, file, error);
  cli_progress(c, NULL);
  return code;
}

lh_snapshot *cli_open(cli *c, const char *file) {
  lh_snapshot *snapshot;
  lh_error error;
  cli_check(c, cli_try_open(c, file, &snapshot, &error), NULL, &error); /* the message names it */
  return snapshot;
}

lh_snapshot *cli_open_analysed(cli *c, const char *file) {
  lh_snapshot *snapshot = cli_open(c, file);
  lh_error error;
  uint64_t bytes;
  bool slow = is_slow(file, &bytes);
  if (slow)
    cli_progress(c, "%s: finding what %s retain", file,
                 cli_count_of(c, lh_object_count(snapshot), "object", "objects"));
  cli_check(c, lh_analyse(snapshot, &error), file, &error);
  if (slow) cli_progress(c, "%s: naming the objects", file);
  cli_check(c, lh_classify(snapshot, &error), file, &error);
  cli_progress(c, NULL);
  return snapshot;
}

const char *cli_class_of(const lh_snapshot *snapshot, lh_id id) {
  uint32_t class_index = lh_class_of(snapshot, id);
  if (class_index == UINT32_MAX) return lh_type_name(lh_type_of(snapshot, id));
  return lh_class_at(snapshot, class_index)->name;
}

char *cli_what(const lh_snapshot *snapshot, lh_id id) {
  const char *class = cli_class_of(snapshot, id);
  char *text, *beginning;
  if (lh_type_of(snapshot, id) != LH_TYPE_STRING) return cli_must(strdup(class));
  beginning = cli_must(lh_string_text(snapshot, id, 32));
  text = cli_must(malloc(strlen(class) + strlen(beginning) + 2));
  sprintf(text, "%s %s", class, beginning);
  lh_free(beginning);
  return text;
}

char *cli_things(cli *c, const lh_snapshot *snapshot, uint32_t class_index, uint64_t objects) {
  const lh_class *class = lh_class_at(snapshot, class_index);
  const char *type = lh_type_name(class->type), *plural = objects == 1 ? "" : "s";
  char *text = cli_must(malloc(strlen(class->name) + 2 * LH_NUMBER_BYTES));
  if (strcmp(class->name, type) == 0)
    sprintf(text, "%s %s%s", cli_count(c, objects), type, plural);
  else if (class->type == LH_TYPE_TABLE || class->type == LH_TYPE_USERDATA)
    sprintf(text, "%s %s %s%s", cli_count(c, objects), class->name, type,
            class->type == LH_TYPE_TABLE ? plural : "");
  else
    sprintf(text, "%s %s", cli_count(c, objects), class->name);
  return text;
}

char *cli_held_by(cli *c, lh_snapshot *snapshot, lh_id id) {
  lh_path path;
  lh_error error;
  char *text;
  if (lh_distance(snapshot, id) > CLI_LONG_PATH) {
    cli_check(c, lh_held_by(snapshot, id, &text, &error), NULL, &error);
    return text;
  }
  cli_check(c, lh_shortest_path(snapshot, id, &path, &error), NULL, &error);
  text = lh_path_text(snapshot, &path, false);
  lh_paths_free(&path, 1);
  return cli_must(text);
}

char *cli_path_told(const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  char *told = cli_must(lh_path_text(snapshot, path, folded)), *through;
  if (lh_path_through(snapshot, path, folded, &through, NULL) != LH_OK) cli_must(NULL);
  size_t size = strlen(told) + (through != NULL ? strlen(through) : 0) + 16;
  char *text = cli_must(malloc(size));
  if (through != NULL)
    snprintf(text, size, "%s (through %s)", told, through);
  else
    snprintf(text, size, "%s", told);
  lh_free(told);
  lh_free(through);
  return text;
}
