/*
** fields.c - the fields of an object, page by page.
**
** A table may have ten million entries, whose places in the record nobody knows. So what was
** learned on the way through it is kept, for the object that was last asked about: where each 512th
** field is, up to the last that was wanted, and, where another order or a filter was, which fields
** these are. A field is then found in 512 steps.
*/
#include "fields.h"

#include <string.h>

#include "name/names.h"

enum { STRIDE = 512 };

struct lh_field_list {
  lh_id id;
  uint64_t n;
  lh_field_scan *saved; /* room for all of them */
  size_t n_saved;
  bool has_rows;
  lh_field_rows rows;
};

static void free_list(lh_field_list *list) {
  lh_free(list->saved);
  lh_field_rows_free(&list->rows);
  lh_free(list);
}

static lh_field_list *make_list(const lh_snapshot *snapshot, lh_id id) {
  lh_field_list *list = lh_alloc_zeroed(1, sizeof *list);
  lh_field_scan scan;
  if (!list) return NULL;
  list->id = id;
  list->n = lh_count_object_fields(snapshot, id);
  list->saved = lh_alloc((size_t)(list->n / STRIDE) + 1, sizeof scan);
  if (!list->saved) {
    free_list(list);
    return NULL;
  }
  lh_field_scan_begin(snapshot, id, &scan);
  list->saved[list->n_saved++] = scan;
  return list;
}

/* Learns where fields are, up to one. */
static void learn(lh_field_list *list, uint64_t number) {
  while (list->n_saved <= number / STRIDE) {
    lh_field_scan scan = list->saved[list->n_saved - 1];
    lh_field_scan_skip(&scan, STRIDE);
    list->saved[list->n_saved++] = scan;
  }
}

static bool find_list(lh_snapshot *snapshot, lh_id id) {
  if (snapshot->fields && snapshot->fields->id == id) return true;
  if (snapshot->fields) free_list(snapshot->fields);
  snapshot->free_fields = free_list;
  snapshot->fields = make_list(snapshot, id);
  return snapshot->fields != NULL;
}

static bool is_filter(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool find_rows(const lh_snapshot *snapshot, lh_field_list *list,
                      const lh_field_query *query) {
  const char *filter = query->filter && *query->filter ? query->filter : NULL;
  lh_field_rows *rows = &list->rows;
  bool is_same_order = rows->order == query->order && rows->is_descending == query->is_descending;
  if (list->has_rows && is_same_order && is_filter(rows->filter, filter)) return true;
  lh_field_rows_free(rows);
  list->has_rows = lh_field_rows_make(snapshot, list->id, list->n, query, rows);
  return list->has_rows;
}

/* The place before a field. */
static lh_field_scan find_field(lh_field_list *list, uint64_t number) {
  learn(list, number);
  lh_field_scan scan = list->saved[number / STRIDE];
  lh_field_scan_skip(&scan, number % STRIDE);
  return scan;
}

static bool is_as_it_is(const lh_field_query *query) {
  return query->order == LH_FIELDS_AS_THEY_ARE && !query->is_descending &&
         (!query->filter || !*query->filter);
}

static bool read_page(lh_field_list *list, const lh_field_query *query, bool as_it_is,
                      lh_object_fields *out) {
  size_t from = query->from < out->matching ? query->from : (size_t)out->matching;
  size_t most = (size_t)out->matching - from;
  size_t n = query->limit == 0 || query->limit > most ? most : query->limit;
  out->list = lh_alloc(n, sizeof *out->list);
  if (!out->list) return false;
  if (!as_it_is) lh_field_rows_sort(list->saved->snapshot, &list->rows, from, from + n);
  lh_field_scan scan;
  for (; out->n < n; out->n++) {
    if (!as_it_is || out->n == 0)
      scan = find_field(list, as_it_is ? from : list->rows.rows[from + out->n].number);
    (void)lh_field_scan_next(&scan, &out->list[out->n]);
  }
  return true;
}

int lh_find_object_fields(lh_snapshot *snapshot, lh_id id, const lh_field_query *query,
                          lh_object_fields *out, lh_error *error) {
  bool as_it_is = is_as_it_is(query);
  *out = (lh_object_fields){0};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "fields need a classified snapshot (lh_classify)");
  if (id > snapshot->n) return lh_fail(error, LH_EARGUMENT, "there is no object %u", id);
  if (!find_list(snapshot, id)) return lh_fail_memory(error, "reading fields");
  lh_field_list *list = snapshot->fields;
  if (!as_it_is && list->n > UINT32_MAX)
    return lh_fail(error, LH_ELIMIT, "the object has too many fields to put them in an order");
  if (!as_it_is && !find_rows(snapshot, list, query))
    return lh_fail_memory(error, "sorting fields");
  out->total = list->n;
  out->matching = as_it_is ? list->n : list->rows.n;
  if (read_page(list, query, as_it_is, out)) return LH_OK;
  lh_object_fields_free(out);
  return lh_fail_memory(error, "reading fields");
}

void lh_object_fields_free(lh_object_fields *fields) {
  lh_free(fields->list);
  *fields = (lh_object_fields){0};
}
