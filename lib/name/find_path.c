/*
** find_path.c - finds objects by path: _G.cache[12].owner, package.loaded["app.bus"].x.
**
** Also by folded paths: _G.list[*].next*, (upvalue bus of function f @app.lua:1)(.children[*])*.
*/
#include "find.h"

#include <math.h>

typedef struct key {
  enum { KEY_ANY, KEY_STRING, KEY_PREFIX, KEY_PATTERN, KEY_NUMBER, KEY_BOOLEAN, KEY_ADDRESS } kind;
  lh_text text; /* the string, its beginning, or a pattern */
  double number;
  int64_t integer;
  bool is_integer, boolean;
  uint64_t address;
  lh_id object; /* at `address`; LH_NO_OBJECT: none */
} key;

/* ==== Keys ========================================================================== */

/* Unlike Lua, also accepts characters beyond ASCII. */
static bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (unsigned char)c >= 0x80;
}

static lh_range take_word(lh_range *r) {
  lh_range word = {r->at, r->at};
  while (word.end < r->end && is_word_character(*word.end)) word.end++;
  r->at = word.end;
  return word;
}

static void add_utf8(lh_text *text, uint32_t c) {
  char bytes[4];
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = n; i-- > 1; c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3F));
  bytes[0] = (char)(leads[n] | c);
  lh_text_add(text, bytes, n);
}

static uint32_t take_digits(lh_range *r, int base, int max) {
  char digits[9];
  int n = 0;
  while (n < max && r->at + n < r->end && n < 8) {
    digits[n] = r->at[n];
    n++;
  }
  digits[n] = '\0';
  char *end;
  uint32_t value = (uint32_t)strtoul(digits, &end, base);
  r->at += end - digits;
  return value;
}

static void take_escape(lh_range *r, lh_text *text) {
  static const char names[] = "abtnvfr", values[] = "\a\b\t\n\v\f\r";
  char c = *r->at;
  const char *name = c ? strchr(names, c) : NULL;
  char byte;
  if (c >= '0' && c <= '9') {
    byte = (char)take_digits(r, 10, 3);
  } else if (c == 'x') {
    r->at++;
    byte = (char)take_digits(r, 16, 2);
  } else if (lh_range_skip(r, "u{")) {
    add_utf8(text, take_digits(r, 16, 8) & 0x1FFFFF);
    if (r->at < r->end) r->at++;
    return;
  } else {
    byte = name ? values[name - names] : c;
    r->at++;
  }
  lh_text_add(text, &byte, 1);
}

static bool take_string(lh_range *r, lh_text *text) {
  char quote = *r->at++;
  while (r->at < r->end && *r->at != quote) {
    if (*r->at == '\\' && r->at + 1 < r->end) {
      r->at++;
      take_escape(r, text);
    } else {
      lh_text_add(text, r->at++, 1);
    }
  }
  if (r->at == r->end) return false;
  r->at++;
  return true;
}

/* Like Lua, turns a float key with an integer value into an integer. */
static void normalise(key *k) {
  const double limit = 9223372036854775808.0; /* 2^63 */
  if (!(k->number >= -limit && k->number < limit)) return;
  k->integer = (int64_t)k->number;
  k->is_integer = !((double)k->integer < k->number || (double)k->integer > k->number);
}

/* A number between brackets as Lua reads it; also 1/0 and -1/0, as paths write infinity. */
static bool take_number(lh_range *r, key *k) {
  char digits[64], *end;
  size_t n = 0;
  k->kind = KEY_NUMBER;
  k->is_integer = false;
  k->number = lh_range_skip(r, "-1/0") ? -HUGE_VAL : lh_range_skip(r, "1/0") ? HUGE_VAL : 0;
  if (isinf(k->number)) return true;
  while (r->at + n < r->end && r->at[n] != ']' && n < sizeof digits - 1) {
    digits[n] = r->at[n];
    n++;
  }
  digits[n] = '\0';
  char *point = strchr(digits, '.');
  if (point) *point = lh_decimal_point();
  errno = 0;
  k->integer = strtoll(digits, &end, 10);
  k->is_integer = n > 0 && *end == '\0' && errno == 0;
  if (!k->is_integer) {
    k->number = strtod(digits, &end);
    normalise(k);
  }
  r->at += n;
  return n > 0 && *end == '\0' && !isnan(k->number);
}

