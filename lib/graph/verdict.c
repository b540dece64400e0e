/*
** verdict.c - judges whether a collection grows, may grow, is bounded or was filled once.
**
** From one snapshot: by the ages of its objects and by a nearby limit. From several: by the changes
** of a figure. A collection was filled once if no element is younger than the first mark, or if
** chance would give it younger elements, but it has none. All reports use these verdicts.
*/
#include "graph.h"

/* ==== One snapshot: was it filled once? ============================================== */

/* If 4 elements are expected by chance, having none has the probability e^-4 = 0.02. */
#define EXPECTED 4.0
#define LEAST_YOUNGER 0.05

/* For a table much older than its elements: filled late, and perhaps again. A large one is always
** reported. */
#define EXPECTED_LATER 8.0
#define LEAST_YOUNGER_LATER 0.25
#define LARGE_SHARE 0.1

bool lh_was_filled_once(const lh_snapshot *snapshot, const lh_filling *f) {
  double aged = (double)f->aged;
  /* What has many references to a few old objects may have more of these references since. */
  bool all_are_older = f->by_marks && 2 * f->aged >= f->elements;
  if (f->since_first_mark == 0 && (all_are_older || aged * f->heap_since_first_mark >= EXPECTED))
    return true;
  if (f->in_one_go) return f->younger >= LEAST_YOUNGER && aged * f->younger >= EXPECTED;
  return f->younger >= LEAST_YOUNGER_LATER && aged * f->younger >= EXPECTED_LATER &&
         (double)f->bytes < LARGE_SHARE * (double)snapshot->reach.reachable_bytes;
}

/* ==== One snapshot: does it grow? =================================================== */

/* Half of the intervals since the first mark. */
typedef struct half {
  unsigned n;
  double seconds, objects; /* of the whole heap */
  double here;             /* of the collection */
} half;

typedef struct spread {
  half older, younger;
  unsigned n, n_empty;  /* intervals counted; these without objects of the collection */
  uint64_t all, before; /* in all spans; before the first mark */
  unsigned first;       /* the first span since then with objects of the collection */
  bool goes_on;         /* the last interval has some */
} spread;

/* An interval of which the whole heap has no object counts only if `with_gone`. */
static spread spread_of(const lh_history *history, const uint64_t *ages, bool with_gone) {
  spread s = {.all = ages[0], .before = ages[0], .first = history->n};
  for (unsigned i = 1; i < history->n; i++) s.n += with_gone || history->objects[i] > 0;
  for (unsigned i = 1; i < history->n; i++) {
    if (history->objects[i] == 0 && !with_gone) continue;
    half *to = s.older.n < s.n / 2 ? &s.older : &s.younger;
    to->n++;
    to->seconds += history->seconds[i];
    to->objects += (double)history->objects[i];
    to->here += (double)ages[i];
    s.all += ages[i];
    s.n_empty += ages[i] == 0;
    if (ages[i] > 0 && s.first == history->n) s.first = i;
    s.goes_on = ages[i] > 0;
  }
  return s;
}

static double an_interval(const half *of) {
  return of->here / of->n;
}

static bool is_more(const half *more, const half *less) {
  return an_interval(more) >= 4 * an_interval(less) &&
         more->here * less->seconds >= 4 * less->here * more->seconds;
}

/* Are there three intervals or more, each with at most two thirds of the objects of the one before?
*/
static bool falls_off_by_ages(const lh_history *history, const uint64_t *ages) {
  unsigned n = 0;
  uint64_t last = 0;
  for (unsigned i = 1; i < history->n; i++) {
    if (history->objects[i] == 0) continue;
    if (n > 0 && 3 * ages[i] > 2 * last) return false;
    last = ages[i];
    n++;
  }
  return n > 2;
}

/* If the whole heap has as many more objects in the older half, the program only did less later.
** Much of the heap may be the collection with its parts: if each interval brought less than the one
** before, half of the difference tells. */
static bool has_filled_up(const lh_history *history, const uint64_t *ages, const spread *s) {
  double times = falls_off_by_ages(history, ages) ? 2 : 4;
  return is_more(&s->older, &s->younger) && s->before > 0 &&
         s->older.here * s->younger.objects >= times * s->younger.here * s->older.objects;
}

/* The two halves may differ by two fifths (chance or work), or by the square root of the count. */
static bool is_alike(const half *more, const half *less) {
  double excess = an_interval(more) - 1.4 * an_interval(less);
  return excess <= 0 || excess * excess * more->n * more->n <= more->here;
}

