/*
** test_lies.c - files with valid checksums whose contents lie, and the exact error for each lie: it
** names the byte, the object and what is wrong there.
**
** Each lie is told in the first object, at byte 16, or in the footer; the two objects of a mark
** follow.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "forged_file.h"

typedef struct lie {
  void (*tell)(forge *f); /* the first object; the marks follow */
  uint64_t offset;
  const char *message;
} lie;

static void table_head(forge *f) {
  forge_record(f, LH_REC_TABLE, 0x8000, 56);
}

static void unknown_type(forge *f) {
  forge_record(f, 10, 0x8000, 56);
}

static void unknown_flag(forge *f) {
  forge_record(f, LH_REC_UPVALUE | 0x80, 0x8000, 40);
  forge_u8(f, LH_VAL_NIL);
}

static void address_zero(forge *f) {
  forge_record(f, LH_REC_TABLE | LH_FLAG_DEAD, 0, 56);
}

static void address_beyond(forge *f) {
  forge_record(f, LH_REC_TABLE | LH_FLAG_DEAD, UINT64_C(8), 56);
  f->out.size = 17;
  forge_svarint(f, -5);
}

static void address_twice(forge *f) {
  forge_table(f, 0x2000, 0, 0, 0);
  forge_table(f, 0x8000, 0, 0, 0);
  forge_table(f, 0x2000, 0, 0, 0);
}

static void number_too_long(forge *f) {
  forge_u8(f, LH_REC_TABLE);
  for (int i = 0; i < 9; i++) forge_u8(f, 0xff);
  forge_u8(f, 2);
  f->footer.objects[0]++;
}

static void size_is_negative(forge *f) {
  forge_record(f, LH_REC_UPVALUE | LH_FLAG_DEAD, 0x8000, UINT64_C(1) << 63);
}

static void sizes_are_too_big(forge *f) {
  for (unsigned i = 0; i < 3; i++)
    forge_record(f, LH_REC_UPVALUE | LH_FLAG_DEAD, 0x8000 + 8 * i, UINT64_C(1) << 56);
}

static void sizes_overflow(forge *f) {
  forge_record(f, LH_REC_UPVALUE | LH_FLAG_DEAD, 0x8000, 40);
  forge_record(f, LH_REC_UPVALUE | LH_FLAG_DEAD, 0x8100, UINT64_MAX);
}

static void proto_of(forge *f, uint64_t instructions, uint64_t debug_bytes) {
  forge_record(f, LH_REC_PROTO, 0x8000, 136);
  forge_u8(f, 0);
  for (int i = 0; i < 4; i++) forge_u8(f, 0);
  forge_uvarint(f, instructions);
  for (int i = 0; i < 2; i++) forge_u8(f, 0);
  forge_uvarint(f, debug_bytes);
  for (int i = 0; i < 4; i++) forge_u8(f, 0);
}

static void too_many_instructions(forge *f) {
  proto_of(f, UINT64_MAX, 0);
}

static void too_much_debug_information(forge *f) {
  proto_of(f, UINT64_C(1) << 56, UINT64_C(1) << 56);
}

static void big_block(forge *f) {
  forge_record(f, LH_REC_USERDATA, 0x8000, 40);
  forge_uvarint(f, UINT64_C(1) << 63);
  forge_u8(f, 0);
}

static void big_stack(forge *f) {
  forge_record(f, LH_REC_THREAD, 0x8000, 40);
  forge_u8(f, 0);
  forge_uvarint(f, UINT64_MAX);
  for (int i = 0; i < 2; i++) forge_u8(f, 0);
}

static void mark_of_the_future(forge *f) {
  forge_record(f, LH_REC_MARK, 0x8000, 40);
  for (int i = 0; i < 2; i++) forge_u8(f, 0);
  forge_u8(f, LH_MARK_BY_MARK);
  forge_u64(f, 0);
  forge_u8(f, 1);
  forge_u64(f, UINT64_MAX);
  forge_u8(f, 0);
}

static void big_count(forge *f) {
  f->footer.gc_bytes = UINT64_C(1) << 63;
}

static void big_string_table(forge *f) {
  f->footer.string_table_bytes = UINT64_MAX;
}

static void time_of_the_future(forge *f) {
  f->footer.time_ns = UINT64_C(1) << 63;
}

