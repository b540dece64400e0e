/*
** owners.c - the parts of the heap as a tree, with sizes before and after.
**
** Parts with little change are one line, so the lines below a part add up to it.
*/
#include "ranking.h"
#include "report/report.h"
#include "thresholds.h"

typedef struct owners_result {
  const lh_ladder *ladder;
  bool same_state;
  lh_part *parts;
  size_t n;
  size_t *order;   /* all but the whole: by the part above, then by change */
  size_t *first;   /* of each part: index of its first part in `order`; n + 1 */
  lh_part *chosen; /* parts for the answer; `above` is an index into this list */
  size_t n_chosen;
  uint64_t total; /* bytes by which the whole changed */
} owners_result;

static uint64_t change_of(const lh_part *part) {
  const uint64_t *bytes = part->bytes;
  return bytes[1] > bytes[0] ? bytes[1] - bytes[0] : bytes[0] - bytes[1];
}

static bool is_whole_part(const lh_report *report, const lh_part *part) {
  return part == ((const owners_result *)report->answer)->chosen;
}

/* Index in JSON from 0, in Lua from 1. */
LH_CELL(above_of, lh_part,
        cell->as.n = is_whole_part(report, it) ? UINT64_MAX : it->above) /* JSON: -1 */
LH_CELL(above_in_lua, lh_part, cell->is_null = is_whole_part(report, it),
        cell->as.n = it->above + 1)

#define ROW lh_part
static const lh_table part_table = LH_TABLE_OF(
    "heap.part", "part", "parts",
    LH_TEXT("held_by", NULL, held_by, "empty for the whole and for what is shared"),
    LH_TEXT("class", NULL, class_name, "null for these", LH_OPTIONAL),
    LH_FLAG("shared", shared, "it is what several parts of the one above keep alive together"),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_COUNT, above_of,
                "the number of the part it is a part of, counted from 0; of the whole -1",
                LH_JSON_ONLY("above")),
    LH_COMPUTED("above", NULL, LH_COLUMN_COUNT, above_in_lua,
                "the number of the part that it is a part of", LH_OPTIONAL, LH_LUA_ONLY),
    LH_BYTES_SERIES("bytes", NULL, bytes, "in the first and the last snapshot, with what is in it"),
    LH_COUNT_SERIES("objects", NULL, objects, "the same"),
    LH_BYTES_SERIES("own_bytes", NULL, own_bytes, "the same without what is in it"),
    LH_COUNT_SERIES("own_objects", NULL, own_objects, "the same"));
#undef ROW

#define ROW owners_result
static const lh_table owners_answer = LH_TABLE_OF(
    "heap.owners", NULL, NULL,
    LH_FLAG("same_state", same_state, "the snapshots are of one Lua state"),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "the names of the files"),
    LH_COUNT("total_parts", NULL, n, "how many there are, listed or not"),
    LH_ROWS("parts", chosen, n_chosen, &part_table, "the first of which is the whole", LH_OWNED));
#undef ROW

typedef struct line {
  uint64_t bytes[2], objects[2];
  char *name; /* indented */
  const char *class_name;
} line;

/* Negative for the opposite direction, so all shares add up to 100 %. "-" if growth and shrinkage
** nearly cancel out. */
static void share_of(lh_report *report, const void *row, lh_cell *cell) {
  const owners_result *f = report->answer;
  const uint64_t *bytes = ((const line *)row)->bytes, *whole = f->parts[0].bytes;
  uint64_t change = bytes[1] > bytes[0] ? bytes[1] - bytes[0] : bytes[0] - bytes[1];
  bool against = change > 0 && (bytes[1] > bytes[0]) != (whole[1] > whole[0]);
  bool is_wild = change > 0 && change / LH_MOST_SHARES >= f->total;
  bool is_less = is_wild || (against && !lh_is_least_share(change, f->total));
  cell->kind = LH_COLUMN_TEXT;
  cell->as.text = lh_words(report, "%s%s", is_less ? "-" : "",
                           is_wild ? "" : lh_share_text(change, f->total).text);
}

