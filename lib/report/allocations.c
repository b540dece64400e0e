/*
** allocations.c - allocated, live or peak bytes by site, function, type, file or stack; the sites
** with most allocated, live, and soon dead bytes; and which of them changed between two profiles.
*/
#include "report/usage_rows.h"

/* ==== By site and the like =========================================================== */

typedef struct allocations_result {
  lh_usage_group *rows;
  size_t n;
  uint64_t whole_bytes; /* the base of shares */
} allocations_result;

static const lh_table allocation_table =
    LH_TABLE("heap.allocated", "row", "rows", lh_usage_group, lh_usage_columns);

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
  const lh_usage_query *query = lh_usage_asked(usage);
  const lh_usage_totals *totals = lh_usage_total(usage);
  bool since = query->since.unit != LH_MOMENT_OPEN, until = query->until.unit != LH_MOMENT_OPEN;
  return lh_words(report, "%s%s%s%s%s", since ? " since " : "",
                  since ? lh_duration_text(totals->since_ns).text : "",
                  since && until ? " and" : "", until ? " before " : "",
                  until ? lh_duration_text(totals->until_ns).text : "");
}

/* "Allocated since 500 ms, live at the end, by site: 1.2 MB". */
static void print_allocations(lh_teller *t, lh_report *report) {
  static const char *const what[] = {[LH_MOST_ALLOCATED] = "",
                                     [LH_MOST_LIVE] = ", live at the end",
                                     [LH_MOST_AT_PEAK] = ", live when the heap was biggest",
                                     [LH_MOST_SOON_DEAD] = ", dead at the first collection"};
  const allocations_result *f = report->answer;
  const lh_usage *usage = report->request.usages[0];
  bool never_freed = lh_usage_asked(usage)->to_the_end && report->request.order == LH_MOST_LIVE;
  lh_say(t, LH_BOLD, "Allocated%s%s, by %s: %s%s", interval_words(report, usage),
         never_freed ? ", never freed" : what[report->request.order],
         lh_usage_by_name(report->request.by), lh_told_size(t, f->whole_bytes).text,
         t->all ? "" : "\n");
  lh_print_table(t, report, &allocation_table, f->rows, f->n, f->n);
}

static int find_allocations(lh_snapshot *snapshot, const lh_request *request, void *out,
                            lh_error *error) {
  allocations_result *f = out;
  (void)snapshot;
  int code =
      lh_usage_groups(request->usages[0], request->by, request->order, &f->rows, &f->n, error);
  for (size_t i = 0; i < f->n; i++) f->whole_bytes += f->rows[i].ordered_bytes;
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
    LH_TABLE("heap.allocated", "site", "sites", lh_usage_group, lh_usage_columns);

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
static const char *age_words(const lh_teller *t, const findings_result *f,
                             const lh_usage_group *site) {
  uint64_t age = site->most_age_bytes;
  bool are_all = site->soon_bytes >= site->freed_bytes - site->freed_bytes / 10;
  bool within = age != UINT64_MAX && age <= 2 * f->first_collection_bytes;
  return lh_words(t->report, "%s%sdead at the first collection%s%s%s",
                  are_all ? "" : lh_share_text(site->soon_bytes, site->allocated_bytes).text,
                  are_all ? "" : " of them ", within ? " (within " : "",
                  within ? lh_told_size(t, age).text : "", within ? " of allocation)" : "");
}

/* "38.2% of all bytes are strings made at @fmt.lua:12 in render: 458.1 MB in 3,000,000 blocks". */
static void print_finding(lh_teller *t, lh_report *report, const finding *row) {
  const lh_usage_group *site = &row->site;
  bool soon = row->kind == DIES_SOON, lives = row->kind == LIVES_MOST;
  lh_say(
      t, LH_BOLD, "%s of %s are %s%s made %s %s%s%s",
      lh_share_text(site->ordered_bytes, row->whole_bytes).text, lives ? "what lives" : "all bytes",
      soon ? "soon garbage: " : "", lh_types_name(site->type), site->site->c_function ? "by" : "at",
      lh_kept(report, lh_site_text(site->site)), soon ? ", " : ": ",
      soon ? age_words(t, report->answer, site)
           : lh_words(report, "%s in %s",
                      lh_told_size(t, lives ? site->live_bytes : site->allocated_bytes).text,
                      lh_count_of(lives ? site->live : site->allocations, "block", "blocks").text));
}

static bool is_told(const findings_result *f, const finding *row) {
  for (const finding *before = f->rows; before < row; before++)
    if (before->site.stack == row->site.stack) return true;
  return false;
}

static void print_findings(lh_teller *t, lh_report *report) {
  const findings_result *f = report->answer;
  if (f->n == 0) lh_say(t, LH_BOLD, "Nothing was allocated");
  for (uint32_t i = 0; i < f->n; i++) {
    print_finding(t, report, &f->rows[i]);
    if (!is_told(f, &f->rows[i])) lh_print_callers(t, f->usage, f->rows[i].site.stack);
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
LH_MADE_TEXT(site_of, lh_usage_change,
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
    LH_COMPUTED("site", "site", LH_COLUMN_TEXT, site_of,
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

static void print_allocation_changes(lh_teller *t, lh_report *report) {
  const allocation_changes_result *f = report->answer;
  lh_say(t, LH_BOLD, "From %s to %s: %s allocated, %s of it live at the end (before: %s)",
         report->names[0], report->names[1], lh_more_bytes(t, f->more_bytes).text,
         lh_told_size(t, f->live_bytes[1]).text, lh_told_size(t, f->live_bytes[0]).text);
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
