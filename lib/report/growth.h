/*
** growth.h - rows of growth of ladder.c, halves.c and apart.c, whose answers begin with
** lh_growth_found.
*/
#ifndef LUAHEAP_REPORT_GROWTH_H
#define LUAHEAP_REPORT_GROWTH_H

#include "report/report.h"

/* known.c: matches rows with the known fingerprints of the release before. False: out of memory. */
bool lh_renew_known_of_growth(const lh_request *request, const lh_ladder *ladder,
                              const lh_growth *growth);

typedef struct lh_growth_found {
  lh_growth growth; /* without known paths, which are counted here: */
  uint64_t known_paths, known_bytes, known_objects;
  lh_growth *all;                           /* with known paths; owns the data of `growth` */
  const lh_table *path_table, *class_table; /* for text; apart has its own */
} lh_growth_found;

/* `by_halves`: compares the first half of the ladder with the second one. */
int lh_find_growth(lh_growth_found *found, const lh_ladder *ladder, bool by_halves,
                   const lh_request *request, lh_error *error);
void lh_free_growth(void *found);

/* Columns of a row, with figures for each snapshot; a table of the figures alone. */
extern const lh_column lh_growth_columns[];
extern const lh_table lh_figures_table;

/* Text tables by path and by class. `style` marks growth. */
#define LH_GROWTH_BY_PATH(...)                                       \
  {                                                                  \
    LH_INLINE_TEXT(NULL, NULL, fingerprint, NULL, LH_UNBROKEN,       \
                   LH_HEADING(lh_fingerprint_heading)),              \
        __VA_ARGS__, LH_TEXT(NULL, "held by", held_by, NULL), LH_END \
  }
#define LH_GROWTH_TABLE(columns, style_of) \
  LH_TABLE(NULL, "row", "rows", lh_growth_row, columns, .style = style_of)

/* Columns of an answer; `at` is the prefix of its fields. lh_print_growth prints the tables. */
extern const lh_table lh_growth_paths, lh_growth_classes;
#define LH_GROWTH_COLUMNS(at)                                                                    \
  LH_ROW("whole", at growth.whole, &lh_figures_table, "all that is reachable"),                  \
      LH_ROW("level", at growth.level, &lh_figures_table, "what of that is in no row by path"),  \
      LH_COUNT("known_paths", NULL, at known_paths, "how many were left out as known"),          \
      LH_COUNT("total_paths", NULL, at growth.n_paths, "how many there are, listed or not"),     \
      LH_ROWS("paths", at growth.paths, at growth.n_paths, &lh_growth_paths,                     \
              "the first matters most", LH_LIMITED),                                             \
      LH_COUNT("total_classes", NULL, at growth.n_classes, "how many there are, listed or not"), \
      LH_ROWS("classes", at growth.classes, at growth.n_classes, &lh_growth_classes,             \
              "the same by class", LH_LIMITED)
void lh_print_growth(lh_teller *t, lh_report *report);

void lh_bytes_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_objects_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_last_bytes(lh_report *report, const void *row, lh_cell *cell);
void lh_last_objects(lh_report *report, const void *row, lh_cell *cell);

#endif
