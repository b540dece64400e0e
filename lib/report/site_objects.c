/*
** site_objects.c - the live objects of one allocation site, biggest first.
**
** A site is named by its text, "@app/bus.lua:31 in Bus:on", and by the kind of allocation if given:
** a line may make a table and a string.
*/
#include <stdlib.h>
#include <string.h>

#include "name/site_text.h"
#include "report/report.h"

typedef struct object {
  lh_id id;
} object;

typedef struct site_objects_result {
  const char *site;
  object *objects;
  size_t n, capacity;
  uint64_t bytes;
} site_objects_result;

#define ROW object
static const lh_table object_table = LH_TABLE_OF(
    "heap.site_object", "object", "objects", LH_OBJECT("object", id, "itself", LH_ADDRESS),
    LH_RETAINED("retained", id, "what would go if it went"),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, id, lh_cell_shallow, "its own"),
    LH_EXAMPLE(NULL, "address", id, NULL),
    LH_OF(NULL, "class", LH_COLUMN_TEXT, id, lh_cell_what, NULL),
    LH_HELD_BY("held by", id, "a path"));
#undef ROW

#define ROW site_objects_result
static const lh_table site_objects_answer =
    LH_TABLE_OF("heap.site_objects", NULL, NULL, LH_NAME("site", site, "where they were allocated"),
                LH_COUNT("total_objects", NULL, n, "how many there are, listed or not"),
                LH_BYTES("shallow_bytes", NULL, bytes, "of all of them"),
                LH_ROWS("objects", objects, n, &object_table, "those that retain most first",
                        LH_LIMITED, LH_OWNED));
#undef ROW

static void print_site_objects(lh_teller *t, lh_report *report) {
  const site_objects_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s that were allocated at %s are there: %s",
         lh_count_of(f->n, object_table.one, object_table.many).text,
         lh_name_words(report, f->site), lh_told_size(t, f->bytes).text);
  lh_print_table(t, report, &object_table, f->objects, f->n, f->n);
}

/* ==== Objects ======================================================================== */

/* The sites with this text: several if a file was loaded twice. NULL: out of memory. */
static bool *find_sites(const lh_sites *sites, const char *text, const char *maker) {
  bool *are = lh_alloc_zeroed((size_t)lh_n_sites(sites) + 1, sizeof *are);
  for (lh_site_id id = 1; are && id <= lh_n_sites(sites); id++) {
    const lh_site *site = lh_site_of(sites, id);
    char *other = lh_site_text(site);
    bool failed = !other;
    if (other)
      are[id] =
          strcmp(other, text) == 0 && (!maker || strcmp(lh_maker_name(site->maker), maker) == 0);
    lh_free(other);
    if (!failed) continue;
    lh_free(are);
    are = NULL;
  }
  return are;
}

static bool is_at(const lh_snapshot *s, const bool *are, lh_id id) {
  const lh_sites *sites = lh_snapshot_sites(s);
  lh_stack_id stack = lh_object_stack(s, id);
  return stack != 0 && stack <= lh_n_stacks(sites) && are[lh_stack_of(sites, stack)->site];
}

static bool gather(site_objects_result *f, const lh_snapshot *s, const lh_request *request,
                   const bool *are) {
  for (lh_id id = 1; id <= lh_object_count(s); id++) {
    if (!is_at(s, are, id) || !lh_is_asked_for(s, request, id)) continue;
    if (request->has_interval && !lh_in_interval(s, request->interval, id)) continue;
    if (!lh_grow(&f->objects, f->n, &f->capacity, sizeof *f->objects)) return false;
    f->objects[f->n++] = (object){id};
    f->bytes += lh_shallow_bytes(s, id);
  }
  return true;
}

static int by_retained(const void *a, const void *b, void *data) {
  const object *x = a, *y = b;
  uint64_t one = lh_retained_bytes(data, x->id), other = lh_retained_bytes(data, y->id);
  if (one != other) return one < other ? 1 : -1;
  return (x->id > y->id) - (x->id < y->id);
}

static int find_site_objects(lh_snapshot *snapshot, const lh_request *request, void *out,
                             lh_error *error) {
  site_objects_result *f = out;
  const lh_sites *sites = lh_snapshot_sites(snapshot);
  f->site = request->name;
  if (!request->name) return lh_fail(error, LH_EARGUMENT, "which site?");
  if (!sites) return lh_fail(error, LH_EARGUMENT, "the program was not tracked");
  bool *are = find_sites(sites, request->name, request->filter);
  bool fine = are && gather(f, snapshot, request, are);
  lh_free(are);
  if (fine && f->n > 1) qsort_r(f->objects, f->n, sizeof *f->objects, by_retained, snapshot);
  return fine ? LH_OK : lh_fail_memory(error, "telling what was allocated at a site");
}

LH_QUESTION(site_objects, .main = "objects");
