/*
** faults.h - makes the system fail under the writing half of the library, at any call.
**
** A test that uses it is linked with --wrap for these calls (see WRAPPED in the Makefile), so that
** those of the library and of the test come here, and those of libc, Lua and cmocka do not. What is
** planned lies in shared memory: a forked child goes on with it, and its calls are counted, too.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fault_call {
  FAULT_FOLDER,   /* open of the directory */
  FAULT_FSTATAT,  /* of what is under the name */
  FAULT_NAMELESS, /* openat with O_TMPFILE */
  FAULT_ACCESS,   /* of /proc/self/fd/N */
  FAULT_OPEN,     /* openat of a file with a name */
  FAULT_FSTATFS,
  FAULT_WRITE,
  FAULT_FCNTL,
  FAULT_FSYNC,
  FAULT_CLOSE, /* of a writing process: a host that has forked closes its copy unharmed */
  FAULT_LINKAT,
  FAULT_COPY, /* sendfile of a file that cannot be named */
  FAULT_RENAME,
  FAULT_SYSCALL, /* clone */
  FAULT_CLOSE_RANGE,
  FAULT_CALLS
} fault_call;

typedef struct fault {
  int os_errno;
  size_t first, last; /* which calls fail, counted from 1; 0: none */
  size_t seen;        /* calls so far */
} fault;

typedef struct fault_plan {
  fault calls[FAULT_CALLS];
  bool interrupt; /* every other write gives EINTR */
  bool limited;   /* a write takes at most `write_bytes` */
  size_t write_bytes;
  void (*before_write)(void); /* once */
  volatile bool held;         /* children do not write as long as this is set */
  bool forged_disk;           /* of free_bytes, in blocks of one byte; total_bytes may be 0 */
  uint64_t free_bytes, total_bytes;
} fault_plan;

/* The plan, made at the first use. */
fault_plan *faults(void);

/* Plans nothing, and forgets what was counted. */
void faults_clear(void);

/* Calls `first` to `last` of a kind fail. */
void faults_plan(fault_call call, size_t first, size_t last, int os_errno);