static bool take_key(lh_range *r, key *k) {
  lh_range left, right;
  if (r->at == r->end) return false;
  if (*r->at == '"' || *r->at == '\'') {
    k->kind = KEY_STRING;
    return take_string(r, &k->text);
  }
  if (lh_range_skip(r, "*")) return true;
  k->boolean = lh_range_skip(r, "true");
  if (k->boolean || lh_range_skip(r, "false")) {
    k->kind = KEY_BOOLEAN;
    return true;
  }
  if (lh_range_split(*r, "]", false, &left, &right) &&
      lh_range_split(left, "0x", false, &left, &right)) { /* [table: 0x...] */
    r->at = left.end;
    k->kind = KEY_ADDRESS;
    return lh_range_address(r, &k->address);
  }
  return take_number(r, k);
}

static bool is_number_key(const key *k, lh_value value) {
  if (k->is_integer) return value.kind == LH_VALUE_INTEGER && k->integer == value.as.integer;
  return value.kind == LH_VALUE_FLOAT && !(k->number < value.as.number) &&
         !(k->number > value.as.number);
}

/* A string that is partly kept matches by that part, its length and its hash, unless that is
** secret. */
static bool is_text(const lh_snapshot *snapshot, const key *k, lh_id id) {
  const char *bytes;
  size_t n;
  if (!lh_is_string(snapshot, id)) return false;
  bool whole = lh_string_whole(snapshot, id, &bytes, &n);
  if (whole) return n == k->text.n && (n == 0 || memcmp(bytes, k->text.bytes, n) == 0);
  if (n == 0) return false;
  lh_object string;
  lh_object_at(snapshot, id, &string);
  if (string.as.string.length != k->text.n) return false;
  if (string.as.string.kept == k->text.n) return memcmp(bytes, k->text.bytes, k->text.n) == 0;
  return memcmp(string.as.string.bytes, k->text.bytes, (size_t)string.as.string.kept) == 0 &&
         string.as.string.hash == lh_hash(k->text.bytes, k->text.n, 0);
}

static bool fits_key(const lh_snapshot *snapshot, const key *k, lh_id id) {
  const char *bytes;
  size_t n;
  if (!lh_is_string(snapshot, id)) return false;
  (void)lh_string_whole(snapshot, id, &bytes, &n);
  if (k->kind == KEY_PATTERN)
    return lh_range_fits((lh_range){k->text.bytes, k->text.bytes + k->text.n}, bytes, n);
  return n >= k->text.n && memcmp(bytes, k->text.bytes, k->text.n) == 0;
}

/* A long name ends with dots: ["its beginning..."]. */
static bool take_dots(key *k) {
  enum { DOTS = 3 };
  if (k->kind != KEY_STRING || k->text.n <= DOTS) return false;
  if (memcmp(k->text.bytes + k->text.n - DOTS, "...", DOTS) != 0) return false;
  k->kind = KEY_PREFIX;
  k->text.n -= DOTS;
  return true;
}

/* A name with a star is a pattern: ["user *"]. */
static bool take_stars(key *k) {
  lh_range text = {k->text.bytes, k->text.bytes + k->text.n};
  if (k->kind != KEY_STRING || k->text.n == 0 || !lh_range_has_star(text)) return false;
  k->kind = KEY_PATTERN;
  return true;
}

static bool matches(const lh_snapshot *snapshot, const key *k, lh_value value) {
  switch (k->kind) {
    case KEY_ANY: return true;
    case KEY_STRING: return value.kind == LH_VALUE_OBJECT && is_text(snapshot, k, value.as.object);
    case KEY_PREFIX:
    case KEY_PATTERN:
      return value.kind == LH_VALUE_OBJECT && fits_key(snapshot, k, value.as.object);
    case KEY_NUMBER: return is_number_key(k, value);
    case KEY_BOOLEAN: return value.kind == LH_VALUE_BOOLEAN && value.as.boolean == k->boolean;
    case KEY_ADDRESS:
      if (value.kind == LH_VALUE_POINTER || value.kind == LH_VALUE_CFUNCTION)
        return value.as.pointer == k->address;
      return value.kind == LH_VALUE_OBJECT && k->object != LH_NO_OBJECT &&
             value.as.object == k->object;
  }
  return false;
}

/* ==== Steps ========================================================================= */

typedef struct outcome {
  lh_value_kind scalar; /* the value found in place of an object; LH_VALUE_NIL: none */
  lh_id last;           /* the object looked into last */
} outcome;

