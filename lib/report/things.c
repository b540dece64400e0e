/*
** things.c - names and paths of objects in answers.
*/
#include <string.h>

#include "report/report.h"

lh_number lh_hex_text(uint64_t n) {
  lh_number number;
  (void)snprintf(number.text, sizeof number.text, "0x%llx", (unsigned long long)n);
  return number;
}

lh_number lh_address_text(const lh_snapshot *snapshot, lh_id id) {
  return lh_hex_text(lh_pointer_of(snapshot, id));
}

const char *lh_class_name_of(const lh_snapshot *snapshot, lh_id id) {
  uint32_t class_index = lh_class_of(snapshot, id);
  return class_index == UINT32_MAX ? lh_type_name(lh_type_of(snapshot, id))
                                   : lh_class_at(snapshot, class_index)->name;
}

enum { SHOWN_BYTES = 32 }; /* of a string, inside a sentence */

char *lh_what_text(const lh_snapshot *snapshot, lh_id id) {
  const char *class = lh_class_name_of(snapshot, id);
  if (lh_type_of(snapshot, id) != LH_TYPE_STRING) return lh_copy_text(class);
  char *beginning = lh_string_text(snapshot, id, SHOWN_BYTES);
  lh_text text = {.failed = !beginning};
  if (beginning) lh_text_format(&text, "%s %s", class, beginning);
  lh_free(beginning);
  return lh_text_finish(&text);
}

void lh_put_things(lh_text *text, uint64_t objects, const char *name, lh_type type) {
  const char *type_name = lh_type_name(type), *plural = objects == 1 ? "" : "s";
  lh_text_count(text, objects);
  lh_text_format(text, " %s", name);
  if (type == LH_TYPE_ROOT || strcmp(name, type_name) == 0)
    lh_text_string(text, plural);
  else if (type == LH_TYPE_TABLE)
    lh_text_format(text, " %s%s", type_name, plural);
  else if (type == LH_TYPE_USERDATA)
    lh_text_format(text, " %s", type_name);
}

char *lh_things_text(const lh_snapshot *snapshot, uint32_t class_index, uint64_t objects) {
  if (class_index == UINT32_MAX)
    return lh_copy_text(lh_count_of(objects, "object", "objects").text);
  const lh_class *class = lh_class_at(snapshot, class_index);
  lh_text text = {0};
  lh_put_things(&text, objects, class->name, class->type);
  return lh_text_finish(&text);
}

int lh_told_path(lh_snapshot *snapshot, lh_id id, char **out, lh_error *error) {
  lh_path path;
  *out = NULL;
  if (lh_distance(snapshot, id) > LH_LONG_PATH) return lh_held_by(snapshot, id, out, error);
  int code = lh_shortest_path(snapshot, id, &path, error);
  if (code != LH_OK) return code;
  *out = lh_path_text(snapshot, &path, false);
  lh_paths_free(&path, 1);
  return *out ? LH_OK : lh_fail_memory(error, "telling a path");
}

char *lh_whole_path_text(const lh_snapshot *snapshot, const lh_path *path, bool folded) {
  lh_text text = {0};
  lh_put_freed(&text, lh_path_text(snapshot, path, folded));
  lh_put_through(&text, snapshot, path, folded);
  return lh_text_finish(&text);
}

/* ==== Cells about an object ========================================================== */

void lh_cell_retained(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.n = lh_retained_bytes(report->snapshot, id);
}

void lh_cell_shallow(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.n = lh_shallow_bytes(report->snapshot, id);
}

void lh_cell_distance(lh_report *report, lh_id id, lh_cell *cell) {
  cell->is_null = !lh_is_reachable(report->snapshot, id);
  cell->as.n = lh_distance(report->snapshot, id);
}

void lh_cell_path(lh_report *report, lh_id id, lh_cell *cell) {
  char *path = NULL;
  if (id == LH_ROOT || !lh_is_reachable(report->snapshot, id)) return;
  (void)lh_told_path(report->snapshot, id, &path, NULL);
  cell->as.text = lh_kept(report, path);
}

void lh_cell_class(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_class_name_of(report->snapshot, id);
}

void lh_cell_string(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_string_text(report->snapshot, id, SHOWN_BYTES));
}

void lh_cell_what(lh_report *report, lh_id id, lh_cell *cell) {
  cell->as.text = lh_kept(report, lh_what_text(report->snapshot, id));
}
