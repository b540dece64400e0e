/*
** run_on.h - what a program that was stopped anywhere needs to run on in a child of this process:
** run_on.c, sandbox.c, still.c and take.c share it.
*/
#ifndef LUAHEAP_OUTSIDE_RUN_ON_H
#define LUAHEAP_OUTSIDE_RUN_ON_H

#include "mirrored.h"
#include "stop.h"

/* ==== sandbox.c ================================================================= */

typedef struct lh_copied_code lh_copied_code;

/* Before the program stands still: has what will be copied of files read from them, for as long as
** that takes. */
void lh_code_prepare(const lh_memory *memory);

/* While the program stands still. NULL: it cannot be had. */
lh_copied_code *lh_code_copy(const lh_memory *memory);
void lh_code_free(lh_copied_code *code); /* may be NULL */

/* In a child: puts it where it was, and makes all else that is mapped and not mirrored fault.
** False: this process has something of its own there. */
bool lh_code_place(const lh_copied_code *code, const lh_memory *memory, const lh_mirror *mirror);

/* Real, effective, saved, and of the file system. */
enum { LH_MOST_OTHER_GROUPS = 512 };
typedef struct lh_identity {
  uint32_t users[4], groups[4], others[LH_MOST_OTHER_GROUPS];
  int n_others;
} lh_identity;

/* False: the kernel does not tell, or there are more groups than LH_MOST_OTHER_GROUPS. */
bool lh_identity_of(pid_t process, lh_identity *identity);

/* In the child, last: resets signals and limits resources. Returns where the parent can let the
** child make system calls; 0: nowhere. */
uint64_t lh_sandbox_begin(const lh_identity *identity);

/* Of a child that is held: leaves it nothing but the regions of `memory` and the target's identity.
** False: that cannot be had, and the child must not run. *child is 0 if it has ended. */
bool lh_sandbox_close(pid_t *child, uint64_t stub, const lh_memory *memory,
                      const lh_identity *identity);

/* Waits until the child stops. False: it does not, or has ended; then *child is 0. */
bool lh_sandbox_wait(pid_t *child, int *status, uint64_t until_ns);

/* ==== run_on.c ==================================================================== */

/* Of a program that stands still: with what its threads go on, and its code. */
typedef struct lh_moment lh_moment;

/* Of threads that are held: with what they go on. NULL: it is not known. */
lh_moment *lh_moment_begin(const lh_stop *stop);

/* Of a core, with its code; NULL: that is not to be had, or need not be, since all threads were in
** calls at which Lua is amid no change (*is_quiet). */
lh_moment *lh_moment_of_core(const lh_target *target, bool *is_quiet);

/* Before the program, or its copy, goes on: its code. False: it is not to be had. */
bool lh_moment_copy_code(lh_moment *moment, const lh_memory *memory);
void lh_moment_free(lh_moment *moment); /* may be NULL */

/* Lets the states that are not quiet run on from the moment of a mirror, in one child, each to
** where Lua is amid no change in it, and says of which that is so. The mirror is as of the end, for
** all of them, and the moment is over. LH_EIO: the mirror is of no use any more. Cost: as
** lh_mirror_fill, and for each state that comes to no such place 300 ms of processor time, three
** seconds in all; twenty seconds of waiting for a processor at the most. */
int lh_run_on(const lh_mirrored *m, lh_pending *states, size_t n, lh_error *error);

#ifndef __x86_64__ /* it is not known how */
#define lh_moment_begin(stop) NULL
#define lh_moment_of_core(target, is_quiet) (*(is_quiet) = false, NULL)
#define lh_moment_copy_code(moment, memory) ((void)(memory), false)
#define lh_moment_free(moment) ((void)(moment))
#define lh_run_on(m, states, n, error) ((void)(error), LH_OK)
#endif

#endif
