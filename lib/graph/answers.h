/* answers.h - conclusions from the ages of objects, and from cuts of references. */
#pragma once

#include "rooms/graph.h"

/* The history of a heap. The first span is older than the first mark; the others are intervals
** between marks, joined if they are many. With its own mark alone, a snapshot has eighths of its
** reachable objects, in the order of allocation. */
enum { LH_SPANS = 8 };
typedef struct lh_history {
  bool by_marks;
  unsigned n;                 /* spans */
  uint64_t objects[LH_SPANS]; /* reachable ones of each span, without luaheap's own */
  double seconds[LH_SPANS];   /* duration; 0: unknown, as for the first span */
  uint8_t *span_of;           /* the span of each object; 0 for an object without an age */
} lh_history;

/* LH_EMEMORY. Free with lh_history_free. O(n). */
int lh_find_history(const lh_snapshot *snapshot, lh_history *out, lh_error *error);
void lh_history_free(lh_history *history);

/* The growth of a collection, judged from one snapshot. Only LH_GROWS is certain. */
typedef enum lh_prospect {
  LH_FILLED_ONCE, /* all at once, or before the first mark; nothing was added since */
  LH_BOUNDED,     /* as full as a nearby limit allows; or objects come and go; or it is full */
  LH_MAY_GROW,    /* no evidence against growth */
  LH_GROWS        /* about as many objects from each part of the history, and all stay */
} lh_prospect;

/* Judges a collection of `holder` by its objects from each span. A leak has objects of every age,
** at one rate. LH_GROWS needs all of these:
**   - Objects older than the first mark, and two intervals since, at most half of them empty. Or
**     three intervals since the first mark, none of them empty.
**   - Objects from the last interval, and LH_LEAST_AGED objects since the first mark.
**   - As many objects from the younger half of the time as from the older. Two fifths more, or a
**     difference by chance, are allowed.
**
** LH_BOUNDED: a full cache, a ring or a store of sessions is young. The younger half has four times
** as many objects or more, by intervals and by the clock, and the holder had other objects before.
** Intervals of which the whole heap has nothing are left out, since the program may have been idle:
** unless they are the older half, nothing is older, and they took a quarter of the younger half's
** time. Then all that was made in them is gone; and what would be LH_GROWS is LH_MAY_GROW, since a
** ring that lasts for some intervals looks the same.
** Or the collection has filled up: the older half has four times as many, and some are older than
** the first mark. The whole heap has not four times as many less; not twice, if there are three
** intervals or more, each with at most two thirds of the objects of the one before.
**
** Limits: the work between two marks is unknown, so a leak is LH_MAY_GROW if the work changed. A
** cache that is still filling, or whose elements outlive the history, looks like a leak;
** lh_find_bound may find its limit. A leak whose rate grew four times looks young. */
enum { LH_LEAST_AGED = 16 };
lh_prospect lh_prospect_of_ages(const lh_snapshot *snapshot, const lh_history *history,
                                const uint64_t ages[LH_SPANS], lh_id holder);

/* True if they are LH_MAY_GROW, not LH_BOUNDED, because the holder is no older than its objects, or
** because every program has it. */
bool lh_holder_is_too_young(const lh_snapshot *snapshot, const lh_history *history,
                            const uint64_t ages[LH_SPANS], lh_id holder);

/* A number that seems to limit a collection of `count` objects. It has a name like max, limit,
** capacity or size, in the holder or one of four tables that hold it. The count is at least half of
** it (a sixteenth, if the count is stored beside it) and at most a tenth above. Or it is an upvalue
** of a function that has such a table as another upvalue: of other things, perhaps, unless the
** collection has nine tenths of it. */
typedef struct lh_bound {
  double limit; /* 0: none was found */
  lh_id name;   /* key of the limit, or name of the upvalue: a string */
  bool is_sure; /* it is near, and no size, unless of a ring: a size may be a count */
  bool is_far;  /* an upvalue that is half of the way off: only a cache that fills may explain it */
} lh_bound;

/* LH_BOUNDED if there is a limit. LH_FILLED_ONCE stays, and LH_GROWS if the limit is not sure. With
** a far limit LH_GROWS is LH_MAY_GROW, since a cache that is still filling looks the same. */
lh_prospect lh_prospect_within(lh_prospect prospect, const lh_bound *bound);

/* Both for the objects at a place. Strings may be older than the place: they are never LH_GROWS. */
lh_prospect lh_prospect_of_place(const lh_snapshot *snapshot, const lh_history *history,
                                 const uint64_t ages[LH_SPANS], lh_id holder, bool are_strings,
                                 const lh_bound *bound);

/* How a figure changed over snapshots. A figure that goes up and down counts as going up if its
** falls are at most a tenth of its rises, and as going down in the opposite case. */
typedef enum lh_verdict {
  LH_LEVEL,           /* never changed */
  LH_SHRINKS,         /* went down */
  LH_SAW_TOOTH,       /* went up and down */
  LH_GREW_ONCE,       /* went up, but not steadily: the program has warmed up */
  LH_GROWS_A_LITTLE,  /* a row of a ladder: grows steadily, but too little to matter */
  LH_LEVELS_OFF,      /* went up as what grows steadily, but slows down: the last part brought at
                         most a third of an earlier one (of three snapshots, of the first step), or
                         each of the last two parts at most two thirds of the one before; and
                         chance does not explain that */
  LH_GROWS_STEADILY,  /* went up in each third of the time after the first step (in each step, if
                         there are fewer than three; of three snapshots in the first step, too), or
                         in each of the last three steps; but more than a fall of at most a tenth
                         in the first step, twice */
  LH_NO_LONGER_GROWS, /* lh_ladder_halves: grew before, and at most a tenth of that after */
  LH_STILL_GROWS,     /* grew before, and more than a tenth of that after */
  LH_GROWS_NOW        /* grew after, not before */
} lh_verdict;

/* The entries that a table keeps after the next full collection: all, except those of a weak table
** whose weak key or value is garbage. 0 for other types. O(1); for a weak table O(entries). */
uint64_t lh_lasting_entries(const lh_snapshot *snapshot, lh_id id);

typedef struct lh_freed {
  uint64_t objects, bytes;
  bool frees_it; /* frees `id`, too */
} lh_freed;

/* What would become garbage: for each cut alone (`alone`), for all cuts (`together`), and the part
** of it that no cut frees alone (`only_together`). `id`: an object to ask about, or LH_NO_OBJECT.
** Exact, with ephemerons: a value needs its weak table and its key. O(n + m) for each cut. */
int lh_what_if(lh_snapshot *snapshot, const lh_without *cuts, size_t n_cuts, lh_id id,
               lh_freed *alone, lh_freed *together, lh_freed *only_together, lh_error *error);
