/*
** families_texts.c - files of many shapes (families.h) of Lua 5.5: strings whose texts lie outside
** the count, or are freed by nobody, and that are not interned however short they are.
*/
#include "families.h"

#define at family_at
#define name family_name

/* Texts of 1 GB each, of which the file has four bytes: half are equal. */
static void external_strings(forge *f, unsigned n) {
  family_table(f, 0, n);
  for (unsigned i = 0; i < n; i++) family_entry(f, name(i), at(1));
  for (unsigned i = 0; i < n; i++)
    family_truncated(f, LH_FLAG_EXTERNAL, name(i), i % 2 ? 1 : i, 1 << 30);
  family_table(f, 1, 0);
  family_globals(f, 0);
}

/* As fields of tables of their own: equal names that are different objects. */
static void equal_short_strings(forge *f, unsigned n) {
  family_array(f, 0, 1, n, 1);
  for (unsigned i = 0; i < n; i++) {
    family_table(f, 1 + i, 1);
    family_field(f, i, 0);
    forge_text(f, i % 2 ? LH_FLAG_EXTERNAL : LH_FLAG_FIXED, name(i), "key");
  }
  family_globals(f, 0);
}

/* An external string in a table in a table ... */
static void chain_of_texts(forge *f, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    family_table(f, i, 2);
    family_item(f, 1, i + 1);
    family_entry(f, name(i), name(i));
    forge_text(f, LH_FLAG_EXTERNAL, name(i), "of a text the file has all");
  }
  family_table(f, n, 0);
  family_globals(f, 0);
}

#undef at
#undef name

const heap_family families_of_texts[] = {
    {"external strings", external_strings, 0},
    {"equal short strings", equal_short_strings, 0},
    {"a chain of texts", chain_of_texts, 0},
};
const size_t n_families_of_texts = sizeof families_of_texts / sizeof *families_of_texts;

void family_begin_texts(forge *f, const heap_family *family) {
  if (family >= families_of_texts && family < families_of_texts + n_families_of_texts)
    forge_version(f, LH_LENGTHS_VERSION);
}
