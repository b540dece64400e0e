/*
** luaheap.h - takes snapshots of a heap of Lua 5.4 or 5.5, and answers questions as JSON.
**
**     in the program        lh_attach(L)  lh_take_snapshot(L, "a")  lh_mark(L, "level 2")
**     on any machine        lh_open("a")  lh_answer_json("classes")  lh_free  lh_close
**
** The two halves share only the file. The second half needs no Lua.
**
** A function that can fail returns LH_OK or a negative LH_E... code, and writes one sentence into
** the caller's error object, which may be NULL. Any of them may return LH_EMEMORY, listed or not.
** What a function returns through `**out` belongs to the caller, who frees it by the function that
** is named there; all else is borrowed.
**
** The library never prints, exits or aborts. Only one thread at a time may use a snapshot. A Lua
** state may be read only in the thread that runs the state. Two states in two threads do not affect
** each other.
*/
#ifndef LUAHEAP_H
#define LUAHEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* the shared library exports these functions only */

/* ==== 1. Version, memory, errors ==================================================== */

/* LH_VERSION is the header's, lh_version the loaded library's. */
#define LH_VERSION "0.1.0"
const char *lh_version(void);

/* Frees a text or an error object; NULL is harmless. */
void lh_free(void *result);

enum lh_code {
  LH_OK = 0,
  LH_EARGUMENT = -1, /* invalid call */
  LH_EMEMORY = -2,   /* out of memory */
  LH_EIO = -3,       /* the system failed */
  LH_EFOREIGN = -4,  /* not a snapshot of luaheap */
  LH_EVERSION = -5,  /* a snapshot of a newer luaheap */
  LH_EDAMAGED = -6,  /* a snapshot that was cut or changed */
  LH_EHOST = -7,     /* a Lua whose heap this library does not know */
  LH_ENOTFOUND = -8, /* no such object, mark or path */
  LH_ELIMIT = -9,    /* more than the library can count (2^32 - 2 objects or edges) or hold */
  LH_EBUSY = -10     /* a background snapshot is not finished; Lua is in the middle of a change */
};

/* Makes an error object for any number of calls; NULL: out of memory. Freed by lh_free. */
typedef struct lh_error lh_error;
lh_error *lh_error_new(void);

/* One sentence: what the last call that failed was doing, and why it failed. Borrowed until the
** next call with `error`. NULL has a sentence, too. */
const char *lh_error_message(const lh_error *error);

/* ==== 2. Asking snapshots =========================================================== */

/* Opens and checks a snapshot: all checksums, and the form of every record. So later calls cannot
** fail because of the file, even if it changes. Closed by lh_close, which takes NULL, too.
** LH_EFOREIGN, LH_EVERSION, LH_EDAMAGED, LH_EIO (also if the file is just being changed) or
** LH_ELIMIT. One pass over the file; memory for the file and 24 bytes an object. */
typedef struct lh_snapshot lh_snapshot;
int lh_open(lh_snapshot **out, const char *path, lh_error *error);
void lh_close(lh_snapshot *snapshot);

/* Asks the last of n snapshots a question, and returns the answer as a JSON object in *json, for
** lh_free. A question that compares, such as "diff", compares with the others, oldest first.
**
** A question has the name of a command's option (heaptop --waste is "waste"), or is "classes",
** "objects", "info", "diff"; the answer has the keys that --json has, and the man pages list them.
** `arguments`, which may be NULL, are pairs of key and value, then NULL: "limit", "5", NULL. Keys
** are at (an object: "_G.cache"), class, depth, filter, from (rows to skip), garbage (1), limit (0:
** all), sort and type. LH_EARGUMENT: another key, a wrong value, or a question about profiles.
** LH_ENOTFOUND: no such object.
**
** The first question about a snapshot finds all paths and retained sizes: O(edges * log objects),
** and at most 80 bytes an object. */
int lh_answer_json(lh_snapshot *const *snapshots, size_t n, const char *question,
                   const char *const *arguments, char **json, lh_error *error);

/* ==== 3. Taking snapshots =========================================================== */

/* The same type as in lua.h, so readers need no Lua installed.
**
** The functions below may be called wherever Lua code could run: in coroutines, hooks, message
** handlers, finalizers (also of a closing state), warn and panic functions, readers and writers,
** with the collector stopped or in any phase. Threads may take snapshots of one state each at the
** same time. Never call them in a signal handler, or for a state that another thread runs.
** The state's allocation function may call them while it is asked for more memory, through a
** coroutine made before, but not while it frees. LH_EBUSY: Lua is moving a stack, or frees;
** releases before 5.4.4 do not detect this. */
typedef struct lua_State lua_State;

/* Checks that the library knows this Lua, and prepares L. Needed once for each state before the
** calls below; a second call does nothing. Allocates one small userdata and one table in the Lua
** heap, in protected mode. LH_EHOST: another Lua; the message says what was expected and found.
** O(1). */
int lh_attach(lua_State *L, lh_error *error);

/* Writes the heap of L to `path`, with the first `string_bytes` of each string (0: none, for heaps
** with secrets), and leaves a mark named `path` in the heap. The file has mode 0600, and gets its
** name when it is whole; until then it has none, or a temporary one in the same directory. A link,
** a device or a pipe at `path` is LH_EIO and stays. Runs no collector step, calls no metamethod,
** raises no Lua error, and allocates only the mark in the Lua heap (two userdata; and a longer
** stack if L has fewer than ten free slots, see lua_checkstack). On failure an existing file is
** unchanged. LH_EIO: such as too little room (disk, RLIMIT_FSIZE), detected before the first write.
** Cost: about one full collection, or two if there is less room than 2.25 times the
** heap, since the file is then measured first; and 1 MiB of memory outside of Lua. */
#define LH_DEFAULT_STRING_BYTES 256u
int lh_take_snapshot(lua_State *L, const char *path, uint64_t string_bytes, lh_error *error);

/* Starts a snapshot that a child process writes. The program pauses only for a fork (0.01 to 0.03
** times a full collection; a tenth of that if malloc uses huge pages). The file is the heap at the
** fork, mark included. The host's wait() does not see the child, and the child raises no SIGCHLD;
** it completes the file even if the host exits. It first closes all descriptors but the standard
** ones. Before Linux 5.9 it does so only at its end, and only then does the peer of a connection
** notice that the host has closed it. On failure *job is NULL and no file is touched. The room that
** any file needs is checked before the fork, the room for this file in the child. Memory: 1 MiB,
** and the part of the heap that the program changes meanwhile. */
typedef struct lh_job lh_job;
int lh_start_snapshot(lua_State *L, const char *path, uint64_t string_bytes, lh_job **job,
                      lh_error *error);

/* Waits at most `seconds` (negative: for ever). LH_OK: the file is there; LH_EBUSY: not finished;
** LH_EIO: not written, and only the mark is left. May be repeated. */
int lh_job_wait(lh_job *job, double seconds, lh_error *error);

/* Frees the job. A child that is still writing goes on, and is a zombie from its end to the host's:
** so free a job when it is done. */
void lh_job_free(lh_job *job);

/* Leaves a mark: later objects are younger than the mark. Runs no collector step. LH_EARGUMENT: a
** name of more than 4,096 bytes. O(1); two userdata of 88 bytes and the name. */
int lh_mark(lua_State *L, const char *name, size_t name_length, lh_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
