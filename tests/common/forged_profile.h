/*
** forged_profile.h - makes profiles in memory from a list of events, with valid checksums whatever
** else is wrong with them, and with times that are not the clock's.
**
**     forged_profile f;
**     forge_profile(&f, &(lh_profile_info){.release = "5.4.4", .program = "lua5.4 app.lua"});
**     lh_stack_id here = forge_stack(&f, 0, (lh_site){.source = "@app.lua", .function = "f",
**                                                     .line = 12, .maker = LH_MADE_TABLE});
**     forge_time(&f, 1000);
**     forge_made(&f, LH_TYPE_TABLE, here, 56);
**     forge_freed(&f, LH_TYPE_TABLE, here, 56, 4096);
**     forge_end_profile(&f, 2000, 0);                      -> f.data, f.size; or forge_save_profile
**     forge_drop_profile(&f);
**
** When memory runs out the program ends: it is a test.
*/
#pragma once

#include "forged_file.h"
#include "profile/format.h"
#include "track/profile.h"

enum { MOST_FORGED_SITES = 256 };

typedef struct forged_profile {
  uint8_t *data; /* the file, once it is ended */
  size_t size;
  lh_profile_blocks to;
  forge_bytes out;
  uint8_t buffer[LH_PROFILE_BUFFER];
  lh_profile_info info;
  uint64_t time_ns, n_events;
  uint32_t n_names, n_functions, n_sites, n_stacks;
  lh_site sites[MOST_FORGED_SITES];
} forged_profile;

/* Of `info` the facts count: what a writer says at the beginning. */
void forge_profile(forged_profile *f, const lh_profile_info *info);
void forge_end_profile(forged_profile *f, uint64_t duration_ns, uint64_t lost_events);

/* What is there so far, as if the program had been killed; more may be added. */
void forge_cut_profile(forged_profile *f);
void forge_save_profile(const forged_profile *f, const char *path);
void forge_drop_profile(forged_profile *f);

/* Where a site is defined already it is not again. The texts stay the caller's. */
lh_stack_id forge_stack(forged_profile *f, lh_stack_id parent, lh_site site);

/* Since the start; of all events that follow. */
void forge_time(forged_profile *f, uint64_t time_ns);

/* The type is an lh_type or LH_EVENT_PART. The weight is written of samples only. */
void forge_event(forged_profile *f, const lh_event *event);
void forge_made(forged_profile *f, unsigned type, lh_stack_id stack, uint64_t bytes);
void forge_resized(forged_profile *f, unsigned type, lh_stack_id stack, lh_stack_id old_stack,
                   uint64_t bytes, uint64_t old_bytes, uint64_t age_bytes);
void forge_freed(forged_profile *f, unsigned type, lh_stack_id old_stack, uint64_t old_bytes,
                 uint64_t age_bytes);

/* Tables: between lh_table_begin(&f->to, LH_BLOCK_...) and lh_table_end(&f->to). */
void forge_count(forged_profile *f, const lh_profile_count *count);
void forge_call(forged_profile *f, const lh_profile_call *call);

/* Makes all checksums right again, as far as there are blocks. */
void forge_seal_profile(uint8_t *data, size_t size);
