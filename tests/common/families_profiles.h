/*
** families_profiles.h - profiles of many shapes, each with a size to choose: the same for profiles
** that families.h is for snapshots. Their checksums are right and their contents are hard: deep
** stacks, long names, and many of all that a file can have few bytes of.
**
**     forged_profile f;
**     const profile_family *family = profile_family_number(i);
**     profile_family_make(&f, family, profile_family_scale(family, 1 << 20));
**     ... f.data, f.size; about 1 MiB ...
**     forge_drop_profile(&f);
*/
#pragma once

#include "forged_profile.h"

typedef struct profile_family {
  const char *name;
  void (*make)(forged_profile *f, unsigned n); /* more bytes for a greater n */
  bool is_aggregate, has_calls;
} profile_family;

size_t profile_family_count(void);
const profile_family *profile_family_number(size_t i);

/* The greatest n for which a file has at most so many bytes. */
unsigned profile_family_scale(const profile_family *family, size_t bytes);

/* To be freed by forge_drop_profile. */
void profile_family_make(forged_profile *f, const profile_family *family, unsigned n);
