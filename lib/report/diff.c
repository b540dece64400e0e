/*
** diff.c - objects that were allocated between two moments and are still alive.
**
** The moments are snapshots of one Lua state, marks, or the ends of an interval. Other tables of
** the report: diff_rows.c.
*/
#include "report/report.h"
#include "thresholds.h"

static bool is_flagged(const lh_request *request, const lh_diff_group *group) {
  return request->factor != 0 && group->objects > 0 && group->objects % request->factor == 0;
}

LH_CELL(type_of, lh_diff_group,
        cell->as.text = lh_type_name(lh_class_at(report->snapshot, it->class_index)->type))
LH_CELL(flagged, void, cell->is_absent = report->request.factor == 0,
        cell->as.flag = is_flagged(&report->request, row))

LH_CELL(multiple_of, lh_diff_group, cell->is_null = !is_flagged(&report->request, it),
        cell->as.n = cell->is_null ? 0 : it->objects / report->request.factor)

static bool is_of_three(const lh_report *report) {
  return ((const lh_diff_found *)report->answer)->n_snapshots == 3;
}

/* "_G.data[*] and _G.close[*]" */
LH_CELL(all_holders, lh_diff_group,
        cell->as.text = it->also_held_by
                            ? lh_words(report, "%s and %s", it->held_by, it->also_held_by)
                            : it->held_by)

LH_CELL(absent_unless_known_in_three, lh_diff_group,
        cell->is_absent = !is_of_three(report) || it->is_vague)
LH_HEADING_OF(each_heading, is_of_three(report) ? "in each snapshot" : NULL)

static const char *multiple_heading(const lh_report *report) {
  const lh_diff_found *f = report->answer;
  return report->request.factor != 0 ? f->multiple : NULL;
}

LH_STYLE(style_of, lh_diff_group, is_flagged(&report->request, it) ? LH_ALARM : LH_PLAIN)

static const char *line_below(lh_report *report, const void *row) {
  return lh_allocated_line(report, &((const lh_diff_group *)row)->allocated);
}

#define ROW lh_diff_group
const lh_table lh_group_table = LH_TABLE_WITH(
    (.style = style_of, .below = line_below), "heap.group", "group", "groups",
    LH_INLINE_TEXT("fingerprint", NULL, fingerprint, "the same in every run of the program",
                   LH_UNBROKEN, LH_HEADING(lh_fingerprint_heading)),
    LH_TEXT("class", NULL, class_name, "its name"),
    LH_COMPUTED("type", NULL, LH_COLUMN_TEXT, type_of, "and its type"),
    LH_TEXT("held_by", NULL, held_by, "a folded path"),
    LH_TEXT("also_held_by", NULL, also_held_by,
            "and what else holds half of them or more, each by itself", LH_OPTIONAL),
    LH_COUNT_SERIES(
        "at", NULL, at,
        "of three snapshots: how many such objects are at that path in each, new or not; "
        "absent if one of them does not tell the keys of the path apart",
        LH_OPTIONAL, .compute = absent_unless_known_in_three),
    LH_COUNT("cause", NULL, cause,
             "the same number for all that is about one cause: of one container, of its keys, of "
             "what is in its elements"),
    LH_COUNT("objects", NULL, objects,
             "how many: those that no other new object retains, and the rest of a linked list that "
             "begins with one of these"),
    LH_BYTES("shallow_bytes", NULL, shallow_bytes, "of these"),
    LH_BYTES("retained_bytes", NULL, retained_bytes, "that would go with them"),
    LH_COUNT("new_objects", NULL, new_objects,
             "how many new objects these retain, themselves included"),
    LH_BYTES("new_bytes", NULL, new_bytes, "their shallow sizes"),
    LH_EXAMPLE("example", NULL, example, "the one that retains most"),
    LH_ALLOCATED(allocated, "where they were, if the program was tracked: the site of most"),
    LH_COMPUTED("flagged", NULL, LH_COLUMN_FLAG, flagged,
                "their number is a multiple; absent without a factor", LH_OPTIONAL),
    LH_BYTES(NULL, "retained", retained_bytes, NULL),
    LH_BYTES(NULL, "shallow", shallow_bytes, NULL, LH_WIDE),
    LH_COUNT(NULL, "objects", objects, NULL),
    LH_COMPUTED(NULL, NULL, LH_COLUMN_COUNT, multiple_of, NULL, LH_HEADING(multiple_heading)),
    LH_COUNT_SERIES(NULL, NULL, at, NULL, LH_HEADING(each_heading),
                    .compute = absent_unless_known_in_three),
    LH_EXAMPLE(NULL, "example", example, NULL, LH_WIDE), LH_TEXT(NULL, "class", class_name, NULL),
    LH_COMPUTED(NULL, "held by", LH_COLUMN_TEXT, all_holders, NULL));
