/*
** run_on.h - what a program that was stopped anywhere needs to run on in a child of this process:
** run_on.c, code.c, still.c and shot.c share it.
*/
#ifndef LUAHEAP_OUTSIDE_RUN_ON_H
#define LUAHEAP_OUTSIDE_RUN_ON_H

#include "outside.h"
#include "stop.h"

/* {=== code.c ======================================================================== */

typedef struct lh_copied_code lh_copied_code;

/* While the program stands still. NULL: it cannot be had. */
lh_copied_code *lh_code_copy(const lh_memory *memory);
void lh_code_free(lh_copied_code *code); /* may be NULL */

/* In a child: puts it where it was, and makes all else that is mapped and not mirrored fault.
** False: this process has something of its own there. */
bool lh_code_place(const lh_copied_code *code, const lh_memory *memory, const lh_mirror *mirror);

/* }=================================================================================== */

/* {=== run_on.c ====================================================================== */

/* Of a program that stands still: with what its threads go on, and its code. */
typedef struct lh_moment lh_moment;

/* Of threads that are held: with what they go on. NULL: it is not known. */
lh_moment *lh_moment_begin(const lh_stop *stop);

/* Before the program, or its copy, goes on: its code. False: it is not to be had. */
bool lh_moment_copy_code(lh_moment *moment, const lh_memory *memory);
void lh_moment_free(lh_moment *moment); /* may be NULL */

/* The two ends by which this process and a child that runs on tell each other. */
bool lh_run_on_open(int gates[2]);

/* In a child of this process, which is forked with the other end of `gate`: becomes the program,
** runs on, and is itself again. False: Lua may be amid a change in it, or there is no parent any
** more: it is to end. */
bool lh_run_on_here(const lh_mirrored *m, int gate);

/* Meanwhile in this process. False: the child is to be killed. */
bool lh_run_on_there(const lh_mirrored *m, uint64_t state, pid_t child, int gate);

/* }=================================================================================== */

#endif
