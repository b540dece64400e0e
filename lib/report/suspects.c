/* suspects.c - holders of much memory: what they hold, how much, and the next questions. */
#include "report/report.h"

#define ROW lh_accumulated
static const lh_table accumulated = LH_TABLE_OF(
    "heap.accumulated", "class", "classes", LH_CLASS(NULL, class_index, "what accumulated"),
    LH_COUNT("objects", NULL, objects, "of a list or tree all its elements"),
    LH_BYTES("retained_bytes", NULL, bytes, "that would go with them"),
    LH_EXAMPLE("example", NULL, example, "the one that retains most"));
#undef ROW

LH_WORDS(suspect_name, "holder", "itself", "list", "tree")

#define ROW lh_suspect
const lh_table lh_suspect_table = LH_TABLE_OF(
    "heap.suspect", "suspect", "suspects",
    LH_WORD("kind", NULL, kind, suspect_name, "\"holder\", \"itself\", \"list\" or \"tree\""),
    LH_OBJECT("object", id, "the place", LH_ADDRESS), LH_HELD_BY(NULL, id, "its path"),
    LH_BYTES("retained_bytes", NULL, bytes, "of what has accumulated, all classes together"),
    LH_COUNT("objects", NULL, objects, "how many have accumulated"),
    LH_COUNT("total_classes", NULL, n_classes, "of how many classes these are"),
    LH_BYTES("around_bytes", NULL, around_bytes,
             "of these bytes those of the place itself, and of what lies between it and them"),
    LH_INLINE_ROWS("accumulated", accumulated, n_accumulated, &accumulated, "the first four"));
#undef ROW

#define ROW lh_suspects
static const lh_table suspects_answer = LH_TABLE_OF(
    "heap.suspects", NULL, NULL, LH_COUNT("total_suspects", NULL, n, "how many there are"),
    LH_BYTES("least_bytes", NULL, least_bytes, "what a suspect has at least"),
    LH_ROWS("suspects", list, n, &lh_suspect_table, "those with most bytes first", LH_LIMITED));
#undef ROW

static const char *itself_words(lh_report *report, lh_id id) {
  const char *what = lh_kept(report, lh_what_text(report->snapshot, id));
  lh_object object;
  lh_object_at(report->snapshot, id, &object);
  if (object.type == LH_TYPE_TABLE)
    return lh_words(report, "%s with %s", what,
                    lh_count_of(lh_lasting_entries(report->snapshot, id), "entry", "entries").text);
  if (object.type != LH_TYPE_THREAD) return what;
  return lh_words(report, "%s with a stack of %s", what,
                  lh_count_of(object.as.thread.frames, "frame", "frames").text);
}

static const char *contents_words(lh_report *report, const lh_suspect *s) {
  const lh_accumulated *first = &s->accumulated[0];
  if (s->n_accumulated == 0) return itself_words(report, s->id);
  if (2 * first->bytes >= s->bytes || s->n_classes == 1)
    return lh_count_words(report, first->class_index, first->objects);
  return lh_words(report, "%s of %s", lh_count_of(s->objects, "object", "objects").text,
                  lh_count_of(s->n_classes, accumulated.one, accumulated.many).text);
}

static const char *through_words(lh_report *report, lh_id id) {
  lh_path path;
  lh_text text = {0};
  text.failed = lh_shortest_path(report->snapshot, id, &path, NULL) != LH_OK;
  if (!text.failed) {
    lh_text_string(&text, "");
    lh_put_through(&text, report->snapshot, &path, false);
    lh_paths_free(&path, 1);
  }
  return lh_kept(report, lh_text_finish(&text));
}

void lh_print_suspect_line(lh_printer *t, lh_report *report, const lh_suspect *s) {
  static const char *const words[] = {"holds", "is big by itself:", "begins a list of",
                                      "is the root of a tree of"};
  lh_say(t, LH_BOLD, "%s%s %s %s, %s, %s of the heap", lh_path_words(report, s->id),
         through_words(report, s->id), words[s->kind], contents_words(report, s),
         lh_format_size(t, s->bytes).text, lh_share_of_heap(report, s->bytes).text);
}

