/* set.c - why many objects are alive: their paths merged into one tree, after the main paths. */
#include "report/report.h"

/* The sentence names three paths, or four if that is all; long sentences are split into lines. */
enum { MOST_TOLD = 3, LONG_SENTENCE = 80 };

LH_ITS(bool, has_through, lh_holder, it->through)

#define ROW lh_holder
static const lh_table holder_table =
    LH_TABLE_OF("heap.held_by", "other path", "other paths", LH_TEXT("path", NULL, path, "folded"),
                LH_TEXT("through", NULL, through,
                        "who holds the function where the path begins at one", LH_OPTIONAL),
                LH_COUNT("through_objects", NULL, through_objects, "of how many objects that is so",
                         LH_WHERE(has_through)),
                LH_COUNT("objects", NULL, objects, "how many there are"));
#undef ROW

LH_ITS(bool, is_shown, lh_merged_row, it->hidden == 0)

static bool is_hidden(const void *row) {
  return !is_shown(row);
}

static bool is_below_the_root(const void *row) {
  return is_shown(row) && ((const lh_merged_row *)row)->id != LH_ROOT;
}

/* The objects of a row; NULL if obvious: the class of the set, or an object that the steps name. */
static const char *what_words(lh_report *report, const lh_merged_row *way) {
  const lh_merged_paths *merged = report->answer;
  bool is_named = way->through == 1 && way->depth == 1;
  if (way->id == LH_ROOT) return NULL;
  if (way->through == way->here && way->class_index == merged->class_index) return NULL;
  if (way->through > 1) return lh_count_words(report, way->class_index, way->through);
  if (is_named && lh_is_named_by_root(report->snapshot, way->id)) return NULL;
  return lh_kept(report, lh_what_text(report->snapshot, way->id));
}

/* .listeners.tick[*]: 198 Listener tables (12 here) */
static const char *row_words(lh_report *report, const lh_merged_row *way) {
  const char *what = way->hidden > 0 ? NULL : what_words(report, way);
  bool here = way->here > 0 && way->here < way->objects;
  if (way->hidden > 0) return lh_words(report, "... %s more", lh_count_text(way->hidden).text);
  return lh_words(report, "%s%s%s%s%s%s", way->steps, what ? ": " : "", what ? what : "",
                  here ? " (" : "", here ? lh_count_text(way->here).text : "",
                  here ? " here)" : "");
}
LH_CELL(set_text, lh_merged_row, cell->as.text = row_words(report, it))

LH_ITS(uint32_t, depth_of, lh_merged_row, it->depth)
LH_STYLE(style_of, lh_merged_row, it->hidden > 0 ? LH_FAINT : LH_PLAIN)

#define ROW lh_merged_row
static const lh_table way = LH_TABLE_WITH(
    (.depth = depth_of, .style = style_of), "heap.way", "row", "rows",
    LH_COUNT("depth", NULL, depth, "0 for the root"),
    LH_COUNT("objects", NULL, objects, "of the set, there and further on"),
    LH_BYTES("retained_bytes", "retained", bytes,
             "of what would go with the set, that which hangs here"),
    LH_SHARE("share", bytes, LH_WHOLE(lh_merged_paths, bytes)),
    LH_COUNT(NULL, "objects", objects, NULL),
    LH_COUNT("hidden", NULL, hidden,
             "only where it is about what is not shown: so many rows of that level",
             LH_ONLY_WHERE(is_hidden)),
    LH_TEXT("steps", NULL, steps,
            "how it goes on from the row above; this and all that follows is not in a row that has "
            "hidden",
            LH_ONLY_WHERE(is_shown)),
    LH_TEXT("path", NULL, path, "where that leads, folded; empty for the root",
            LH_ONLY_WHERE(is_shown)),
    LH_CLASS(NULL, class_index,
             "of what is there, null: of several; this and what follows is not in the root",
             LH_ONLY_WHERE(is_below_the_root), LH_WITHOUT_TYPE),
    LH_COUNT("through", NULL, through, "how many objects are there, on the way or of the set",
             LH_ONLY_WHERE(is_below_the_root)),
    LH_COUNT("here", NULL, here, "how many of these are of the set",
             LH_ONLY_WHERE(is_below_the_root)),
    LH_EXAMPLE("example", NULL, id, "one of them, of the set if any is",
               LH_ONLY_WHERE(is_below_the_root)),
    LH_EXAMPLE(NULL, "example", id, NULL, LH_WHERE(is_below_the_root)),
    LH_COMPUTED(NULL, "held by way of", LH_COLUMN_TEXT, set_text, NULL));
#undef ROW

LH_ITS(bool, has_elsewhere, lh_merged_paths, it->objects_elsewhere > 0)

#define ROW lh_merged_paths
static const lh_table set_answer = LH_TABLE_OF(
    "heap.ways", NULL, NULL, LH_COUNT("objects", NULL, objects, "those of the set that are alive"),
    LH_CLASS(NULL, class_index, "of all these; null: they are of several classes", LH_OPTIONAL,
             LH_WITHOUT_TYPE),
    LH_BYTES("retained_bytes", NULL, bytes, "what would be freed if all of them went"),
    LH_COUNT("garbage_objects", NULL, garbage_objects, "those of the set that are garbage"),
    LH_BYTES("garbage_bytes", NULL, garbage_bytes, "their shallow bytes"),
    LH_COUNT("total_held_by", NULL, total_holders,
             "by how many paths they are held, listed or not"),
    LH_INLINE_ROWS("held_by", holders, n_holders, &holder_table,
                   "those by which most are held, at most five"),
    LH_COUNT("objects_elsewhere", NULL, objects_elsewhere,
             "how many would stay if of each one's path in the tree the last reference went"),
    LH_INLINE_ROW("elsewhere", elsewhere, &holder_table,
                  "the path by which most of these would, null where there are none",
                  LH_WHERE(has_elsewhere)),
    LH_ROWS("rows", rows, n_rows, &way, "the tree, in the order in which text has it"));
