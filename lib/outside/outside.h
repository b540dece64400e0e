/*
** outside.h - the parts that take snapshots of a process or a core file, and their interfaces.
**
**     target.c, process.c, core.c         a target: a process or a core file
**     states.c, lua_versions.c            finds Lua states by structure, the Lua release, other
**                                         Luas
**     freeze_process.c, stop.c            keeps a process from changing: idle, frozen copy, or
**                                         stopped
**     mirror.c, memory.c                  maps the target's memory at its own addresses in this
**                                         process
**     continue_copy.c, sandbox.c,         continues a child until Lua is between two changes of its
**     watched_words.c                     heap
**     write_child.c                       the child that walks the mirror
**     symbols.c, match_marks.c            names of C functions; places of older marks
**     take.c                              the order of the parts (lh_take_outside)
**
** Lua's own structures differ between 5.4 and 5.5. What knows them is in lib/mirrored, and compiled
** once for each of the two, as is the walk (lib/take). The rest, here, asks the table of the
** state's release (structure.h). So heapattach reads both, in one process too, whatever Lua it was
** built with:
**
**     structure.c, peek.c                 is there a state at an address, and what does it run
**     consistency.c, running.c, marks.c   consistency, the running thread and the marks of a heap
**     write_state.c                       the walk over the mirror, and the file
**     elsewhere.c                         texts and code in memory that is not mirrored
**     release.c                           the table
**
** Addresses in the target are uint64_t. Addresses in the mirror are pointers, and may be followed.
*/
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "rooms/outside.h"
#include "structure.h"

/* ==== Memory ====================================================================== */

enum { LH_REGION_READ = 1, LH_REGION_WRITE = 2, LH_REGION_EXECUTE = 4, LH_REGION_SHARED = 8 };

/* A mapping of a target, or a segment of a core. A core of gdb has no segments for mapped files:
** their mappings get read and execute access. Bytes that a core lacks are read from the file. */
typedef struct lh_memory_region {
  uint64_t start, end;    /* whole pages, except for segments of gdb's cores */
  uint64_t file_offset;   /* of start, in the file at `path` */
  const char *path;       /* of the mapped file, or "[heap]"; "": none */
  unsigned access;        /* LH_REGION_* */
  uint64_t present_bytes; /* core: bytes from start that it has; process: end - start */
  uint64_t core_offset;   /* core: offset of these bytes */
  int file;               /* core: `path` opened, if it has the build id of the mapped file; -1 */
} lh_memory_region;

/* The memory of a target. Regions are sorted by address. */
typedef struct lh_memory {
  lh_memory_region *regions;
  size_t n;
  /* False: not all n bytes are readable. A frozen copy has another reader and the same regions. */
  bool (*read)(const struct lh_memory *memory, uint64_t address, void *out, size_t n);
  int64_t process_id;     /* the process that read() reads; 0: a core */
  bool is_shared;         /* its pages are shared with another process, as in a forked copy */
  int fd;                 /* the core's file, or /proc/PID/mem; -1: none */
  const sigset_t *before; /* signal mask before ours; NULL: no signals are held */
  lh_awaited *awaited;    /* records the awaited file; NULL: not recorded */
} lh_memory;

/* The region that holds an address, or NULL. O(log n). */
const lh_memory_region *lh_region_at(const lh_memory *memory, uint64_t address);

/* Lua's objects are in writable private memory. */
static inline bool lh_region_is_mirrored(const lh_memory_region *r) {
  return (r->access & (LH_REGION_READ | LH_REGION_WRITE | LH_REGION_SHARED)) ==
         (LH_REGION_READ | LH_REGION_WRITE);
}

/* Reads n bytes of a file. False: read error (in errno), or the file is shorter. */
bool lh_pread_all(int fd, void *out, size_t n, uint64_t offset);

uint64_t lh_mirrored_bytes(const lh_memory *memory);

/* ==== Targets ===================================================================== */

