/*
** work.h - the work that was done, counted and not timed: in a tree that is compiled with
** -fsanitize-coverage=trace-pc every basic block counts one. So figures are the same on each
** machine and under any load, but for the seeds of hash tables. In other trees nothing is counted.
*/
#pragma once

#include <stdint.h>

#include "rooms/report.h"

extern uint64_t work_done;

/* Asks a question, and tells its answer: as text, and each cell of as many rows as the request's
** limit says. */
void work_ask(const char *question, lh_snapshot *snapshot, const lh_request *request);
