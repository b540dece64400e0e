/* stable_text.c - replaces numbers in labels of steps and names of classes by *. */
#include <ctype.h>

#include "place.h"

size_t lh_digits(const char *text) {
  size_t n = 0;
  while (isdigit((unsigned char)text[n])) n++;
  return n;
}

static bool add_folded(lh_text *out, const char *text, size_t n) {
  bool any = false;
  for (const char *end = text + n; text < end;) {
    size_t digits = lh_digits(text);
    any = any || digits > 0;
    lh_text_add(out, digits > 0 ? "*" : text, 1);
    text += digits > 0 ? digits : 1;
  }
  return any;
}

bool lh_fold_digits(lh_text *out, const char *text) {
  bool any = add_folded(out, text, strlen(text));
  if (!any) lh_text_free(out);
  return any;
}

bool lh_fold_loaded_code(lh_text *out, const char *text) {
  const char *end = strstr(text, "[string \"") ? strrchr(text, ']') : NULL;
  bool any = end && add_folded(out, text, (size_t)(end - text));
  if (any)
    lh_text_string(out, end);
  else
    lh_text_free(out);
  return any;
}

bool lh_fold_differing(lh_text *out, const char *text, const char *other) {
  while (*text && *other) {
    size_t n = lh_digits(text), m = lh_digits(other);
    bool is_same = n == m && strncmp(text, other, n > 0 ? n : 1) == 0;
    bool is_number = (n > 0 || *text == '*') && (m > 0 || *other == '*');
    if (!is_same && !is_number) break;
    lh_text_add(out, is_same ? text : "*", is_same && n > 0 ? n : 1);
    text += n > 0 ? n : 1;
    other += m > 0 ? m : 1;
  }
  if (!*text && !*other) return true;
  lh_text_free(out);
  return false;
}

bool lh_fold_module_name(lh_text *out, const char *text, size_t n) {
  size_t last = n;
  bool has_digit = false;
  for (; last > 0 && !strchr("./ \"", text[last - 1]); last--)
    has_digit = has_digit || isdigit((unsigned char)text[last - 1]);
  bool is_part = has_digit && last > 0 && strchr("./", text[last - 1]);
  bool any = add_folded(out, text, is_part ? last : n);
  if (is_part) lh_text_add(out, "*", 1);
  any = add_folded(out, text + n, strlen(text + n)) || any || is_part;
  if (!any) lh_text_free(out);
  return any;
}

bool lh_fold_module(lh_text *out, const lh_class_entry *class) {
  const char *name = class->visible.name;
  return class->is_module && lh_fold_module_name(out, name, strlen(name));
}
