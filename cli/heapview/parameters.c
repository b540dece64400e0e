/*
** parameters.c - the parameters of a question: limit=20&by=class. Each is a field of the request,
** and here is a row for each; so a new one is a line. Where a key means one thing to some questions
** and another thing to others it has several rows, and the first that knows the question counts.
*/
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "parameters.h"

typedef enum parameter_kind {
  A_NUMBER,   /* size_t or uint64_t */
  A_POSITION, /* one end of the interval */
  A_FLAG,     /* 0 or 1 */
  A_WORD,     /* one of `words`, for an enum field */
  A_TEXT,
  A_TYPE,     /* of objects: a set of one */
  AN_ADDRESS, /* 0x55d0c0a3f2e0, whatever is there */
  AN_OBJECT,  /* 0x55d0c0a3f2e0, or root */
  A_SNAPSHOT, /* by its number */
  NOT_HERE    /* taken by who needs it */
} parameter_kind;

typedef struct parameter {
  const char *key;
  const char *questions; /* " treemap flame ": those that know it so; NULL: all */
  parameter_kind kind;
  size_t offset;
  size_t has_offset; /* of the field that says it was given; 0: there is none */
  const char *words; /* "this|or|that" */
} parameter;

#define FIELD(name) offsetof(lh_request, name)

/* Questions about a profile that may be about a part of its time. */
#define OF_PARTS " findings profile allocations stacks calls "

static const parameter parameters[] = {
    {"against", NULL, A_SNAPSHOT, FIELD(before), 0, NULL},
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
    {"in", NULL, NOT_HERE, 0, 0, NULL},
    {"limit", NULL, A_NUMBER, FIELD(limit), FIELD(has_limit), NULL},
    {"made_since", OF_PARTS, NOT_HERE, 0, 0, NULL},
    {"made_until", OF_PARTS, NOT_HERE, 0, 0, NULL},
    {"of", NULL, A_TEXT, FIELD(of), 0, NULL},
    {"pixels", " map ", A_NUMBER, FIELD(cells), 0, NULL},
    {"query", " sql ", NOT_HERE, 0, 0, NULL},
    {"since", NULL, A_POSITION, FIELD(interval.since), FIELD(has_interval), NULL},
    {"site", " site_objects ", A_TEXT, FIELD(name), 0, NULL},
    {"sort", " classes objects diff apart ", A_WORD, FIELD(sort), 0, "retained|shallow|count"},
    {"sort", " allocations stacks ", A_WORD, FIELD(order), 0, "allocated|live|peak|soon_dead"},
    {"sort", NULL, A_TEXT, FIELD(sorted), 0, NULL},
    {"to", " map ", AN_ADDRESS, FIELD(to_address), 0, NULL},
    {"type", NULL, A_TYPE, FIELD(type_mask), 0, NULL},
    {"until", NULL, A_POSITION, FIELD(interval.until), FIELD(has_interval), NULL},
};

static bool knows(const parameter *p, const char *question) {
  char word[64];
  if (p->questions == NULL) return true;
  snprintf(word, sizeof word, " %s ", question);
  return strstr(p->questions, word) != NULL;
}

static const parameter *find_parameter(const char *key, const char *question) {
  for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
    if (strcmp(parameters[i].key, key) == 0 && knows(&parameters[i], question))
      return &parameters[i];
  return NULL;
}

/* {=== Values ========================================================================= */

static int refuse(const view_asked *asked, const char *key, const char *needs, const char *value) {
  return view_refuse(asked->error, "%s needs %s, not '%.64s'", key, needs, value);
}

static int take_number(view_asked *asked, const parameter *p, const char *value, uint64_t *field) {
  return cli_read_number(value, field) ? LH_OK : refuse(asked, p->key, "a number", value);
}

static int take_flag(view_asked *asked, const parameter *p, const char *value, bool *field) {
  *field = strcmp(value, "1") == 0;
  return *field || strcmp(value, "0") == 0 ? LH_OK : refuse(asked, p->key, "0 or 1", value);
}

static int take_word(view_asked *asked, const parameter *p, const char *value, unsigned *field) {
  if (cli_read_word(value, p->words, field)) return LH_OK;
  char needs[128];
  snprintf(needs, sizeof needs, "one of %s", p->words);
  return refuse(asked, p->key, needs, value);
}

