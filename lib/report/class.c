/* class.c - the instances of a class: number, sizes, ages, sites, fields and referrers. */
#include "report/report.h"

static const lh_spread *spread_of(const lh_description *d, lh_measure measure) {
  for (uint32_t i = 0; i < d->n_spreads; i++)
    if (d->spreads[i].measure == measure) return &d->spreads[i];
  return NULL;
}

LH_CELL(in_its_unit, lh_spread,
        if (it->measure <= LH_MEASURE_ALONE || it->measure == LH_MEASURE_LENGTH ||
            it->measure == LH_MEASURE_CONTENT) cell->kind = LH_COLUMN_BYTES)

LH_WORDS(measure_name, "shallow", "retained", "alone", "entries", "length", "content", "upvalues",
         "frames", "instructions")

#define ROW lh_spread
#define FIGURE(key, heading, field, meaning) \
  LH_COUNT(key, heading, field, meaning, .compute = in_its_unit)
static const lh_table spread = LH_TABLE_OF(
    "heap.spread", "figure", "figures", LH_WORD(NULL, "each", measure, measure_name, NULL),
    LH_COUNT("objects", NULL, objects, "how many have it"),
    FIGURE("least", "least", least, "of the smallest"),
    FIGURE("median", "median", median, "of the one in the middle"),
    FIGURE("ninth_tenth", "90% at most", ninth_tenth, "that nine of ten have at most"),
    FIGURE("most", "most", most, "of the biggest"), FIGURE("sum", "together", sum, "of all"));
#undef ROW

#define ROW lh_value_class
static const lh_table values = LH_TABLE_OF("heap.value_class", "more kind", "more kinds",
                                           LH_TEXT("class", NULL, name, "or type"),
                                           LH_COUNT("values", NULL, values, "how many"));
#undef ROW

