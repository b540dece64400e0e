/*
** text.h - text that grows, and the one way in which bytes of a heap become text for people: valid
** UTF-8 on one line, whatever they are. Private to the library.
*/
#ifndef LUAHEAP_TEXT_H
#define LUAHEAP_TEXT_H

#include <stdarg.h>

#include "base.h"

/* All zero is an empty text. The first failed allocation is latched: additions after it do
** nothing, and lh_text_finish returns NULL; so nobody in between has to check. */
typedef struct lh_text {
  char *bytes;
  size_t n, capacity;
  bool failed;
  bool marks; /* it is a label: what differs between runs, machines and builds has marks around */
} lh_text;

/* No text of a heap has such bytes: they are escaped. */
enum { LH_MARK_BEGIN = '\1', LH_MARK_END = '\2' };

/* Puts a mark into a text that has marks. */
void lh_text_mark(lh_text *text, char mark);

/* Adds a text that was made with marks, without these; if `stable` without what is between, too. */
void lh_text_unmarked(lh_text *text, const char *marked, size_t n, bool stable);

void lh_text_add(lh_text *text, const char *bytes, size_t n);
void lh_text_string(lh_text *text, const char *string);
void lh_text_format(lh_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lh_text_vformat(lh_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* A count with commas: 1,204. */
void lh_text_count(lh_text *text, uint64_t count);

/* A float as Lua prints it, but so that it reads back, in any locale: 1e15, 2.0, 1/0. */
void lh_text_float(lh_text *text, double number);

/* Any bytes: control characters, what turns the direction of text or cannot be seen, and what is no
** UTF-8 as Lua's escapes; with `quoted` also " and \, for use between quotes. */
void lh_text_escaped(lh_text *text, const char *bytes, size_t n, bool quoted);

/* The name of a chunk, or the beginning of one: "@app.lua", "stdin", [string "x = 1..."]; "@?"
** where stripped. */
void lh_text_source(lh_text *text, const char *bytes, size_t n, bool whole);

static inline char lh_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Is a part somewhere in a text, whatever the case of their letters, A to Z? */
bool lh_text_contains(const char *text, size_t n, const char *part, size_t n_part);

/* The first n bytes of a longer text end where? Before n if n would cut a character in two. */
size_t lh_text_cut(const char *bytes, size_t n);

/* Empties the text and keeps its memory. */
void lh_text_clear(lh_text *text);

/* The NUL-terminated result, owned by the caller; NULL when memory ran out. Leaves *text empty. */
char *lh_text_finish(lh_text *text);

void lh_text_free(lh_text *text);

#endif
