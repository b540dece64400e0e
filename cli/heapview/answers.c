/*
** answers.c - answers questions about the opened files as JSON. A question is one of the library's;
** special questions have a row in `handlers`.
**
** A client's input never ends the process; each refusal is one sentence. An answer is made in
** memory, of 64 MB at most. The process ends only if memory runs out for a line of text.
*/
#include <stdarg.h>

#include "heapview.h"

/* Of an answer; one in a report has its room. */
enum { MOST_BYTES = 64 << 20, MOST_CARRIED = 2 << 20 };

static off_t most_bytes(const view *v) {
  return v->is_written ? MOST_CARRIED : MOST_BYTES;
}

int view_refuse(lh_error *error, const char *format, ...) {
  va_list arguments;
  *error = (lh_error){.code = LH_EARGUMENT};
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return error->code;
}

static int prepare_one(lh_snapshot *snapshot, lh_error *error) {
  int code = lh_analyse(snapshot, error);
  return code == LH_OK ? lh_classify(snapshot, error) : code;
}

/* ==== Parameters ================================================================== */

/* Most parameters, such as limit=20, are arguments of the question (lh_set_argument). Those in
** `others` are read elsewhere. */
static bool is_other(const view_asked *asked, const char *key) {
  static const struct {
    const char *key, *questions; /* NULL: all */
  } others[] = {{"in", NULL},
                {"made_since", " findings profile allocations stacks calls "},
                {"made_until", " findings profile allocations stacks calls "},
                {"query", " sql "}};
  char word[64];
  bool is = false;
  snprintf(word, sizeof word, " %s ", asked->name);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    is |= strcmp(others[i].key, key) == 0 &&
          (others[i].questions == NULL || strstr(others[i].questions, word) != NULL);
  return is;
}

static int refuse_parameter(const view_asked *asked, const char *key, const char *needs,
                            const char *value) {
  return view_refuse(asked->error, "%s needs %s, not '%.64s'", key, needs, value);
}

static int take_against(view_asked *asked, const char *value) {
  uint64_t i;
  if (!lh_read_number(value, &i))
    return refuse_parameter(asked, "against", "the number of a snapshot", value);
  if (i >= asked->v->n)
    return view_refuse(asked->error, "there is no snapshot number %s: the first is 0, the last %zu",
                       value, asked->v->n - 1);
  asked->request.before = asked->v->snapshots[i];
  return prepare_one(asked->request.before, asked->error);
}

static int take_in(view_asked *asked) {
  const char *value = view_parameter_of(asked->question, "in");
  uint64_t in = asked->v->n > 0 ? asked->v->n - 1 : 0;
  if (value != NULL && (!lh_read_number(value, &in) || in >= asked->v->n))
    return refuse_parameter(asked, "in", "the number of a snapshot, 0 the first", value);
  asked->in = (size_t)in;
  return LH_OK;
}

static int take_parameters(view_asked *asked) {
  const view_question *question = asked->question;
  int code = LH_OK;
  for (size_t i = 0; code == LH_OK && i < question->n; i++) {
    const view_parameter *p = &question->parameters[i];
    if (strcmp(p->key, "against") == 0)
      code = take_against(asked, p->value);
    else if (!is_other(asked, p->key))
      code = lh_set_argument(&asked->request, asked->name, p->key, p->value, asked->snapshot,
                             asked->error);
  }
  return code;
}

/* ==== Snapshots, ladders, profiles ==================================================== */

static int prepare_snapshots(view_asked *asked) {
  view *v = asked->v;
  if (v->n == 0) return view_refuse(asked->error, "no snapshot was opened");
  asked->snapshot = v->snapshots[asked->in];
  asked->request.opened = v->snapshots;
  asked->request.n_opened = v->n;
  asked->request.snapshots = v->snapshots;
  asked->request.n_snapshots = asked->in + 1;
  asked->request.names = v->files;
  asked->request.n_names = asked->in + 1;
  return prepare_one(asked->snapshot, asked->error);
}

