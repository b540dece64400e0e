/*
** file.h - writes a file that is whole under its name, or not there.
**
** No reader sees half a file, a failure leaves the older file unchanged, and a killed process
** leaves nothing behind.
**
** The file is written without a name (O_TMPFILE), and gets its name when it is whole. A link cannot
** replace an older file, so that takes two steps: a link to a temporary name in the same directory,
** then a rename. A process killed between the steps (some microseconds) leaves a stray whole file.
** The temporary name is used from the start where there are no nameless files or no /proc; a kill
** then leaves the file. A nameless file that a security module (AppArmor) forbids to name is copied
** to a temporary one.
**
** In a directory that other users can write to (/tmp) they can put anything under our names at any
** time. So the directory is opened once, and all names are looked up in the open directory. The
** last name is never followed: only a new or a regular file is replaced. If another file appears
** there after the check, its name is replaced; nothing is written into that file. The kernel
** protects files of other users: in a sticky directory a rename over them fails.
**
** The room is measured at the start: the free bytes of the disk, or the process's limit for one
** file (RLIMIT_FSIZE), since exceeding that limit raises a signal that kills. No memory is
** allocated: an lh_file has room for any path.
*/
#pragma once

#include <limits.h>

#include "base.h"
#include "rooms/take.h"

/* A snapshot's mark has the name of its file, and longer names are refused. */
enum { LH_MARK_NAME_BYTES = 4096 };

/* Why a file was not written. Has no pointers, so a child can pass it to its parent. */
typedef struct lh_file_failure {
  int os_errno;          /* 0: the file was written */
  bool at_least;         /* `needed` is a lower bound */
  uint64_t needed, room; /* bytes, if the file does not fit; else 0 */
} lh_file_failure;

/* The longest directory that the system opens, with the longest name in it. */
enum { LH_FILE_PATH = PATH_MAX + NAME_MAX + 1 };

struct lh_file {
  char path[LH_FILE_PATH]; /* as the caller gave it */
  size_t name_at;          /* where the name begins in `path`, behind the directory */
  char temporary[16];      /* the letters are filled in at first use */
  char link[32];           /* the nameless file in /proc, as the source of a link */
  int folder_fd, fd;
  bool nameless;
  bool made; /* `temporary` exists and must be removed */
  int room_errno;
  uint64_t room; /* bytes; UINT64_MAX: unknown */
  lh_file_failure failure;
};

/* Makes the file, mode 0600. LH_EIO: failed. The caller calls lh_file_close in either case. */
int lh_file_open(lh_file *file, const char *path, lh_error *error);

/* Is there room for `bytes`? False: file->failure is filled in. Async-signal-safe. */
bool lh_file_has_room(lh_file *file, uint64_t bytes, bool at_least);

/* Gives the file its name. False: file->failure is filled in. Async-signal-safe. */
bool lh_file_finish(lh_file *file);

/* Closes the file, and removes it if it has no final name. Async-signal-safe. */
void lh_file_close(lh_file *file);

/* lh_file_leave closes the parent's copies of a file that a child goes on writing.
** lh_file_remove_left removes the temporary name that a killed child may have left. */
void lh_file_leave(lh_file *file);
void lh_file_remove_left(const lh_file *file);

/* Makes the error message of a failure. Returns LH_EIO. */
int lh_file_fail(const lh_file_failure *failure, const char *path, lh_error *error);
