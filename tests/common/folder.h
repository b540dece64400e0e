/*
** folder.h - a folder of its own for a test, or for all tests of a program: the current one while
** they run, and gone afterwards, whatever they left in it.
*/
#pragma once

/* Makes the folder, and goes there. 0, or -1: it cannot. */
int folder_enter(void);

/* Goes to / and removes the folder. 0: it was empty; -1: it was not, and what was in it is told. */
int folder_leave(void);

/* All tests in a list, in one folder: for main to return. They fail if one leaves a file there. */
#define folder_run(tests) \
  (folder_enter() ? 1 : folder_leave_after(cmocka_run_group_tests(tests, NULL, NULL)))
int folder_leave_after(int n_failed);