static void print_class(lh_printer *t, const lh_accumulated *a) {
  lh_say(t, LH_PLAIN, "    %s, %s, %s each%s",
         lh_count_words(t->report, a->class_index, a->objects), lh_format_size(t, a->bytes).text,
         lh_format_size(t, a->bytes / a->objects).text, a->objects > 1 ? " on average" : "");
}

/* The rest is one line, unless it is a single class. */
static uint32_t shown_classes(const lh_suspect *s) {
  return s->n_classes <= LH_MOST_ACCUMULATED ? s->n_accumulated : LH_MOST_ACCUMULATED - 1;
}

static void print_accumulated(lh_printer *t, const lh_suspect *s) {
  uint64_t objects = s->objects, bytes = s->bytes - s->around_bytes;
  uint32_t n = shown_classes(s);
  lh_number around = lh_format_size(t, s->around_bytes);
  if (s->n_classes == 1) {
    lh_say(t, LH_PLAIN, "    %s each%s%s%s%s", lh_format_size(t, bytes / objects).text,
           objects > 1 ? " on average" : "", s->around_bytes > 0 ? ", and " : "",
           s->around_bytes > 0 ? around.text : "", s->around_bytes > 0 ? " around them" : "");
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    print_class(t, &s->accumulated[i]);
    objects -= s->accumulated[i].objects;
    bytes -= s->accumulated[i].bytes;
  }
  if (objects > 0)
    lh_say(t, LH_PLAIN, "    and %s of %s, %s",
           lh_count_of(objects, "other object", "other objects").text,
           lh_count_of(s->n_classes - n, accumulated.one, accumulated.many).text,
           lh_format_size(t, bytes).text);
  if (s->n_classes > 0 && s->around_bytes > 0)
    lh_say(t, LH_PLAIN, "    and %s around them", around.text);
}

/* Tasks in two queues of a module: the module dominates them, but the queues hold them. */
static bool is_held_below(const lh_snapshot *snapshot, const lh_suspect *s) {
  if (s->kind != LH_SUSPECT_HOLDER || s->accumulated[0].objects < 2) return false;
  if (lh_type_of(snapshot, s->accumulated[0].example) == LH_TYPE_STRING) return false;
  return lh_nearest_holder(snapshot, s->accumulated[0].example) != s->id;
}

static void print_next(lh_printer *t, const lh_report *report, const lh_suspect *s) {
  lh_print_next(t, report, "    Why it stays", LH_NEXT_PATHS, s->id);
  if (s->kind != LH_SUSPECT_ITSELF)
    lh_print_next(t, report, "    What is in it", LH_NEXT_UNDER, s->id);
  if (is_held_below(report->snapshot, s))
    lh_print_next_of(t, LH_PLAIN, "    What holds them", LH_NEXT_SET,
                     lh_class_at(report->snapshot, s->accumulated[0].class_index)->name, NULL);
}

static void print_suspects(lh_printer *t, lh_report *report) {
  const lh_suspects *suspects = report->answer;
  size_t n = t->limit == 0 || t->limit > suspects->n ? suspects->n : t->limit;
  if (suspects->n == 0)
    lh_say(t, LH_PLAIN, "Nothing suspicious: no place holds %s, %s of the heap",
           lh_format_size(t, suspects->least_bytes).text,
           lh_share_of_heap(report, suspects->least_bytes).text);
  for (size_t i = 0; i < n && !t->failed; i++) {
    const lh_suspect *s = &suspects->list[i];
    if (i > 0) lh_say(t, LH_PLAIN, "%s", "");
    lh_print_suspect_line(t, report, s);
    print_accumulated(t, s);
    print_next(t, report, s);
  }
  lh_print_hidden(t, &lh_suspect_table, suspects->n - n);
}

LH_FOUND_BY(suspects, lh_suspects, lh_find_suspects(snapshot, it, error))
LH_FREED_BY(suspects, lh_suspects, lh_suspects_free(it))

LH_QUESTION(suspects, .help = "what holds much, and where it accumulates", .main = "suspects",
            .free = free_suspects);
