/*
** allocations.c - allocated bytes of a profile: by site, function, type, file or stack; the sites
** with most allocated, live, and soon dead bytes; what could be allocated less; and changes between
** two profiles.
*/
#include "report/report.h"

/* ==== Rows =========================================================================== */

const lh_usage *lh_usage_of(const lh_report *report) {
  return report->request.usages[report->request.n_usages - 1];
}

/* If two are compared, those of the later one. */
static const lh_sites *usage_sites(const lh_report *report) {
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

/* Plural for a sentence. What belongs to objects of Lua 5.5 may be the text of a string. */
static const char *types_name(const lh_report *report, uint8_t type) {
  static const char *const names[] = {
      [LH_TYPE_ROOT] = "objects",      [LH_TYPE_STRING] = "strings",
      [LH_TYPE_TABLE] = "tables",      [LH_TYPE_CLOSURE] = "functions",
      [LH_TYPE_UPVALUE] = "upvalues",  [LH_TYPE_PROTO] = "prototypes",
      [LH_TYPE_USERDATA] = "userdata", [LH_TYPE_THREAD] = "threads"};
  if (type < LH_TYPE_COUNT) return names[type];
  const char *release = lh_profile_about(lh_usage_profile(lh_usage_of(report)))->release;
  bool has_texts = release && release[0] == '5' && release[1] == '.' && release[2] >= '5';
  return has_texts ? "texts, slots, stacks and code" : "slots, stacks and code";
}

static void group_name(lh_report *report, const void *row, lh_cell *cell) {
  const lh_usage_group *told = row;
  lh_text text = {0};
  switch (report->request.by) {
    case LH_BY_TYPE: lh_text_string(&text, types_name(report, told->type)); break;
    case LH_BY_FILE: put_file(&text, told->site); break;
    case LH_BY_FUNCTION: put_function(&text, told->site); break;
    default: lh_text_site(&text, told->site);
  }
  if (report->request.by == LH_BY_STACK)
    lh_text_callers(&text, usage_sites(report), told->stack, LH_MOST_CALLERS);
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

static void cell_stack(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  lh_keep_stack(report, usage_sites(report), stack, LH_MOST_CALLERS);
  (void)cell;
}

#define ROW lh_usage_group
static const lh_column usage_columns[] = {
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
                "of most of its objects, with what they own: a type of Lua's, \"upvalue\", "
                "\"proto\"; or \"part\" if objects from elsewhere own all of it",
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
    LH_OF_SITE("stack", NULL, LH_COLUMN_TEXTS, stack, cell_stack,
               "of the stack with most of it: the sites, the innermost first"),
    LH_COMPUTED("site", NULL, LH_COLUMN_TEXT, group_name, "in one text, or what the rows are by",
                LH_HEADING(name_heading)),
    LH_END};
#undef ROW

void lh_cell_stack_site(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  const lh_site *site = lh_site_of_stack(usage_sites(report), stack);
  cell->as.text = lh_kept(report, lh_site_text(site));
}

void lh_cell_stack_function(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  lh_text text = {0};
  put_function(&text, lh_site_of_stack(usage_sites(report), stack));
  cell->as.text = lh_kept(report, lh_text_finish(&text));
}

void lh_cell_stack_maker(lh_report *report, lh_stack_id stack, lh_cell *cell) {
  cell->as.text = lh_maker_name(lh_site_of_stack(usage_sites(report), stack)->maker);
}

static void print_callers(lh_printer *t, const lh_usage *usage, lh_stack_id stack) {
  enum { TOLD_CALLERS = 3 };
  const lh_sites *sites = lh_profile_sites(lh_usage_profile(usage));
  for (uint32_t i = 0; i < TOLD_CALLERS && stack != 0 && stack <= lh_n_stacks(sites); i++) {
    stack = lh_stack_of(sites, stack)->parent;
    if (stack == 0) return;
    lh_say(t, LH_PLAIN, "    from %s", lh_kept(t->report, lh_stack_text(sites, stack, 0)));
  }
}

/* ==== By site and the like =========================================================== */

typedef struct allocations_result {
  lh_usage_group *rows;
  size_t n;
  uint64_t whole_bytes;     /* the base of shares */
  lh_usage_group first;     /* of what was never freed, the function that allocated most */
  uint64_t unsettled_bytes; /* of what was never freed: perhaps garbage that no collection met */
} allocations_result;

static const lh_table allocation_table =
    LH_TABLE("heap.allocated", "row", "rows", lh_usage_group, usage_columns);

#define ROW allocations_result
static const lh_table allocations_answer =
    LH_TABLE_OF("heap.allocations", NULL, NULL,
                LH_COUNT("total_allocations", NULL, n, "how many rows there are, listed or not"),
                LH_BYTES("whole_bytes", NULL, whole_bytes, "of all rows: of these shares are told"),
                LH_ROWS("allocations", rows, n, &allocation_table, "those with most bytes first",
                        LH_LIMITED, LH_OWNED));
#undef ROW

/* " since 500 ms and before 1.0 s", if the request has moments. */
static const char *interval_words(lh_report *report, const lh_usage *usage) {
  const lh_usage_query *query = lh_usage_get_query(usage);
  const lh_usage_totals *totals = lh_usage_total(usage);
  bool since = query->since.unit != LH_MOMENT_OPEN, until = query->until.unit != LH_MOMENT_OPEN;
  return lh_words(report, "%s%s%s%s%s", since ? " since " : "",
                  since ? lh_duration_text(totals->since_ns).text : "",
                  since && until ? " and" : "", until ? " before " : "",
                  until ? lh_duration_text(totals->until_ns).text : "");
}

/* Does the report tell what was never freed? */
static bool is_of_leaks(const lh_request *request) {
  return lh_usage_get_query(request->usages[0])->to_the_end && request->order == LH_MOST_LIVE;
}

/* "24.0% of what was never freed was allocated by function memo @a.lua:41: 457.9 KB of 1.9 MB". */
static void print_never_freed(lh_printer *t, lh_report *report, const allocations_result *f) {
  lh_text text = {0};
  lh_text_definition(&text, f->first.site);
  lh_say(t, LH_BOLD, "%s of what was never freed was allocated by %s: %s of %s",
         lh_share_text(f->first.live_bytes, f->whole_bytes).text,
         lh_kept(report, lh_text_finish(&text)), lh_format_size(t, f->first.live_bytes).text,
         lh_format_size(t, f->whole_bytes).text);
  if (f->unsettled_bytes > 0)
    lh_say(t, LH_PLAIN, "%s of it came last, and may be garbage that no collection has freed yet",
           lh_format_size(t, f->unsettled_bytes).text);
  lh_say(t, LH_PLAIN, "What lives need not grow: heapdiff of three snapshots tells what does\n");
}

/* "Allocated since 500 ms, live at the end, by site: 1.2 MB". */
static void print_allocations(lh_printer *t, lh_report *report) {
  static const char *const what[] = {[LH_MOST_ALLOCATED] = "",
                                     [LH_MOST_LIVE] = ", live at the end",
                                     [LH_MOST_AT_PEAK] = ", live when the heap was biggest",
                                     [LH_MOST_SOON_DEAD] = ", dead at the first collection"};
  const allocations_result *f = report->answer;
  const lh_usage *usage = report->request.usages[0];
  bool never_freed = is_of_leaks(&report->request);
  if (never_freed && f->n > 0) print_never_freed(t, report, f);
  lh_say(t, LH_BOLD, "Allocated%s%s, by %s: %s%s", interval_words(report, usage),
         never_freed ? ", never freed" : what[report->request.order],
         lh_usage_by_name(report->request.by), lh_format_size(t, f->whole_bytes).text,
         t->all ? "" : "\n");
  lh_print_table(t, report, &allocation_table, f->rows, f->n, f->n);
}

static int find_never_freed(const lh_usage *usage, allocations_result *f, lh_error *error) {
  lh_usage_group *functions;
  size_t n;
  int code = lh_usage_groups(usage, LH_BY_FUNCTION, LH_MOST_LIVE, &functions, &n, error);
  if (code != LH_OK) return code;
  if (n > 0) f->first = functions[0];
  lh_free(functions);
  return lh_usage_unsettled(usage, &f->unsettled_bytes, error);
}

static int find_allocations(lh_snapshot *snapshot, const lh_request *request, void *out,
                            lh_error *error) {
  allocations_result *f = out;
  (void)snapshot;
  int code =
      lh_usage_groups(request->usages[0], request->by, request->order, &f->rows, &f->n, error);
  for (size_t i = 0; i < f->n; i++) f->whole_bytes += f->rows[i].ordered_bytes;
  if (code == LH_OK && is_of_leaks(request)) code = find_never_freed(request->usages[0], f, error);
  return code;
}

LH_QUESTION(allocations, .command = "heapprof", .of = LH_OF_PROFILE, .main = "allocations",
            LH_WHOLE(allocations_result, whole_bytes));

/* ==== Headlines ====================================================================== */

typedef enum find_kind { MADE_MOST, LIVES_MOST, DIES_SOON, N_KINDS } find_kind;

static const lh_usage_order orders[N_KINDS] = {
    [MADE_MOST] = LH_MOST_ALLOCATED, [LIVES_MOST] = LH_MOST_LIVE, [DIES_SOON] = LH_MOST_SOON_DEAD};

LH_WORDS(finding_name, [MADE_MOST] = "allocates most", [LIVES_MOST] = "lives most",
         [DIES_SOON] = "dies soonest")

typedef struct finding {
  unsigned kind;
  uint64_t whole_bytes; /* the base of the site's share */
  lh_usage_group site;
} finding;

typedef struct findings_result {
  const lh_usage *usage;
  finding rows[N_KINDS];
  uint32_t n;
  uint64_t first_collection_bytes;
} findings_result;

static const lh_table site_table =
    LH_TABLE("heap.allocated", "site", "sites", lh_usage_group, usage_columns);

#define ROW finding
static const lh_table finding_table =
    LH_TABLE_OF("heap.finding", "finding", "findings",
                LH_WORD("kind", NULL, kind, finding_name,
                        "\"allocates most\", \"lives most\" or \"dies soonest\""),
                LH_BYTES("whole_bytes", NULL, whole_bytes,
                         "all that was allocated; of what lives, all that lives"),
                LH_INLINE_ROW("allocated", site, &site_table, "the site that has most of it"));
#undef ROW

#define ROW findings_result
static const lh_table findings_answer = LH_TABLE_OF(
    "heap.findings", NULL, NULL,
    LH_BYTES("first_collection_bytes", NULL, first_collection_bytes,
             "half of the mean heap: what died at this age was dead at the first collection"),
    LH_INLINE_ROWS("findings", rows, n, &finding_table, "in the order of the text"));
#undef ROW

/* "dead at the first collection (within 1.2 MB of allocation)". */
static const char *age_words(const lh_printer *t, const findings_result *f,
                             const lh_usage_group *site) {
  uint64_t age = site->most_age_bytes;
  bool are_all = site->soon_bytes >= site->freed_bytes - site->freed_bytes / 10;
  bool within = age != UINT64_MAX && age <= 2 * f->first_collection_bytes;
  return lh_words(t->report, "%s%sdead at the first collection%s%s%s",
                  are_all ? "" : lh_share_text(site->soon_bytes, site->allocated_bytes).text,
                  are_all ? "" : " of them ", within ? " (within " : "",
                  within ? lh_format_size(t, age).text : "", within ? " of allocation)" : "");
}

/* " and their slots", if a site has objects with their parts. */
static const char *parts_words(const lh_usage_group *site) {
  static const char *const parts[LH_TYPE_COUNT] = {[LH_TYPE_STRING] = " and their texts",
                                                   [LH_TYPE_TABLE] = " and their slots",
                                                   [LH_TYPE_PROTO] = " and their code",
                                                   [LH_TYPE_THREAD] = " and their stacks"};
  if (!site->has_parts || site->type >= LH_TYPE_COUNT) return "";
  return parts[site->type] ? parts[site->type] : " and what they own";
}

/* "458.1 MB in 3,000,000 blocks"; of objects with their parts "in 3,085 tables". */
static const char *amount_words(const lh_printer *t, const lh_usage_group *site, bool lives) {
  lh_number bytes = lh_format_size(t, lives ? site->live_bytes : site->allocated_bytes);
  uint64_t objects = lives ? site->live_objects : site->objects;
  if (*parts_words(site) && objects > 1)
    return lh_words(t->report, "%s in %s %s", bytes.text, lh_count_text(objects).text,
                    types_name(t->report, site->type));
  return lh_words(t->report, "%s in %s", bytes.text,
                  lh_count_of(lives ? site->live : site->allocations, "block", "blocks").text);
}

/* "38.2% of all bytes are strings made at @fmt.lua:12 in render: 458.1 MB in 3,000,000 blocks". */
static void print_finding(lh_printer *t, lh_report *report, const finding *row) {
  const lh_usage_group *site = &row->site;
  bool soon = row->kind == DIES_SOON, lives = row->kind == LIVES_MOST;
  lh_say(t, LH_BOLD, "%s of %s are %s%s%s made %s %s%s%s",
         lh_share_text(site->ordered_bytes, row->whole_bytes).text,
         lives ? "what lives" : "all bytes", soon ? "soon garbage: " : "",
         types_name(t->report, site->type), parts_words(site), site->site->c_function ? "by" : "at",
         lh_kept(report, lh_site_text(site->site)), soon ? ", " : ": ",
         soon ? age_words(t, report->answer, site) : amount_words(t, site, lives));
}

static bool is_repeated(const findings_result *f, const finding *row) {
  for (const finding *before = f->rows; before < row; before++)
    if (before->site.stack == row->site.stack) return true;
  return false;
}

static void print_findings(lh_printer *t, lh_report *report) {
  const findings_result *f = report->answer;
  if (f->n == 0) lh_say(t, LH_BOLD, "Nothing was allocated");
  for (uint32_t i = 0; i < f->n; i++) {
    print_finding(t, report, &f->rows[i]);
    if (!is_repeated(f, &f->rows[i])) print_callers(t, f->usage, f->rows[i].site.stack);
  }
}

static int find_one(findings_result *f, find_kind kind, lh_error *error) {
  lh_usage_group *groups;
  size_t n;
  const lh_usage_group *all = &lh_usage_total(f->usage)->all;
  uint64_t whole = kind == LIVES_MOST ? all->live_bytes : all->allocated_bytes;
  int code = lh_usage_groups(f->usage, LH_BY_SITE, orders[kind], &groups, &n, error);
  if (code != LH_OK) return code;
  if (n > 0) f->rows[f->n++] = (finding){.kind = kind, .whole_bytes = whole, .site = groups[0]};
  lh_free(groups);
  return LH_OK;
}

static int find_findings(lh_snapshot *snapshot, const lh_request *request, void *out,
                         lh_error *error) {
  findings_result *f = out;
  int code = LH_OK;
  (void)snapshot;
  f->usage = request->usages[0];
  f->first_collection_bytes = lh_first_collection_bytes(f->usage);
  for (find_kind k = MADE_MOST; k < N_KINDS && code == LH_OK; k++) code = find_one(f, k, error);
  return code;
}

LH_QUESTION(findings, .command = "heapprof", .of = LH_OF_PROFILE, .main = "findings");

/* ==== Changes between two profiles =================================================== */

typedef struct allocation_changes_result {
  lh_usage_change *rows;
  size_t n;
  uint64_t n_new, n_gone;
  uint64_t allocated_bytes[2], live_bytes[2];
  double more_bytes;
} allocation_changes_result;

static unsigned side_of(const lh_usage_change *c) {
  return c->stacks[1] != 0;
}

static const lh_sites *sites_of(const lh_report *report, const lh_usage_change *c) {
  return lh_profile_sites(lh_usage_profile(report->request.usages[side_of(c)]));
}

LH_CELL(stack_of, lh_usage_change,
        lh_keep_stack(report, sites_of(report, it), it->stacks[side_of(it)], LH_MOST_CALLERS))
LH_MADE_TEXT(changed_site, lh_usage_change,
             lh_stack_text(sites_of(report, it), it->stacks[side_of(it)], 0))

static double more_in(const lh_usage_change *c) {
  return (double)c->allocated_bytes[1] - (double)c->allocated_bytes[0];
}

static const char *state_in(const lh_usage_change *c) {
  return c->allocated_bytes[0] == 0   ? "new"
         : c->allocated_bytes[1] == 0 ? "gone"
         : more_in(c) > 0             ? "more"
         : more_in(c) < 0             ? "less"
                                      : "same";
}

LH_CELL(more_of, lh_usage_change, cell->as.number = more_in(it))
LH_CELL(state_of, lh_usage_change, cell->as.text = state_in(it))

#define ROW lh_usage_change
static const lh_table change_table = LH_TABLE_OF(
    "heap.allocation_change", "site", "sites",
    LH_COMPUTED("more_bytes", "more", LH_COLUMN_MORE_BYTES, more_of,
                "allocated than before; less where negative"),
    LH_BYTES_SERIES("allocated_bytes", "allocated", allocated_bytes, "in each of the two"),
    LH_COUNT_SERIES("allocations", "blocks", allocations, "new blocks in each"),
    LH_BYTES_SERIES("live_bytes", "live", live_bytes, "at the end of each"),
    LH_COMPUTED("change", "", LH_COLUMN_TEXT, state_of,
                "\"new\", \"more\", \"less\", \"same\" or \"gone\"", LH_UNBROKEN),
    LH_COMPUTED("stack", NULL, LH_COLUMN_TEXTS, stack_of,
                "the stack with most of it, the innermost first"),
    LH_COMPUTED("site", "site", LH_COLUMN_TEXT, changed_site,
                "in the later profile, where it is there"));
#undef ROW

#define ROW allocation_changes_result
static const lh_table allocation_changes_answer =
    LH_TABLE_OF("heap.allocation_changes", NULL, NULL,
                LH_COMPUTED("profiles", NULL, LH_COLUMN_NAMES, lh_names_asked, "their names"),
                LH_MORE_BYTES("more_bytes", NULL, more_bytes, "allocated than before"),
                LH_BYTES_SERIES("allocated_bytes", NULL, allocated_bytes, "in each of the two"),
                LH_BYTES_SERIES("live_bytes", NULL, live_bytes, "at the end of each"),
                LH_COUNT("total_sites", NULL, n, "how many there are, listed or not"),
                LH_COUNT("new_sites", NULL, n_new, "that allocate only in the later one"),
                LH_COUNT("gone_sites", NULL, n_gone, "that allocate only in the earlier one"),
                LH_ROWS("sites", rows, n, &change_table,
                        "those with most more first, most less last", LH_LIMITED, LH_OWNED));
#undef ROW

static void print_allocation_changes(lh_printer *t, lh_report *report) {
  const allocation_changes_result *f = report->answer;
  lh_say(t, LH_BOLD, "From %s to %s: %s allocated, %s of it live at the end (before: %s)",
         report->names[0], report->names[1], lh_more_bytes(t, f->more_bytes).text,
         lh_format_size(t, f->live_bytes[1]).text, lh_format_size(t, f->live_bytes[0]).text);
  lh_say(t, LH_PLAIN, "%s, of which %s and %s%s", lh_count_of(f->n, "site", "sites").text,
         lh_count_of(f->n_new, "is new", "are new").text,
         lh_count_of(f->n_gone, "is gone", "are gone").text, t->all ? "" : "\n");
  lh_print_table(t, report, &change_table, f->rows, f->n, f->n);
}

static int find_allocation_changes(lh_snapshot *snapshot, const lh_request *request, void *out,
                                   lh_error *error) {
  allocation_changes_result *f = out;
  (void)snapshot;
  int code = lh_usage_changes(request->usages[0], request->usages[1], &f->rows, &f->n, error);
  for (size_t i = 0; i < f->n; i++) {
    const lh_usage_change *c = &f->rows[i];
    f->n_new += c->allocated_bytes[0] == 0;
    f->n_gone += c->allocated_bytes[1] == 0;
    f->more_bytes += more_in(c);
    for (unsigned k = 0; k < 2; k++) {
      f->allocated_bytes[k] += c->allocated_bytes[k];
      f->live_bytes[k] += c->live_bytes[k];
    }
  }
  return code;
}

LH_QUESTION(allocation_changes, .command = "heapprof", .of = LH_OF_PROFILE, .main = "sites");

/* ==== Advice ========================================================================= */

typedef struct advice_result {
  lh_advice *list;
  size_t n;
} advice_result;

LH_WORDS(advice_name, [LH_ADVICE_SIZE] = "table without its size",
         [LH_ADVICE_CONCAT] = "string put together in a loop",
         [LH_ADVICE_FUNCTION] = "function made for a moment",
         [LH_ADVICE_TABLE] = "table made for a moment")

#define ROW lh_advice
static const lh_table advice_table = LH_TABLE_OF(
    "heap.advice", "piece of advice", "pieces of advice",
    LH_WORD("kind", NULL, kind, advice_name,
            "\"table without its size\", \"string put together in a loop\", \"function made for a "
            "moment\" or \"table made for a moment\""),
    LH_COUNT("times", NULL, times, "how often a table grew, or one of these was made"),
    LH_COUNT("objects", NULL, objects,
             "how many tables that were, or how many strings were complete; else 0"),
    LH_COUNT("most", NULL, most, "slots of the biggest table, bytes of the longest string; else 0"),
    LH_BYTES("bytes", NULL, bytes, "that all of it allocated"),
    LH_OF_SITE("site", NULL, LH_COLUMN_TEXT, stack, lh_cell_stack_site, "where"),
    LH_OF_SITE("stack", NULL, LH_COLUMN_TEXTS, stack, cell_stack,
               "one of its stacks, the innermost first"));
#undef ROW

#define ROW advice_result
static const lh_table advice_answer =
    LH_TABLE_OF("heap.advices", NULL, NULL,
                LH_COUNT("total_advice", NULL, n, "how many there are, listed or not"),
                LH_ROWS("advice", list, n, &advice_table,
                        "what is worth half a percent of all bytes", LH_LIMITED));
#undef ROW

static const char *why_words(const lh_printer *t, const lh_advice *a) {
  bool several = a->objects > 1;
  switch (a->kind) {
    case LH_ADVICE_SIZE:
      return lh_words(
          t->report, "%s%s up to %s: give %s by a constructor, table.move or lua_createtable",
          several ? " of " : "", several ? lh_count_of(a->objects, "table", "tables").text : "",
          lh_count_of(a->most, "slot", "slots").text, several ? "them their size" : "it its size");
    case LH_ADVICE_CONCAT:
      return lh_words(t->report,
                      ", each a longer copy of the one before, up to %s: gather the parts in a "
                      "table for table.concat",
                      lh_format_size(t, a->most).text);
    case LH_ADVICE_FUNCTION:
      return ", dead at the first collection: make it once, where its upvalues allow";
    default: return ", dead at the first collection: use one again, or pass on what is in it";
  }
}

/* "12 rehashes at @x.lua:9 in fill up to 4,096 slots: give it its size ..., 96.0 KB". */
static void print_piece(lh_printer *t, lh_report *report, const lh_advice *a) {
  static const char *const ones[] = {"rehash", "string", "function", "table"};
  static const char *const many[] = {"rehashes", "strings", "functions", "tables"};
  const lh_site *site = lh_site_of_stack(usage_sites(report), a->stack);
  lh_say(t, LH_PLAIN, "%s, %s at %s%s", lh_format_size(t, a->bytes).text,
         lh_count_of(a->times, ones[a->kind], many[a->kind]).text,
         lh_kept(report, lh_site_text(site)), why_words(t, a));
  print_callers(t, lh_usage_of(report), a->stack);
}

static void print_advice(lh_printer *t, lh_report *report) {
  const advice_result *f = report->answer;
  size_t n = t->limit == 0 || t->limit > f->n ? f->n : t->limit;
  const lh_profile_info *about = lh_profile_about(lh_usage_profile(lh_usage_of(report)));
  lh_say(t, LH_BOLD, f->n > 0 ? "What could be allocated less" : "No advice: nothing stands out");
  for (size_t i = 0; i < n && !t->failed; i++) print_piece(t, report, &f->list[i]);
  lh_print_hidden(t, &advice_table, f->n - n);
  if (about->sample_bytes > 0 || about->is_aggregate)
    lh_say(t, LH_FAINT,
           "Tables that grow and strings put together in a loop are seen only where "
           "every event is recorded");
}

LH_FOUND_BY(advice, advice_result, lh_find_advice(request->usages[0], &it->list, &it->n, error))
LH_FREED_BY(advice, advice_result, lh_free(it->list))

LH_QUESTION(advice, .command = "heapprof", .of = LH_OF_PROFILE, .main = "advice",
            .free = free_advice);
