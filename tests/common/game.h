/*
** game.h - a library, or a program, in C that registers functions in Lua, for tests of what these
** are called: game_compile makes it in the current folder.
*/
#pragma once

/* What its array `game` has, in this order: functions that are registered as "send" and "close",
** one that an array names which is none of Lua's, one that no array names, one that is exported. */
enum { SEND, CLOSE, ON_PACKET, TICK, OPEN };

/* Runs a line of the shell, which must succeed. */
void game_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A shared library, with more options for the compiler; a program, which prints where its functions
** are, and stays. */
void game_compile(const char *name, const char *options);
void game_compile_program(const char *name, const char *compiler, const char *options);

/* The address that the linker gave a function. */
unsigned long long game_linked_at(const char *file, const char *function);
