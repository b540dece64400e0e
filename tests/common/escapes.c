/* escapes.c - see escapes.h. */
#include "escapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"

#define at family_at
#define string_at family_name

/* ==== Snapshots ====================================================================== */

enum {
  GLOBALS,
  CLASS,
  LIST,
  CLOSURE,
  PROTO,
  NESTED,
  THREAD,
  USERDATA,
  UPVALUE,
  MODULES,
  FIRST_ITEM,
  ITEMS = 200
};
enum { TEXT, IS_NAME, SOURCE, CHUNK, FIRST_KEY };
enum { C_FUNCTION = 0x10000 };

static void put_strings(forge *f, const char *text) {
  char source[300];
  forge_string(f, string_at(TEXT), text);
  forge_string(f, string_at(IS_NAME), "__name");
  (void)snprintf(source, sizeof source, "@%s", text);
  forge_string(f, string_at(SOURCE), source);
  (void)snprintf(source, sizeof source, "return '%s'", text);
  forge_string(f, string_at(CHUNK), source);
}

static void put_functions(forge *f) {
  family_closure(f, CLOSURE, at(PROTO), 1);
  forge_reference(f, at(UPVALUE));
  family_upvalue(f, UPVALUE, at(LIST));
  family_proto(f, PROTO, string_at(SOURCE), 1);
  forge_uvarint(f, 1);
  forge_reference(f, string_at(TEXT));
  forge_uvarint(f, 1);
  forge_reference(f, at(NESTED));
  forge_reference(f, string_at(TEXT));
  forge_uvarint(f, 1);
  forge_reference(f, string_at(TEXT));
  forge_uvarint(f, 1);
  forge_reference(f, string_at(TEXT));
  family_empty_proto(f, NESTED, string_at(CHUNK), 7);
  family_thread(f, THREAD, 2);
  family_frame(f, at(CLOSURE), 1);
  family_slot(f, LH_SLOT_LOCAL, 0, string_at(TEXT), at(LIST));
  family_c_frame(f, C_FUNCTION, 0);
  forge_uvarint(f, 0);
}

/* Items of a class under keys of which each begins with the text. */
static void put_list(forge *f, const char *text, unsigned n) {
  char key[300];
  family_table(f, LIST, n);
  for (unsigned i = 0; i < n; i++) family_field(f, FIRST_KEY + i, FIRST_ITEM + i);
  for (unsigned i = 0; i < n; i++) {
    forge_table(f, at(FIRST_ITEM + i), 0, at(CLASS), 1);
    family_field(f, TEXT, USERDATA);
    (void)snprintf(key, sizeof key, "%s%u", text, i);
    forge_string(f, string_at(FIRST_KEY + i), key);
  }
}

static void put_heap(forge *f, const char *text, unsigned n) {
  put_list(f, text, n);
  family_table(f, GLOBALS, 4);
  family_field(f, TEXT, LIST);
  family_field(f, SOURCE, CLOSURE);
  family_field(f, CHUNK, THREAD);
  forge_tags(f, LH_VAL_INTEGER, LH_VAL_CFUNCTION);
  forge_svarint(f, 2);
  forge_uvarint(f, C_FUNCTION);
  family_table(f, MODULES, 1);
  family_field(f, TEXT, LIST);
  family_table(f, CLASS, 1);
  family_entry(f, string_at(IS_NAME), string_at(TEXT));
  family_userdata(f, USERDATA, at(CLASS), at(LIST));
  put_functions(f);
  put_strings(f, text);
}

static void put_definition(forge *f, const uint8_t *from, const uint8_t *end) {
  (void)forge_write(from, (size_t)(end - from), &f->sites);
}

/* In place of the sites that are usual: two stacks, one above the other. */
static void put_sites(forge *f, const char *text) {
  uint8_t bytes[300 + LH_LONGEST_DEFINITION], *p;
  size_t n = strlen(text);
  f->sites.size = 0;
  p = lh_put_uvarint(lh_put_uvarint(bytes, LH_SITES_HAVE_STACKS), 0);
  put_definition(f, bytes, lh_put_uvarint(lh_put_uvarint(p, 1000), 2));
  p = lh_put_name_head(bytes, (uint32_t)n);
  memcpy(p, text, n);
  put_definition(f, bytes, p + n);
  put_definition(f, bytes, lh_put_function(bytes, 1, 1, 1));
  put_definition(f, bytes, lh_put_site(bytes, 1, 7, LH_MADE_BY_C, 1));
  put_definition(f, bytes, lh_put_site(bytes, 0, 0, LH_MADE_BY_C, 1));
  put_definition(f, bytes, lh_put_stack(bytes, 0, 1));
  put_definition(f, bytes, lh_put_stack(bytes, 1, 2));
  put_definition(f, bytes, lh_put_uvarint(bytes, 0));
  for (int i = 0; i < 2; i++) {
    for (p = bytes; p < bytes + 4;) p = lh_put_uvarint(p, 1);
    put_definition(f, bytes, p);
  }
}