#undef ROW

#define ROW lh_diff_sums
static const lh_table sums_table =
    LH_TABLE_OF("heap.known", NULL, NULL, LH_COUNT("groups", NULL, groups, "how many"),
                LH_COUNT("grown", NULL, containers, "how many"),
                LH_COUNT("objects", NULL, objects, "of the groups"),
                LH_BYTES("retained_bytes", NULL, retained_bytes, "the same"),
                LH_BYTES("grown_bytes", NULL, grown_bytes, "of the containers"));
#undef ROW

LH_CELL(absent_unless_known, void, cell->is_absent = !report->request.known)
LH_CELL(since_of, void, lh_name_asked(cell, report->request.since))
LH_CELL(until_of, void, lh_name_asked(cell, report->request.until))
LH_ITS(bool, has_doubt, lh_diff_found, it->may_be_newer[0] + it->may_be_newer[1] > 0)

#define ROW lh_diff_found
static const lh_table diff_answer = LH_TABLE_OF(
    "heap.diff", NULL, NULL,
    LH_FLAG("same_state", diff.same_state, "the snapshots are of one Lua state"),
    LH_COUNT("objects", NULL, new.objects, "how many are new and still reachable"),
    LH_BYTES("shallow_bytes", NULL, new.shallow_bytes, "of these"),
    LH_BYTES("retained_bytes", NULL, new.retained_bytes, "that would go if all of them went"),
    LH_COUNT_SERIES("may_be_newer", NULL, may_be_newer,
                    "of those that are called older than the first, and than the second of three "
                    "snapshots, or mark: how many may be newer at most; only where one of them "
                    "was taken from outside",
                    LH_ONLY_WHERE(has_doubt)),
    LH_BYTES_SERIES("may_be_newer_bytes", NULL, may_be_newer_bytes, "of these",
                    LH_ONLY_WHERE(has_doubt)),
    LH_INLINE_ROW("known", known, &sums_table, "what was left out; absent without a list of that",
                  LH_OPTIONAL, .compute = absent_unless_known),
    LH_COUNT("gone_objects", NULL, diff.gone_objects,
             "of two snapshots: how many were reachable in the first and are not in the second"),
    LH_BYTES("gone_bytes", NULL, diff.gone_bytes, "of these"),
    LH_COUNT("total_groups", NULL, new.groups, "how many there are, listed or not"),
    LH_ROWS("groups", diff.groups, new.groups, &lh_group_table,
            "those that retain most first, of three snapshots those that became most more in each "
            "interval",
            LH_LIMITED),
    LH_COUNT("total_grown", NULL, new.containers, "how many there are, listed or not"),
    LH_ROWS("grown", diff.grown, new.containers, &lh_grown_table,
            "the containers that grew, and the strings that were replaced by ever longer ones; of "
            "three "
            "snapshots",
            LH_LIMITED),
    LH_COUNT("total_classes", NULL, diff.n_classes, "how many there are, listed or not"),
    LH_ROWS("classes", diff.classes, diff.n_classes, &lh_class_change_table,
            "the change of each class, of two snapshots", LH_LIMITED),
    LH_COMPUTED("snapshots", NULL, LH_COLUMN_NAMES, lh_names_asked, "what they are called",
                LH_LUA_ONLY),
    LH_COMPUTED("since", NULL, LH_COLUMN_NAME, since_of, "the mark in place of snapshots",
                LH_LUA_ONLY, LH_OPTIONAL),
    LH_COMPUTED("until", NULL, LH_COLUMN_NAME, until_of, "the mark at the end", LH_LUA_ONLY,
                LH_OPTIONAL));
#undef ROW

static const char *last_name(const lh_report *report) {
  return report->names[report->request.n_names - 1];
}

