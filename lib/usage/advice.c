/*
** advice.c - finds where a program could allocate less.
**
** Growing tables and appended strings are found in the order of events at a site. A growing table
** allocates ever bigger parts, so the most frequent size counts the tables. A run of ever longer
** strings is one string, and all but the last are copies. Short-lived functions and tables follow
** from the counts (usage.c).
*/
#include "name/text.h"
#include "usage.h"

enum {
  LEAST_PART = 200, /* least share of all bytes: 1/200 */
  LEAST_TIMES = 8,  /* growths at a site, and growths of each table */
  LEAST_TIMES_EACH = 4,
  LEAST_STRINGS = 32,       /* states of one appended string */
  LEAST_STRING_BYTES = 512, /* of its final length */
  LEAST_COPIES = 8,         /* bytes allocated, as a multiple of the final bytes */
  LEAST_OBJECTS = 1000      /* short-lived ones */
};

/* The share of short-lived bytes that must be dead at the first collection. */
#define MOST_ARE_DEAD 0.9

enum { N_SIZES = 40 };

typedef struct watch {
  lh_advice_kind kind;
  lh_stack_id stack; /* the first that was seen */
  uint64_t times, bytes, most;
  uint64_t by_size[N_SIZES]; /* growths to 1 << i slots and more */
  uint64_t last_bytes;       /* strings: of the string before */
  uint64_t ends, end_bytes;  /* strings: finished ones */
} watch;

typedef struct watcher {
  const lh_sites *sites;
  uint32_t *of_site; /* 1 + the index of its watch; 0: none */
  watch *watches;
  size_t n, capacity;
  bool failed;
} watcher;

/* Nodes have 24 bytes each, and their number is a power of 2; values have 16 bytes. */
static uint64_t slots_in(uint64_t bytes) {
  uint64_t nodes = bytes / 24;
  return bytes % 24 == 0 && (nodes & (nodes - 1)) == 0 ? nodes : bytes / 16;
}

static bool is_of_tables(const lh_site *site) {
  static const char *const functions[] = {"table.insert", "table.move", "rawset"};
  if (site->maker == LH_MADE_GROWTH) return true;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (site->c_function && strcmp(site->c_function, functions[i]) == 0) return true;
  return false;
}

static bool is_growth(const lh_event *event, const lh_site *site) {
  return event->type == LH_EVENT_PART && is_of_tables(site) &&
         (event->kind == LH_EVENT_NEW || event->bytes > event->old_bytes);
}

static bool is_concatenation(const lh_event *event, const lh_site *site) {
  return event->type == LH_TYPE_STRING && event->kind == LH_EVENT_NEW &&
         site->maker == LH_MADE_CONCATENATION;
}

static watch *watch_of(watcher *w, lh_stack_id stack, lh_advice_kind kind) {
  uint32_t *number = &w->of_site[lh_site_at(w->sites, stack)];
  if (*number != 0) return &w->watches[*number - 1];
  w->failed |= !lh_grow(&w->watches, w->n, &w->capacity, sizeof *w->watches);
  if (w->failed) return NULL;
  w->watches[w->n++] = (watch){.kind = kind, .stack = stack};
  *number = (uint32_t)w->n;
  return &w->watches[w->n - 1];
}

static void see_growth(watch *at, const lh_event *event) {
  uint64_t slots = slots_in(event->bytes);
  unsigned size = 0;
  while (size < N_SIZES - 1 && slots >> (size + 1) != 0) size++;
  at->times++;
  at->bytes += event->bytes;
  at->by_size[size]++;
  if (slots > at->most) at->most = slots;
}

static void end_string(watch *at) {
  if (at->last_bytes == 0) return;
  at->ends++;
  at->end_bytes += at->last_bytes;
}

static void see_string(watch *at, const lh_event *event) {
  if (event->bytes < at->last_bytes) end_string(at);
  at->last_bytes = event->bytes;
  at->times++;
  at->bytes += event->bytes;
  if (event->bytes > at->most) at->most = event->bytes;
}

static bool see(const lh_event *event, void *data) {
  watcher *w = data;
  if (event->kind == LH_EVENT_FREE || !lh_site_at(w->sites, event->stack)) return true;
  const lh_site *site = lh_site_of_stack(w->sites, event->stack);
  bool grows = is_growth(event, site);
  if (!grows && !is_concatenation(event, site)) return true;
  watch *at = watch_of(w, event->stack, grows ? LH_ADVICE_SIZE : LH_ADVICE_CONCAT);
  if (at) (grows ? see_growth : see_string)(at, event);
  return !w->failed;
}

