/*
** way.c - runs this program again where its memory is not in the way of a target's.
*/
#include "outside.h"

void lh_make_way(char **arguments) {
  (void)arguments;
}
