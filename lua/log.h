/* log.h - writes the lines of heap.auto. */
#pragma once

/* Writes one line, made of its parts, by system calls alone: so also in a signal handler and in a
** forked child. `log` is "" for stderr, "quiet", "syslog" or a file. A file is opened for each
** line, since hosts close unknown descriptors; on failure the line is written to stderr. No line
** raises a signal or waits: a line that cannot be written at once is lost, and the next one says
** how many were lost. A line is cut at PIPE_BUF bytes. */
void hl_log(const char *log, const char *const parts[], int n);

/* Notes the file of stderr at the first call, when the module is loaded. Any later file, pipe or
** socket under its number gets no line, unless it is open for appending, as logs are. */
void hl_note_stderr(void);

/* The text and an end of line, without "heap.auto" in front. */
void hl_write_to_stderr(const char *text);