static int take_type(view_asked *asked, const parameter *p, const char *value, uint32_t *field) {
  lh_type type = lh_type_called(value, strlen(value));
  if (type == LH_TYPE_COUNT) return refuse(asked, p->key, "a type such as table", value);
  *field = 1u << type;
  return LH_OK;
}

static bool read_address(const char *text, uint64_t *address) {
  char *end;
  errno = 0;
  *address = strtoumax(text, &end, 16);
  return strncmp(text, "0x", 2) == 0 && text[2] != '\0' && *end == '\0' && errno == 0;
}

static int take_address(view_asked *asked, const parameter *p, const char *value, uint64_t *field) {
  return read_address(value, field)
             ? LH_OK
             : refuse(asked, p->key, "an address such as 0x55d0c0a3f2e0", value);
}

static int take_object(view_asked *asked, const parameter *p, const char *value, lh_id *field) {
  uint64_t address;
  *field = LH_ROOT;
  if (strcmp(value, "root") == 0) return LH_OK;
  if (!read_address(value, &address))
    return refuse(asked, p->key, "root, or an address such as 0x55d0c0a3f2e0", value);
  if (asked->snapshot == NULL) return view_refuse(asked->error, "no snapshot was opened");
  *field = lh_find_address(asked->snapshot, address);
  if (*field != LH_NO_OBJECT) return LH_OK;
  view_refuse(asked->error, "nothing is at %.64s in %s", value, asked->v->files[asked->in]);
  return asked->error->code = LH_ENOTFOUND;
}

static int take_snapshot(view_asked *asked, const parameter *p, const char *value,
                         lh_snapshot **field) {
  uint64_t i;
  if (!cli_read_number(value, &i)) return refuse(asked, p->key, "the number of a snapshot", value);
  if (i >= asked->v->n)
    return view_refuse(asked->error, "there is no snapshot number %s: the first is 0, the last %zu",
                       value, asked->v->n - 1);
  *field = asked->v->snapshots[i];
  return view_prepare(*field, asked->error);
}

/* }=================================================================================== */

static int take(view_asked *asked, const parameter *p, const char *value) {
  char *fields = (char *)&asked->request;
  void *field = fields + p->offset;
  switch (p->kind) {
    case A_NUMBER:
    case A_POSITION: return take_number(asked, p, value, field);
    case A_FLAG: return take_flag(asked, p, value, field);
    case A_WORD: return take_word(asked, p, value, field);
    case A_TEXT: *(const char **)field = value; return LH_OK;
    case A_TYPE: return take_type(asked, p, value, field);
    case AN_ADDRESS: return take_address(asked, p, value, field);
    case AN_OBJECT: return take_object(asked, p, value, field);
    case A_SNAPSHOT: return take_snapshot(asked, p, value, field);
    case NOT_HERE: break;
  }
  return LH_OK;
}

int view_take_in(view_asked *asked) {
  const char *value = view_parameter_of(asked->question, "in");
  uint64_t in = asked->v->n > 0 ? asked->v->n - 1 : 0;
  if (value != NULL && (!cli_read_number(value, &in) || in >= asked->v->n))
    return refuse(asked, "in", "the number of a snapshot, 0 the first", value);
  asked->in = (size_t)in;
  return LH_OK;
}

int view_take_parameters(view_asked *asked) {
  const view_question *question = asked->question;
  lh_request *r = &asked->request;
  char *fields = (char *)r;
  if (strcmp(asked->name, "objects") == 0) r->limit = 20; /* as a command does */
  r->matches = 1;
  r->class_index = UINT32_MAX;
  r->interval = (lh_interval)LH_EVER;
  for (size_t i = 0; i < question->n; i++) {
    const parameter *p = find_parameter(question->parameters[i].key, asked->name);
    if (p == NULL)
      return view_refuse(asked->error, "there is no parameter '%.64s'",
                         question->parameters[i].key);
    int code = take(asked, p, question->parameters[i].value);
    if (code != LH_OK) return code;
    if (p->has_offset != 0) *(bool *)(fields + p->has_offset) = true;
  }
  return LH_OK;
}
