/* threads.c - the stacks of coroutines, grouped by place, and what they retain. */
#include "report/report.h"

enum { USUAL_FRAMES = 8 };

/* The frames of a thread, outermost first, without the host's, which have no function. Freed by
** lh_free. */
typedef struct stack {
  lh_frame *frames;
  size_t n;
  bool failed; /* out of memory */
} stack;

static stack stack_of(const lh_snapshot *snapshot, lh_id thread) {
  stack s = {0};
  size_t capacity = 0;
  lh_edges it;
  lh_frame frame;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame) && !s.failed;) {
    if (frame.function.kind == LH_VALUE_NIL) continue;
    s.failed = !lh_grow(&s.frames, s.n, &capacity, sizeof *s.frames);
    if (!s.failed) s.frames[s.n++] = frame;
  }
  return s;
}

static void frames_of(lh_report *report, const void *row, lh_cell *cell) {
  stack s = stack_of(report->snapshot, ((const lh_thread_group *)row)->example);
  (void)cell;
  report->failed |= s.failed;
  for (size_t i = s.n; i-- > 0 && !report->failed;)
    (void)lh_kept(report, lh_frame_text(report->snapshot, &s.frames[i]));
  lh_free(s.frames);
}

#define ROW lh_thread_group
static const lh_table place = LH_TABLE_OF(
    "heap.place", "place", "places",
    LH_WORD("status", NULL, status, lh_thread_status_name,
            "\"suspended\", \"running\", \"normal\", \"not started\", \"finished\", \"failed\""),
    LH_FLAG("main", is_main, "true for the main thread"),
    LH_COUNT("threads", NULL, threads, "how many"),
    LH_BYTES("shallow_bytes", NULL, shallow_bytes, "their stacks"),
    LH_BYTES("retained_bytes", NULL, retained_bytes, "of all together"),
    LH_OBJECT("example", example, "the one that retains most"),
    LH_COMPUTED("frames", NULL, LH_COLUMN_TEXTS, frames_of, "all, the innermost first"));
#undef ROW

#define ROW lh_thread_groups
static const lh_table threads_answer =
    LH_TABLE_OF("heap.threads", NULL, NULL,
                LH_COUNT("total_threads", NULL, n_threads, "how many threads there are"),
                LH_COUNT("total_places", NULL, n, "at how many places they stand"),
                LH_ROWS("threads", list, n, &place, "one for each place", LH_LIMITED));
#undef ROW

static bool is_in_lua(const lh_snapshot *snapshot, lh_value function) {
  lh_object closure;
  if (function.kind != LH_VALUE_OBJECT) return false;
  lh_object_at(snapshot, function.as.object, &closure);
  return closure.type == LH_TYPE_CLOSURE && !closure.dead && !closure.as.closure.is_c;
}

static const char *frame_words(lh_report *report, const stack *s, size_t i) {
  return lh_kept(report, lh_frame_text(report->snapshot, &s->frames[i]));
}

/* The innermost Lua frame, else the outermost frame; without frames, the class. */
static const char *place_words(lh_report *report, const lh_thread_group *s) {
  stack frames = stack_of(report->snapshot, s->example);
  size_t i = frames.n;
  report->failed |= frames.failed;
  while (i > 1 && !is_in_lua(report->snapshot, frames.frames[i - 1].function)) i--;
  const char *words =
      i > 0 ? frame_words(report, &frames, i - 1) : lh_class_name_of(report->snapshot, s->example);
  lh_free(frames.frames);
  return words;
}

static void print_threads_answer(lh_printer *t, lh_report *report) {
  const lh_thread_groups *s = report->answer;
  const lh_thread_group *most = s->n > 0 && !s->list[0].is_main ? &s->list[0] : NULL;
  lh_say(t, LH_PLAIN, "%s at %s%s%s%s%s", lh_count_of(s->n_threads, "thread", "threads").text,
         lh_count_of(s->n, place.one, place.many).text, most ? "; most is retained by " : "",
         most ? lh_count_of(most->threads, "coroutine", "coroutines").text : "", most ? " at " : "",
         most ? place_words(report, most) : "");
}

static void print_frames(lh_printer *t, lh_report *report, const lh_thread_group *s) {
  stack frames = stack_of(report->snapshot, s->example);
  uint64_t depth = report->request.has_depth ? report->request.depth : USUAL_FRAMES;
  t->failed |= frames.failed;
  if (frames.n == 0) lh_say(t, LH_PLAIN, "    %s", lh_class_name_of(report->snapshot, s->example));
  for (size_t i = frames.n; i-- > 0 && frames.n - i <= depth && !t->failed;)
    lh_say(t, LH_PLAIN, "    %s", frame_words(report, &frames, i));
  if (frames.n > depth)
    lh_say(t, LH_FAINT, "    ... %s",
           lh_count_of(frames.n - depth, "more frame", "more frames").text);
  lh_free(frames.frames);
}

static void print_group(lh_printer *t, lh_report *report, const lh_thread_group *s) {
  lh_number who = lh_count_of(s->threads, "coroutine", "coroutines");
  lh_say(t, LH_BOLD, "\n%s, %s: %s, %s of the heap; of that %s %s",
         s->is_main ? "The main thread" : who.text, lh_thread_status_name(s->status),
         lh_format_size(t, s->retained_bytes).text,
         lh_share_of_heap(report, s->retained_bytes).text, s->threads == 1 ? "its stack" : "stacks",
         lh_format_size(t, s->shallow_bytes).text);
  print_frames(t, report, s);
  if (!s->is_main)
    lh_print_next(t, report, s->threads == 1 ? "    Why it stays" : "    Why one of them stays",
                  LH_NEXT_PATHS, s->example);
}

static void print_threads(lh_printer *t, lh_report *report) {
  const lh_thread_groups *s = report->answer;
  size_t n = t->limit == 0 || t->limit > s->n ? s->n : t->limit;
  print_threads_answer(t, report);
  for (size_t i = 0; i < n && !t->failed; i++) print_group(t, report, &s->list[i]);
  lh_print_hidden(t, &place, s->n - n);
}

LH_FOUND_BY(threads, lh_thread_groups, lh_group_threads(snapshot, it, error))
LH_FREED_BY(threads, lh_thread_groups, lh_thread_groups_free(it))

LH_QUESTION(threads, .help = "where coroutines stand, and what they retain", .main = "threads",
            .free = free_threads);
