/*
** usage.c - amounts by stack and type, from a profile's events or an aggregate's counts.
**
** One replay counts. An earlier one finds the peak, if wanted, so that amounts are copied once. An
** event tells the age of its block. So the interval begins and ends between two units of births (4
** KB of allocation), and each block is in it or not.
*/
#include "usage.h"

#include "name/text.h"

enum { CLOCK_SHIFT = 12 };

/* ==== Amounts ======================================================================== */

double lh_allocated_bytes(const lh_amounts *amounts) {
  return amounts->made_bytes + amounts->resized_bytes;
}

/* At least 0: unattributed frees may include blocks from before tracking. */
static double live_bytes(const lh_amounts *amounts) {
  double bytes = lh_allocated_bytes(amounts) - amounts->replaced_bytes - amounts->freed_bytes;
  return bytes > 0 ? bytes : 0;
}

double lh_live_blocks(const lh_amounts *amounts) {
  double blocks = amounts->made + amounts->resized - amounts->replaced - amounts->freed;
  return blocks > 0 ? blocks : 0;
}

/* Newton's method: the module does not link libm. */
static double root_of(double square) {
  double root = square > 1 ? square : 1;
  for (double next = (root + square / root) / 2; next < root; next = (root + square / root) / 2)
    root = next;
  return root;
}

static double error_bytes(const lh_amounts *amounts) {
  return amounts->variance > 0 ? 1.96 * root_of(amounts->variance) : 0;
}

/* The class of an age: the first i with age <= 4 KB << i, or the last. */
static unsigned age_class(uint64_t age_bytes) {
  unsigned i = 0;
  while (i < LH_PROFILE_AGES - 1 && age_bytes > (uint64_t)4096 << i) i++;
  return i;
}

static double freed_by_age(const lh_amounts *amounts, uint64_t age_bytes) {
  unsigned last = age_class(age_bytes);
  double bytes = 0;
  for (unsigned i = 0; amounts->deaths && i <= last; i++) bytes += amounts->deaths[i];
  return bytes;
}

static uint64_t age_of_part(const lh_amounts *amounts, double part) {
  double bytes = 0;
  if (amounts->freed_bytes <= 0) return 0;
  for (unsigned i = 0; i < LH_PROFILE_AGES - 1; i++) {
    if (amounts->deaths) bytes += amounts->deaths[i];
    if (bytes >= part * amounts->freed_bytes) return (uint64_t)4096 << i;
  }
  return UINT64_MAX;
}

double lh_ordered_bytes(const lh_usage *usage, lh_usage_order order, const lh_amounts *amounts) {
  switch (order) {
    case LH_MOST_LIVE: return live_bytes(amounts);
    case LH_MOST_AT_PEAK: return amounts->peak_bytes;
    case LH_MOST_SOON_DEAD: return freed_by_age(amounts, lh_first_collection_bytes(usage));
    default: return lh_allocated_bytes(amounts);
  }
}

static uint64_t whole(double n) {
  return n > 0 ? (uint64_t)(n + 0.5) : 0;
}

lh_usage_group lh_rounded_amounts(const lh_usage *usage, const lh_amounts *c) {
  return (lh_usage_group){.allocated_bytes = whole(lh_allocated_bytes(c)),
                          .error_bytes = whole(error_bytes(c)),
                          .allocations = whole(c->made),
                          .objects = whole(c->objects),
                          .resizes = whole(c->resized),
                          .freed_bytes = whole(c->freed_bytes),
                          .freed = whole(c->freed),
                          .live_bytes = whole(live_bytes(c)),
                          .live = whole(lh_live_blocks(c)),
                          .mean_age_bytes = c->freed > 0 ? whole(c->ages_bytes / c->freed) : 0,
                          .most_age_bytes = age_of_part(c, 0.9),
                          .soon_bytes = whole(freed_by_age(c, lh_first_collection_bytes(usage))),
                          .peak_bytes = whole(c->peak_bytes),
                          .samples = whole(c->samples)};
}

