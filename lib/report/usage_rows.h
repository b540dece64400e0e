/*
** usage_rows.h - rows about what was allocated, which several questions about profiles have:
** profile.c, findings.c, allocations.c, calls.c, stacks.c, memory.c, advice.c and
** allocation_changes.c. Private to this
** folder.
*/
#ifndef LUAHEAP_USAGE_ROWS_H
#define LUAHEAP_USAGE_ROWS_H

#include "report/report.h"

/* Of an lh_usage_group. */
extern const lh_column lh_usage_columns[];

/* What a row is called in a sentence: "tables", "strings". */
const char *lh_types_name(uint8_t type);

/* "@app/bus.lua:28 in Bus:on": where a function begins. Freed by lh_free; NULL: out of memory. */
char *lh_function_text(const lh_site *site);

/* "@app/bus.lua:31 in Bus:on". Freed by lh_free; NULL: out of memory. */
char *lh_site_of_stack_text(const lh_usage *usage, lh_stack_id stack);

/* For a cell of LH_COLUMN_TEXTS: the sites of a stack, the innermost first. */
void lh_keep_stack(lh_report *report, const lh_usage *usage, lh_stack_id stack);

/* The first callers of a stack, a line each. */
void lh_tell_callers(lh_teller *teller, const lh_usage *usage, lh_stack_id stack);

#endif
