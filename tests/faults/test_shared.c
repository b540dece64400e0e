/*
** test_shared.c - files in a directory that another user may write to, as /tmp is: whatever that
** user puts under the name, and whenever, no file of ours is written through it. First they are
** there, then they come and go while we write, as fast as the other user can.
**
** The victim's file is home/kept, in a directory that only the victim may enter. Needs root, to be
** two other users; the kernel's fs.protected_symlinks would keep half of this from happening.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lua.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "faults.h"
#include "rooms/all.h"
#include "scene.h"

enum { VICTIM = 65533, OTHER = 65534 };

/* Calls the function as another user, in a process of its own, whose id it returns. */
static pid_t start_as(uid_t user, int (*function)(lua_State *L), lua_State *L) {
  pid_t pid = fork();
  if (pid == 0) _exit(setgid(user) < 0 || setuid(user) < 0 ? 99 : function(L));
  return pid;
}

/* The same, and returns what it returned. */
static int as_user(uid_t user, int (*function)(lua_State *L), lua_State *L) {
  int status;
  pid_t pid = start_as(user, function, L);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ==== What the other user does ====================================================== */

static const struct plant {
  const char *what;
  const char *target; /* of a link */
  int os_errno;       /* of the victim's attempt */
} plants[] = {{"a link to a file", "../home/kept", ELOOP},
              {"a link to nothing yet", "../home/new", ELOOP},
              {"a link to a directory", "../home", ELOOP},
              {"a link to what is open", "/proc/self/fd/1", ELOOP},
              {"a device", "/dev/null", ELOOP},
              {"a pipe", NULL, EINVAL},
              {"a file", NULL, EPERM}}; /* of another user in a sticky directory */

enum { PLANTS = sizeof plants / sizeof plants[0] };

static bool plant(size_t i) {
  const char *target = plants[i].target;
  if (target) return symlink(target, "shared/a") == 0;
  if (plants[i].os_errno == EINVAL) return mkfifo("shared/a", 0666) == 0;
  int fd = open("shared/a", O_CREAT | O_EXCL | O_WRONLY, 0666);
  return fd >= 0 && close(fd) == 0;
}

static size_t next_plant;

static int plant_next(lua_State *L) {
  (void)L;
  return plant(next_plant) ? 0 : 1;
}

/* Links to the victim's file in place of all that is there, the victim's own files included where
** the directory lets that happen. */
static void replace_all(void) {
  struct dirent *entry;
  DIR *folder = opendir("shared");
  while (folder && (entry = readdir(folder))) {
    char path[300];
    if (entry->d_name[0] == '.' && strncmp(entry->d_name, ".luaheap-", 9) != 0) continue;
    (void)snprintf(path, sizeof path, "shared/%s", entry->d_name);
    if (unlink(path) == 0) (void)!symlink("../home/kept", path);
  }
  if (folder) (void)closedir(folder);
}

static int attack(lua_State *L) {
  (void)L;
  for (size_t i = 0; getppid() != 1; i++) { /* as long as there is who ends this */
    (void)plant(i % PLANTS);
    replace_all();
    (void)unlink("shared/a");
  }
  return 0;
}

/* ==== What the victim does ========================================================== */

typedef enum way { DIRECT, BACKGROUND, SAVED, CREATED, WAYS } way;

static int write_in_steps(lh_error *error) {
  lh_file *file;
  int rc = lh_create_file(&file, "shared/a", error);
  if (rc < 0) return rc;
  rc = write(lh_file_descriptor(file), "x", 1) == 1 ? lh_complete_file(file, error) : 98;
  lh_discard_file(file);
  return rc;
}

static int write_file(lua_State *L, way w, lh_error *error) {
  switch (w) {
    case SAVED: return lh_save("x", 1, "shared/a", error);
    case CREATED: return write_in_steps(error);
    default: return scene_take(L, "shared/a", w == BACKGROUND, error);
  }
}

static bool is_kept(void) {
  char content[8] = "";
  struct stat info;
  FILE *file = fopen("home/kept", "r");
  bool whole = file && fread(content, 1, sizeof content, file) == 4 && !memcmp(content, "kept", 4);
  if (file) (void)fclose(file);
  return whole && stat("home/kept", &info) == 0 && stat("home/new", &info) < 0;
}

/* 0: each way to write a file has failed for the right reason, and changed nothing. */
static int try_each_way(lua_State *L) {
  struct stat before, after;
  if (lstat("shared/a", &before) < 0) return 1;
  for (int i = 0; i < WAYS; i++) {
    lh_error error = {0};
    if (write_file(L, (way)i, &error) != LH_EIO) return 2;
    if (error.os_errno != plants[next_plant].os_errno) return 3;
    if (!strstr(error.message, "cannot write 'shared/a': ")) return 4;
    if (lstat("shared/a", &after) < 0 || after.st_ino != before.st_ino) return 5;
    if (!is_kept()) return 6;
  }
  return 0;
}

/* 0: whatever came of it, the victim's file is as it was. */
static int write_many(lua_State *L) {
  enum { ROUNDS = 100 };
  for (int i = 0; i < ROUNDS * WAYS; i++) {
    lh_error error = {0};
    int rc = write_file(L, (way)(i % WAYS), &error);
    if (rc != LH_OK && rc != LH_EIO) return 1;
    if (rc == LH_EIO && !strstr(error.message, "cannot write 'shared/a'")) return 2;
    if (!is_kept()) return 3;
    (void)unlink("shared/a");
  }
  return 0;
}

/* ==================================================================================== */

static int make_home(lua_State *L) {
  (void)L;
  if (mkdir("home/x", 0700) < 0 || rmdir("home/x") < 0) return 1;
  FILE *file = fopen("home/kept", "w");
  return file && fputs("kept", file) > 0 && fclose(file) == 0 ? 0 : 1;
}

static void begin_users(lua_State *L, mode_t mode) {
  if (geteuid() != 0) skip(); /* only root can be two users */
  assert_int_equal(chmod(".", 0755), 0);
  assert_int_equal(mkdir("home", 0700), 0);
  assert_int_equal(chown("home", VICTIM, VICTIM), 0);
  assert_int_equal(mkdir("shared", 0777), 0);
  assert_int_equal(chmod("shared", mode), 0);
  assert_int_equal(as_user(VICTIM, make_home, L), 0);
}

static void end_users(void) {
  faults_clear();
  assert_int_equal(system("rm -rf home shared"), 0);
}

static void writes_through_nothing_of_another_user(void **state) {
  size_t cases = 0;
  begin_users(*state, 01777);
  for (size_t i = 0; i < PLANTS; i++, cases += 2 * WAYS) {
    next_plant = i;
    assert_int_equal(as_user(OTHER, plant_next, *state), 0);
    for (int named = 0; named < 2; named++) {
      if (named) faults_plan(FAULT_NAMELESS, 1, SIZE_MAX, EOPNOTSUPP);
      int failed = as_user(VICTIM, try_each_way, *state);
      if (failed) fail_msg("%s%s: %d", plants[i].what, named ? ", with a name" : "", failed);
      faults_clear();
    }
    assert_int_equal(unlink("shared/a"), 0);
    assert_int_equal(rmdir("shared"), 0); /* no stray */
    assert_int_equal(mkdir("shared", 0777), 0);
    assert_int_equal(chmod("shared", 01777), 0);
  }
  end_users();
  (void)printf("faults: things of another user under the name: %zu cases, %zu survived\n", cases,
               cases);
}

static void is_never_led_astray(void **state) {
  static const mode_t modes[] = {01777, 0777};
  for (int i = 0; i < 4; i++) {
    int status;
    begin_users(*state, modes[i / 2]);
    if (i % 2) faults_plan(FAULT_NAMELESS, 1, SIZE_MAX, EOPNOTSUPP);
    pid_t attacker = start_as(OTHER, attack, *state);
    int failed = as_user(VICTIM, write_many, *state);
    assert_int_equal(kill(attacker, SIGKILL), 0);
    assert_int_equal(waitpid(attacker, &status, 0), attacker);
    assert_int_equal(failed, 0);
    end_users();
  }
  (void)printf("faults: another user changes the directory meanwhile: 1600 cases, 1600 survived\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(writes_through_nothing_of_another_user, scene_set_up,
                                      scene_tear_down),
      cmocka_unit_test_setup_teardown(is_never_led_astray, scene_set_up, scene_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