/* All fields before deaths are doubles. */
void lh_add_amounts(lh_amounts *to, const lh_amounts *from) {
  double *sum = (double *)to;
  const double *more = (const double *)from;
  for (size_t i = 0; i < offsetof(lh_amounts, deaths) / sizeof *sum; i++) sum[i] += more[i];
}

void lh_add_deaths(double *to, const lh_amounts *from) {
  for (size_t i = 0; from->deaths && i < LH_PROFILE_AGES; i++) to[i] += from->deaths[i];
}

double *lh_ages_at(lh_death_ages *ages, uint32_t *number) {
  const size_t bytes = LH_PROFILE_AGES * sizeof *ages->list;
  if (*number == 0) {
    if (!lh_grow(&ages->list, ages->n, &ages->capacity, bytes)) return NULL;
    memset(ages->list + ages->n * LH_PROFILE_AGES, 0, bytes);
    *number = (uint32_t)++ages->n;
  }
  return ages->list + (size_t)(*number - 1) * LH_PROFILE_AGES;
}

/* ==== Rows =========================================================================== */

static lh_usage_row *usage_row_of(lh_usage *usage, lh_stack_id stack, uint8_t type) {
  uint32_t *first = &usage->first[stack <= usage->n_stacks ? stack : 0];
  for (uint32_t at = *first; at != 0; at = usage->rows[at - 1].next)
    if (usage->rows[at - 1].type == type) return &usage->rows[at - 1];
  if (!lh_grow(&usage->rows, usage->n, &usage->capacity, sizeof *usage->rows)) return NULL;
  lh_usage_row *row = &usage->rows[usage->n++];
  *row =
      (lh_usage_row){.stack = stack <= usage->n_stacks ? stack : 0, .type = type, .next = *first};
  *first = (uint32_t)usage->n;
  return row;
}

static void add_sample(lh_amounts *c, const lh_event *event) {
  double bytes = (double)event->bytes;
  c->samples += 1;
  c->variance += event->weight * (event->weight - 1) * bytes * bytes;
}

static void add_made(lh_amounts *c, const lh_event *event) {
  if (event->type != LH_EVENT_PART) c->objects += event->weight;
  c->made += event->weight;
  c->made_bytes += event->weight * (double)event->bytes;
  add_sample(c, event);
}

static void add_resized(lh_amounts *c, const lh_event *event) {
  c->resized += event->weight;
  c->resized_bytes += event->weight * (double)event->bytes;
  add_sample(c, event);
}

static void add_replaced(lh_amounts *c, const lh_event *event) {
  c->replaced += event->weight;
  c->replaced_bytes += event->weight * (double)event->old_bytes;
}

/* Resizing an older block allocates, but does not put the block into the interval. */
static void add_older(lh_amounts *c, const lh_event *event) {
  c->replaced += event->weight;
  c->replaced_bytes += event->weight * (double)event->bytes;
}

static void add_freed(lh_amounts *c, const lh_event *event) {
  c->freed += event->weight;
  c->freed_bytes += event->weight * (double)event->old_bytes;
  c->ages_bytes += event->weight * (double)event->age_bytes;
}

/* ==== The interval =================================================================== */

typedef struct window {
  const lh_usage_query *query;
  uint64_t duration_ns;
  uint64_t clock;        /* bytes allocated since tracking began */
  uint64_t since, until; /* births, in units of the clock */
  bool has_begun, has_ended;
  double heap_bytes;
  uint64_t events; /* number of events so far */
} window;

static window window_of(const lh_usage *usage) {
  const lh_profile_info *about = lh_profile_about(usage->profile);
  const lh_moment *since = &usage->query.since, *until = &usage->query.until;
  return (window){.query = &usage->query,
                  .duration_ns = about->duration_ns,
                  .has_begun = since->unit == LH_MOMENT_OPEN || since->n == 0,
                  .has_ended = until->unit != LH_MOMENT_OPEN && until->n == 0,
                  .until = UINT64_MAX,
                  .heap_bytes = (double)about->start_bytes};
}

