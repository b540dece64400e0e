/*
** growth.h - rows of what grows, as ladder.c, halves.c and apart.c have them.
*/
#ifndef LUAHEAP_REPORT_GROWTH_H
#define LUAHEAP_REPORT_GROWTH_H

#include "report/report.h"

/* The first field of their answers. */
typedef struct lh_growth_found {
  lh_growth *growth;
  bool same_state;
  double seconds;
  lh_figures *whole, *level; /* of the growth, as the rows are */
  lh_growth_row *paths, *classes;
  size_t n_paths, n_classes; /* what is known is not among them: */
  uint64_t known_paths, known_bytes, known_objects;
} lh_growth_found;

/* Takes the growth over, and leaves out what is known. And frees it. */
void lh_take_growth(lh_growth_found *found, lh_growth *growth, const lh_request *request);
void lh_let_growth_go(void *found);

/* A row, with a list of figures for each snapshot; and these alone. */
extern const lh_column lh_growth_columns[];
extern const lh_table lh_figures_table;

/* For columns of text: a figure of a growth row in each snapshot, or in the last. */
void lh_bytes_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_objects_in_each(lh_report *report, const void *row, lh_cell *cell);
void lh_last_bytes(lh_report *report, const void *row, lh_cell *cell);
void lh_last_objects(lh_report *report, const void *row, lh_cell *cell);

#endif
