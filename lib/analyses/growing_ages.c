/*
** growing_ages.c - how old the elements of a collection are, and what that says: does it grow?
**
** The size of a collection says nothing: a program's constants are big, too. But objects tell their
** age, by the marks, and without any by the order of allocation. What was filled once has no
** element from after the first mark; or nothing was added while a good part of the heap was
** allocated. Where so many elements should be younger by chance alone, this is no chance. Of
** numbers nothing is known but what a constructor leaves: an array part without a slot to spare.
** 9 bytes an object.
*/
#include "analyses.h"

/* So many elements would be expected where there are none: e^-4 is 0.02. */
#define EXPECTED 4.0
#define LEAST_YOUNGER 0.05

/* Where the table itself is much older than its elements, these: it was filled late, and perhaps
** will be again. Then a large one is always told. */
#define EXPECTED_LATER 8.0
#define LEAST_YOUNGER_LATER 0.25
#define LARGE_SHARE 0.1

/* Counts objects that are reachable and not luaheap's. */
static uint64_t count_in(const lh_snapshot *snapshot, lh_id first, lh_id end) {
  uint64_t n = 0;
  for (lh_id id = first; id < end; id++)
    n += lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
  return n;
}

/* Of the objects of allgc, which come first, each counts those before it. */
static void order_by_age(lh_ages *a) {
  const lh_snapshot *snapshot = a->snapshot;
  const lh_id *first = snapshot->list_first;
  uint64_t n_before = 0;
  for (lh_id id = 1; id <= snapshot->n; id++) {
    a->younger[id] = a->n;
    a->n += id < first[LH_LIST_FINOBJ] && lh_is_reachable(snapshot, id) && !lh_is_own(snapshot, id);
  }
  for (lh_list list = LH_LIST_ALLGC; list <= LH_LIST_FINOBJ; list++) {
    lh_id_range before = lh_epoch_range(snapshot, list, 0);
    n_before += count_in(snapshot, before.first, before.end);
  }
  uint64_t n_aged = a->n + count_in(snapshot, first[LH_LIST_FINOBJ], first[LH_LIST_TOBEFNZ]);
  uint64_t n = n_aged + count_in(snapshot, first[LH_LIST_TOBEFNZ], snapshot->n + 1);
  a->since_first_mark = n > 0 ? (double)(n_aged - n_before) / (double)n : 0;
}

bool lh_ages_make(lh_ages *ages, const lh_tree *tree, const lh_history *history) {
  const lh_snapshot *snapshot = tree->snapshot;
  size_t n = (size_t)snapshot->n + 1;
  *ages = (lh_ages){
      .snapshot = snapshot, .tree = tree, .history = history, .content_seed = lh_random_seed()};
  ages->younger = lh_alloc_zeroed(n, sizeof *ages->younger);
  ages->counted = lh_alloc_zeroed(n, sizeof *ages->counted);
  ages->epochs = lh_alloc_zeroed((size_t)lh_mark_count(snapshot) + 1, sizeof *ages->epochs);
  if (!ages->younger || !ages->counted || !ages->epochs) return false;
  order_by_age(ages);
  return true;
}

void lh_ages_free(lh_ages *ages) {
  lh_free(ages->younger);
  lh_free(ages->counted);
  lh_free(ages->epochs);
}

lh_youth lh_ages_begin(lh_ages *ages) {
  ages->round++;
  return (lh_youth){.youngest = LH_NO_OBJECT};
}

/* Elements of one table were mostly allocated one after the other. */
static uint32_t epoch_of(lh_ages *a, lh_id id) {
  lh_list list = lh_list_of(a->snapshot, id);
  if (list > LH_LIST_FINOBJ) return 0;
  if (id < a->neighbours.first || id >= a->neighbours.end) {
    a->epoch = lh_epoch(a->snapshot, id);
    a->neighbours = lh_epoch_range(a->snapshot, list, a->epoch);
  }
  return a->epoch;
}

static void count_epoch(lh_ages *a, lh_growing *g, lh_id id) {
  uint32_t n = a->snapshot->n_marks;
  if (n == 0) return;
  uint32_t epoch = epoch_of(a, id);
  if (epoch >= n) epoch = n - 1;
  if (g->aged == 0 || epoch < g->oldest_epoch) g->oldest_epoch = epoch;
  if (g->aged == 0 || epoch > g->youngest_epoch) g->youngest_epoch = epoch;
  g->since_first_mark += epoch > 0;
  if (a->epochs[epoch] != a->round) g->epochs++;
  a->epochs[epoch] = a->round;
}

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

void lh_age_element(lh_ages *a, lh_growing *g, lh_youth *youth, lh_id id, bool inner) {
  if (a->counted[id] == a->round) return;
  a->counted[id] = a->round;
  count_epoch(a, g, id);
  g->ages[a->history->span_of[id]]++;
  g->aged++;
  g->content += mix(a->content_seed + id);
  if (lh_list_of(a->snapshot, id) == LH_LIST_ALLGC && id < youth->youngest) youth->youngest = id;
  if (inner) return;
  uint32_t p = a->tree->position[id];
  youth->objects += a->tree->end[p] - p;
}