static bool has_come(const window *w, const lh_moment *moment, const lh_event *event) {
  switch (moment->unit) {
    case LH_MOMENT_TIME: return event->time_ns >= moment->n;
    case LH_MOMENT_BYTES: return w->clock >= moment->n;
    case LH_MOMENT_SHARE:
      return (double)event->time_ns * LH_WHOLE_DURATION >=
             (double)w->duration_ns * (double)moment->n;
    default: return false;
  }
}

/* Begins and ends the interval where the unit of births changes. */
static void move_on(window *w, const lh_event *event) {
  uint64_t before = w->clock >> CLOCK_SHIFT;
  w->events++;
  double bytes = event->kind == LH_EVENT_FREE ? 0 : event->weight * (double)event->bytes;
  double old_bytes = event->weight * (double)event->old_bytes;
  w->heap_bytes += bytes - old_bytes;
  w->clock += (uint64_t)bytes;
  uint64_t now = w->clock >> CLOCK_SHIFT;
  if (now == before) return;
  if (!w->has_begun && has_come(w, &w->query->since, event)) {
    w->has_begun = true;
    w->since = now;
  }
  if (!w->has_ended && w->query->until.unit != LH_MOMENT_OPEN &&
      has_come(w, &w->query->until, event)) {
    w->has_ended = true;
    w->until = now;
  }
}

static bool was_born_in(const window *w, const lh_event *event) {
  uint64_t now = w->clock >> CLOCK_SHIFT, age = event->age_bytes >> CLOCK_SHIFT;
  uint64_t birth = age <= now ? now - age : 0;
  return w->since <= birth && birth < w->until;
}

/* ==== The peak ======================================================================= */

typedef struct peak_finder {
  window window;
  double bytes;    /* the most so far */
  uint64_t events; /* number of events before it */
  uint64_t time_ns;
} peak_finder;

static bool find_peak(const lh_event *event, void *data) {
  peak_finder *p = data;
  const window *w = &p->window;
  move_on(&p->window, event);
  if (w->has_ended) return false;
  if (!w->has_begun || w->heap_bytes <= p->bytes) return true;
  p->bytes = w->heap_bytes;
  p->events = w->events;
  p->time_ns = event->time_ns;
  return true;
}

/* ==== Counting ======================================================================= */

typedef struct counter {
  window window;
  lh_usage *usage;
  uint64_t peak_events; /* the peak is after this event; 0: not wanted */
  double heap_by_bytes; /* heap size times allocated bytes, summed: for the mean heap */
  double allocated_bytes;
  bool failed;
} counter;

typedef void add_event(lh_amounts *amounts, const lh_event *event);

static void add_event_to(counter *c, lh_stack_id stack, const lh_event *event, add_event *adds) {
  lh_usage_row *row = usage_row_of(c->usage, stack, event->type);
  c->failed |= !row;
  if (row) adds(&row->amounts, event);
  if (!row || adds != add_freed) return;
  double *deaths = lh_ages_at(&c->usage->ages, &row->ages);
  c->failed |= !deaths;
  if (!deaths) return;
  deaths[age_class(event->age_bytes)] += event->weight * (double)event->old_bytes;
}

static void count_allocated(counter *c, const lh_event *event) {
  double bytes = event->weight * (double)event->bytes;
  c->heap_by_bytes += c->window.heap_bytes * bytes;
  c->allocated_bytes += bytes;
  add_event_to(c, event->stack, event, event->kind == LH_EVENT_NEW ? add_made : add_resized);
}

/* A RESIZE or FREE of a block born in the interval. A resized block keeps its age. */
static void count_watched(counter *c, const lh_event *event) {
  bool is_resized = event->kind == LH_EVENT_RESIZE;
  if (is_resized) count_allocated(c, event);
  add_event_to(c, event->old_stack, event, is_resized ? add_replaced : add_freed);
}

