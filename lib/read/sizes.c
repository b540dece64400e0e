/*
** sizes.c - the sizes of each release of Lua (see sizes.h).
*/
#include "sizes.h"

#include "format.h"

static const lh_sizes of_5_4 = {.table = 56,
                                .array_slot = 16,
                                .hash_slot = 24,
                                .slots_per_entry = 2,
                                .string = LH_STRING_OVERHEAD,
                                .thread = 208,
                                .state = 192};

/* A userdata with user values has 8 bytes more since 5.5.1. */
static const lh_sizes of_5_5 = {.table = 48,
                                .array_slot = 9,
                                .array_hint = 4,
                                .hash_slot = 24,
                                .hash_end = 8,
                                .slots_per_entry = 3,
                                .string = 25,
                                .fixed_string = 32,
                                .free_string = 48,
                                .more = 8,
                                .thread = 216,
                                .state = 208};

const lh_sizes *lh_sizes_of(uint32_t format_version) {
  return format_version < LH_LENGTHS_VERSION ? &of_5_4 : &of_5_5;
}