static bool is_steady(const spread *s) {
  bool always = s->before > 0 ? 2 * s->n_empty <= s->n : s->n > 2 && s->n_empty == 0;
  return is_alike(&s->younger, &s->older) && is_alike(&s->older, &s->younger) && s->goes_on &&
         always && s->all - s->before >= LH_LEAST_AGED;
}

/* Did the holder exist before the interval of its oldest object? Then it dropped its earlier ones.
** Says nothing about tables that every program has, such as _G. */
static bool lets_go(const lh_snapshot *snapshot, const lh_history *history, const spread *s,
                    lh_id holder) {
  uint32_t n = lh_mark_count(snapshot);
  if (s->before > 0) return true;
  if (snapshot->kind[holder] & (LH_KIND_RUNTIME | LH_KIND_OWN)) return false;
  return lh_epoch(snapshot, holder) < 1 + (s->first - 1) * (n - 1) / (history->n - 1);
}

/* Is all of it from the younger half of all intervals, if the older half was no shorter than a
** quarter of that? */
static bool has_turned_over(const lh_history *history, const uint64_t *ages) {
  spread s = spread_of(history, ages, true);
  return s.n >= 2 && s.before == 0 && s.older.here == 0 && s.older.seconds > 0 &&
         4 * s.older.seconds >= s.younger.seconds;
}

static bool is_judged_by_ages(const lh_history *history, const spread *s) {
  return history->by_marks && s->all >= LH_LEAST_AGED && s->all != s->before;
}

static lh_prospect judge_ages(const lh_history *history, const uint64_t *ages, const spread *s,
                              bool may_be_young) {
  bool has_halves = s->n >= 2;
  bool turned_over = may_be_young && has_turned_over(history, ages);
  if (has_halves && is_steady(s)) return turned_over ? LH_MAY_GROW : LH_GROWS;
  if (turned_over) return LH_BOUNDED;
  if (has_halves && may_be_young && is_more(&s->younger, &s->older)) return LH_BOUNDED;
  return has_halves && has_filled_up(history, ages, s) ? LH_BOUNDED : LH_MAY_GROW;
}

lh_prospect lh_prospect_of_ages(const lh_snapshot *snapshot, const lh_history *history,
                                const uint64_t ages[LH_SPANS], lh_id holder) {
  spread s = spread_of(history, ages, false);
  if (!is_judged_by_ages(history, &s)) return LH_MAY_GROW;
  return judge_ages(history, ages, &s, lets_go(snapshot, history, &s, holder));
}

bool lh_holder_is_too_young(const lh_snapshot *snapshot, const lh_history *history,
                            const uint64_t ages[LH_SPANS], lh_id holder) {
  spread s = spread_of(history, ages, false);
  return is_judged_by_ages(history, &s) && !lets_go(snapshot, history, &s, holder) &&
         judge_ages(history, ages, &s, false) == LH_MAY_GROW &&
         judge_ages(history, ages, &s, true) == LH_BOUNDED;
}

lh_prospect lh_prospect_within(lh_prospect prospect, const lh_bound *bound) {
  if (bound->is_far) return prospect == LH_GROWS ? LH_MAY_GROW : prospect;
  bool is_within = bound->limit > 0 && (bound->is_sure || prospect != LH_GROWS);
  return is_within && prospect != LH_FILLED_ONCE ? LH_BOUNDED : prospect;
}

lh_prospect lh_prospect_of_place(const lh_snapshot *snapshot, const lh_history *history,
                                 const uint64_t ages[LH_SPANS], lh_id holder, bool are_strings,
                                 const lh_bound *bound) {
  lh_prospect prospect = lh_prospect_of_ages(snapshot, history, ages, holder);
  /* Equal short strings are one object, which may be older than its place. */
  if (are_strings && prospect == LH_GROWS) prospect = LH_MAY_GROW;
  return lh_prospect_within(prospect, bound);
}

/* ==== Several snapshots ============================================================= */

enum { TENTH = 10, MOST_PARTS = 3 };

typedef struct moves {
  uint64_t up, down;
} moves;

static moves moves_of(const uint64_t *figures, size_t first, size_t last) {
  moves m = {0, 0};
  for (size_t i = first; i < last; i++) {
    if (figures[i + 1] > figures[i])
      m.up += figures[i + 1] - figures[i];
    else
      m.down += figures[i] - figures[i + 1];
  }
  return m;
}

