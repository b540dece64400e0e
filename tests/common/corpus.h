/*
** corpus.h - replays what the fuzzer has found: the inputs that between them reach all code that
** fuzzing has reached, and each that once broke something. What libFuzzer needs clang for is so
** done in every run of the suite.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void corpus_ask(const uint8_t *data, size_t size);

/* Asks about a file, in a block of its exact size for the sanitizer. False: there is none. */
bool corpus_replay_file(const char *path, corpus_ask *ask);

/* About each file of a folder, and says how many there were: "the fuzzer's corpus of cores". Fails
** if there are less than `least`. */
void corpus_replay(const char *folder, const char *what, size_t least, corpus_ask *ask);
