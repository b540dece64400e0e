/*
** epochs.c - marks, and from them the age of every object.
**
** Objects stand on allgc and finobj in the order of their allocation, youngest first, so their ids fall
** with age. Each mark left an object on either list: what has a smaller id is younger than the mark.
** An object's epoch is a binary search among the marks.
*/
#include <string.h>

#include "reader.h"

/* A mark's object, as its record has it. */
typedef struct half {
  const uint8_t *content; /* from the kind to the end of the name: the same in both halves */
  uint64_t content_bytes, name_bytes;
  const uint8_t *name;
  lh_mark_info info;
  lh_id id;
} half;

/* False for a mark of another state. */
static bool read_half(const lh_snapshot *s, lh_id id, half *out) {
  const uint8_t *at = lh_record(s, id);
  uint64_t word = s->address[id] >> 3;
  bool metatable = *at & LH_FLAG_METATABLE;
  (void)lh_get_shallow(&at);
  (void)lh_get_uvarint(&at);
  if (metatable) (void)lh_get_ref(&at, word);
  for (uint32_t n = lh_get_count(&at); n > 0; n--) (void)lh_get_raw(&at, word);
  *out = (half){.content = at, .id = id};
  out->info.is_snapshot = *at++ == LH_MARK_BY_SNAPSHOT;
  if (lh_load64(at) != s->info.state_id) return false;
  at += 8;
  out->info.serial = lh_get_count(&at);
  out->info.time_ns = lh_load64(at);
  at += 8;
  out->name_bytes = lh_get_uvarint(&at);
  out->name = at;
  out->content_bytes = (uint64_t)(at - out->content) + out->name_bytes;
  return true;
}

/* The halves on one list, youngest first. False if their serials do not fall. */
static bool gather(const lh_snapshot *s, const lh_id *objects, uint32_t n, lh_list list,
                   half *halves, uint32_t *n_halves, lh_id *wrong) {
  *n_halves = 0;
  for (uint32_t i = 0; i < n; i++) {
    half h;
    if (lh_list_of(s, objects[i]) != list || !read_half(s, objects[i], &h)) continue;
    uint32_t before = *n_halves ? halves[*n_halves - 1].info.serial : UINT32_MAX;
    *wrong = h.id;
    if (h.info.serial >= before && *n_halves) return false;
    halves[(*n_halves)++] = h;
  }
  return true;
}

/* Joins the halves of each mark, oldest first. One without the other (a program may clear the
** registry) is no mark. False if the two differ. */
static bool join(lh_snapshot *s, const half *allgc, uint32_t n_allgc, const half *finobj,
                 uint32_t n_finobj, lh_id *wrong) {
  char *names = s->mark_names;
  while (n_allgc > 0 && n_finobj > 0) {
    const half *a = &allgc[n_allgc - 1], *f = &finobj[n_finobj - 1];
    if (a->info.serial <= f->info.serial) n_allgc--;
    if (f->info.serial <= a->info.serial) n_finobj--;
    if (a->info.serial != f->info.serial) continue;
    *wrong = f->id;
    if (a->content_bytes != f->content_bytes ||
        memcmp(a->content, f->content, a->content_bytes) != 0)
      return false;
    s->mark_ids[s->n_marks][0] = a->id;
    s->mark_ids[s->n_marks][1] = f->id;
    lh_mark_info *info = &s->marks[s->n_marks++];
    *info = a->info;
    info->name = names;
    info->name_length = a->name_bytes;
    memcpy(names, a->name, a->name_bytes);
    names[a->name_bytes] = 0;
    names += a->name_bytes + 1;
  }
  return true;
}

static int allocate(lh_snapshot *s, const half *halves, uint32_t n, lh_error *error) {
  uint64_t name_bytes = 0;
  for (uint32_t i = 0; i < n; i++) name_bytes += halves[i].name_bytes + 1;
  s->marks = lh_alloc(n, sizeof *s->marks);
  s->mark_ids = lh_alloc(n, sizeof *s->mark_ids);
  s->mark_names = lh_alloc(name_bytes, 1);
  if (!s->marks || !s->mark_ids || !s->mark_names) return lh_fail_memory(error, "reading marks");
  return 0;
}

static int damaged(const lh_snapshot *s, const char *name, lh_id id, const char *what,
                   lh_error *error) {
  return lh_fail_at(error, (uint64_t)(lh_record(s, id) - s->data),
                    "'%s' is damaged: object %u (mark): %s", name, id, what);
}

int lh_collect_marks(lh_snapshot *s, const char *name, const lh_id *objects, uint32_t n,
                     lh_error *error) {
  int code = 0;
  uint32_t n_allgc = 0, n_finobj = 0;
  lh_id wrong = LH_ROOT;
  half *allgc = lh_alloc(n, sizeof *allgc);
  half *finobj = lh_alloc(n, sizeof *finobj);
  if (!allgc || !finobj) {
    code = lh_fail_memory(error, "reading marks");
    goto out;
  }
  if (!gather(s, objects, n, LH_LIST_ALLGC, allgc, &n_allgc, &wrong) ||
      !gather(s, objects, n, LH_LIST_FINOBJ, finobj, &n_finobj, &wrong)) {
    code = damaged(s, name, wrong, "it is older than a mark that was set before it", error);
    goto out;
  }
  code = allocate(s, allgc, n_allgc, error);
  if (code) goto out;
  if (!join(s, allgc, n_allgc, finobj, n_finobj, &wrong))
    code = damaged(s, name, wrong, "its two objects differ", error);
  else if (s->n_marks == 0 || s->marks[s->n_marks - 1].serial != s->info.serial)
    code = lh_fail_at(error, s->size, "'%s' is damaged: mark %u, its own, is not its youngest",
                      name, s->info.serial);
out:
  lh_free(allgc);
  lh_free(finobj);
  return code;
}

uint32_t lh_mark_count(const lh_snapshot *s) {
  return s->n_marks;
}

const lh_mark_info *lh_mark_at(const lh_snapshot *s, uint32_t i) {
  return &s->marks[i];
}

uint32_t lh_epoch(const lh_snapshot *s, lh_id id) {
  lh_list list = lh_list_of(s, id);
  if (id == LH_ROOT || list > LH_LIST_FINOBJ) return 0;
  uint32_t low = 0, high = s->n_marks; /* marks below `low` are older than the object */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->mark_ids[middle][list] > id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
