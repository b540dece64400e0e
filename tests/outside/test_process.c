/*
** test_process.c - a process as it is seen from outside: who it is, what it has mapped, its memory;
** also one that changes or ends meanwhile.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/outside.h"
#include "subject.h"

#define KIB ((size_t)1024)

static lh_target *open_subject(const subject *s) {
  lh_target *target;
  lh_error error;
  if (lh_open_process(s->id, NULL, &target, &error) < 0) fail_msg("%s", error.message);
  return target;
}

static void refresh(lh_target *target) {
  lh_error error;
  if (lh_process_refresh(target, &error) < 0) fail_msg("%s", error.message);
}

static bool reads(const lh_target *target, const void *address, void *out, size_t n) {
  return target->memory.read(&target->memory, (uintptr_t)address, out, n);
}

static const lh_memory_region *region_of(const lh_target *target, const void *address) {
  return lh_region_at(&target->memory, (uintptr_t)address);
}

static char *map(size_t bytes, int access, int kind) {
  char *memory = mmap(NULL, bytes, access, kind | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(1);
  return memory;
}

/* ==== Who it is ===================================================================== */

static void only_wait(const subject *self) {
  for (;;) subject_wait(self);
}

static void test_who_it_is(void **state) {
  (void)state;
  char path[PATH_MAX] = "";
  subject s = subject_start(only_wait, NULL);
  lh_target *target = open_subject(&s);
  lh_target_info info = lh_describe_target(target);
  assert_false(info.is_core);
  assert_int_equal(info.process_id, s.id);
  assert_non_null(strstr(info.program, "test_process"));
  assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  assert_string_equal(info.executable, path);
  assert_int_equal(info.signal, 0);
  assert_null(info.doubt);
  /* A forked child has those of its parent. */
  assert_memory_equal(target->random, (const void *)getauxval(AT_RANDOM), 16);
  lh_target_free(target);
  subject_end(&s);
}

static void test_namespace_of_its_own(void **state) {
  (void)state;
  int before = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (before < 0 || unshare(CLONE_NEWPID)) {
    print_message("skipped: no namespace of processes can be made here\n");
    (void)close(before);
    skip();
  }
  subject s = subject_start(only_wait, NULL);
  assert_int_equal(setns(before, CLONE_NEWPID), 0);
  (void)close(before);
  lh_target *target = open_subject(&s);
  assert_int_equal(target->process_id, s.id);
  assert_int_equal(lh_describe_target(target).process_id, 1);
  lh_target_free(target);
  subject_end(&s);
}

/* The same for a state wherever it is asked, another for each thing that makes it another state. */
static void test_state_id(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  lh_target *target = open_subject(&s);
  uint64_t id = lh_outside_state_id(target, 0x1000, 7);
  assert_int_equal(id, lh_outside_state_id(target, 0x1000, 7));
  assert_int_not_equal(id, lh_outside_state_id(target, 0x1010, 7));
  assert_int_not_equal(id, lh_outside_state_id(target, 0x1000, 8));
  target->own_process_id++;
  assert_int_not_equal(id, lh_outside_state_id(target, 0x1000, 7));
  target->own_process_id--;
  target->random[15] ^= 1;
  assert_int_not_equal(id, lh_outside_state_id(target, 0x1000, 7));
  lh_target_free(target);
  subject_end(&s);
}

/* ==== What is mapped ================================================================ */

typedef struct kinds {
  char *writable, *hidden, *read_only, *shared, *file;
} kinds;

static const char odd_name[] = "a file\nof two lines";

static void map_kinds(const subject *self) {
  kinds *k = self->shared;
  k->writable = map(64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  k->hidden = map(64 * KIB, PROT_NONE, MAP_PRIVATE);
  k->read_only = map(64 * KIB, PROT_READ, MAP_PRIVATE);
  k->shared = map(64 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED);
  int fd = open(odd_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, 128 * KIB)) _exit(1);
  k->file = mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 64 * KIB);
  (void)unlink(odd_name);
  subject_wait(self);
}

