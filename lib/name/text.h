/* text.h - text that grows. All bytes of a heap are printed through it: valid UTF-8, one line. */
#pragma once

#include <stdarg.h>

#include "base.h"

/* All zero is empty. After a failed allocation additions do nothing and lh_text_finish returns
** NULL, so callers need no checks in between. */
typedef struct lh_text {
  char *bytes;
  size_t n, capacity;
  bool failed;
  bool marks; /* a label: has marks around parts that differ between runs, machines and builds */
} lh_text;

/* Bytes that no text of a heap has, because they are escaped. */
enum { LH_MARK_BEGIN = '\1', LH_MARK_END = '\2' };

void lh_text_mark(lh_text *text, char mark);

/* If `stable`, also without the text between marks. */
void lh_text_unmarked(lh_text *text, const char *marked, size_t n, bool stable);

void lh_text_add(lh_text *text, const char *bytes, size_t n);
void lh_text_string(lh_text *text, const char *string);
void lh_text_format(lh_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lh_text_vformat(lh_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* With commas: 1,204. */
void lh_text_count(lh_text *text, uint64_t count);

/* A float as Lua prints it, but exact when read back, in any locale: 1e15, 2.0, 1/0. */
void lh_text_float(lh_text *text, double number);

/* Escapes controls, invisible characters and invalid UTF-8 as in Lua; if `quoted`, also " and \. */
void lh_text_escaped(lh_text *text, const char *bytes, size_t n, bool quoted);

/* A chunk's name or its beginning: "@app.lua", "stdin", [string "x = 1..."]; "@?" if stripped. */
void lh_text_source(lh_text *text, const char *bytes, size_t n, bool whole);

/* Ignores the case of A to Z. */
bool lh_text_contains(const char *text, size_t n, const char *part, size_t n_part);

/* Where to cut a text to at most n bytes without splitting a character. */
size_t lh_text_cut(const char *bytes, size_t n);
void lh_text_clear(lh_text *text);

/* The text with a NUL, which the caller owns. Empties *text. */
char *lh_text_finish(lh_text *text);

void lh_text_free(lh_text *text);

/* Sites and stacks in sentences (site_text.c); rooms/read.h has whole texts. */
void lh_text_site(lh_text *text, const lh_site *site);

/* "allocated at @app/bus.lua:31 in Bus:on", "allocated by string.rep at @fmt.lua:12 in render". */
void lh_text_allocated(lh_text *text, const lh_site *site);

/* "function memo @app.lua:28": the function of a site, with the line at which it begins. */
void lh_text_definition(lh_text *text, const lh_site *site);

/* ", from @app/session.lua:88 in connect", for at most `callers` callers. */
void lh_text_callers(lh_text *text, const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* An unknown site if there is no such stack. */
const lh_site *lh_site_of_stack(const lh_sites *sites, lh_stack_id stack);
