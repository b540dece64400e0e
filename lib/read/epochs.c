/*
** epochs.c - marks, and the age of every object.
**
** allgc and finobj are in the order of allocation, youngest first, so an older object has a greater
** id. Each mark left an object on both lists, so an object's epoch is a binary search among the
** marks. The marks divide both lists at the same moments, so all objects are on one axis, without
** an array. Inside an epoch each list is taken to have grown evenly: of an epoch's n objects of a
** list, the one with r older ones is at (2r + 1) / 2n of the epoch. Of two objects at one place the
** object on allgc is older.
*/
#include "reader.h"

/* The object that a mark left on one list. */
typedef struct half {
  lh_mark_info info;
  const uint8_t *name;
  uint64_t name_bytes;
  lh_id id;
} half;

/* False: the mark is of another Lua state. */
static bool read_half(const lh_snapshot *s, lh_id id, half *out) {
  const uint8_t *at = lh_record(s, id);
  uint64_t word = s->address[id] >> 3;
  bool metatable = *at & LH_FLAG_METATABLE;
  (void)lh_get_shallow(s, &at);
  (void)lh_get_uvarint(&at);
  if (metatable) (void)lh_get_reference(&at, word);
  for (uint32_t n = lh_get_count(&at); n > 0; n--) (void)lh_get_raw(&at, word);
  *out = (half){.id = id};
  out->info.is_snapshot = *at++ == LH_MARK_BY_SNAPSHOT;
  if (lh_load64(at) != s->info.state_id) return false;
  at += 8;
  out->info.serial = lh_get_count(&at);
  out->info.time_ns = lh_load64(at);
  at += 8;
  out->name_bytes = lh_get_uvarint(&at);
  out->name = at;
  return true;
}

/* Marks from inside are ordered by serial, because a clock may jump. A snapshot from outside orders
** by time first: marks from outside have serials that ignore those from inside. */
static bool is_younger(const lh_snapshot *s, const lh_mark_info *mark, const lh_mark_info *than) {
  if (s->is_outside && mark->time_ns != than->time_ns) return mark->time_ns > than->time_ns;
  return mark->serial > than->serial;
}

/* The halves on one list, oldest first. A half that is not younger than the one before is skipped:
** while Lua closes a state, it moves finalized objects, also marks, to the young end of allgc. */
static uint32_t gather_halves(const lh_snapshot *s, const lh_id *objects, uint32_t n, lh_list list,
                              half *halves) {
  uint32_t n_halves = 0;
  lh_mark_info last = {.serial = 0};
  while (n-- > 0) {
    half h;
    if (lh_list_of(s, objects[n]) != list || !read_half(s, objects[n], &h)) continue;
    if (!is_younger(s, &h.info, &last) && h.info.serial <= last.serial) continue;
    last = h.info;
    halves[n_halves++] = h;
  }
  return n_halves;
}

/* Each half on allgc makes a mark. Without a half on finobj, the mark takes the place of the next
** younger mark there; the youngest mark takes 0, before all objects. */
static void join_halves(lh_snapshot *s, const half *allgc, uint32_t n_allgc, const half *finobj,
                        uint32_t n_finobj) {
  char *names = s->mark_names;
  s->n_marks = n_allgc;
  for (uint32_t i = 0; i < n_allgc; i++) {
    s->marks[i] = allgc[i].info;
    s->marks[i].name = names;
    s->marks[i].name_length = allgc[i].name_bytes;
    memcpy(names, allgc[i].name, allgc[i].name_bytes);
    names += allgc[i].name_bytes;
    *names++ = 0;
  }
  lh_id place = 0;
  for (uint32_t i = n_allgc; i-- > 0;) {
    const lh_mark_info *mark = &allgc[i].info;
    while (n_finobj > 0 && is_younger(s, &finobj[n_finobj - 1].info, mark)) n_finobj--;
    const half *other = n_finobj > 0 ? &finobj[n_finobj - 1] : NULL;
    if (other && lh_is_mark(mark, other->info.serial, other->info.time_ns)) place = other->id;
    s->mark_ids[i][0] = allgc[i].id;
    s->mark_ids[i][1] = place;
  }
}

