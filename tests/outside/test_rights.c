/*
** test_rights.c - whoever may not be looked at is refused by the sentence that says why and what to
** do. Processes of every such kind are made, and asked for by others; most of it needs root.
*/
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "outside/outside.h"
#include "subject.h"

enum { NOBODY = 65534 };

/* ==== Who asks ====================================================================== */

typedef struct answer {
  bool could_become; /* what it was to become */
  int code;
  lh_error error;
} answer;

/* Asks for a process in a child, which becomes another before; or only why it would be refused. */
static answer ask_as(bool (*become)(void), int64_t id, bool only_why) {
  answer *shared = subject_share(sizeof *shared), copy;
  pid_t child = fork();
  if (child == 0) {
    lh_target *target = NULL;
    shared->could_become = !become || become();
    if (shared->could_become) {
      shared->code = only_why ? lh_refuse_process(id, EPERM, &shared->error)
                              : lh_open_process(id, NULL, &target, &shared->error);
    }
    lh_target_free(target);
    _exit(0);
  }
  assert_int_equal(waitpid(child, NULL, 0), child);
  copy = *shared;
  return copy;
}

static void skip_unless(bool condition, const char *why) {
  if (condition) return;
  print_message("skipped: %s\n", why);
  skip();
}

static void skip_unless_root(void) {
  skip_unless(geteuid() == 0, "only root can make processes of other users");
}

static void assert_allowed(answer a) {
  if (a.code < 0) fail_msg("%s", a.error.message);
}

/* The sentence, in which %d is the process. */
__attribute__((format(printf, 2, 3))) static void assert_refused(answer a, const char *format,
                                                                 ...) {
  char wanted[512];
  va_list values;
  va_start(values, format);
  (void)vsnprintf(wanted, sizeof wanted, format, values);
  va_end(values);
  assert_string_equal(a.error.message, wanted);
  assert_int_equal(a.code, LH_EIO);
  assert_int_equal(a.error.code, LH_EIO);
}

