/* sample_profile.h - small profiles with one of everything. */
#pragma once

#include "forged_profile.h"

extern const lh_profile_info sample_facts;
extern const lh_site site_f, site_main;
extern const lh_profile_count counted; /* the second row of three */
extern const lh_profile_call called;   /* the second of two */

/* Ten events, of all kinds, at three times; not ended. */
void forge_sample(forged_profile *f, const lh_profile_info *info);

/* An aggregate with calls; not ended. */
void forge_aggregate(forged_profile *f);

/* A whole file: 0 is one of eleven events in two blocks, 1 an aggregate. */
void forge_any(forged_profile *f, int which);
