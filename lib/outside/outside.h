/*
** outside.h - the parts of a snapshot from outside, and what they hand to each other.
**
**     target.c, process.c, core.c    a process or a core file, behind the public calls
**     states.c, ident.c              its Lua states, by structure; which release, which other Luas
**     still.c, stop.c                a process that stands still: idle, a frozen copy, or stopped
**     mirror.c, memory.c             its memory at its own addresses in this process
**     run_on.c, sandbox.c            runs on in a child to where Lua is amid no change
**     shot.c, shooting.c             a child that walks the mirror, and the file
**     sound.c, running.c, marks.c    what that child asks of the heap
**     symbols.c                      what C functions are called
**     take.c                         the order of all that (lh_take_outside)
**
** Addresses of the target are uint64_t as long as they may not be followed; in the mirror they are
** pointers.
*/
#ifndef LUAHEAP_OUTSIDE_H
#define LUAHEAP_OUTSIDE_H

#include <signal.h>

#include "base.h"
#include "luaheap_outside.h"
#include "take/structure.h"

/* ==== Memory ====================================================================== */

enum { LH_REGION_READ = 1, LH_REGION_WRITE = 2, LH_REGION_EXECUTE = 4, LH_REGION_SHARED = 8 };

/* A mapping of a target, or a segment of a core. gdb's cores have no segments for what can be read
** from a file: such a mapping has read and execute access, whichever of them it had. */
typedef struct lh_memory_region {
  uint64_t start, end;    /* whole pages, but for segments of gdb's cores */
  uint64_t file_offset;   /* of start, in the file at `path` */
  const char *path;       /* of the mapped file, or "[heap]"; "": none */
  unsigned access;        /* LH_REGION_* */
  uint64_t present_bytes; /* of a core: so many from start on are in it. Else end - start */
  uint64_t core_offset;   /* of a core: where they are */
  int file;               /* of a core: the file at `path`, opened, if it is the one that was mapped
                             (its build id tells); -1. What the core lacks is read from it */
} lh_memory_region;

/* The memory of a target: what is mapped, by ascending address, and how it is read. */
typedef struct lh_memory {
  lh_memory_region *regions;
  size_t n;
  /* Reads n bytes; false where not all of them can be. The frozen copy of a process is another
  ** reader with the same regions. */
  bool (*read)(const struct lh_memory *memory, uint64_t address, void *out, size_t n);
  int64_t process_id;     /* of whom read() reads */
  bool is_shared;         /* it has pages in common with others, as a forked copy: they stay so */
  int fd;                 /* a core's file, or /proc/PID/mem; -1 */
  const sigset_t *before; /* signals are held while it is read, and these were before; NULL */
  lh_awaited *awaited;    /* where it is said what is waited for; NULL: nowhere */
} lh_memory;

/* The region that holds an address; NULL: none. O(log n). */
const lh_memory_region *lh_region_at(const lh_memory *memory, uint64_t address);

/* Writable and private: where Lua's objects are. */
static inline bool lh_region_is_mirrored(const lh_memory_region *r) {
  return (r->access & (LH_REGION_READ | LH_REGION_WRITE | LH_REGION_SHARED)) ==
         (LH_REGION_READ | LH_REGION_WRITE);
}

/* Reads so many bytes of a file; false where it cannot (errno tells), or the file ends before. */
bool lh_pread_all(int fd, void *out, size_t n, uint64_t offset);

/* Of all regions that are mirrored, together. */
uint64_t lh_mirrored_bytes(const lh_memory *memory);

/* ==== Targets ===================================================================== */

/* What both kinds fill in when they are opened. */
struct lh_target {
  lh_memory memory;
  bool is_core;
  int64_t process_id;      /* for the kernel here; of a core: as it has it */
  uint64_t own_process_id; /* as it sees itself, in its namespace */
  char *program, *executable;
  uint8_t random[16];     /* what the kernel gave it at its start (AT_RANDOM): an identity that
                              process and core both have, and forked children too */
  int signal;             /* of a core: that ended the process; 0: none */
  uint64_t written_ns;    /* of a core: when, in nanoseconds since 1970 */
  char *doubt;            /* of a core: what it lacks, or this machine; NULL: nothing */
  struct lh_core *core;   /* core.h; NULL: it is a process */
  struct lh_guard *guard; /* stop.h; NULL: none */
  lh_found_state *found;  /* by the last lh_find_states */
  size_t n_found;
  char silent_file[256]; /* of which nothing more is asked (shot.c); "": none */
  void (*show_search)(void *payload, uint64_t searched_bytes);
  void *show_payload;
};

/* process.c, core.c: open; *target is cleared before. */
int lh_process_open(int64_t process_id, lh_awaited *awaited, lh_target *target, lh_error *error);
int lh_core_open(const char *path, lh_target *target, lh_error *error);

