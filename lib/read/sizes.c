/* sizes.c - the sizes of each release of Lua (see sizes.h). */
#include "sizes.h"

#include <string.h>

#include "format.h"

/* The Lua of skynet has an id of 8 bytes in each string. */
enum { PUC, SKYNET, ID = 8 };

#define SIZES_5_4(id)                                                     \
  {                                                                       \
    .table = 56, .array_slot = 16, .hash_slot = 24, .slots_per_entry = 2, \
    .string = LH_STRING_OVERHEAD + (id), .thread = 208, .state = 192      \
  }

/* A userdata with user values has 8 bytes more since 5.5.1. */
#define SIZES_5_5(id)                                                              \
  {                                                                                \
    .table = 48, .array_slot = 9, .array_hint = 4, .hash_slot = 24, .hash_end = 8, \
    .slots_per_entry = 3, .string = 25 + (id), .fixed_string = 32 + (id),          \
    .free_string = 48 + (id), .more = 8, .thread = 216, .state = 208               \
  }

static const lh_sizes of_5_4[] = {[PUC] = SIZES_5_4(0), [SKYNET] = SIZES_5_4(ID)};
static const lh_sizes of_5_5[] = {[PUC] = SIZES_5_5(0), [SKYNET] = SIZES_5_5(ID)};

const lh_sizes *lh_sizes_of(uint32_t format_version, const char *release) {
  bool is_5_4 = format_version < LH_LENGTHS_VERSION || strncmp(release, "5.4", 3) == 0;
  size_t n = strlen(release), n_skynet = sizeof LH_SKYNET - 1;
  bool is_skynet = n >= n_skynet && strcmp(release + n - n_skynet, LH_SKYNET) == 0;
  return &(is_5_4 ? of_5_4 : of_5_5)[is_skynet ? SKYNET : PUC];
}