#define ROW line
static const lh_table line_table =
    LH_TABLE_OF(NULL, "part", "parts", LH_BYTES_CHANGE("bytes", bytes),
                LH_COMPUTED(NULL, "share", LH_COLUMN_SHARE, share_of, NULL),
                LH_BYTES(NULL, "before", bytes[0], NULL, LH_WIDE),
                LH_BYTES(NULL, "after", bytes[1], NULL), LH_COUNT_CHANGE("objects", objects),
                LH_TEXT(NULL, "owner", name, NULL), LH_TEXT(NULL, "class", class_name, NULL));
#undef ROW

/* ==== Choosing ======================================================================= */

static int compare_parts(const void *left, const void *right, void *payload) {
  const lh_part *parts = payload, *a = &parts[*(const size_t *)left],
                *b = &parts[*(const size_t *)right];
  return LH_LESS(a->above, b->above) ?: LH_MORE(change_of(a), change_of(b)) ?:
         LH_MORE(a->bytes[1], b->bytes[1]) ?: strcmp(a->held_by, b->held_by) ?: LH_LESS(a, b);
}

static bool sort_parts(owners_result *f) {
  size_t at = 0;
  f->order = lh_alloc_zeroed(f->n, sizeof *f->order);
  f->first = lh_alloc_zeroed(f->n + 1, sizeof *f->first);
  if (!f->order || !f->first) return false;
  for (size_t i = 1; i < f->n; i++) f->order[i - 1] = i;
  if (f->n > 2) qsort_r(f->order, f->n - 1, sizeof *f->order, compare_parts, f->parts);
  for (size_t i = 0; i <= f->n; i++) {
    while (at < f->n - 1 && f->parts[f->order[at]].above < i) at++;
    f->first[i] = at;
  }
  return true;
}

/* Queues the part at index `place` of `order`, if it is directly below `part`. */
static bool put_next(const owners_result *f, lh_ranking *next, size_t part, size_t place) {
  if (place >= f->first[part + 1]) return true;
  uint64_t change = change_of(&f->parts[f->order[place]]);
  return lh_rank_put(next, (lh_ranked){change, place, (uint32_t)place});
}

/* The parts with the biggest changes, at least `least`, whose parents are chosen: at most `limit`
** (0: all) and the whole. Returns a flag for each part; NULL: out of memory. */
static bool *choose_parts(const owners_result *f, size_t limit, uint64_t least) {
  lh_ranking next = {0}; /* of each chosen part: the next one below it */
  bool *is_chosen = lh_alloc_zeroed(f->n, sizeof *is_chosen);
  bool ok = is_chosen && put_next(f, &next, 0, f->first[0]);
  if (ok) is_chosen[0] = true;
  for (size_t n = 0; ok && next.n > 0 && (limit == 0 || n < limit); n++) {
    lh_ranked best = lh_rank_take(&next);
    size_t part = f->order[best.what];
    if (best.key < least) break;
    is_chosen[part] = true;
    ok = put_next(f, &next, part, f->first[part]) &&
         put_next(f, &next, f->parts[part].above, best.what + 1);
  }
  lh_ranking_free(&next);
  if (ok) return is_chosen;
  lh_free(is_chosen);
  return NULL;
}

static bool number_chosen(owners_result *f, size_t limit) {
  bool *is_chosen = choose_parts(f, limit, 0);
  size_t *number = lh_alloc_zeroed(f->n, sizeof *number);
  f->chosen = lh_alloc_zeroed(f->n, sizeof *f->chosen);
  bool made = is_chosen && number && f->chosen;
  for (size_t i = 0; made && i < f->n; i++) {
    if (!is_chosen[i]) continue;
    number[i] = f->n_chosen;
    f->chosen[f->n_chosen] = f->parts[i];
    f->chosen[f->n_chosen++].above = number[f->parts[i].above];
  }
  LH_FREE_ALL(is_chosen, number);
  return made;
}

