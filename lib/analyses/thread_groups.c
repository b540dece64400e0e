/*
** thread_groups.c - Groups threads by where they stand.
** Threads are in one group if status, class and frames agree; without frames, the class names the
** function. The retained bytes of a group are a union (retained_sets.c).
*/
#include "analyses.h"

typedef struct grouping {
  lh_snapshot *snapshot;
  lh_strings keys;
  uint32_t *set_of;
  lh_thread_groups *out;
  size_t capacity;
} grouping;

/* Returns what identifies the code of a function; 0: unknown. */
static uint64_t code_of(const lh_snapshot *snapshot, lh_value function) {
  lh_object closure;
  if (function.kind == LH_VALUE_CFUNCTION) return function.as.pointer;
  if (function.kind != LH_VALUE_OBJECT ||
      lh_type_of(snapshot, function.as.object) != LH_TYPE_CLOSURE)
    return 0;
  lh_object_at(snapshot, function.as.object, &closure);
  if (closure.dead) return 0;
  return closure.as.closure.is_c ? closure.as.closure.function : closure.as.closure.proto;
}

static uint32_t group_key(grouping *g, lh_id id, const lh_object *thread) {
  lh_text key = {0};
  lh_edges it;
  lh_frame frame;
  lh_text_format(&key, "%d %u", (int)thread->as.thread.status, lh_class_of(g->snapshot, id));
  for (lh_frames_begin(g->snapshot, id, &it); lh_frames_next(&it, &frame);)
    lh_text_format(&key, " %llx:%u", (unsigned long long)code_of(g->snapshot, frame.function),
                   frame.line);
  uint32_t number = key.failed ? LH_NO_NUMBER : lh_strings_add(&g->keys, key.bytes, key.n);
  lh_text_free(&key);
  return number;
}

static bool add_to_group(grouping *g, lh_id id) {
  lh_thread_groups *out = g->out;
  lh_object thread;
  lh_object_at(g->snapshot, id, &thread);
  uint32_t number = group_key(g, id, &thread);
  if (number == LH_NO_NUMBER) return false;
  if (number == out->n) {
    if (!lh_grow(&out->list, out->n, &g->capacity, sizeof *out->list)) return false;
    out->list[out->n++] = (lh_thread_group){
        .status = thread.as.thread.status, .is_main = thread.as.thread.is_main, .example = id};
  }
  lh_thread_group *to = &out->list[number];
  g->set_of[id] = number;
  out->n_threads++;
  to->threads++;
  to->shallow_bytes += thread.shallow_bytes;
  if (lh_retained_bytes(g->snapshot, id) > lh_retained_bytes(g->snapshot, to->example))
    to->example = id;
  return true;
}

static bool group_all(grouping *g) {
  const lh_snapshot *snapshot = g->snapshot;
  g->set_of = lh_alloc((size_t)snapshot->n + 1, sizeof *g->set_of);
  if (!g->set_of) return false;
  memset(g->set_of, 0xFF, ((size_t)snapshot->n + 1) * sizeof *g->set_of);
  bool ok = true;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (lh_type_of(snapshot, id) == LH_TYPE_THREAD && !lh_is_own(snapshot, id) &&
        lh_is_reachable(snapshot, id))
      ok = add_to_group(g, id);
  return ok;
}

static int compare_thread_groups(const void *left, const void *right) {
  const lh_thread_group *a = left, *b = right;
  return a->is_main - b->is_main ?: LH_MORE(a->retained_bytes, b->retained_bytes) ?:
         LH_LESS(a->example, b->example);
}

int lh_group_threads(lh_snapshot *snapshot, lh_thread_groups *out, lh_error *error) {
  *out = (lh_thread_groups){0};
  if (!snapshot->retained || !snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "the snapshot has not been classified");
  grouping g = {.snapshot = snapshot, .out = out};
  bool ok = group_all(&g) &&
            (out->n == 0 || lh_retained_by_sets(snapshot, g.set_of, out->n,
                                                &out->list->retained_bytes, sizeof *out->list));
  if (ok && out->n > 1) qsort(out->list, out->n, sizeof *out->list, compare_thread_groups);
  lh_strings_free(&g.keys);
  lh_free(g.set_of);
  if (!ok) lh_thread_groups_free(out);
  return ok ? LH_OK : lh_fail_memory(error, "finding where threads stand");
}

void lh_thread_groups_free(lh_thread_groups *groups) {
  lh_free(groups->list);
  *groups = (lh_thread_groups){0};
}