/* A RESIZE or FREE of an older block. */
static void count_older(counter *c, const lh_event *event) {
  lh_usage_totals *totals = &c->usage->totals;
  if (event->kind == LH_EVENT_RESIZE && !c->window.has_ended) {
    count_allocated(c, event);
    add_event_to(c, event->stack, event, add_older);
  } else if (event->kind == LH_EVENT_FREE && event->old_stack == 0) {
    totals->old_freed_bytes += event->old_bytes;
  }
}

static void keep_peak(lh_usage *usage) {
  for (size_t i = 0; i < usage->n; i++)
    usage->rows[i].amounts.peak_bytes = live_bytes(&usage->rows[i].amounts);
}

static void note_moments(counter *c, const lh_event *event, bool had_begun, bool had_ended) {
  const window *w = &c->window;
  lh_usage_totals *totals = &c->usage->totals;
  if (w->has_begun && !had_begun) totals->since_ns = event->time_ns;
  if (w->has_ended && !had_ended) totals->until_ns = event->time_ns;
  if (w->has_ended && !w->query->to_the_end) return;
  totals->heap_bytes = w->heap_bytes > 0 ? (uint64_t)w->heap_bytes : 0;
}

static bool count_event(const lh_event *event, void *data) {
  counter *c = data;
  window *w = &c->window;
  bool had_begun = w->has_begun, had_ended = w->has_ended;
  move_on(w, event);
  note_moments(c, event, had_begun, had_ended);
  if (w->has_ended && !w->query->to_the_end) return false;
  if (!w->has_begun) return true;
  if (event->kind == LH_EVENT_NEW) {
    if (!w->has_ended) count_allocated(c, event);
  } else if (event->old_stack != 0 && was_born_in(w, event)) {
    count_watched(c, event);
  } else {
    count_older(c, event);
  }
  if (w->events == c->peak_events) keep_peak(c->usage);
  return !c->failed;
}

static int replay(lh_usage *usage, lh_error *error) {
  counter c = {.window = window_of(usage), .usage = usage};
  peak_finder p = {.window = c.window};
  lh_usage_totals *totals = &usage->totals;
  int code = LH_OK;
  totals->until_ns = c.window.has_ended ? 0 : c.window.duration_ns;
  totals->heap_bytes = (uint64_t)c.window.heap_bytes;
  if (usage->query.peak) code = lh_profile_replay(usage->profile, find_peak, &p, error);
  c.peak_events = p.events;
  if (code == LH_OK) code = lh_profile_replay(usage->profile, count_event, &c, error);
  if (code == LH_OK && c.failed) code = lh_fail_memory(error, "counting what was allocated");
  if (!c.window.has_begun) totals->since_ns = c.window.duration_ns;
  usage->is_begun = c.window.has_begun || c.window.has_ended;
  usage->clock_bytes = c.window.clock;
  usage->begin_bytes = c.window.since << CLOCK_SHIFT;
  usage->end_bytes = c.window.has_ended ? c.window.until << CLOCK_SHIFT : c.window.clock;
  totals->peak_bytes = (uint64_t)p.bytes;
  totals->peak_ns = p.time_ns;
  totals->mean_heap_bytes =
      c.allocated_bytes > 0 ? (uint64_t)(c.heap_by_bytes / c.allocated_bytes) : totals->heap_bytes;
  return code;
}

/* ==== Aggregates ===================================================================== */

static double middle_of(unsigned number) {
  return number == 0 ? 2048 : (double)((uint64_t)3072 << number);
}

static lh_amounts counts_in(const lh_profile_count *from, double deaths[LH_PROFILE_AGES]) {
  bool any = false;
  lh_amounts c = {.objects = from->type == LH_EVENT_PART ? 0 : (double)from->made,
                  .made = (double)from->made,
                  .made_bytes = (double)from->made_bytes,
                  .resized = (double)from->resized,
                  .resized_bytes = (double)from->resized_bytes,
                  .replaced = (double)from->replaced,
                  .replaced_bytes = (double)from->replaced_bytes,
                  .freed = (double)from->freed,
                  .freed_bytes = (double)from->freed_bytes,
                  .peak_bytes = (double)from->live_bytes_at_peak,
                  .samples = (double)from->samples};
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) {
    deaths[i] = (double)from->death_bytes[i];
    any |= from->death_bytes[i] > 0;
    c.ages_bytes += (double)from->deaths[i] * middle_of(i);
  }
  if (any) c.deaths = deaths;
  return c;
}