#undef ROW

/* "upvalue s of function @app.lua:7 (through _G.bus[*])", or "(12 of them through ...)" */
static void put_holder(lh_text *text, const lh_holder *holder) {
  lh_text_string(text, holder->path);
  if (!holder->through) return;
  lh_text_string(text, " (");
  if (holder->through_objects < holder->objects)
    lh_text_format(text, "%s of them ", lh_count_text(holder->through_objects).text);
  lh_text_format(text, "through %s)", holder->through);
}

/* "198 are held by _G.bus.listeners.tick[*], 2 by registry[*] and 3 by 2 other paths". */
static char *holders_text(const lh_merged_paths *merged, bool lines) {
  const uint32_t most = merged->total_holders == MOST_TOLD + 1 ? MOST_TOLD + 1 : MOST_TOLD;
  const uint32_t n = merged->n_holders < most ? merged->n_holders : most;
  const char *between = lines ? "\n    " : ", ", *last = lines ? between : " and ";
  uint64_t left = merged->objects;
  lh_text text = {0};
  for (uint32_t i = 0; i < n; i++) {
    uint64_t objects = merged->holders[i].objects;
    bool all = objects == merged->objects, one = objects == 1;
    lh_text_format(&text, "%s%s%s by ", i > 0 || lines ? between : " ",
                   all ? "" : lh_count_text(objects).text,
                   i > 0        ? ""
                   : all && one ? "held"
                   : all        ? "all are held"
                   : one        ? " is held"
                                : " are held");
    put_holder(&text, &merged->holders[i]);
    left -= objects;
  }
  if (left > 0)
    lh_text_format(&text, "%s%s by %s", last, lh_count_text(left).text,
                   lh_count_of(merged->total_holders - n, "other paths", holder_table.many).text);
  return lh_text_finish(&text);
}

/* "(all of them also by _G.by_name[*])": cutting the paths above does not free these. */
static void put_elsewhere(lh_text *text, const lh_merged_paths *merged) {
  uint64_t n = merged->objects_elsewhere;
  if (n == 0) return;
  if (merged->objects == 1)
    lh_text_string(text, "\n(also by ");
  else
    lh_text_format(text, "\n(%s of them also by ",
                   n == merged->objects ? "all" : lh_count_text(n).text);
  put_holder(text, &merged->elsewhere);
  lh_text_format(text, "%s)", merged->elsewhere.objects < n ? " and others" : "");
}

static void print_set_sentence(lh_printer *t, lh_report *report, const lh_merged_paths *merged) {
  const char *what = lh_count_words(report, merged->class_index, merged->objects);
  const char *holders = lh_kept(report, holders_text(merged, false));
  if (merged->total_holders > 1 && strlen(what) + strlen(holders) > LONG_SENTENCE)
    holders = lh_kept(report, holders_text(merged, true));
  lh_text text = {0};
  lh_text_format(&text, "%s %s %s%s:%s", what, merged->objects == 1 ? "retains" : "retain",
                 lh_format_size(t, merged->bytes).text, merged->objects == 1 ? "" : " together",
                 holders);
  put_elsewhere(&text, merged);
  lh_say_text(t, LH_BOLD, &text);
}

/* Garbage of the set is in no row. */
static void print_garbage(lh_printer *t, const lh_report *report, const lh_merged_paths *merged) {
  const char *why = report->request.n_ignored > 0 ? "garbage or held by what is ignored only"
                                                  : "garbage that was not yet collected";
  if (merged->objects == 0)
    lh_say(t, LH_BOLD, "nothing keeps them alive: %s, %s, %s",
           lh_count_of(merged->garbage_objects, "object", "objects").text,
           lh_format_size(t, merged->garbage_bytes).text, why);
  else if (merged->garbage_objects > 0)
    lh_say(t, LH_PLAIN, "%s more %s %s, %s", lh_count_text(merged->garbage_objects).text,
           merged->garbage_objects == 1 ? "is" : "are", why,
           lh_format_size(t, merged->garbage_bytes).text);
}

static void print_set(lh_printer *t, lh_report *report) {
  const lh_merged_paths *merged = report->answer;
  uint64_t hidden = 0;
  if (merged->objects > 0) print_set_sentence(t, report, merged);
  if (merged->objects == 0) print_garbage(t, report, merged);
  lh_print_asked(t, report);
  if (merged->objects == 0) return;
  print_garbage(t, report, merged);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &way, merged->rows, merged->n_rows);
  for (size_t i = 0; i < merged->n_rows; i++) hidden += merged->rows[i].hidden;
  if (hidden > 0 && t->all) lh_say(t, LH_FAINT, "%s", t->all);
}

LH_FOUND_BY(set, lh_merged_paths,
            lh_merge_paths(snapshot, request->ids, request->n_ids, request->limit, it, error))
LH_FREED_BY(set, lh_merged_paths, lh_merged_paths_free(it))

LH_ITS(bool, is_no, lh_merged_paths, it->objects == 0)

LH_QUESTION(set, .main = "rows", .is_no = is_no, .free = free_set);
