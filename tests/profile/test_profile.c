/*
** test_profile.c - profiles are read as they were written, up to where they were cut; what is
** damaged is told with its byte; and what has right checksums and wrong contents does no harm.
*/
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "forged_profile.h"

static const lh_profile_info facts = {.program = "lua5.4 app.lua",
                                      .release = "5.4.4",
                                      .process_id = 4711,
                                      .state_id = 0x123456789ABCDEF,
                                      .start_unix_ns = UINT64_C(1700000000000000000),
                                      .start_bytes = 23456,
                                      .has_stacks = true};

static const lh_site site_f = {.source = "@app.lua",
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
static void forge_sample(forged_profile *f, const lh_profile_info *info) {
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

typedef struct seen {
  lh_event events[16];
  size_t n, most;
} seen;

static bool see(const lh_event *event, void *data) {
  seen *s = data;
  if (s->n < 16) s->events[s->n] = *event;
  return ++s->n < s->most;
}

static lh_profile *open_forged(const forged_profile *f) {
  lh_profile *p;
  lh_error error = {0};
  if (lh_profile_open_memory(f->data, f->size, "f", &p, &error) != LH_OK)
    fail_msg("%s", error.message);
  return p;
}

static seen replay(lh_profile *p) {
  seen s = {.n = 0, .most = SIZE_MAX};
  assert_int_equal(lh_profile_replay(p, see, &s, NULL), LH_OK);
  return s;
}

static void events_are_read_as_written(void **state) {
  forged_profile f;
  (void)state;
  forge_sample(&f, &facts);
  forge_end_profile(&f, 800000, 0);
  lh_profile *p = open_forged(&f);
  const lh_profile_info *about = lh_profile_about(p);
  assert_string_equal(about->program, "lua5.4 app.lua");
  assert_string_equal(about->release, "5.4.4");
  assert_int_equal(about->process_id, 4711);
  assert_int_equal(about->state_id, facts.state_id);
  assert_int_equal(about->start_unix_ns, facts.start_unix_ns);
  assert_int_equal(about->start_bytes, 23456);
  assert_int_equal(about->duration_ns, 800000);
  assert_int_equal(about->n_events, 10);
  assert_int_equal(about->lost_events, 0);
  assert_true(about->is_whole && about->has_stacks && !about->is_aggregate && !about->has_calls);
  assert_int_equal(about->version, 1);
  assert_int_equal(about->read_bytes, f.size);
  assert_int_equal(lh_n_stacks(lh_profile_sites(p)), 2);
  for (int again = 0; again < 2; again++) {
    seen s = replay(p);
    assert_int_equal(s.n, 10);
    assert_int_equal(s.events[0].kind, LH_EVENT_NEW);
    assert_int_equal(s.events[0].type, LH_TYPE_STRING);
    assert_int_equal(s.events[0].stack, 1);
    assert_int_equal(s.events[0].bytes, 1000);
    assert_int_equal(s.events[0].time_ns, 0);
    assert_true(s.events[0].weight == 1);
    assert_int_equal(s.events[3].kind, LH_EVENT_RESIZE);
    assert_int_equal(s.events[3].type, LH_EVENT_PART);
    assert_int_equal(s.events[3].stack, 1);
    assert_int_equal(s.events[3].old_stack, 2);
    assert_int_equal(s.events[3].bytes, 128);
    assert_int_equal(s.events[3].old_bytes, 64);
    assert_int_equal(s.events[3].age_bytes, 8192);
    assert_int_equal(s.events[3].time_ns, 5000);
    assert_int_equal(s.events[6].kind, LH_EVENT_FREE);
    assert_int_equal(s.events[6].stack, 0);
    assert_int_equal(s.events[6].old_stack, 1);
    assert_int_equal(s.events[6].bytes, 0);
    assert_int_equal(s.events[6].age_bytes, UINT64_C(5) << 30);
    assert_int_equal(s.events[6].time_ns, 700000);
    assert_int_equal(s.events[9].type, LH_TYPE_UPVALUE);
  }
  seen first = {.n = 0, .most = 3};
  assert_int_equal(lh_profile_replay(p, see, &first, NULL), LH_OK);
  assert_int_equal(first.n, 3);
  size_t n;
  assert_null(lh_profile_counts(p, &n));
  assert_null(lh_profile_calls(p, &n));
  lh_profile_close(p);
  lh_profile_close(NULL);
  forge_drop_profile(&f);
}

static void samples_have_weights(void **state) {
  forged_profile f;
  lh_profile_info info = facts;
  (void)state;
  info.sample_bytes = 512 << 10;
  forge_profile(&f, &info);
  lh_stack_id here = forge_stack(&f, 0, site_f);
  forge_event(&f, &(lh_event){.kind = LH_EVENT_NEW,
                              .type = LH_TYPE_TABLE,
                              .stack = here,
                              .bytes = 56,
                              .weight = 9362.75});
  forge_made(&f, LH_TYPE_STRING, here, 64 << 20);
  forge_end_profile(&f, 1, 0);
  lh_profile *p = open_forged(&f);
  seen s = replay(p);
  assert_int_equal(lh_profile_about(p)->sample_bytes, 512 << 10);
  assert_int_equal(s.n, 2);
  assert_true(s.events[0].weight == 9362.75);
  assert_true(s.events[1].weight == 1);
  lh_profile_close(p);
  forge_drop_profile(&f);
}

/* Many blocks: what was defined in one is known in all that follow. */
static void blocks_follow_one_another(void **state) {
  enum { N = 100000 };
  forged_profile f;
  (void)state;
  forge_profile(&f, &facts);
  for (uint32_t i = 0; i < N; i++) {
    if (i % 1000 == 0) (void)forge_stack(&f, 0, site_f);
    forge_made(&f, LH_TYPE_TABLE, i / 1000 + 1, 56 + i % 3);
  }
  forge_end_profile(&f, 1, 7);
  assert_true(f.size > 4 * LH_PROFILE_BLOCK_BYTES);
  lh_profile *p = open_forged(&f);
  assert_int_equal(lh_profile_about(p)->n_events, N);
  assert_int_equal(lh_profile_about(p)->lost_events, 7);
  assert_int_equal(lh_n_stacks(lh_profile_sites(p)), N / 1000);
  assert_int_equal(replay(p).n, N);
  lh_profile_close(p);
  forge_drop_profile(&f);
}

/* {=== Tables ======================================================================== */

static const lh_profile_count counted = {.stack = 1,
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
static const lh_profile_call called = {.stack = 2,
                                       .calls = 12,
                                       .tail_calls = 3,
                                       .self_ns = 1000,
                                       .total_ns = 5000,
                                       .is_constant = true};

static void forge_aggregate(forged_profile *f) {
  lh_profile_info info = facts;
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

static void tables_are_read_as_written(void **state) {
  forged_profile f;
  size_t n;
  (void)state;
  forge_aggregate(&f);
  forge_end_profile(&f, 10, 0);
  lh_profile *p = open_forged(&f);
  assert_true(lh_profile_about(p)->is_aggregate && lh_profile_about(p)->has_calls);
  const lh_profile_count *counts = lh_profile_counts(p, &n);
  assert_int_equal(n, 3);
  assert_int_equal(counts[0].freed, 9);
  assert_memory_equal(&counts[1], &counted, sizeof counted);
  assert_int_equal(counts[2].type, LH_EVENT_PART);
  const lh_profile_call *calls = lh_profile_calls(p, &n);
  assert_int_equal(n, 2);
  assert_int_equal(calls[1].stack, 2);
  assert_int_equal(calls[1].calls, 12);
  assert_int_equal(calls[1].tail_calls, 3);
  assert_int_equal(calls[1].self_ns, 1000);
  assert_int_equal(calls[1].total_ns, 5000);
  assert_true(calls[1].is_constant);
  lh_profile_close(p);
  forge_drop_profile(&f);
}

/* Calls of an event profile: a first table, events, a second one of two blocks, cut or not. */
static void the_last_whole_table_counts(void **state) {
  (void)state;
  for (int cut = 0; cut < 2; cut++) {
    forged_profile f;
    lh_profile_info info = facts;
    size_t n;
    info.has_calls = true;
    forge_profile(&f, &info);
    (void)forge_stack(&f, forge_stack(&f, 0, site_main), site_f);
    lh_table_begin(&f.to, LH_BLOCK_CALLS);
    forge_call(&f, &(lh_profile_call){.stack = 1, .calls = 1});
    lh_table_end(&f.to);
    forge_made(&f, LH_TYPE_TABLE, 1, 56);
    lh_table_begin(&f.to, LH_BLOCK_CALLS);
    forge_call(&f, &(lh_profile_call){.stack = 1, .calls = 2});
    lh_blocks_next(&f.to, LH_BLOCK_CALLS);
    if (cut) {
      forge_cut_profile(&f);
    } else {
      *f.to.at++ = 0;
      forge_call(&f, &(lh_profile_call){.stack = 2, .calls = 3});
      lh_table_end(&f.to);
      forge_end_profile(&f, 10, 0);
    }
    lh_profile *p = open_forged(&f);
    const lh_profile_call *calls = lh_profile_calls(p, &n);
    assert_int_equal(n, cut ? 1 : 2);
    assert_int_equal(calls[0].calls, cut ? 1 : 2);
    assert_int_equal(lh_profile_about(p)->is_whole, !cut);
    assert_int_equal(replay(p).n, 1);
    lh_profile_close(p);
    forge_drop_profile(&f);
  }
}

/* }=================================================================================== */

/* {=== Cut, and damaged ============================================================== */

static void forge_any(forged_profile *f, int which) {
  if (which == 0) {
    forge_sample(f, &facts);
    lh_blocks_next(&f->to, LH_BLOCK_RECORDS);
    forge_made(f, LH_TYPE_TABLE, 1, 56);
  } else {
    forge_aggregate(f);
  }
  forge_end_profile(f, 900000, 0);
}

/* Of the facts' block, which must be there, and of the blocks after it all that is whole. */
static void cut_anywhere(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    size_t facts_end = LH_PROFILE_HEADER_BYTES + LH_PROFILE_BLOCK_HEAD +
                       lh_load32(f.data + LH_PROFILE_HEADER_BYTES);
    uint64_t last_read = facts_end, last_events = 0;
    for (size_t size = 1; size < f.size; size++) {
      lh_profile *p;
      lh_error error;
      uint8_t *cut = malloc(size); /* of exactly that size, for the sanitizer */
      assert_non_null(cut);
      memcpy(cut, f.data, size);
      int code = lh_profile_open_memory(cut, size, "f", &p, &error);
      assert_int_equal(code, size < facts_end ? LH_EDAMAGED : LH_OK);
      if (code != LH_OK) {
        assert_int_equal(error.offset, size);
        assert_string_equal(error.message, "'f' was cut before its first block ends");
      } else {
        const lh_profile_info *about = lh_profile_about(p);
        assert_false(about->is_whole);
        assert_int_equal(about->file_bytes, size);
        assert_in_range(about->read_bytes, last_read, size);
        assert_in_range(about->n_events, last_events, 11);
        assert_int_equal(replay(p).n, about->n_events);
        last_read = about->read_bytes;
        last_events = about->n_events;
      }
      lh_profile_close(p);
      free(cut);
      n_cases++;
    }
    assert_int_equal(last_events, which == 0 ? 11 : 0);
    forge_drop_profile(&f);
  }
  printf("faults: profiles cut at every byte: %zu cases, %zu survived\n", n_cases, n_cases);
}

static void any_bit_flipped(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    for (size_t bit = 0; bit < f.size * 8; bit++) {
      lh_profile *p;
      lh_error error;
      f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      int code = lh_profile_open_memory(f.data, f.size, "f", &p, &error);
      assert_null(p);
      assert_int_equal(code, bit < 64                    ? LH_EFOREIGN
                             : lh_load32(f.data + 8) > 1 ? LH_EVERSION
                                                         : LH_EDAMAGED);
      if (code == LH_EDAMAGED && error.offset > bit / 8) fail_msg("bit %zu", bit);
      f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
      n_cases++;
    }
    forge_drop_profile(&f);
  }
  printf("faults: every bit of profiles flipped: %zu cases, %zu survived\n", n_cases, n_cases);
}

/* Whatever a block says, no more memory than a multiple of its size. */
static void open_any(const uint8_t *data, size_t size) {
  enum { CONSTANT = 128 << 10 };
  lh_profile *p;
  (void)lh_test_peak_bytes();
  if (lh_profile_open_memory(data, size, "f", &p, NULL) == LH_OK) {
    seen s = {.n = 0, .most = SIZE_MAX};
    assert_int_equal(lh_profile_replay(p, see, &s, NULL), LH_OK);
    assert_int_equal(s.n, lh_profile_about(p)->n_events);
    lh_profile_close(p);
  }
  assert_in_range(lh_test_peak_bytes(), 1, 64 * size + CONSTANT);
}

static void any_byte_changed_with_right_checksums(void **state) {
  size_t n_cases = 0;
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    forge_any(&f, which);
    uint8_t *copy = malloc(f.size);
    assert_non_null(copy);
    for (size_t at = 0; at < f.size; at++) {
      for (unsigned byte = 0; byte < 256; byte++) {
        memcpy(copy, f.data, f.size);
        copy[at] = (uint8_t)byte;
        forge_seal_profile(copy, f.size);
        open_any(copy, f.size);
        n_cases++;
      }
    }
    free(copy);
    forge_drop_profile(&f);
  }
  printf("faults: every byte of profiles changed, right checksums: %zu cases, %zu survived\n",
         n_cases, n_cases);
}

/* }=================================================================================== */

/* {=== Lies ========================================================================== */

static void expect_failure(const forged_profile *f, int code, uint64_t offset,
                           const char *message) {
  lh_error error = {0};
  lh_profile *p;
  assert_int_equal(lh_profile_open_memory(f->data, f->size, "f", &p, &error), code);
  assert_null(p);
  assert_string_equal(error.message, message);
  assert_int_equal(error.offset, offset);
}

/* A block of records, counts or calls with these bytes, behind the definitions of two stacks. */
static void expect_fault(unsigned kind, const uint8_t *bytes, size_t n, size_t at,
                         const char *fault) {
  forged_profile f;
  char message[256];
  lh_profile_info info = facts;
  info.is_aggregate = kind == LH_BLOCK_COUNTS;
  info.has_calls = kind == LH_BLOCK_CALLS;
  forge_profile(&f, &info);
  (void)forge_stack(&f, forge_stack(&f, 0, site_main), site_f);
  lh_blocks_next(&f.to, kind);
  memcpy(f.to.at, bytes, n);
  f.to.at += n;
  uint64_t offset = f.to.offset + LH_PROFILE_BLOCK_HEAD + at;
  forge_cut_profile(&f);
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: %s",
                 (unsigned long long)offset, fault);
  expect_failure(&f, LH_EDAMAGED, offset, message);
  forge_drop_profile(&f);
}

