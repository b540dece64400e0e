/*
** scene.h - where the tests of the writing half play: a Lua state with some objects, in a folder of
** its own that is the current one.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rooms/all.h"

/* Fixtures for cmocka: *state is an attached lua_State, with a heap of 1.6 MB whose file is two
** blocks and a footer; scene_big has 100,000 objects, which take some time. */
int scene_set_up(void **state);
int scene_big(void **state);
int scene_tear_down(void **state); /* nothing is left in the folder but "a" and "b" */

/* Opens the file: is it a whole snapshot, exact to the byte? */
bool scene_is_whole(const char *path);

/* Makes "a" an older file, which is no snapshot, or removes it; and is it still that? */
void scene_set_older(bool there);
bool scene_is_older(bool there);

/* How many files are in the folder, other than "a" and "b". */
size_t scene_count_strays(void);

/* How many descriptors this process has open. */
size_t scene_count_descriptors(void);

/* Takes a snapshot, in the background if asked, and waits for it. */
int scene_take(lua_State *L, const char *path, bool background, lh_error *error);