void lh_ages_end(const lh_ages *a, lh_growing *g, const lh_youth *youth, lh_id first) {
  lh_id youngest = youth->youngest;
  if (youngest == LH_NO_OBJECT) return;
  g->younger = a->n > 0 ? (double)a->younger[youngest] / a->n : 0;
  if (lh_list_of(a->snapshot, first) != LH_LIST_ALLGC) return;
  uint32_t others = first < youngest ? 0 : a->younger[first] - a->younger[youngest];
  g->in_one_go = others <= youth->objects + youth->objects / 4 + LH_LEAST_ELEMENTS;
}

/* A number for each byte, or the like. */
static bool is_lookup(const lh_growing *g) {
  bool dense = (g->keying == LH_KEYED_SEQUENCE || g->keying == LH_KEYED_INTEGERS) &&
               g->greatest - g->least + 1 == (double)g->elements;
  return g->aged == 0 && dense && (g->elements & (g->elements - 1)) == 0;
}

static bool was_filled_once(const lh_ages *a, const lh_growing *g) {
  double aged = (double)g->aged;
  if (g->exact || is_lookup(g)) return true;
  if (g->since_first_mark == 0 && aged * a->since_first_mark >= EXPECTED) return true;
  if (g->in_one_go) return g->younger >= LEAST_YOUNGER && aged * g->younger >= EXPECTED;
  return g->younger >= LEAST_YOUNGER_LATER && aged * g->younger >= EXPECTED_LATER &&
         (double)g->bytes < LARGE_SHARE * (double)a->snapshot->reach.reachable_bytes;
}

/* Half of the intervals since the first mark of which anything lives. */
typedef struct half {
  unsigned n;
  double seconds, objects; /* the heap's */
  double here;             /* of the objects that are asked about */
} half;

typedef struct spread {
  half older, younger;
  unsigned n, n_empty;  /* intervals; those of them with none of these objects */
  uint64_t all, before; /* of all spans, and from before the first mark */
  unsigned first;       /* the first span since then with one of these */
  bool goes_on;         /* there is one in the last interval */
} spread;

static spread spread_of(const lh_history *history, const uint64_t *ages) {
  spread s = {.all = ages[0], .before = ages[0], .first = history->n};
  for (unsigned i = 1; i < history->n; i++) s.n += history->objects[i] > 0;
  for (unsigned i = 1; i < history->n; i++) {
    if (history->objects[i] == 0) continue;
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

/* Four times as many or more, by intervals and by the clock. */
static bool is_more(const half *more, const half *less) {
  return an_interval(more) >= 4 * an_interval(less) &&
         more->here * less->seconds >= 4 * less->here * more->seconds;
}

/* Where the whole heap has much more of the older half, less was done in the younger. */
static bool has_filled_up(const spread *s) {
  return is_more(&s->older, &s->younger) && s->before > 0 &&
         s->older.here * s->younger.objects >= 4 * s->younger.here * s->older.objects;
}

/* As much of the younger half as of the older one: two fifths more may be chance or the work that
** was done, and so may be the square root of how many there are. */
static bool is_alike(const half *more, const half *less) {
  double excess = an_interval(more) - 1.4 * an_interval(less);
  return excess <= 0 || excess * excess * more->n * more->n <= more->here;
}

static bool is_steady(const spread *s) {
  bool always = s->before > 0 ? 2 * s->n_empty <= s->n : s->n > 2 && s->n_empty == 0;
  return is_alike(&s->younger, &s->older) && is_alike(&s->older, &s->younger) && s->goes_on &&
         always && s->all - s->before >= LH_LEAST_AGED;
}

/* Was what holds them there before the interval of the oldest of them? Then it has let go of what
** it had. Of what every program has, such as _G, that says nothing. */
static bool lets_go(const lh_snapshot *snapshot, const lh_history *history, const spread *s,
                    lh_id holder) {
  uint32_t n = lh_mark_count(snapshot);
  if (s->before > 0) return true;
  if (lh_is_plumbing(snapshot, holder)) return false;
  return lh_epoch(snapshot, holder) < 1 + (s->first - 1) * (n - 1) / (history->n - 1);
}

lh_prospect lh_prospect_of_ages(const lh_snapshot *snapshot, const lh_history *history,
                                const uint64_t ages[LH_SPANS], lh_id holder) {
  spread s = spread_of(history, ages);
  if (!history->by_marks || s.n < 2 || s.all < LH_LEAST_AGED || s.all == s.before)
    return LH_MAY_GROW;
  if (is_steady(&s)) return LH_GROWS;
  if (is_more(&s.younger, &s.older) && lets_go(snapshot, history, &s, holder)) return LH_BOUNDED;
  return has_filled_up(&s) ? LH_BOUNDED : LH_MAY_GROW;
}

lh_prospect lh_prospect_of(const lh_ages *a, const lh_growing *g) {
  const lh_snapshot *snapshot = a->snapshot;
  lh_id holder = g->is_list ? lh_naming_parent(snapshot, g->id) : g->id;
  if (was_filled_once(a, g)) return LH_FILLED_ONCE;
  return g->aged > 0 ? lh_prospect_of_ages(snapshot, a->history, g->ages, holder) : LH_MAY_GROW;
}
