/*
** ask_several.c - asks of two and three snapshots (see ask.h), and of each of them by the texts
** that it has itself: so what is looked for is as hostile as the file.
*/
#include <stdlib.h>
#include <string.h>

#include "analyses/answers.h"
#include "ask.h"
#include "compare/answers.h"
#include "forged_file.h"
#include "graph/answers.h"
#include "read/snapshot.h"
#include "rooms/all.h"
#include "rooms/report.h"

enum { MOST_TEXTS = 12 };

/* ==== Texts of a snapshot as expressions ============================================= */

/* Owned by the caller: the texts that the file gives. */
static size_t gather_texts(const lh_snapshot *s, char *texts[MOST_TEXTS]) {
  size_t n = 0;
  texts[n++] = strdup(s->info.program);
  texts[n++] = strdup(s->info.name);
  for (uint32_t i = 0; i < lh_mark_count(s) && n < 4; i++)
    texts[n++] = strdup(lh_mark_at(s, i)->name);
  for (lh_id id = 1; id <= lh_object_count(s) && n < MOST_TEXTS; id++) {
    lh_object o;
    lh_object_at(s, id, &o);
    if (o.type == LH_TYPE_STRING && !o.dead)
      texts[n++] = strndup(o.as.string.bytes, o.as.string.kept);
  }
  return n;
}

static void ask_set(lh_snapshot *s, const lh_id *ids, size_t n) {
  uint64_t bytes, objects;
  lh_merged_paths merged;
  if (lh_retained_together(s, ids, n, &bytes, &objects, NULL) == LH_OK)
    claim(objects <= lh_object_count(s) && bytes <= lh_retained_bytes(s, LH_ROOT));
  if (lh_merge_paths(s, ids, n, 20, &merged, NULL) == LH_OK) lh_merged_paths_free(&merged);
}

static void ask_cut(lh_snapshot *s, const char *text, lh_id id) {
  lh_without cut;
  lh_freed alone, together, only_together;
  if (lh_find_cut(s, text, &cut, NULL) != LH_OK) return;
  if (lh_what_if(s, &cut, 1, id, &alone, &together, &only_together, NULL) == LH_OK) {
    claim(alone.bytes == together.bytes && only_together.bytes == 0);
    claim(together.bytes <= lh_retained_bytes(s, LH_ROOT));
  }
  lh_without_free(&cut);
}

/* A path as it is printed, looked for and cut; folded, it stands for many. */
static void ask_path(lh_snapshot *s, char *text, lh_id id) {
  lh_found found;
  lh_id *ids;
  size_t n;
  if (!text) return;
  if (lh_find(s, text, &found, NULL) == LH_OK) claim(found.matches > 0);
  if (lh_find_all(s, text, &ids, &n, NULL) == LH_OK) lh_free(ids);
  ask_cut(s, text, id);
  lh_free(text);
}

static void ask_object(lh_snapshot *s, lh_id id) {
  lh_path path;
  char *text;
  if (lh_held_by(s, id, &text, NULL) == LH_OK) ask_path(s, text, id);
  if (lh_shortest_path(s, id, &path, NULL) == LH_OK) {
    ask_path(s, lh_path_text(s, &path, false), id);
    lh_paths_free(&path, 1);
  }
  lh_free(lh_escaped((const char *)&id, sizeof id));
  claim(lh_lasting_entries(s, id) <= UINT64_C(1) << 33);
  lh_id dominator = lh_immediate_dominator(s, id);
  if (dominator == LH_NO_OBJECT) return;
  claim(lh_is_reachable(s, id) && lh_distance(s, dominator) < lh_distance(s, id));
  claim(lh_retained_bytes(s, dominator) >= lh_retained_bytes(s, id));
}

static void ask_text(lh_snapshot *s, const char *text) {
  lh_found found = {.id = LH_NO_OBJECT};
  lh_description description;
  lh_error error;
  lh_diff *diff;
  lh_id *ids;
  size_t n;
  if (lh_find(s, text, &found, &error) == LH_OK) {
    claim(found.matches > 0 && found.id <= lh_object_count(s));
    ask_object(s, found.id);
  } else {
    claim(error.code != LH_OK && error.message[0] != '\0');
  }
  if (lh_find_all(s, text, &ids, &n, NULL) == LH_OK) {
    claim(n > 0);
    ask_set(s, ids, n);
    lh_free(ids);
  }
  if (lh_describe_class(s, text, &description, NULL) == LH_OK) lh_description_free(&description);
  if (lh_diff_marks(s, text, NULL, &diff, NULL) == LH_OK) lh_diff_free(diff);
  if (lh_diff_marks(s, s->info.name, text, &diff, NULL) == LH_OK) lh_diff_free(diff);
  ask_cut(s, text, found.id);
}

