/* families_profiles.c - see families_profiles.h. */
#include "families_profiles.h"

#include <stdio.h>
#include <string.h>

#include "families.h"

/* ==== What they are made of ========================================================= */

enum { DEPTH = 1000 }; /* of stacks that are deep and not one behind the other */

/* A name of n bytes, of which the first tell it apart from other ones: '\n' is escaped. */
static uint32_t long_name(forged_profile *f, unsigned number, unsigned n, char filling) {
  char text[LH_MOST_SITE_NAME_BYTES];
  uint8_t *p = lh_put_name_head(lh_profile_blocks_room(&f->to, n + LH_LONGEST_DEFINITION), n);
  memset(text, filling, n);
  text[snprintf(text, n, "@%x", number)] = '_';
  memcpy(p, text, n);
  f->to.at = p + n;
  return ++f->n_names;
}

static uint32_t function_of(forged_profile *f, uint32_t source, uint32_t line, uint32_t name) {
  f->to.at =
      lh_put_function(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), source, line, name);
  return ++f->n_functions;
}

static uint32_t site_of(forged_profile *f, uint32_t function, uint32_t line, uint32_t c_function) {
  f->to.at = lh_put_site(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), function, line,
                         c_function > 0 ? LH_MADE_BY_C : LH_MADE_TABLE, c_function);
  return ++f->n_sites;
}

static lh_stack_id stack_of(forged_profile *f, lh_stack_id parent, uint32_t site) {
  f->to.at = lh_put_stack(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), parent, site);
  return ++f->n_stacks;
}

/* One site whose source, function and C function have long names. */
static uint32_t long_site(forged_profile *f, char filling) {
  uint32_t source = long_name(f, 1, LH_MOST_SITE_NAME_BYTES, filling);
  uint32_t name = long_name(f, 2, LH_MOST_SITE_NAME_BYTES, filling);
  uint32_t c_function = long_name(f, 3, LH_MOST_SITE_NAME_BYTES, filling);
  return site_of(f, function_of(f, source, 1, name), 7, c_function);
}

/* A row of an aggregate, or an event, for the stack. */
static void count_at(forged_profile *f, lh_stack_id stack) {
  if (f->info.is_aggregate)
    forge_count(f, &(lh_profile_count){.stack = stack,
                                       .type = LH_TYPE_TABLE,
                                       .made = 2,
                                       .made_bytes = 112,
                                       .freed = 1,
                                       .freed_bytes = 56,
                                       .samples = 2,
                                       .live_bytes_at_peak = 56,
                                       .deaths = {1},
                                       .death_bytes = {56}});
  else
    forge_made(f, LH_TYPE_TABLE, stack, 56);
}

/* What each stack from `first` to the last has allocated, and how often it was called. */
static void count_all(forged_profile *f, lh_stack_id first) {
  if (f->info.is_aggregate) lh_table_begin(&f->to, LH_BLOCK_COUNTS);
  for (lh_stack_id stack = first; stack <= f->n_stacks; stack++) count_at(f, stack);
  if (f->info.is_aggregate) lh_table_end(&f->to);
  if (!f->info.has_calls) return;
  lh_table_begin(&f->to, LH_BLOCK_CALLS);
  for (lh_stack_id stack = first; stack <= f->n_stacks; stack++)
    forge_call(f, &(lh_profile_call){.stack = stack, .calls = 3, .self_ns = 5, .total_ns = 9});
  lh_table_end(&f->to);
}

/* ==== Stacks ======================================================================== */

/* 1 <- 2 <- 3 ... n, all of one site with long names. */
static void chain_of(forged_profile *f, unsigned n, char filling) {
  uint32_t site = long_site(f, filling);
  for (unsigned i = 0; i < n; i++) (void)stack_of(f, i, site);
  count_all(f, 1);
}

static void make_chain(forged_profile *f, unsigned n) {
  chain_of(f, n, 'x');
}

/* Each byte of a name is four of what is printed, and six in JSON. */
static void make_control_chain(forged_profile *f, unsigned n) {
  chain_of(f, n, '\033');
}

/* n stacks of sites of their own on top of a deep one. */
static void make_fan(forged_profile *f, unsigned n) {
  uint32_t site = long_site(f, 'x');
  lh_stack_id deep = 0;
  for (unsigned i = 0; i < DEPTH; i++) deep = stack_of(f, deep, site);
  for (unsigned i = 0; i < n; i++) (void)stack_of(f, deep, site_of(f, 1, i + 8, 0));
  count_all(f, deep + 1);
}

/* Two functions that call each other, told by 0 to n of both. */
static void make_ping_pong(forged_profile *f, unsigned n) {
  uint32_t a = long_site(f, 'a'), b = long_site(f, 'b');
  for (unsigned i = 0; i < n; i++) (void)stack_of(f, i, i % 2 ? a : b);
  count_all(f, 1);
}

/* Each stack has a site of its own, and its caller is the one before; all in one source. */
static void make_own_sites(forged_profile *f, unsigned n) {
  uint32_t source = long_name(f, 1, LH_MOST_SITE_NAME_BYTES, 'x');
  uint32_t name = long_name(f, 2, LH_MOST_SITE_NAME_BYTES, 'x');
  for (unsigned i = 0; i < n; i++)
    (void)stack_of(f, i, site_of(f, function_of(f, source, i, name), i, 0));
  count_all(f, 1);
}

/* The same, each called from nowhere. */
static void make_flat_sites(forged_profile *f, unsigned n) {
  uint32_t source = long_name(f, 1, LH_MOST_SITE_NAME_BYTES, 'x');
  uint32_t name = long_name(f, 2, LH_MOST_SITE_NAME_BYTES, 'x');
  for (unsigned i = 0; i < n; i++)
    (void)stack_of(f, 0, site_of(f, function_of(f, source, i, name), i, 0));
  count_all(f, 1);
}

