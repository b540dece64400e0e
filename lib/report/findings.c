/*
** findings.c - headlines of a profile: sites with most allocated, live, and soon dead bytes.
*/
#include "report/usage_rows.h"

typedef enum find_kind { MADE_MOST, LIVES_MOST, DIES_SOON, N_KINDS } find_kind;

static const lh_usage_order orders[N_KINDS] = {
    [MADE_MOST] = LH_MOST_ALLOCATED, [LIVES_MOST] = LH_MOST_LIVE, [DIES_SOON] = LH_MOST_SOON_DEAD};

static const char *kind_name(unsigned kind) {
  static const char *const names[N_KINDS] = {
      [MADE_MOST] = "allocates most", [LIVES_MOST] = "lives most", [DIES_SOON] = "dies soonest"};
  return LH_WORD_OF(names, kind);
}

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
                LH_WORD("kind", NULL, kind, kind_name,
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

/* ==== Words ========================================================================== */

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

/* ==================================================================================== */

static int find(findings_result *f, find_kind kind, lh_error *error) {
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
  for (find_kind k = MADE_MOST; k < N_KINDS && code == LH_OK; k++) code = find(f, k, error);
  return code;
}

LH_QUESTION(findings, .command = "heapprof", .of = LH_OF_PROFILE, .main = "findings");
