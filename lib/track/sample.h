/*
** sample.h - which allocations are recorded where not all are: by bytes, without bias.
**
** Each byte that is asked for is the end of a distance with the same small chance, so that the
** distances are exponential, and a block with such a byte is a sample. Of blocks of s bytes a share
** of 1 - e^(-s / mean) are samples, and so each stands for the inverse of that many: big blocks for
** one, small ones for mean / s. Sums of these are right on average, whatever the program does.
*/
#ifndef LUAHEAP_SAMPLE_H
#define LUAHEAP_SAMPLE_H

#include "recorder.h"

/* The next distance, 1 or more; *random is any number but 0, and changes. */
int64_t lh_sample_distance(uint64_t *random, uint64_t mean_bytes);

/* How many blocks of this size one sample stands for. */
double lh_sample_weight(uint64_t bytes, uint64_t mean_bytes);

#endif
