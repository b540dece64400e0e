/*
** advice.c - where a program could allocate less: a sentence and a stack each.
*/
#include "report/usage_rows.h"

typedef struct advice_result {
  lh_advice *list;
  size_t n;
} advice_result;

LH_WORDS(advice_name, [LH_ADVICE_SIZE] = "table without its size",
         [LH_ADVICE_CONCAT] = "string put together in a loop",
         [LH_ADVICE_FUNCTION] = "function made for a moment",
         [LH_ADVICE_TABLE] = "table made for a moment")

#define ROW lh_advice
static const lh_table advice_table = LH_TABLE_OF(
    "heap.advice", "piece of advice", "pieces of advice",
    LH_WORD("kind", NULL, kind, advice_name,
            "\"table without its size\", \"string put together in a loop\", \"function made for a "
            "moment\" or \"table made for a moment\""),
    LH_COUNT("times", NULL, times, "how often a table grew, or one of these was made"),
    LH_COUNT("objects", NULL, objects,
             "how many tables that were, or how many strings were complete; else 0"),
    LH_COUNT("most", NULL, most, "slots of the biggest table, bytes of the longest string; else 0"),
    LH_BYTES("bytes", NULL, bytes, "that all of it allocated"),
    LH_OF_SITE("site", NULL, LH_COLUMN_TEXT, stack, lh_cell_stack_site, "where"),
    LH_OF_SITE("stack", NULL, LH_COLUMN_TEXTS, stack, lh_cell_stack,
               "one of its stacks, the innermost first"));
#undef ROW

#define ROW advice_result
static const lh_table advice_answer =
    LH_TABLE_OF("heap.advices", NULL, NULL,
                LH_COUNT("total_advice", NULL, n, "how many there are, listed or not"),
                LH_ROWS("advice", list, n, &advice_table,
                        "what is worth half a percent of all bytes", LH_LIMITED));
#undef ROW

static const char *why_words(const lh_teller *t, const lh_advice *a) {
  bool several = a->objects > 1;
  switch (a->kind) {
    case LH_ADVICE_SIZE:
      return lh_words(
          t->report, "%s%s up to %s: give %s by a constructor, table.move or lua_createtable",
          several ? " of " : "", several ? lh_count_of(a->objects, "table", "tables").text : "",
          lh_count_of(a->most, "slot", "slots").text, several ? "them their size" : "it its size");
    case LH_ADVICE_CONCAT:
      return lh_words(t->report,
                      ", each a longer copy of the one before, up to %s: gather the parts in a "
                      "table for table.concat",
                      lh_told_size(t, a->most).text);
    case LH_ADVICE_FUNCTION:
      return ", dead at the first collection: make it once, where its upvalues allow";
    default: return ", dead at the first collection: use one again, or pass on what is in it";
  }
}

/* "12 rehashes at @x.lua:9 in fill up to 4,096 slots: give it its size ..., 96.0 KB". */
static void print_piece(lh_teller *t, lh_report *report, const lh_advice *a) {
  static const char *const ones[] = {"rehash", "string", "function", "table"};
  static const char *const many[] = {"rehashes", "strings", "functions", "tables"};
  const lh_site *site = lh_site_of_stack(lh_usage_sites(report), a->stack);
  lh_say(t, LH_PLAIN, "%s, %s at %s%s", lh_told_size(t, a->bytes).text,
         lh_count_of(a->times, ones[a->kind], many[a->kind]).text,
         lh_kept(report, lh_site_text(site)), why_words(t, a));
  lh_print_callers(t, lh_usage_of(report), a->stack);
}

static void print_advice(lh_teller *t, lh_report *report) {
  const advice_result *f = report->answer;
  size_t n = t->limit == 0 || t->limit > f->n ? f->n : t->limit;
  const lh_profile_info *about = lh_profile_about(lh_usage_profile(lh_usage_of(report)));
  lh_say(t, LH_BOLD, f->n > 0 ? "What could be allocated less" : "No advice: nothing stands out");
  for (size_t i = 0; i < n && !t->failed; i++) print_piece(t, report, &f->list[i]);
  lh_print_hidden(t, &advice_table, f->n - n);
  if (about->sample_bytes > 0 || about->is_aggregate)
    lh_say(t, LH_FAINT,
           "Tables that grow and strings put together in a loop are seen only where "
           "every event is recorded");
}

LH_FOUND_BY(advice, advice_result, lh_find_advice(request->usages[0], &it->list, &it->n, error))
LH_FREED_BY(advice, advice_result, lh_free(it->list))

LH_QUESTION(advice, .command = "heapprof", .of = LH_OF_PROFILE, .main = "advice",
            .free = free_advice);
