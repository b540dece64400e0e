/* diff.c - Compares snapshots: finds objects allocated in a time window that stay. */
#include "compare.h"

#include <string.h>

#include "graph/graph.h"
#include "name/text.h"
#include "thresholds.h"

void lh_diff_free(lh_diff *diff) {
  if (!diff) return;
  for (size_t i = 0; i < diff->n_grown; i++) {
    lh_free((void *)diff->grown[i].held_by);
    lh_free((void *)diff->grown[i].place);
  }
  LH_FREE_ALL(diff->groups, diff->grown, diff->classes);
  lh_strings_free(&((lh_whole_diff *)diff)->paths);
  lh_strings_free(&((lh_whole_diff *)diff)->names);
  lh_counted_places_free(&((lh_whole_diff *)diff)->counted);
  LH_FREE_ALL(((lh_whole_diff *)diff)->places, ((lh_whole_diff *)diff)->alike, diff);
}

/* ==== Marks ========================================================================= */

static int fail_named(lh_error *error, int code, const char *format, const char *first,
                      const char *second) {
  char *escaped[2] = {lh_escaped(first, strlen(first)), lh_escaped(second, strlen(second))};
  if (!escaped[0] || !escaped[1])
    code = lh_fail_memory(error, "comparing snapshots");
  else
    code = lh_fail(error, code, format, escaped[0], escaped[1]);
  LH_FREE_ALL(escaped[0], escaped[1]);
  return code;
}

int lh_fail_order(lh_error *error, const char *earlier, const char *later) {
  return fail_named(error, LH_EARGUMENT,
                    "snapshots must be given in the order of time: '%s' was not taken before '%s'",
                    earlier, later);
}

static int check_order(const lh_snapshot *earlier, const lh_snapshot *later, lh_error *error) {
  return lh_is_earlier(earlier, later) ? LH_OK
                                       : lh_fail_order(error, earlier->info.name, later->info.name);
}

/* True if the mark has this name, or if a message shows the mark as `name`. */
static bool is_called(const lh_mark_info *mark, const char *name) {
  lh_text text = {0};
  if (mark->name_length == strlen(name) && memcmp(mark->name, name, mark->name_length) == 0)
    return true;
  lh_text_escaped(&text, mark->name, mark->name_length, true);
  char *shown = lh_text_finish(&text);
  bool same = shown && strcmp(shown, name) == 0;
  lh_free(shown);
  return same;
}

static bool find_name(const lh_snapshot *snapshot, const char *name, uint32_t *mark) {
  for (uint32_t i = lh_mark_count(snapshot); i-- > 0;) {
    if (!is_called(lh_mark_at(snapshot, i), name)) continue;
    *mark = i;
    return true;
  }
  return false;
}

/* Lists the marks, without the snapshot's own mark, which is the last. */
static int no_such_mark(const lh_snapshot *snapshot, const char *name, lh_error *error) {
  lh_text text = {0};
  uint32_t n = lh_mark_count(snapshot) - 1;
  enum { SHOWN = 10 };
  lh_text_string(&text, "no mark \"");
  lh_text_escaped(&text, name, strlen(name), true);
  lh_text_string(&text, n > 0 ? "\" in the snapshot; it has " : "\" in the snapshot; it has none");
  for (uint32_t i = n > SHOWN ? n - SHOWN : 0; i < n; i++) {
    const lh_mark_info *info = lh_mark_at(snapshot, i);
    if (i == n - SHOWN && n > SHOWN) lh_text_string(&text, "..., ");
    lh_text_string(&text, "\"");
    lh_text_escaped(&text, info->name, info->name_length, true);
    lh_text_string(&text, i + 1 < n ? "\", " : "\"");
  }
  char *message = lh_text_finish(&text);
  if (!message) return lh_fail_memory(error, "looking for a mark");
  int code = lh_fail(error, LH_ENOTFOUND, "%s", message);
  lh_free(message);
  return code;
}

/* ==================================================================================== */

