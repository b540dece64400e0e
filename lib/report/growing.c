/* growing.c - collections that seem to have no limit, with the evidence for and against. */
#include "report/report.h"

const char *lh_prospect_name(lh_prospect prospect) {
  static const char *const words[] = {"filled once", "bounded", "may grow", "grows"};
  return LH_WORD_OF(words, prospect);
}

const char *lh_keying_name(lh_keying keying) {
  static const char *const words[] = {"linked",  "sequence", "integers", "times",    "milliseconds",
                                      "numbers", "uuids",    "hex",      "numbered", "tokens",
                                      "names",   "strings",  "objects",  "mixed"};
  return LH_WORD_OF(words, keying);
}

LH_ITS(bool, has_numbers, lh_growing,
       it->keying >= LH_KEYED_SEQUENCE && it->keying <= LH_KEYED_NUMBERS)
LH_ITS(bool, has_bound, lh_growing, it->bound.limit > 0)
LH_CELL(element_type_of, lh_growing,
        cell->as.text = it->type == LH_TYPE_ROOT ? NULL : lh_type_name(it->type))

static void same_as(lh_report *report, const void *row, lh_cell *cell) {
  const lh_growings *found = report->answer;
  const lh_growing *g = row;
  cell->as.text = g == &found->list[g->same_as] ? NULL : found->list[g->same_as].held_by;
}

#define ROW lh_growing
static const lh_table growing = LH_TABLE_OF(
    "heap.collection", "collection", "collections",
    LH_WORD("prospect", NULL, prospect, lh_prospect_name,
            "\"grows\", \"may grow\", \"bounded\" or \"filled once\""),
    LH_TEXT("held_by", NULL, held_by, "a folded path"),
    LH_OBJECT(
        "object", id,
        "of several the biggest of those that grow most surely; of linked objects the nearest one "
        "that no table has as an element",
        LH_ADDRESS),
    LH_COUNT("tables", NULL, tables, "at that path"),
    LH_COUNT("tables_filled_once", NULL, tables_filled_once, "how many of these were"),
    LH_COUNT("entries", NULL, entries, "in all of them"),
    LH_COUNT("alike_entries", NULL, alike_entries, "those of that class"),
    LH_BYTES(
        "bytes", NULL, bytes,
        "of all, with what their elements and keys retain, shared or not, no byte twice; of what "
        "is bounded without the chains that grow in it"),
    LH_RETAINED(NULL, id, "of the object; and so to younger_share"),
    LH_COUNT("elements", NULL, elements, "how many"),
    LH_TEXT("element", NULL, element, "the class or type of most"),
    LH_COMPUTED("element_type", NULL, LH_COLUMN_TEXT, element_type_of, "null for what is no object",
                LH_OPTIONAL),
    LH_COUNT("alike", NULL, alike, "how many are of that class"),
    LH_FLAG("are_keys", are_keys, "the elements are the keys"),
    LH_FLAG("weak_keys", weak_keys,
            "the keys are weak, but never go: strings, numbers and the like"),
    LH_FLAG("weak_values", weak_values, "the values are"),
    LH_WORD("keys", NULL, keying, lh_keying_name,
            "\"linked\", \"sequence\", \"integers\", \"times\", \"milliseconds\", \"numbers\", "
            "\"uuids\", \"hex\", \"numbered\", \"tokens\", \"names\", \"strings\", "
            "\"objects\" or \"mixed\""),
    LH_NUMBER("least", least, "of keys that are numbers", LH_WHERE(has_numbers)),
    LH_NUMBER("greatest", greatest, "the same", LH_WHERE(has_numbers)),
    LH_STRING("example_key", example_key, "of keys that are strings", LH_OPTIONAL),
    LH_FLAG("exact", exact, "made in one piece"),
    LH_COUNT("aged", NULL, aged, "elements that are objects"),
    LH_COUNT("since_first_mark", NULL, since_first_mark, "of these"),
    LH_COUNT("epochs", NULL, epochs, "of how many intervals between marks they are"),
    LH_COUNT("oldest_epoch", NULL, oldest_epoch, "the first of these"),
    LH_COUNT("youngest_epoch", NULL, youngest_epoch, "the last of these"),
    LH_FLAG("in_one_go", in_one_go, "with next to nothing else in between"),
    LH_NUMBER("younger_share", younger, "of all objects those that are younger"),
    LH_NUMBER("limit", bound.limit,
              "a number stored near the collection, such as max, that seems to cap it",
              LH_WHERE(has_bound)),
    LH_COMPUTED("same_as", NULL, LH_COLUMN_TEXT, same_as,
                "held_by of an earlier row with just the same elements", LH_OPTIONAL));
#undef ROW