static int allocate_marks(lh_snapshot *s, const half *halves, uint32_t n, lh_error *error) {
  uint64_t name_bytes = 0;
  for (uint32_t i = 0; i < n; i++) name_bytes += halves[i].name_bytes + 1;
  s->marks = lh_alloc(n, sizeof *s->marks);
  s->mark_ids = lh_alloc(n, sizeof *s->mark_ids);
  s->mark_names = lh_alloc(name_bytes, 1);
  if (!s->marks || !s->mark_ids || !s->mark_names) return lh_fail_memory(error, "reading marks");
  return 0;
}

static lh_id *list_marks(const lh_raw_rows *rows, uint32_t *n) {
  size_t n_marks = 0;
  for (uint32_t i = 0; i < rows->n; i++) n_marks += rows->blocks[i].n_marks;
  lh_id *list = lh_alloc(n_marks, sizeof *list);
  *n = 0;
  for (uint32_t i = 0; list && i < rows->n; i++)
    for (size_t k = 0; k < rows->blocks[i].n_marks; k++) list[(*n)++] = rows->blocks[i].marks[k];
  return list;
}

int lh_collect_marks(lh_snapshot *s, const lh_raw_rows *rows, lh_error *error) {
  int code = 0;
  uint32_t n;
  lh_id *objects = list_marks(rows, &n);
  half *allgc = lh_alloc(n, sizeof *allgc);
  half *finobj = lh_alloc(n, sizeof *finobj);
  if (!objects || !allgc || !finobj) {
    code = lh_fail_memory(error, "reading marks");
    goto out;
  }
  uint32_t n_allgc = gather_halves(s, objects, n, LH_LIST_ALLGC, allgc);
  uint32_t n_finobj = gather_halves(s, objects, n, LH_LIST_FINOBJ, finobj);
  code = allocate_marks(s, allgc, n_allgc, error);
  if (code) goto out;
  join_halves(s, allgc, n_allgc, finobj, n_finobj);
  if (n_allgc == 0 || s->marks[n_allgc - 1].serial != s->info.serial)
    code = lh_fail_at(error, s->size, "'%s' is damaged: mark %u, its own, is not its youngest",
                      s->name, s->info.serial);
out:
  LH_FREE_ALL(objects, allgc, finobj);
  return code;
}

/* ==== Marks that are not in the heap ================================================ */

static int grow_marks(lh_snapshot *s, lh_error *error) {
  size_t n = (size_t)s->n_marks + 1;
  lh_mark_info *marks = lh_realloc(s->marks, n, sizeof *marks);
  if (marks) s->marks = marks;
  lh_id(*ids)[2] = lh_realloc(s->mark_ids, n, sizeof *ids);
  if (ids) s->mark_ids = ids;
  lh_placed *placed =
      s->placed ? lh_realloc(s->placed, n, sizeof *placed) : lh_alloc_zeroed(n, sizeof *placed);
  if (placed) s->placed = placed;
  return marks && ids && placed ? LH_OK : lh_fail_memory(error, "placing a mark");
}

/* Moves all names, with the new one, into a new block. */
static int keep_name(lh_snapshot *s, lh_mark_info *info, lh_error *error) {
  size_t n = 0;
  for (uint32_t i = 0; i < s->n_marks; i++) n += s->marks[i].name_length + 1;
  char *names = lh_alloc(n + info->name_length + 1, 1), *at = names;
  if (!names) return lh_fail_memory(error, "placing a mark");
  for (uint32_t i = 0; i <= s->n_marks; i++) {
    lh_mark_info *mark = i < s->n_marks ? &s->marks[i] : info;
    memcpy(at, mark->name, mark->name_length);
    at[mark->name_length] = 0;
    mark->name = at;
    at += mark->name_length + 1;
  }
  lh_free(s->mark_names);
  s->mark_names = names;
  return LH_OK;
}