/* Flags of an object. FLAG_OURS: of luaheap (lh_mark_luaheap). */
enum { FLAG_OURS = 1, FLAG_NEW = 2 };

static void flag_new_in(const lh_window *window, lh_id first, lh_id end, uint8_t *flags) {
  for (lh_id id = first; id < end; id++)
    if (!lh_is_own(window->c, id) && lh_is_new(window, id)) flags[id] = FLAG_NEW;
}

/* Flags the new objects, with garbage and the call's. Those on tobefnz have no age. */
static uint8_t *find_new(const lh_window *window) {
  const lh_snapshot *c = window->c;
  uint8_t *flags = lh_alloc_zeroed((size_t)c->n + 1, 1);
  lh_window with_call = *window;
  with_call.call[0] = with_call.call[1] = LH_NO_OBJECT;
  for (int i = 0; flags && i < 2; i++)
    flag_new_in(&with_call, window->allocated[i].first, window->allocated[i].end, flags);
  if (flags && window->a)
    flag_new_in(&with_call, c->list_first[LH_LIST_TOBEFNZ], c->list_first[LH_LIST_FIXEDGC], flags);
  return flags;
}

/* Leaves the reachable ones; counts luaheap's and the call's as left. Needs the analysis. */
static bool choose_new(const lh_snapshot *c, uint8_t *flags, lh_diff *diff) {
  lh_id call[2];
  if (!lh_mark_luaheap(c, flags, FLAG_OURS)) return false;
  lh_find_call(c, call);
  for (lh_id id = 1; id <= c->n; id++) {
    bool is_new = flags[id] & FLAG_NEW && lh_is_reachable(c, id);
    bool is_left = is_new && (flags[id] & FLAG_OURS || id == call[0] || id == call[1]);
    flags[id] = is_new && !is_left;
    if (!is_left) continue;
    diff->left_objects++;
    diff->left_bytes += lh_shallow_bytes(c, id);
  }
  return true;
}

static int add_groups(lh_snapshot *c, const lh_window *window, const uint8_t *new_ones,
                      lh_diff *diff, lh_error *error) {
  int code = lh_diff_groups(c, new_ones, true, (lh_whole_diff *)diff, error);
  return !code && window->a ? lh_diff_allocations(window, new_ones, diff, error) : code;
}

static int prepare_snapshot(lh_snapshot *snapshot, lh_error *error) {
  int code = lh_analyse(snapshot, error);
  return code ? code : lh_classify(snapshot, error);
}

/* ==== Older snapshots, one thread each ================================================ */

typedef struct older {
  lh_snapshot *at[2]; /* NULL: absent */
  bool are_whole;     /* with a full analysis, which stays; else only counted */
  int code[2];
  lh_error error[2];
} older;

static bool prepare_one(void *data, uint32_t i) {
  older *o = data;
  if (!o->at[i]) return true;
  int code = o->are_whole ? prepare_snapshot(o->at[i], &o->error[i])
                          : lh_count_older(o->at[i], &o->error[i]);
  if (!code) code = lh_count_finalized(o->at[i], &o->error[i]);
  o->code[i] = code;
  return true;
}

static int prepare_older(lh_snapshot *a, lh_snapshot *b, bool are_whole, unsigned threads,
                         lh_error *error) {
  older o = {.at = {a, b}, .are_whole = are_whole};
  (void)lh_parallel_for(threads, 2, prepare_one, &o);
  for (int i = 0; i < 2; i++) {
    if (o.code[i] && error) *error = o.error[i];
    if (o.code[i]) return o.code[i];
  }
  return LH_OK;
}

/* ==================================================================================== */

static int find_marks(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_window *window,
                      lh_error *error) {
  lh_snapshot *all[3] = {a, c, b};
  int code = check_order(a, b ? b : c, error);
  if (!code && b) code = check_order(b, c, error);
  if (!code) code = lh_place_marks(all, b ? 3 : 2, error);
  if (code) return code;
  *window = (lh_window){.a = a, .b = b, .c = c, .until = lh_mark_count(c)};
  (void)lh_find_own_mark(a, c, &window->since);
  if (b) (void)lh_find_own_mark(b, c, &window->until);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    window->allocated[list] = lh_younger_than(c, list, window->since);
  return LH_OK;
}