static bool add_counts(lh_usage *usage, const lh_profile_count *from, const lh_amounts *amounts) {
  lh_usage_row *row = usage_row_of(usage, from->stack, from->type);
  if (!row) return false;
  lh_add_amounts(&row->amounts, amounts);
  if (!amounts->deaths) return true;
  double *deaths = lh_ages_at(&usage->ages, &row->ages);
  if (deaths) lh_add_deaths(deaths, amounts);
  return deaths;
}

/* An aggregate has only the counts at its end. The heap then stands for the mean heap, too. */
static int take_counts(lh_usage *usage, lh_error *error) {
  const lh_profile_info *about = lh_profile_about(usage->profile);
  lh_usage_totals *totals = &usage->totals;
  size_t n;
  const lh_profile_count *from = lh_profile_counts(usage->profile, &n);
  double live = 0;
  if (usage->query.since.unit != LH_MOMENT_OPEN || usage->query.until.unit != LH_MOMENT_OPEN)
    return lh_fail(error, LH_EARGUMENT,
                   "the profile has counts and no events (aggregate), so it knows no moments");
  for (size_t i = 0; i < n; i++) {
    double deaths[LH_PROFILE_AGES];
    lh_amounts amounts = counts_in(&from[i], deaths);
    if (!add_counts(usage, &from[i], &amounts))
      return lh_fail_memory(error, "reading the counts of a profile");
    if (from[i].stack == 0) continue;
    live += live_bytes(&amounts);
    totals->peak_bytes += from[i].live_bytes_at_peak;
  }
  totals->until_ns = about->duration_ns;
  totals->mean_heap_bytes = totals->heap_bytes = about->start_bytes + (uint64_t)live;
  totals->peak_bytes += about->start_bytes;
  return LH_OK;
}

static bool is_unattributed(const lh_sites *sites, lh_stack_id stack) {
  return lh_site_of_stack(sites, stack)->maker == LH_MADE_UNKNOWN;
}

/* Returns unused capacity. No rows are added later, so deaths can point into the ages. */
static void finish_rows(lh_usage *usage) {
  (void)lh_fit(&usage->rows, usage->n, &usage->capacity, sizeof *usage->rows);
  for (size_t i = 0; i < usage->n; i++) {
    lh_usage_row *row = &usage->rows[i];
    if (row->ages > 0) row->amounts.deaths = lh_ages_at(&usage->ages, &row->ages);
  }
}

static void sum_rows(lh_usage *usage) {
  const lh_sites *sites = lh_profile_sites(usage->profile);
  lh_usage_totals *totals = &usage->totals;
  double unattributed = 0, deaths[LH_PROFILE_AGES] = {0};
  lh_amounts all = {.deaths = deaths};
  for (size_t i = 0; i < usage->n; i++) {
    const lh_usage_row *row = &usage->rows[i];
    lh_add_amounts(&all, &row->amounts);
    lh_add_deaths(deaths, &row->amounts);
    if (is_unattributed(sites, row->stack)) unattributed += lh_allocated_bytes(&row->amounts);
  }
  totals->unattributed_bytes = (uint64_t)unattributed;
  totals->all = lh_rounded_amounts(usage, &all);
}

int lh_usage_new(lh_usage **out, lh_profile *profile, const lh_usage_query *query,
                 lh_error *error) {
  uint32_t n_stacks = lh_n_stacks(lh_profile_sites(profile));
  lh_usage *usage = *out = lh_alloc_zeroed(1, sizeof *usage);
  if (usage) usage->first = lh_alloc_zeroed((size_t)n_stacks + 1, sizeof *usage->first);
  int code = usage && usage->first ? LH_OK : lh_fail_memory(error, "counting what was allocated");
  if (code == LH_OK) {
    usage->profile = profile;
    usage->query = *query;
    usage->n_stacks = n_stacks;
    code = (lh_profile_about(profile)->is_aggregate ? take_counts : replay)(usage, error);
  }
  if (code == LH_OK) {
    finish_rows(usage);
    sum_rows(usage);
    return LH_OK;
  }
  lh_usage_free(usage);
  *out = NULL;
  return code;
}