static const char *moment_words(lh_report *report, int i) {
  if (((const lh_diff_found *)report->answer)->n_snapshots > 0) return report->names[i];
  return lh_name_words(report, i == 0 ? report->request.since : report->request.until);
}

/* "between a and b", "since the mark x": when the objects were allocated. */
static const char *when_words(lh_report *report) {
  const lh_request *r = &report->request;
  bool has_snapshots = ((const lh_diff_found *)report->answer)->n_snapshots > 0;
  if (has_snapshots || (r->since && r->until))
    return lh_words(report, "between %s%s and %s", has_snapshots ? "" : "the marks ",
                    moment_words(report, 0), moment_words(report, 1));
  if (r->since) return lh_words(report, "since the mark %s", moment_words(report, 0));
  return r->has_interval ? lh_interval_words(report, r->interval) : "at any time";
}

static const char *grown_words(const lh_printer *t, const lh_diff_found *f) {
  const lh_diff_sums *new = &f->new;
  uint64_t n = lh_count_grown(f->diff.grown, new->containers), n_older = n - new->strings;
  const char *what =
      n == 0
          ? ""
          : lh_words(
                t->report, "; %s%s%s ",
                n_older > 0 ? lh_count_of(n_older, "older container", "older containers").text : "",
                n_older > 0 && new->strings > 0 ? " and " : "",
                new->strings > 0 ? lh_count_of(new->strings, "string", "strings").text : "");
  if (new->grown_bytes > 0)
    return lh_words(t->report, "%sgrew by %s", what, lh_format_size(t, new->grown_bytes).text);
  return n == 0 ? ""
                : lh_words(t->report, "%s%s more entries, but no more bytes", what,
                           n == 1 ? "has" : "have");
}

/* Noise comes last in the usual order. Only `-n 0` tells it, unless there is nothing else. */
static size_t count_noise(const lh_report *report) {
  const lh_diff_found *f = report->answer;
  const lh_request *r = &report->request;
  size_t n = 0;
  if (r->sort != LH_SORT_RETAINED || r->factor != 0) return 0;
  for (size_t i = 0; i < f->new.groups; i++) n += f->diff.groups[i].is_noise;
  return n;
}

static bool is_all_noise(const lh_report *report) {
  const lh_diff_sums *new = &((const lh_diff_found *)report->answer)->new;
  return new->groups > 0 && new->containers == 0 && count_noise(report) == new->groups;
}

static void print_diff_sentence(lh_printer *t, lh_report *report) {
  const lh_diff_found *f = report->answer;
  const lh_diff_sums *new = &f->new, *known = &f->known;
  bool is_tenth = new->retained_bytes / 10 * 9 > new->shallow_bytes;
  bool is_more = (t->exact_bytes || is_tenth) &&
                 !lh_sizes_read_alike(new->retained_bytes, new->shallow_bytes, t->exact_bytes);
  lh_say(
      t, LH_BOLD, "%s allocated %s %s still alive in %s%s%s%s%s%s",
      new->objects == 0 ? "Nothing that was" : lh_count_of(new->objects, "object", "objects").text,
      when_words(report), new->objects < 2 ? "is" : "are", last_name(report),
      new->objects > 0 ? ": " : "",
      new->objects > 0 ? lh_format_size(t, new->shallow_bytes).text : "",
      is_more ? ", retaining " : "", is_more ? lh_format_size(t, new->retained_bytes).text : "",
      grown_words(t, f));
  if (is_all_noise(report))
    lh_say(
        t, LH_PLAIN,
        "That is noise: less than a thousandth of the heap at each path, and no path grew in both "
        "intervals");
  lh_print_known(t, report, known->groups + known->containers,
                 known->retained_bytes + known->grown_bytes, known->objects);
}

/* Did the first container grow by more than the first group retains? Then it is the first row. */
static bool grew_most(const lh_diff_found *f) {
  uint64_t bytes = f->new.containers > 0 ? lh_grown_by(f->diff.grown[0].shallow_bytes) : 0;
  return bytes > 0 && (f->new.groups == 0 || bytes > f->diff.groups[0].retained_bytes);
}

/* How many more objects of the type are at the place in the second, and in the third snapshot. */
typedef struct increments {
  double first, second, least;
} increments;

