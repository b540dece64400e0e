/*
** answers.h - what is told of objects by their age, and of what goes when something is cut.
*/
#ifndef LUAHEAP_GRAPH_ANSWERS_H
#define LUAHEAP_GRAPH_ANSWERS_H

#include "luaheap_graph.h"

/* The history of a heap in at most eight spans: the first is what is older than the first mark,
** the others are intervals between marks, or several of these where there are more. A snapshot
** without a mark but its own has eighths of its reachable objects, by the order of allocation. */
enum { LH_SPANS = 8 };
typedef struct lh_history {
  bool by_marks;
  unsigned n;                 /* spans */
  uint64_t objects[LH_SPANS]; /* reachable ones of each, without luaheap's own */
  double seconds[LH_SPANS];   /* that it took; 0: not known, as of the first */
  uint8_t *span_of;           /* of each object: its number; 0 for what has no age */
} lh_history;

/* LH_EMEMORY. Freed by lh_history_free. O(n). */
int lh_find_history(const lh_snapshot *snapshot, lh_history *out, lh_error *error);
void lh_history_free(lh_history *history);

/* How a collection looks in a single snapshot: certain is only LH_GROWS. */
typedef enum lh_prospect {
  LH_FILLED_ONCE, /* in one go, or before the first mark, and nothing was added since */
  LH_BOUNDED,  /* as full as a limit in sight says (lh_find_bound); or what goes in goes out again,
                     or it has filled up */
  LH_MAY_GROW, /* nothing speaks for that */
  LH_GROWS     /* about as many were added in each part of its history, and all stay */
} lh_prospect;

/* What these numbers of objects say, allocated in each span of the history, which `holder` holds:
** what leaks is of every age, and of one rate. LH_GROWS takes two intervals since the first mark
** and something from before it, or three intervals, each with something; of the younger half of the
** time as much as of the older half, but for two fifths and what may be chance; and LH_LEAST_AGED
** objects since the first mark. A full cache, a ring or a store of sessions is young: four times as
** many or more of the younger half, by intervals and by the clock, though its holder had others
** before. It has filled up where four times as many are of the older half, of which the whole heap
** has not as much more, and some from before the first mark.
**
** Not known is how much was done between two marks: what leaks is LH_MAY_GROW where more was done
** in one interval than in the next. A cache that is still filling, or whose elements live longer
** than the history, looks like a leak: lh_find_bound may see the limit. A leak whose rate went up
** four times looks young. */
enum { LH_LEAST_AGED = 16 };
lh_prospect lh_prospect_of_ages(const lh_snapshot *snapshot, const lh_history *history,
                                const uint64_t ages[LH_SPANS], lh_id holder);

/* A limit in sight of `count` things that `holder` holds: a number that they reach to half or more
** (to a sixteenth, if beside it stands how many there are), and pass by a tenth at most, under a
** name such as max, limit, capacity or size, in the holder or in one of four tables that hold it.
*/
typedef struct lh_bound {
  double limit; /* 0: none is in sight */
  lh_id name;   /* the key that it has, a string */
  bool is_sure; /* it is near, and no size, which may also say how many there are */
} lh_bound;

/* What the limit makes of a prospect: LH_BOUNDED, unless it was filled once; or it grows for
** certain, and the limit is not sure. */
lh_prospect lh_prospect_within(lh_prospect prospect, const lh_bound *bound);

/* All of it for what hangs at a place. Strings may be older than their place: so for certain they
** never grow. */
lh_prospect lh_prospect_of_place(const lh_snapshot *snapshot, const lh_history *history,
                                 const uint64_t ages[LH_SPANS], lh_id holder, bool are_strings,
                                 const lh_bound *bound);

/* What became of a row. A figure that goes up and down counts as going up if the way down is at
** most a tenth of the way up, and as going down if it is the other way round. */
typedef enum lh_verdict {
  LH_LEVEL,           /* never changed */
  LH_SHRINKS,         /* went down */
  LH_SAW_TOOTH,       /* went up and down */
  LH_GREW_ONCE,       /* went up, but not steadily: the program has warmed up */
  LH_GROWS_STEADILY,  /* went up in each third of the time after the first step (in each step, where
                         those are fewer than three; of three snapshots in the first step, too); or
                         in each of the last three steps */
  LH_NO_LONGER_GROWS, /* lh_ladder_halves: grew before, and after at most a tenth of that */
  LH_STILL_GROWS,     /* grew before, and after more than a tenth of that */
  LH_GROWS_NOW        /* grew after, and not before */
} lh_verdict;

/* The entries of a table that the next full collection leaves: all, but of a weak table without
** those whose weak key or value is garbage. 0 for other types. O(1); of a weak table O(entries). */
uint64_t lh_lasting_entries(const lh_snapshot *snapshot, lh_id id);

/* What a cut frees. */
typedef struct lh_freed {
  uint64_t objects, bytes;
  bool frees_it; /* the object asked for, too */
} lh_freed;

/* What of the reachable would be garbage if each of the cuts were made alone, if all of them were,
** and of that what no one of them frees. `id`: an object that is asked for, or LH_NO_OBJECT. Exact,
** with ephemerons: a value goes with its weak table, and with its key. O(n + m) for each cut. */
int lh_what_if(lh_snapshot *snapshot, const lh_without *cuts, size_t n_cuts, lh_id id,
               lh_freed *alone, lh_freed *together, lh_freed *only_together, lh_error *error);

#endif
