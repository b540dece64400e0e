/*
** open.h - opens only regular files, safely even if another user chose the name.
**
** Each function returns a descriptor for reading, which the caller closes, or -1 and errno: ESPIPE
** for a device, a FIFO or a socket, EISDIR for a directory.
*/
#pragma once

/* Opens a path that the user of the tool has named, or a link of /proc. */
int lh_open_regular(const char *path);

/* Opens `path`, absolute or not, below the directory `root`. No link and no ".." leads out of
** `root`, and no link of /proc is followed. ESPIPE also for an empty file. The caller trusts only
** `root`. */
int lh_open_below(const char *root, const char *path);

/* Opens the file of `found`, an O_PATH descriptor or -1, and closes `found`. */
int lh_open_found(int found);
