/*
** test_profile.c - profiles are read as they were written; the file may change, and memory run out.
*/
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_profile.h"

typedef struct seen {
  lh_event events[16];
  size_t n, most;
} seen;

static bool see(const lh_event *event, void *data) {
  seen *s = data;
  if (s->n < 16) s->events[s->n] = *event;
  return ++s->n < s->most;
}

static lh_profile *open_forged_profile(const forged_profile *f) {
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
  forge_sample(&f, &sample_facts);
  forge_end_profile(&f, 800000, 0);
  lh_profile *p = open_forged_profile(&f);
  const lh_profile_info *about = lh_profile_about(p);
  assert_string_equal(about->program, "lua5.4 app.lua");
  assert_string_equal(about->release, "5.4.4");
  assert_int_equal(about->process_id, 4711);
  assert_int_equal(about->state_id, sample_facts.state_id);
  assert_int_equal(about->start_unix_ns, sample_facts.start_unix_ns);
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
  lh_profile_info info = sample_facts;
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
  lh_profile *p = open_forged_profile(&f);
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
  forge_profile(&f, &sample_facts);
  for (uint32_t i = 0; i < N; i++) {
    if (i % 1000 == 0) (void)forge_stack(&f, 0, site_f);
    forge_made(&f, LH_TYPE_TABLE, i / 1000 + 1, 56 + i % 3);
  }
  forge_end_profile(&f, 1, 7);
  assert_true(f.size > 4 * LH_PROFILE_BLOCK_BYTES);
  lh_profile *p = open_forged_profile(&f);
  assert_int_equal(lh_profile_about(p)->n_events, N);
  assert_int_equal(lh_profile_about(p)->lost_events, 7);
  assert_int_equal(lh_n_stacks(lh_profile_sites(p)), N / 1000);
  assert_int_equal(replay(p).n, N);
  lh_profile_close(p);
  forge_drop_profile(&f);
}

/* ==== Tables ======================================================================== */

static void tables_are_read_as_written(void **state) {
  forged_profile f;
  size_t n;
  (void)state;
  forge_aggregate(&f);
  forge_end_profile(&f, 10, 0);
  lh_profile *p = open_forged_profile(&f);
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
    lh_profile_info info = sample_facts;
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
    lh_profile_blocks_next(&f.to, LH_BLOCK_CALLS);
    if (cut) {
      forge_cut_profile(&f);
    } else {
      *f.to.at++ = 0;
      forge_call(&f, &(lh_profile_call){.stack = 2, .calls = 3});
      lh_table_end(&f.to);
      forge_end_profile(&f, 10, 0);
    }
    lh_profile *p = open_forged_profile(&f);
    const lh_profile_call *calls = lh_profile_calls(p, &n);
    assert_int_equal(n, cut ? 1 : 2);
    assert_int_equal(calls[0].calls, cut ? 1 : 2);
    assert_int_equal(lh_profile_about(p)->is_whole, !cut);
    assert_int_equal(replay(p).n, 1);
    lh_profile_close(p);
    forge_drop_profile(&f);
  }
}

/* ==== The file, and memory ========================================================== */

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

static void memory_runs_out_for_a_reader(void **state) {
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

/* ==================================================================================== */

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
                                     cmocka_unit_test(a_file_may_change_while_it_is_open),
                                     cmocka_unit_test(memory_runs_out_for_a_reader),
                                     cmocka_unit_test(fixture_of_version_1_opens)};
  if (argc == 2) { /* makes the fixture */
    forged_profile f;
    lh_profile_info info = sample_facts;
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