struct lh_target {
  lh_memory memory;
  bool is_core;
  int64_t process_id;      /* in this process's namespace; core: as the core says */
  uint64_t own_process_id; /* in the target's own namespace */
  char *program, *executable;
  uint8_t random[16];     /* AT_RANDOM: the same in a process, its core and its forked children */
  int signal;             /* core: the signal that ended the process; 0: none */
  uint64_t written_ns;    /* core: time of writing, in ns since 1970 */
  char *doubt;            /* core: data that the core or this machine lacks; NULL: none */
  struct lh_core *core;   /* core.h; NULL: a process */
  struct lh_guard *guard; /* stop.h; NULL: none */
  lh_found_state *found;  /* result of the last lh_find_states */
  size_t n_found;
  char silent_file
      [256]; /* file that did not answer and is not read again (write_child.c); "": none */
  void (*show_search)(void *payload, uint64_t searched_bytes);
  void *show_payload;
};

/* core.c: the core's part of lh_target_free. */
void lh_core_close(lh_target *target);

/* states.c: the Lua release of a state that lh_find_states found; "" for any other state. */
const char *lh_release_of(const lh_target *target, uint64_t state);

/* lua_versions.c: the release of the Lua `minor` ("5.4") with read-only data at `library`
** (peek_library; 0: unknown): "5.4.4", or `minor` if it cannot be found out. A file may have
** terabytes of holes, and a process gets memory for those that are read: so searches take at most
** *room bytes together. */
#define LH_TEXTS_ROOM ((uint64_t)512 << 20)
void lh_identify_release(const lh_memory *memory, uint64_t library, const char *minor,
                         uint64_t *room, char *release, size_t size);

/* lua_versions.c: says why the target has no state: another Lua, or no Lua. Returns LH_EHOST. */
int lh_refuse_other_luas(const lh_target *target, lh_error *error);

/* core.c: bytes of writable memory that the core names but lacks: never touched, or left out. */
uint64_t lh_core_lacks(const lh_target *target);

/* process.c: reads the current mappings. LH_EIO: the process has ended (os_errno ESRCH). */
int lh_process_refresh(lh_target *target, lh_error *error);

/* process.c: reads n bytes of any process; false if it cannot read all of them. */
bool lh_process_read(int64_t process_id, uint64_t address, void *out, size_t n);

/* rights.c: says why a process cannot be read or traced, and what to do. Always LH_EIO, with
** os_errno ESRCH if it has ended. */
int lh_refuse_process(int64_t process_id, int os_errno, lh_error *error);

/* The id of a state: a hash of the target's random bytes and process id, the state's address and
** its string seed. A process and its core give the same id. */
uint64_t lh_outside_state_id(const lh_target *target, uint64_t state, uint32_t seed);

/* ==== Processes =================================================================== */

typedef struct lh_process_status {
  int64_t leader;         /* Tgid: the process, if PID is one of its threads */
  int64_t parent;         /* 0: not visible in this namespace */
  int64_t tracer;         /* 0: none */
  uint64_t own_id;        /* in its own namespace */
  uint64_t switches;      /* voluntary context switches */
  uint32_t users[4];      /* real, effective, saved, file system */
  uint64_t capabilities;  /* CapEff */
  uint64_t threads;       /* number of threads */
  char state;             /* 'R', 'S', 'Z', ... */
  bool is_of_kernel;      /* a kernel thread */
  bool has_memory;        /* false: a kernel thread, or ending but no zombie yet */
  unsigned system_filter; /* Seccomp mode, 0: none. A filter may forbid a call, or kill for it */
  uint64_t pending, blocked, ignored, handled; /* signals; bit 0 is signal 1 */
} lh_process_status;

/* `process_id` may be a thread. False: it does not exist. */
bool lh_process_status_of(int64_t process_id, lh_process_status *status);

bool lh_process_read_memory(const lh_memory *memory, uint64_t address, void *out, size_t n);

