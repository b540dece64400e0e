/*
** complete.c - completes a name: a path, a class, a function's place, an address.
**
** Names that begin with the text come first, then names that contain it; then the biggest. Cost:
** some thousand classes and the keys of one table, a few milliseconds, at most 50.
*/
#include <ctype.h>

#include "find.h"

enum { MOST_ENTRIES = 1 << 18 };

enum { BEGINS, HAS, NOT_AT_ALL };

typedef struct completing {
  lh_snapshot *snapshot;
  lh_completions *out;
  unsigned ranks[LH_MOST_COMPLETIONS]; /* of the completions in `out` */
  bool failed;
} completing;

static unsigned rank_of(lh_range asked, const char *name, size_t n) {
  size_t n_asked = lh_range_length(asked);
  if (n_asked <= n && lh_text_contains(name, n_asked, asked.at, n_asked)) return BEGINS;
  return lh_text_contains(name, n, asked.at, n_asked) ? HAS : NOT_AT_ALL;
}

static bool is_before(unsigned rank, uint64_t bytes, unsigned other_rank, uint64_t other_bytes) {
  return rank != other_rank ? rank < other_rank : bytes > other_bytes;
}

static bool may_be_in(const completing *c, unsigned rank, uint64_t bytes) {
  size_t last = LH_MOST_COMPLETIONS - 1;
  if (rank == NOT_AT_ALL) return false;
  return c->out->n <= last ||
         is_before(rank, bytes, c->ranks[last], c->out->list[last].retained_bytes);
}

/* Frees the text if the list has no room for it. */
static void put_in(completing *c, unsigned rank, lh_completion made) {
  lh_completions *out = c->out;
  size_t at = out->n;
  c->failed |= !made.text;
  if (!made.text) return;
  while (at > 0 &&
         is_before(rank, made.retained_bytes, c->ranks[at - 1], out->list[at - 1].retained_bytes))
    at--;
  size_t last = out->n < LH_MOST_COMPLETIONS ? out->n++ : LH_MOST_COMPLETIONS - 1;
  if (at > last) at = last;
  lh_free(out->list[last].text);
  for (size_t i = last; i > at; i--) {
    out->list[i] = out->list[i - 1];
    c->ranks[i] = c->ranks[i - 1];
  }
  out->list[at] = made;
  c->ranks[at] = rank;
}

static void put_object(completing *c, unsigned rank, char *text, lh_id id) {
  put_in(c, rank,
         (lh_completion){.text = text,
                         .id = id,
                         .class_index = lh_class_of(c->snapshot, id),
                         .objects = 1,
                         .retained_bytes = lh_retained_bytes(c->snapshot, id)});
}

/* The start of the last, unfinished step. NULL: the text is one word. */
static const char *last_step(lh_range r) {
  const char *step = NULL;
  char quote = '\0';
  bool in_brackets = false;
  for (const char *at = r.at; at < r.end; at++) {
    if (quote) {
      if (*at == '\\' && at + 1 < r.end)
        at++;
      else if (*at == quote)
        quote = '\0';
    } else if (in_brackets) {
      if (*at == '"' || *at == '\'') quote = *at;
      if (*at == ']') in_brackets = false;
    } else if (*at == '.' || *at == '[') {
      step = at;
      in_brackets = *at == '[';
    }
  }
  return step;
}

/* The object of a path; for an upvalue its content. LH_NO_OBJECT: none. */
static lh_id object_at(completing *c, lh_range path) {
  lh_finder finder = {.snapshot = c->snapshot, .start = path.at, .class_index = UINT32_MAX};
  lh_set set = {0};
  lh_id id = LH_NO_OBJECT;
  finder.seen = lh_alloc_zeroed((size_t)c->snapshot->n + 1, 1);
  c->failed |= !finder.seen;
  if (finder.seen && path.at < path.end && lh_find_path(&finder, path, &set) == LH_OK && set.n > 0)
    id = set.ids[0];
  LH_FREE_ALL(set.ids, finder.seen);
  return lh_type_of(c->snapshot, id) == LH_TYPE_UPVALUE ? lh_content_of_upvalue(c->snapshot, id)
                                                        : id;
}

static lh_range begun_key(const char *step, const char *end) {
  lh_range key = {step + 1, end};
  if (*step != '[') return key;
  if (key.at < key.end && key.end[-1] == ']') key.end--;
  if (key.at < key.end && (*key.at == '"' || *key.at == '\'')) {
    char quote = *key.at++;
    if (key.at < key.end && key.end[-1] == quote) key.end--;
  }
  return key;
}

static unsigned rank_of_key(const completing *c, lh_range asked, lh_value key) {
  char digits[24];
  const char *bytes;
  size_t n;
  switch (key.kind) {
    case LH_VALUE_INTEGER:
      n = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)key.as.integer);
      return rank_of(asked, digits, n) == BEGINS ? BEGINS : NOT_AT_ALL;
    case LH_VALUE_OBJECT:
      (void)lh_string_whole(c->snapshot, key.as.object, &bytes, &n);
      if (lh_is_string(c->snapshot, key.as.object)) return rank_of(asked, bytes, n);
      return lh_range_length(asked) == 0 ? HAS : NOT_AT_ALL;
    default: return lh_range_length(asked) == 0 ? HAS : NOT_AT_ALL;
  }
}

