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

bool lh_fold_digits(lh_text *out, const char *text) {
  bool any = false;
  for (size_t n; *text; text += n > 0 ? n : 1) {
    n = n_digits(text);
    any = any || n > 0;
    lh_text_add(out, n > 0 ? "*" : text, 1);
  }
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

/* Only where a name begins with _G or package.loaded: elsewhere numbers are lines of functions and
** the like, and keys that are many are [*]. */
bool lh_fold_numbers(lh_text *out, const char *path) {
  size_t n = strncmp(path, "package.loaded", 14) == 0 ? 14 : strncmp(path, "_G", 2) == 0 ? 2 : 0;
  return n > 0 && (path[n] == '.' || path[n] == '[') && lh_fold_digits(out, path);
}

bool lh_fold_module(lh_text *out, const lh_class_entry *class) {
  return class->is_module && lh_fold_digits(out, class->visible.name);
}