static void big_process(forge *f) {
  f->footer.process_id = UINT64_C(1) << 63;
}

static void short_string(forge *f) {
  forge_record(f, LH_REC_STRING, 0x8000, 24);
}

static void string_beyond_the_end(forge *f) {
  forge_record(f, LH_REC_STRING, 0x8000, 1000000);
}

static void string_keeps_too_much(forge *f) {
  forge_record(f, LH_REC_STRING | LH_FLAG_TRUNCATED, 0x8000, 25 + 10);
  forge_uvarint(f, 10);
  forge_u64(f, 0);
  forge_bytes_of(f, "0123456789", 10);
}

static void big_array(forge *f) {
  table_head(f);
  forge_uvarint(f, UINT64_C(1) << 32);
}

static void big_hash(forge *f) {
  table_head(f);
  forge_u8(f, 0);
  forge_u8(f, 33);
}

static void covers_too_much(forge *f) {
  table_head(f);
  forge_u8(f, 4);
  forge_u8(f, 0);
  forge_u8(f, 5);
}

static void too_many_entries(forge *f) {
  table_head(f);
  forge_u8(f, 0);
  forge_u8(f, 3);
  forge_u8(f, 0);
  forge_u8(f, 5);
}

static void array_of_2(forge *f, uint64_t first_tag) {
  table_head(f);
  forge_u8(f, 2);
  forge_u8(f, 0);
  forge_u8(f, 2);
  forge_u8(f, (unsigned)first_tag);
}

static void skips_too_much(forge *f) {
  array_of_2(f, LH_VAL_SKIP);
  forge_u8(f, 3);
}

static void skips_nothing(forge *f) {
  array_of_2(f, LH_VAL_SKIP);
  forge_u8(f, 0);
}

static void nil_in_array(forge *f) {
  array_of_2(f, LH_VAL_NIL);
}

static void array_ends_empty(forge *f) {
  array_of_2(f, LH_VAL_TRUE);
  forge_u8(f, LH_VAL_SKIP);
  forge_u8(f, 1);
  forge_u8(f, 0);
}

static void unknown_value(forge *f) {
  array_of_2(f, 9);
}

/* An entry whose key is said to be the second of the frequent ones. */
static void table_with_key(forge *f, uint64_t n_keys) {
  forge_version(f, 3);
  forge_table(f, 0x8000, 0, 0, 1);
  forge_tags(f, LH_VAL_KEY, LH_VAL_TRUE);
  forge_u8(f, 1);
  f->footer.n_keys = n_keys;
  f->footer.keys[0] = f->footer.keys[1] = 0x9000;
}

static void key_not_frequent(forge *f) {
  table_with_key(f, 1);
}

static void frequent_key_at_zero(forge *f) {
  table_with_key(f, 2);
  f->footer.keys[1] = 0;
}

static void many_frequent_keys(forge *f) {
  table_with_key(f, LH_MOST_KEYS + 1);
}

static void key_as_value(forge *f) {
  table_with_key(f, 2);
  forge_table(f, 0xA000, 0, 0, 1);
  forge_tags(f, LH_VAL_TRUE, LH_VAL_KEY);
  forge_u8(f, 1);
}

static void nil_key(forge *f) {
  forge_table(f, 0x8000, 0, 0, 1);
  forge_tags(f, LH_VAL_NIL, LH_VAL_TRUE);
}

static void nil_value(forge *f) {
  forge_table(f, 0x8000, 0, 0, 1);
  forge_tags(f, LH_VAL_TRUE, LH_VAL_SKIP);
}

static void value_at_zero(forge *f) {
  forge_record(f, LH_REC_UPVALUE, 0x8000, 40);
  forge_object(f, 0);
}

static void reference_beyond(forge *f) {
  forge_record(f, LH_REC_UPVALUE, 0x8000, 40);
  forge_u8(f, LH_VAL_OBJECT);
  forge_svarint(f, INT64_MAX);
}

static void many_upvalues(forge *f) {
  forge_record(f, LH_REC_LUA_CLOSURE, 0x8000, 32);
  forge_uvarint(f, 100000);
}

static void huge_count(forge *f) {
  forge_record(f, LH_REC_USERDATA, 0x8000, 32);
  forge_u8(f, 0);
  forge_uvarint(f, UINT64_MAX);
}