#define EXPECT_FAULT(kind, at, fault, ...) \
  expect_fault(kind, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), at, fault)

static void wrong_contents_are_told(void **state) {
  enum { R = LH_BLOCK_RECORDS, COUNTS = LH_BLOCK_COUNTS, CALLS = LH_BLOCK_CALLS };
  enum { TABLE = 5 << 2, ONE = 1 << 6, WHOLE = LH_TABLE_FIRST | LH_TABLE_LAST };
  static const char order[] = "the rows of a table are not in order";
  (void)state;
  EXPECT_FAULT(R, 0, "it defines nothing known", 0);
  EXPECT_FAULT(R, 0, "it defines nothing known", 6);
  EXPECT_FAULT(R, 1, "a name is not defined", LH_DEFINE_FUNCTION, 9, 0, 0);
  EXPECT_FAULT(R, 0, "it is unknown", 3 | TABLE | ONE, 1);
  EXPECT_FAULT(R, 0, "it is unknown", 11 << 2 | ONE, 1);
  EXPECT_FAULT(R, 0, "its stack is not defined", 0x80 | TABLE | ONE, 1, 1);
  EXPECT_FAULT(R, 1, "it runs over the end", TABLE | ONE);
  EXPECT_FAULT(R, 1, "a block is bigger than an address space", TABLE | ONE, 0xFF, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0xFF, 0xFF, 0x7F);
  EXPECT_FAULT(R, 2, "a stack is not defined", LH_RECORD_RESIZE | TABLE | ONE, 1, 3, 1, 1);
  EXPECT_FAULT(R, 2, "its age is too great", LH_RECORD_FREE | TABLE | ONE, 1, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0xFF, 0x7F);
  EXPECT_FAULT(R, 20, "the sizes add up to more than an address space has", TABLE | ONE, 0x80, 0x80,
               0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, TABLE | ONE, 0x80, 0x80, 0x80, 0x80, 0x80,
               0x80, 0x80, 0x80, 1);
  EXPECT_FAULT(R, 11, "the time is too late", LH_RECORD_TIME, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF, 0x7F, LH_RECORD_TIME, 1);
  EXPECT_FAULT(COUNTS, 0, "a table begins within a table, or has no beginning", 0);
  EXPECT_FAULT(COUNTS, 0, "a table begins within a table, or has no beginning", 4);
  EXPECT_FAULT(COUNTS, 1, "a stack is not defined", WHOLE, 3);
  EXPECT_FAULT(COUNTS, 2, "a type is unknown", WHOLE, 1, 3);
  EXPECT_FAULT(COUNTS, 2, "a type is unknown", WHOLE, 1, 21);
  EXPECT_FAULT(COUNTS, 14, order, WHOLE, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5);
  EXPECT_FAULT(COUNTS, 14, order, WHOLE, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 6);
  EXPECT_FAULT(COUNTS, 13, "an age is unknown", WHOLE, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80,
               0x80, 0x80, 8);
  EXPECT_FAULT(CALLS, 1, order, WHOLE, 0, 1, 0, 0, 0, 0);
  EXPECT_FAULT(CALLS, 1, "it has more tail calls than calls", WHOLE, 1, 1, 2, 0, 0, 0);
  EXPECT_FAULT(CALLS, 6, "a flag is neither 0 nor 1", WHOLE, 1, 1, 0, 0, 0, 2);
}

