/*
** outside.c - reads the section that only a snapshot taken from outside has.
**
** It says how the snapshot was taken and which marks were placed by a comparison of objects. It has
** the symbols of C functions, which cannot be looked up later (6 KB for 200 functions).
*/
#include "reader.h"

enum { LEAST_MARK = 11, LEAST_FUNCTION = 4 }; /* their least bytes in the file */

static void read_how(lh_snapshot *s, lh_cursor *c) {
  unsigned stillness = lh_read_u8(c);
  if (stillness > LH_STILL_CORE) lh_fault(c, c->at - 1, "how it was taken is unknown");
  unsigned flags = lh_read_u8(c);
  if (flags & ~(unsigned)(LH_OUTSIDE_IN_CALL | LH_OUTSIDE_IN_DOUBT))
    lh_fault(c, c->at - 1, "it has an unknown flag");
  s->outside.stillness = (lh_stillness)stillness;
  s->outside.was_in_system_call = flags & LH_OUTSIDE_IN_CALL;
  s->outside.is_in_doubt = flags & LH_OUTSIDE_IN_DOUBT;
}

/* Reads a count of at most `most` items, each of at least `least_bytes`. 0 after a fault. */
static uint32_t read_number_of(lh_cursor *c, uint32_t most, uint64_t least_bytes) {
  const uint8_t *start = c->at;
  uint32_t n = (uint32_t)lh_read_upto(c, most, "it counts more than there can be");
  if (n > (uint64_t)(c->end - c->at) / least_bytes)
    lh_fault(c, start, "a count is greater than the bytes that are left");
  return c->fault ? 0 : n;
}

static bool read_marks(lh_snapshot *s, lh_cursor *c) {
  uint32_t n = read_number_of(c, UINT32_MAX, LEAST_MARK);
  s->matched = lh_alloc(n, sizeof *s->matched);
  if (!s->matched) return false;
  for (; s->n_matched < n && !c->fault; s->n_matched++) {
    lh_matched_mark *mark = &s->matched[s->n_matched];
    mark->serial = (uint32_t)lh_read_upto(c, UINT32_MAX, "a serial is too big");
    mark->time_ns = lh_read_time(c);
    for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
      mark->passed[list] = (uint32_t)lh_read_upto(c, s->list_first[list + 1] - s->list_first[list],
                                                  "more pass as older than there are");
  }
  return true;
}

static void read_function(lh_cursor *c, uint64_t *last, lh_c_code *function,
                          lh_file_text texts[2]) {
  const uint8_t *start = c->at;
  function->address = lh_read_uvarint(c);
  if (function->address <= *last) lh_fault(c, start, "its C functions do not ascend");
  *last = function->address;
  for (int i = 0; i < 2; i++) texts[i] = lh_read_text(c);
  function->offset = lh_read_uvarint(c);
}

/* The texts, with their NULs, are shorter than the bytes that they are read from. */
static bool read_functions(lh_snapshot *s, lh_cursor *c) {
  uint32_t n = read_number_of(c, LH_MOST_C_FUNCTIONS, LEAST_FUNCTION);
  uint64_t last = 0;
  s->c_functions = lh_alloc(n, sizeof *s->c_functions);
  s->c_texts = lh_alloc((size_t)(c->end - c->at), 1);
  char *at = s->c_texts;
  if (!s->c_functions || !at) return false;
  for (uint32_t i = 0; i < n && !c->fault; i++) {
    lh_file_text texts[2];
    read_function(c, &last, &s->c_functions[i], texts);
    if (c->fault) return true;
    s->c_functions[i].symbol = lh_keep_text(&at, texts[0]);
    s->c_functions[i].library = lh_keep_text(&at, texts[1]);
  }
  s->outside.c_functions = n;
  if (c->at != c->end) lh_fault(c, c->at, "it does not end where it should");
  return true;
}

int lh_read_outside(lh_snapshot *s, lh_error *error) {
  if (!s->is_outside) return LH_OK;
  const lh_section *section = &s->outside_section;
  lh_cursor c = {.at = s->data + section->offset, .end = s->data + section->end};
  read_how(s, &c);
  if (!read_marks(s, &c) || !read_functions(s, &c))
    return lh_fail_memory(error, "reading what tells of outside");
  return c.fault ? lh_fail_damaged(s, c.fault_at, "outside", c.fault, error) : LH_OK;
}

/* Both lists are sorted by age, and serials rise with it. A matched mark that the heap lacks is a
** fault only for lh_verify. */
int lh_collect_passed(lh_snapshot *s, lh_error *error) {
  if (s->n_matched == 0) return LH_OK;
  s->placed = lh_alloc_zeroed(s->n_marks, sizeof *s->placed);
  if (!s->placed) return lh_fail_memory(error, "reading marks");
  for (uint32_t i = 0, k = 0; i < s->n_marks && k < s->n_matched;) {
    const lh_matched_mark *matched = &s->matched[k];
    bool is_it = lh_is_mark(&s->marks[i], matched->serial, matched->time_ns);
    if (is_it) {
      s->placed[i].is_placed = true;
      memcpy(s->placed[i].passed, matched->passed, sizeof matched->passed);
    }
    bool is_lacking = !is_it && matched->serial < s->marks[i].serial;
    k += is_it || is_lacking;
    i += !is_lacking;
  }
  return LH_OK;
}

const lh_outside_info *lh_snapshot_outside(const lh_snapshot *s) {
  return s->is_outside ? &s->outside : NULL;
}

/* finobj may have fewer objects than were counted, if a half of the mark is missing. */
lh_count lh_possibly_newer(const lh_snapshot *s, uint32_t mark) {
  lh_count count = {0, 0};
  if (!s->placed || mark >= s->n_marks) return count;
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    lh_id id = s->mark_ids[mark][list];
    uint32_t left = s->placed[mark].passed[list];
    if (id < s->list_first[list]) continue;
    for (; left > 0 && id < s->list_first[list + 1]; id++) {
      if (lh_is_own(s, id)) continue;
      count.objects++;
      count.bytes += lh_shallow_bytes(s, id);
      left--;
    }
  }
  return count;
}

bool lh_c_function_at(const lh_snapshot *s, uint64_t address, lh_c_code *out) {
  uint32_t at, n = s->outside.c_functions;
  LH_LOWER_BOUND(at, n, s->c_functions[at].address < address);
  if (at == n || s->c_functions[at].address != address) return false;
  *out = s->c_functions[at];
  return true;
}

bool lh_copy_c_functions(const lh_snapshot *from, lh_snapshot *to) {
  uint32_t n = from->outside.c_functions;
  if (n == 0 || to->c_functions) return true;
  const char *last = from->c_functions[n - 1].library;
  size_t n_texts = (size_t)(last - from->c_texts) + strlen(last) + 1;
  to->c_functions = lh_alloc(n, sizeof *to->c_functions);
  to->c_texts = lh_alloc(n_texts, 1);
  if (!to->c_functions || !to->c_texts) return false;
  memcpy(to->c_functions, from->c_functions, n * sizeof *to->c_functions);
  memcpy(to->c_texts, from->c_texts, n_texts);
  for (uint32_t i = 0; i < n; i++) {
    lh_c_code *code = &to->c_functions[i];
    code->symbol = to->c_texts + (code->symbol - from->c_texts);
    code->library = to->c_texts + (code->library - from->c_texts);
  }
  to->outside.c_functions = n;
  return true;
}