static void ask_texts(lh_snapshot *s) {
  char *texts[MOST_TEXTS];
  if (lh_analyse(s, NULL) != LH_OK || lh_classify(s, NULL) != LH_OK) return;
  size_t n = gather_texts(s, texts);
  for (size_t i = 0; i < n; i++) {
    if (texts[i]) ask_text(s, texts[i]);
    free(texts[i]);
  }
}

/* ==== Answers ======================================================================== */

/* The answer to a question, and its text: of two or three snapshots, or of a ladder. */
static void ask_question(const char *name, lh_snapshot *const snapshots[], size_t n,
                         lh_ladder *ladder) {
  static const char *const names[] = {"a", "b", "\33[31mc", "d"};
  lh_request request = {.snapshots = snapshots,
                        .n_snapshots = ladder ? 0 : n,
                        .ladder = ladder,
                        .names = names,
                        .n_names = n,
                        .limit = 3,
                        .factor = 2,
                        .fingerprints = true};
  lh_report report;
  if (lh_ask(&report, lh_find_question(name), ladder ? NULL : snapshots[n - 1], &request, NULL) !=
      LH_OK)
    return;
  char *text = lh_report_text(&report, "c");
  if (text) claim(!strchr(text, '\33'));
  lh_free(text);
  lh_report_free(&report);
}

static bool are_of_one_state(lh_snapshot *const snapshots[], size_t n) {
  size_t same = 0;
  for (size_t i = 0; i < n; i++) same += snapshots[i]->info.state_id == snapshots[0]->info.state_id;
  return same == n;
}

/* ==== Differences ==================================================================== */

static void ask_group(lh_snapshot *c, const lh_diff_group *group) {
  const char *fingerprint = group->fingerprint;
  lh_id *ids;
  size_t n;
  claim(lh_is_fingerprint(fingerprint) && group->example <= lh_object_count(c));
  if (lh_objects_with(c, fingerprint, &ids, &n, NULL) != LH_OK) return;
  ask_set(c, ids, n);
  lh_free(ids);
}

static void ask_diff(lh_snapshot *c, const lh_diff *diff) {
  uint64_t bytes = 0, new_bytes = 0, new_objects = 0;
  for (size_t i = 0; i < diff->n_groups; i++) {
    bytes += diff->groups[i].retained_bytes;
    new_bytes += diff->groups[i].new_bytes;
    new_objects += diff->groups[i].new_objects;
  }
  claim(bytes <= diff->retained_bytes); /* all of them together may hold more */
  claim(new_bytes == diff->shallow_bytes && new_objects == diff->objects);
  for (size_t i = 0; i < diff->n_groups && i < 4; i++) ask_group(c, &diff->groups[i]);
  for (size_t i = 0; i < diff->n_grown; i++) {
    const lh_grown *grown = &diff->grown[i];
    claim(grown->id <= lh_object_count(c) && lh_is_fingerprint(grown->fingerprint));
    claim(strlen(grown->held_by) < SIZE_MAX && strlen(grown->place) < SIZE_MAX);
  }
  for (size_t i = 0; i < diff->n_classes; i++) claim(strlen(diff->classes[i].name) < SIZE_MAX);
}

static void compare_three(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c) {
  lh_diff *diff;
  if (lh_diff_snapshots(a, b, c, &diff, NULL) != LH_OK) return;
  ask_diff(c, diff);
  lh_diff_free(diff);
  lh_snapshot *const snapshots[] = {a, b ? b : c, c};
  size_t n = b ? 3 : 2;
  ask_question(are_of_one_state(snapshots, n) ? "diff" : "apart", snapshots, n, NULL);
}

/* As heapdiff does: a and b keep only counts by the time when c is opened. */
static void compare_prepared(const forge_part parts[3]) {
  lh_snapshot *s[3] = {NULL};
  bool ok = true;
  for (int i = 0; i < 3 && ok; i++) {
    ok = lh_open_memory(&s[i], parts[i].data, parts[i].size, "part", NULL) == LH_OK &&
         (i == 2 || lh_prepare_older(s[i], i > 0 ? s[0] : NULL, NULL) == LH_OK);
  }
  if (ok) compare_three(s[0], s[1], s[2]);
  for (int i = 0; i < 3; i++) lh_close(s[i]);
}

static void compare_strings(lh_snapshot *a, lh_snapshot *c) {
  lh_string_changes strings;
  if (lh_analyse(a, NULL) != LH_OK || lh_analyse(c, NULL) != LH_OK) return;
  if (lh_compare_strings(a, c, &strings, NULL) == LH_OK) lh_free(strings.rows);
  ask_question("strings", (lh_snapshot *const[]){a, c}, 2, NULL);
}

/* ==== Growth ========================================================================= */

