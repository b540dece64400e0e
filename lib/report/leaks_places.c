/*
** leaks_places.c - the places that rows of leaks are at, to find by their text. One place is inside
** another where its path goes on behind a whole step: _G.log[*] is in _G.log, _G.logins is not.
*/
#include "report/leaks.h"

#include <stdlib.h>
#include <string.h>

bool lh_row_places_new(lh_row_places *places, size_t most) {
  *places = (lh_row_places){.list = lh_alloc(most, sizeof *places->list)};
  return places->list != NULL;
}

void lh_add_place(lh_row_places *places, const char *text, size_t n) {
  places->list[places->n++] =
      (lh_place_of_rows){.text = text, .n = n, .first = {SIZE_MAX, SIZE_MAX}};
}

static int compare_places(const void *left, const void *right) {
  const lh_place_of_rows *a = left, *b = right;
  int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
  if (order != 0) return order;
  return a->n < b->n ? -1 : a->n > b->n;
}

void lh_sort_places(lh_row_places *places) {
  size_t n = places->n;
  lh_place_of_rows *list = places->list;
  if (n > 1) qsort(list, n, sizeof *list, compare_places);
  places->n = 0;
  for (size_t i = 0; i < n; i++)
    if (i == 0 || compare_places(&list[places->n - 1], &list[i]) != 0) list[places->n++] = list[i];
}

lh_place_of_rows *lh_place_at(const lh_row_places *places, const char *text, size_t n) {
  const lh_place_of_rows wanted = {.text = text, .n = n};
  if (places->n == 0) return NULL;
  return bsearch(&wanted, places->list, places->n, sizeof wanted, compare_places);
}

bool lh_ends_step(char byte) {
  return strchr(".[*) ", byte) != NULL; /* the NUL, too */
}

static const char *skip_quoted(const char *text) {
  for (text++; *text && *text != '"'; text++)
    if (*text == '\\' && text[1]) text++;
  return text;
}

const char *lh_next_end(const char *text) {
  if (*text == '\0') return NULL;
  do {
    if (*text == '"') text = skip_quoted(text);
    if (*text) text++;
  } while (!lh_ends_step(*text));
  return text;
}