/* The core's part of lh_target_free, after a failed lh_core_open, too: memory with its regions, and
** `core`. The texts above are target.c's. */
void lh_core_close(lh_target *target);

/* states.c: the release of a state that lh_find_states has found; "5.4" of any other. */
const char *lh_release_of(const lh_target *target, uint64_t state);

/* ident.c: the release of the Lua that has its read-only data at `library` (lh_glance_library; 0:
** not known where): "5.4.4", or "5.4" where nothing tells. */
void lh_identify_release(const lh_memory *memory, uint64_t library, char *release, size_t size);

/* ident.c: why there is no state in the target: another Lua, none at all. Returns LH_EHOST. */
int lh_refuse_other_luas(const lh_target *target, lh_error *error);

/* core.c: bytes of writable memory that a core names but does not have: what was never touched, or
** was left out. */
uint64_t lh_core_lacks(const lh_target *target);

/* process.c: reads what is mapped now. LH_EIO: it has ended (os_errno ESRCH). */
int lh_process_refresh(lh_target *target, lh_error *error);

/* process.c: bytes of memory of any process; false: not all of them. */
bool lh_process_read(int64_t process_id, uint64_t address, void *out, size_t n);

/* rights.c: why a process may not be read or traced, and what to do; always LH_EIO. os_errno is
** ESRCH where there is no such process any more. */
int lh_refuse_process(int64_t process_id, int os_errno, lh_error *error);

/* The id of a state: of the target's random bytes and process id, the state's address and its
** string seed. The same for a process and its core. */
uint64_t lh_outside_state_id(const lh_target *target, uint64_t state, uint32_t seed);

/* ==== Processes =================================================================== */

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
  unsigned system_filter; /* Seccomp: 0: none. Which could forbid a call, or kill for it */
  uint64_t pending, blocked, ignored, handled; /* signals, from bit 0 on */
} lh_process_status;

/* Of a process, or a thread. False: there is none. */
bool lh_process_status_of(int64_t process_id, lh_process_status *status);

/* The lh_memory.read of a process. */
bool lh_process_read_memory(const lh_memory *memory, uint64_t address, void *out, size_t n);

/* The process's part of lh_target_free, after a failed lh_process_open, too. */
void lh_process_close(lh_target *target);

/* Opens /proc/PID/`name`; -1: errno tells why. */
int lh_process_file(int64_t process_id, const char *name, int flags);

/* What is in /proc/PID/stat behind the name, in which there may be anything: from 1 (the state) on.
** "": there is no such process. */
typedef struct lh_process_field {
  char text[32];
} lh_process_field;
lh_process_field lh_process_field_of(int64_t process_id, unsigned i);

/* The processor time of a process, of this one if it is 0; 0: it is not known. */
uint64_t lh_processor_ns(pid_t process);

/* How likely the kernel kills it should memory run out, as /proc writes that: up to "1000". */
void lh_process_be_victim(int64_t process_id, const char *likelihood);

/* Reads /proc/PID/`name`, at most size - 1 bytes, and a NUL behind them. How many, or -errno. */
ssize_t lh_process_text(int64_t process_id, const char *name, char *out, size_t size);

/* ==== cgroups.c =================================================================== */

typedef struct lh_room {
  uint64_t bytes;  /* UINT64_MAX: nobody knows */
  bool is_limited; /* by the limit of a cgroup, not by the machine */
} lh_room;

/* How much memory this process may still take. `root` is in front of /proc and /sys: "", or the
** folder of a test. */
lh_room lh_find_room(const char *root);

/* ==== Stillness =================================================================== */

/* A process that does not change, or a copy of it that does not. */
typedef struct lh_still lh_still;

/* still.c: 0, and *still is the one to be ended; memory is read through *memory (regions are
** borrowed from target->memory, which was refreshed while the target stood still). `attempt`
** counts from 0: idleness is tried in the first few only.
**
** For LH_STILL_IDLE the copy comes first, and lh_still_end tells whether it was one. */
int lh_still_begin(lh_target *target, unsigned attempt, bool never_fork, lh_still **still,
                   lh_memory *memory, lh_outside_told *told, lh_error *error);

/* Of a program that was stopped, or forked, anywhere: what it needs to run on in a child of this
** process (run_on.c), to be given back by lh_moment_free. NULL: it cannot. */
struct lh_moment *lh_still_moment(lh_still *still, const lh_memory *memory);

/* Everything was copied: lets the target go on, if it does not yet; ends the copy. False: it
** was not still at all (LH_STILL_IDLE). Leaves no zombie, signal or descriptor. */
bool lh_still_end(lh_still *still, lh_outside_told *told);

/* ==== Mirror ====================================================================== */

typedef struct lh_mirror lh_mirror;