static bool look_into(lh_finder *finder, lh_id id, const key *k, lh_set *out, outcome *o) {
  const lh_snapshot *snapshot = finder->snapshot;
  lh_edges it;
  lh_value name, value;
  lh_id content = lh_content_of_upvalue(snapshot, id);
  if (content != LH_NO_OBJECT) id = content;
  o->last = id;
  for (lh_entries_begin(snapshot, id, &it); lh_entries_next(&it, &name, &value);) {
    if (!matches(snapshot, k, name)) continue;
    if (!lh_follow_entry(finder, id, name, value)) return false;
    if (value.kind != LH_VALUE_OBJECT)
      o->scalar = value.kind == LH_VALUE_ABSENT ? LH_VALUE_NIL : value.kind;
    else if (!lh_set_add(finder, out, value.as.object))
      return false;
    if (k->kind != KEY_ANY && k->kind != KEY_PREFIX && k->kind != KEY_PATTERN) break;
  }
  return true;
}

static int fail_step(lh_finder *finder, lh_range before, lh_range step, size_t n_before,
                     const key *k, const outcome *o) {
  static const char *const kinds[] = {"nil",     "a boolean",        "an integer",
                                      "a float", "a light userdata", "a light C function"};
  const lh_snapshot *snapshot = finder->snapshot;
  lh_text text = {0};
  lh_range asked = {k->text.bytes, k->text.bytes + k->text.n};
  lh_text_escaped(&text, before.at, lh_range_length(before), false);
  if (o->scalar != LH_VALUE_NIL) {
    lh_text_escaped(&text, step.at, lh_range_length(step), false);
    lh_text_format(&text, " is %s, no object", kinds[o->scalar]);
  } else if (n_before > 1) {
    lh_text_string(&text, " are ");
    lh_text_count(&text, n_before);
    lh_text_string(&text, " objects, but none has ");
    lh_text_escaped(&text, step.at, lh_range_length(step), false);
  } else {
    lh_type type = lh_type_of(snapshot, o->last);
    lh_text_format(&text, " is a %s, %s", lh_type_name(type),
                   type == LH_TYPE_TABLE ? "but has no " : "and has no fields to look for ");
    lh_text_string(&text, k->kind == KEY_STRING && type == LH_TYPE_TABLE ? "field '" : "");
    if (k->kind == KEY_STRING && type == LH_TYPE_TABLE) {
      lh_text_escaped(&text, k->text.bytes, k->text.n, false);
      lh_text_string(&text, "'");
    } else {
      lh_text_escaped(&text, step.at, lh_range_length(step), false);
    }
    if (type == LH_TYPE_TABLE) lh_add_keys(&text, snapshot, asked, o->last, k->kind == KEY_NUMBER);
  }
  if (k->kind == KEY_STRING) lh_add_no_names(&text, snapshot);
  return lh_find_fail_text(finder, &text);
}

static bool look_into_all(lh_finder *finder, const lh_set *set, const key *k, lh_set *out,
                          outcome *o) {
  bool ok = true;
  for (size_t i = 0; ok && i < set->n; i++) ok = look_into(finder, set->ids[i], k, out, o);
  return ok;
}

/* Replaces the set by the objects under a key. `lenient`: an empty result is fine. */
static int step_by_key(lh_finder *finder, lh_set *set, const key *k, lh_range before, lh_range step,
                       bool lenient) {
  lh_set next = {0};
  outcome o = {LH_VALUE_NIL, LH_NO_OBJECT};
  key beginning = *k; /* borrows the text */
  bool ok = look_into_all(finder, set, k, &next, &o);
  if (ok && next.n == 0 && o.scalar == LH_VALUE_NIL &&
      (take_dots(&beginning) || take_stars(&beginning)))
    ok = look_into_all(finder, set, &beginning, &next, &o);
  int code = lh_set_end(finder, &next, ok);
  bool followed = finder->is_last && finder->followed->n > 0; /* perhaps only to a key */
  if (!code && next.n == 0 && !lenient && !followed)
    code = fail_step(finder, before, step, set->n, k, &o);
  lh_free(set->ids);
  *set = next;
  return code;
}

static int apply(lh_finder *finder, lh_set *set, lh_range suffixes, lh_range before, bool lenient,
                 bool wanted);