#define ROW lh_growings
static const lh_table growing_answer = LH_TABLE_OF(
    "heap.growing", NULL, NULL, LH_COUNT("total_collections", NULL, n, "how many there are"),
    LH_COUNT("total_filled_once", NULL, n_filled_once, "how many of them were filled once"),
    LH_ROWS("collections", list, n, &growing, "with what was filled once at the end", LH_LIMITED));
#undef ROW

/* "1,020 Listener tables", "5,012 strings as keys", "240 tables of several classes". */
static void put_elements(lh_text *out, const lh_growing *g) {
  bool by_type = strcmp(g->element, lh_type_name(g->type)) == 0;
  lh_append_count(out, g->alike_entries, g->element, g->type);
  if (by_type && g->type == LH_TYPE_TABLE) lh_text_string(out, " of several classes");
  if (g->are_keys) lh_text_string(out, " as keys");
}

const char *lh_with_their_tables(const lh_growing *g) {
  return g->is_list ? "" : g->tables > 1 ? " with their tables" : " with their table";
}

static void print_growing_sentence(lh_printer *t, lh_report *report, const lh_growing *g) {
  lh_text text = {0};
  lh_text_format(&text, "%s ", g->held_by);
  lh_put_prospect(&text, g->prospect, &g->bound);
  lh_text_string(&text, " ");
  put_elements(&text, g);
  if (g->tables > 1)
    lh_text_format(&text, " in %s %s", lh_count_text(g->tables).text,
                   g->is_list ? "lists" : "tables");
  if (g->prospect != LH_FILLED_ONCE && g->tables_filled_once > 0)
    lh_text_format(&text, " (%s filled once)", lh_count_text(g->tables_filled_once).text);
  lh_text_format(&text, ", %s%s, %s of the heap", lh_format_size(t, g->bytes).text,
                 lh_with_their_tables(g), lh_share_of_heap(report, g->bytes).text);
  lh_say_text(t, g->prospect == LH_FILLED_ONCE ? LH_PLAIN : LH_BOLD, &text);
}

static lh_number time_of(double seconds) {
  return lh_time_text((uint64_t)(seconds * 1e9));
}

static void print_names(lh_printer *t, lh_report *report, const lh_growing *g) {
  static const char *const words[] = {
      [LH_KEYED_UUIDS] = "uuids",
      [LH_KEYED_HEX] = "hexadecimal ids",
      [LH_KEYED_NUMBERED] = "strings that differ in their digits",
      [LH_KEYED_TOKENS] = "strings of one length, as of a random generator",
      [LH_KEYED_NAMES] = "names",
      [LH_KEYED_STRINGS] = "strings"};
  lh_say(t, LH_PLAIN, "    keys are %s, such as %s", words[g->keying],
         lh_kept(report, lh_string_text(report->snapshot, g->example_key, 40)));
}

void lh_print_keys(lh_printer *t, lh_report *report, const lh_growing *g) {
  switch (g->keying) {
    case LH_KEYED_NOT: lh_say(t, LH_PLAIN, "    linked with each other"); return;
    case LH_KEYED_SEQUENCE:
      lh_say(t, LH_PLAIN, "    keys are 1 to %s, one after the other",
             lh_count_text(g->elements).text);
      return;
    case LH_KEYED_INTEGERS:
    case LH_KEYED_NUMBERS:
      lh_say(t, LH_PLAIN, "    keys are %s from %s to %s",
             g->keying == LH_KEYED_INTEGERS ? "integers" : "numbers",
             lh_plain_number(g->least).text, lh_plain_number(g->greatest).text);
      if (g->has_few_keys)
        lh_say(t, LH_PLAIN,
               "    new keys come between older ones, so there may be few: it may be a cache that "
               "fills up");
      return;
    case LH_KEYED_TIMES:
    case LH_KEYED_MILLISECONDS:
      lh_say(t, LH_PLAIN, "    keys are times from %s to %s", time_of(g->least).text,
             time_of(g->greatest).text);
      return;
    case LH_KEYED_OBJECTS: lh_say(t, LH_PLAIN, "    keys are objects"); return;
    case LH_KEYED_MIXED: lh_say(t, LH_PLAIN, "    keys are of all kinds"); return;
    default: print_names(t, report, g); return;
  }
}

void lh_print_weak(lh_printer *t, const lh_growing *g) {
  if (g->weak_keys && g->weak_values)
    lh_say(t, LH_PLAIN, "    weak, but neither its keys nor its values are objects: nothing goes");
  else if (g->weak_keys)
    lh_say(t, LH_PLAIN, "    weak keys, but the keys are %s: nothing goes",
           has_numbers(g) ? "numbers" : "strings");
  else if (g->weak_values)
    lh_say(t, LH_PLAIN, "    weak values, but the values are %s: nothing goes",
           g->type == LH_TYPE_STRING && !g->are_keys ? "strings" : "no objects");
}

