/* sizes.h - the bytes that Lua allocates for the parts of objects, by its release. */
#pragma once

#include <stdint.h>

typedef struct lh_sizes {
  uint8_t table;                             /* without its slots */
  uint8_t array_slot, array_hint;            /* the hint: once, where there are slots */
  uint8_t hash_slot, hash_end;               /* the end: once, from 8 slots on */
  uint8_t slots_per_entry;                   /* an array part has fewer slots than this for each
                                                entry in it, after Lua resized it */
  uint8_t string, fixed_string, free_string; /* without the text. free_string: an external one
                                                whose text is freed with it */
  uint8_t more;   /* strings that are long in Lua, and userdata with user values, may have so many
                   bytes more */
  uint8_t thread; /* the block of a thread, without stack and calls */
  uint8_t state;  /* at least so much of it is at the thread's address */
} lh_sizes;

enum { LH_PROTO_BYTES = 128 }; /* without its lists; in all releases */

/* By the format version of a snapshot and its release of Lua. */
const lh_sizes *lh_sizes_of(uint32_t format_version, const char *release);

/* The bytes of a userdata in front of the memory block that the program sees; in some releases
** sizes->more of them more. */
enum { LH_BARE_USERDATA = 32 };

static inline uint64_t lh_userdata_header(uint32_t user_values) {
  return LH_BARE_USERDATA + (user_values == 0 ? 0 : 8 + 16 * (uint64_t)user_values);
}

/* Array parts have less than 2^32 slots, hash parts at most 2^31. */
static inline uint64_t lh_slot_bytes(const lh_sizes *sizes, uint64_t array, uint64_t hash) {
  enum { SLOTS_WITH_END = 8 };
  return array * sizes->array_slot + (array > 0 ? sizes->array_hint : 0) + hash * sizes->hash_slot +
         (hash >= SLOTS_WITH_END ? sizes->hash_end : 0);
}
