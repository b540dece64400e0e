/*
** where_to_cut.c - where to cut a path: the reference to clear, and code that may do so.
**
** In a collection it is the last step with a varying key: _G.bus.listeners.tick[17] of
** _G.bus.listeners.tick[17].fn. Else it is the last reference. The code is the functions that name
** the field. If too many name it, as with "data", the field around it is tried.
*/
#include <string.h>

#include "name/place_steps.h"
#include "report/report.h"

enum { MOST_LOOKED_AT = 8, COMMON = 16, LONG_TEXT = 100 };

/* ==== Where =========================================================================== */

static bool is_clearable(lh_edge_kind kind) {
  return kind == LH_EDGE_VALUE || kind == LH_EDGE_KEY || kind == LH_EDGE_UPVALUE ||
         kind == LH_EDGE_CONTENT || kind == LH_EDGE_LOCAL;
}

/* For each of the last steps: does its key vary, or is it a key? */
static int find_entries(const lh_snapshot *snapshot, const lh_path *path,
                        bool is_entry[MOST_LOOKED_AT], lh_error *error) {
  uint32_t steps[MOST_LOOKED_AT];
  size_t n = path->n_steps < MOST_LOOKED_AT ? path->n_steps : MOST_LOOKED_AT;
  const lh_place_tree *tree = lh_places_of(snapshot);
  if (!tree || !lh_last_steps(snapshot, path->steps, path->n_steps, steps, n))
    return lh_fail_memory(error, "telling a path");
  for (size_t i = 0; i < n; i++) {
    lh_edge_kind kind = path->steps[path->n_steps - 1 - i].kind;
    bool varies = kind == LH_EDGE_VALUE && tree->steps[steps[i]].kind == LH_STEP_ANY_KEY;
    is_entry[i] = varies || kind == LH_EDGE_KEY;
  }
  return LH_OK;
}

static int find_name(lh_snapshot *snapshot, const lh_edge *edge, lh_where_to_cut *out,
                     lh_error *error) {
  lh_id name = edge->key.kind == LH_VALUE_OBJECT ? edge->key.as.object : LH_NO_OBJECT;
  if (name == LH_NO_OBJECT || lh_type_of(snapshot, name) != LH_TYPE_STRING) return LH_OK;
  int code =
      lh_find_naming(snapshot, name, out->functions, LH_MOST_NAMING, &out->n_functions, error);
  if (code == LH_OK && out->n_functions > 0 && out->n_functions <= COMMON) out->name = name;
  return code;
}

/* Towards the root; stops at modules, functions and stacks, whose names say enough. */
static int find_code(lh_snapshot *snapshot, const lh_path *path, size_t n, lh_where_to_cut *out,
                     lh_error *error) {
  int code = LH_OK;
  for (; n > 0 && code == LH_OK && out->name == LH_NO_OBJECT; n--) {
    const lh_edge *edge = &path->steps[n - 1];
    if (edge->kind != LH_EDGE_VALUE || lh_is_for_good(snapshot, edge->target)) break;
    code = find_name(snapshot, edge, out, error);
  }
  return code;
}

int lh_find_where_to_cut(lh_snapshot *snapshot, const lh_path *path, lh_where_to_cut *out,
                         lh_error *error) {
  size_t n = path->n_steps;
  bool is_entry = false;
  int code = LH_OK;
  *out = (lh_where_to_cut){.name = LH_NO_OBJECT};
  if (n > LH_LONG_PATH || lh_is_for_good(snapshot, path->steps[n - 1].target)) return LH_OK;
  bool entries[MOST_LOOKED_AT];
  code = find_entries(snapshot, path, entries, error);
  for (; n > 0 && path->n_steps - n < MOST_LOOKED_AT && !is_entry && code == LH_OK; n--)
    is_entry = entries[path->n_steps - n];
  if (!is_entry) n = path->n_steps - 1;
  if (code != LH_OK || !is_clearable(path->steps[n].kind)) return code;
  out->n_steps = n + 1;
  return find_code(snapshot, path, is_entry ? n : n + 1, out, error);
}

/* ==== The words ====================================================================== */

/* Of a prototype, without its "proto " prefix. */
const char *lh_naming_text(lh_report *report, lh_id function) {
  static const char proto[] = "proto ";
  const char *name = lh_class_name_of(report->snapshot, function);
  bool is_proto = lh_type_of(report->snapshot, function) == LH_TYPE_PROTO;
  return is_proto && strlen(name) >= sizeof proto - 1 ? name + sizeof proto - 1 : name;
}

/* The path up to the cut; of a long path only its last reference, shortened. */
static const char *reference_words(lh_report *report, const lh_path *path, size_t n) {
  const lh_path above = {n, path->steps};
  const char *text = lh_kept(report, lh_path_text(report->snapshot, &above, false));
  if (strlen(text) > LONG_TEXT)
    text = lh_kept(report, lh_edge_text(report->snapshot, &path->steps[n - 1]));
  if (strlen(text) <= LONG_TEXT) return text;
  return lh_words(report, "%.*s...", (int)lh_text_cut(text, LONG_TEXT), text);
}

static void print_code(lh_teller *t, lh_report *report, const lh_where_to_cut *where) {
  size_t told = where->n_functions < LH_MOST_NAMING ? where->n_functions : LH_MOST_NAMING;
  lh_text text = {0};
  lh_text_format(&text, "    Code that names %s",
                 lh_kept(report, lh_string_text(report->snapshot, where->name, 40)));
  for (size_t i = 0; i < told; i++)
    lh_text_format(&text, "%s%s", i == 0 ? ": " : ", ",
                   lh_naming_text(report, where->functions[i]));
  if (told < where->n_functions)
    lh_text_format(&text, " and %s more", lh_count_text(where->n_functions - told).text);
  lh_say_text(t, LH_PLAIN, &text);
}

void lh_print_where_to_cut(lh_teller *t, lh_report *report, const lh_path *path) {
  lh_where_to_cut where;
  if (lh_find_where_to_cut(report->snapshot, path, &where, NULL) != LH_OK) t->failed = true;
  if (t->failed || where.n_steps == 0) return;
  lh_say(t, LH_PLAIN, "\nTo cut this path, clear %s", reference_words(report, path, where.n_steps));
  if (where.name != LH_NO_OBJECT) print_code(t, report, &where);
}
