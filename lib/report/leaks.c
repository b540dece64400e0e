/* leaks.c - leak candidates by certainty, then bytes; then objects that are only big. */
#include "report/leaks.h"

#include "thresholds.h"

LH_CELL(type_of, lh_cause, cell->as.text = it->type == LH_TYPE_ROOT ? NULL : lh_type_name(it->type))
LH_ITS(bool, has_limit, lh_cause, it->bound.limit > 0)

/* Is the example the table that holds the objects? Its bytes are the row's. */
static bool is_of_collection(const lh_cause *leak) {
  return leak->collection && leak->collection->id == leak->example;
}

LH_CELL(ages_of, lh_cause, cell->as.series.n = ((const lh_causes *)report->answer)->history.n)
LH_CELL(keys_of, lh_cause,
        cell->as.text = it->collection ? lh_keying_name(it->collection->keying) : NULL)

#define ROW lh_cause
static const lh_table leak_table = LH_TABLE_OF(
    "heap.cause", "place", "places",
    LH_WORD("prospect", NULL, prospect, lh_prospect_name,
            "\"grows\", which is certain; \"may grow\"; \"bounded\""),
    LH_TEXT("class", NULL, class_name, "of several the most frequent ones"),
    LH_COMPUTED("type", NULL, LH_COLUMN_TEXT, type_of, "null for what is no object", LH_OPTIONAL),
    LH_TEXT("held_by", NULL, held_by, "a folded path"),
    LH_TEXT("also_held_by", NULL, also_held_by, "and what else holds half of them or more",
            LH_OPTIONAL),
    LH_COUNT("objects", NULL, objects, "how many are there, of all ages"),
    LH_BYTES("retained_bytes", NULL, bytes,
             "of these, with the keys or values beside them; and with their table if it is the "
             "example"),
    LH_COUNT_SERIES("ages", NULL, ages,
                    "how many were allocated before the first mark and in each interval between "
                    "marks (of more than seven in sevenths of them); without marks in eighths of "
                    "the order of allocation",
                    .compute = ages_of),
    LH_NUMBER("limit", bound.limit,
              "a number stored near them, such as max, that seems to cap them",
              LH_WHERE(has_limit)),
    LH_STRING("limit_name", bound.name, "the key that it is under", LH_OPTIONAL),
    LH_COMPUTED("keys", NULL, LH_COLUMN_TEXT, keys_of,
                "of the table that holds them, as of a collection (growing)", LH_OPTIONAL),
    LH_EXAMPLE("example", NULL, example, "one of them, or the table that has them"),
    LH_ALLOCATED(allocated,
                 "where those were that came in the middle of its life, if it was tracked"));
#undef ROW

#define ROW lh_causes
static const lh_table leaks_answer = LH_TABLE_OF(
    "heap.causes", NULL, NULL, LH_COUNT("total_leaks", NULL, n_leaks, "how many there are"),
    LH_COUNT("total_certain", NULL, n_certain, "how many of them grow"),
    LH_COUNT("total_likely", NULL, n_likely, "how many may grow"),
    LH_ROWS("leaks", leaks, n_leaks, &leak_table, "the most certain first", LH_LIMITED),
    LH_ROWS("big", big, n_big, &lh_suspect_table,
            "the suspects that none of these is in; and strings that may have replaced "
            "shorter ones",
            LH_LIMITED));
#undef ROW

static void print_leak_sentence(lh_printer *t, const lh_report *report, const lh_cause *leak) {
  lh_text text = {0};
  lh_text_string(&text, leak->held_by);
  if (leak->also_held_by) lh_text_format(&text, " and %s", leak->also_held_by);
  lh_text_string(&text, " ");
  lh_put_prospect(&text, (lh_prospect)leak->prospect, &leak->bound);
  lh_text_string(&text, " ");
  lh_append_count(&text, leak->objects, leak->class_name, leak->type);
  lh_text_format(&text, ", %s%s, %s of the heap", lh_format_size(t, leak->bytes).text,
                 is_of_collection(leak) ? lh_with_their_tables(leak->collection) : "",
                 lh_share_of_heap(report, leak->bytes).text);
  lh_say_text(t, leak->prospect == LH_GROWS ? LH_BOLD : LH_PLAIN, &text);
}

/* A queue lets go of what it has had, so its ages are those of a full cache; but nothing limits how
** long it gets. Its keys are integers in a row that do not begin with 1. */
static bool is_queue(const lh_cause *leak) {
  const lh_growing *g = leak->collection;
  return leak->prospect == LH_BOUNDED && leak->bound.limit == 0 && g && leak->tables < 2 &&
         g->keying == LH_KEYED_INTEGERS && g->least > 1 &&
         g->greatest - g->least + 1 == (double)g->alike;
}

