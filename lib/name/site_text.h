/*
** site_text.h - adds sites and stacks to sentences. luaheap_read.h has whole texts.
*/
#ifndef LUAHEAP_SITE_TEXT_H
#define LUAHEAP_SITE_TEXT_H

#include "text.h"

void lh_text_site(lh_text *text, const lh_site *site);

/* "allocated at @app/bus.lua:31 in Bus:on", "allocated by string.rep at @fmt.lua:12 in render". */
void lh_text_allocated(lh_text *text, const lh_site *site);

/* ", from @app/session.lua:88 in connect", for at most `callers` callers. */
void lh_text_callers(lh_text *text, const lh_sites *sites, lh_stack_id stack, uint32_t callers);

/* An unknown site if there is no such stack. */
const lh_site *lh_site_of_stack(const lh_sites *sites, lh_stack_id stack);

#endif
