/*
** arguments.c - the command line of the process of a core, from its memory.
**
** A note has it, too, but 80 bytes at most, and in gdb's cores often the program's name only. The
** kernel puts it on the stack when a program starts, and ps shows it from there; upwards:
**
**     number of arguments, pointers to them, 0, pointers to the environment, 0,
**     auxiliary vector (pairs of a type and a value), some bytes, the random bytes, texts
**
** Where the random bytes are is known from a note, so the way goes down from them: the vector has
** the pair that tells their address.
*/
#include <string.h>

#include "core.h"

enum {
  WORD = 8,
  BETWEEN = 256,        /* at most between the vector and the random bytes; there are some 20 */
  MOST_VECTOR = 1024,   /* bytes of a vector, at most; there are some 350 */
  MOST_WORDS = 1 << 16, /* pointers to arguments and environment that are passed */
  MOST_TYPE = 63        /* AT_*; pointers are greater */
};

static bool read_word(const lh_memory *memory, uint64_t address, uint64_t *word) {
  return memory->read(memory, address, word, sizeof *word);
}

/* The place of the pair that tells where the random bytes are. */
static bool find_pair(const lh_core *core, const lh_memory *memory, uint64_t *at) {
  uint64_t last = core->random_at & ~(uint64_t)(WORD - 1), type, value;
  for (*at = last; last - *at < BETWEEN + MOST_VECTOR && *at >= WORD; *at -= WORD) {
    if (!read_word(memory, *at, &type) || !read_word(memory, *at + WORD, &value)) return false;
    if (type == AT_RANDOM && value == core->random_at) return true;
  }
  return false;
}

/* From a pair of the vector down to its first one. */
static bool pass_vector(const lh_memory *memory, uint64_t *at) {
  uint64_t type, start = *at;
  while (start - *at < MOST_VECTOR) {
    if (!read_word(memory, *at - 2 * WORD, &type)) return false;
    if (type == 0 || type > MOST_TYPE) return true;
    *at -= 2 * WORD;
  }
  return false;
}

/* From a zero word down to the one before the pointers below it: to another zero, or to their
** number where that is what stands there. */
static bool pass_pointers(const lh_memory *memory, bool are_counted, uint64_t *at, uint64_t *n) {
  uint64_t word;
  if (!read_word(memory, *at, &word) || word != 0) return false;
  for (*n = 0; *n < MOST_WORDS; ++*n) {
    *at -= WORD;
    if (!read_word(memory, *at, &word)) return false;
    if (word == (are_counted ? *n : 0)) return true;
  }
  return false;
}

/* The bytes of a text that fit, without its zero. */
static size_t copy_text(const lh_memory *memory, uint64_t address, char *out, size_t size) {
  size_t n = 0;
  while (n < size && memory->read(memory, address + n, &out[n], 1) && out[n] != '\0') n++;
  return n;
}

bool lh_core_arguments(const lh_core *core, const lh_memory *memory, char *out, size_t size) {
  uint64_t at, n, pointer;
  size_t used = 0;
  if (!core->random_at || !find_pair(core, memory, &at) || !pass_vector(memory, &at)) return false;
  at -= WORD;
  if (!pass_pointers(memory, false, &at, &n) || !pass_pointers(memory, true, &at, &n) || n == 0)
    return false;
  for (uint64_t i = 0; i < n && used + 1 < size; i++) {
    if (!read_word(memory, at + (1 + i) * WORD, &pointer)) return false;
    if (i > 0) out[used++] = ' ';
    used += copy_text(memory, pointer, out + used, size - 1 - used);
  }
  out[used] = '\0';
  return used > 0;
}
