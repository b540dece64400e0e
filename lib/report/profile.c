/*
** profile.c - facts about a profile: allocated bytes, heap sizes, and lost or unattributed events.
*/
#include <string.h>

#include "report/usage_rows.h"

typedef struct profile_result {
  const lh_usage *usage;
  lh_profile_info info;
  lh_usage_totals totals;
} profile_result;

LH_ITS(bool, has_peak, profile_result, it->totals.peak_bytes > 0)

#define ROW profile_result
static const lh_table profile_answer = LH_TABLE_OF(
    "heap.profile", NULL, NULL, LH_NAME("program", info.program, "its command line", LH_OPTIONAL),
    LH_NAME("lua_release", info.release, "such as 5.4.6", LH_OPTIONAL),
    LH_COUNT("process_id", NULL, info.process_id, "of the program"),
    LH_COUNT("state_id", NULL, info.state_id, "the same as in snapshots of this Lua state",
             LH_LUA_ONLY),
    LH_COUNT("time_ns", NULL, info.start_unix_ns, "when tracking began: nanoseconds since 1970"),
    LH_COUNT("duration_ns", NULL, info.duration_ns, "until it ended, or the file was cut"),
    LH_COUNT("since_ns", NULL, totals.since_ns, "where what was counted begins"),
    LH_COUNT("until_ns", NULL, totals.until_ns, "and where it ends"),
    LH_COUNT("events", NULL, info.n_events, "in the file; 0: it has counts alone"),
    LH_COUNT("lost_events", NULL, info.lost_events, "that could not be written"),
    LH_FLAG("whole", info.is_whole, "the file was not cut, and nobody writes it any more"),
    LH_BYTES("sample_bytes", NULL, info.sample_bytes,
             "mean distance of samples; 0: every allocation is in it"),
    LH_COUNT("samples", NULL, totals.all.samples, "allocations that were counted"),
    LH_BYTES("allocated_bytes", NULL, totals.all.allocated_bytes, "of all blocks, made or resized"),
    LH_BYTES("error_bytes", NULL, totals.all.error_bytes,
             "of a sampled profile: how far from that the truth is, in 19 of 20 cases"),
    LH_COUNT("allocations", NULL, totals.all.allocations, "new blocks"),
    LH_COUNT("resizes", NULL, totals.all.resizes, "blocks that were resized"),
    LH_BYTES("freed_bytes", NULL, totals.all.freed_bytes, "of these, freed again"),
    LH_BYTES("live_bytes", NULL, totals.all.live_bytes, "and not freed"),
    LH_BYTES("unattributed_bytes", NULL, totals.unattributed_bytes,
             "allocated at a site that could not be found out"),
    LH_BYTES("start_bytes", NULL, info.start_bytes, "of the heap when tracking began"),
    LH_BYTES("heap_bytes", NULL, totals.heap_bytes, "of the heap at the end"),
    LH_BYTES("mean_heap_bytes", NULL, totals.mean_heap_bytes, "on average"),
    LH_BYTES("peak_bytes", NULL, totals.peak_bytes, "when it was biggest", LH_WHERE(has_peak)),
    LH_COUNT("peak_ns", NULL, totals.peak_ns, "and when that was", LH_WHERE(has_peak)),
    LH_BYTES("old_freed_bytes", NULL, totals.old_freed_bytes,
             "freed of what was there before tracking"));
#undef ROW

/* ==== Words ========================================================================== */

static void print_heap(lh_teller *t, const profile_result *f) {
  bool peak = has_peak(f), when = peak && !f->info.is_aggregate;
  lh_say(t, LH_PLAIN, "The heap had %s when tracking began%s%s%s%s%s, and %s at the end",
         lh_told_size(t, f->info.start_bytes).text, peak ? ", " : "",
         peak ? lh_told_size(t, f->totals.peak_bytes).text : "", peak ? " at its biggest" : "",
         when ? ", after " : "", when ? lh_duration_text(f->totals.peak_ns).text : "",
         lh_told_size(t, f->totals.heap_bytes).text);
}