/* The process's part of lh_target_free. */
void lh_process_close(lh_target *target);

/* Opens /proc/PID/`name`. -1: failed, see errno. */
int lh_process_file(int64_t process_id, const char *name, int flags);

/* Field i of /proc/PID/task/PID/stat behind the program's name; 1 is the state. "": no such
** process. */
typedef struct lh_process_field {
  char text[32];
} lh_process_field;
lh_process_field lh_process_field_of(int64_t process_id, unsigned i);

/* Processor time of a process; `process` 0: this one. Returns 0 if unknown. */
uint64_t lh_processor_ns(pid_t process);

/* Sets oom_score_adj: "1000" makes the kernel kill this process first if memory runs out. */
void lh_process_be_victim(int64_t process_id, const char *likelihood);

/* Reads /proc/PID/`name` up to size - 1 bytes, and appends a NUL. Returns the length, or -errno. */
ssize_t lh_process_text(int64_t process_id, const char *name, char *out, size_t size);

/* ==== cgroups.c =================================================================== */

typedef struct lh_room {
  uint64_t bytes;  /* UINT64_MAX: unknown */
  bool is_limited; /* by a cgroup's limit, not by the machine */
} lh_room;

/* Memory that this process may still use. `root` is before /proc and /sys, "" but in tests. */
lh_room lh_find_room(const char *root);

/* Memory that the cgroups of another process leave to it; UINT64_MAX: no limit. */
lh_room lh_find_room_of(const char *root, int64_t process_id);

/* ==== Stillness =================================================================== */

/* A process, or a frozen copy of one, that does not change. */
typedef struct lh_freeze lh_freeze;

/* freeze_process.c: on success *frozen_process must be ended, and memory is read through *memory,
** which borrows the regions of target->memory. `attempt` counts from 0: only the first ones try
** idleness. LH_STILL_IDLE: copy first, then lh_freeze_end says whether the process was idle. */
int lh_freeze_begin(lh_target *target, unsigned attempt, bool never_fork,
                    lh_freeze **frozen_process, lh_memory *memory, lh_outside_result *result,
                    lh_error *error);

/* Data to continue a stopped program in a child (continue_copy.c). Freed by lh_continuation_free.
** NULL: none. */
struct lh_continuation *lh_freeze_continuation(lh_freeze *frozen_process, const lh_memory *memory);

/* After copying: continues the target, ends the frozen copy, leaves no zombie, signal or
** descriptor. False: the process ran meanwhile (LH_STILL_IDLE). */
bool lh_freeze_end(lh_freeze *frozen_process, lh_outside_result *result);

/* ==== Mirror ====================================================================== */

typedef struct lh_mirror lh_mirror;

/* Maps room for all mirrored regions. For a process it also allocates memory for all pages that the
** process has written, so that none is needed while it is stopped. LH_EBUSY with os_errno EEXIST:
** this process has a mapping there. LH_EMEMORY: the message says why. Until lh_mirror_free, this
** process is the first that the kernel kills if memory runs out. */
int lh_mirror_reserve(const lh_memory *memory, lh_mirror **mirror, lh_error *error);

/* Follows changes of the mappings, and copies the written pages (memory.h), or the parts of a core
** that cannot be mapped. Unreadable memory is zero. Fails as lh_mirror_reserve. 0.2 s per GB. */
int lh_mirror_fill(lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                   lh_error *error);
void lh_mirror_free(lh_mirror *mirror);

/* memory.c: reads mirrored memory. */
lh_peek lh_peek_mirror(const lh_mirror *mirror);

/* In a child: unmaps the gaps between mirrored regions. */
void lh_mirror_drop_gaps(const lh_mirror *mirror);

/* Is all of [address, address + n) mirrored? O(log n). */
bool lh_mirror_has(const lh_mirror *mirror, uint64_t address, uint64_t n);

/* ==== The state in the mirror ===================================================== */