static bool is_little(uint64_t x, uint64_t y) {
  return x <= y / TENTH;
}

/* The parts of the time after the first step: thirds, or fewer single steps; or the last three
** steps. */
typedef struct parts {
  const uint64_t *figures;
  size_t n, ends[MOST_PARTS + 1]; /* snapshots between the parts */
} parts;

static parts thirds_of(const uint64_t *figures, size_t n) {
  size_t n_steps = n > 2 ? n - 2 : 0;
  parts p = {figures, n_steps < MOST_PARTS ? n_steps : MOST_PARTS, {0}};
  for (size_t i = 0; p.n > 0 && i <= p.n; i++) p.ends[i] = 1 + i * n_steps / p.n;
  return p;
}

static parts last_steps_of(const uint64_t *figures, size_t n) {
  parts p = {figures, MOST_PARTS, {0}};
  for (size_t i = 0; i <= MOST_PARTS; i++) p.ends[i] = n - 1 - MOST_PARTS + i;
  return p;
}

static bool grew_in_each(const parts *p) {
  for (size_t i = 0; i < p->n; i++)
    if (p->figures[p->ends[i]] >= p->figures[p->ends[i + 1]]) return false;
  return p->n > 0;
}

typedef struct rate {
  double change, steps;
} rate;

static rate rate_in(const parts *p, size_t part) {
  size_t from = p->ends[part], to = p->ends[part + 1];
  return (rate){(double)p->figures[to] - (double)p->figures[from], (double)(to - from)};
}

/* Before the first part is the first step of the series, in which the program warms up. */
static rate rate_before(const parts *p, size_t part) {
  if (part > 0) return rate_in(p, part - 1);
  return (rate){(double)p->figures[1] - (double)p->figures[0], 1};
}

/* Is x at most part/whole of y? Without a division, so that equal rates are equal. */
static bool is_at_most(rate x, rate y, double part, double whole) {
  return whole * x.change * y.steps <= part * y.change * x.steps;
}

/* Is each of the last three rates at most two thirds of the one before? */
static bool falls_off(const parts *p) {
  bool falls = p->n > 1;
  for (size_t i = p->n; falls && i-- > p->n - 2;)
    falls = is_at_most(rate_in(p, i), rate_before(p, i), 2, 3);
  return falls;
}

/* Of random counts at a constant rate, 2 of 100 fall short by more than twice their root. */
static bool slows_down(const parts *p) {
  size_t n_before = p->n - 1;
  rate last = rate_in(p, n_before), most = n_before > 0 ? rate_in(p, 0) : rate_before(p, 0);
  for (size_t i = 1; i < n_before; i++)
    if (!is_at_most(rate_in(p, i), most, 1, 1)) most = rate_in(p, i);
  if (!is_at_most(last, most, 1, 3) && !falls_off(p)) return false;
  double expected = most.change * last.steps; /* both times the steps of `most` */
  double missing = expected - last.change * most.steps;
  return missing > 0 && missing * missing > 4 * expected * most.steps;
}

/* A fall in the first step, of at most a tenth, that the later growth hardly makes good is
** noise. */
static bool only_recovers(const uint64_t *figures, const moves *later) {
  if (figures[0] <= figures[1]) return false;
  uint64_t fall = figures[0] - figures[1];
  return is_little(fall, figures[0]) && later->up < 2 * fall;
}

/* The parts in which the figure grows; none if it does not grow in each of them. */
static parts growing_parts(const uint64_t *figures, size_t n) {
  parts p = thirds_of(figures, n);
  moves m = moves_of(figures, 1, n - 1);
  bool grows = is_little(m.down, m.up) && (p.n > 1 || figures[0] < figures[1]) &&
               !only_recovers(figures, &m);
  parts last = p.n == MOST_PARTS ? last_steps_of(figures, n) : p;
  if (grows && grew_in_each(&p)) return p;
  if (!grows || !grew_in_each(&last)) last.n = 0;
  return last;
}

double lh_rate_of(const uint64_t *figures, size_t n) {
  parts p = growing_parts(figures, n);
  if (p.n == 0) return 0;
  rate last = rate_in(&p, p.n - 1), before = rate_before(&p, p.n - 1);
  rate least = is_at_most(last, before, 1, 1) ? last : before;
  return least.change / least.steps;
}