static void odd_vararg(forge *f) {
  forge_record(f, LH_REC_PROTO, 0x8000, 128);
  forge_reference(f, 0);
  for (int i = 0; i < 3; i++) forge_u8(f, 0);
  forge_u8(f, 2);
}

static void huge_line(forge *f) {
  forge_record(f, LH_REC_PROTO, 0x8000, 128);
  forge_reference(f, 0);
  forge_uvarint(f, UINT64_C(1) << 32);
}

static void odd_status(forge *f) {
  forge_record(f, LH_REC_THREAD, 0x8000, 200);
  forge_u8(f, 6);
}

static void odd_slot(forge *f) {
  forge_record(f, LH_REC_THREAD, 0x8000, 200);
  forge_u8(f, 0);
  forge_u8(f, 0);
  forge_u8(f, 1);
  forge_u8(f, LH_VAL_NIL);
  forge_u8(f, 0);
  forge_u8(f, 1);
  forge_u8(f, 5);
}

static void odd_mark(forge *f) {
  forge_mark(f, 0x8000, 4, 1, "");
}

static void mark_zero(forge *f) {
  forge_mark(f, 0x8000, LH_MARK_BY_MARK, 0, "");
}

static void fewer_objects(forge *f) {
  forge_table(f, 0x8000, 0, 0, 0);
  f->footer.objects[0]--;
}

static void more_objects(forge *f) {
  f->footer.objects[3]++;
}

static void countless_objects(forge *f) {
  f->footer.objects[2] = UINT64_MAX;
}

static void other_bytes(forge *f) {
  f->footer.object_bytes++;
}

static void other_serial(forge *f) {
  f->footer.serial = 2;
}

static void odd_collector(forge *f) {
  f->footer.gc_state = 9;
}

static void odd_root(forge *f) {
  forge_root(f, LH_ROOT_OWN + 1, 0, 0x1000);
}

static void many_roots(forge *f) {
  f->footer.roots = 1000;
}

/* A table of a program that was tracked, at byte 16. */
static void tracked(forge *f, uint64_t stack) {
  forge_track(f, 1);
  f->set_stack = stack + 1;
  forge_table(f, 0x8000, 0, 0, 0);
  f->set_stack = 1;
}

static void unknown_stack(forge *f) {
  tracked(f, 2);
}

/* The section is these bytes. */
static void tracked_by(forge *f, const char *bytes, size_t n) {
  tracked(f, 0);
  f->sites.size = 0;
  (void)forge_write(bytes, n, &f->sites);
}
#define SITES(f, bytes) tracked_by(f, bytes, sizeof bytes - 1)

static void no_sites(forge *f) {
  SITES(f, "");
}

static void odd_sites(forge *f) {
  SITES(f, "\2\0\0\0\0");
}

static void more_unattributed(forge *f) {
  SITES(f, "\0\0\1\2\0");
}

static void odd_definition(forge *f) {
  SITES(f, "\0\0\0\0\5\0");
}

static void endless_sites(forge *f) {
  SITES(f, "\0\0\0\0\1\1x");
}

static void uncounted_stack(forge *f) {
  SITES(f, "\0\0\0\0\3\0\0\1\0\4\0\1\0\1\1\1");
}

static void countless_stack(forge *f) {
  SITES(f, "\0\0\0\0\3\0\0\1\0\4\0\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\1");
}

static void more_behind_the_sites(forge *f) {
  SITES(f, "\0\0\0\0\0!");
}

static void sites_in_the_header(forge *f) {
  tracked(f, 0);
  f->footer.sites_offset = 15;
}

static void sites_in_the_footer(forge *f) {
  tracked(f, 0);
  f->footer.sites_offset = 1000;
}

static void sites_in_the_records(forge *f) {
  SITES(f, "\0\0\0\0\0");
  f->footer.sites_offset = 16;
}

static void flag_of_the_future(forge *f) {
  tracked(f, 0);
  f->out.data[12] |= 2;
}

static void flag_of_the_past(forge *f) {
  f->out.data[12] = LH_TRACKED;
}

static void many_blocks(forge *f) {
  f->footer.extra_blocks = 1;
}

static void more_in_the_footer(forge *f) {
  f->footer.tail = "!";
}

#define TOO_MUCH "the sizes add up to more than an address space has"

