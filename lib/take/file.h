/*
** file.h - the file of a snapshot: no reader ever sees half of one, a failure leaves the older file
** as it was, and a process that is killed leaves nothing behind.
**
** So the file is written without a name (O_TMPFILE), and gets the one asked for when it is whole.
** Over an older file that takes two steps, since a link cannot replace: a link to a temporary name
** beside it and a rename. Killed between these two (some microseconds), a process leaves a stray
** file, a whole one. Where the file system has no nameless files or there is no /proc, the file is
** written under the temporary name, and a kill leaves it; and so it is written once more where a
** security module lets it be made, but not be named (AppArmor does so).
**
** The room for it is asked for when it is opened: what is free on the disk, or less where a process
** may not write so much to one file, since exceeding that is a signal that kills.
*/
#ifndef LUAHEAP_FILE_H
#define LUAHEAP_FILE_H

#include "base.h"

/* Why a file was not written. Plain, so that a child can hand it on. */
typedef struct lh_file_failure {
  int os_errno;          /* 0: it was */
  bool at_least;         /* `needed` is a lower bound */
  uint64_t needed, room; /* bytes, where the file does not fit, else 0 */
} lh_file_failure;

typedef struct lh_file {
  char *path;      /* what to replace: symbolic links followed */
  char *temporary; /* beside it; its last letters are filled in when it is used */
  char link[32];   /* the nameless file as something to link to */
  int fd;
  bool nameless;
  bool made; /* `temporary` is there, and to be removed */
  int room_errno;
  uint64_t room; /* bytes; UINT64_MAX where nobody knows */
  lh_file_failure failure;
} lh_file;

/* Makes the file, mode 0600. LH_EIO, LH_EMEMORY or LH_OK; in either case lh_file_free is due. */
int lh_file_open(lh_file *file, const char *path, lh_error *error);

/* Is there room for so many bytes? False fills in file->failure. Async-signal-safe. */
bool lh_file_has_room(lh_file *file, uint64_t bytes, bool at_least);

/* The lh_writer of an lh_file. Async-signal-safe. */
size_t lh_file_write(const void *data, size_t n, void *file);

/* Gives the file its name, and closes it. Async-signal-safe. */
typedef enum lh_file_end {
  LH_FILE_DONE,
  LH_FILE_AGAIN, /* it could not be named: it is empty again, and now has a temporary name */
  LH_FILE_FAILED /* see file->failure */
} lh_file_end;
lh_file_end lh_file_finish(lh_file *file);

/* The sentence about a failure. Returns LH_EIO. */
int lh_file_fail(const lh_file_failure *failure, const char *path, lh_error *error);

/* Closes what is open and removes what has no final name. */
void lh_file_free(lh_file *file);

#endif