/* "900 string, 120 number, 3 more kinds"; a single kind without its number. */
static void kinds_text(lh_report *report, const void *row, lh_cell *cell) {
  const lh_field *field = row;
  lh_text text = {0};
  for (uint32_t i = 0; i < field->n_kinds; i++)
    lh_text_format(&text, "%s%s%s%s", i > 0 ? ", " : "",
                   field->total_kinds > 1 ? lh_count_text(field->kinds[i].values).text : "",
                   field->total_kinds > 1 ? " " : "", field->kinds[i].name);
  if (field->total_kinds > field->n_kinds)
    lh_text_format(&text, ", %s",
                   lh_count_of(field->total_kinds - field->n_kinds, values.one, values.many).text);
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

#define ROW lh_field
static const lh_table field =
    LH_TABLE_OF("heap.field", "field", "fields",
                LH_BYTES("retained_bytes", "bytes", bytes, "that instances keep alive alone there"),
                LH_COUNT("instances", "instances", instances, "that have it"),
                LH_SHARE("share", instances, LH_WHOLE(lh_description, objects)),
                LH_COUNT("values", "values", values, "of a type of keys these may be more"),
                LH_TEXT("field", "field", name, "such as .id, [integer] or upvalue bus"),
                LH_COMPUTED(NULL, "of class or type", LH_COLUMN_TEXT, kinds_text, NULL),
                LH_COUNT("total_kinds", NULL, total_kinds, "of its values"),
                LH_INLINE_ROWS("kinds", kinds, n_kinds, &values, "up to three"));
#undef ROW

LH_CELL(source_name, lh_referring,
        cell->as.text = it->class_index == UINT32_MAX
                            ? "root"
                            : lh_class_at(report->snapshot, it->class_index)->name)

LH_CELL(label_text, lh_referring,
        cell->as.text = lh_words(report, "%s%s", it->label, it->weak ? " (weak)" : ""))
LH_STYLE(style_of_referrer, lh_referring, it->weak ? LH_FAINT : LH_PLAIN)

#define ROW lh_referring
static const lh_table referrer = LH_TABLE_WITH(
    (.style = style_of_referrer), "heap.class_referrer", "kind of reference", "kinds of references",
    LH_COUNT("references", "references", references, "how many"),
    LH_COUNT("referrers", "from", sources, "from how many objects"),
    LH_CLASS(NULL, class_index, "null for the roots", LH_OPTIONAL),
    LH_COMPUTED(NULL, "class", LH_COLUMN_TEXT, source_name, NULL),
    LH_TEXT("label", NULL, label, "how they refer", .json_key = "edge"),
    LH_COMPUTED(NULL, "by", LH_COLUMN_TEXT, label_text, NULL),
    LH_FLAG("weak", weak, "keeps nothing alive"));
#undef ROW

#define ROW lh_class_site
static const lh_table site = LH_TABLE_OF(
    "heap.class_site", "site", "sites", LH_COUNT("objects", "instances", objects, "how many"),
    LH_SHARE("share", objects, LH_WHOLE(lh_description, objects)),
    LH_BYTES("shallow_bytes", "shallow", shallow_bytes, "of these"),
    LH_OF_SITE("maker", "by", LH_COLUMN_TEXT, site, lh_cell_maker,
               "what allocates there, such as \"table\"", LH_OPTIONAL, LH_UNBROKEN),
    LH_OF_SITE("site", NULL, LH_COLUMN_TEXT, site, lh_cell_site, "null where it is not known",
               LH_OPTIONAL),
    LH_OF_SITE(NULL, "site", LH_COLUMN_TEXT, site, lh_cell_site_or_why, NULL));
#undef ROW

LH_CELL(absent_unless_tracked, void, cell->is_absent = !lh_snapshot_sites(report->snapshot))

typedef struct epoch {
  uint64_t objects;
} epoch;

static void begin_of_epoch(lh_report *report, const void *row, lh_cell *cell) {
  const uint64_t *first = ((const lh_description *)report->answer)->epochs;
  size_t at = (size_t)((const uint64_t *)row - first);
  lh_name_of_mark(cell, at == 0 ? NULL : lh_mark_at(report->snapshot, (uint32_t)at - 1));
}

#define ROW epoch
static const lh_table epochs = LH_TABLE_OF(
    "heap.class_epoch", "interval", "intervals",
    LH_COMPUTED("mark", NULL, LH_COLUMN_NAME, begin_of_epoch,
                "the name of the mark that begins the interval; null for the start", LH_OPTIONAL),
    LH_COUNT("objects", NULL, objects, "how many"));
#undef ROW

LH_CELL(average_of, lh_description,
        if (it->objects > 0) cell->as.n = it->retained_bytes / it->objects)
LH_CELL(one_more_of, lh_description,
        if (it->objects > 0) cell->as.n = spread_of(it, LH_MEASURE_ALONE)->median)

#define ROW lh_description
static const lh_table class_answer = LH_TABLE_OF(
    "heap.description", NULL, NULL, LH_CLASS(NULL, class_index, "its name and type"),
    LH_COUNT("objects", NULL, objects,
             "how many instances are reachable; all other figures are about these"),
    LH_COUNT("garbage_objects", NULL, garbage_objects, "how many instances are garbage"),
    LH_BYTES("garbage_bytes", NULL, garbage_bytes, "of these"),
    LH_BYTES("shallow_bytes", NULL, shallow_bytes, "of all together"),
    LH_BYTES("retained_bytes", NULL, retained_bytes, "of all together"),
    LH_COMPUTED("average_bytes", NULL, LH_COLUMN_BYTES, average_of,
                "what one costs on average, rounded down"),
    LH_COMPUTED("one_more_bytes", NULL, LH_COLUMN_BYTES, one_more_of,
                "what one more costs: the median of what one retains without the instances inside "
                "of it"),
    LH_INLINE_ROWS("spreads", spreads, n_spreads, &spread,
                   "shallow, retained, alone and those of entries, length, content, upvalues, "
                   "frames, instructions that there are",
                   LH_BY_NAME),
    LH_COUNT("contents", NULL, contents, "of strings: how many different ones"),
    LH_BYTES("repeated_bytes", NULL, repeated_bytes,
             "of strings that are equal to another, without the first of each"),
    LH_ROWS("epochs", epochs, n_epochs, &epochs, "the oldest first"),
    LH_ROWS(
        "sites", sites, n_sites, &site,
        "where they were allocated, those with most of them first; absent where the program was "
        "not tracked",
        LH_LIMITED, LH_OPTIONAL, .compute = absent_unless_tracked),
    LH_EXAMPLE("biggest", NULL, biggest, "the one that retains most; null if all are garbage",
               LH_OPTIONAL),
    LH_HELD_BY(NULL, biggest, "its path"),
    LH_COUNT("total_fields", NULL, n_fields, "how many there are, listed or not"),
    LH_ROWS("fields", fields, n_fields, &field, "those with most bytes first", LH_LIMITED),
    LH_COUNT("total_referrers", NULL, n_referrers, "how many there are, listed or not"),
    LH_ROWS("referrers", referrers, n_referrers, &referrer, "those with most references first",
            LH_LIMITED));
#undef ROW

/* "before a", "between a and b", "since b": interval i of n. */
static const char *interval_words(lh_report *report, uint32_t i, uint32_t n) {
  bool ends = i + 1 < n;
  return lh_words(report, "%s%s%s%s",
                  i == 0 ? "before "
                  : ends ? "between "
                         : "since ",
                  i > 0 ? lh_epoch_words(report, i) : "", i > 0 && ends ? " and " : "",
                  ends ? lh_epoch_words(report, i + 1) : "");
}

/* "10 before a, 1,000 between a and b". Nothing if the only mark is the snapshot's own. */
static void print_ages(lh_printer *t, lh_report *report, const lh_description *d) {
  enum { MOST_TOLD = 4 };
  uint32_t n_some = 0, first = d->n_epochs, last = 0;
  lh_text text = {0};
  for (uint32_t i = 0; i < d->n_epochs; i++) {
    if (d->epochs[i] == 0) continue;
    if (n_some++ == 0) first = i;
    last = i;
  }
  if (d->n_epochs < 2 || n_some == 0) return;
  bool all = n_some <= MOST_TOLD;
  lh_text_string(&text, "Allocated: ");
  if (!all)
    lh_text_format(&text, "in %s of %s intervals between marks, the oldest ",
                   lh_count_text(n_some).text, lh_count_text(d->n_epochs).text);
  for (uint32_t i = first; i <= last; i++) {
    if (d->epochs[i] == 0 || (!all && i != first && i != last)) continue;
    lh_text_format(&text, "%s%s%s%s",
                   i == first ? ""
                   : all      ? ", "
                              : ", the youngest ",
                   all ? lh_count_text(d->epochs[i]).text : "", all ? " " : "",
                   interval_words(report, i, d->n_epochs));
  }
  lh_say_text(t, LH_PLAIN, &text);
}

static void print_figures(lh_printer *t, lh_report *report) {
  const lh_description *d = report->answer;
  lh_say(t, LH_BOLD, "%s %s %s%s, %s of the heap",
         lh_count_words(report, d->class_index, d->objects), d->objects == 1 ? "retains" : "retain",
         lh_format_size(t, d->retained_bytes).text, d->objects == 1 ? "" : " together",
         lh_share_of_heap(report, d->retained_bytes).text);
  if (d->objects > 1)
    lh_say(t, LH_PLAIN,
           "One more costs %s: the median of what one retains; on average one costs %s",
           lh_format_size(t, spread_of(d, LH_MEASURE_ALONE)->median).text,
           lh_format_size(t, d->retained_bytes / d->objects).text);
  print_ages(t, report, d);
  if (d->repeated_bytes > 0)
    lh_say(t, LH_PLAIN, "%s different contents: %s are in strings that are equal to another",
           lh_count_text(d->contents).text, lh_format_size(t, d->repeated_bytes).text);
  if (d->garbage_objects > 0)
    lh_say(t, LH_PLAIN, "Besides, %s are garbage: %s", lh_count_text(d->garbage_objects).text,
           lh_format_size(t, d->garbage_bytes).text);
  if (d->objects > 1)
    lh_say(t, LH_PLAIN, "The one that retains most: %s, %s", lh_path_words(report, d->biggest),
           lh_format_size(t, lh_retained_bytes(report->snapshot, d->biggest)).text);
  lh_print_next(t, report, "Why it stays", LH_NEXT_PATHS, d->biggest);
}

/* The class retains less than the sum of its instances if they retain each other: then "alone"
** differs, too. */
static void print_spreads(lh_printer *t, lh_report *report) {
  const lh_description *d = report->answer;
  lh_spread told[LH_MOST_SPREADS];
  size_t n = 0;
  for (uint32_t i = 0; i < d->n_spreads; i++) {
    const lh_spread *s = &d->spreads[i];
    if (s->measure == LH_MEASURE_ALONE && s->sum == spread_of(d, LH_MEASURE_RETAINED)->sum)
      continue;
    told[n++] = *s;
    if (s->measure == LH_MEASURE_RETAINED) told[n - 1].sum = d->retained_bytes;
  }
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &spread, told, n);
}