static const lie lies[] = {
    {unknown_type, 16,
     "'f' is damaged at byte 16: object 1 of 3 (unknown): it has an unknown type"},
    {unknown_flag, 16,
     "'f' is damaged at byte 16: object 1 of 3 (upvalue): it has an unknown flag"},
    {address_zero, 16, "'f' is damaged at byte 16: object 1 of 3 (table): its address is 0"},
    {address_beyond, 17,
     "'f' is damaged at byte 17: object 1 of 3 (table): a reference is outside of the address "
     "space"},
    {address_twice, 32, "'f' is damaged: objects 1 and 3 are both at address 0x2000"},
    {number_too_long, 17,
     "'f' is damaged at byte 17: object 1 of 3 (table): a number has more than 64 bits"},
    {size_is_negative, 126, "'f' is damaged at byte 126: footer: " TOO_MUCH},
    {sizes_are_too_big, 147, "'f' is damaged at byte 147: footer: " TOO_MUCH},
    {sizes_overflow, 22, "'f' is damaged at byte 22: object 2 of 4 (upvalue): " TOO_MUCH},
    {too_many_instructions, 26, "'f' is damaged at byte 26: object 1 of 3 (prototype): " TOO_MUCH},
    {too_much_debug_information, 37,
     "'f' is damaged at byte 37: object 1 of 3 (prototype): " TOO_MUCH},
    {big_block, 20, "'f' is damaged at byte 20: object 1 of 3 (userdata): " TOO_MUCH},
    {big_stack, 21, "'f' is damaged at byte 21: object 1 of 3 (thread): " TOO_MUCH},
    {mark_of_the_future, 32,
     "'f' is damaged at byte 32: object 1 of 3 (mark): a time is after the year 2262"},
    {big_count, 113, "'f' is damaged at byte 113: footer: " TOO_MUCH},
    {big_string_table, 115, "'f' is damaged at byte 115: footer: " TOO_MUCH},
    {time_of_the_future, 78, "'f' is damaged at byte 78: footer: a time is after the year 2262"},
    {big_process, 86, "'f' is damaged at byte 86: footer: its process id is too big"},
    {short_string, 20,
     "'f' is damaged at byte 20: object 1 of 3 (string): its size is less than an empty string's"},
    {string_beyond_the_end, 22,
     "'f' is damaged at byte 22: object 1 of 3 (string): it runs over the end"},
    {string_keeps_too_much, 20,
     "'f' is damaged at byte 20: object 1 of 3 (string): it keeps more bytes than the string has"},
    {big_array, 20, "'f' is damaged at byte 20: object 1 of 3 (table): its array part is too big"},
    {big_hash, 21, "'f' is damaged at byte 21: object 1 of 3 (table): its hash part is too big"},
    {covers_too_much, 22,
     "'f' is damaged at byte 22: object 1 of 3 (table): it has more array entries than slots"},
    {too_many_entries, 23,
     "'f' is damaged at byte 23: object 1 of 3 (table): it has more entries than slots"},
    {skips_too_much, 23,
     "'f' is damaged at byte 23: object 1 of 3 (table): it skips more array slots than there are, "
     "or none"},
    {skips_nothing, 23,
     "'f' is damaged at byte 23: object 1 of 3 (table): it skips more array slots than there are, "
     "or none"},
    {nil_in_array, 23, "'f' is damaged at byte 23: object 1 of 3 (table): an entry is nil"},
    {array_ends_empty, 26,
     "'f' is damaged at byte 26: object 1 of 3 (table): its array part ends with empty slots"},
    {unknown_value, 23,
     "'f' is damaged at byte 23: object 1 of 3 (table): a value has an unknown tag"},
    {nil_key, 24, "'f' is damaged at byte 24: object 1 of 3 (table): an entry is nil"},
    {key_not_frequent, 25,
     "'f' is damaged at byte 25: object 1 of 3 (table): a key is not among the frequent ones"},
    {frequent_key_at_zero, 140,
     "'f' is damaged at byte 140: footer: a frequent key is at address 0"},
    {many_frequent_keys, 137, "'f' is damaged at byte 137: footer: it has too many frequent keys"},
    {key_as_value, 34,
     "'f' is damaged at byte 34: object 2 of 4 (table): a value has an unknown tag"},
    {nil_value, 24, "'f' is damaged at byte 24: object 1 of 3 (table): an entry is nil"},
    {value_at_zero, 21,
     "'f' is damaged at byte 21: object 1 of 3 (upvalue): a value is an object at address 0"},
    {reference_beyond, 21,
     "'f' is damaged at byte 21: object 1 of 3 (upvalue): a reference is outside of the address "
     "space"},
    {many_upvalues, 20,
     "'f' is damaged at byte 20: object 1 of 3 (function): a count is greater than the bytes that "
     "are left"},
    {huge_count, 21,
     "'f' is damaged at byte 21: object 1 of 3 (userdata): a count is greater than the bytes that "
     "are left"},
    {odd_vararg, 26,
     "'f' is damaged at byte 26: object 1 of 3 (prototype): its vararg flag is neither 0 nor 1"},
    {huge_line, 23,
     "'f' is damaged at byte 23: object 1 of 3 (prototype): a line number is too big"},
    {odd_status, 21, "'f' is damaged at byte 21: object 1 of 3 (thread): its status is unknown"},
    {odd_slot, 27,
     "'f' is damaged at byte 27: object 1 of 3 (thread): a stack slot's kind is unknown"},
    {odd_mark, 23, "'f' is damaged at byte 23: object 1 of 3 (mark): its kind is unknown"},
    {mark_zero, 32, "'f' is damaged at byte 32: object 1 of 3 (mark): its serial is 0"},
    {fewer_objects, 51, "'f' is damaged at byte 51: 2 objects end there, not at 77"},
    {more_objects, 69, "'f' is damaged at byte 69: object 3 of 3 (unknown): it runs over the end"},
    {other_bytes, 69, "'f' is damaged: its objects have 178 bytes, its footer says 179"},
    {other_serial, 178, "'f' is damaged: mark 2, its own, is not its youngest"},
    {odd_collector, 117, "'f' is damaged at byte 117: footer: the collector's state is unknown"},
    {countless_objects, 121,
     "'f' is damaged at byte 121: footer: it counts more objects than there can be"},
    {odd_root, 126, "'f' is damaged at byte 126: footer: a root's kind is unknown"},
    {many_roots, 125,
     "'f' is damaged at byte 125: footer: a count is greater than the bytes that are left"},
    {unknown_stack, 20,
     "'f' is damaged at byte 20: object 1 of 3 (table): its stack is not among the sites"},
    {no_sites, 80, "'f' is damaged at byte 80: sites: it runs over the end"},
    {odd_sites, 80, "'f' is damaged at byte 80: sites: they have an unknown flag"},
    {more_unattributed, 83,
     "'f' is damaged at byte 83: sites: more allocations are of no known site than there were"},
    {odd_definition, 84, "'f' is damaged at byte 84: sites: it defines nothing known"},
    {endless_sites, 87, "'f' is damaged at byte 87: sites: it runs over the end"},
    {uncounted_stack, 93, "'f' is damaged at byte 93: sites: they do not count what each made"},
    {countless_stack, 94, "'f' is damaged at byte 94: sites: it counts more than there can be"},
    {more_behind_the_sites, 85,
     "'f' is damaged at byte 85: sites: they do not end where they should"},
    {sites_in_the_header, 174, "'f' is damaged at byte 174: footer: its sites are in the header"},
    {sites_in_the_footer, 174,
     "'f' is damaged at byte 174: footer: its sites are not in front of it"},
    {sites_in_the_records, 16, "'f' is damaged at byte 16: sites: they have an unknown flag"},
    {flag_of_the_future, 8, "'f' is damaged: its header makes no sense"},
    {flag_of_the_past, 8, "'f' is damaged: its header makes no sense"},
    {many_blocks, 126, "'f' is damaged: its checksums are not those of 69 bytes"},
    {more_in_the_footer, 126, "'f' is damaged: its checksums are not those of 69 bytes"},
};

static void tell(forge *f, void (*what)(forge *f)) {
  forge_begin(f);
  what(f);
  forge_mark(f, 0x1000, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_next_list(f);
  forge_mark(f, 0x1100, LH_MARK_BY_SNAPSHOT, 1, "a");
  forge_finish(f);
}

static void lies_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    forge f;
    tell(&f, lies[i].tell);
    expect_failure(f.data, f.size, LH_EDAMAGED, lies[i].offset, lies[i].message);
    forge_free(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lies_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