static void add_up_alike(const lh_whole_diff *whole, lh_place_counts *at) {
  for (uint32_t i = 0; i < whole->n_places; i++) {
    lh_place_counts *to = &at[whole->alike[i]];
    for (size_t k = 0; k < LH_SPANS && to != &at[i]; k++) to->objects[k] += at[i].objects[k];
    if (to != &at[i]) to->bytes += at[i].bytes;
  }
}

/* Sorts by what the next interval will bring at least: the smaller of both increments. A burst that
** is not repeated, such as a cache that fills, counts a sixteenth. All of the type at like places
** count, since records get other fields with age. */
static void weigh_group(lh_diff_group *group, uint64_t least_bytes) {
  enum { SIXTEENTH = 16 };
  const uint64_t *at = group->type_at;
  double first = (double)at[1] - (double)at[0], second = (double)at[2] - (double)at[1];
  double steady = first < second ? first : second, once = (first + second) / SIXTEENTH;
  double more = steady > once ? steady : once, share = more / (double)group->objects;
  group->is_noise = steady <= 0 && group->retained_bytes < least_bytes;
  group->weight = 0;
  if (share > 0 && !group->is_noise)
    group->weight = (uint64_t)((double)group->retained_bytes * (share < 1 ? share : 1));
}

typedef struct counts {
  lh_place_counts *at;
  uint32_t *row_of; /* by spot */
  bool *is_vague;   /* by place */
} counts;

static bool begin_counts(counts *c, const lh_whole_diff *whole, size_t n) {
  *c = (counts){.at = lh_alloc_zeroed(whole->n_places, sizeof *c->at),
                .row_of = lh_alloc(n, sizeof *c->row_of),
                .is_vague = lh_alloc_zeroed(whole->n_places, sizeof *c->is_vague)};
  return c->at && c->row_of && c->is_vague;
}

static bool find_rows(counts *c, lh_whole_diff *whole, const lh_spot_numbers *numbers) {
  if (!lh_rows_of_spots(&whole->counted, numbers, c->row_of, c->is_vague)) return false;
  for (uint32_t i = 0; i < whole->n_places; i++)
    if (c->is_vague[i]) c->is_vague[whole->alike[i]] = true;
  return true;
}

static void free_counts(counts *c) {
  LH_FREE_ALL(c->at, c->row_of, c->is_vague);
}

static bool count_in(const lh_counted *s, int k, lh_whole_diff *whole) {
  lh_diff *diff = &whole->visible;
  counts c;
  bool ok = begin_counts(&c, whole, s->numbers.n_spots) &&
            lh_count_printed(s->printed, s->n_printed, (const lh_print *)whole->places,
                             whole->n_places, c.at) &&
            find_rows(&c, whole, &s->numbers);
  if (ok) add_up_alike(whole, c.at);
  for (size_t i = 0; ok && i < diff->n_groups; i++)
    diff->groups[i].type_at[k] = c.at[diff->groups[i].place].objects[0];
  if (ok && whole->n_places > 0) memset(c.at, 0, whole->n_places * sizeof *c.at);
  for (size_t i = 0; ok && i < s->numbers.n_spots; i++)
    if (c.row_of[i] != LH_NO_NUMBER) c.at[c.row_of[i]].objects[0] += s->numbers.objects[i];
  if (ok) add_up_alike(whole, c.at);
  for (size_t i = 0; ok && i < diff->n_groups; i++) {
    bool is_type = diff->groups[i].counts_type;
    diff->groups[i].at[k] =
        is_type ? diff->groups[i].type_at[k] : c.at[diff->groups[i].place].objects[0];
    diff->groups[i].is_vague |= c.is_vague[diff->groups[i].place];
  }
  free_counts(&c);
  return ok;
}