/* A tree of two callees each. */
static void make_tree(forged_profile *f, unsigned n) {
  uint32_t site = long_site(f, 'x');
  for (unsigned i = 1; i <= n; i++) (void)stack_of(f, i / 2, i % 2 ? site : site_of(f, 1, i, 0));
  count_all(f, 1);
}

/* ==== Names ========================================================================= */

/* Many names whose contents are alike up to their end. */
static void make_names(forged_profile *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    uint32_t name = long_name(f, i / 2, 200, 'x');
    (void)stack_of(f, 0, site_of(f, function_of(f, name, 1, name), 7, name));
  }
  count_all(f, 1);
}

static void make_short_names(forged_profile *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    uint32_t name = long_name(f, i, 10, 'x');
    (void)stack_of(f, 0, site_of(f, function_of(f, name, 1, 0), 7, 0));
  }
  count_all(f, 1);
}

/* ==== Events ======================================================================== */

enum { FEW_STACKS = 64 };

static void few_stacks(forged_profile *f) {
  uint32_t site = long_site(f, 'x');
  for (unsigned i = 0; i < FEW_STACKS; i++) (void)stack_of(f, i, site);
}

static void make_events(forged_profile *f, unsigned n) {
  few_stacks(f);
  for (unsigned i = 0; i < n; i++) {
    if (i % 16 == 0) forge_time(f, 1000u * i);
    forge_made(f, LH_TYPE_STRING + i % 7, 1 + i % FEW_STACKS, 16 + i);
    if (i % 2) forge_freed(f, LH_TYPE_STRING + i % 7, 1 + i % FEW_STACKS, 16 + i, 4096u * i);
  }
}

/* A block that goes from stack to stack. */
static void make_resizes(forged_profile *f, unsigned n) {
  few_stacks(f);
  forge_made(f, LH_EVENT_PART, FEW_STACKS, 16);
  for (unsigned i = 0; i < n; i++)
    forge_resized(f, LH_EVENT_PART, 1 + i % FEW_STACKS, 1 + (i + FEW_STACKS - 1) % FEW_STACKS,
                  16 + i + 1, 16 + i, 4096u * i);
}

/* A record of time before each event. */
static void make_times(forged_profile *f, unsigned n) {
  few_stacks(f);
  for (unsigned i = 0; i < n; i++) {
    forge_time(f, UINT64_C(1000000000) * i);
    forge_made(f, LH_TYPE_TABLE, 1 + i % FEW_STACKS, 56);
  }
}

/* n lines that come to hold the same, not in their order, and a moment after each event. */
static void make_moments(forged_profile *f, unsigned n) {
  uint32_t source = long_name(f, 1, 10, 'x');
  uint32_t function = function_of(f, source, 1, source);
  for (unsigned i = 0; i < n; i++) (void)stack_of(f, 0, site_of(f, function, i + 1, 0));
  count_all(f, 1);
  for (unsigned i = 0; i < n; i++) {
    forge_time(f, (UINT64_C(1) << 50) / n * i);
    forge_made(f, LH_TYPE_TABLE, 1 + i * 40503u % n, 56);
  }
}

/* Two functions with long names, and calls from one to the other by way of n short ones. */
static void make_relatives(forged_profile *f, unsigned n) {
  uint32_t site = long_site(f, 'x');
  uint32_t source = long_name(f, 4, 10, 'x');
  lh_stack_id deep = stack_of(f, 0, site);
  for (unsigned i = 0; i < n; i++) {
    lh_stack_id between = stack_of(f, deep, site_of(f, function_of(f, source, i, 0), i + 1, 0));
    (void)stack_of(f, between, site);
  }
  count_all(f, 1);
}

/* ==================================================================================== */

static const profile_family families[] = {{"a chain of stacks", make_chain, false, false},
                                          {"a chain in an aggregate", make_chain, true, false},
                                          {"a chain with calls", make_chain, false, true},
                                          {"a chain of control names", make_control_chain, 0, 0},
                                          {"a fan of stacks", make_fan, false, false},
                                          {"a fan in an aggregate", make_fan, true, true},
                                          {"two functions in turn", make_ping_pong, false, true},
                                          {"a chain of own sites", make_own_sites, false, true},
                                          {"flat sites", make_flat_sites, false, true},
                                          {"a tree of stacks", make_tree, false, true},
                                          {"long names", make_names, false, true},
                                          {"short names", make_short_names, true, true},
                                          {"events", make_events, false, false},
                                          {"resizes", make_resizes, false, false},
                                          {"times", make_times, false, false},
                                          {"moments", make_moments, false, false},
                                          {"relatives", make_relatives, false, true}};

size_t profile_family_count(void) {
  return sizeof families / sizeof *families;
}

const profile_family *profile_family_number(size_t i) {
  return &families[i];
}

void profile_family_make(forged_profile *f, const profile_family *family, unsigned n) {
  forge_profile(f, &(lh_profile_info){.release = "5.4.6",
                                      .program = "lua5.4 app.lua",
                                      .has_stacks = true,
                                      .is_aggregate = family->is_aggregate,
                                      .has_calls = family->has_calls});
  family->make(f, n);
  forge_end_profile(f, UINT64_C(1) << 60, 0);
}

static size_t size_of(const void *family, unsigned n) {
  static forged_profile f;
  profile_family_make(&f, family, n);
  size_t size = f.size;
  forge_drop_profile(&f);
  return size;
}

unsigned profile_family_scale(const profile_family *family, size_t bytes) {
  return scale_to_bytes(size_of, family, bytes);
}
