/*
** request.c - the arguments of questions as text, as servers and bindings have them; and a question
** that is asked with such arguments and answered as JSON.
*/
#include "report/report.h"

typedef enum kind {
  A_NUMBER, /* size_t or uint64_t */
  A_FLAG,   /* 0 or 1 */
  A_WORD,   /* one of `words`, for an enum field */
  A_TEXT,
  A_TYPES,    /* "table,string", as bits 1 << lh_type */
  AN_ADDRESS, /* any 0x55d0c0a3f2e0 */
  AN_OBJECT   /* root, or an OBJECT as lh_find reads it */
} kind;

/* Each is a field of the request. A key with several meanings has several rows: the first one that
** knows the question counts. */
typedef struct argument {
  const char *key;
  const char *questions; /* " treemap flame ": only for these; NULL: all */
  kind kind;
  size_t offset;
  size_t has_offset; /* flag "was given"; 0: none */
  const char *words; /* "this|or|that" */
} argument;

#define FIELD(name) offsetof(lh_request, name)

static const argument known[] = {
    {"at", NULL, AN_OBJECT, FIELD(id), 0, NULL},
    {"bins", NULL, A_NUMBER, FIELD(bins), 0, NULL},
    {"by", " allocations ", A_WORD, FIELD(by), 0, "site|function|type|file|stack"},
    {"by", " timeline ", A_WORD, FIELD(ages), 0, "class|type|place"},
    {"by", NULL, A_WORD, FIELD(tree), 0, "object|class|place|module"},
    {"class", NULL, A_TEXT, FIELD(name), 0, NULL},
    {"depth", NULL, A_NUMBER, FIELD(depth), FIELD(has_depth), NULL},
    {"filter", NULL, A_TEXT, FIELD(filter), 0, NULL},
    {"from", " map ", AN_ADDRESS, FIELD(from_address), 0, NULL},
    {"from", NULL, A_NUMBER, FIELD(from), 0, NULL},
    {"garbage", NULL, A_FLAG, FIELD(garbage), 0, NULL},
    {"limit", NULL, A_NUMBER, FIELD(limit), FIELD(has_limit), NULL},
    {"of", NULL, A_TEXT, FIELD(of), 0, NULL},
    {"pixels", " map ", A_NUMBER, FIELD(cells), 0, NULL},
    {"since", NULL, A_NUMBER, FIELD(interval.since), FIELD(has_interval), NULL},
    {"site", " site_objects ", A_TEXT, FIELD(name), 0, NULL},
    {"sort", " classes objects diff apart ", A_WORD, FIELD(sort), 0, "retained|shallow|count"},
    {"sort", " allocations stacks ", A_WORD, FIELD(order), 0, "allocated|live|peak|soon_dead"},
    {"sort", NULL, A_TEXT, FIELD(sorted), 0, NULL},
    {"to", " map ", AN_ADDRESS, FIELD(to_address), 0, NULL},
    {"type", NULL, A_TYPES, FIELD(type_mask), 0, NULL},
    {"until", NULL, A_NUMBER, FIELD(interval.until), FIELD(has_interval), NULL},
};

static bool knows(const argument *a, const char *question) {
  char word[64];
  if (!a->questions) return true;
  snprintf(word, sizeof word, " %s ", question);
  return strstr(a->questions, word) != NULL;
}

static const argument *find_argument(const char *key, const char *question) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].key, key) == 0 && knows(&known[i], question)) return &known[i];
  return NULL;
}

static bool read_address(const char *text, uint64_t *address) {
  char *end;
  errno = 0;
  *address = strtoumax(text, &end, 16);
  return strncmp(text, "0x", 2) == 0 && text[2] != '\0' && *end == '\0' && errno == 0;
}

