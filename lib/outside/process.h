/*
** process.h - what /proc tells of a process, for the files that ask it: process.c, rights.c.
*/
#ifndef LUAHEAP_OUTSIDE_PROCESS_H
#define LUAHEAP_OUTSIDE_PROCESS_H

#include "outside.h"

/* What of /proc/PID/status is of use. */
typedef struct lh_process_status {
  int64_t leader;        /* Tgid: the process, if PID is one of its threads */
  int64_t parent;        /* 0: none that can be seen here */
  int64_t tracer;        /* 0: none */
  uint64_t own_id;       /* in its own namespace */
  uint64_t switches;     /* how often it gave the processor away, to wait */
  uint32_t users[4];     /* real, effective, saved, of the file system */
  uint64_t capabilities; /* CapEff */
  uint64_t threads;      /* how many it has */
  char state;            /* 'R', 'S', 'Z', ... */
  bool is_of_kernel;     /* a thread of the kernel's own */
  bool has_memory; /* not so one of the kernel, nor one that ends, though it is no zombie yet */
  unsigned system_filter; /* Seccomp: 0: none */
} lh_process_status;

/* False: there is no such process. */
bool lh_process_status_of(int64_t process_id, lh_process_status *status);

/* The lh_memory.read of a process that has pages in common with others, such as a forked copy,
** whose /proc/PID/mem is memory->fd: so they stay common. */
bool lh_process_read_copy(const lh_memory *memory, uint64_t address, void *out, size_t n);

/* The process's part of lh_target_free, after a failed lh_process_open, too. */
void lh_process_close(lh_target *target);

/* Reads /proc/PID/`name`, at most size - 1 bytes, and a NUL behind them. How many, or -errno. */
ssize_t lh_process_text(int64_t process_id, const char *name, char *out, size_t size);

/* Cuts a line of /proc/PID/cgroup, "number:controllers:path", which both then point into. False:
** the line is no such one. */
bool lh_cut_cgroup_line(char *line, const char **controllers, const char **path);

#endif
