/*
** foreign.c - what a file is that is no core of a process here, and what to do with it.
*/
#include <ctype.h>
#include <string.h>

#include "core.h"

typedef struct beginning {
  const char *bytes;
  size_t n;
  const char *told;
} beginning;

/* told: the tool that unpacks. */
static const beginning compressed[] = {
    {"\x28\xb5\x2f\xfd", 4, "zstd"}, {"\x1f\x8b", 2, "gzip"},        {"\xfd\x37zXZ", 5, "xz"},
    {"\x04\x22\x4d\x18", 4, "lz4"},  {"\x02\x21\x4c\x18", 4, "lz4"}, {"BZh", 3, "bzip2"},
};

static const beginning others[] = {
    {"ProblemType:", 12, "a report of apport: apport-unpack FILE DIR makes the core DIR/CoreDump"},
    {"MDMP", 4, "a minidump, which has stacks and no heap: a core is needed, as of gcore PID"},
    {"KDUMP", 5, "a core of a kernel: gcore PID makes one of a process"},
    {"\xcf\xfa\xed\xfe", 4, "of another system (Mach-O): a core of Linux is needed"},
    {"\x1bLua", 4, "compiled Lua: give the number of the process that runs it"},
    {"\x89LPROF", 6, "a profile: heapprof reads it"},
};

static const beginning *find(const beginning *list, size_t n_list, const uint8_t *head, size_t n) {
  for (size_t i = 0; i < n_list; i++)
    if (n >= list[i].n && memcmp(head, list[i].bytes, list[i].n) == 0) return &list[i];
  return NULL;
}

/* The name, where a shell takes it as it stands. */
static const char *typed(const char *name) {
  static const char harmless[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  return *name != '-' && name[strspn(name, harmless)] == '\0' ? name : "FILE";
}

/* ASCII, or UTF-8 for all that is seen here. */
static bool is_text(const uint8_t *head, size_t n) {
  size_t i = 0;
  while (i < n && (isprint(head[i]) || isspace(head[i]) || head[i] >= 0x80)) i++;
  return i == n;
}

static bool is_snapshot(const char *path) {
  lh_snapshot *snapshot;
  int code = lh_open(&snapshot, path, NULL);
  if (code == LH_OK) lh_close(snapshot);
  return code == LH_OK || code == LH_EVERSION || code == LH_EDAMAGED;
}

int lh_refuse_foreign(const char *name, const uint8_t *head, size_t n, lh_error *error) {
  if (n == 0)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is empty: the disk was full, or the limit for cores was 0; type ulimit -c "
                   "unlimited before the program starts, or gcore PID while it runs",
                   name);
  const beginning *found = find(compressed, sizeof compressed / sizeof *compressed, head, n);
  if (found)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is compressed: %s -dc %s >core unpacks it (one that systemd keeps: "
                   "coredumpctl dump PID -o core)",
                   name, found->told, typed(name));
  found = find(others, sizeof others / sizeof *others, head, n);
  if (found) return lh_fail(error, LH_EFOREIGN, "'%s' is %s", name, found->told);
  if (is_snapshot(name))
    return lh_fail(error, LH_EFOREIGN, "'%s' is a snapshot already: heaptop %s tells what is in it",
                   name, typed(name));
  return lh_fail(error, LH_EFOREIGN,
                 is_text(head, n)
                     ? "'%s' is a text, and no core file: give the number of the process that runs "
                       "it, or has written it"
                     : "'%s' is not a core file: give the number of a process, or what gcore PID "
                       "makes of it",
                 name);
}

#if defined __x86_64__
enum { HERE = EM_X86_64 };
#elif defined __aarch64__
enum { HERE = EM_AARCH64 };
#else
enum { HERE = EM_NONE };
#endif

static const char *machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "x86 (32 bit)";
    case EM_ARM: return "ARM (32 bit)";
    case EM_RISCV: return "RISC-V";
    case EM_PPC64: return "POWER";
    case EM_S390: return "S/390";
    default: return "another machine";
  }
}

static int fail_machine(const char *name, const char *of, lh_error *error) {
  return lh_fail(error, LH_EHOST,
                 "'%s' is of %s, and this luaheap of %s: take the snapshot on a machine like that",
                 name, of, machine_name(HERE));
}

int lh_check_core_kind(const char *name, const Elf64_Ehdr *header, lh_error *error) {
  bool is_little = header->e_ident[EI_DATA] == ELFDATA2LSB;
  if (header->e_ident[EI_CLASS] == ELFCLASS32) return fail_machine(name, "a 32-bit machine", error);
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_VERSION] != EV_CURRENT)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is not a core file of a known kind: gcore PID makes one", name);
  if (is_little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
    return fail_machine(name, "a machine of the other byte order", error);
  if (header->e_type == ET_EXEC || header->e_type == ET_DYN)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is a program or a library, not a core: a running one is named by its "
                   "number, and one that crashes leaves a core after ulimit -c unlimited",
                   name);
  if (header->e_type != ET_CORE)
    return lh_fail(error, LH_EFOREIGN,
                   "'%s' is an ELF file, but not a core: gcore PID makes one of a process", name);
  if (header->e_machine != HERE) return fail_machine(name, machine_name(header->e_machine), error);
  return LH_OK;
}