static bool is_same(const lh_snapshot *a, const lh_snapshot *b) {
  const lh_info *x = lh_snapshot_info(a), *y = lh_snapshot_info(b);
  return x->state_id == y->state_id && x->serial == y->serial && x->time_ns == y->time_ns &&
         x->file_bytes == y->file_bytes;
}

/* The last snapshot is analysed anyway; for a report, all are. Others are opened again and closed
** at once, so figures of many take the memory of one. */
static int add_to_ladder(lh_ladder *ladder, const view *v, size_t i, lh_error *error) {
  lh_snapshot *again = NULL;
  if (i + 1 == v->n || v->is_written) {
    int code = prepare_one(v->snapshots[i], error);
    return code == LH_OK ? lh_ladder_add(ladder, v->snapshots[i], error) : code;
  }
  int code = lh_open(&again, v->files[i], error);
  if (code != LH_OK) return code;
  if (!is_same(again, v->snapshots[i]))
    code = view_refuse(error, "%s is another file than it was", v->files[i]);
  if (code == LH_OK) code = prepare_one(again, error);
  if (code == LH_OK) code = lh_ladder_add(ladder, again, error);
  lh_close(again);
  return code;
}

static int make_ladder(const view *v, size_t step, lh_ladder **out, lh_error *error) {
  lh_ladder *ladder;
  int code = lh_ladder_new(&ladder, error);
  if (code != LH_OK) return code;
  for (size_t i = 0; code == LH_OK && i < v->n; i += step)
    code = add_to_ladder(ladder, v, i, error);
  if (code == LH_OK)
    *out = ladder;
  else
    lh_ladder_free(ladder);
  return code;
}

static int prepare_ladder(view_asked *asked) {
  view *v = asked->v;
  if (v->n < 2) return view_refuse(asked->error, "one snapshot alone is no ladder");
  bool ends = v->n > 2 && strcmp(asked->name, "owners") == 0;
  asked->names[0] = v->files[0];
  asked->names[1] = v->files[v->n - 1];
  asked->request.names = ends ? asked->names : v->files;
  asked->request.n_names = ends ? 2 : v->n;
  lh_ladder **kept = ends ? &v->ends : &v->ladder;
  int code = *kept != NULL ? LH_OK : make_ladder(v, ends ? v->n - 1 : 1, kept, asked->error);
  asked->request.ladder = *kept;
  return code;
}

static int take_moment(view_asked *asked, const char *key, lh_moment *moment) {
  const char *value = view_parameter_of(asked->question, key);
  if (value == NULL) return LH_OK;
  moment->unit = LH_MOMENT_TIME;
  if (lh_read_number(value, &moment->n)) return LH_OK;
  return view_refuse(asked->error, "%s needs nanoseconds, not '%.64s'", key, value);
}

static bool is_whole_profile(const lh_usage_query *query) {
  return query->since.unit == LH_MOMENT_OPEN && query->until.unit == LH_MOMENT_OPEN;
}

static bool is_same_part(const lh_usage_query *a, const lh_usage_query *b) {
  return a->since.unit == b->since.unit && a->since.n == b->since.n &&
         a->until.unit == b->until.unit && a->until.n == b->until.n;
}

/* The usage of the whole profile, or of the objects allocated in a part of its time, to the end.
** The last part is cached: a page asks several questions about it, and counting takes one or two
** replays of the events. */
static int take_part(view_asked *asked, const lh_usage **out) {
  view *v = asked->v;
  lh_usage_query query = {.to_the_end = true, .peak = true};
  int code = take_moment(asked, "made_since", &query.since);
  if (code == LH_OK) code = take_moment(asked, "made_until", &query.until);
  if (code != LH_OK) return code;
  *out = v->usage;
  if (is_whole_profile(&query)) return LH_OK;
  if (v->part == NULL || !is_same_part(&query, lh_usage_get_query(v->part))) {
    lh_usage_free(v->part);
    v->part = NULL;
    code = lh_usage_new(&v->part, lh_usage_profile(v->usage), &query, asked->error);
  }
  *out = v->part;
  return code;
}

