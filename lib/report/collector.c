/*
** collector.c - facts about the collector, and why a heap is full of garbage, in words.
*/
#include "report/report.h"

bool lh_collector_is_known(const void *row) {
  return ((const lh_info *)row)->collector.is_known;
}

void lh_gc_kind_of(lh_report *report, const void *row, lh_cell *cell) {
  (void)report;
  cell->as.text = lh_gc_kind_name(((const lh_info *)row)->gc_generational);
}

void lh_gc_state_of(lh_report *report, const void *row, lh_cell *cell) {
  (void)report;
  cell->as.text = lh_gc_state_name(((const lh_info *)row)->gc_state);
}

void lh_gc_debt_of(lh_report *report, const void *row, lh_cell *cell) {
  (void)report;
  cell->as.n = -(uint64_t)((const lh_info *)row)->collector.credit_bytes;
}

/* ==== Words ========================================================================== */

static const char *why(lh_printer *t, lh_report *report, const lh_garbage_cause *cause) {
  const lh_info *info = lh_snapshot_info(report->snapshot);
  const char *next = cause->next_bytes == 0
                         ? ""
                         : lh_words(report, ", at %s", lh_format_size(t, cause->next_bytes).text);
  switch (cause->reason) {
    case LH_GARBAGE_OF_STOPPED: return "the program has stopped the collector, so nothing is freed";
    case LH_GARBAGE_OF_PAUSE:
      return lh_words(report, "with a pause of %u%% the collector waits for its next cycle%s",
                      info->collector.pause, next);
    case LH_GARBAGE_OF_YOUNG:
      return lh_words(
          report, "in generational mode old objects wait for a collection of all objects%s", next);
    default:
      return lh_words(report,
                      "a cycle of the collector is under way, with a step multiplier of %u%%",
                      info->collector.stepmul);
  }
}

void lh_print_garbage_cause(lh_printer *t, lh_report *report, const lh_garbage_cause *cause) {
  if (cause->reason == LH_GARBAGE_USUAL) return;
  lh_number size = lh_format_size(t, cause->bytes);
  lh_say(t, LH_BOLD, "%s of the heap is garbage, %s: %s",
         lh_share_text(cause->bytes, cause->all_bytes).text, size.text, why(t, report, cause));
  lh_text text = {0};
  for (size_t i = 0; i < cause->n_functions; i++)
    lh_text_format(&text, "%s %s", i == 0 ? "    The code that set it so is probably" : " or",
                   lh_code_name_of(report->snapshot, cause->functions[i]));
  if (cause->n_functions > 0) lh_say_text(t, LH_PLAIN, &text);
  lh_say(t, LH_PLAIN, "    collectgarbage() would free it; what is told below is what would stay");
}
