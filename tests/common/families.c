/*
** families.c - the frame of the files of many shapes, and what they are made of (see families.h).
*/
#include "families.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ==== What they are made of ========================================================= */

unsigned family_root(unsigned n) {
  unsigned root = 1;
  while ((root + 1) * (root + 1) <= n) root++;
  return root;
}

void family_hold(forge *f, unsigned i) {
  forge_root(f, LH_ROOT_REGISTRY, 0, family_at(i));
}

void family_globals(forge *f, unsigned i) {
  forge_root(f, LH_ROOT_GLOBALS, 0, family_at(i));
}

void family_string(forge *f, unsigned i, const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, sizeof text, format, list);
  va_end(list);
  forge_string(f, family_name(i), text);
}

void family_long_string(forge *f, unsigned i, unsigned n) {
  char text[512];
  memset(text, 'x', n);
  text[n] = '\0';
  text[snprintf(text, n, "n%x", i)] = '_';
  forge_string(f, family_name(i), text);
}

void family_truncated(forge *f, unsigned more_flags, uint64_t address, uint64_t hash,
                      uint64_t length) {
  forge_string_head(f, LH_FLAG_TRUNCATED | more_flags, address, length);
  forge_uvarint(f, 4);
  forge_u64(f, hash);
  forge_bytes_of(f, "same", 4);
}

void family_table(forge *f, unsigned i, unsigned entries) {
  forge_table(f, family_at(i), 0, 0, entries);
}

void family_entry(forge *f, uint64_t key, uint64_t value) {
  forge_tags(f, LH_VAL_OBJECT, LH_VAL_OBJECT);
  forge_reference(f, key);
  forge_reference(f, value);
}

void family_field(forge *f, unsigned name, unsigned value) {
  family_entry(f, family_name(name), family_at(value));
}

void family_item(forge *f, unsigned key, unsigned value) {
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_OBJECT);
  forge_svarint(f, key);
  forge_reference(f, family_at(value));
}

void family_array(forge *f, unsigned i, unsigned first, unsigned n, unsigned step) {
  forge_record(f, LH_REC_TABLE, family_at(i), forge_table_bytes(f, n, 0));
  forge_uvarint(f, n);
  forge_u8(f, 0);
  forge_uvarint(f, n);
  for (unsigned k = 0; k < n; k++) forge_object(f, family_at(first + k * step));
  forge_uvarint(f, 0);
}

void family_upvalue(forge *f, unsigned i, uint64_t value) {
  forge_record(f, LH_REC_UPVALUE, family_at(i), 40);
  forge_object(f, value);
}

void family_userdata(forge *f, unsigned i, uint64_t metatable, uint64_t value) {
  forge_record(f, LH_REC_USERDATA | LH_FLAG_METATABLE, family_at(i), 56);
  forge_uvarint(f, 0);
  forge_reference(f, metatable);
  forge_uvarint(f, 1);
  forge_object(f, value);
}

void family_closure(forge *f, unsigned i, uint64_t proto, unsigned upvalues) {
  forge_record(f, LH_REC_LUA_CLOSURE, family_at(i), 32 + 8 * (uint64_t)upvalues);
  forge_uvarint(f, upvalues);
  forge_reference(f, proto);
}

void family_proto(forge *f, unsigned i, uint64_t source, unsigned line) {
  forge_record(f, LH_REC_PROTO, family_at(i), 128);
  forge_reference(f, source);
  forge_uvarint(f, line);
  forge_uvarint(f, line + 1);
  for (int k = 0; k < 6; k++) forge_u8(f, 0); /* parameters, vararg, figures */
}

void family_empty_proto(forge *f, unsigned i, uint64_t source, unsigned line) {
  family_proto(f, i, source, line);
  for (int k = 0; k < 4; k++) forge_u8(f, 0);
}

void family_thread(forge *f, unsigned i, unsigned frames) {
  forge_record(f, LH_REC_THREAD, family_at(i), 1000);
  forge_u8(f, LH_THREAD_SUSPENDED);
  forge_u8(f, 45);
  forge_uvarint(f, frames);
}

void family_c_frame(forge *f, uint64_t function, unsigned slots) {
  forge_u8(f, LH_VAL_CFUNCTION);
  forge_uvarint(f, function);
  forge_u8(f, 0);
  forge_uvarint(f, slots);
}

void family_frame(forge *f, uint64_t function, unsigned slots) {
  forge_object(f, function);
  forge_u8(f, 7);
  forge_uvarint(f, slots);
}

void family_slot(forge *f, unsigned kind, unsigned ordinal, uint64_t name, uint64_t value) {
  forge_u8(f, kind);
  forge_uvarint(f, ordinal);
  if (kind == LH_SLOT_LOCAL) forge_reference(f, name);
  forge_reference(f, value);
}

/* ==== The frame ====================================================================== */

/* The marks above `to`, from `from` down: youngest first. */
static void put_marks(forge *f, unsigned from, unsigned to) {
  for (unsigned serial = from; serial > to; serial--)
    forge_mark(f, 0x8000 + 0x100 * serial, LH_MARK_BY_SNAPSHOT, serial, "x");
}

void family_make(forge *f, const heap_family *family, unsigned n, unsigned serial,
                 unsigned n_older) {
  if (family->list > 0) n_older = 0; /* the marks are on allgc */
  forge_begin(f);
  f->footer.serial = serial;
  f->footer.time_ns += serial;
  family_begin_tracked(f, family, n);
  family_begin_texts(f, family);
  put_marks(f, serial, n_older);
  for (unsigned i = 0; i < family->list; i++) forge_next_list(f);
  if (n > 0) family->make(f, n);
  put_marks(f, n_older, 0);
  if (n > 0) family_end_tracked(f, family, n);
  forge_finish(f);
}

static size_t size_of(const void *family, unsigned n) {
  forge f;
  family_make(&f, family, n, 1, 0);
  size_t size = f.size;
  forge_free(&f);
  return size;
}

unsigned scale_to_bytes(family_size *bytes_of, const void *family, size_t bytes) {
  unsigned low = 1, high = 2;
  while (bytes_of(family, high) <= bytes && high < 1u << 24) low = high, high *= 2;
  while (high - low > low / 64 + 1) {
    unsigned middle = low + (high - low) / 2;
    if (bytes_of(family, middle) <= bytes)
      low = middle;
    else
      high = middle;
  }
  return low;
}

unsigned family_scale(const heap_family *family, size_t bytes) {
  return scale_to_bytes(size_of, family, bytes);
}

/* ==== The list ======================================================================= */

static const struct {
  const heap_family *list;
  const size_t *n;
} files[] = {
    {families_of_graphs, &n_families_of_graphs},   {families_of_paths, &n_families_of_paths},
    {families_of_names, &n_families_of_names},     {families_of_values, &n_families_of_values},
    {families_of_tracked, &n_families_of_tracked}, {families_of_texts, &n_families_of_texts}};
enum { FILES = sizeof files / sizeof *files };

const heap_family *family_number(size_t i) {
  size_t file = 0;
  while (i >= *files[file].n) i -= *files[file++].n;
  return &files[file].list[i];
}

size_t family_count(void) {
  size_t n = 0;
  for (size_t i = 0; i < FILES; i++) n += *files[i].n;
  return n;
}
