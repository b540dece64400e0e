/* game.c - a library, or a program, in C that registers functions in Lua (game.h). */
#include "game.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A build id is of what is loaded, so another version has other code, too. */
static const char source[] =
    "typedef struct luaL_Reg { const char *name; int (*function)(void *); } luaL_Reg;\n"
    "static int l_send(void *L) { return L != 0; }\n"
    "static int l_close(void *L) { return L == 0; }\n"
    "static int on_packet(void *L) { return L ? 2 : 3; }\n"
    "#ifndef TICKS\n#define TICKS 4\n#endif\n"
    "static int tick(void *L) { return L ? TICKS : 5; }\n"
    "static const luaL_Reg methods[] = {{\"__gc\", l_close}, {\"close\", l_close},\n"
    "  {\"send\", l_send}, {\"version\", 0}, {0, 0}};\n"
    "static const luaL_Reg cut[] = {{\"cut\", on_packet}, {\"not a name\", on_packet}, {0, 0}};\n"
    "int game_open(void *L) { return 6 + (L != 0); }\n"
    "const void *game[] = {l_send, l_close, on_packet, tick, game_open, methods, cut};\n"
    "#ifdef PROGRAM\n#include <stdio.h>\n#include <unistd.h>\n"
    "const char constants[1 << 20] = {1};\n"
    "int main(void) { for (int i = 0; i < 5; i++) printf(\"%p\\n\", game[i]);\n"
    "  fflush(stdout); for (;;) pause(); }\n#endif\n";

void game_shell(const char *format, ...) {
  char command[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command) != 0) fail_msg("%s", command);
}

static void write_source(void) {
  FILE *file = fopen("game.c", "w");
  assert_non_null(file);
  (void)fputs(source, file);
  (void)fclose(file);
}

void game_compile(const char *name, const char *options) {
  const char *cc = getenv("CC");
  write_source();
  game_shell("%s -O1 -shared -fPIC -Wl,--build-id -Wl,-z,relro,-z,now %s -o %s game.c && rm game.c",
             cc ? cc : "cc", options, name);
}

void game_compile_program(const char *name, const char *compiler, const char *options) {
  write_source();
  game_shell("%s -O1 -DPROGRAM %s -o %s game.c && rm game.c", compiler, options, name);
}

unsigned long long game_linked_at(const char *file, const char *function) {
  char command[128];
  unsigned long long address = 0;
  (void)snprintf(command, sizeof command, "nm %s | grep -w %s", file, function);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  assert_int_equal(fscanf(pipe, "%llx", &address), 1);
  (void)pclose(pipe);
  return address;
}