static void put_keys(completing *c, lh_range base, lh_range asked, lh_id table) {
  lh_edges it;
  lh_value key, value;
  size_t n = 0;
  lh_entries_begin(c->snapshot, table, &it);
  while (n++ < MOST_ENTRIES && !c->failed && lh_entries_next(&it, &key, &value)) {
    unsigned rank = rank_of_key(c, asked, key);
    if (value.kind != LH_VALUE_OBJECT || lh_is_own(c->snapshot, value.as.object) ||
        !may_be_in(c, rank, lh_retained_bytes(c->snapshot, value.as.object)))
      continue;
    lh_text text = {0};
    lh_text_add(&text, base.at, lh_range_length(base));
    lh_add_key(&text, c->snapshot, key, false);
    put_object(c, rank, lh_text_finish(&text), value.as.object);
  }
}

static void put_steps(completing *c, lh_range asked) {
  const char *step = last_step(asked);
  if (!step) return;
  lh_range base = {asked.at, step};
  lh_id id = object_at(c, base);
  if (lh_type_of(c->snapshot, id) == LH_TYPE_TABLE)
    put_keys(c, base, begun_key(step, asked.end), id);
}

static void put_classes(completing *c, lh_range asked) {
  for (uint32_t i = 0; i < lh_class_count(c->snapshot) && !c->failed; i++) {
    const lh_class *class = lh_class_at(c->snapshot, i);
    uint64_t objects = class->objects ? class->objects : class->garbage_objects;
    uint64_t bytes = class->objects ? class->shallow_bytes : class->garbage_bytes;
    if (objects == 0) continue;
    unsigned rank = rank_of(asked, class->name, strlen(class->name));
    if (!may_be_in(c, rank, bytes)) continue;
    put_in(c, rank, (lh_completion){lh_copy_text(class->name), LH_NO_OBJECT, i, objects, bytes});
  }
}

/* "@app.lua:31": names of function classes end with a place. */
static void put_places(completing *c, lh_range asked) {
  for (uint32_t i = 0; i < lh_class_count(c->snapshot) && !c->failed; i++) {
    const lh_class *class = lh_class_at(c->snapshot, i);
    uint32_t n_own = lh_own_bytes(c->snapshot, &c->snapshot->classes->list[i]);
    const char *place = class->name + n_own;
    lh_range name = {asked.at + 1, asked.end};
    if (n_own == 0 || *place != '@' || class->type != LH_TYPE_CLOSURE || class->objects == 0)
      continue;
    unsigned rank = rank_of(name, place + 1, strlen(place + 1));
    if (may_be_in(c, rank, class->shallow_bytes))
      put_in(c, rank,
             (lh_completion){lh_copy_text(place), LH_NO_OBJECT, i, class->objects,
                             class->shallow_bytes});
  }
}

static void put_roots(completing *c, lh_range asked) {
  const lh_classes *classes = c->snapshot->classes;
  const struct {
    const char *name;
    lh_id id;
  } roots[] = {{"_G", classes->globals},
               {"package.loaded", classes->loaded},
               {"registry", classes->registry}};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    const char *name = roots[i].name;
    if (roots[i].id == LH_NO_OBJECT || rank_of(asked, name, strlen(name)) != BEGINS) continue;
    put_object(c, BEGINS, lh_copy_text(name), roots[i].id);
  }
  static const char globals[] = "_G";
  if (classes->globals != LH_NO_OBJECT && !last_step(asked))
    put_keys(c, (lh_range){globals, globals + strlen(globals)}, asked, classes->globals);
}

static bool put_address(completing *c, lh_range asked) {
  lh_range left, right;
  uint64_t address;
  if (!lh_range_split(asked, "0x", true, &left, &right)) return false;
  right.at -= 2;
  if (!lh_range_address(&right, &address) || right.at < right.end) return false;
  lh_id id = lh_find_address(c->snapshot, address);
  if (id == LH_NO_OBJECT || id == LH_ROOT) return false;
  put_object(c, BEGINS, lh_object_text(c->snapshot, id), id);
  return true;
}

int lh_complete(lh_snapshot *snapshot, const char *begun, lh_completions *out, lh_error *error) {
  lh_range asked = {begun, begun + strlen(begun)};
  completing c = {.snapshot = snapshot, .out = out};
  *out = (lh_completions){.n = 0};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "completing needs a classified snapshot (lh_classify)");
  while (asked.at < asked.end && isspace((unsigned char)*asked.at)) asked.at++;
  if (asked.at < asked.end && *asked.at == '@') {
    put_places(&c, asked);
  } else if (!put_address(&c, asked)) {
    put_steps(&c, asked);
    put_roots(&c, asked);
    put_classes(&c, asked);
  }
  if (!c.failed) return LH_OK;
  lh_completions_free(out);
  return lh_fail_memory(error, "completing a name");
}

void lh_completions_free(lh_completions *completions) {
  for (size_t i = 0; i < completions->n; i++) lh_free(completions->list[i].text);
  *completions = (lh_completions){.n = 0};
}
