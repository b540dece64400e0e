/*
** requests.h - something happens before the n-th request that this process makes of the kernel
** about another process: ptrace(), waitid(), kill(). A test that uses it is linked with --wrap for
** these (see the Makefile).
*/
#pragma once

/* Calls `event` once, before the n-th request from now on, counted from 1. NULL: they are only
** counted. */
void requests_begin(int n, void (*event)(void *payload), void *payload);

/* How many there were. */
int requests_end(void);