static int weigh(const lh_window *window, lh_snapshot *c, const uint8_t *new_ones,
                 lh_whole_diff *whole, lh_error *error) {
  lh_diff *diff = &whole->visible;
  lh_counted in_c = {0};
  if (diff->n_groups == 0) return LH_OK;
  int code = lh_count_places(c, &in_c, error);
  const lh_counted *const at[3] = {window->a->counted, window->b->counted, &in_c};
  bool ok = true;
  for (int k = 0; !code && ok && k < 3; k++) ok = count_in(at[k], k, whole);
  lh_counted_free(&in_c);
  if (!code && !(ok && lh_split_culprits(c, new_ones, whole)))
    code = lh_fail_memory(error, "counting what is at a place");
  if (code) return code;
  lh_reach reach;
  lh_reach_totals(c, &reach);
  uint64_t least_bytes = lh_least_group(reach.reachable_bytes);
  for (size_t i = 0; i < diff->n_groups; i++) weigh_group(&diff->groups[i], least_bytes);
  lh_sort_groups(diff);
  return LH_OK;
}

/* Snapshots of one process share the names of C functions: those that the program took itself have
** none. */
static int share_c_functions(lh_snapshot *const snapshots[3], lh_error *error) {
  for (int to = 0; to < 3; to++)
    for (int from = 0; from < 3; from++)
      if (snapshots[to] && snapshots[from] && !lh_copy_c_functions(snapshots[from], snapshots[to]))
        return lh_fail_memory(error, "naming C functions");
  return LH_OK;
}

static int number_causes(lh_snapshot *c, lh_diff *diff, lh_error *error) {
  size_t n = diff->n_groups + diff->n_grown;
  const lh_place_tree *tree = lh_places_of(c);
  lh_caused *rows = lh_alloc(n, sizeof *rows);
  bool ok = tree && rows;
  for (size_t i = 0; ok && i < diff->n_groups; i++) {
    lh_diff_group *group = &diff->groups[i];
    rows[i] = (lh_caused){group->held_at, group->retained_bytes, &group->cause, 0};
  }
  for (size_t i = 0; ok && i < diff->n_grown; i++) {
    lh_grown *grown = &diff->grown[i];
    rows[diff->n_groups + i] =
        (lh_caused){grown->told_at, lh_grown_by(grown->shallow_bytes), &grown->cause, 0};
  }
  ok = ok && lh_number_causes(tree, rows, n);
  lh_free(rows);
  return ok ? LH_OK : lh_fail_memory(error, "looking for causes");
}

/* Fills what does not need the analysis of c. */
static int compare_with_older(const lh_window *window, uint8_t **new_ones, lh_diff *diff,
                              lh_error *error) {
  const lh_snapshot *b = window->b, *c = window->c;
  diff->possibly_newer[0] = lh_possibly_newer(c, window->since);
  if (b) diff->possibly_newer[1] = lh_possibly_newer(c, window->until);
  *new_ones = find_new(window);
  if (!*new_ones) return lh_fail_memory(error, "looking for new objects");
  return !b || lh_find_grown(b, c, window->until, diff)
             ? LH_OK
             : lh_fail_memory(error, "listing containers");
}

static int compare_objects(const lh_window *window, lh_snapshot *c, uint8_t *new_ones,
                           lh_diff *diff, lh_error *error) {
  if (!choose_new(c, new_ones, diff)) return lh_fail_memory(error, "looking for new objects");
  if (!lh_describe_grown(c, diff)) return lh_fail_memory(error, "telling who holds the containers");
  int code = add_groups(c, window, new_ones, diff, error);
  if (!code && window->b) code = weigh(window, c, new_ones, (lh_whole_diff *)diff, error);
  if (!code && window->b && !lh_join_sibling_groups(c, (lh_whole_diff *)diff))
    code = lh_fail_memory(error, "joining what grows alike");
  return code ? code : number_causes(c, diff, error);
}