static bool become_nobody(void) {
  return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
         prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* ==== What is no process ============================================================ */

static void only_wait(const subject *self) {
  for (;;) subject_wait(self);
}

static void test_no_process(void **state) {
  (void)state;
  const int64_t ids[] = {0, -1, INT32_MAX, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    answer a = ask_as(NULL, ids[i], false);
    assert_refused(a, "there is no process %lld", (long long)ids[i]);
    assert_int_equal(a.error.os_errno, ESRCH);
  }
}

static void *wait_in_thread(void *self) {
  const subject *s = self;
  *(pid_t *)s->shared = (pid_t)syscall(SYS_gettid);
  only_wait(s);
  return NULL;
}

static void start_thread(const subject *self) {
  pthread_t thread;
  subject copy = *self;
  if (pthread_create(&thread, NULL, wait_in_thread, &copy)) _exit(1);
  (void)pthread_join(thread, NULL);
}

static void test_thread(void **state) {
  (void)state;
  pid_t *thread = subject_share(sizeof *thread);
  subject s = subject_start(start_thread, thread);
  assert_refused(ask_as(NULL, *thread, false), "%d is a thread of process %d: give the number %d",
                 *thread, s.id, s.id);
  assert_allowed(ask_as(NULL, s.id, false));
  subject_end(&s);
}

static void test_zombie(void **state) {
  (void)state;
  siginfo_t info;
  subject s = subject_start(only_wait, NULL);
  (void)kill(s.id, SIGKILL);
  assert_int_equal(waitid(P_PID, (id_t)s.id, &info, WEXITED | WNOWAIT), 0);
  lh_process_status it; /* as one that is just ending, of which only its state differs */
  assert_true(lh_process_status_of(s.id, &it));
  assert_false(it.has_memory || it.is_of_kernel);
  answer a = ask_as(NULL, s.id, false);
  assert_refused(a, "process %d has ended: it is a zombie, whose parent has not asked how it ended",
                 s.id);
  assert_int_equal(a.error.os_errno, ESRCH);
  subject_end(&s);
}

static void *wait_in_last_thread(void *self) {
  const subject *s = self;
  char text[4096];
  do { /* until the first one has ended */
    (void)usleep(1000);
    (void)lh_process_text(getpid(), "status", text, sizeof text);
  } while (!strstr(text, "State:\tZ"));
  only_wait(s);
  return NULL;
}

static void end_first_thread(const subject *self) {
  static subject copy;
  pthread_t thread;
  copy = *self;
  if (pthread_create(&thread, NULL, wait_in_last_thread, &copy)) _exit(1);
  (void)syscall(SYS_exit, 0);
}

static void test_without_its_first_thread(void **state) {
  (void)state;
  subject s = subject_start(end_first_thread, NULL);
  assert_refused(ask_as(NULL, s.id, false),
                 "process %d goes on without its first thread, through which alone it can be "
                 "looked at",
                 s.id);
  subject_end(&s);
}

static void test_thread_of_the_kernel(void **state) {
  (void)state;
  char name[64];
  bool is_there =
      lh_process_text(2, "comm", name, sizeof name) > 0 && strcmp(name, "kthreadd\n") == 0;
  skip_unless(is_there, "no thread of the kernel is seen from here");
  assert_refused(ask_as(NULL, 2, false),
                 "process 2 is a thread of the kernel, in which no Lua can run");
}

static void test_this_process(void **state) {
  (void)state;
  lh_target *target;
  answer a = {0};
  a.code = lh_open_process(getpid(), NULL, &target, &a.error);
  assert_null(target);
  assert_refused(a, "process %d is this one, which cannot look at itself", getpid());
}

/* A program of the 386 that waits: pause(), again and again. */
static const unsigned char program_386[] = {
    0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0,
    /* entry 0x08048054, program header at 52 */
    0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0,
    0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08, 94, 0, 0, 0, 94, 0, 0, 0,
    5, 0, 0, 0, 0, 0x10, 0, 0,
    /* 1: mov $29, %eax; int $0x80; jmp 1b */
    0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7, 0x90};

static void run_386(const subject *self) {
  (void)self;
  int fd = open("386", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  if (fd < 0 || write(fd, program_386, sizeof program_386) < 0 || close(fd)) _exit(1);
  subject_wait(self);
  (void)execl("./386", "386", (char *)NULL);
  _exit(1);
}

static void test_program_of_32_bits(void **state) {
  (void)state;
  siginfo_t info;
  char message[64], exe[32] = "";
  subject s = subject_start(run_386, NULL);
  assert_int_equal(write(s.orders, "", 1), 1);
  do { /* until it is another, or has ended */
    info.si_pid = 0;
    (void)usleep(1000);
    (void)waitid(P_PID, (id_t)s.id, &info, WEXITED | WNOHANG | WNOWAIT);
    (void)lh_process_text(s.id, "comm", exe, sizeof exe);
  } while (!info.si_pid && !strstr(exe, "386"));
  (void)unlink("386");
  answer a = ask_as(NULL, s.id, false);
  bool ran = strstr(exe, "386") && a.error.os_errno != ESRCH;
  subject_end(&s);
  skip_unless(ran, "this system runs no programs of 32 bits");
  assert_int_equal(a.code, LH_EHOST);
  (void)snprintf(message, sizeof message, "process %d is a 32-bit program", s.id);
  assert_non_null(strstr(a.error.message, message));
}

/* ==== Users ========================================================================= */

static void wait_as_nobody(const subject *self) {
  if (!become_nobody()) _exit(1);
  only_wait(self);
}

static void wait_hidden(const subject *self) {
  if (!become_nobody() || prctl(PR_SET_DUMPABLE, 0)) _exit(1);
  only_wait(self);
}

static bool is_scope(const char *scope) {
  char text[8] = "0";
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (file && !fgets(text, sizeof text, file)) *text = '\0';
  if (file) (void)fclose(file);
  return *text == *scope;
}

static void test_same_user(void **state) {
  (void)state;
  skip_unless_root();
  skip_unless(is_scope("0"), "yama lets only parents look");
  subject s = subject_start(wait_as_nobody, NULL);
  assert_allowed(ask_as(become_nobody, s.id, false));
  assert_allowed(ask_as(NULL, s.id, false));
  subject_end(&s);
}

static bool become_another(void) {
  return setgroups(0, NULL) == 0 && setgid(NOBODY - 1) == 0 && setuid(NOBODY - 1) == 0;
}

static void test_another_user(void **state) {
  (void)state;
  skip_unless_root();
  subject of_nobody = subject_start(wait_as_nobody, NULL);
  assert_refused(ask_as(become_another, of_nobody.id, false),
                 "process %d belongs to user nobody, and this is run by user 65533: run it as root "
                 "or user nobody",
                 of_nobody.id);
  subject_end(&of_nobody);
  subject s = subject_start(only_wait, NULL);
  assert_refused(ask_as(become_nobody, s.id, false),
                 "process %d belongs to user root, and this is run by user nobody: run it as root",
                 s.id);
  subject_end(&s);
}

/* /proc as some systems mount it, for this process and its children only. */
static bool see_own_processes_only(void) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", "/proc", "proc", 0, "hidepid=2") == 0 && become_nobody();
}

static void test_unseen(void **state) {
  (void)state;
  skip_unless_root();
  subject s = subject_start(only_wait, NULL);
  answer a = ask_as(see_own_processes_only, s.id, false);
  subject_end(&s);
  skip_unless(a.could_become, "nothing can be mounted here");
  assert_refused(a,
                 "process %d belongs to another user, and /proc shows only one's own: run this as "
                 "root",
                 s.id);
}

static void test_hidden_from_its_own_user(void **state) {
  (void)state;
  skip_unless_root();
  subject s = subject_start(wait_hidden, NULL);
  assert_refused(ask_as(become_nobody, s.id, false),
                 "process %d has hidden itself from its own user (prctl PR_SET_DUMPABLE), as "
                 "programs do that were started by root: run this as root",
                 s.id);
  assert_allowed(ask_as(NULL, s.id, false));
  subject_end(&s);
}

/* As root in a container is. */
static bool lose_capability(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data)) return false;
  data[0].effective &= ~(1u << CAP_SYS_PTRACE);
  data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
  return syscall(SYS_capset, &header, data) == 0;
}

