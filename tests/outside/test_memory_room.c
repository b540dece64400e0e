/*
** test_memory_room.c - how much memory may still be taken: of the machine, of both versions of
** cgroups and of all cgroups around; and a copy that would take more is refused before it is made.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/outside.h"
#include "subject.h"

/* ==== A forged machine ============================================================== */

#define MACHINE "machine"

/* A file, with the folders above it. */
static void put_file(const char *name, const char *text) {
  char path[256];
  (void)snprintf(path, sizeof path, MACHINE "%s", name);
  for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void remove_machine(void) {
  assert_int_equal(system("rm -r " MACHINE), 0); /* NOLINT: no word of it is from elsewhere */
}

static void has_room(uint64_t bytes, bool is_limited) {
  lh_room room = lh_find_room(MACHINE);
  assert_int_equal(room.bytes, bytes);
  assert_int_equal(room.is_limited, is_limited);
}

/* ==================================================================================== */

static void test_of_the_machine(void **state) {
  (void)state;
  has_room(UINT64_MAX, false);
  put_file("/proc/meminfo", "MemTotal:  9000 kB\nMemFree:  100 kB\nMemAvailable:    5000 kB\n");
  has_room(5000 * 1024, false);
  put_file("/proc/self/cgroup", "no line of this sort\n1:cpu:/a\n0::/\n");
  has_room(5000 * 1024, false);
  remove_machine();
}

#define V2 "/sys/fs/cgroup"
static void test_of_cgroups(void **state) {
  (void)state;
  put_file("/proc/meminfo", "MemAvailable:    5000 kB\n");
  put_file("/proc/self/cgroup", "0::/a/b\n");
  put_file(V2 "/a/b/memory.max", "max\n");
  put_file(V2 "/a/b/memory.current", "3000000\n");
  has_room(5000 * 1024, false);
  put_file(V2 "/a/b/memory.max", "4000000\n");
  has_room(1000000, true);
  put_file(V2 "/a/b/memory.stat",
           "anon 1\nactive_file 200000\ninactive_file_x 7\ninactive_file 3000\n");
  has_room(1203000, true);
  put_file(V2 "/a/memory.max", "3100000\n"); /* the one around has less left */
  put_file(V2 "/a/memory.current", "3099000\n");
  has_room(1000, true);
  put_file(V2 "/memory.max", "5\n"); /* a container's own mount; more is used than may be */
  put_file(V2 "/memory.current", "10\n");
  has_room(0, true);
  put_file(V2 "/memory.stat", "inactive_file 100\n");
  has_room(5, true);
  remove_machine();
}

/* Not the machine's, and not this process's. */
static void test_of_another_process(void **state) {
  (void)state;
  put_file("/proc/meminfo", "MemAvailable:    5 kB\n");
  put_file("/proc/self/cgroup", "0::/a\n");
  put_file("/proc/4711/cgroup", "0::/b\n");
  put_file(V2 "/a/memory.max", "1\n");
  put_file(V2 "/a/memory.current", "1\n");
  assert_true(lh_find_room_of(MACHINE, 4711).bytes == UINT64_MAX);
  put_file(V2 "/b/memory.max", "4000000\n");
  put_file(V2 "/b/memory.current", "3000000\n");
  assert_int_equal(lh_find_room_of(MACHINE, 4711).bytes, 1000000);
  remove_machine();
}

#define V1 "/sys/fs/cgroup/memory"
static void test_of_the_first_version(void **state) {
  (void)state;
  put_file("/proc/meminfo", "MemAvailable:    5000 kB\n");
  put_file("/proc/self/cgroup", "5:memory_x:/other\n4:cpu,memory:/a\n0::/\n");
  put_file(V1 "/other/memory.limit_in_bytes", "1\n");
  put_file(V1 "/other/memory.usage_in_bytes", "1\n");
  put_file(V1 "/memory.limit_in_bytes", "9223372036854771712\n");
  put_file(V1 "/memory.usage_in_bytes", "1\n");
  has_room(5000 * 1024, false);
  put_file(V1 "/a/memory.limit_in_bytes", "2000000\n");
  put_file(V1 "/a/memory.usage_in_bytes", "1500000\n");
  put_file(V1 "/a/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
  has_room(500100, true);
  remove_machine();
}

/* ==== A copy that is too big ======================================================== */

static lh_room forged;

lh_room __real_lh_find_room(const char *root);
lh_room __wrap_lh_find_room(const char *root);

lh_room __wrap_lh_find_room(const char *root) {
  return *root ? __real_lh_find_room(root) : forged;
}

#define PLACE ((char *)0x200000000000)
enum { MIB = 1 << 20 };

static void write_a_mib(const subject *self) {
  enum { KIND = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE };
  if (mmap(PLACE, MIB, PROT_READ | PROT_WRITE, KIND, -1, 0) != PLACE) _exit(1);
  (void)madvise(PLACE, MIB, MADV_NOHUGEPAGE);
  memset(PLACE, 1, MIB);
  subject_wait(self);
}

static int reserve(const lh_target *target, lh_room room, lh_error *error) {
  lh_mirror *mirror;
  lh_memory memory = target->memory;
  memory.regions = (lh_memory_region *)(uintptr_t)lh_region_at(&memory, (uintptr_t)PLACE);
  memory.n = 1;
  forged = room;
  int rc = lh_mirror_reserve(&memory, &mirror, error);
  lh_mirror_free(mirror);
  return rc;
}

static void test_a_copy_that_is_too_big(void **state) {
  (void)state;
  lh_target *target;
  lh_error error;
  char expected[256];
  subject s = subject_start(write_a_mib, NULL);
  assert_int_equal(lh_open_process(s.id, NULL, &target, &error), 0);
  assert_int_equal(reserve(target, (lh_room){.bytes = MIB}, &error), 0);
  assert_int_equal(reserve(target, (lh_room){.bytes = MIB - 1, .is_limited = true}, &error),
                   LH_EMEMORY);
  (void)snprintf(expected, sizeof expected,
                 "a copy of the process's memory takes 1.0 MB, and the memory limit of this cgroup "
                 "leaves only 1.0 MB: raise the limit, or make a core file (gcore %d), of which no "
                 "copy is needed",
                 (int)s.id);
  assert_string_equal(error.message, expected);
  assert_int_equal(reserve(target, (lh_room){.bytes = 100000}, &error), LH_EMEMORY);
  assert_non_null(strstr(error.message, "takes 1.0 MB, and this machine has only 97.7 KB: make "));
  lh_target_free(target);
  subject_end(&s);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_the_machine),         cmocka_unit_test(test_of_cgroups),
      cmocka_unit_test(test_of_another_process),     cmocka_unit_test(test_of_the_first_version),
      cmocka_unit_test(test_a_copy_that_is_too_big),
  };
  return folder_run(tests);
}
