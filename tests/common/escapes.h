/*
** escapes.h - files of all kinds in which one text stands wherever a text may stand: so that tests
** find where a command prints one as it is. The text has no zero byte and at most 200 bytes.
*/
#pragma once

#include "forged_core.h"
#include "forged_profile.h"

/* Snapshot `serial`, from 1 on, of one run, of this format version: program, release, name, marks,
** strings, classes, keys, sources, variables, modules; from version 4 on sites and stacks; of 5 the
** C functions and their files. To be finished by nobody else, and freed by forge_free. */
void escapes_snapshot(forge *f, unsigned version, unsigned serial, const char *text);

/* With events or as an aggregate, with calls. Freed by forge_drop_profile. */
void escapes_profile(forged_profile *f, bool is_aggregate, const char *text);

/* Of a process with this name, these arguments and files. */
void escapes_core(forged_core *c, const char *text);