static int find_object(lh_snapshot *snapshot, lh_request *r, const char *text, lh_error *error) {
  lh_found found = {.id = LH_ROOT, .matches = 1};
  uint64_t address;
  int code = LH_OK;
  if (!snapshot) return lh_fail(error, LH_EARGUMENT, "%s", "no snapshot was opened");
  if (read_address(text, &address)) {
    found.id = lh_find_address(snapshot, address);
    if (found.id == LH_NO_OBJECT)
      code = lh_fail(error, LH_ENOTFOUND, "nothing is at %.64s in %s", text,
                     lh_snapshot_info(snapshot)->name);
  } else if (strcmp(text, "root") != 0) {
    code = lh_find(snapshot, text, &found, error);
  }
  r->id = found.id;
  r->matches = found.matches;
  return code;
}

static int refuse_argument(lh_error *error, const argument *a, const char *needs,
                           const char *value) {
  return lh_fail(error, LH_EARGUMENT, "%s needs %s, not '%.64s'", a->key, needs, value);
}

static int set_word(const argument *a, const char *value, unsigned *field, lh_error *error) {
  char needs[128];
  if (lh_read_word(value, a->words, field)) return LH_OK;
  snprintf(needs, sizeof needs, "one of %s", a->words);
  return refuse_argument(error, a, needs, value);
}

static int set_field(lh_request *r, const argument *a, const char *value, lh_snapshot *snapshot,
                     lh_error *error) {
  void *field = (char *)r + a->offset;
  switch (a->kind) {
    case A_NUMBER:
      return lh_read_number(value, field) ? LH_OK : refuse_argument(error, a, "a number", value);
    case A_FLAG:
      *(bool *)field = strcmp(value, "1") == 0;
      return *(bool *)field || strcmp(value, "0") == 0 ? LH_OK
                                                       : refuse_argument(error, a, "0 or 1", value);
    case A_WORD: return set_word(a, value, field, error);
    case A_TEXT: *(const char **)field = value; return LH_OK;
    case A_TYPES:
      return !lh_read_types(value, field)
                 ? LH_OK
                 : refuse_argument(error, a, "a type such as table", value);
    case AN_ADDRESS:
      return read_address(value, field)
                 ? LH_OK
                 : refuse_argument(error, a, "an address such as 0x55d0c0a3f2e0", value);
    case AN_OBJECT: return find_object(snapshot, r, value, error);
  }
  return LH_OK;
}

int lh_set_argument(lh_request *request, const char *question, const char *key, const char *value,
                    lh_snapshot *snapshot, lh_error *error) {
  const argument *a = find_argument(key, question);
  if (!a) return lh_fail(error, LH_EARGUMENT, "there is no parameter '%.64s'", key);
  int code = set_field(request, a, value, snapshot, error);
  if (code == LH_OK && a->has_offset != 0) *(bool *)((char *)request + a->has_offset) = true;
  return code;
}

lh_request lh_usual_request(const char *question) {
  lh_request request = {.id = LH_ROOT, .matches = 1, .class_index = UINT32_MAX};
  request.interval = (lh_interval)LH_EVER;
  if (strcmp(question, "objects") == 0) request.limit = 20; /* as a command does */
  return request;
}

static int prepare_asked(lh_snapshot *snapshot, lh_error *error) {
  int code = lh_analyse(snapshot, error);
  return code == LH_OK ? lh_classify(snapshot, error) : code;
}

static int make_ladder(lh_snapshot *const *snapshots, size_t n, lh_ladder **ladder,
                       lh_error *error) {
  int code = lh_ladder_new(ladder, error);
  for (size_t i = 0; code == LH_OK && i < n; i++) {
    code = prepare_asked(snapshots[i], error);
    if (code == LH_OK) code = lh_ladder_add(*ladder, snapshots[i], error);
  }
  return code;
}

/* How many snapshots a question needs, 0: it needs more than text can say, such as a path. All
** others about snapshots need one, and all about a ladder two. */
static const struct need {
  const char *question;
  size_t least, most;
} needs[] = {{"diff", 2, 3},  {"apart", 2, 3},  {"strings", 2, SIZE_MAX}, {"interval", 2, 3},
             {"set", 0, 0},   {"cut", 0, 0},    {"ignored", 0, 0},        {"steps", 0, 0},
             {"class", 1, 1}, {"compare", 2, 4}};