lh_verdict lh_verdict_of(const uint64_t *figures, size_t n) {
  if (n < 2) return LH_LEVEL;
  moves m = moves_of(figures, 0, n - 1);
  if (m.up == 0 && m.down == 0) return LH_LEVEL;
  parts p = growing_parts(figures, n);
  if (p.n > 0) return slows_down(&p) ? LH_LEVELS_OFF : LH_GROWS_STEADILY;
  if (is_little(m.down, m.up)) return LH_GREW_ONCE;
  return is_little(m.up, m.down) ? LH_SHRINKS : LH_SAW_TOOTH;
}

lh_verdict lh_verdict_of_two(int64_t before, int64_t after) {
  if (before <= 0) return after > 0 ? LH_GROWS_NOW : LH_LEVEL;
  return after > 0 && !is_little((uint64_t)after, (uint64_t)before) ? LH_STILL_GROWS
                                                                    : LH_NO_LONGER_GROWS;
}

/* ==== The history of the heap ======================================================== */

static uint8_t span_of_epoch(uint32_t epoch, uint32_t n_marks, unsigned n_spans) {
  if (epoch == 0) return 0;
  if (epoch >= n_marks) epoch = n_marks - 1;
  return (uint8_t)(1 + (uint64_t)(epoch - 1) * (n_spans - 1) / (n_marks - 1));
}

/* An epoch is one range of each list. Garbage belongs to the first span. */
static void split_by_marks(const lh_snapshot *snapshot, unsigned n_spans, uint8_t *span_of) {
  uint32_t n = lh_mark_count(snapshot);
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++)
    for (uint32_t epoch = 0; epoch <= n; epoch++) {
      lh_id_range range = lh_epoch_range(snapshot, list, epoch);
      uint8_t span = span_of_epoch(epoch, n, n_spans);
      for (lh_id id = range.first; id < range.end; id++)
        span_of[id] = snapshot->distance[id] != LH_UNREACHED ? span : 0;
    }
}

/* Each list has the youngest first, and is divided separately. */
static void split_by_order(const lh_snapshot *snapshot, uint8_t *span_of) {
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    lh_id first = snapshot->list_first[list], end = snapshot->list_first[list + 1];
    uint64_t n = 0, younger = 0;
    for (lh_id id = first; id < end; id++) n += snapshot->distance[id] != LH_UNREACHED;
    unsigned part = 0; /* of LH_SPANS, the youngest first */
    for (lh_id id = first; id < end; id++) {
      if (snapshot->distance[id] == LH_UNREACHED) continue;
      while ((part + 1) * n <= younger * LH_SPANS) part++;
      span_of[id] = (uint8_t)(LH_SPANS - 1 - part);
      younger++;
    }
  }
}

/* An interval belongs to the span of the objects allocated in it. */
static void time_spans(const lh_snapshot *snapshot, lh_history *h) {
  uint32_t n = lh_mark_count(snapshot);
  for (uint32_t i = 0; i + 1 < n; i++) {
    uint64_t from = lh_mark_at(snapshot, i)->time_ns, to = lh_mark_at(snapshot, i + 1)->time_ns;
    h->seconds[span_of_epoch(i + 1, n, h->n)] += to > from ? (double)(to - from) / 1e9 : 0;
  }
}

static void count_spans(const lh_snapshot *snapshot, lh_history *h) {
  for (lh_id id = 1; id <= snapshot->n; id++)
    h->objects[h->span_of[id]] +=
        snapshot->distance[id] != LH_UNREACHED && !(snapshot->kind[id] & LH_KIND_OWN);
}

int lh_find_history(const lh_snapshot *snapshot, lh_history *out, lh_error *error) {
  uint32_t n = lh_mark_count(snapshot);
  *out = (lh_history){.by_marks = n >= 2, .n = n < 2 || n > LH_SPANS ? LH_SPANS : n};
  out->span_of = lh_alloc_zeroed((size_t)snapshot->n + 1, 1);
  if (!out->span_of) return lh_fail_memory(error, "telling ages");
  if (out->by_marks)
    split_by_marks(snapshot, out->n, out->span_of), time_spans(snapshot, out);
  else
    split_by_order(snapshot, out->span_of);
  count_spans(snapshot, out);
  return LH_OK;
}

void lh_history_free(lh_history *history) {
  lh_free(history->span_of);
}
