/*
** file.h - how files are written: no reader ever sees half of one, a failure leaves the older file
** as it was, and a process that is killed leaves nothing behind.
**
** So the file is written without a name (O_TMPFILE), and gets the one asked for when it is whole.
** Over an older file that takes two steps, since a link cannot replace: a link to a temporary name
** beside it and a rename. Killed between these two (some microseconds), a process leaves a stray
** file, a whole one. Where the file system has no nameless files or there is no /proc, the file is
** written under the temporary name, and a kill leaves it; and so it is copied there where a
** security module lets it be made, but not be named (AppArmor does so).
**
** In a directory that others may write to (/tmp), who knows our file's name can put anything under
** it, at any moment. So the directory is opened once, by the kernel's rules for the links on the
** way to it, and all names are looked up in what was opened. The last name is never followed: only
** a new file or a regular one is replaced, and what comes there after we have looked is replaced as
** a name, not written through. A file of another user there is the kernel's to protect: a rename
** over it fails in a sticky directory.
**
** The room for it is asked for when it is opened: what is free on the disk, or less where a process
** may not write so much to one file, since exceeding that is a signal that kills.
**
** No memory is asked for: an lh_file has room for any path that the system takes.
*/
#ifndef LUAHEAP_FILE_H
#define LUAHEAP_FILE_H

#include <limits.h>

#include "base.h"
#include "luaheap_take.h"

/* Why a file was not written. Plain, so that a child can hand it on. */
typedef struct lh_file_failure {
  int os_errno;          /* 0: it was */
  bool at_least;         /* `needed` is a lower bound */
  uint64_t needed, room; /* bytes, where the file does not fit, else 0 */
} lh_file_failure;

/* The longest directory that the system opens, and the longest name in it. */
enum { LH_FILE_PATH = PATH_MAX + NAME_MAX + 1 };

struct lh_file {
  char path[LH_FILE_PATH]; /* as the caller gave it */
  size_t name_at;          /* in `path`: what to replace in the directory, which stands before */
  char temporary[16];      /* its letters are filled in when it is used */
  char link[32];           /* the nameless file as something to link to */
  int folder_fd, fd;
  bool nameless;
  bool made; /* `temporary` is there, and to be removed */
  int room_errno;
  uint64_t room; /* bytes; UINT64_MAX where nobody knows */
  lh_file_failure failure;
};

/* Makes the file, mode 0600. LH_EIO or LH_OK; in either case lh_file_close is due. */
int lh_file_open(lh_file *file, const char *path, lh_error *error);

/* Is there room for so many bytes? False fills in file->failure. Async-signal-safe. */
bool lh_file_has_room(lh_file *file, uint64_t bytes, bool at_least);

/* The lh_writer of an lh_file. Async-signal-safe. */
size_t lh_file_write(const void *data, size_t n, void *file);

/* Gives the file its name. False fills in file->failure. Async-signal-safe. */
bool lh_file_finish(lh_file *file);

/* Closes it, named or not, and removes what has no final name. Async-signal-safe. */
void lh_file_close(lh_file *file);

/* For a file that a child goes on with: closes our copies. Later, where the child was killed:
** removes the temporary name that it may have left. */
void lh_file_leave(lh_file *file);
void lh_file_remove_left(const lh_file *file);

/* The sentence about a failure. Returns LH_EIO. */
int lh_file_fail(const lh_file_failure *failure, const char *path, lh_error *error);

#endif
