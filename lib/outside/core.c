/*
** core.c - core files.
*/
#include "outside.h"

int lh_core_open(const char *path, lh_target *target, lh_error *error) {
  (void)target;
  return lh_fail(error, LH_EFOREIGN, "%s: core files cannot be read yet", path);
}

void lh_core_close(lh_target *target) {
  (void)target;
}
