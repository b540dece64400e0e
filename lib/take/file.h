/*
** file.h - the file of a snapshot: written under a temporary name beside the one asked for, and
** renamed when it is whole, so that no reader ever sees half a snapshot and a failure leaves the
** older file as it was.
*/
#ifndef LUAHEAP_FILE_H
#define LUAHEAP_FILE_H

#include "base.h"

typedef struct lh_file {
  char *path;      /* what to replace: symbolic links followed */
  char *temporary; /* beside it */
  int fd;
  bool made, renamed; /* the temporary file */
  int os_errno;       /* of what failed, or 0 */
} lh_file;

/* Makes the temporary file, mode 0600. LH_EIO, LH_EMEMORY or LH_OK; in either case lh_file_free is
** due. */
int lh_file_open(lh_file *file, const char *path, lh_error *error);

/* The lh_writer of an lh_file. Async-signal-safe. */
size_t lh_file_write(const void *data, size_t n, void *file);

/* Closes and renames. False and file->os_errno on failure. Async-signal-safe. */
bool lh_file_finish(lh_file *file);

/* Closes what is open and removes a temporary file that was not renamed. */
void lh_file_free(lh_file *file);

#endif