/* The snapshot's own mark is never older. */
static uint32_t older_marks(const lh_snapshot *s, const lh_mark_info *info, lh_id on_allgc) {
  uint32_t i = s->n_marks - 1;
  while (i > 0 && (s->mark_ids[i - 1][0] < on_allgc ||
                   (s->mark_ids[i - 1][0] == on_allgc && s->marks[i - 1].time_ns > info->time_ns)))
    i--;
  return i;
}

int lh_add_mark(lh_snapshot *s, const lh_mark_info *info, const lh_id ids[2],
                const lh_placed *placed, uint32_t *mark, lh_error *error) {
  lh_mark_info copy = *info;
  int code = grow_marks(s, error);
  if (!code) code = keep_name(s, &copy, error);
  if (code) return code;
  uint32_t at = *mark = older_marks(s, info, ids[0]);
  lh_id kept[2]; /* clamped between the ids of the neighbour marks, as a binary search needs */
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    kept[list] = ids[list];
    if (at > 0 && kept[list] > s->mark_ids[at - 1][list]) kept[list] = s->mark_ids[at - 1][list];
    if (kept[list] < s->mark_ids[at][list]) kept[list] = s->mark_ids[at][list];
  }
  size_t behind = s->n_marks - at;
  memmove(&s->marks[at + 1], &s->marks[at], behind * sizeof *s->marks);
  memmove(&s->mark_ids[at + 1], &s->mark_ids[at], behind * sizeof *s->mark_ids);
  memmove(&s->placed[at + 1], &s->placed[at], behind * sizeof *s->placed);
  s->marks[at] = copy;
  memcpy(s->mark_ids[at], kept, sizeof kept);
  s->placed[at] = *placed;
  s->n_marks++;
  if (s->growings) s->free_growings(s->growings); /* it knows ages by marks */
  s->growings = NULL;
  return LH_OK;
}

lh_id_range lh_epoch_range(const lh_snapshot *s, lh_list list, uint32_t epoch) {
  lh_id first = s->list_first[list], end = s->list_first[list + 1];
  lh_id younger = epoch < s->n_marks ? s->mark_ids[epoch][list] : 0;
  lh_id older = epoch > 0 ? s->mark_ids[epoch - 1][list] : end;
  if (younger > first) first = younger;
  if (older < end) end = older;
  return (lh_id_range){first, end > first ? end : first};
}

uint32_t lh_mark_count(const lh_snapshot *s) {
  return s->n_marks;
}

const lh_mark_info *lh_mark_at(const lh_snapshot *s, uint32_t i) {
  return &s->marks[i];
}

uint32_t lh_epoch(const lh_snapshot *s, lh_id id) {
  if (id == LH_ROOT || id > s->n) return 0;
  lh_list list = lh_list_of(s, id);
  if (list > LH_LIST_FINOBJ) return 0;
  uint32_t epoch; /* index of the first mark that is younger than the object */
  LH_LOWER_BOUND(epoch, s->n_marks, s->mark_ids[epoch][list] > id);
  return epoch;
}

/* ==== One axis for both lists ======================================================== */

/* The number of objects of one list that are older than mark `epoch` - 1. */
static uint32_t older_on(const lh_snapshot *s, uint32_t epoch, lh_list list) {
  lh_id first = s->list_first[list], end = s->list_first[list + 1];
  if (epoch == 0) return 0;
  if (epoch > s->n_marks) return end - first;
  lh_id mark = s->mark_ids[epoch - 1][list]; /* 0, before all objects, if the half is missing */
  return end - (mark > first ? mark : first);
}

static uint64_t older_than_epoch(const lh_snapshot *s, uint32_t epoch) {
  return (uint64_t)older_on(s, epoch, LH_LIST_ALLGC) + older_on(s, epoch, LH_LIST_FINOBJ);
}

