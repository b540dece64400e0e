/*
** test_symbol_table.c - where the symbols of an ELF file are: in itself, in a separate file, packed
** in it; and files that are made to do harm.
*/
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "game.h"
#include "outside/symbols.h"

/* ==== Symbol tables ================================================================= */

static int memory_file(const void *bytes, size_t n) {
  int fd = memfd_create("test", MFD_CLOEXEC);
  assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
  return fd;
}

static char *read_whole(const char *path, size_t *n) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0 && fstat(fd, &status) == 0);
  *n = (size_t)status.st_size;
  char *bytes = malloc(*n);
  assert_true(bytes && read(fd, bytes, *n) == status.st_size);
  (void)close(fd);
  return bytes;
}

static void write_whole(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "w");
  assert_true(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

static const char *const no_roots[] = {NULL};

static uint64_t room = LH_SYMBOLS_ROOM;

/* "": the table does not know it. */
static const char *symbol_of(const char *path, const char *const *roots,
                             unsigned long long address) {
  static char text[64];
  size_t n = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  lh_symbol_table *table = lh_symbol_table_read(fd, roots, &room);
  const char *symbol = lh_symbol_at(table, address, &n);
  (void)snprintf(text, sizeof text, "%.*s", (int)n, symbol ? symbol : "");
  lh_symbol_table_free(table);
  (void)close(fd);
  return text;
}

/* A stripped library's symbols are in the file with its build id, and in no other. */
static void test_separate(void **state) {
  (void)state;
  static const char *const roots[] = {"nowhere", "root", NULL};
  game_compile("whole.so", "");
  unsigned long long tick = game_linked_at("whole.so", "tick");
  game_shell(
      "strip -o libgame.so whole.so && id=$(readelf -n whole.so | sed -n 's/.*Build ID: //p') &&"
      "folder=root/usr/lib/debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $folder &&"
      "objcopy --only-keep-debug whole.so $folder/$(echo $id | cut -c3-).debug");
  assert_string_equal(symbol_of("libgame.so", no_roots, tick), "");
  assert_string_equal(symbol_of("libgame.so", roots, tick), "tick");
  game_compile("other.so", "-Dtick=tock -DTICKS=7");
  game_shell(
      "strip -g other.so && for file in root/usr/lib/debug/.build-id/*/*; do cp other.so $file; "
      "done");
  assert_string_equal(symbol_of("libgame.so", roots, tick), "");
  game_shell("rm -r root *.so");
}

/* Makes libgame.so of whole.so, with this in its .gnu_debugdata. */
static void pack_into(const void *packed, size_t n) {
  write_whole("packed", packed, n);
  game_shell(
      "strip -o libgame.so whole.so && "
      "objcopy --add-section .gnu_debugdata=packed libgame.so && rm packed");
}

static void test_packed(void **state) {
  (void)state;
  size_t n, n_packed = 0;
  game_compile("whole.so", "");
  char *whole = read_whole("whole.so", &n);
  size_t most = lzma_stream_buffer_bound(n);
  uint8_t *packed = malloc(most);
  assert_non_null(packed);
  assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)whole, n,
                                           packed, &n_packed, most),
                   LZMA_OK);
  pack_into(packed, n_packed);
  unsigned long long tick = game_linked_at("whole.so", "tick");
  assert_string_equal(symbol_of("libgame.so", no_roots, tick), "tick");
  for (size_t cut = 1; cut < n_packed; cut += 97) {
    pack_into(packed, n_packed - cut);
    assert_string_equal(symbol_of("libgame.so", no_roots, tick), "");
    assert_string_equal(symbol_of("libgame.so", no_roots, game_linked_at("whole.so", "game_open")),
                        "game_open");
  }
  free(packed);
  free(whole);
  game_shell("rm *.so");
}

/* ==== Harm ========================================================================== */

/* Some 40 KB that become more than a program may have: its index says so. */
static void test_bomb(void **state) {
  (void)state;
  static uint8_t zeros[1 << 20], out[1 << 20];
  lzma_stream stream = LZMA_STREAM_INIT;
  assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
  stream.next_out = out;
  stream.avail_out = sizeof out;
  for (unsigned i = 0; i <= LH_SYMBOLS_ROOM / sizeof zeros; i++) {
    stream.next_in = zeros;
    stream.avail_in = sizeof zeros;
    assert_int_equal(lzma_code(&stream, LZMA_RUN), LZMA_OK);
  }
  assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  game_compile("whole.so", "");
  pack_into(out, sizeof out - stream.avail_out);
  lzma_end(&stream);
  (void)lh_test_peak_bytes();
  assert_string_equal(symbol_of("libgame.so", no_roots, 1), "");
  assert_in_range(lh_test_peak_bytes(), 0, 1 << 16);
  game_shell("rm *.so");
}