static void test_regions(void **state) {
  (void)state;
  kinds *k = subject_share(sizeof *k);
  subject s = subject_start(map_kinds, k);
  lh_target *target = open_subject(&s);
  for (size_t i = 1; i < target->memory.n; i++)
    assert_true(target->memory.regions[i - 1].end <= target->memory.regions[i].start);
  assert_true(lh_region_is_mirrored(region_of(target, k->writable)));
  assert_true(lh_region_is_mirrored(region_of(target, k->writable + 64 * KIB - 1)));
  assert_false(lh_region_is_mirrored(region_of(target, k->hidden)));
  assert_false(lh_region_is_mirrored(region_of(target, k->read_only)));
  assert_false(lh_region_is_mirrored(region_of(target, k->shared)));
  assert_true(lh_region_is_mirrored(region_of(target, k->file)));
  assert_int_equal(region_of(target, k->file)->file_offset, 64 * KIB);
  const char *path = region_of(target, k->file)->path;
  assert_non_null(strstr(path, odd_name));
  assert_non_null(strstr(path, " (deleted)"));
  assert_true(region_of(target, (void *)(uintptr_t)only_wait)->access & LH_REGION_EXECUTE);
  assert_null(region_of(target, NULL));
  assert_true(lh_describe_target(target).private_bytes >= 128 * KIB);
  lh_target_free(target);
  subject_end(&s);
}

enum { MANY = 60000 };

typedef struct many {
  char *memory;
  bool is_refused;
} many;

