/*
** older_fingerprint.c - the fingerprints that there were before those of a version with a number,
** for files of --known that have these: for one release.
**
** They were hashes of texts, from which what differs between runs was taken by looking for words in
** them; so directories whose names have such words changed them.
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

static void add_stable(lh_text *out, const char *text) {
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

bool lh_older_fingerprint(const lh_class_entry *class, const char *name, lh_type type,
                          const lh_place_tree *tree, uint32_t place, lh_print print) {
  lh_text what = {0}, path = {0};
  if (!class) {
    lh_text_format(&what, "any %s", lh_type_name(type));
  } else if (class->plain != LH_NO_NUMBER || class->is_empty) {
    lh_text_string(&what, "collection");
  } else {
    add_stable(&what, name);
    lh_text_format(&what, " %s %llx", lh_type_name(type), (unsigned long long)class->shape);
  }
  lh_text_string(&what, " <- ");
  lh_place_text(tree, place, &path);
  char *text = lh_text_finish(&path);
  if (text) add_stable(&what, text);
  bool ok = text && !what.failed;
  if (ok)
    (void)snprintf(print, sizeof(lh_print), "%010llx",
                   (unsigned long long)(lh_hash(what.bytes, what.n, 0) >> 24));
  lh_text_free(&what);
  lh_free(text);
  return ok;
}
