/*
** heapattach.c - snapshots from outside, of a running process or of a core file.
*/
#include "luaheap_outside.h"

int main(int argc, char **argv) {
  (void)argc;
  lh_make_way(argv);
  return 2;
}