/* Every other page is of another kind, so that none are put together. */
static void map_many(const subject *self) {
  char *memory = map(MANY * 4 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  many *m = self->shared;
  for (size_t i = 0; i < MANY; i += 2) {
    if (mprotect(memory + i * 4 * KIB, 4 * KIB, PROT_NONE)) m->is_refused = true;
  }
  m->memory = memory;
  subject_wait(self);
}

static void test_many_regions(void **state) {
  (void)state;
  many *m = subject_share(sizeof *m);
  subject s = subject_start(map_many, m);
  if (m->is_refused) {
    print_message("skipped: the system allows fewer mappings (vm.max_map_count)\n");
    subject_end(&s);
    skip();
  }
  lh_target *target = open_subject(&s);
  for (size_t i = 0; i < MANY; i++) {
    const lh_memory_region *region = region_of(target, m->memory + i * 4 * KIB);
    assert_non_null(region);
    assert_int_equal(lh_region_is_mirrored(region), i % 2);
  }
  lh_target_free(target);
  subject_end(&s);
}

/* ==== Memory, and changes =========================================================== */

static void change(const subject *self) {
  char **memory = self->shared;
  *memory = map(64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  for (size_t i = 0; i < 64 * KIB; i++) (*memory)[i] = (char)(i * 7);
  subject_wait(self);
  (void)munmap(*memory + 32 * KIB, 32 * KIB);
  subject_wait(self);
  (void)munmap(*memory, 32 * KIB);
  *memory = map(256 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  subject_wait(self);
}

static bool read_directly(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  return lh_process_read(memory->process_id, address, out, n);
}

static void expect_memory_that_goes(bool is_direct) {
  static char copy[64 * KIB];
  char **memory = subject_share(sizeof *memory);
  subject s = subject_start(change, memory);
  lh_target *target = open_subject(&s);
  target->memory.read = is_direct ? read_directly : lh_process_read_memory;
  target->memory.is_shared = true;
  assert_true(reads(target, *memory, copy, sizeof copy));
  for (size_t i = 0; i < sizeof copy; i++) assert_int_equal(copy[i], (char)(i * 7));
  subject_go_on(&s);
  /* The regions are older, and part of this one is no more. */
  assert_non_null(region_of(target, *memory + 48 * KIB));
  assert_false(reads(target, *memory, copy, sizeof copy));
  assert_false(reads(target, *memory + 32 * KIB, copy, 1));
  assert_true(reads(target, *memory + 32 * KIB - 5, copy, 5));
  refresh(target);
  const lh_memory_region *shrunk = region_of(target, *memory);
  assert_int_equal(shrunk->end, (uintptr_t)*memory + 32 * KIB);
  subject_go_on(&s);
  assert_true(reads(target, *memory, copy, 5));
  refresh(target);
  assert_true(region_of(target, *memory)->end >= (uintptr_t)*memory + 256 * KIB);
  lh_target_free(target);
  subject_end(&s);
}

static void test_memory_that_goes(void **state) {
  (void)state;
  expect_memory_that_goes(true);
  expect_memory_that_goes(false);
}

/* Of memory, each page divided by how many processes have it. */
static uint64_t share_kib(const subject *s) {
  char text[4096];
  assert_true(lh_process_text(s->id, "smaps_rollup", text, sizeof text) > 0);
  const char *line = strstr(text, "\nPss:");
  assert_non_null(line);
  return strtoull(line + strlen("\nPss:"), NULL, 10);
}

/* What a child has from its parent stays the same memory when it is read. */
static void test_forked_copy(void **state) {
  (void)state;
  enum { BYTES = 16 << 20 };
  char path[64], *memory = map(BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  char *out = map(BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  for (size_t i = 0; i < BYTES; i += 64) memory[i] = (char)(i >> 6);
  subject s = subject_start(only_wait, NULL);
  lh_target *target = open_subject(&s);
#ifndef __SANITIZE_ADDRESS__ /* whose terabytes hide few pages from who looks here and there */
  assert_true(target->memory.is_shared);
#endif
  lh_target_free(target);
  lh_memory copy = {.process_id = s.id, .read = lh_process_read_memory, .is_shared = true};
  (void)snprintf(path, sizeof path, "/proc/%d/mem", s.id);
  copy.fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(copy.fd >= 0);
  uint64_t before = share_kib(&s);
  assert_true(copy.read(&copy, (uintptr_t)memory, out, BYTES));
  assert_memory_equal(out, memory, BYTES);
  assert_true(share_kib(&s) <= before + 2048); /* pages of its own: twice as much */
  assert_false(copy.read(&copy, 4096, out, 1));
  (void)close(copy.fd);
  copy.fd = -1;
  out[5] = (char)~memory[5];
  assert_true(copy.read(&copy, (uintptr_t)memory, out, BYTES));
  assert_memory_equal(out, memory, BYTES);
  subject_end(&s);
  (void)munmap(memory, BYTES);
  (void)munmap(out, BYTES);
}

static void expect_ended(const subject *s, lh_target *target) {
  lh_error error;
  char byte, message[64];
  (void)snprintf(message, sizeof message, "process %d has ended", (int)s->id);
  assert_int_equal(lh_process_refresh(target, &error), LH_EIO);
  assert_int_equal(error.os_errno, ESRCH);
  assert_true(strstr(error.message, message) || strstr(error.message, "there is no process"));
  assert_false(reads(target, &message, &byte, 1));
}

static void test_process_that_ends(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  lh_target *target = open_subject(&s);
  (void)kill(s.id, SIGKILL);
  siginfo_t info; /* it has ended, and is not reaped */
  assert_int_equal(waitid(P_PID, (id_t)s.id, &info, WEXITED | WNOWAIT), 0);
  expect_ended(&s, target);
  subject_end(&s);
  expect_ended(&s, target);
  lh_target_free(target);
}

static void become_another(const subject *self) {
  subject_wait(self);
  char answer[16];
  (void)snprintf(answer, sizeof answer, "/proc/self/fd/%d", self->answers);
  (void)execl("/bin/sh", "sh", "-c", "printf . >$0; kill -STOP $$", answer, (char *)NULL);
}

static void test_process_that_becomes_another(void **state) {
  (void)state;
  subject s = subject_start(become_another, NULL);
  lh_target *target = open_subject(&s);
  lh_error error;
  subject_go_on(&s);
  assert_int_equal(lh_process_refresh(target, &error), LH_EIO);
  assert_int_equal(error.os_errno, ESRCH);
  assert_non_null(strstr(error.message, "runs another program by now"));
  lh_target_free(target);
  /* It has nothing in common with this process any more. */
  target = open_subject(&s);
  assert_false(target->memory.is_shared);
  lh_target_free(target);
  subject_end(&s);
}

/* ==== What it has started =========================================================== */

typedef struct family {
  pid_t child, of_thread, grandchild;
  int told[2]; /* a byte from each that is there */
} family;

static void tell_and_live(const family *f) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (write(f->told[1], "", 1) != 1) _exit(1);
  for (;;) pause();
}

static void hear_of_one(const family *f) {
  char byte;
  if (read(f->told[0], &byte, 1) != 1) _exit(1);
}

static void *start_from_thread(void *of) {
  family *f = of;
  pid_t child = fork();
  if (child == 0) tell_and_live(f);
  f->of_thread = child;
  if (write(f->told[1], "", 1) != 1) _exit(1);
  (void)pause();
  return NULL;
}

/*   subject -- child -- grandchild
**       `----- of_thread              */
static void start_family(const subject *self) {
  family *f = self->shared;
  pthread_t thread;
  if (pipe(f->told)) _exit(1);
  pid_t child = fork();
  if (child == 0) {
    pid_t grandchild = fork();
    if (grandchild == 0) tell_and_live(f);
    f->grandchild = grandchild;
    tell_and_live(f);
  }
  f->child = child;
  hear_of_one(f);
  hear_of_one(f);
  if (pthread_create(&thread, NULL, start_from_thread, f)) _exit(1);
  hear_of_one(f);
  hear_of_one(f);
  subject_wait(self);
}

static void test_started(void **state) {
  (void)state;
  family *f = subject_share(sizeof *f);
  subject s = subject_start(start_family, f);
  lh_error error;
  int64_t *ids;
  size_t n;
  assert_int_equal(lh_find_started(s.id, &ids, &n, &error), LH_OK);
  assert_int_equal(n, 3);
  assert_int_equal(ids[0], f->child < f->of_thread ? f->child : f->of_thread);
  assert_int_equal(ids[1], f->child < f->of_thread ? f->of_thread : f->child);
  assert_int_equal(ids[2], f->grandchild);
  lh_free(ids);
  assert_int_equal(lh_find_started(f->grandchild, &ids, &n, &error), LH_OK);
  assert_int_equal(n, 0);
  lh_free(ids);
  assert_int_equal(lh_find_started(INT32_MAX, &ids, &n, &error), LH_OK);
  assert_int_equal(n, 0);
  lh_free(ids);
  int code = LH_EMEMORY;
  for (uint64_t at = 1; code != LH_OK; at++) {
    (void)lh_test_fail_allocation(at);
    code = lh_find_started(s.id, &ids, &n, &error);
    (void)lh_test_fail_allocation(0);
    if (code != LH_OK) assert_null(ids);
    lh_free(ids);
  }
  assert_int_equal(n, 3);
  subject_end(&s);
}

/* ==================================================================================== */

/* Each allocation fails in turn: one sentence, and nothing is left. */
static void test_without_memory(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  int code = LH_EMEMORY;
  for (uint64_t n = 1; code != 0; n++) {
    lh_target *target = (lh_target *)&s;
    lh_error error;
    (void)lh_test_fail_allocation(n);
    code = lh_open_process(s.id, NULL, &target, &error);
    (void)lh_test_fail_allocation(0);
    if (code < 0) {
      assert_null(target);
      assert_int_equal(code, LH_EMEMORY);
    }
    lh_target_free(target);
  }
  subject_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_it_is),         cmocka_unit_test(test_namespace_of_its_own),
      cmocka_unit_test(test_state_id),          cmocka_unit_test(test_regions),
      cmocka_unit_test(test_many_regions),      cmocka_unit_test(test_memory_that_goes),
      cmocka_unit_test(test_process_that_ends), cmocka_unit_test(test_process_that_becomes_another),
      cmocka_unit_test(test_forked_copy),       cmocka_unit_test(test_started),
      cmocka_unit_test(test_without_memory),
  };
  return folder_run(tests);
}