void escapes_snapshot(forge *f, unsigned version, unsigned serial, const char *text) {
  forge_begin(f);
  f->footer.serial = serial;
  f->footer.time_ns += serial;
  f->footer.program = f->footer.release = f->footer.name = text;
  if (version < 4) forge_version(f, version);
  if (version >= 4) forge_track(f, 2);
  if (version >= 4) put_sites(f, text);
  if (version == 5) forge_outside(f, LH_STILL_FORK, 0);
  if (version == 5) forge_c_function(f, C_FUNCTION, text, text, 16);
  for (unsigned i = serial; i > 1; i--)
    forge_mark(f, 0x8000 + 0x100 * i, LH_MARK_BY_SNAPSHOT, i, text);
  put_heap(f, text, ITEMS * serial);
  forge_mark(f, 0x8100, LH_MARK_BY_SNAPSHOT, 1, text);
  forge_root(f, LH_ROOT_GLOBALS, 0, at(GLOBALS));
  forge_root(f, LH_ROOT_LOADED, 0, at(MODULES));
  forge_finish(f);
}

/* ==== Profiles and cores ============================================================= */

static void put_calls(forged_profile *f) {
  lh_table_begin(&f->to, LH_BLOCK_CALLS);
  for (lh_stack_id stack = 1; stack <= f->n_stacks; stack++)
    forge_call(f, &(lh_profile_call){.stack = stack, .calls = 9, .self_ns = 5, .total_ns = 9});
  lh_table_end(&f->to);
}

static void put_counts(forged_profile *f) {
  lh_table_begin(&f->to, LH_BLOCK_COUNTS);
  for (lh_stack_id stack = 1; stack <= f->n_stacks; stack++)
    forge_count(f, &(lh_profile_count){.stack = stack,
                                       .type = LH_TYPE_STRING,
                                       .made = 1000,
                                       .made_bytes = 1 << 20,
                                       .freed = 900,
                                       .freed_bytes = 1 << 19,
                                       .samples = 1000,
                                       .live_bytes_at_peak = 1 << 18,
                                       .deaths = {900},
                                       .death_bytes = {1 << 19}});
  lh_table_end(&f->to);
}

/* Strings that are put together, tables that grow, and what dies at once. */
static void put_events(forged_profile *f) {
  for (unsigned i = 0; i < 3000; i++) {
    lh_stack_id stack = 1 + i % f->n_stacks;
    if (i % 100 == 0) forge_time(f, i * UINT64_C(1000000));
    forge_made(f, LH_TYPE_STRING, stack, 1000 + i);
    if (i % 2) forge_freed(f, LH_TYPE_STRING, stack, 1000 + i, 4096);
    if (i % 50 == 0) forge_resized(f, LH_EVENT_PART, stack, 1, 2048, 1024, 8192);
  }
}

void escapes_profile(forged_profile *f, bool is_aggregate, const char *text) {
  char source[300];
  forge_profile(f, &(lh_profile_info){.program = text,
                                      .release = text,
                                      .has_stacks = true,
                                      .has_calls = true,
                                      .is_aggregate = is_aggregate});
  (void)snprintf(source, sizeof source, "@%s", text);
  const lh_site sites[] = {
      {.source = source, .function = "", .line = 1, .maker = LH_MADE_TABLE},
      {.source = text, .function = text, .line = 2, .maker = LH_MADE_GROWTH},
      {.source = source, .function = text, .line = 3, .maker = LH_MADE_CONCATENATION},
      {.source = source, .function = text, .c_function = text, .line = 4, .maker = LH_MADE_BY_C},
      {.c_function = text, .maker = LH_MADE_BY_C}};
  for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
    (void)forge_stack(f, (lh_stack_id)i, sites[i]);
  if (is_aggregate)
    put_counts(f);
  else
    put_events(f);
  put_calls(f);
  forge_end_profile(f, UINT64_C(5000000000), 0);
}

void escapes_core(forged_core *c, const char *text) {
  enum { PAGE = 4096, PROGRAM = 0x400000, HEAP = 0x600000 };
  static uint8_t program[PAGE], stack[PAGE], heap[PAGE];
  const char *const arguments[] = {text, text, NULL};
  forge_core(c);
  (void)snprintf(c->process.pr_psargs, sizeof c->process.pr_psargs, "%s", text);
  (void)snprintf(c->process.pr_fname, sizeof c->process.pr_fname, "%s", text);
  forge_stack_page(stack, arguments);
  forge_elf_page(program, 0x42, 20);
  forge_segment(c, PROGRAM, PAGE, PF_R, program, PAGE);
  forge_segment(c, PROGRAM + PAGE, PAGE, PF_R | PF_X, NULL, 0);
  forge_segment(c, FORGED_STACK, PAGE, PF_R | PF_W, stack, PAGE);
  forge_segment(c, HEAP, PAGE, PF_R | PF_W, heap, PAGE);
  forge_mapping(c, PROGRAM, PROGRAM + PAGE, 0, text);
  forge_mapping(c, PROGRAM + PAGE, PROGRAM + 2 * PAGE, 1, text);
  forge_core_end(c);
}
