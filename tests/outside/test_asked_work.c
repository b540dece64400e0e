/*
** test_asked_work.c - how much work a target can ask for: it forges what is looked at, and whoever
** attaches answers within bounds that hold for the memory that the target has really written.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "host_program.h"
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
                                     cmocka_unit_test(a_list_without_an_end),
                                     cmocka_unit_test(a_function_that_computes)};
  return folder_run(tests);
}
