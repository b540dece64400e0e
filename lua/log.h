/*
** log.h - where heap.auto's lines go.
*/
#ifndef LUAHEAP_LOG_H
#define LUAHEAP_LOG_H

/* Writes one line, made of its parts: by system calls alone, so in a signal handler and in a forked
** child, too. `log` is "" for stderr, "quiet", "syslog" or a file, which is opened for each line:
** hosts close descriptors that they do not know. Where that fails the line goes to stderr. No line
** raises a signal or waits: a line that cannot be written at once is lost, and the next line that
** can be written says how many were. A line has at most PIPE_BUF bytes: the rest is cut off. */
void hl_log(const char *log, const char *const parts[], int n);

/* Notes what stderr is, the first time that it is called: when the module is loaded. Another file,
** pipe or socket that the host has there later gets no line, unless it is open for appending, as
** logs are. */
void hl_know_stderr(void);

/* The text and an end of line, as above, but without "heap.auto" in front. */
void hl_write_to_stderr(const char *text);

#endif