/* A mark of an older snapshot, to be linked into the mirror. */
typedef struct lh_carried_mark {
  uint32_t serial;
  bool is_snapshot; /* else an explicit mark */
  uint64_t time_ns;
  const char *name;
  size_t name_length;
  uint64_t older[2];          /* youngest older objects on allgc and finobj; 0: none */
  uint64_t possibly_newer[2]; /* for each of the two lists, see lh_possibly_newer */
} lh_carried_mark;

/* match_marks.c: the marks of `after`, its own last, with places among the objects of `now`, a
** snapshot of the same state with only its own mark. */
int lh_match_marks(const lh_snapshot *after, const lh_snapshot *now, lh_carried_mark **marks,
                   size_t *n, lh_error *error);

/* write_child.c: one state of a mirror, written by a child: only the child can crash. */
typedef struct lh_mirrored {
  const lh_target *target;
  const lh_memory *memory;
  const lh_mirror *mirror;
  const lh_outside_options *options;
  lh_stillness stillness;
  bool was_in_system_call;
  uint64_t written_bytes; /* private memory that the program wrote; core: without holes */
  uint64_t most_seconds;  /* limit of the child's processor time */
  bool is_quiet;          /* Lua is between two changes of its heap, perhaps after running on */
  struct lh_continuation *continuation; /* if not: the data to run on to such a moment; NULL: cannot
                                           run on */
  bool is_lenient; /* accept bytes that belong to no object while a function is being loaded */
  int64_t more_extra_bytes; /* bytes before each thread, beyond the usual ones (structure.h) */
  char *silent_file;        /* set to a file of the target that does not answer; NULL: all do */
  lh_awaited *reading;      /* in the child: the file being read, for its parent; NULL */
  lh_awaited *writing;      /* the same for the output, for this process's parent; NULL */
} lh_mirrored;

static inline bool lh_has_silent_file(const lh_mirrored *m) {
  return m->silent_file && *m->silent_file;
}

/* True if Lua may have been in an invisible change of its heap. False for a core written at a
** fault, which is seldom inside Lua. */
bool lh_is_in_doubt(const lh_mirrored *m);

/* take.c: where a state stood at a look. */
typedef struct lh_stance {
  lh_seen_call call;
  uint64_t gc_bytes;
  uint64_t processor_ns; /* of the program; 0: unknown */
} lh_stance;

typedef struct lh_pending {
  uint64_t state;
  bool is_done;             /* taken, or cannot be taken */
  bool is_quiet, was_quiet; /* no heap change in progress: now; before it ran on */
  lh_stance stance;         /* since an earlier attempt */
} lh_pending;

/* LH_OK: consistent, and the file has its name. LH_EBUSY: in a change. LH_EHOST: no state any more.
** Other codes: the file could not be written. */
int lh_write_mirrored(const lh_mirrored *m, lh_outside_request *request, lh_error *error);

/* LH_EBUSY: the copied heap is in the middle of a change. */
int lh_fail_amid_change(lh_error *error);

/* ==== Names ======================================================================= */

typedef struct lh_code_name {
  char symbol[128]; /* or the name under which its file registers it; "": unknown */
  char library[64]; /* file name without folders */
  uint64_t offset;  /* the address in the file, for addr2line; the same in all runs */
} lh_code_name;

typedef struct lh_symbols lh_symbols;

/* symbols.c: reads mapped files, and the target's memory, not a frozen copy's. lh_symbols_find:
** false if the address is in no mapped ELF file's code. `symbol` may hold any bytes, and is set
** only if the file is still the mapped one. A few ms at the first use of a file, but a file server
** may never answer: `reading` (may be NULL) records the file. `symbols` may be NULL. */
lh_symbols *lh_symbols_open(const lh_target *target, lh_awaited *reading);
bool lh_symbols_find(lh_symbols *symbols, uint64_t function, lh_code_name *name);
void lh_symbols_close(lh_symbols *symbols);
