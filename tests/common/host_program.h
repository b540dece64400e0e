/*
** host_program.h - a program beside this one, to be looked at from outside. It says "ready" on its
** standard output once it is as far, and dies with this process.
*/
#pragma once

#include <sys/types.h>

/* Returns when it is ready. */
pid_t host_start(const char *name, const char *argument);

/* Kills it. */
void host_program_end(pid_t host);
