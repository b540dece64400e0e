/* watched_words.h - reports when a child of continue_copy.c writes to one of two words. */
#pragma once

#include "continue_copy.h"

typedef struct lh_watched_words {
  pid_t *child;          /* held while a function below is called; 0: it has ended */
  uint64_t stub;         /* as lh_sandbox_begin returned it */
  bool by_pages;         /* not by debug registers */
  uint64_t addresses[2]; /* 0: none */
  uint64_t values[2];
  unsigned n_steps; /* writes made for the child since this was set to 0: at most 2,048 */
} lh_watched_words;

/* Do debug registers report a write? Some virtual machines take their values and report none. Forks
** a child. */
bool lh_can_watch(void);

/* Watches these two words, and no others from now on. False: failed. */
bool lh_watched_words_set(lh_watched_words *words, uint64_t first, uint64_t second);

/* After a stop by `signal`: bit i of *written says that word i was written. By pages, a write
** beside the words also stops the child: then *written is 0, and the child has made the write.
** False: it stopped for another reason. */
bool lh_watched_words_see(lh_watched_words *words, int signal, unsigned *written);

/* Watches nothing. False: failed. */
bool lh_watched_words_end(lh_watched_words *words);

/* Kills a child that is held, and waits for its end. */
void lh_child_end(pid_t child);