static int prepare_profile(view_asked *asked) {
  view *v = asked->v;
  if (v->usage == NULL) return view_refuse(asked->error, "no profile was opened");
  asked->request.usages = &asked->usage;
  asked->request.n_usages = 1;
  asked->request.names = &v->profile;
  asked->request.n_names = 1;
  return take_part(asked, &asked->usage);
}

static void drop_answer(view *v) {
  if (v->answer.file != NULL) (void)fclose(v->answer.file);
  free(v->answer.text);
  v->answer = (view_text){0};
}

void view_end(view *v) {
  lh_ladder_free(v->ladder);
  lh_ladder_free(v->ends);
  lh_usage_free(v->part);
  drop_answer(v);
  v->ladder = v->ends = NULL;
  v->part = NULL;
}

/* ==== Special questions =============================================================== */

static int prepare_diff(view_asked *asked) {
  size_t n = asked->in + 1;
  if (n == 2 || n == 3) return LH_OK;
  return view_refuse(asked->error, "two or three snapshots are compared; here %s",
                     n < 2 ? "is one" : "are more: a ladder tells of these");
}

static int prepare_strings(view_asked *asked) {
  if (asked->in == 0)
    return view_refuse(asked->error,
                       "strings are compared with an older "
                       "snapshot, and this is the first");
  return prepare_one(asked->v->snapshots[0], asked->error);
}

static int prepare_halves(view_asked *asked) {
  if (asked->v->n == 2 || asked->v->n == 4) return LH_OK;
  return view_refuse(asked->error, "before and after a change there are one or two snapshots each");
}

static int prepare_under(view_asked *asked) {
  lh_id id = asked->request.id;
  if (id == LH_ROOT || lh_is_reachable(asked->snapshot, id)) return LH_OK;
  return view_refuse(asked->error, "nothing keeps %s alive: it is garbage, and keeps nothing alive",
                     lh_address_text(asked->snapshot, id).text);
}

static int prepare_class(view_asked *asked) {
  return asked->request.name != NULL ? LH_OK : view_refuse(asked->error, "which class?");
}

/* Later snapshots are searched too. */
static int prepare_object(view_asked *asked) {
  lh_request *r = &asked->request;
  r->n_snapshots = r->n_names = asked->v->n;
  return LH_OK;
}

static int prepare_set(view_asked *asked) {
  lh_request *r = &asked->request;
  const char *of = r->of != NULL ? r->of : r->name;
  if (of == NULL) return view_refuse(asked->error, "which objects?");
  int code = (lh_is_fingerprint(of) ? lh_objects_with : lh_find_all)(
      asked->snapshot, of, &asked->ids, &r->n_ids, asked->error);
  if (code != LH_OK) asked->ids = NULL;
  r->ids = asked->ids;
  return code;
}

static int prepare_cut(view_asked *asked) {
  lh_request *r = &asked->request;
  if (r->of == NULL) return view_refuse(asked->error, "what is cut?");
  if (view_parameter_of(asked->question, "at") == NULL) r->id = LH_NO_OBJECT;
  if (r->id != LH_NO_OBJECT && r->id != LH_ROOT && !lh_is_reachable(asked->snapshot, r->id))
    return view_refuse(asked->error, "nothing keeps %s alive: it is garbage already",
                       lh_address_text(asked->snapshot, r->id).text);
  asked->cut.text = r->of;
  r->cuts = &asked->cut;
  r->n_cuts = 1;
  return lh_find_cut(asked->snapshot, r->of, &asked->cut.what, asked->error);
}

static int refuse_steps(view_asked *asked) {
  return view_refuse(asked->error, "'%s' is no question of its own", asked->name);
}

