/*
** columns.c - the accessors that snapshot.h has inline, for all other files.
*/
#define LH_COLUMN

#include "snapshot.h"