static void expect_misplaced(unsigned kind, const char *fault) {
  forged_profile f;
  char message[256];
  forge_profile(&f, &facts);
  lh_blocks_next(&f.to, kind);
  *f.to.at++ = 1;
  uint64_t offset = f.to.offset + 4;
  forge_cut_profile(&f);
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: %s",
                 (unsigned long long)offset, fault);
  expect_failure(&f, LH_EDAMAGED, offset, message);
  forge_drop_profile(&f);
}

static void blocks_have_their_place(void **state) {
  forged_profile f;
  (void)state;
  expect_misplaced(LH_BLOCK_FACTS, "its facts are not its first block");
  expect_misplaced(0, "a block is of an unknown kind");
  expect_misplaced(6, "a block is of an unknown kind");
  expect_misplaced(LH_BLOCK_COUNTS, "it counts, and is no aggregate");
  expect_misplaced(LH_BLOCK_CALLS, "it has calls, and does not say so");
  forge_sample(&f, &facts);
  forge_end_profile(&f, 900000, 0);
  uint64_t end = f.size;
  lh_blocks_next(&f.to, LH_BLOCK_RECORDS);
  forge_time(&f, 800000);
  forge_cut_profile(&f);
  char message[128];
  (void)snprintf(message, sizeof message, "'f' is damaged at byte %llu: it goes on after its end",
                 (unsigned long long)end + 4);
  expect_failure(&f, LH_EDAMAGED, end + 4, message);
  forge_drop_profile(&f);
}

