/* quiet_io.h - what else of quiet_io.c the module's own files need. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Does a signal handler of the host call us? It may have interrupted malloc, or Lua amid a change.
** A handler's signal is blocked while it runs, and was not in `usual`, the thread's mask that
** lh_note_mask noted before. A handler with SA_NODEFER is missed. Both are async-signal-safe. */
void lh_note_mask(sigset_t *usual);
bool lh_is_in_handler(const sigset_t *usual);