static void print_epochs(lh_printer *t, lh_report *report, const lh_growing *g) {
  uint32_t n = lh_mark_count(report->snapshot);
  if (n < 2 || g->aged == 0 || 2 * g->aged < g->elements) return; /* most share a few objects */
  const char *oldest = lh_epoch_words(report, g->oldest_epoch);
  if (g->since_first_mark == 0)
    lh_say(t, LH_PLAIN, "    all of it from before %s, the first mark", lh_epoch_words(report, 1));
  else if (g->epochs == 1)
    lh_say(t, LH_PLAIN, "    all of it allocated in the interval that begins with %s", oldest);
  else
    lh_say(t, LH_PLAIN, "    allocated in %s of %s intervals between marks, from %s to %s",
           lh_count_text(g->epochs).text, lh_count_text(n).text, oldest,
           lh_epoch_words(report, g->youngest_epoch));
}

static void print_order(lh_printer *t, const lh_growing *g) {
  if (g->exact) lh_say(t, LH_PLAIN, "    made in one piece: nothing was ever put behind its end");
  if (2 * g->aged < g->elements || g->aged == 0) return;
  lh_number younger = lh_share_text((uint64_t)(g->younger * 1000), 1000);
  if (g->in_one_go && g->prospect == LH_FILLED_ONCE)
    lh_say(t, LH_PLAIN, "    allocated in one go; %s of the heap's objects are younger",
           younger.text);
  else if (g->younger < 0.1)
    lh_say(t, LH_PLAIN, "    its youngest is among the youngest %s of the heap's objects",
           g->younger < 0.01 ? "hundredth" : "tenth");
  else
    lh_say(t, LH_PLAIN, "    %s of the heap's objects are younger than its youngest", younger.text);
}

/* next[i]: the next row with the same elements as row i, or found->n. NULL: out of memory. */
static size_t *link_same(const lh_growings *found) {
  size_t *next = lh_alloc_zeroed(2 * found->n + 1, sizeof *next);
  size_t *last = next ? next + found->n : NULL;
  for (size_t i = 0; next && i < found->n; i++) {
    size_t first = found->list[i].same_as;
    next[i] = found->n;
    if (first != i) next[last[first]] = i;
    last[first] = i;
  }
  return next;
}

static void print_row(lh_printer *t, lh_report *report, size_t i, const size_t *next) {
  const lh_growings *found = report->answer;
  const lh_growing *g = &found->list[i];
  print_growing_sentence(t, report, g);
  if (g->tables > 1)
    lh_say(t, LH_PLAIN, "    one of these, %s, with %s:", lh_path_words(report, g->id),
           lh_count_of(g->elements, "element", "elements").text);
  lh_print_keys(t, report, g);
  if (g->bound.limit > 0) lh_print_bound(t, report->snapshot, &g->bound);
  lh_print_weak(t, g);
  print_epochs(t, report, g);
  print_order(t, g);
  if (g->has_young_holder) lh_print_young_holder(t, report->snapshot, g->oldest_holder);
  for (size_t k = next[i]; k < found->n; k = next[k])
    lh_say(t, LH_PLAIN, "    also in %s", found->list[k].held_by);
  lh_print_next(t, report, "    Why it stays", LH_NEXT_PATHS, g->id);
}

/* Of rows with the same elements only the first is printed. */
static void print_rows(lh_printer *t, lh_report *report, size_t n) {
  const lh_growings *found = report->answer;
  size_t *next = link_same(found), n_told = 0, n_hidden = 0;
  t->failed |= !next;
  for (size_t i = 0; i < n && !t->failed; i++) {
    if (found->list[i].same_as != i) continue;
    if (t->limit != 0 && n_told == t->limit) {
      n_hidden++;
      continue;
    }
    if (n_told++ > 0) lh_say(t, LH_PLAIN, "%s", "");
    print_row(t, report, i, next);
  }
  lh_print_hidden(t, &growing, n_hidden);
  lh_free(next);
}

/* Collections that were filled once are left out, unless all are wanted. */
static void print_growing(lh_printer *t, lh_report *report) {
  const lh_growings *found = report->answer;
  size_t n_left = found->n - found->n_filled_once, n = t->limit == 0 ? found->n : n_left;
  lh_print_finalized(t, report->snapshot);
  if (n_left == 0)
    lh_say(t, LH_PLAIN, "Nothing looks like a collection without a limit%s", n > 0 ? "\n" : "");
  print_rows(t, report, n);
  if (n < found->n)
    lh_say(t, LH_FAINT, "\nLeft out: %s that %s filled once%s%s",
           lh_count_of(found->n_filled_once, growing.one, growing.many).text,
           found->n_filled_once == 1 ? "was" : "were", t->all ? "; " : "", t->all ? t->all : "");
}

LH_FOUND_BY(growing, lh_growings, lh_kept_growings(snapshot, NULL, it, error))

LH_QUESTION(growing, .help = "collections that look as if they had no limit",
            .main = "collections");