static void what_is_no_profile_is_told(void **state) {
  forged_profile f = {.data = (uint8_t[]){"\x89LHEAP\r\n"}, .size = 0};
  uint8_t newer[16] = LH_PROFILE_MAGIC "\2";
  lh_error error;
  lh_profile *p;
  (void)state;
  expect_failure(&f, LH_EFOREIGN, 0, "'f' is empty, not a profile");
  f.size = 8;
  expect_failure(&f, LH_EFOREIGN, 0, "'f' is not a profile of luaheap");
  f.data = newer;
  f.size = sizeof newer;
  expect_failure(&f, LH_EVERSION, 0,
                 "'f' is a profile of format version 2: it takes a newer luaheap, this one reads "
                 "up to version 1");
  assert_int_equal(lh_profile_open("/nonexistent/p", &p, &error), LH_EIO);
  assert_string_equal(error.message, "cannot open '/nonexistent/p': No such file or directory");
  assert_int_equal(lh_profile_open("/dev/null", &p, &error), LH_EIO);
  assert_int_equal(lh_profile_open("/tmp", &p, &error), LH_EIO);
  assert_string_equal(error.message, "cannot read '/tmp': Is a directory");
}

/* }=================================================================================== */

/* {=== The file, and memory ========================================================== */

static void a_file_may_change_while_it_is_open(void **state) {
  forged_profile f;
  lh_profile *p;
  lh_error error;
  char path[] = "/tmp/test_profile-XXXXXX";
  int fd = mkstemp(path);
  (void)state;
  assert_true(fd >= 0);
  forge_any(&f, 0);
  forge_save_profile(&f, path);
  assert_int_equal(lh_profile_open(path, &p, NULL), LH_OK);
  assert_int_equal(replay(p).n, 11);
  assert_int_equal(pwrite(fd, "x", 1, (off_t)f.size - 40), 1);
  seen s = {.n = 0, .most = SIZE_MAX};
  assert_int_equal(lh_profile_replay(p, see, &s, &error), LH_EDAMAGED);
  assert_int_equal(ftruncate(fd, 60), 0);
  assert_int_equal(lh_profile_replay(p, see, &s, &error), LH_EIO);
  assert_int_equal(error.os_errno, EAGAIN);
  lh_profile_close(p);
  forge_drop_profile(&f);
  assert_int_equal(close(fd), 0);
  assert_int_equal(unlink(path), 0);
}