typedef struct adviser {
  const lh_usage *usage;
  uint64_t least_bytes;
  lh_advice *list;
  size_t n, capacity;
} adviser;

static bool give(adviser *a, lh_advice advice) {
  if (advice.bytes < a->least_bytes) return true;
  if (!lh_grow(&a->list, a->n, &a->capacity, sizeof *a->list)) return false;
  a->list[a->n++] = advice;
  return true;
}

static bool advise_size(adviser *a, const watch *at) {
  uint64_t tables = 0;
  for (unsigned i = 0; i < N_SIZES; i++)
    if (at->by_size[i] > tables) tables = at->by_size[i];
  if (at->times < LEAST_TIMES || at->times < LEAST_TIMES_EACH * tables) return true;
  return give(a, (lh_advice){LH_ADVICE_SIZE, at->stack, at->times, tables, at->most, at->bytes});
}

static bool advise_concat(adviser *a, watch *at) {
  end_string(at);
  if (at->times < LEAST_STRINGS || at->most < LEAST_STRING_BYTES ||
      at->bytes < LEAST_COPIES * at->end_bytes)
    return true;
  return give(a,
              (lh_advice){LH_ADVICE_CONCAT, at->stack, at->times, at->ends, at->most, at->bytes});
}

static bool advise_in_order(adviser *a, lh_error *error, int *code) {
  const lh_profile_info *about = lh_profile_about(a->usage->profile);
  watcher w = {.sites = lh_profile_sites(a->usage->profile)};
  if (about->is_aggregate || about->sample_bytes > 0) return true;
  w.of_site = lh_alloc_zeroed((size_t)lh_n_sites(w.sites) + 1, sizeof *w.of_site);
  if (w.of_site) *code = lh_profile_replay(a->usage->profile, see, &w, error);
  bool fine = w.of_site && !w.failed;
  for (size_t i = 0; fine && i < w.n; i++)
    fine = w.watches[i].kind == LH_ADVICE_SIZE ? advise_size(a, &w.watches[i])
                                               : advise_concat(a, &w.watches[i]);
  LH_FREE_ALL(w.of_site, w.watches);
  return fine;
}

static bool advise_for_moments(adviser *a, const lh_usage_group *groups, size_t n) {
  bool fine = true;
  for (size_t i = 0; fine && i < n; i++) {
    const lh_usage_group *g = &groups[i];
    lh_maker maker = g->site->maker;
    if ((maker != LH_MADE_CLOSURE && maker != LH_MADE_TABLE) || g->objects < LEAST_OBJECTS ||
        (double)g->soon_bytes < MOST_ARE_DEAD * (double)g->allocated_bytes)
      continue;
    fine = give(a, (lh_advice){maker == LH_MADE_TABLE ? LH_ADVICE_TABLE : LH_ADVICE_FUNCTION,
                               g->stack, g->objects, 0, 0, g->allocated_bytes});
  }
  return fine;
}

static int compare_advice(const void *a, const void *b) {
  const lh_advice *left = a, *right = b;
  return LH_MORE(left->bytes, right->bytes) ?: LH_LESS(left->stack, right->stack);
}

int lh_find_advice(const lh_usage *usage, lh_advice **out, size_t *n, lh_error *error) {
  adviser a = {.usage = usage};
  lh_usage_group *groups;
  size_t n_groups;
  a.least_bytes = usage->totals.all.allocated_bytes / LEAST_PART;
  *out = NULL;
  *n = 0;
  int code = lh_usage_groups(usage, LH_BY_SITE, LH_MOST_ALLOCATED, &groups, &n_groups, error);
  if (code != LH_OK) return code;
  bool fine = advise_for_moments(&a, groups, n_groups) && advise_in_order(&a, error, &code);
  lh_free(groups);
  if (fine && code == LH_OK) {
    if (a.n > 0) qsort(a.list, a.n, sizeof *a.list, compare_advice);
    *out = a.list;
    *n = a.n;
    return LH_OK;
  }
  lh_free(a.list);
  return code != LH_OK ? code : lh_fail_memory(error, "looking for what could be allocated less");
}
