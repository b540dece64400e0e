/* sample_profile.c - see sample_profile.h. */
#include "sample_profile.h"

const lh_profile_info sample_facts = {.program = "lua5.4 app.lua",
                                      .release = "5.4.4",
                                      .process_id = 4711,
                                      .state_id = 0x123456789ABCDEF,
                                      .start_unix_ns = UINT64_C(1700000000000000000),
                                      .start_bytes = 23456,
                                      .has_stacks = true};

const lh_site site_f = {.source = "@app.lua",
                        .function = "f",
                        .first_line = 10,
                        .line = 12,
                        .maker = LH_MADE_TABLE},
              site_main = {.source = "@app.lua",
                           .function = "",
                           .line = 31,
                           .maker = LH_MADE_BY_C,
                           .c_function = "string.rep"};

/* Ten events, of all kinds, at three times. */
void forge_sample(forged_profile *f, const lh_profile_info *info) {
  forge_profile(f, info);
  lh_stack_id caller = forge_stack(f, 0, site_main);
  forge_made(f, LH_TYPE_STRING, caller, 1000);
  forge_time(f, 5000);
  lh_stack_id here = forge_stack(f, caller, site_f);
  forge_made(f, LH_TYPE_TABLE, here, 56);
  forge_made(f, LH_EVENT_PART, here, 64);
  forge_resized(f, LH_EVENT_PART, caller, here, 128, 64, 8192);
  forge_made(f, LH_TYPE_CLOSURE, 0, 40);
  forge_made(f, LH_TYPE_USERDATA, here, 0);
  forge_time(f, 700000);
  forge_freed(f, LH_TYPE_STRING, caller, 1000, UINT64_C(5) << 30);
  forge_freed(f, LH_TYPE_THREAD, 0, 200, 0);
  forge_freed(f, LH_EVENT_PART, caller, 128, 4096);
  forge_made(f, LH_TYPE_UPVALUE, here, 40);
}

const lh_profile_count counted = {.stack = 1,
                                  .type = LH_TYPE_TABLE,
                                  .made = 5,
                                  .made_bytes = 280,
                                  .resized = 2,
                                  .resized_bytes = 128,
                                  .replaced = 1,
                                  .replaced_bytes = 64,
                                  .freed = 3,
                                  .freed_bytes = 168,
                                  .samples = 7,
                                  .live_bytes_at_peak = 224,
                                  .deaths = {1, 0, 2},
                                  .death_bytes = {56, 0, 112}};
const lh_profile_call called = {.stack = 2,
                                .calls = 12,
                                .tail_calls = 3,
                                .self_ns = 1000,
                                .total_ns = 5000,
                                .is_constant = true};

void forge_aggregate(forged_profile *f) {
  lh_profile_info info = sample_facts;
  info.is_aggregate = info.has_calls = true;
  forge_profile(f, &info);
  (void)forge_stack(f, forge_stack(f, 0, site_main), site_f);
  lh_table_begin(&f->to, LH_BLOCK_COUNTS);
  forge_count(f, &(lh_profile_count){.stack = 0, .type = LH_TYPE_STRING, .freed = 9});
  forge_count(f, &counted);
  forge_count(f, &(lh_profile_count){.stack = 1, .type = LH_EVENT_PART, .made = 1});
  lh_table_end(&f->to);
  lh_table_begin(&f->to, LH_BLOCK_CALLS);
  forge_call(f, &(lh_profile_call){.stack = 1, .calls = 1});
  forge_call(f, &called);
  lh_table_end(&f->to);
}

void forge_any(forged_profile *f, int which) {
  if (which == 0) {
    forge_sample(f, &sample_facts);
    lh_profile_blocks_next(&f->to, LH_BLOCK_RECORDS);
    forge_made(f, LH_TYPE_TABLE, 1, 56);
  } else {
    forge_aggregate(f);
  }
  forge_end_profile(f, 900000, 0);
}
