/*
** threads.c - where the coroutines and the main thread stand, and what they retain: as tracebacks,
** the innermost function first, those that stand at one place as one. Which those are, and the
** figures, are the library's (lh_find_standings).
*/
#include <string.h>

#include "heaptop.h"

/* Frames of each, without --depth. */
enum { USUAL_FRAMES = 8 };

typedef struct standings {
  lh_standing *list;
  size_t n;
  uint64_t n_threads;
} standings;

/* Of one thread, the innermost last; without the host's own frame, which calls no function. */
typedef struct stack {
  lh_frame *frames;
  size_t n;
} stack;

static standings find(cli *c, lh_snapshot *snapshot) {
  standings s;
  lh_error error;
  cli_check(c, lh_find_standings(snapshot, &s.list, &s.n, &s.n_threads, &error), NULL, &error);
  return s;
}

static stack stack_of(const lh_snapshot *snapshot, lh_id thread) {
  stack s = {0};
  size_t capacity = 0;
  lh_edges it;
  lh_frame frame;
  for (lh_frames_begin(snapshot, thread, &it); lh_frames_next(&it, &frame);) {
    if (frame.function.kind == LH_VALUE_NIL) continue;
    if (s.n == capacity) {
      capacity = 2 * capacity + 16;
      s.frames = cli_must(realloc(s.frames, capacity * sizeof *s.frames));
    }
    s.frames[s.n++] = frame;
  }
  return s;
}

/* {=== Text =========================================================================== */

/* "210 coroutines, suspended" */
static void print_who(cli *c, const lh_standing *s) {
  if (s->is_main)
    printf("The main thread, %s", lh_thread_status_name(s->status));
  else
    printf("%s, %s", cli_count_of(c, s->threads, "coroutine", "coroutines"),
           lh_thread_status_name(s->status));
}

/* The innermost frame in Lua, or else the innermost; without any, the class tells the function. */
static char *place_of(const lh_snapshot *snapshot, const lh_standing *s) {
  stack frames = stack_of(snapshot, s->example);
  char *text = NULL, *best = NULL;
  for (size_t i = frames.n; i-- > 0 && best == NULL;) {
    text = cli_must(lh_frame_text(snapshot, &frames.frames[i]));
    if (strncmp(text, "[C]", 3) != 0 || i == 0) best = text;
    if (best == NULL) lh_free(text);
  }
  free(frames.frames);
  return best;
}

static void print_frames(cli *c, const lh_snapshot *snapshot, const lh_standing *s,
                         const request *r) {
  stack frames = stack_of(snapshot, s->example);
  size_t depth = r->depth_given ? r->depth : USUAL_FRAMES, n = frames.n;
  if (n == 0) printf("    %s\n", cli_class_of(snapshot, s->example));
  for (size_t i = n; i-- > 0 && n - i <= depth;) {
    char *text = cli_must(lh_frame_text(snapshot, &frames.frames[i]));
    printf("    %s\n", text);
    lh_free(text);
  }
  if (n > depth)
    printf("    %s... %s%s\n", cli_style_on(c, CLI_FAINT),
           cli_count_of(c, n - depth, "more frame", "more frames"), cli_style_off(c));
  free(frames.frames);
}

static void print_standing(cli *c, const lh_snapshot *snapshot, const lh_standing *s,
                           const request *r) {
  char *word = cli_shell_word(r->file);
  printf("%s", cli_style_on(c, CLI_BOLD));
  print_who(c, s);
  printf(": %s, %s of the heap; of that %s %s%s\n", cli_size(c, s->retained_bytes),
         share_of_heap(c, snapshot, s->retained_bytes), s->threads == 1 ? "its stack" : "stacks",
         cli_size(c, s->shallow_bytes), cli_style_off(c));
  print_frames(c, snapshot, s, r);
  if (!s->is_main)
    printf("    Why %s: heappath %s %s\n", s->threads == 1 ? "it stays" : "one of them stays", word,
           cli_address(c, snapshot, s->example));
  free(word);
}

/* How many there are, and where most of what they retain is. */
static void print_answer(cli *c, const lh_snapshot *snapshot, const standings *s) {
  const lh_standing *most = NULL;
  for (size_t i = 0; i < s->n && most == NULL; i++)
    if (!s->list[i].is_main) most = &s->list[i];
  printf("%s at %s", cli_count_of(c, s->n_threads, "thread", "threads"),
         cli_count_of(c, s->n, "place", "places"));
  if (most != NULL) {
    char *place = place_of(snapshot, most);
    printf("; most is retained by %s at %s",
           cli_count_of(c, most->threads, "coroutine", "coroutines"),
           place != NULL ? place : cli_class_of(snapshot, most->example));
    lh_free(place);
  }
  putchar('\n');
}

static void print(cli *c, lh_snapshot *snapshot, const request *r) {
  standings s = find(c, snapshot);
  size_t n = r->query.limit == 0 || r->query.limit > s.n ? s.n : r->query.limit;
  print_answer(c, snapshot, &s);
  for (size_t i = 0; i < n; i++) {
    putchar('\n');
    print_standing(c, snapshot, &s.list[i], r);
  }
  cli_print_hidden(c, s.n - n, "place", "places");
  lh_free(s.list);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static json_t *frames_json(const lh_snapshot *snapshot, lh_id thread) {
  stack frames = stack_of(snapshot, thread);
  json_t *list = cli_must(json_array());
  for (size_t i = frames.n; i-- > 0;) {
    char *text = cli_must(lh_frame_text(snapshot, &frames.frames[i]));
    json_array_append_new(list, cli_must(json_string(text)));
    lh_free(text);
  }
  free(frames.frames);
  return list;
}

static void print_json(cli *c, cli_json *w, lh_snapshot *snapshot, const request *r) {
  standings s = find(c, snapshot);
  bool all = !r->limit_given || r->query.limit == 0 || r->query.limit > s.n;
  size_t n = all ? s.n : r->query.limit;
  cli_json_value(w, "total_threads", cli_json_size(s.n_threads));
  cli_json_value(w, "total_places", cli_json_size(s.n));
  cli_json_open(w, "threads", '[');
  for (size_t i = 0; i < n; i++) {
    const lh_standing *row = &s.list[i];
    cli_json_value(
        w, NULL,
        json_pack("{ss sb sI sI sI ss ss so}", "status", lh_thread_status_name(row->status), "main",
                  (int)row->is_main, "threads", (json_int_t)row->threads, "shallow_bytes",
                  (json_int_t)row->shallow_bytes, "retained_bytes", (json_int_t)row->retained_bytes,
                  "example", cli_address(c, snapshot, row->example), "class",
                  cli_class_of(snapshot, row->example), "frames",
                  frames_json(snapshot, row->example)));
  }
  cli_json_close(w, ']');
  lh_free(s.list);
}

/* }=================================================================================== */

const report threads_report = {"threads", print, print_json};