static void memory_runs_out(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    forged_profile f;
    lh_error error = {0};
    lh_profile *p;
    uint64_t n = 1;
    forge_any(&f, which);
    for (;; n++) {
      (void)lh_test_fail_allocation(n);
      if (lh_profile_open_memory(f.data, f.size, "f", &p, &error) == LH_OK) break;
      assert_int_equal(error.code, LH_EMEMORY);
      assert_null(p);
      assert_in_range(n, 1, 100);
    }
    (void)lh_test_fail_allocation(0);
    assert_in_range(n, 8, 100);
    lh_profile_close(p);
    forge_drop_profile(&f);
  }
}

/* The shortest rows, which take the most memory for their bytes, and shortest definitions. */
static void memory_is_bounded_by_the_bytes(void **state) {
  enum { N = 60000 };
  forged_profile f;
  lh_profile_info info = facts;
  (void)state;
  info.is_aggregate = true;
  forge_profile(&f, &info);
  for (int i = 0; i < N / 15; i++) (void)forge_stack(&f, 0, site_f);
  lh_table_begin(&f.to, LH_BLOCK_COUNTS);
  for (uint32_t i = 0; i < N / 15; i++)
    for (unsigned type = 4; type < 11; type++)
      forge_count(&f, &(lh_profile_count){.stack = i, .type = lh_profile_type(type)});
  lh_table_end(&f.to);
  forge_end_profile(&f, 1, 0);
  open_any(f.data, f.size);
  forge_drop_profile(&f);
}

