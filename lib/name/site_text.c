/*
** site_text.c - the text of allocation sites and stacks (see rooms/read.h).
**
** It leaves out what is allocated there (a table, a closure); reports have a column for it.
*/
#include "text.h"

enum { NAME_BYTES = LH_DEFAULT_STRING_BYTES };

static void put_name(lh_text *text, const char *name) {
  size_t n = strlen(name), shown = n <= NAME_BYTES ? n : lh_text_cut(name, NAME_BYTES);
  lh_text_escaped(text, name, shown, false);
  if (shown < n) lh_text_string(text, "...");
}

static void put_position(lh_text *text, const lh_site *site) {
  size_t n = strlen(site->source),
         shown = n <= NAME_BYTES ? n : lh_text_cut(site->source, NAME_BYTES);
  lh_text_source(text, site->source, shown, shown == n);
  if (site->line > 0) lh_text_format(text, ":%u", site->line);
  if (!site->function) return;
  lh_text_string(text, " in ");
  if (site->function[0] == '\0')
    lh_text_string(text, "main chunk");
  else
    put_name(text, site->function);
}

void lh_text_site(lh_text *text, const lh_site *site) {
  if (site->c_function) put_name(text, site->c_function);
  if (site->source && site->c_function) lh_text_string(text, " at ");
  if (site->source)
    put_position(text, site);
  else if (!site->c_function)
    lh_text_string(text, site->maker == LH_MADE_UNKNOWN ? "unattributed" : "host");
}

void lh_text_definition(lh_text *text, const lh_site *site) {
  lh_site start = {.source = site->source, .line = site->first_line};
  if (!site->source) {
    lh_text_site(text, site);
    return;
  }
  bool is_chunk = site->function && site->function[0] == '\0';
  lh_text_string(text, is_chunk ? "main chunk " : "function ");
  if (site->function && !is_chunk) {
    put_name(text, site->function);
    lh_text_string(text, " ");
  }
  put_position(text, &start);
}

void lh_text_allocated(lh_text *text, const lh_site *site) {
  if (!site->source && !site->c_function && site->maker == LH_MADE_UNKNOWN) {
    lh_text_string(text, "allocated at an unknown site");
    return;
  }
  lh_text_string(text, site->source && !site->c_function ? "allocated at " : "allocated by ");
  if (!site->source && !site->c_function) lh_text_string(text, "the ");
  lh_text_site(text, site);
}

const lh_site *lh_site_of_stack(const lh_sites *sites, lh_stack_id stack) {
  static const lh_site unknown = {.maker = LH_MADE_UNKNOWN};
  if (stack == 0 || stack > lh_n_stacks(sites)) return &unknown;
  return lh_site_of(sites, lh_stack_of(sites, stack)->site);
}

void lh_text_callers(lh_text *text, const lh_sites *sites, lh_stack_id stack, uint32_t callers) {
  if (stack == 0 || stack > lh_n_stacks(sites)) return;
  lh_stack_id caller = lh_stack_of(sites, stack)->parent;
  for (; caller != 0 && callers > 0; callers--) {
    lh_text_string(text, ", from ");
    lh_text_site(text, lh_site_of_stack(sites, caller));
    caller = lh_stack_of(sites, caller)->parent;
  }
}

char *lh_site_text(const lh_site *site) {
  lh_text text = {0};
  lh_text_site(&text, site);
  return lh_text_finish(&text);
}

char *lh_stack_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers) {
  lh_text text = {0};
  lh_text_site(&text, lh_site_of_stack(sites, stack));
  lh_text_callers(&text, sites, stack, callers);
  return lh_text_finish(&text);
}

char *lh_allocated_text(const lh_sites *sites, lh_stack_id stack, uint32_t callers) {
  lh_text text = {0};
  lh_text_allocated(&text, lh_site_of_stack(sites, stack));
  lh_text_callers(&text, sites, stack, callers);
  return lh_text_finish(&text);
}

const char *lh_maker_name(lh_maker maker) {
  static const char *const words[] = {[LH_MADE_UNKNOWN] = "unattributed",
                                      [LH_MADE_BY_HOST] = "host",
                                      [LH_MADE_BY_C] = "C function",
                                      [LH_MADE_TABLE] = "table",
                                      [LH_MADE_CLOSURE] = "function",
                                      [LH_MADE_CONCATENATION] = "concatenation",
                                      [LH_MADE_GROWTH] = "growth",
                                      [LH_MADE_CALL] = "call",
                                      [LH_MADE_OTHERWISE] = "other instruction"};
  return LH_WORD_OF(words, maker);
}