/* "step*": the results of one or more steps. */
static int repeat(lh_finder *finder, lh_set *set, lh_range step, lh_range before, bool wanted) {
  lh_set all = {0};
  bool lenient = false;
  int code = 0;
  if (++finder->depth > LH_FIND_DEPTH)
    return lh_find_fail(finder, LH_EARGUMENT, "too many parentheses in one another: '%s'", step);
  while (!code && set->n) {
    code = apply(finder, set, step, before, lenient, wanted);
    size_t n_fresh = 0;
    lenient = true;
    for (size_t i = 0; !code && i < set->n; i++) {
      lh_id id = set->ids[i];
      if (finder->seen[id] & LH_REPEATED) continue;
      if (!lh_grow(&all.ids, all.n, &all.capacity, sizeof *all.ids))
        code = lh_find_fail_memory(finder);
      if (code) break;
      finder->seen[id] |= LH_REPEATED;
      all.ids[all.n++] = id;
      set->ids[n_fresh++] = id;
    }
    set->n = n_fresh;
  }
  for (size_t i = 0; i < all.n; i++) finder->seen[all.ids[i]] &= (uint8_t)~LH_REPEATED;
  lh_free(set->ids);
  *set = all;
  finder->depth--;
  return code;
}

/* ==== Parsing ======================================================================= */

/* The end of the group in parentheses at the start of `r`; NULL: not closed. */
static const char *closing(lh_range r) {
  int depth = 0;
  char quote = '\0';
  for (const char *c = r.at; c < r.end; c++) {
    if (quote) {
      if (*c == '\\' && c + 1 < r.end)
        c++;
      else if (*c == quote)
        quote = '\0';
    } else if (*c == '"') {
      quote = *c;
    } else if (*c == '(') {
      depth++;
    } else if (*c == ')' && --depth == 0) {
      return c + 1;
    }
  }
  return NULL;
}

/* A star at the end is left to apply, which knows whether it repeats. */
static bool take_name(lh_finder *finder, lh_range *r, key *k) {
  lh_range name = {r->at, r->at};
  while (name.end < r->end && (is_word_character(*name.end) || *name.end == '*')) name.end++;
  if (lh_range_is(name, "*") && finder->followed) {
    r->at = name.end;
    return true;
  }
  if (name.at < name.end && name.end[-1] == '*') name.end--;
  r->at = name.end;
  k->kind = lh_range_has_star(name) ? KEY_PATTERN : KEY_STRING;
  lh_text_add(&k->text, name.at, lh_range_length(name));
  return name.at < name.end;
}

/* Fills *k, or *group for a group in parentheses. */
static int take_suffix(lh_finder *finder, lh_range *r, key *k, lh_range *group) {
  lh_range rest = *r, many = *r;
  *group = (lh_range){NULL, NULL};
  bool is_any = lh_range_skip(&many, ".*") && !finder->followed &&
                (many.at == many.end || !is_word_character(*many.at));
  if (is_any || lh_range_skip(r, " ..."))
    return lh_find_fail(finder, LH_EARGUMENT,
                        "'%s' stands for steps of many kinds: give an address instead", rest);
  if (*r->at == '(' && closing(*r)) {
    *group = (lh_range){r->at + 1, closing(*r) - 1};
    r->at = closing(*r);
    if (r->at < r->end && *r->at == '*') return 0;
  } else if (lh_range_skip(r, ".")) {
    if (take_name(finder, r, k)) return 0;
  } else if (lh_range_skip(r, "[")) {
    bool ok = take_key(r, k) && lh_range_skip(r, "]");
    if (ok && k->kind == KEY_ADDRESS) k->object = lh_find_address(finder->snapshot, k->address);
    if (ok) return 0;
  }
  return lh_find_fail(finder, LH_EARGUMENT, "cannot read the path from '%s' on", rest);
}

static bool has_field(lh_finder *finder, const lh_set *set, const key *k) {
  lh_set found = {0};
  outcome o = {LH_VALUE_NIL, LH_NO_OBJECT};
  bool ok = look_into_all(finder, set, k, &found, &o);
  bool has = found.n > 0 || o.scalar != LH_VALUE_NIL;
  (void)lh_set_end(finder, &found, true);
  lh_free(found.ids);
  return !ok || has;
}

/* Takes the first step of a repeated group such as "metatable.__index". */
static int step_in_front(lh_finder *finder, lh_set *set, lh_range *r, bool lenient) {
  lh_range what = {r->at, r->at};
  lh_set next = {0};
  while (what.end < r->end && *what.end != '.' && *what.end != '[') what.end++;
  r->at = what.end;
  int code = lh_find_in_front(finder, set, what, &next);
  if (!code && next.n == 0 && !lenient)
    code = lh_find_fail(finder, LH_ENOTFOUND, "nothing is there that has a '%s'", what);
  lh_free(set->ids);
  *set = next;
  return code;
}