static int compare_one_state(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff *diff,
                             lh_error *error) {
  lh_window window;
  uint8_t *new_ones = NULL;
  int code = find_marks(a, b, c, &window, error);
  if (!code) code = share_c_functions((lh_snapshot *[]){a, b, c}, error);
  if (!code) code = prepare_older(a, b, !b, c->threads, error);
  if (!code && b) code = lh_find_rising(a, b, error);
  if (!code) code = compare_with_older(&window, &new_ones, diff, error);
  if (!code) code = prepare_snapshot(c, error);
  if (!code) code = compare_objects(&window, c, new_ones, diff, error);
  lh_free(new_ones);
  if (!code && !b) code = lh_diff_changes(&window, (lh_whole_diff *)diff, error);
  return code;
}

static int compare_states(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff *diff,
                          lh_error *error) {
  lh_window window = {.a = a, .b = b, .c = c};
  int code = prepare_older(a, b, true, c->threads, error);
  if (!code) code = prepare_snapshot(c, error);
  return code ? code : lh_diff_changes(&window, (lh_whole_diff *)diff, error);
}

/* False: the marks or the states do not do, or c tells the names of C functions. */
static bool are_prepared(const lh_snapshot *a, const lh_snapshot *b, const lh_snapshot *c) {
  uint32_t mark;
  return b->counted && b->counted->has_rising && lh_is_same_state(b, c) && !c->is_outside &&
         lh_find_own_mark(a, c, &mark) && lh_find_own_mark(b, c, &mark);
}

static int need_objects(lh_snapshot *a, lh_snapshot *b, lh_error *error) {
  int code = lh_need_rows(a, error);
  return code ? code : lh_need_rows(b, error);
}

static int compare_three(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff *diff,
                         lh_error *error) {
  diff->same_state = lh_is_same_state(a, c) && (!b || lh_is_same_state(b, c));
  int code = b && !are_prepared(a, b, c) ? need_objects(a, b, error) : LH_OK;
  if (!code)
    code = diff->same_state ? compare_one_state(a, b, c, diff, error)
                            : compare_states(a, b, c, diff, error);
  lh_forget_counted(a);
  if (b) lh_forget_counted(b);
  return code;
}

static int make(lh_diff **out, lh_error *error) {
  lh_whole_diff *whole = lh_alloc_zeroed(1, sizeof *whole);
  *out = whole ? &whole->visible : NULL;
  return whole ? 0 : lh_fail_memory(error, "comparing snapshots");
}

static int finish_diff(int code, lh_diff **out) {
  if (code == 0) return 0;
  lh_diff_free(*out);
  *out = NULL;
  return code;
}

int lh_diff_snapshots(lh_snapshot *a, lh_snapshot *b, lh_snapshot *c, lh_diff **out,
                      lh_error *error) {
  int code = make(out, error);
  return finish_diff(code ? code : compare_three(a, b, c, *out, error), out);
}

static int begin_one(lh_snapshot *snapshot, lh_window *window, lh_diff **out, lh_error *error) {
  *out = NULL;
  window->c = snapshot;
  int code = prepare_snapshot(snapshot, error);
  if (!code) lh_find_call(snapshot, window->call);
  if (!code) code = make(out, error);
  if (!code) (*out)->same_state = true;
  return code;
}

int lh_diff_interval(lh_snapshot *snapshot, lh_interval interval, lh_diff **out, lh_error *error) {
  lh_window window = {0};
  lh_objects_in(snapshot, interval, window.allocated);
  int code = begin_one(snapshot, &window, out, error);
  uint8_t *new_ones = code ? NULL : find_new(&window);
  if (!code && !(new_ones && choose_new(snapshot, new_ones, *out)))
    code = lh_fail_memory(error, "looking for new objects");
  if (!code) code = add_groups(snapshot, &window, new_ones, *out, error);
  lh_free(new_ones);
  return finish_diff(code ? code : number_causes(snapshot, *out, error), out);
}

