/*
** usage_rows.h - rows about what was allocated, which several questions about profiles have:
** profile.c, findings.c, allocations.c, calls.c, stacks.c, memory.c, advice.c and
** allocation_changes.c. Private to this
** folder.
*/
#ifndef LUAHEAP_USAGE_ROWS_H
#define LUAHEAP_USAGE_ROWS_H

#include "name/site_text.h"
#include "report/report.h"

/* Of an lh_usage_group. */
extern const lh_column lh_usage_columns[];

/* What a row is called in a sentence: "tables", "strings". */
const char *lh_types_name(uint8_t type);

/* The usage that an answer is about, and its sites; of two that are compared the later. */
const lh_usage *lh_usage_of(const lh_report *report);
const lh_sites *lh_usage_sites(const lh_report *report);

/* For LH_OF_SITE, of a field that is an lh_stack_id: its site, "@app/bus.lua:31 in Bus:on"; where
** the function of that begins, "@app/bus.lua:28 in Bus:on"; what allocates there; and for a cell of
** LH_COLUMN_TEXTS the sites of the stack, the innermost first. */
void lh_cell_stack_site(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_function(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack_maker(lh_report *report, lh_stack_id stack, lh_cell *cell);
void lh_cell_stack(lh_report *report, lh_stack_id stack, lh_cell *cell);

/* Of a stack so many callers are told. */
enum { LH_MOST_CALLERS = 64 };

/* The first callers of a stack, a line each. */
void lh_tell_callers(lh_teller *teller, const lh_usage *usage, lh_stack_id stack);

#endif
