/*
** test_asked_work.c - how much work a target can ask for: it forges what is looked at, and whoever
** attaches answers within bounds that hold for the memory that the target has really written.
*/
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "forged_core.h"
#include "host_program.h"
#include "outside/memory.h"
#include "outside/outside.h"
#include "outside/registers.h"

/* Processor time, of children that have ended, too. */
static double seconds_spent(void) {
  const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  double seconds = 0;
  for (size_t i = 0; i < 2; i++) {
    struct rusage is;
    assert_int_equal(getrusage(whose[i], &is), 0);
    seconds += (double)(is.ru_utime.tv_sec + is.ru_stime.tv_sec) +
               (double)(is.ru_utime.tv_usec + is.ru_stime.tv_usec) / 1e6;
  }
  return seconds;
}

/* The most that any of the attaches below may take of a processor: each takes far less. */
static const double MOST_SECONDS = 10;

/* Of the first state that is found, if one is. */
static int attach(const char *kind, lh_outside_request *request, lh_error *error) {
  lh_target *target;
  const lh_found_state *states = NULL;
  size_t n = 0;
  double before = seconds_spent();
  pid_t host = host_start("forger_host", kind);
  if (lh_open_process(host, NULL, &target, error) < 0) fail_msg("%s", error->message);
  int rc = lh_find_states(target, &states, &n, error);
  if (rc == LH_OK) {
    request->state = states[0].address;
    rc = lh_take_outside(target, request, 1, NULL, NULL, error);
  }
  lh_target_free(target);
  host_program_end(host);
  assert_true(seconds_spent() - before < MOST_SECONDS);
  return rc;
}

static void is_refused(const char *kind) {
  lh_error error = {0};
  lh_outside_request request = {.path = "a"};
  assert_int_equal(attach(kind, &request, &error), LH_EBUSY);
  if (error.os_errno != 0) fail_msg("%s", error.message);
  assert_int_equal(access("a", F_OK), -1);
}

static void a_string_that_was_never_written(void **state) {
  (void)state;
  is_refused("string");
}

/* ==== A core of it ================================================================== */

static int write_pages(const lh_target *target, const forged_core *c) {
  lh_pages pages;
  lh_span span;
  int fd = open("core", O_WRONLY | O_CLOEXEC);
  const Elf64_Phdr *last = &c->segments[c->n_segments - 1];
  assert_int_equal(ftruncate(fd, (off_t)(last->p_offset + last->p_filesz)), 0);
  lh_pages_begin(&pages, &target->memory);
  while (lh_pages_next(&pages, &span)) {
    static char bytes[LH_PAGES_AT_ONCE * 4096];
    size_t n = (size_t)(span.end - span.start), i = 0;
    while (span.start >= c->segments[i].p_vaddr + c->segments[i].p_memsz) i++;
    assert_true(n <= sizeof bytes && target->memory.read(&target->memory, span.start, bytes, n));
    uint64_t at = c->segments[i].p_offset + (span.start - c->segments[i].p_vaddr);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), n);
  }
  lh_pages_end(&pages);
  return close(fd);
}

/* What the program never wrote is a hole: a file of 64 GB that takes 1 MB of the disk. */
static void make_core(const char *kind) {
  static forged_core c;
  lh_target *target;
  lh_error error;
  pid_t host = host_start("forger_host", kind);
  if (lh_open_process(host, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  forge_core(&c);
  for (size_t i = 0; i < target->memory.n; i++) {
    const lh_memory_region *r = &target->memory.regions[i];
    if (!lh_region_is_mirrored(r)) continue;
    forge_segment(&c, r->start, r->end - r->start, PF_R | PF_W, NULL, 0);
  }
  forge_core_end(&c);
  uint64_t at = FORGED_BYTES;
  for (size_t i = 0; i < c.n_segments; at += c.segments[i++].p_filesz) {
    c.segments[i].p_filesz = c.segments[i].p_memsz;
    c.segments[i].p_offset = at;
  }
  memcpy(c.bytes + c.table_at + sizeof *c.segments, c.segments, c.n_segments * sizeof *c.segments);
  forge_core_file(&c, "core");
  assert_int_equal(write_pages(target, &c), 0);
  lh_target_free(target);
  host_program_end(host);
}

/* Its contents would be hashed, for minutes. */
static void a_string_in_a_hole_of_a_core(void **state) {
  (void)state;
  lh_error error = {0};
  lh_target *target;
  const lh_found_state *states;
  lh_outside_request request = {.path = "a"};
  size_t n;
  make_core("string");
  if (lh_open_core("core", &target, &error) < 0) fail_msg("%s", error.message);
  if (lh_find_states(target, &states, &n, &error) < 0) fail_msg("%s", error.message);
  request.state = states[0].address;
  assert_int_equal(lh_take_outside(target, &request, 1, NULL, NULL, &error), LH_EDAMAGED);
  assert_int_equal(access("a", F_OK), -1);
  lh_target_free(target);
  assert_int_equal(unlink("core"), 0);
}

/* ==================================================================================== */

/* It would be written to the end of the limit for processor time, and of the disk. */
static void a_list_without_an_end(void **state) {
  (void)state;
  is_refused("circle");
}

/* It comes to no place where Lua is known to be amid no change, but stays where it is. */
static void a_function_that_computes(void **state) {
  (void)state;
  lh_error error = {0};
  lh_outside_request request = {.path = "a"};
  if (attach("compute", &request, &error) < 0) fail_msg("%s", error.message);
  assert_int_equal(request.unaccounted_bytes, 0);
  assert_int_equal(request.is_in_doubt, !LH_CAN_INJECT);
  assert_int_equal(unlink("a"), 0);
}

int main(int argc, char **arguments) {
  (void)argc;
  lh_reexec_elsewhere(arguments);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_string_that_was_never_written),
                                     cmocka_unit_test(a_string_in_a_hole_of_a_core),
                                     cmocka_unit_test(a_list_without_an_end),
                                     cmocka_unit_test(a_function_that_computes)};
  return folder_run(tests);
}