static void print_allocated(lh_teller *t, const profile_result *f) {
  const lh_usage_group *all = &f->totals.all;
  bool estimated = all->error_bytes > 0;
  lh_say(t, LH_PLAIN, "%s%s%s%s allocated in %s: %s, %s; %s of it live",
         lh_told_size(t, all->allocated_bytes).text, estimated ? ", +- " : "",
         estimated ? lh_told_size(t, all->error_bytes).text : "", estimated ? "," : "",
         lh_duration_text(f->totals.until_ns - f->totals.since_ns).text,
         lh_count_of(all->allocations, "new block", "new blocks").text,
         lh_count_of(all->resizes, "resized", "resized").text,
         lh_told_size(t, all->live_bytes).text);
}

static void print_known(lh_teller *t, const profile_result *f) {
  lh_text text = {0};
  if (f->info.sample_bytes > 0)
    lh_text_format(&text, "Sampled, one block in %s: estimates from %s; ",
                   lh_told_size(t, f->info.sample_bytes).text,
                   lh_count_of(f->totals.all.samples, "sample", "samples").text);
  else
    lh_text_string(&text, f->info.lost_events > 0 ? "Not every allocation is in the file; "
                                                  : "Every allocation was recorded; ");
  if (f->totals.unattributed_bytes > 0)
    lh_put_little_share(&text, f->totals.unattributed_bytes, f->totals.all.allocated_bytes);
  lh_text_string(&text, f->totals.unattributed_bytes > 0 ? " of the bytes are unattributed"
                                                         : "all bytes are attributed");
  lh_say_text(t, LH_PLAIN, &text);
}

static void print_faults(lh_teller *t, const profile_result *f) {
  if (f->info.lost_events > 0)
    lh_say(t, LH_ALARM, "%s could not be written, as on a full disk: what lives may be too much",
           lh_count_of(f->info.lost_events, "event", "events").text);
  if (!f->info.is_whole && f->info.is_aggregate)
    lh_say(
        t, LH_ALARM,
        "These are the counts after %s: they are written every 10 seconds, and when tracking ends",
        lh_duration_text(f->info.duration_ns).text);
  else if (!f->info.is_whole)
    lh_say(t, LH_ALARM, "The file was cut, or is still being written: it is told up to %s",
           lh_duration_text(f->info.duration_ns).text);
}

/* Both texts come from the file, so they are escaped. */
static void print_program(lh_teller *t, const lh_profile_info *info) {
  lh_say(t, LH_FAINT, "%s: Lua %s, process %llu, tracked from %s",
         lh_name_words(t->report, info->program ? info->program : ""),
         lh_name_words(t->report, info->release ? info->release : "5.4"),
         (unsigned long long)info->process_id, lh_time_text(info->start_unix_ns).text);
}

static void print_profile(lh_teller *t, lh_report *report) {
  const profile_result *f = report->answer;
  print_allocated(t, f);
  print_heap(t, f);
  print_known(t, f);
  if (f->totals.all.freed_bytes > 0)
    lh_say(t, LH_PLAIN,
           "Death is seen when the collector frees: below %s, half of the mean heap, an age at\n"
           "death says no more than: dead at the first collection",
           lh_told_size(t, lh_first_collection_bytes(f->usage)).text);
  print_program(t, &f->info);
  print_faults(t, f);
}

/* ==================================================================================== */

static int find_profile(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  profile_result *f = out;
  (void)snapshot;
  (void)error;
  f->usage = request->usages[0];
  f->info = *lh_profile_about(lh_usage_profile(f->usage));
  f->totals = *lh_usage_total(f->usage);
  return LH_OK;
}

LH_QUESTION(profile, .command = "heapprof", .of = LH_OF_PROFILE);