static void print_class(lh_printer *t, lh_report *report) {
  const lh_description *d = report->answer;
  if (d->objects == 0) {
    lh_say(t, LH_PLAIN, "Nothing keeps %s alive: garbage, %s",
           lh_count_words(report, d->class_index, d->garbage_objects),
           lh_format_size(t, d->garbage_bytes).text);
    return;
  }
  print_figures(t, report);
  print_spreads(t, report);
  if (d->n_sites > 0) {
    lh_say(t, LH_BOLD, "\nWhere they were allocated");
    lh_print_table(t, report, &site, d->sites, d->n_sites, d->n_sites);
  }
  if (d->n_fields > 0) {
    lh_say(t, LH_BOLD, "\nFields, and the bytes that only they keep alive");
    lh_print_table(t, report, &field, d->fields, d->n_fields, d->n_fields);
  }
  lh_say(t, LH_BOLD, "\nWho refers to them");
  lh_print_table(t, report, &referrer, d->referrers, d->n_referrers, d->n_referrers);
}

LH_FOUND_BY(class, lh_description, lh_describe_class(snapshot, request->name, it, error))
LH_FREED_BY(class, lh_description, lh_description_free(it))

LH_QUESTION(class, .help = "what the instances of a class are like", .argument = "NAME",
            .free = free_class);
