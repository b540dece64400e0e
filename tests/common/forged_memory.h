/*
** forged_memory.h - the memory of a Lua 5.4 state, forged byte by byte in the layout of any
** release, for the probe and the walk to read.
**
** The offsets come from the description of Lua's structures, not from the library's table, and
** everything that nobody sets holds 0xA5. Each block has exactly its size, so under
** AddressSanitizer a read behind it ends the program. A new image has: the main thread with a light
** userdata on top of its stack, the global state, a registry, a metatable of strings, and the names
** of metamethods.
*/
#pragma once

#include "take/raw.h"

typedef struct release {
  const char *ident, *releases;
  size_t thread_bytes, block_bytes; /* LX and LG */
  size_t global;                    /* sizeof lua_State */
  size_t stack_last, stack, open_upvalues, base_call, stack_size;
  size_t main_thread, memory_message, metamethods, metatables;
  bool size_flag_in_mark, old_dead_keys; /* else in `flags`, and of type 11 */
} release;

enum { N_RELEASES = 4, STACK_SLOTS = 45, GC_BYTES = 12345, WHITE = 0x08, OTHER_WHITE = 0x10 };

extern const release image_releases[N_RELEASES];

typedef struct image {
  const release *r;
  char *main, *global; /* lua_State and global_State, in one block */
  char *stack, *registry, *string_metatable;
  void *blocks[128];
  size_t n_blocks;
  lh_layout layout; /* for a test's own use */
  lh_host host;     /* what lh_attach would ask the API */
  int allocator;    /* its address stands for the allocation function */
} image;

void image_begin(image *m, const release *r, bool with_ident);
void image_end(image *m);

/* A block of its own, full of 0xA5, that lives as long as the image. */
char *image_block(image *m, size_t bytes);

/* Objects: white, on no list. */
char *image_object(image *m, size_t bytes, uint8_t type);
char *image_string(image *m, const char *text); /* all have the same hash */
char *image_table(image *m);                    /* without slots */
char *image_array(image *m, char *table, uint32_t size_field, size_t slots);
char *image_slots(image *m, char *table, unsigned log2_slots);

/* Makes a thread of the bytes at `thread`: its stack (stored) holds nils, and there is only the
** base call. */
void image_thread(image *m, char *thread, char **stack);

void put64(char *at, uint64_t n);
void put32(char *at, uint32_t n);
void put_pointer(char *at, const void *p);
void put_value(char *at, uint64_t payload, uint8_t type);
void put_object(char *at, const char *object);

/* What is wrong in an image, as whoever refuses it says it; and a function that makes it so. */
typedef struct corruption {
  const char *what;
  void (*corrupt)(image *m);
} corruption;

#define CORRUPTION(name, code) \
  static void name(image *m) { \
    code;                      \
  }
