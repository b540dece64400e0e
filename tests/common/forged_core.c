/* forged_core.c - core files of a few KB (see forged_core.h). */
#include "forged_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#if defined __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

static void put_bytes(forged_core *c, uint64_t at, const void *data, size_t n) {
  assert(at + n <= sizeof c->bytes);
  if (n > 0) memcpy(c->bytes + at, data, n);
  if (at + n > c->size) c->size = at + n;
}

void forge_core(forged_core *c) {
  memset(c, 0, sizeof *c);
  memcpy(c->header.e_ident, ELFMAG, SELFMAG);
  c->header.e_ident[EI_CLASS] = ELFCLASS64;
  c->header.e_ident[EI_DATA] = ELFDATA2LSB;
  c->header.e_ident[EI_VERSION] = EV_CURRENT;
  c->header.e_type = ET_CORE;
  c->header.e_machine = MACHINE;
  c->header.e_version = EV_CURRENT;
  c->header.e_ehsize = sizeof(Elf64_Ehdr);
  c->header.e_phentsize = sizeof(Elf64_Phdr);
  c->status.pr_cursig = 6;
  c->status.pr_pid = 4712; /* of a thread */
  c->process.pr_pid = 4711;
  memcpy(c->process.pr_fname, "lua5.4", 7);
  memcpy(c->process.pr_psargs, "lua5.4 server.lua ", 19);
  c->vector[0] = (Elf64_auxv_t){AT_PHDR, {0x400040}};
  c->vector[1] = (Elf64_auxv_t){AT_RANDOM, {FORGED_RANDOM}};
}

void forge_segment(forged_core *c, uint64_t address, uint64_t memory_bytes, uint32_t flags,
                   const void *content, size_t n) {
  assert(c->n_segments + 1 < FORGED_SEGMENTS);
  c->contents[c->n_segments] = content;
  c->segments[c->n_segments++] = (Elf64_Phdr){.p_type = PT_LOAD,
                                              .p_flags = flags,
                                              .p_vaddr = address,
                                              .p_filesz = n,
                                              .p_memsz = memory_bytes,
                                              .p_align = c->by_gdb ? 1 : 4096};
}

void forge_mapping(forged_core *c, uint64_t start, uint64_t end, uint64_t page, const char *path) {
  assert(c->n_mappings < FORGED_SEGMENTS);
  c->mappings[c->n_mappings].start = start;
  c->mappings[c->n_mappings].end = end;
  c->mappings[c->n_mappings].page = page;
  c->mappings[c->n_mappings++].path = path;
}

void forge_note(forged_core *c, const char *name, uint32_t type, const void *content, size_t n) {
  Elf64_Nhdr head = {(Elf64_Word)strlen(name) + 1, (Elf64_Word)n, type};
  size_t name_room = (head.n_namesz + 3u) & ~3u, room = (n + 3) & ~(size_t)3;
  uint8_t *to = c->notes + c->note_bytes;
  assert(c->note_bytes + sizeof head + name_room + room <= sizeof c->notes);
  memset(to, 0, sizeof head + name_room + room);
  memcpy(to, &head, sizeof head);
  memcpy(to + sizeof head, name, head.n_namesz);
  memcpy(to + sizeof head + name_room, content, n);
  c->note_bytes += sizeof head + name_room + room;
}

static void note_mappings(forged_core *c) {
  uint8_t list[FORGED_BYTES / 4];
  uint64_t head[2] = {c->n_mappings, 4096};
  size_t n = sizeof head;
  memcpy(list, head, n);
  for (size_t i = 0; i < c->n_mappings; i++, n += 24) memcpy(list + n, &c->mappings[i], 24);
  for (size_t i = 0; i < c->n_mappings; i++) {
    size_t length = strlen(c->mappings[i].path) + 1;
    assert(n + length <= sizeof list);
    memcpy(list + n, c->mappings[i].path, length);
    n += length;
  }
  forge_note(c, "CORE", NT_FILE, list, n);
}

static void note_process(forged_core *c) {
  forge_note(c, "CORE", NT_PRSTATUS, &c->status, sizeof c->status);
  forge_note(c, "CORE", NT_PRPSINFO, &c->process, sizeof c->process);
  forge_note(c, "CORE", NT_AUXV, c->vector, sizeof c->vector);
  if (c->n_mappings > 0) note_mappings(c);
}

