/*
** continue_copy.h - continues a stopped program in a child; for continue_copy.c, sandbox.c,
** freeze_process.c and take.c.
*/
#pragma once

#include "stop.h"

/* ==== sandbox.c ================================================================= */

typedef struct lh_copied_code lh_copied_code;

/* Before the program is stopped: reads from files the pages that lh_code_copy needs. */
void lh_code_prepare(const lh_memory *memory);

/* While the program is stopped. NULL: not possible. */
lh_copied_code *lh_code_copy(const lh_memory *memory);
void lh_code_free(lh_copied_code *code); /* may be NULL */

/* In a child: places the code, and makes all mappings outside the mirror fault. False: occupied. */
bool lh_code_place(const lh_copied_code *code, const lh_memory *memory, const lh_mirror *mirror);

/* Real, effective, saved, file system. */
enum { LH_MOST_OTHER_GROUPS = 512 };
typedef struct lh_identity {
  uint32_t users[4], groups[4], others[LH_MOST_OTHER_GROUPS];
  int n_others;
} lh_identity;

/* False: unknown, or more than LH_MOST_OTHER_GROUPS groups. */
bool lh_identity_of(pid_t process, lh_identity *identity);

/* In the child, last: resets signals and limits resources. Returns the address of the stub, where
** the child executes calls for the parent; 0: failed. */
uint64_t lh_sandbox_begin(const lh_identity *identity);

/* Leaves a held child only the regions of `memory`, and the target's identity. False: failed, and
** the child must not run. *child is 0 if it has ended. */
bool lh_sandbox_close(pid_t *child, uint64_t stub, const lh_memory *memory,
                      const lh_identity *identity);

/* Makes a held child change the access to a page of its own: PROT_... False: failed. */
enum { LH_CHILD_PAGE = 4096 };
bool lh_sandbox_protect(pid_t *child, uint64_t stub, uint64_t page, int access);

/* Waits until the child stops. False: timeout, or it has ended; then *child is 0. */
bool lh_sandbox_wait(pid_t *child, int *status, uint64_t until_ns);

/* ==== continue_copy.c ============================================================= */

/* A stopped program: the registers of its threads, and its code. */
typedef struct lh_continuation lh_continuation;

/* Reads the registers of held threads. NULL: failed. */
lh_continuation *lh_continuation_begin(const lh_stop *stop);

/* The same for a core, with its code. NULL: failed, or not needed: all threads were in system calls
** in which Lua does not change its heap (*is_quiet). */
lh_continuation *lh_continuation_of_core(const lh_target *target, bool *is_quiet);

/* Before the program, or its frozen copy, goes on: copies its code. False: failed. */
bool lh_continuation_copy_code(lh_continuation *continuation, const lh_memory *memory);
void lh_continuation_free(lh_continuation *continuation); /* may be NULL */

/* Runs the states that are not quiet on in one child, each until Lua is between two changes of its
** heap, that is, quiet. The mirror gets the child's memory at the end, and the moment is used up.
** LH_EIO: the mirror is unusable. Cost: as lh_mirror_fill, 300 ms of processor time for a state
** that does not become quiet, three seconds in all; at most twenty seconds of waiting for a
** processor. */
int lh_continue_copy(const lh_mirrored *m, lh_pending *states, size_t n, lh_error *error);

#ifndef __x86_64__ /* on other machines no state runs on, so its doubt stays */
#define lh_continuation_begin(stop) NULL
#define lh_continuation_of_core(target, is_quiet) (*(is_quiet) = false, NULL)
#define lh_continuation_copy_code(continuation, memory) ((void)(memory), false)
#define lh_continuation_free(continuation) ((void)(continuation))
#define lh_continue_copy(m, states, n, error) ((void)(error), LH_OK)
#endif