static void test_root_without_the_capability(void **state) {
  (void)state;
  skip_unless_root();
  subject s = subject_start(wait_as_nobody, NULL);
  assert_refused(ask_as(lose_capability, s.id, false),
                 "process %d must not be looked at by this root, which lacks the capability "
                 "SYS_PTRACE: run this outside of the container, or start that with "
                 "--cap-add=SYS_PTRACE",
                 s.id);
  subject_end(&s);
}

static bool enter_user_namespace(void) {
  return unshare(CLONE_NEWUSER) == 0;
}

static void test_from_within_a_user_namespace(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  answer a = ask_as(enter_user_namespace, s.id, false);
  subject_end(&s);
  skip_unless(a.could_become, "no user namespaces can be made here");
  assert_int_equal(a.code, LH_EIO);
  assert_non_null(strstr(a.error.message, "must not be looked at"));
  assert_non_null(strstr(a.error.message, "as root outside of any container"));
}

static void wait_in_user_namespace(const subject *self) {
  *(bool *)self->shared = enter_user_namespace();
  only_wait(self);
}

static void test_into_a_user_namespace(void **state) {
  (void)state;
  skip_unless_root();
  bool *could_enter = subject_share(sizeof *could_enter);
  subject s = subject_start(wait_in_user_namespace, could_enter);
  answer a = ask_as(NULL, s.id, false);
  subject_end(&s);
  skip_unless(*could_enter, "no user namespaces can be made here");
  assert_allowed(a);
}

/* ==== Rules of the system =========================================================== */

/* Puts a file where yama has its own, for this process and its children only. */
static bool forge_scope(const char *scope) {
  static const char folder[] = "/proc/sys/kernel", yama[] = "/proc/sys/kernel/yama";
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
      mount("none", folder, "tmpfs", 0, NULL) || mkdir(yama, 0755))
    return false;
  FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "we");
  return file && fputs(scope, file) >= 0 && fclose(file) == 0 && become_nobody();
}

static bool be_in_scope_1(void) {
  return forge_scope("1\n");
}

static bool be_in_scope_2(void) {
  return forge_scope("2\n");
}

static bool be_in_scope_3(void) {
  return forge_scope("3\n");
}

