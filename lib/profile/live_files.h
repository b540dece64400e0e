/*
** live_files.h - the two files in memory of a tracked program.
** lib/track/profile.c makes them; lib/profile/tracked.c finds them in another process.
*/
#ifndef LUAHEAP_LIVE_FILES_H
#define LUAHEAP_LIVE_FILES_H

#include <fcntl.h>
#include <stdint.h>

#define LH_LIVE_REQUEST "luaheap-request"
#define LH_LIVE_PROFILE "luaheap-profile"

/* Nobody can write to the files or remove their seals. */
enum { LH_LIVE_SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* The byte of the request to lock. The lock says: the profile with this inode number is old. */
static inline int64_t lh_live_byte(uint64_t inode) {
  return (int64_t)(inode & (UINT64_MAX >> 2));
}

#endif
