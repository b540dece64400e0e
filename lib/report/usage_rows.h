/*
** usage_rows.h - rows about what was allocated, which several questions about profiles have:
** profile.c, findings.c, allocations.c, calls.c, stacks.c, memory.c, advice.c and
** allocation_changes.c. Private to this
** folder.
*/
#ifndef LUAHEAP_USAGE_ROWS_H
#define LUAHEAP_USAGE_ROWS_H

#include "report/report.h"

/* A group (luaheap_usage.h), as a table tells it. */
typedef struct lh_usage_told {
  lh_stack_id stack;
  uint8_t type;
  const lh_site *site; /* of the stack */
  uint64_t ordered_bytes;
  uint64_t allocated_bytes, error_bytes, allocations, objects, resizes;
  uint64_t freed_bytes, freed, live_bytes, live;
  uint64_t mean_age_bytes, most_age_bytes, soon_bytes;
  uint64_t peak_bytes;
} lh_usage_told;

extern const lh_column lh_usage_columns[];

/* An array of them, which is freed by lh_free; NULL when out of memory. */
lh_usage_told *lh_tell_groups(const lh_usage *usage, const lh_usage_group *groups, size_t n);
lh_usage_told lh_tell_group(const lh_usage *usage, const lh_usage_group *group);

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

/* To the nearest; of less than nothing 0. */
uint64_t lh_whole(double n);

#endif