/* The notes' segment is the first, as the kernel and gdb have it. */
static void put_notes(forged_core *c, uint64_t at) {
  Elf64_Phdr notes = {.p_type = PT_NOTE, .p_offset = at, .p_filesz = c->note_bytes, .p_align = 4};
  c->notes_at = at;
  put_bytes(c, c->table_at, &notes, sizeof notes);
  put_bytes(c, at, c->notes, c->note_bytes);
}

void forge_core_end(forged_core *c) {
  if (!c->has_no_process) note_process(c);
  size_t n_notes = c->note_bytes > 0 ? 1 : 0, n = c->n_segments + n_notes;
  Elf64_Shdr section = {.sh_info = (Elf64_Word)n};
  uint64_t at = sizeof c->header + (c->is_long ? sizeof section : 0);
  c->header.e_phnum = c->is_long ? PN_XNUM : (Elf64_Half)n;
  c->header.e_phoff = c->table_at = at;
  if (c->is_long) {
    c->header.e_shoff = sizeof c->header;
    c->header.e_shentsize = sizeof section;
    put_bytes(c, sizeof c->header, &section, sizeof section);
  }
  put_bytes(c, 0, &c->header, sizeof c->header);
  at += n * sizeof(Elf64_Phdr);
  if (n_notes > 0 && !c->by_gdb) {
    put_notes(c, at);
    at += c->note_bytes;
  }
  for (size_t i = 0; i < c->n_segments; i++) {
    Elf64_Phdr *s = &c->segments[i];
    if (!c->by_gdb) at = (at + 4095) & ~(uint64_t)4095;
    s->p_offset = at;
    put_bytes(c, c->table_at + (n_notes + i) * sizeof *s, s, sizeof *s);
    put_bytes(c, at, c->contents[i], s->p_filesz);
    at += s->p_filesz;
  }
  if (n_notes > 0 && c->by_gdb) put_notes(c, at);
}

void forge_core_file(const forged_core *c, const char *path) {
  FILE *file = fopen(path, "wb");
  size_t written = file ? fwrite(c->bytes, 1, c->size, file) : 0;
  assert(file && written == c->size);
  (void)fclose(file);
}

void forge_elf_page(uint8_t page[4096], uint8_t value, size_t n) {
  Elf64_Ehdr header = {.e_phoff = sizeof header, .e_phnum = 1};
  Elf64_Phdr notes = {.p_type = PT_NOTE,
                      .p_offset = sizeof header + sizeof notes,
                      .p_filesz = sizeof(Elf64_Nhdr) + 4 + n,
                      .p_align = 4};
  Elf64_Nhdr head = {4, (Elf64_Word)n, NT_GNU_BUILD_ID};
  memset(page, 0, 4096);
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  memcpy(page, &header, sizeof header);
  if (n == 0) return;
  memcpy(page + sizeof header, &notes, sizeof notes);
  memcpy(page + notes.p_offset, &head, sizeof head);
  memcpy(page + notes.p_offset + sizeof head, "GNU", 4);
  memset(page + notes.p_offset + sizeof head + 4, value, n);
}

void forge_stack_page(uint8_t page[4096], const char *const *arguments) {
  enum { VECTOR = FORGED_RANDOM - FORGED_STACK - 24 - 6 * 8 };
  uint64_t words[64], n = 0, text = FORGED_RANDOM - FORGED_STACK + 16;
  Elf64_auxv_t vector[3] = {{AT_PAGESZ, {4096}}, {AT_RANDOM, {FORGED_RANDOM}}, {AT_NULL, {0}}};
  memset(page, 0, 4096);
  for (size_t i = 0; arguments[i]; i++) words[0] = ++n;
  for (size_t i = 0; arguments[i]; i++) {
    words[1 + i] = FORGED_STACK + text;
    memcpy(page + text, arguments[i], strlen(arguments[i]) + 1);
    text += strlen(arguments[i]) + 1;
  }
  words[1 + n] = 0;
  words[2 + n] = words[3 + n] = FORGED_STACK + text; /* the environment */
  words[4 + n] = 0;
  memcpy(page + VECTOR - (5 + n) * 8, words, (5 + n) * 8);
  memcpy(page + VECTOR, vector, sizeof vector);
  for (size_t i = 0; i < 16; i++) page[FORGED_RANDOM - FORGED_STACK + i] = (uint8_t)(0xA0 + i);
}
