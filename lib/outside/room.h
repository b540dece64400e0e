/*
** room.h - how much memory this process may still take.
*/
#ifndef LUAHEAP_OUTSIDE_ROOM_H
#define LUAHEAP_OUTSIDE_ROOM_H

#include "base.h"

typedef struct lh_room {
  uint64_t bytes;  /* UINT64_MAX: nobody knows */
  bool is_limited; /* by the limit of a cgroup, not by the machine */
} lh_room;

/* `root` is in front of /proc and /sys: "", or the folder of a test. */
lh_room lh_find_room(const char *root);

#endif