static increments increments_of(const lh_diff_group *group) {
  double first = (double)group->type_at[1] - (double)group->type_at[0];
  double second = (double)group->type_at[2] - (double)group->type_at[1];
  return (increments){first, second, first < second ? first : second};
}

/* Is the growth what chance would bring, as most of the new objects replaced others? */
static bool is_churn(const lh_diff_group *group) {
  double least = increments_of(group).least, objects = (double)group->objects;
  return least < objects / 2 && least * least < 4 * objects;
}

/* Did a third less come in the second interval, and is that more than chance? */
static bool slows_down(const lh_diff_group *group) {
  increments more = increments_of(group);
  double missing = more.first - more.second;
  return missing >= more.first / 3 && missing * missing > 4 * (more.first + more.second);
}

/* Returns the first group that goes on growing, if the first of all does not. NULL: none. */
static const lh_diff_group *steadier_than_first(const lh_report *report) {
  const lh_diff_found *f = report->answer;
  const lh_diff_group *groups = f->diff.groups;
  size_t n = f->new.groups;
  if (!is_of_three(report) || n < 2 || grew_most(f) || report->request.sort != LH_SORT_RETAINED ||
      report->request.factor != 0 || !(is_churn(&groups[0]) || slows_down(&groups[0])))
    return NULL;
  for (size_t i = 1; i < n; i++) {
    increments more = increments_of(&groups[i]);
    bool goes_on = more.least >= LH_LEAST_AGED && 10 * more.second >= 9 * more.first;
    if (goes_on && !groups[i].is_vague && !is_churn(&groups[i])) return &groups[i];
  }
  return NULL;
}

static const char *increments_words(lh_report *report, const lh_diff_group *group) {
  return lh_words(report, "%s, %s, %s", lh_count_text(group->type_at[0]).text,
                  lh_count_text(group->type_at[1]).text, lh_count_text(group->type_at[2]).text);
}

/* A leak may be far smaller than what fills up, and than what comes and goes. */
static void print_if_first_ends(lh_printer *t, lh_report *report) {
  const lh_diff_group *first = ((const lh_diff_found *)report->answer)->diff.groups;
  const lh_diff_group *steady = steadier_than_first(report);
  if (!steady) return;
  lh_say(t, LH_PLAIN,
         "The first row may be no leak: it %s (%s), while %s goes on (%s); a fourth and fifth "
         "snapshot decide: heapattach --every and heap.auto take them",
         slows_down(first) ? "slows down" : "comes and goes", increments_words(report, first),
         steady->held_by, increments_words(report, steady));
}

/* Could what is in doubt be another tenth of what is told? */
static bool is_doubt_large(const lh_diff_sums *new, uint64_t objects, uint64_t bytes) {
  enum { TENTH = 10 };
  return TENTH * objects >= new->objects || TENTH *bytes >= new->retained_bytes + new->grown_bytes;
}

/* Marks separate older objects exactly. Without a mark (a snapshot from outside, or a cleared
** registry) the objects in both snapshots count as older, and some may be newer. */
static void print_doubt(lh_printer *t, lh_report *report) {
  const lh_diff_found *f = report->answer;
  const uint64_t *n = f->may_be_newer, *bytes = f->may_be_newer_bytes;
  int more = n[1] > n[0];
  bool are_both = n[0] > 0 && n[1] > 0;
  if (n[more] == 0 || !is_doubt_large(&f->new, n[more], bytes[more])) return;
  bool inside = f->n_snapshots > 0 && !lh_snapshot_outside(report->request.snapshots[more]);
  lh_say(t, LH_FAINT,
         "%s%s%s%s: at most %s (%s) of the objects that count as older than %s may be newer",
         moment_words(report, are_both ? 0 : more), are_both ? " and " : "",
         are_both ? moment_words(report, 1) : "",
         inside     ? " left no mark in the heap"
         : are_both ? " were taken from outside"
                    : " was taken from outside",
         lh_count_text(n[more]).text, lh_format_size(t, bytes[more]).text,
         are_both ? "either" : "it");
}

/* ==== Groups, and unexplained growth ================================================= */