/* Parts of an answer that the page reads; a written report has no others. LINES: the text without
** its tables. */
enum { ANSWER = 1, WORDS = 2, LINES = 4 };

/* Questions that need more than their subject (LH_OF_SNAPSHOT and so on), or of whose answer the
** page reads a part. */
static const struct handler {
  const char *name;
  int (*prepare)(view_asked *asked);            /* completes the request; or NULL */
  int (*answer)(view_asked *asked, lh_json *w); /* for a question the library lacks; or NULL */
  unsigned parts;                               /* 0: all */
} handlers[] = {{"overview", NULL, view_overview, 0},
                {"sql", NULL, view_sql, 0},
                {"tables", NULL, view_tables, 0},
                {"picture", NULL, view_picture, 0},
                {"blueprint", NULL, view_blueprint, 0},
                {"object", prepare_object, NULL, 0},
                {"diff", prepare_diff, NULL, 0},
                {"apart", prepare_diff, NULL, 0},
                {"strings", prepare_strings, NULL, WORDS},
                {"compare", prepare_halves, NULL, 0},
                {"under", prepare_under, NULL, WORDS},
                {"class", prepare_class, NULL, WORDS},
                {"set", prepare_set, NULL, WORDS},
                {"cut", prepare_cut, NULL, 0},
                {"classes", NULL, NULL, WORDS},
                {"dominators", NULL, NULL, WORDS},
                {"epochs", NULL, NULL, WORDS},
                {"fields", NULL, NULL, ANSWER | LINES},
                {"flame", NULL, NULL, ANSWER},
                {"independent", NULL, NULL, WORDS},
                {"owners", NULL, NULL, WORDS},
                {"threads", NULL, NULL, WORDS},
                {"treemap", NULL, NULL, ANSWER},
                {"allocation_changes", refuse_steps, NULL, 0},
                {"ignored", refuse_steps, NULL, 0},
                {"steps", refuse_steps, NULL, 0}};

static const struct handler *handler_of(const char *name) {
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
    if (strcmp(handlers[i].name, name) == 0) return &handlers[i];
  return NULL;
}

/* ==== Asking ========================================================================= */

static int prepare_question(view_asked *asked, const lh_question *question,
                            const struct handler *handler) {
  lh_subject of = question != NULL ? question->of : LH_OF_SNAPSHOT;
  int code = take_in(asked);
  if (code == LH_OK && (question != NULL || asked->v->n > 0))
    code = of == LH_OF_LADDER    ? prepare_ladder(asked)
           : of == LH_OF_PROFILE ? prepare_profile(asked)
                                 : prepare_snapshots(asked);
  if (code == LH_OK) code = take_parameters(asked);
  if (code == LH_OK && handler != NULL && handler->prepare != NULL) code = handler->prepare(asked);
  return code;
}

static int fail_memory(lh_error *error) {
  view_refuse(error, "out of memory while the answer was written");
  return error->code = LH_EMEMORY;
}

static int answer_report(view_asked *asked, unsigned parts, lh_json *w) {
  lh_report report;
  int code = lh_ask(&report, lh_find_question(asked->name), asked->snapshot, &asked->request,
                    asked->error);
  if (code != LH_OK) return code;
  if ((parts & ANSWER) != 0) {
    cli_json_open(w, "answer", '{');
    cli_report_values(w, &report);
    cli_json_close(w, '}');
  }
  if ((parts & (WORDS | LINES)) != 0 && !view_put_words(asked, &report, w, (parts & WORDS) != 0))
    code = fail_memory(asked->error);
  lh_report_free(&report);
  return code;
}

static int answer_otherwise(view_asked *asked, const struct handler *handler, lh_json *w) {
  cli_json_open(w, "answer", '{');
  int code = handler->answer(asked, w);
  cli_json_close(w, '}');
  return code;
}

