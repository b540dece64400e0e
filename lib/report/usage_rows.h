/*
** usage_rows.h - rows that the questions about profiles share. Private to this folder.
*/
#ifndef LUAHEAP_USAGE_ROWS_H
#define LUAHEAP_USAGE_ROWS_H

#include "name/site_text.h"
#include "report/report.h"

extern const lh_column lh_usage_columns[]; /* of an lh_usage_group */

/* Plural for a sentence: "tables", "strings". */
const char *lh_types_name(uint8_t type);

/* The usage of the answer, and its sites; if two are compared, the later one. */
const lh_usage *lh_usage_of(const lh_report *report);
const lh_sites *lh_usage_sites(const lh_report *report);

/* For LH_OF_SITE, of an lh_stack_id: its site, "@app/bus.lua:31 in Bus:on"; where that
** function begins; the kind of allocation; all sites, innermost first (LH_COLUMN_TEXTS). */
void lh_cell_stack_site(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_function(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_maker(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack(lh_report *report, lh_stack_id stack, lh_cell *cell);

enum { LH_MOST_CALLERS = 64 };

void lh_print_callers(lh_teller *teller, const lh_usage *usage, lh_stack_id stack);

#endif