/* The biggest queue that is as big as a suspect; NULL: none. */
static const lh_cause *find_queue(const lh_report *report) {
  const lh_causes *v = report->answer;
  const lh_cause *most = NULL;
  for (size_t i = 0; i < v->n_leaks; i++) {
    const lh_cause *leak = &v->leaks[i];
    if (is_queue(leak) && leak->bytes >= lh_least_suspect(report->whole_bytes) &&
        (!most || leak->bytes > most->bytes))
      most = leak;
  }
  return most;
}

static void print_leak(lh_printer *t, lh_report *report, const lh_cause *leak) {
  print_leak_sentence(t, report, leak);
  const char *where = lh_allocated_line(report, &leak->allocated);
  if (where) lh_say(t, LH_PLAIN, "    %s", where);
  if (leak->bound.limit > 0) lh_print_bound(t, report->snapshot, &leak->bound);
  if (leak->bound.limit == 0 || leak->bound.is_far)
    lh_print_ages(t, report->snapshot, &((const lh_causes *)report->answer)->history, leak->ages);
  if (is_queue(leak))
    lh_say(t, LH_PLAIN, "    keys are integers from %s to %s: a queue may get longer all the same",
           lh_plain_number(leak->collection->least).text,
           lh_plain_number(leak->collection->greatest).text);
  if (leak->prospect == LH_BOUNDED) return;
  if (leak->has_young_holder) lh_print_young_holder(t, report->snapshot, leak->holder);
  if (leak->collection && leak->tables > 1)
    lh_say(t, LH_PLAIN, "    one of %s %s, %s, with %s elements:", lh_count_text(leak->tables).text,
           leak->collection->is_list ? "lists" : "tables",
           lh_path_words(report, leak->collection->id),
           lh_count_text(leak->collection->elements).text);
  if (leak->collection) {
    lh_print_keys(t, report, leak->collection);
    lh_print_weak(t, leak->collection);
  }
  lh_print_next(t, report, "    Why it stays", LH_NEXT_PATHS, leak->example);
}

static void print_first(lh_printer *t, lh_report *report, size_t n) {
  const lh_causes *v = report->answer;
  bool any = v->n_certain + v->n_likely > 0;
  const lh_cause *queue = find_queue(report);
  if (v->unsure && queue && v->unsure->bytes > queue->bytes) queue = NULL;
  if (!any && (queue || v->unsure))
    lh_say(t, LH_BOLD,
           "%s is %s of the heap: heapdiff a b c (three snapshots) tells whether it grows. Nothing "
           "else looks as if it leaked",
           queue ? queue->held_by : lh_path_words(report, v->unsure->id),
           lh_share_of_heap(report, queue ? queue->bytes : v->unsure->bytes).text);
  else
    lh_say(t, any ? LH_BOLD : LH_PLAIN, "%s",
           v->n_certain > 0 ? "What leaks, or is likely to"
           : any            ? "What may leak: nothing is certain"
                            : "Nothing looks as if it leaked");
  for (size_t i = 0; i < n; i++) {
    lh_say(t, LH_PLAIN, "%s", "");
    print_leak(t, report, &v->leaks[i]);
  }
  lh_print_hidden(t, &leak_table, v->n_leaks - n);
}

static void print_leaks(lh_printer *t, lh_report *report) {
  const lh_causes *v = report->answer;
  size_t most = report->request.has_limit || t->limit == 0 ? t->limit : LH_MOST_LEAKS;
  size_t n = most != 0 && v->n_leaks > most ? most : v->n_leaks;
  size_t n_big = most != 0 && v->n_big > most ? most : v->n_big;
  lh_print_finalized(t, report->snapshot);
  lh_print_garbage_cause(t, report, &v->garbage);
  if (v->garbage.reason != LH_GARBAGE_USUAL) lh_say(t, LH_PLAIN, "%s", "");
  print_first(t, report, n);
  if (n_big > 0) lh_say(t, LH_BOLD, "\nWhat is big (heapdiff a b c tells whether it grows)\n");
  for (size_t i = 0; i < n_big; i++) {
    lh_print_suspect_line(t, report, &v->big[i]);
    if (lh_is_young_string(v, report->snapshot, v->big[i].id))
      lh_say(
          t, LH_PLAIN,
          "    allocated since %s, while what holds it is older than %s: it may be a string that "
          "grows",
          lh_epoch_words(report, lh_mark_count(report->snapshot) - 1), lh_epoch_words(report, 1));
  }
  lh_print_hidden(t, &lh_suspect_table, v->n_big - n_big);
}

LH_FOUND_BY(leaks, lh_causes, lh_find_causes(snapshot, it, error))
LH_FREED_BY(leaks, lh_causes, lh_causes_free(it))

LH_QUESTION(leaks, .help = "what leaks, or is likely to, and how certain it is", .main = "leaks",
            .free = free_leaks);