/* Room for all regions that are mirrored, at their addresses; and, of a process, memory for the
** pages that it has written, so that none needs to be asked for while it stands still. That is as
** much as it has of its own, and no more; of a core none. LH_EBUSY with os_errno EEXIST: something
** of this process is in the way. LH_EMEMORY: that much is not to be had; the message says why.
** Until lh_mirror_free this is the process that is killed should the system run out of memory. */
int lh_mirror_reserve(const lh_memory *memory, lh_mirror **mirror, lh_error *error);

/* Reserves what is new in `memory`, makes the rest what it is there, and copies: the pages that
** were written (memory.h), or of a core what cannot be mapped from its file. What cannot be read is
** zero. Fails as lh_mirror_reserve does. Cost: 0.2 s for each GB. */
int lh_mirror_fill(lh_mirror *mirror, const lh_memory *memory, uint64_t *copied_bytes,
                   lh_error *error);
void lh_mirror_free(lh_mirror *mirror);

/* In a child: unmaps the gaps in the mirror, where the target has something else. */
void lh_mirror_drop_gaps(const lh_mirror *mirror);

/* Is it mirrored, [address, address + n)? O(log n). */
bool lh_mirror_has(const lh_mirror *mirror, uint64_t address, uint64_t n);

/* ==== In the mirror =============================================================== */

/* marks.c: an older mark that is linked into the mirror, too. */
typedef struct lh_carried_mark {
  uint32_t serial;
  uint8_t kind; /* LH_MARK_* */
  uint64_t time_ns;
  const char *name;
  size_t name_length;
  uint64_t older[2]; /* the youngest objects on allgc and finobj that are older than it; 0: none */
  uint64_t passed_as_old[2]; /* of each list, see lh_passed_as_old */
} lh_carried_mark;

/* marks.c: the marks of `after`, its own the last, with their places among
** the objects of `now`, a snapshot of the same state with one mark, its own. */
int lh_match_marks(const lh_snapshot *after, const lh_snapshot *now, lh_carried_mark **marks,
                   size_t *n, lh_error *error);

/* shot.c: one state of a mirror, written in a child of this process, so that a heap amid a change
** costs no more than the child. */
typedef struct lh_mirrored {
  const lh_target *target;
  const lh_memory *memory;
  const lh_mirror *mirror;
  const lh_outside_options *options;
  lh_stillness stillness;
  bool was_in_system_call;
  uint64_t written_bytes;   /* of its memory, by the program; of a core: all */
  uint64_t most_seconds;    /* of processor time, for the child */
  bool is_quiet;            /* Lua was amid no change, or has run on to where it is not */
  struct lh_moment *moment; /* else from where it runs on to where that is so; NULL: it cannot */
  bool is_lenient; /* there may be bytes that belong to no object, if a function is being loaded */
  int64_t more_extra_bytes; /* in front of each thread, beyond the usual ones (structure.h) */
  char *silent_file;        /* of the target, to be filled in; NULL: all files answer */
  lh_awaited *reading;      /* in the child: what it reads just now, for its parent; NULL */
  lh_awaited *writing;      /* the same of its output, for who waits for its parent; NULL */
} lh_mirrored;

/* Lua may have been amid a change that shows nowhere. A core by a fault was written where the
** program had come to, which is seldom in Lua; any other, where it happened to be. */
bool lh_is_in_doubt(const lh_mirrored *m);

/* running.c: has the state stood in one C function since it was first looked at, for so long that
** Lua is amid no change? `since` is zero at first. */
typedef struct lh_stance lh_stance;
bool lh_has_stood(const lh_mirrored *m, uint64_t state, lh_stance *since);

/* LH_OK: it is sound, and the file has its name. LH_EBUSY: it is amid a change. LH_EHOST: no state
** is there any more. Others: the file could not be written. */
int lh_shoot_mirrored(const lh_mirrored *m, lh_outside_request *request, lh_error *error);

/* ==== Names ======================================================================= */

/* What is known of a C function's address. */
typedef struct lh_code_name {
  char symbol[128]; /* or the name by which its file registers it; "": none is known */
  char library[64]; /* its file's name, without folders */
  uint64_t offset;  /* the address that its file gives it, which addr2line takes: the same in all
                       runs */
} lh_code_name;

typedef struct lh_symbols lh_symbols;

/* symbols.c: reads the files that were mapped, and the target's memory (not a frozen copy's, which
** may be gone). False: the address is in no mapped ELF file's code. A symbol is only told if its
** file is to be had, and is still the one that was mapped; it may be any bytes. At most some ms for
** each file that is asked for first; but a file's server may never answer, so `reading` (NULL:
** nobody asks) tells which it is. `symbols` may be NULL. */
lh_symbols *lh_symbols_open(const lh_target *target, lh_awaited *reading);
bool lh_symbols_find(lh_symbols *symbols, uint64_t function, lh_code_name *name);
void lh_symbols_close(lh_symbols *symbols);

#endif