/* `wanted`: the caller needs the references that the last suffix follows. */
static int apply(lh_finder *finder, lh_set *set, lh_range r, lh_range before, bool lenient,
                 bool wanted) {
  int code = 0;
  if (r.at < r.end && is_word_character(*r.at)) code = step_in_front(finder, set, &r, lenient);
  while (!code && r.at < r.end) {
    key k = {.kind = KEY_ANY};
    lh_range group, step = {r.at, r.at};
    code = take_suffix(finder, &r, &k, &group);
    step.end = r.at;
    bool starred = !code && r.at < r.end && *r.at == '*', again = starred;
    if (starred && *step.at == '.' && !has_field(finder, set, &k)) { /* .name* is a pattern if there
                                                                        is no .name */
      lh_text_add(&k.text, "*", 1);
      k.kind = KEY_PATTERN;
      again = false;
    }
    if (starred) r.at++;
    finder->is_last = wanted && r.at == r.end;
    if (again)
      code = repeat(finder, set, group.at ? group : step, before, finder->is_last);
    else if (!code)
      code = step_by_key(finder, set, &k, before, step, lenient);
    finder->is_last = false;
    if (k.text.failed) code = lh_find_fail_memory(finder);
    lh_text_free(&k.text);
    before.end = r.at;
  }
  return code;
}

static int start_at(lh_finder *finder, lh_range range, lh_id id, lh_set *set) {
  if (id == LH_NO_OBJECT)
    return lh_find_fail(finder, LH_ENOTFOUND, "the snapshot has nothing for '%s' to start at",
                        range);
  return lh_set_end(finder, set, lh_set_add(finder, set, id));
}

static int fail_name(lh_finder *finder, lh_range range) {
  lh_text text = {0};
  lh_text_string(&text, "no class or path '");
  lh_text_escaped(&text, range.at, lh_range_length(range), false);
  lh_text_string(&text, "'");
  lh_add_suggestions(&text, finder->snapshot, range, LH_NO_OBJECT);
  return lh_find_fail_text(finder, &text);
}

static int start_at_global(lh_finder *finder, lh_range word, lh_range rest, lh_set *set) {
  const lh_classes *classes = finder->snapshot->classes;
  lh_range whole = {word.at, rest.end};
  key k = {.kind = KEY_STRING};
  outcome o = {LH_VALUE_NIL, LH_NO_OBJECT};
  bool is_path = rest.at == rest.end || *rest.at == '.' || *rest.at == '[' || *rest.at == '(';
  if (classes->globals == LH_NO_OBJECT || word.at == word.end || !is_path)
    return fail_name(finder, whole);
  lh_text_add(&k.text, word.at, lh_range_length(word));
  finder->is_last = lh_find_is_outermost(finder) && rest.at == rest.end;
  bool ok = look_into(finder, classes->globals, &k, set, &o);
  finder->is_last = false;
  int code = lh_set_end(finder, set, ok && !k.text.failed);
  if (!code && set->n == 0 && o.scalar != LH_VALUE_NIL)
    code = fail_step(finder, (lh_range){word.at, word.at}, word, 1, &k, &o);
  else if (!code && set->n == 0) {
    lh_text text = {0};
    lh_text_string(&text, "no class or global is named '");
    lh_text_escaped(&text, word.at, lh_range_length(word), false);
    lh_text_string(&text, "'");
    lh_add_suggestions(&text, finder->snapshot, word, classes->globals);
    lh_add_no_names(&text, finder->snapshot);
    code = lh_find_fail_text(finder, &text);
  }
  lh_text_free(&k.text);
  return code;
}

int lh_find_path(lh_finder *finder, lh_range range, lh_set *out) {
  const lh_classes *classes = finder->snapshot->classes;
  lh_range r = range;
  int code;
  if (*r.at == '(' && closing(r)) {
    lh_range inner = {r.at + 1, closing(r) - 1};
    r.at = closing(r);
    code = lh_find_set(finder, inner, out);
  } else {
    lh_range word = take_word(&r), loaded = range;
    if (lh_range_skip(&loaded, "package.loaded") &&
        (loaded.at == loaded.end || !is_word_character(*loaded.at))) {
      r = loaded;
      code = start_at(finder, range, classes->loaded, out);
    } else if (lh_range_is(word, "_G")) {
      code = start_at(finder, range, classes->globals, out);
    } else if (lh_range_is(word, "registry")) {
      code = start_at(finder, range, classes->registry, out);
    } else {
      code = start_at_global(finder, word, r, out);
    }
  }
  return code ? code
              : apply(finder, out, r, (lh_range){range.at, r.at}, false,
                      lh_find_is_outermost(finder));
}