/* Whatever is in a file, it is read to an end, and no more memory is asked for than some times its
** size: each byte of its headers becomes others, and every few of the rest. */
static void test_broken(void **state) {
  (void)state;
  static const uint8_t others[] = {0x00, 0x01, 0x7f, 0xff};
  size_t n, length;
  game_compile("libgame.so", "-s");
  char *bytes = read_whole("libgame.so", &n);
  room = UINT64_MAX;
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  int fd = memory_file(bytes, n);
  (void)lh_test_peak_bytes();
  for (size_t at = 0; at < n; at += at < 1024 || at >= header.e_shoff ? 1 : 61) {
    for (size_t i = 0; i < sizeof others; i++) {
      assert_int_equal(pwrite(fd, &others[i], 1, (off_t)at), 1);
      lh_symbol_table *table = lh_symbol_table_read(fd, no_roots, &room);
      for (uint64_t address = 0x1000; address < 0x1100; address++)
        (void)lh_symbol_at(table, address, &length);
      lh_symbol_table_free(table);
    }
    assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
  }
  for (size_t cut = n; cut > 0; cut -= cut < 101 ? cut : 101) {
    assert_int_equal(ftruncate(fd, (off_t)cut), 0);
    lh_symbol_table_free(lh_symbol_table_read(fd, no_roots, &room));
  }
  assert_in_range(lh_test_peak_bytes(), 1, 16 * n);
  (void)close(fd);
  free(bytes);
  game_shell("rm libgame.so");
}

static void test_room(void **state) {
  (void)state;
  game_compile("libgame.so", "");
  unsigned long long tick = game_linked_at("libgame.so", "tick");
  room = LH_SYMBOLS_ROOM;
  assert_string_equal(symbol_of("libgame.so", no_roots, tick), "tick");
  const uint64_t taken = LH_SYMBOLS_ROOM - room;
  room = taken;
  assert_string_equal(symbol_of("libgame.so", no_roots, tick), "tick");
  assert_int_equal(room, 0);
  room = taken - 1;
  assert_string_equal(symbol_of("libgame.so", no_roots, tick), "");
  room = LH_SYMBOLS_ROOM;
  game_shell("rm libgame.so");
}

/* libelf's own searches the rest of the section for a NUL at each call. Who links it takes this. */
static uint64_t searched_bytes;

char *elf_strptr(Elf *elf, size_t section, size_t at) {
  GElf_Shdr header;
  if (gelf_getshdr(elf_getscn(elf, section), &header) && at < header.sh_size)
    searched_bytes += header.sh_size - at;
  return NULL;
}

static Elf64_Ehdr header_of_game(uint16_t n_sections, uint16_t names) {
  size_t n;
  game_compile("libgame.so", "");
  char *game = read_whole("libgame.so", &n);
  Elf64_Ehdr header = {.e_type = ET_DYN,
                       .e_machine = ((Elf64_Ehdr *)(void *)game)->e_machine,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof header,
                       .e_shoff = sizeof header,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = n_sections,
                       .e_shstrndx = names};
  memcpy(header.e_ident, game, EI_NIDENT);
  free(game);
  return header;
}

/* Sections whose names have no end, and all are one. Each may be the build id or the packed file,
** so each name is compared. */
static void test_endless_section_names(void **state) {
  enum { SECTIONS = 60000, NAMES = 1 << 20, AT = sizeof(Elf64_Ehdr) };
  const size_t names_at = AT + SECTIONS * sizeof(Elf64_Shdr), n = names_at + NAMES;
  (void)state;
  char *bytes = calloc(1, n);
  assert_non_null(bytes);
  Elf64_Ehdr header = header_of_game(SECTIONS, 1);
  memcpy(bytes, &header, sizeof header);
  Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + AT);
  for (size_t i = 2; i < SECTIONS; i++)
    sections[i] = (Elf64_Shdr){.sh_type = i % 2 ? SHT_NOTE : SHT_PROGBITS, .sh_name = 1};
  sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = NAMES};
  memset(bytes + names_at, 'A', NAMES);
  write_whole("endless", bytes, n);
  searched_bytes = 0;
  assert_string_equal(symbol_of("endless", no_roots, 1), "");
  assert_in_range(searched_bytes, 0, 8 * n);
  free(bytes);
  game_shell("rm libgame.so endless");
}

/* Names that have no end, and all are one: looked through for each symbol they would take hours. */
static void test_endless_names(void **state) {
  enum { SYMBOLS = 400000, NAMES = 32 << 20 };
  const uint64_t at[] = {4096, 4096 + SYMBOLS * sizeof(Elf64_Sym)};
  (void)state;
  char *bytes = calloc(1, at[1] + NAMES);
  assert_non_null(bytes);
  Elf64_Ehdr header = header_of_game(3, 2);
  Elf64_Shdr sections[3] = {{.sh_type = SHT_NULL},
                            {.sh_type = SHT_SYMTAB,
                             .sh_offset = at[0],
                             .sh_size = at[1] - at[0],
                             .sh_link = 2,
                             .sh_entsize = sizeof(Elf64_Sym)},
                            {.sh_type = SHT_STRTAB, .sh_offset = at[1], .sh_size = NAMES}};
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, sections, sizeof sections);
  Elf64_Sym symbol = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
  for (uint64_t i = 0; i < SYMBOLS; i++) {
    symbol.st_value = i + 1;
    memcpy(bytes + at[0] + i * sizeof symbol, &symbol, sizeof symbol);
  }
  memset(bytes + at[1], 'A', NAMES);
  write_whole("endless", bytes, at[1] + NAMES);
  char name[64];
  memset(name, 'A', sizeof name);
  assert_memory_equal(symbol_of("endless", no_roots, SYMBOLS), name, sizeof name - 1);
  free(bytes);
  game_shell("rm libgame.so endless");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_separate),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_bomb),
      cmocka_unit_test(test_broken),
      cmocka_unit_test(test_room),
      cmocka_unit_test(test_endless_names),
      cmocka_unit_test(test_endless_section_names),
  };
  return folder_run(tests);
}