static int check_snapshot_count(const lh_question *q, const char *name, size_t n, lh_error *error) {
  struct need need = {.least = q && q->of == LH_OF_LADDER ? 2 : 1, .most = SIZE_MAX};
  if (!q) return lh_fail(error, LH_EARGUMENT, "there is no question '%.64s'", name);
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (strcmp(name, needs[i].question) == 0) need = needs[i];
  if (q->of == LH_OF_PROFILE || need.least == 0)
    return lh_fail(error, LH_EARGUMENT, "'%s' is no question about snapshots alone", name);
  if (n >= need.least && n <= need.most) return LH_OK;
  return lh_fail(error, LH_EARGUMENT, "'%s' is asked of %zu snapshots%s, and here are %zu", name,
                 need.least, need.most > need.least ? " or more" : "", n);
}

static int write_answer(lh_report *report, char **json, lh_error *error) {
  size_t size;
  lh_json w = {.out = open_memstream(json, &size), .is_compact = true};
  if (!w.out) return lh_fail_memory(error, "writing an answer");
  lh_json_open(&w, NULL, '{');
  bool written = lh_json_report(&w, report);
  lh_json_close(&w, '}');
  written &= !ferror(w.out);
  written &= fclose(w.out) == 0;
  return written ? LH_OK : lh_fail_memory(error, "writing an answer");
}

static int answer_pairs(const lh_question *q, lh_request *r, const char *const *pairs, char **json,
                        lh_error *error) {
  lh_snapshot *last = r->snapshots[r->n_snapshots - 1];
  lh_report report;
  int code = prepare_asked(last, error);
  for (; code == LH_OK && pairs && pairs[0]; pairs += 2)
    code = lh_set_argument(r, q->name, pairs[0], pairs[1], last, error);
  if (code == LH_OK && strcmp(q->name, "strings") == 0)
    code = prepare_asked(r->snapshots[0], error);
  if (code == LH_OK && strcmp(q->name, "class") == 0 && !r->name)
    code = lh_fail(error, LH_EARGUMENT, "%s", "which class?");
  if (code == LH_OK) code = lh_ask(&report, q, last, r, error);
  if (code != LH_OK) return code;
  code = write_answer(&report, json, error);
  lh_report_free(&report);
  return code;
}

static int answer_named(const lh_question *q, lh_request *r, const char *const *pairs, char **json,
                        lh_error *error) {
  lh_ladder *ladder = NULL;
  const char **names = lh_alloc(r->n_snapshots, sizeof *names);
  int code = names ? LH_OK : lh_fail_memory(error, "asking a question");
  for (size_t i = 0; code == LH_OK && i < r->n_snapshots; i++)
    names[i] = lh_snapshot_info(r->snapshots[i])->name;
  r->names = names;
  r->n_names = r->n_snapshots;
  if (code == LH_OK && q->of == LH_OF_LADDER)
    code = make_ladder(r->snapshots, r->n_snapshots, &ladder, error);
  r->ladder = ladder;
  if (code == LH_OK) code = answer_pairs(q, r, pairs, json, error);
  lh_ladder_free(ladder);
  lh_free(names);
  return code;
}

int lh_answer_json(lh_snapshot *const *snapshots, size_t n, const char *question,
                   const char *const *arguments, char **json, lh_error *error) {
  lh_request r = lh_usual_request(question);
  const lh_question *q = lh_find_question(question);
  int code = check_snapshot_count(q, question, n, error);
  *json = NULL;
  if (code != LH_OK) return code;
  r.snapshots = snapshots;
  r.n_snapshots = n;
  code = answer_named(q, &r, arguments, json, error);
  if (code != LH_OK) {
    lh_free(*json);
    *json = NULL;
  }
  return code;
}
