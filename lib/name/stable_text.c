/*
** stable_text.c - what stays the same of a text from run to run, from machine to machine and from
** build to build; and what is the same of texts that differ in their numbers.
*/
#include <ctype.h>
#include <string.h>

#include "place.h"

static size_t n_digits(const char *p) {
  size_t n = 0;
  while (isdigit((unsigned char)p[n])) n++;
  return n;
}

static size_t n_hex_digits(const char *p) {
  size_t n = 0;
  while (isxdigit((unsigned char)p[n])) n++;
  return n;
}

/* Bytes of the directory in a source's name, such as @/usr/share/app.lua:31 (behind the @). */
static size_t directory_length(const char *p) {
  size_t directory = 0;
  for (size_t i = 0; p[i] && p[i] != ')' && p[i] != '"'; i++) {
    if (p[i] == ':' && n_digits(p + i + 1)) break;
    if (strncmp(p + i, " of ", 4) == 0 || strncmp(p + i, " in ", 4) == 0) break;
    if (p[i] == '/') directory = i + 1;
  }
  return directory;
}

/* Bytes of a string in quotes, the quotes included. */
static size_t quoted_length(const char *p) {
  size_t n = 1;
  while (p[n] && p[n] != '"') n += p[n] == '\\' && p[n + 1] ? 2 : 1;
  return p[n] ? n + 1 : n;
}

void lh_stable_text(lh_text *out, const char *text) {
  for (const char *p = text; *p;) {
    size_t taken = *p == '"' ? quoted_length(p) : 1;
    if (strncmp(p, "0x", 2) == 0) taken = 2;
    lh_text_add(out, p, taken);
    if (*p == '@') taken += directory_length(p + 1);
    if (taken == 2 && *p == '0') taken += n_hex_digits(p + 2);
    p += taken;
    if (*p == ':' && n_digits(p + 1)) p += 1 + n_digits(p + 1);
  }
}

/* Adds n bytes with * for each number. Are there any? */
static bool add_folded(lh_text *out, const char *text, size_t n) {
  bool any = false;
  for (const char *end = text + n; text < end;) {
    size_t digits = n_digits(text);
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

bool lh_fold_differing(lh_text *out, const char *text, const char *other) {
  while (*text && *other) {
    size_t n = n_digits(text), m = n_digits(other);
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

/* The same of a text in which the name of a module ends behind n bytes: plugins.shop_r12 becomes
** plugins.*, since a package that gets modules with numbers gets such of several kinds. */
static bool fold_module_in(lh_text *out, const char *text, size_t n) {
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

/* Only where a name begins with _G or package.loaded: elsewhere numbers are lines of functions and
** the like, and keys that are many are [*]. */
bool lh_fold_numbers(lh_text *out, const char *path) {
  size_t n = strncmp(path, "package.loaded", 14) == 0 ? 14 : strncmp(path, "_G", 2) == 0 ? 2 : 0;
  if (n == 0 || (path[n] != '.' && path[n] != '[')) return false;
  bool is_quoted = n == 14 && path[n] == '[' && path[n + 1] == '"';
  if (is_quoted) return fold_module_in(out, path, n + quoted_length(path + n + 1));
  return lh_fold_digits(out, path);
}

bool lh_fold_module(lh_text *out, const lh_class_entry *class) {
  const char *name = class->visible.name;
  return class->is_module && fold_module_in(out, name, strlen(name));
}
