/*
** script.c - what a state runs, in a name that a person knows it by.
**
** The interpreter tells it in arg[0], and so it does for programs that begin with #!/usr/bin/lua
** (prosody). A host that runs scripts of its own has none. Then it is the source of a function: of
** the outermost one that runs, else of one that lies ready to be called on the main thread's stack
** (each script of lighttpd has a state), in the registry (haproxy's actions) or as a global
** variable; else of what was loaded last, which may be another one each time. A source is the name
** of a file behind an @, a name behind a =, or the program itself, of which the first line is
** enough.
*/
#include <string.h>

#include "states.h"

static void cut_first_line(char *text) {
  size_t blank = strspn(text, " \t\r\n");
  memmove(text, text + blank, strlen(text + blank) + 1);
  text[strcspn(text, "\r\n")] = '\0';
}

bool lh_name_script(const lh_peek *peek, const lh_seen_state *seen, char script[LH_SCRIPT_BYTES]) {
  if (lh_glance_argument(peek, seen, script, LH_SCRIPT_BYTES)) return true;
  *script = '\0';
  for (lh_glance_at at = LH_GLANCE_RUNNING; at <= LH_GLANCE_NEWEST; at++) {
    if (!lh_glance_source(peek, seen, at, script, LH_SCRIPT_BYTES)) continue;
    bool is_name = *script == '@' || *script == '=';
    if (is_name)
      memmove(script, script + 1, strlen(script));
    else
      cut_first_line(script);
    return is_name;
  }
  return true;
}