static int answer_question(view_asked *asked, lh_json *w) {
  const lh_question *question = lh_find_question(asked->name);
  const struct handler *handler = handler_of(asked->name);
  if (question == NULL && (handler == NULL || handler->answer == NULL))
    return view_refuse(asked->error, "there is no question '%.64s'", asked->name);
  int code = prepare_question(asked, question, handler);
  if (code != LH_OK) return code;
  bool is_in_parts = asked->v->is_written && handler != NULL && handler->parts != 0;
  cli_json_open(w, NULL, '{');
  code = question != NULL ? answer_report(asked, is_in_parts ? handler->parts : ANSWER | WORDS, w)
                          : answer_otherwise(asked, handler, w);
  cli_json_close(w, '}');
  return code;
}

/* A report writes thousands of answers, one after the other, into the same memory. */
static FILE *begin_answer(view *v) {
  view_text *t = &v->answer;
  if (t->file == NULL) t->file = cli_open_text(&t->text, &t->size);
  return t->file;
}

static int finish_answer(FILE *memory, const lh_json *w, int code, lh_error *error) {
  bool has_room = !ferror(memory);
  has_room &= fflush(memory) == 0;
  if (code != LH_OK) return code;
  if (!has_room) return fail_memory(error);
  if (!w->is_full) return LH_OK;
  return view_refuse(error, "the answer has more than %s: ask for fewer rows by limit",
                     lh_size_text((uint64_t)w->most_bytes, false).text);
}

/* An answer that fails halfway is not written. */
int view_answer(view *v, const view_question *question, FILE *out) {
  lh_error error = {0};
  FILE *memory = begin_answer(v);
  lh_json w = {.out = memory, .is_compact = true, .most_bytes = most_bytes(v)},
          refusal = {.out = out, .is_compact = true};
  view_asked asked = {.v = v,
                      .question = question,
                      .name = question->name,
                      .error = &error,
                      .request = lh_usual_request(question->name)};
  int code = finish_answer(memory, &w, answer_question(&asked, &w), &error);
  lh_free(asked.ids);
  lh_without_free(&asked.cut.what);
  if (code == LH_OK) {
    fwrite(v->answer.text, 1, v->answer.size, out);
  } else {
    cli_json_open(&refusal, NULL, '{');
    cli_json_name(&refusal, "error", error.message);
    cli_json_close(&refusal, '}');
  }
  if (!v->is_written || code != LH_OK || fseeko(memory, 0, SEEK_SET) != 0) drop_answer(v);
  return code;
}

/* ==== Keys ======================================================================== */

/* Equal questions have equal keys: treemap?by=class&limit=200. Values are encoded as by
** encodeURIComponent; names and keys need no encoding. */
char *view_encode(char *to, const char *text) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()";
  for (; *text != '\0'; text++) {
    if (strchr(plain, *text) != NULL)
      *to++ = *text;
    else
      to += sprintf(to, "%%%02X", (unsigned char)*text);
  }
  *to = '\0';
  return to;
}

char *view_key(const view_question *question) {
  size_t size = strlen(question->name) + 1;
  for (size_t i = 0; i < question->n; i++)
    size += strlen(question->parameters[i].key) + view_encoded(question->parameters[i].value) + 2;
  char *key = cli_must(malloc(size)), *end = stpcpy(key, question->name);
  for (size_t i = 0; i < question->n; i++) {
    end += sprintf(end, "%c%s=", i == 0 ? '?' : '&', question->parameters[i].key);
    end = view_encode(end, question->parameters[i].value);
  }
  return key;
}

void view_take_key(char *key, view_question *question) {
  *question = (view_question){.name = strsep(&key, "?")};
  while (key != NULL && question->n < VIEW_MOST_PARAMETERS) {
    char *value = strsep(&key, "&"), *name = strsep(&value, "=");
    question->parameters[question->n++] = (view_parameter){name, value != NULL ? value : ""};
  }
}
