/*
** usage_rows.c - columns and words of rows about allocated bytes.
*/
#include "report/usage_rows.h"

const lh_usage *lh_usage_of(const lh_report *report) {
  return report->request.usages[report->request.n_usages - 1];
}

const lh_sites *lh_usage_sites(const lh_report *report) {
  return lh_profile_sites(lh_usage_profile(lh_usage_of(report)));
}

static void put_function(lh_text *text, const lh_site *site) {
  lh_site function = *site;
  if (site->source) function.c_function = NULL;
  function.line = site->first_line;
  lh_text_site(text, &function);
}

static void put_file(lh_text *text, const lh_site *site) {
  if (site->source)
    lh_text_site(text, &(lh_site){.source = site->source});
  else
    put_function(text, site);
}

static void name_of(lh_report *report, const void *row, lh_cell *cell) {
  const lh_usage_group *told = row;
  lh_text text = {0};
  switch (report->request.by) {
    case LH_BY_TYPE: lh_text_string(&text, lh_types_name(told->type)); break;
    case LH_BY_FILE: put_file(&text, told->site); break;
    case LH_BY_FUNCTION: put_function(&text, told->site); break;
    default: lh_text_site(&text, told->site);
  }
  if (report->request.by == LH_BY_STACK)
    lh_text_callers(&text, lh_usage_sites(report), told->stack, LH_MOST_CALLERS);
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

const char *lh_usage_by_name(lh_usage_by by) {
  static const char *const words[] = {"site", "function", "type", "file", "stack"};
  return LH_WORD_OF(words, by);
}

LH_HEADING_OF(name_heading, lh_usage_by_name(report->request.by))

static const char *error_heading(const lh_report *report) {
  return lh_profile_about(lh_usage_profile(lh_usage_of(report)))->sample_bytes > 0 ? "+-" : NULL;
}

static const char *ordered_heading(const lh_report *report) {
  static const char *const headings[] = {[LH_MOST_ALLOCATED] = "allocated",
                                         [LH_MOST_LIVE] = "live",
                                         [LH_MOST_AT_PEAK] = "at peak",
                                         [LH_MOST_SOON_DEAD] = "dead soon"};
  return headings[report->request.order];
}

LH_HEADING_OF(allocated_heading, report->request.order == LH_MOST_ALLOCATED ? NULL : "allocated")
LH_HEADING_OF(live_heading, report->request.order == LH_MOST_LIVE ? NULL : "live")
LH_HEADING_OF(allocations_heading, report->request.order == LH_MOST_LIVE ? NULL : "blocks")
LH_HEADING_OF(live_blocks_heading, report->request.order == LH_MOST_LIVE ? "blocks" : NULL)
LH_HEADING_OF(maker_heading,
              report->request.by == LH_BY_SITE || report->request.by == LH_BY_STACK ? "by" : NULL)
LH_HEADING_OF(type_heading, report->request.by == LH_BY_TYPE ? NULL : "mostly")

LH_ITS(bool, was_freed, lh_usage_group, it->freed > 0)

/* False also for ages beyond the last class. */
static bool has_most_age(const void *row) {
  return was_freed(row) && ((const lh_usage_group *)row)->most_age_bytes != UINT64_MAX;
}

static const lh_site *site_of(const void *row) {
  return ((const lh_usage_group *)row)->site;
}

LH_CELL(source_of, void, lh_name_asked(cell, site_of(row)->source))
LH_CELL(function_of, void, lh_name_asked(cell, site_of(row)->function))
LH_CELL(c_function_of, void, lh_name_asked(cell, site_of(row)->c_function))
LH_CELL(line_of, void, cell->as.n = site_of(row)->line)
LH_CELL(first_line_of, void, cell->as.n = site_of(row)->first_line)
LH_CELL(maker_of, void, cell->as.text = lh_maker_name(site_of(row)->maker))

LH_CELL(type_name_of, lh_usage_group,
        cell->as.text = it->type == LH_EVENT_PART ? "part" : lh_type_name((lh_type)it->type))

#define ROW lh_usage_group
const lh_column lh_usage_columns[] = {
    LH_BYTES("ordered_bytes", NULL, ordered_bytes, "by which the rows are in order",
             LH_HEADING(ordered_heading)),
    LH_SHARE("share", ordered_bytes),
    LH_BYTES("allocated_bytes", NULL, allocated_bytes,
             "of all blocks that were made, and of those that were resized after that",
             LH_HEADING(allocated_heading)),
    LH_BYTES("error_bytes", NULL, error_bytes,
             "of a sampled profile: how far from that the truth is, up or down, in 19 of 20 cases",
             LH_HEADING(error_heading)),
    LH_COUNT("allocations", NULL, allocations,
             "new blocks: objects, and the slots, stacks and code that they own",
             LH_HEADING(allocations_heading)),
    LH_COUNT("objects", NULL, objects, "the objects among them"),
    LH_COUNT("resizes", "resized", resizes, "blocks that were resized", LH_WIDE),
    LH_BYTES("freed_bytes", NULL, freed_bytes, "of blocks that were freed"),
    LH_COUNT("freed", NULL, freed, "how many these are"),
    LH_BYTES("mean_age_bytes", "mean age", mean_age_bytes,
             "so much was allocated on average from when a block was made until it was freed",
             LH_WHERE(was_freed), LH_WIDE),
    LH_BYTES("most_age_bytes", NULL, most_age_bytes,
             "the age that nine tenths of the freed bytes had at most, as a power of 2",
             LH_WHERE(has_most_age)),
    LH_BYTES("first_collection_bytes", NULL, soon_bytes,
             "of blocks that were dead at the first collection"),
    LH_BYTES("peak_bytes", NULL, peak_bytes, "of these, alive when the heap was biggest"),
    LH_BYTES("live_bytes", NULL, live_bytes, "of blocks that were not freed",
             LH_HEADING(live_heading)),
    LH_COUNT("live", NULL, live, "how many these are", LH_HEADING(live_blocks_heading)),
    LH_COMPUTED("type", NULL, LH_COLUMN_TEXT, type_name_of,
                "most of it: a type of Lua's, \"upvalue\", \"proto\", or \"part\" for what an "
                "object owns",
                LH_HEADING(type_heading), LH_UNBROKEN, LH_WIDE),
    LH_COMPUTED("maker", NULL, LH_COLUMN_TEXT, maker_of,
                "what allocates there: \"table\", \"function\", \"concatenation\", \"growth\" of a "
                "table, \"call\", \"C function\", \"host\", \"other instruction\", "
                "\"unattributed\"",
                LH_HEADING(maker_heading), LH_UNBROKEN),
    LH_COMPUTED("source", NULL, LH_COLUMN_NAME, source_of, "of the function, as Lua has it",
                LH_OPTIONAL),
    LH_COMPUTED("line", NULL, LH_COLUMN_COUNT, line_of, "0: unknown"),
    LH_COMPUTED("function", NULL, LH_COLUMN_NAME, function_of, "its name; empty: a main chunk",
                LH_OPTIONAL),
    LH_COMPUTED("first_line", NULL, LH_COLUMN_COUNT, first_line_of, "of the function"),
    LH_COMPUTED("c_function", NULL, LH_COLUMN_NAME, c_function_of,
                "that allocates there; null: Lua itself does", LH_OPTIONAL),
    LH_OF_SITE("stack", NULL, LH_COLUMN_TEXTS, stack, lh_cell_stack,
               "of the stack with most of it: the sites, the innermost first"),
    LH_COMPUTED("site", NULL, LH_COLUMN_TEXT, name_of, "in one text, or what the rows are by",
                LH_HEADING(name_heading)),
    LH_END};
#undef ROW

const char *lh_types_name(uint8_t type) {
  static const char *const names[] = {
      [LH_TYPE_ROOT] = "objects",      [LH_TYPE_STRING] = "strings",
      [LH_TYPE_TABLE] = "tables",      [LH_TYPE_CLOSURE] = "functions",
      [LH_TYPE_UPVALUE] = "upvalues",  [LH_TYPE_PROTO] = "prototypes",
      [LH_TYPE_USERDATA] = "userdata", [LH_TYPE_THREAD] = "threads"};
  return type < LH_TYPE_COUNT ? names[type] : "slots, stacks and code";
}

void lh_cell_stack_site(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  const lh_site *site = lh_site_of_stack(lh_usage_sites(report), stack);
  cell->as.text = lh_kept(report, lh_site_text(site));
}

void lh_cell_stack_function(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  lh_text text = {0};
  put_function(&text, lh_site_of_stack(lh_usage_sites(report), stack));
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

void lh_cell_stack_maker(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  cell->as.text = lh_maker_name(lh_site_of_stack(lh_usage_sites(report), stack)->maker);
}

void lh_cell_stack(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  lh_keep_stack(report, lh_usage_sites(report), stack, LH_MOST_CALLERS);
  (void)cell;
}

void lh_print_callers(lh_teller *t, const lh_usage *usage, lh_stack_id stack) {
  enum { TOLD_CALLERS = 3 };
  const lh_sites *sites = lh_profile_sites(lh_usage_profile(usage));
  for (uint32_t i = 0; i < TOLD_CALLERS && stack != 0 && stack <= lh_n_stacks(sites); i++) {
    stack = lh_stack_of(sites, stack)->parent;
    if (stack == 0) return;
    lh_say(t, LH_PLAIN, "    from %s", lh_kept(t->report, lh_stack_text(sites, stack, 0)));
  }
}