static void print_multiples(lh_printer *t, const lh_report *report, uint64_t n_flagged) {
  uint64_t n = ((const lh_diff_found *)report->answer)->new.groups;
  if (report->request.factor != 0)
    lh_say(t, LH_PLAIN, "%s of %s %s a multiple of %s objects%s",
           n_flagged == 0 ? "None" : lh_count_text(n_flagged).text,
           lh_count_of(n, lh_group_table.one, lh_group_table.many).text,
           n_flagged < 2 ? "has" : "have", lh_count_text(report->request.factor).text,
           n_flagged == 0 ? "" : ": look there first");
}

/* If no path has more objects at the end, a full cache explains the new ones. */
static void print_if_full(lh_printer *t, const lh_report *report, size_t n) {
  const lh_diff_found *f = report->answer;
  bool since_a = true, since_b = true;
  if (!is_of_three(report)) return;
  for (size_t i = 0; i < n; i++) {
    since_a = since_a && f->diff.groups[i].type_at[2] <= f->diff.groups[i].type_at[0];
    since_b = since_b && f->diff.groups[i].type_at[2] <= f->diff.groups[i].type_at[1];
  }
  if (since_a || since_b)
    lh_say(t, LH_PLAIN,
           "\nNone of these paths has more objects in %s than in %s: what came replaced what went, "
           "as in a full cache",
           report->names[2], report->names[since_a ? 0 : 1]);
}

/* Why a row has no number in each snapshot. */
static void print_vague(lh_printer *t, const lh_report *report, size_t n) {
  const lh_diff_group *groups = ((const lh_diff_found *)report->answer)->diff.groups;
  size_t told = t->limit != 0 && n > t->limit ? t->limit : n, i = 0;
  while (i < told && !groups[i].is_vague) i++;
  if (is_of_three(report) && i < told)
    lh_say(t, LH_FAINT,
           "Where no number is told in each snapshot, one of them does not tell the keys of that "
           "path apart");
}

static void print_group_table(lh_printer *t, lh_report *report) {
  const lh_diff_found *f = report->answer;
  size_t n = f->new.groups, n_noise = is_all_noise(report) ? 0 : count_noise(report);
  bool tells_noise = t->limit == 0 || n_noise == n;
  lh_print_table(t, report, &lh_group_table, f->diff.groups, tells_noise ? n : n - n_noise, n);
  if (n_noise > 0)
    lh_say(
        t, LH_FAINT,
        "The last %s noise: less than a thousandth of the heap%s, and no growth in both "
        "intervals",
        n_noise == 1 ? "group is" : lh_words(report, "%s groups are", lh_count_text(n_noise).text),
        n_noise == 1 ? "" : " each");
  print_vague(t, report, tells_noise ? n : n - n_noise);
  print_if_full(t, report, n_noise == n ? n : n - n_noise);
}

static void print_groups(lh_printer *t, lh_report *report, bool come_second) {
  const lh_diff_found *f = report->answer;
  uint64_t n_flagged = 0, n_heads = 0;
  if (f->new.groups == 0) return;
  for (size_t i = 0; i < f->new.groups; i++) {
    n_flagged += is_flagged(&report->request, &f->diff.groups[i]);
    n_heads += f->diff.groups[i].objects;
  }
  if (n_heads < f->new.objects)
    lh_say(t, LH_PLAIN,
           "%s%s of %s %s the others; by class and by what holds them:", come_second ? "\n" : "",
           lh_count_text(n_heads).text, come_second ? "the new objects" : "them",
           n_heads == 1 ? "retains" : "retain");
  else if (come_second)
    lh_say(t, LH_PLAIN, "\nThe new objects, by class and by what holds them:");
  print_multiples(t, report, n_flagged);
  lh_say(t, LH_PLAIN, "%s", "");
  print_group_table(t, report);
  if (t->thorough && count_noise(report) < f->new.groups)
    lh_print_how_held(t, report, f->diff.groups[0].example);
}

static uint64_t live_bytes(lh_printer *t, lh_snapshot *snapshot) {
  lh_reach reach;
  lh_reach_totals(snapshot, &reach);
  if (reach.reachable_objects == 0) t->failed |= lh_analyse(snapshot, NULL) != LH_OK;
  lh_reach_totals(snapshot, &reach);
  return reach.reachable_bytes - reach.own_bytes;
}