/* The number of the epoch's `others` before the object with `rank` of its `own` list before it.
** Cannot overflow: own + others < 2^32. */
static uint64_t others_before(uint64_t rank, uint64_t own, uint64_t others, lh_list list) {
  return ((2 * rank + 1) * others + own - (list == LH_LIST_ALLGC)) / (2 * own);
}

uint64_t lh_position_count(const lh_snapshot *s) {
  return s->list_first[LH_LIST_TOBEFNZ] - s->list_first[LH_LIST_ALLGC];
}

uint64_t lh_position_of(const lh_snapshot *s, lh_id id) {
  lh_list list = lh_list_of(s, id);
  if (id == LH_ROOT || id > s->n || list > LH_LIST_FINOBJ) return LH_NO_POSITION;
  lh_list other = list == LH_LIST_ALLGC ? LH_LIST_FINOBJ : LH_LIST_ALLGC;
  uint32_t epoch = lh_epoch(s, id), older = older_on(s, epoch, list);
  uint32_t rank = s->list_first[list + 1] - 1 - id - older;
  uint32_t own = older_on(s, epoch + 1, list) - older;
  uint32_t others = older_on(s, epoch + 1, other) - older_on(s, epoch, other);
  return older_than_epoch(s, epoch) + rank + others_before(rank, own, others, list);
}

uint64_t lh_mark_position(const lh_snapshot *s, uint32_t mark) {
  return older_than_epoch(s, mark + 1);
}

/* How many of the epoch's first `n` objects are on finobj. */
static uint32_t count_among(uint64_t n, uint32_t on_allgc, uint32_t on_finobj) {
  uint32_t rank;
  LH_LOWER_BOUND(rank, on_finobj,
                 rank + others_before(rank, on_finobj, on_allgc, LH_LIST_FINOBJ) < n);
  return rank;
}

static void count_before(const lh_snapshot *s, uint64_t position, uint32_t n[2]) {
  uint32_t epoch;
  LH_LOWER_BOUND(epoch, s->n_marks, older_than_epoch(s, epoch + 1) <= position);
  uint32_t older[2], own[2];
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    older[list] = older_on(s, epoch, list);
    own[list] = older_on(s, epoch + 1, list) - older[list];
  }
  uint64_t left = position - older[LH_LIST_ALLGC] - older[LH_LIST_FINOBJ];
  uint32_t on_finobj = count_among(left, own[LH_LIST_ALLGC], own[LH_LIST_FINOBJ]);
  n[LH_LIST_ALLGC] = older[LH_LIST_ALLGC] + (uint32_t)(left - on_finobj);
  n[LH_LIST_FINOBJ] = older[LH_LIST_FINOBJ] + on_finobj;
}

bool lh_is_ever(lh_interval interval) {
  return interval.since == 0 && interval.until == UINT64_MAX;
}

void lh_objects_in(const lh_snapshot *s, lh_interval interval, lh_id_range ranges[2]) {
  uint64_t n = lh_position_count(s);
  uint32_t before_since[2], before_until[2];
  if (lh_is_ever(interval)) {
    ranges[0] = (lh_id_range){1, s->n + 1};
    ranges[1] = (lh_id_range){s->n + 1, s->n + 1};
    return;
  }
  if (interval.until > n) interval.until = n;
  if (interval.since > interval.until) interval.since = interval.until;
  count_before(s, interval.since, before_since);
  count_before(s, interval.until, before_until);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    ranges[list] = (lh_id_range){s->list_first[list + 1] - before_until[list],
                                 s->list_first[list + 1] - before_since[list]};
}

bool lh_in_interval(const lh_snapshot *s, lh_interval interval, lh_id id) {
  if (lh_is_ever(interval)) return id != LH_ROOT && id <= s->n;
  uint64_t position = lh_position_of(s, id);
  return position != LH_NO_POSITION && position >= interval.since && position < interval.until;
}