/* The part directly below `part` that makes at least half of its change; 0: none. */
static size_t main_part_below(const owners_result *f, size_t part) {
  const uint64_t *bytes = f->parts[part].bytes;
  for (size_t i = f->first[part]; i < f->first[part + 1]; i++) {
    const lh_part *below = &f->parts[f->order[i]];
    bool is_along = (below->bytes[1] > below->bytes[0]) == (bytes[1] > bytes[0]);
    if (is_along && change_of(below) >= change_of(&f->parts[part]) / 2) return f->order[i];
  }
  return 0;
}

/* The part with the biggest change. A thread tells little, so its variable is told instead if that
** has at least half of the change; a shared part tells nothing: the biggest inside it. */
static const lh_part *greatest_part(const owners_result *f) {
  size_t part = f->order[0];
  while (change_of(&f->parts[part]) > 0) {
    bool has_parts = f->first[part] < f->first[part + 1];
    size_t below = 0;
    if (f->parts[part].type == LH_TYPE_THREAD)
      below = main_part_below(f, part);
    else if (f->parts[part].shared && has_parts)
      below = f->order[f->first[part]];
    if (below == 0) break;
    part = below;
  }
  return &f->parts[part];
}

static void print_owners_sentence(lh_printer *t, const lh_report *report) {
  const owners_result *f = report->answer;
  const lh_part *whole = &f->parts[0], *first = f->n > 1 ? greatest_part(f) : whole;
  bool exact = t->exact_bytes, is_changed = change_of(first) > 0;
  const char *most = lh_words(t->report, "; most by %s%s: %s", first->held_by,
                              f->parts[first->above].shared ? ", which several hold" : "",
                              lh_size_change(first->bytes[0], first->bytes[1], exact).text);
  lh_say(t, LH_BOLD, "From %s to %s: %s -> %s, %s%s", report->names[0],
         report->names[report->request.n_names - 1], lh_format_size(t, whole->bytes[0]).text,
         lh_format_size(t, whole->bytes[1]).text,
         lh_size_change(whole->bytes[0], whole->bytes[1], exact).text, is_changed ? most : "");
}

typedef struct lines {
  line *list;
  size_t n, capacity;
  bool failed;
} lines;

static void add_line(lines *to, const uint64_t bytes[2], const uint64_t objects[2], uint32_t depth,
                     const char *name, const char *class_name) {
  lh_text text = {0};
  lh_text_format(&text, "%*s%s", 2 * (int)depth, "", name);
  line added = {{bytes[0], bytes[1]}, {objects[0], objects[1]}, lh_text_finish(&text), class_name};
  to->failed |= !added.name || !lh_grow(&to->list, to->n, &to->capacity, sizeof *to->list);
  if (to->failed)
    lh_free(added.name);
  else
    to->list[to->n++] = added;
}

static void add_part(lines *to, const owners_result *f, const lh_part *part, uint32_t depth) {
  char *steps = lh_part_steps(f->ladder, part, &f->parts[part->above]);
  to->failed |= !steps;
  if (steps)
    add_line(to, part->bytes, part->objects, depth,
             part->shared ? "(shared by several of these)" : steps,
             part->class_name ? part->class_name : "");
  lh_free(steps);
}

/* The own bytes of a part, and the sum of its hidden parts. */
static void add_rest(lines *to, const owners_result *f, const bool *is_told, size_t part,
                     uint32_t depth) {
  const lh_part *p = &f->parts[part];
  uint64_t bytes[2] = {0, 0}, objects[2] = {0, 0}, n_hidden = 0, n_told = 0;
  char name[2 * LH_NUMBER_BYTES];
  for (size_t i = f->first[part]; i < f->first[part + 1]; i++) {
    const lh_part *below = &f->parts[f->order[i]];
    n_told += is_told[f->order[i]];
    if (is_told[f->order[i]]) continue;
    n_hidden++;
    for (int k = 0; k < 2; k++) {
      bytes[k] += below->bytes[k];
      objects[k] += below->objects[k];
    }
  }
  if (n_told == 0) return;
  if (part != 0 && p->own_bytes[0] != p->own_bytes[1])
    add_line(to, p->own_bytes, p->own_objects, depth, "(itself)", "");
  if (n_hidden == 0 || (bytes[0] == bytes[1] && part != 0)) return;
  (void)snprintf(name, sizeof name, "(%s)",
                 lh_count_of(n_hidden, "other part", "other parts").text);
  add_line(to, bytes, objects, depth, name, "");
}