/* Explains growth without new objects and grown containers: a table grew once, or was emptied,
** which does not shrink it. */
static void print_unexplained(lh_printer *t, lh_report *report) {
  enum { TENTH = 10 };
  const lh_diff_found *f = report->answer;
  const lh_request *r = &report->request;
  uint64_t told = f->diff.retained_bytes + f->new.grown_bytes + f->known.grown_bytes;
  if (!is_of_three(report)) return;
  uint64_t to = live_bytes(t, r->snapshots[2]);
  if (told >= to / TENTH) return;
  uint64_t from = live_bytes(t, r->snapshots[0]);
  if (to < from + LH_LEAST_UNTOLD || to < from + from / TENTH || told >= (to - from) / TENTH)
    return;
  lh_say(t, LH_PLAIN,
         "\nThe heap grew by %s all the same: %s tells where,\n%s what could be given back",
         lh_format_size(t, to - from).text,
         lh_kept(report, t->next(t, NULL, LH_NEXT_OWNERS, r->names[0], r->names[2])),
         lh_kept(report, t->next(t, NULL, LH_NEXT_WASTE, "", NULL)));
}

static void print_freed(lh_printer *t, const lh_report *report) {
  const lh_diff_found *f = report->answer;
  if (f->n_snapshots != 2) return;
  if (f->diff.gone_objects == 0)
    lh_say(t, LH_PLAIN, "\nNothing of %s is gone", report->names[0]);
  else
    lh_say(t, LH_PLAIN, "\n%s of %s %s gone: %s",
           lh_count_of(f->diff.gone_objects, "object", "objects").text, report->names[0],
           f->diff.gone_objects == 1 ? "is" : "are", lh_format_size(t, f->diff.gone_bytes).text);
}

static void print_containers(lh_printer *t, lh_report *report) {
  const lh_diff_found *f = report->answer;
  lh_grown_table.print(t, report, f->diff.grown, f->new.containers);
}

static void print_diff(lh_printer *t, lh_report *report) {
  const lh_diff_found *f = report->answer;
  print_diff_sentence(t, report);
  print_if_first_ends(t, report);
  print_doubt(t, report);
  lh_print_finalized(t, report->snapshot);
  lh_print_garbage_cause(t, report, &f->garbage);
  bool containers_first = grew_most(f);
  if (containers_first) print_containers(t, report);
  print_groups(t, report, containers_first);
  if (!containers_first) print_containers(t, report);
  if (t->thorough) print_unexplained(t, report);
  print_freed(t, report);
  if (f->diff.n_classes > 0)
    lh_class_change_table.print(t, report, f->diff.classes, f->diff.n_classes);
  if (count_noise(report) == f->new.groups && !containers_first) return;
  lh_id first = containers_first ? f->diff.grown[0].id : f->diff.groups[0].example;
  bool is_string = containers_first && lh_type_of(report->snapshot, first) == LH_TYPE_STRING;
  lh_print_next_of(t, LH_FAINT,
                   is_string          ? "\nWhy the first string stays"
                   : containers_first ? "\nWhy the first container stays"
                                      : "\nWhy the first group stays",
                   LH_NEXT_PATHS, lh_address_text(report->snapshot, first).text, NULL);
}

static uint64_t rank(const lh_request *request, const lh_diff_group *group) {
  if (request->sort == LH_SORT_SHALLOW) return group->shallow_bytes;
  return request->sort == LH_SORT_COUNT ? group->objects : group->weight;
}

/* Known groups last, flagged ones first, then the order of the request. Examples are unique. */
static int compare_groups(const void *left, const void *right, void *payload) {
  const lh_diff_group *a = left, *b = right;
  const lh_request *r = payload;
  return lh_is_known(r, a->fingerprint) - lh_is_known(r, b->fingerprint) ?:
         is_flagged(r, b) - is_flagged(r, a) ?: LH_MORE(rank(r, a), rank(r, b)) ?:
         LH_MORE(a->retained_bytes, b->retained_bytes) ?: LH_LESS(a->example, b->example);
}

static void split_groups(lh_diff_found *f, const lh_request *request) {
  const lh_diff *d = &f->diff;
  if (d->n_groups > 1)
    qsort_r(d->groups, d->n_groups, sizeof *d->groups, compare_groups, (void *)request);
  for (size_t i = 0; i < d->n_groups; i++) {
    const lh_diff_group *group = &d->groups[i];
    if (!lh_is_known(request, group->fingerprint)) {
      f->new.groups++;
      continue;
    }
    f->known.groups++;
    f->known.objects += group->new_objects;
    f->known.shallow_bytes += group->new_bytes;
    f->known.retained_bytes += group->retained_bytes;
  }
  f->new.objects = d->objects - f->known.objects;
  f->new.shallow_bytes = d->shallow_bytes - f->known.shallow_bytes;
  f->new.retained_bytes = d->retained_bytes - f->known.retained_bytes;
}

