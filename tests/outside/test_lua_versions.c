/*
** test_lua_versions.c - which Luas a target says it has: how often its memory is read for that. A
** process can have 65,530 mappings, and a core of 2 MB says that they are of one file.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "outside/outside.h"

enum { REGIONS = 60000, FILES = 3, PAGE = 4096 };

static size_t n_reads;

/* Every page begins as an ELF file does. */
static bool read_elf(const lh_memory *memory, uint64_t address, void *out, size_t n) {
  (void)memory;
  (void)address;
  memset(out, 0, n);
  memcpy(out, "\177ELF", n < 4 ? n : 4);
  n_reads++;
  return true;
}

static lh_memory_region region(size_t i, const char *path, unsigned access) {
  return (lh_memory_region){.start = PAGE * 2 * (i + 1),
                            .end = PAGE * (2 * (i + 1) + 1),
                            .path = path,
                            .access = access,
                            .file = -1};
}

/* Each file's head is looked at once, and then what may hold a text. */
static void a_file_in_many_pieces_is_looked_at_once(void **state) {
  static const char *const paths[FILES] = {"/a", "/b", "/c"};
  lh_memory_region *regions = calloc(REGIONS, sizeof *regions);
  lh_memory memory = {.regions = regions, .n = REGIONS, .read = read_elf, .fd = -1};
  char release[16];
  size_t n_texts = 0;
  uint64_t room = LH_TEXTS_ROOM;
  (void)state;
  for (size_t i = 0; i < REGIONS; i++) {
    bool is_text = i % 1000 == 0;
    n_texts += is_text;
    regions[i] = region(i, paths[i * FILES / REGIONS],
                        is_text ? LH_REGION_READ : LH_REGION_READ | LH_REGION_WRITE);
  }
  n_reads = 0;
  lh_identify_release(&memory, 0, "5.4", &room, release, sizeof release);
  assert_string_equal(release, "5.4");
  assert_int_equal(n_reads, FILES + n_texts);
  free(regions);
}

/* A file can have terabytes of holes, and the target would get memory for each page of them. */
static void a_file_of_terabytes_is_not_read_whole(void **state) {
  enum { AT_ONCE = 1 << 16 };
  (void)state;
  lh_memory_region r = region(0, "/a", LH_REGION_READ);
  lh_memory memory = {.regions = &r, .n = 1, .read = read_elf, .fd = -1};
  uint64_t room = LH_TEXTS_ROOM;
  char release[16];
  r.end = r.start + ((uint64_t)100 << 40);
  n_reads = 0;
  for (int i = 0; i < 3; i++)
    lh_identify_release(&memory, 0, "5.4", &room, release, sizeof release);
  assert_in_range(n_reads, 1, LH_TEXTS_ROOM / AT_ONCE + 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_in_many_pieces_is_looked_at_once),
                                     cmocka_unit_test(a_file_of_terabytes_is_not_read_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