/* A walk in preorder without recursion. next[] starts as `first` and is consumed. */
static void add_tree(lines *to, const owners_result *f, const bool *is_told, size_t *next) {
  size_t part = 0;
  uint32_t depth = 0;
  for (;;) {
    size_t at = next[part];
    while (at < f->first[part + 1] && !is_told[f->order[at]]) at++;
    next[part] = at + 1;
    if (at < f->first[part + 1]) {
      add_part(to, f, &f->parts[f->order[at]], depth++);
      part = f->order[at];
      continue;
    }
    add_rest(to, f, is_told, part, depth);
    if (part == 0) return;
    part = f->parts[part].above;
    depth--;
  }
}

static void print_tree(lh_printer *t, lh_report *report, const bool *is_told) {
  const owners_result *f = report->answer;
  size_t *next = lh_alloc_zeroed(f->n, sizeof *next);
  lines all = {.failed = !next};
  if (next) memcpy(next, f->first, f->n * sizeof *next);
  if (next) add_tree(&all, f, is_told, next);
  t->failed |= all.failed;
  lh_print_rows(t, report, &line_table, all.list, all.n);
  for (size_t i = 0; i < all.n; i++) lh_free(all.list[i].name);
  LH_FREE_ALL(all.list, next);
}

/* With limit 0 all parts that changed. */
static void print_owners(lh_printer *t, lh_report *report) {
  const owners_result *f = report->answer;
  uint64_t least = 0;
  for (size_t i = 0; i < f->n && t->limit != 0; i++)
    if (change_of(&f->parts[i]) / LH_LEAST_PART > least)
      least = change_of(&f->parts[i]) / LH_LEAST_PART;
  bool *is_told = choose_parts(f, t->limit, least > 0 ? least : 1);
  t->failed |= !is_told;
  print_owners_sentence(t, report);
  lh_print_compared(t, f->same_state);
  lh_say(t, LH_PLAIN, "%s", "");
  if (is_told) print_tree(t, report, is_told);
  lh_free(is_told);
}

LH_FREED_BY(owners, owners_result, LH_FREE_ALL(it->order, it->first, it->parts))

static int find_owners(lh_snapshot *snapshot, const lh_request *request, void *out,
                       lh_error *error) {
  owners_result *f = out;
  (void)snapshot;
  int code = lh_ladder_owners(request->ladder, &f->parts, &f->n, error);
  if (code != LH_OK) return code;
  f->ladder = request->ladder;
  f->same_state = lh_ladder_same_state(request->ladder);
  f->total = change_of(&f->parts[0]);
  bool ok = sort_parts(f) && number_chosen(f, request->limit);
  return ok ? LH_OK : lh_fail_memory(error, "choosing parts");
}

static void owners_excess(const lh_report *report, lh_excess *out) {
  const owners_result *f = report->answer;
  const uint64_t *bytes = f->parts[0].bytes, *objects = f->parts[0].objects;
  *out = (lh_excess){.bytes = bytes[1] > bytes[0] ? bytes[1] - bytes[0] : 0,
                     .objects = objects[1] > objects[0] ? objects[1] - objects[0] : 0,
                     .what = "more"};
}

LH_QUESTION(owners, .command = "heapdiff",
            .help = "who owns the growth, from the first to the last snapshot", .of = LH_OF_LADDER,
            .main = "parts", .free = free_owners, .excess = owners_excess);