static void ask_growth(lh_growth *growth) {
  lh_fix_verdict answer;
  for (size_t k = 0; k < growth->n_snapshots; k++) {
    uint64_t bytes = growth->level[k].bytes, objects = growth->level[k].all_objects;
    for (size_t i = 0; i < growth->n_paths; i++) {
      bytes += growth->paths[i].at[k].bytes;
      objects += growth->paths[i].at[k].all_objects;
    }
    claim(bytes == growth->whole[k].bytes && objects == growth->whole[k].all_objects);
  }
  lh_judge_fix(growth, &answer);
  lh_growth_free(growth);
}

/* What is below a part and its own figures add up to it. */
static void ask_parts(const lh_part *parts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t bytes = parts[i].own_bytes[1];
    for (size_t k = i + 1; k < n; k++)
      if (parts[k].above == i) bytes += parts[k].bytes[1];
    claim(bytes == parts[i].bytes[1] && (i == 0 || parts[i].above < i));
  }
}

static void ask_ladder(lh_ladder *ladder) {
  lh_growth *growth;
  lh_part *parts;
  size_t n;
  if (lh_ladder_growth(ladder, &growth, NULL) == LH_OK) ask_growth(growth);
  if (lh_ladder_halves(ladder, &growth, NULL) == LH_OK) ask_growth(growth);
  if (lh_ladder_owners(ladder, &parts, &n, NULL) != LH_OK) return;
  ask_parts(parts, n);
  lh_free(parts);
}

static void climb(lh_snapshot *const steps[], size_t n) {
  lh_ladder *ladder;
  bool ok = lh_ladder_new(&ladder, NULL) == LH_OK;
  for (size_t i = 0; ok && i < n; i++) ok = lh_ladder_add(ladder, steps[i], NULL) == LH_OK;
  if (ok) ask_ladder(ladder);
  if (ok) ask_question("ladder", steps, n, ladder);
  if (ok) ask_question("compare", steps, n, ladder);
  if (ok) ask_question("owners", steps, n, ladder);
  lh_ladder_free(ladder);
}

/* ==================================================================================== */

/* Each with each later one, and the last with the first. */
static void compare_all(lh_snapshot *const snapshots[], size_t n) {
  if (n < 2) return;
  for (size_t k = 1; k < n; k++) {
    for (size_t i = 0; i < k; i++) {
      compare_three(snapshots[i], NULL, snapshots[k]);
      compare_strings(snapshots[i], snapshots[k]);
    }
  }
  compare_three(snapshots[n - 1], NULL, snapshots[0]);
  if (n == 3) compare_three(snapshots[0], snapshots[1], snapshots[2]);
  lh_snapshot *const halves[] = {snapshots[0], snapshots[1], snapshots[n - 2], snapshots[n - 1]};
  climb(snapshots, n);
  climb(halves, 4);
}

/* As though something in the last one were not there. */
static void compare_without(lh_snapshot *const snapshots[], size_t n) {
  static const char *const expressions[] = {"_G.*", "registry[*]", "local * in function *"};
  lh_snapshot *s = snapshots[n - 1];
  lh_without cut;
  for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
    if (lh_find_cut(s, expressions[i], &cut, NULL) != LH_OK) continue;
    bool ok = lh_analyse_without(s, &cut, 1, NULL) == LH_OK;
    lh_without_free(&cut);
    if (ok && n > 1) {
      compare_three(snapshots[0], n == 3 ? snapshots[1] : NULL, s);
      climb(snapshots, n);
    }
    return;
  }
}

void ask_several(const uint8_t *data, size_t size) {
  forge_part parts[MOST_PARTS];
  uint8_t *blocks[MOST_PARTS];
  lh_snapshot *snapshots[MOST_PARTS];
  size_t n_parts = forge_split(data, size, parts, MOST_PARTS), n = 0;
  for (size_t i = 0; i < n_parts; i++) {
    blocks[n] = malloc(parts[i].size ? parts[i].size : 1); /* of its exact size */
    if (!blocks[n]) break;
    memcpy(blocks[n], parts[i].data, parts[i].size);
    if (lh_open_memory(&snapshots[n], blocks[n], parts[i].size, "part", NULL) == LH_OK)
      n++;
    else
      free(blocks[n]);
  }
  compare_all(snapshots, n);
  if (n == 3 && n_parts == 3) compare_prepared(parts);
  for (size_t i = 0; i < n; i++) ask_texts(snapshots[i]);
  if (n > 0 && lh_analyse(snapshots[n - 1], NULL) == LH_OK &&
      lh_classify(snapshots[n - 1], NULL) == LH_OK)
    compare_without(snapshots, n);
  for (size_t i = 0; i < n; i++) {
    lh_close(snapshots[i]);
    free(blocks[i]);
  }
}
