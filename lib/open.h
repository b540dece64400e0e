/*
** open.h - opens a file that another user may have chosen: a regular file, or nothing.
**
** Each function returns a descriptor for reading, which the caller closes, or -1 and errno. That is
** ESPIPE for a device, a FIFO and a socket, and EISDIR for a directory.
*/
#ifndef LUAHEAP_OPEN_H
#define LUAHEAP_OPEN_H

/* Opens the file at a path that the user of the tool has named, or at a link of /proc. */
int lh_open_regular(const char *path);

/* Opens the file at `path`, absolute or not, below the directory `root`. No link and no ".." leads
** out of `root`, and no link of /proc is followed. The caller trusts `root`, but not `path`. */
int lh_open_below(const char *root, const char *path);

/* Opens the file of `found`, a descriptor with O_PATH, and closes `found`. `found` may be -1. */
int lh_open_found(int found);

#endif