/* }=================================================================================== */

/* Written by version 1; it must open for ever. */
static void fixture_of_version_1_opens(void **state) {
  lh_profile *p;
  lh_error error = {0};
  size_t n;
  (void)state;
  if (lh_profile_open("tests/profile/fixtures/version1", &p, &error) != LH_OK)
    fail_msg("%s", error.message);
  const lh_profile_info *about = lh_profile_about(p);
  assert_true(about->is_whole && about->has_calls);
  assert_string_equal(about->program, "lua5.4 app.lua");
  assert_int_equal(about->n_events, 10);
  seen s = replay(p);
  assert_int_equal(s.events[3].old_bytes, 64);
  assert_int_equal(lh_profile_calls(p, &n)[0].total_ns, 5000);
  assert_int_equal(n, 1);
  assert_string_equal(lh_site_of(lh_profile_sites(p), 2)->source, "@app.lua");
  lh_profile_close(p);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_read_as_written),
                                     cmocka_unit_test(samples_have_weights),
                                     cmocka_unit_test(blocks_follow_one_another),
                                     cmocka_unit_test(tables_are_read_as_written),
                                     cmocka_unit_test(the_last_whole_table_counts),
                                     cmocka_unit_test(cut_anywhere),
                                     cmocka_unit_test(any_bit_flipped),
                                     cmocka_unit_test(any_byte_changed_with_right_checksums),
                                     cmocka_unit_test(wrong_contents_are_told),
                                     cmocka_unit_test(blocks_have_their_place),
                                     cmocka_unit_test(what_is_no_profile_is_told),
                                     cmocka_unit_test(a_file_may_change_while_it_is_open),
                                     cmocka_unit_test(memory_runs_out),
                                     cmocka_unit_test(memory_is_bounded_by_the_bytes),
                                     cmocka_unit_test(fixture_of_version_1_opens)};
  if (argc == 2) { /* makes the fixture */
    forged_profile f;
    lh_profile_info info = facts;
    info.has_calls = true;
    forge_sample(&f, &info);
    lh_table_begin(&f.to, LH_BLOCK_CALLS);
    forge_call(&f, &called);
    lh_table_end(&f.to);
    forge_end_profile(&f, 800000, 0);
    forge_save_profile(&f, argv[1]);
    forge_drop_profile(&f);
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
