/*
** log.h - where heap.auto's lines go.
*/
#ifndef LUAHEAP_LOG_H
#define LUAHEAP_LOG_H

/* Writes one line, made of its parts: by system calls alone, so in a signal handler and in a forked
** child, too. `log` is "" for stderr, "quiet", "syslog" or a file, which is opened for each line:
** hosts close descriptors that they do not know. Where that fails the line goes to stderr. */
void hl_log(const char *log, const char *const parts[], int n);

#endif