int lh_diff_marks(lh_snapshot *snapshot, const char *since, const char *until, lh_diff **out,
                  lh_error *error) {
  uint32_t first, last;
  *out = NULL;
  if (!find_name(snapshot, since, &first)) return no_such_mark(snapshot, since, error);
  if (until && !find_name(snapshot, until, &last)) return no_such_mark(snapshot, until, error);
  if (until && last <= first)
    return fail_named(error, LH_EARGUMENT, "the mark '%s' was not set before the mark '%s'", since,
                      until);
  lh_interval interval = {
      .since = lh_mark_position(snapshot, first),
      .until = until ? lh_mark_position(snapshot, last) : lh_position_count(snapshot)};
  lh_count passed[2] = {lh_possibly_newer(snapshot, first)};
  if (until) passed[1] = lh_possibly_newer(snapshot, last);
  int code = lh_diff_interval(snapshot, interval, out, error);
  if (!code) memcpy((*out)->possibly_newer, passed, sizeof passed);
  return code;
}

/* ==== The history in one ============================================================= */

/* Flags the objects of the spans between the first and the last one; of two spans, the last. */
static void flag_stayed(const lh_window *window, const lh_history *history, uint8_t *new_ones) {
  const lh_snapshot *c = window->c;
  const uint8_t *span_of = history->span_of;
  unsigned last = history->n > 2 ? history->n - 2 : history->n - 1;
  for (lh_id id = 1; id <= c->n; id++)
    new_ones[id] = span_of[id] > 0 && span_of[id] <= last && !lh_is_own(c, id) &&
                   id != window->call[0] && id != window->call[1];
}

static int count_both(lh_snapshot *snapshot, const uint8_t *span_of, lh_whole_diff *whole,
                      lh_place_counts *at, lh_error *error) {
  lh_diff *diff = &whole->visible;
  size_t n = whole->n_places;
  int code = lh_count_at_places(snapshot, (const lh_print *)whole->places, n, span_of, at, error);
  if (code) return code;
  add_up_alike(whole, at);
  for (size_t i = 0; i < diff->n_groups; i++)
    memcpy(diff->groups[i].type_ages, at[diff->groups[i].place].objects,
           sizeof diff->groups[i].type_ages);
  code = lh_count_in_rows(&whole->counted, snapshot, span_of, at, n, error);
  if (code) return code;
  add_up_alike(whole, at);
  for (size_t i = 0; i < diff->n_groups; i++) {
    lh_diff_group *group = &diff->groups[i];
    const lh_place_counts *found = &at[group->place];
    memcpy(group->ages, group->counts_type ? group->type_ages : found->objects, sizeof group->ages);
    group->bytes_of_all = found->bytes;
  }
  return LH_OK;
}

static int count_ages(lh_snapshot *snapshot, const uint8_t *span_of, lh_whole_diff *whole,
                      lh_error *error) {
  lh_place_counts *at = lh_alloc(whole->n_places, sizeof *at);
  int code = at ? count_both(snapshot, span_of, whole, at, error)
                : lh_fail_memory(error, "counting what is at a place");
  lh_free(at);
  return code;
}

int lh_diff_history(lh_snapshot *snapshot, const lh_history *history, lh_diff **out,
                    lh_error *error) {
  lh_window window = {0};
  int code = begin_one(snapshot, &window, out, error);
  if (code) return finish_diff(code, out);
  uint8_t *new_ones = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!new_ones) code = lh_fail_memory(error, "looking for what stays");
  if (!code) flag_stayed(&window, history, new_ones);
  if (!code) code = lh_diff_groups(snapshot, new_ones, false, (lh_whole_diff *)*out, error);
  if (!code) code = lh_diff_allocations(&window, new_ones, *out, error);
  if (!code && (*out)->n_groups > 0)
    code = count_ages(snapshot, history->span_of, (lh_whole_diff *)*out, error);
  lh_free(new_ones);
  return finish_diff(code, out);
}