/* The containers that are not known keep their order. */
static void split_grown(lh_diff_found *f, const lh_snapshot *c, const lh_request *request) {
  lh_diff *d = &f->diff;
  for (size_t i = 0; i < d->n_grown; i++) {
    lh_grown grown = d->grown[i];
    bool is_known = lh_is_known(request, grown.fingerprint);
    lh_diff_sums *sums = is_known ? &f->known : &f->new;
    sums->grown_bytes += lh_grown_by(grown.shallow_bytes);
    if (!is_known) {
      d->grown[i] = d->grown[sums->containers];
      d->grown[sums->containers] = grown;
    }
    sums->containers++;
    sums->strings += lh_type_of(c, grown.id) == LH_TYPE_STRING;
  }
}

/* Takes over `diff`. */
static int print_apart(lh_diff_found *f, lh_snapshot *c, lh_diff *diff, size_t n_snapshots,
                       const lh_request *r, lh_error *error) {
  if (!lh_renew_known_of_diff(r, c, diff)) {
    lh_diff_free(diff);
    return lh_fail_memory(error, "looking for what is known");
  }
  f->whole = diff;
  f->diff = *diff;
  f->n_snapshots = n_snapshots;
  if (n_snapshots > 0) lh_find_garbage_cause(c, &f->garbage);
  split_groups(f, r);
  split_grown(f, c, r);
  for (int i = 0; i < 2; i++) {
    f->may_be_newer[i] = diff->possibly_newer[i].objects;
    f->may_be_newer_bytes[i] = diff->possibly_newer[i].bytes;
  }
  (void)snprintf(f->multiple, sizeof f->multiple, "/ %s", lh_count_text(r->factor).text);
  return LH_OK;
}

/* The timeline and the bar of each page count these objects. */
static void print_interval(lh_printer *t, lh_report *report) {
  const lh_diff *diff = &((const lh_diff_found *)report->answer)->diff;
  print_diff(t, report);
  if (diff->left_objects > 0)
    lh_say(t, LH_FAINT,
           "\nNot counted: %s, %s, of luaheap's module and of the call that took the snapshot",
           lh_count_of(diff->left_objects, "object", "objects").text,
           lh_format_size(t, diff->left_bytes).text);
}

static int find_diff(lh_snapshot *snapshot, const lh_request *r, void *out, lh_error *error) {
  lh_diff *diff;
  int code = r->since
                 ? lh_diff_marks(snapshot, r->since, r->until, &diff, error)
                 : lh_diff_snapshots(r->snapshots[0], r->n_snapshots > 2 ? r->snapshots[1] : NULL,
                                     snapshot, &diff, error);
  return code == LH_OK ? print_apart(out, snapshot, diff, r->since ? 0 : r->n_snapshots, r, error)
                       : code;
}

static int find_interval(lh_snapshot *snapshot, const lh_request *r, void *out, lh_error *error) {
  lh_diff *diff;
  lh_interval interval = LH_EVER;
  if (r->has_interval) interval = r->interval;
  int code = lh_diff_interval(snapshot, interval, &diff, error);
  return code == LH_OK ? print_apart(out, snapshot, diff, 0, r, error) : code;
}

LH_FREED_BY(diff, lh_diff_found, lh_diff_free(it->whole))

static void diff_excess(const lh_report *report, lh_excess *out) {
  const lh_diff_sums *new = &((const lh_diff_found *)report->answer)->new;
  *out = (lh_excess){.bytes = new->retained_bytes,
                     .objects = new->objects,
                     .grown_bytes = new->grown_bytes,
                     .what = "retained"};
}

LH_QUESTION(diff, .command = "heapdiff", .main = "groups", .free = free_diff,
            .excess = diff_excess);

LH_QUESTION_WITH(interval, diff_answer, .command = "heapview", .main = "groups", .free = free_diff,
                 .excess = diff_excess);