static void test_yama(void **state) {
  (void)state;
  skip_unless_root();
  subject s = subject_start(wait_as_nobody, NULL);
  answer a = ask_as(be_in_scope_1, s.id, true);
  answer b = ask_as(be_in_scope_2, s.id, true);
  answer c = ask_as(be_in_scope_3, s.id, true);
  subject_end(&s);
  skip_unless(a.could_become, "nothing can be mounted here");
  assert_refused(a,
                 "process %d may be looked at by its parents only (kernel.yama.ptrace_scope is "
                 "1): run this as root, or set that by: sudo sysctl kernel.yama.ptrace_scope=0",
                 s.id);
  assert_refused(b,
                 "process %d may be looked at by root only (kernel.yama.ptrace_scope is 2): run "
                 "this as root",
                 s.id);
  assert_refused(c,
                 "no process may be looked at until the next boot (kernel.yama.ptrace_scope is "
                 "3): send it SIGABRT where it may end, and look at its core file");
}

typedef struct tracing {
  pid_t subject;
  bool could_trace;
} tracing;

static void trace(const subject *self) {
  tracing *t = self->shared;
  (void)prctl(PR_SET_NAME, "a-debugger");
  t->could_trace = ptrace(PTRACE_SEIZE, t->subject, NULL, NULL) == 0;
  only_wait(self);
}

/* Reading goes on, but nobody else can stop it. */
static void test_traced_already(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  tracing *t = subject_share(sizeof *t);
  t->subject = s.id;
  subject tracer = subject_start(trace, t);
  answer read = ask_as(NULL, s.id, false), stop = ask_as(NULL, s.id, true);
  subject_end(&tracer);
  subject_end(&s);
  skip_unless(t->could_trace, "no process can be traced here");
  assert_allowed(read);
  assert_refused(stop,
                 "process %d is traced already, by a-debugger (process %d): end that first, or "
                 "let it make a core file if it is a debugger",
                 s.id, tracer.id);
}

/* A filter for system calls, under which one fails as in a container. */
static bool forbid(unsigned call) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = 4, .filter = rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool forbid_reading(void) {
  return forbid(SYS_process_vm_readv);
}

/* Its memory is read from a file then. */
static void test_without_process_vm_readv(void **state) {
  (void)state;
  subject s = subject_start(only_wait, NULL);
  answer a = ask_as(forbid_reading, s.id, false);
  subject_end(&s);
  skip_unless(a.could_become, "no filter for system calls can be set here");
  assert_allowed(a);
}

/* One of the subject's own is no obstacle. */
static void wait_filtered(const subject *self) {
  *(bool *)self->shared = forbid(SYS_clone);
  only_wait(self);
}

static void test_filtered_subject(void **state) {
  (void)state;
  bool *is_filtered = subject_share(sizeof *is_filtered);
  subject s = subject_start(wait_filtered, is_filtered);
  answer a = ask_as(NULL, s.id, false);
  lh_process_status status;
  bool is_known = lh_process_status_of(s.id, &status) && status.system_filter == 2;
  subject_end(&s);
  skip_unless(*is_filtered, "no filter for system calls can be set here");
  assert_allowed(a);
  assert_true(is_known);
}

/* ==================================================================================== */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_process),
      cmocka_unit_test(test_thread),
      cmocka_unit_test(test_zombie),
      cmocka_unit_test(test_without_its_first_thread),
      cmocka_unit_test(test_thread_of_the_kernel),
      cmocka_unit_test(test_this_process),
      cmocka_unit_test(test_program_of_32_bits),
      cmocka_unit_test(test_same_user),
      cmocka_unit_test(test_another_user),
      cmocka_unit_test(test_unseen),
      cmocka_unit_test(test_hidden_from_its_own_user),
      cmocka_unit_test(test_root_without_the_capability),
      cmocka_unit_test(test_from_within_a_user_namespace),
      cmocka_unit_test(test_into_a_user_namespace),
      cmocka_unit_test(test_yama),
      cmocka_unit_test(test_traced_already),
      cmocka_unit_test(test_without_process_vm_readv),
      cmocka_unit_test(test_filtered_subject),
  };
  return folder_run(tests);
}