void lh_usage_free(lh_usage *usage) {
  if (!usage) return;
  LH_FREE_ALL(usage->first, usage->rows, usage->ages.list, usage);
}

/* ==== Is anything in the interval? ================================================== */

static bool is_of_time(const lh_moment *moment) {
  return moment->unit == LH_MOMENT_TIME || moment->unit == LH_MOMENT_SHARE;
}

/* In nanoseconds or bytes. */
static double place_of(const lh_moment *moment, double duration_ns) {
  bool is_share = moment->unit == LH_MOMENT_SHARE;
  return is_share ? duration_ns * (double)moment->n / LH_WHOLE_DURATION : (double)moment->n;
}

static lh_number place_text(bool is_time, double place) {
  return is_time ? lh_duration_text((uint64_t)place) : lh_size_text((uint64_t)place, false);
}

int lh_usage_check_interval(const lh_usage *usage, lh_error *error) {
  const lh_moment *since = &usage->query.since, *until = &usage->query.until;
  double duration_ns = (double)lh_profile_about(usage->profile)->duration_ns;
  bool is_time = is_of_time(since), is_like = is_time == is_of_time(until);
  double begin = place_of(since, duration_ns), end = place_of(until, duration_ns);
  double whole = is_time ? duration_ns : (double)usage->clock_bytes;
  if (until->unit != LH_MOMENT_OPEN && (until->n == 0 || (is_like && end <= begin)))
    return lh_fail(error, LH_EARGUMENT, "the interval ends at %s, which is not after its beginning",
                   place_text(is_of_time(until), end).text);
  if (since->unit == LH_MOMENT_OPEN || usage->is_begun || begin < whole) return LH_OK;
  return lh_fail(error, LH_EARGUMENT, "the interval begins at %s, and the profile ends at %s",
                 place_text(is_time, begin).text, place_text(is_time, whole).text);
}

/* Garbage is freed after at most as many allocated bytes as the heap had at the end (twice what the
** collector needs). Counts until then are settled. */
bool lh_usage_is_unsettled(const lh_usage *usage, uint64_t *until_bytes) {
  uint64_t clock = usage->clock_bytes, lag = usage->totals.heap_bytes;
  uint64_t settled = clock > lag ? clock - lag : 0;
  *until_bytes = settled > usage->begin_bytes + ((uint64_t)1 << CLOCK_SHIFT) ? settled : 0;
  return settled < usage->end_bytes;
}

int lh_usage_unsettled(const lh_usage *usage, uint64_t *bytes, lh_error *error) {
  lh_usage_query query = usage->query;
  uint64_t until;
  lh_usage *settled;
  *bytes = lh_usage_is_unsettled(usage, &until) ? usage->totals.all.live_bytes : 0;
  if (*bytes == 0 || until == 0) return LH_OK;
  query.until = (lh_moment){LH_MOMENT_BYTES, until};
  int code = lh_usage_new(&settled, usage->profile, &query, error);
  if (code != LH_OK) return code;
  uint64_t sure = settled->totals.all.live_bytes;
  *bytes -= sure < *bytes ? sure : *bytes;
  lh_usage_free(settled);
  return LH_OK;
}

lh_profile *lh_usage_profile(const lh_usage *usage) {
  return usage->profile;
}

const lh_usage_query *lh_usage_get_query(const lh_usage *usage) {
  return &usage->query;
}

const lh_usage_totals *lh_usage_total(const lh_usage *usage) {
  return &usage->totals;
}

uint64_t lh_first_collection_bytes(const lh_usage *usage) {
  return usage->totals.mean_heap_bytes / 2;
}
