/*
** lua_versions.c - finds the Luas in a target by their texts in read-only data.
**
** Lua has lua_ident, "$LuaVersion: Lua 5.4.4  Copyright ...", in 5.1 "$Lua: Lua 5.1.5 ..."; LuaJIT
** has "LuaJIT 2.1.0". If the linker left lua_ident out, there is the value of _VERSION, "Lua 5.4"
** between two zeros. A program may have several Luas: the release of a state is searched only in
** the file with its code. Cost: 60 ms for some hundred ELF files, 2 ms for one.
*/
#include "outside.h"

typedef struct found_lua {
  char name[24];    /* "Lua 5.4.4", "LuaJIT 2.1" */
  const char *path; /* of the region */
} found_lua;

enum { LUA = 4 /* length of "Lua " */, MOST_LUAS = 8 };
typedef struct found_luas {
  found_lua of[MOST_LUAS];
  size_t n;
} found_luas;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t copy_version(char *out, size_t size, const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  memcpy(out, prefix, n);
  for (; n < size - 1; n++) {
    if (!is_digit(text[n]) && text[n] != '.') break;
    out[n] = text[n];
  }
  while (out[n - 1] == '.') n--;
  out[n] = '\0';
  return n;
}

static bool follows(const char *text, const char *before) {
  return memcmp(text - strlen(before), before, strlen(before)) == 0;
}

/* `name`: "" if this is not Lua's own text. At least BEFORE and BEHIND bytes must be around it. */
enum { BEFORE = 16, BEHIND = 32 };
static void read_name(const char *text, char *name, size_t size) {
  *name = '\0';
  if (memcmp(text, "LuaJIT 2.", 9) == 0 && is_digit(text[9])) {
    (void)copy_version(name, size, text, "LuaJIT ");
    return;
  }
  if (memcmp(text, "Lua 5.", 6) != 0 || !is_digit(text[6])) return;
  size_t n = copy_version(name, size, text, "Lua ");
  bool is_ident = follows(text, "$LuaVersion: ") || follows(text, "$Lua: ");
  if (!is_ident && !(text[n] == '\0' && text[-1] == '\0')) *name = '\0';
}

/* ==== In a mapping ================================================================== */

/* The same Lua, more exactly? LuaJIT also says that it is 5.1. */
static bool is_more_exact(const char *name, const char *than) {
  return strncmp(name, than, strlen(than)) == 0 ||
         (strncmp(name, "LuaJIT", 6) == 0 && strcmp(than + LUA, "5.1") == 0);
}

static void add_found_lua(found_luas *luas, const char *name, const char *path) {
  for (size_t i = 0; i < luas->n; i++) {
    found_lua *known = &luas->of[i];
    if (strcmp(known->path, path) != 0) continue;
    if (is_more_exact(known->name, name)) return;
    if (!is_more_exact(name, known->name)) continue;
    (void)snprintf(known->name, sizeof known->name, "%s", name);
    return;
  }
  if (luas->n == MOST_LUAS) return;
  found_lua *added = &luas->of[luas->n++];
  (void)snprintf(added->name, sizeof added->name, "%s", name);
  added->path = path;
}

static void search_piece(const char *from, const char *end, const char *path, found_luas *luas) {
  enum { LENGTH = 3 };
  for (const char *at = from; at < end; at += LENGTH) {
    char name[sizeof luas->of->name];
    at = memmem(at, (size_t)(end - at) + LENGTH - 1, "Lua", LENGTH);
    if (!at) return;
    read_name(at, name, sizeof name);
    if (*name) add_found_lua(luas, name, path);
  }
}

/* Pieces overlap by the bytes around a name. Unreadable pieces are skipped. A core has nothing more
** behind one, whatever length it claims. */
static void search_region(const lh_memory *memory, const lh_memory_region *r, found_luas *luas,
                          uint64_t *room) {
  enum { MOST = 1 << 16 };
  char piece[BEFORE + MOST + BEHIND] = {0};
  for (uint64_t at = r->start; r->end > at && *room > MOST; *room -= MOST) {
    bool is_first = at == r->start, is_last = r->end - at <= MOST;
    size_t n = is_last ? (size_t)(r->end - at) : MOST;
    char *from = piece + (is_first ? BEFORE : 2 * BEFORE);
    char *end = piece + BEFORE + n - (is_last ? 0 : BEHIND);
    if (is_last) memset(end, 0, BEHIND);
    bool was_read = memory->read(memory, at, piece + BEFORE, n);
    if (was_read) search_piece(from, end, r->path, luas);
    if (!was_read && memory->process_id == 0) return;
    at = is_last ? r->end : at + n - BEFORE - BEHIND;
  }
}

static bool may_hold_texts(const lh_memory_region *r) {
  unsigned not_texts = LH_REGION_WRITE | LH_REGION_SHARED;
  return (r->access & (LH_REGION_READ | not_texts)) == LH_REGION_READ;
}

/* ==== In a target =================================================================== */

/* The first mapping of a file begins with its header. */
static bool is_program(const lh_memory *memory, const lh_memory_region *first) {
  char magic[4];
  return *first->path && memory->read(memory, first->start, magic, sizeof magic) &&
         memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* `only` NULL: all files. The mappings of a file adjoin; a process can have 65,530 of one. */
static void search_target(const lh_memory *memory, const lh_memory_region *only, uint64_t *room,
                          found_luas *luas) {
  bool is_wanted = false;
  luas->n = 0;
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *r = &memory->regions[i];
    if (only)
      is_wanted = r == only || (*r->path && strcmp(r->path, only->path) == 0);
    else if (i == 0 || strcmp(r[-1].path, r->path) != 0)
      is_wanted = is_program(memory, r);
    if (is_wanted && may_hold_texts(r)) search_region(memory, r, luas, room);
  }
}

static bool is_of(const found_lua *lua, const char *minor) {
  return strncmp(lua->name, "Lua ", LUA) == 0 && strncmp(lua->name + LUA, minor, 3) == 0;
}

static bool is_our_lua(const found_lua *lua) {
  return is_of(lua, "5.4") || is_of(lua, "5.5");
}

void lh_identify_release(const lh_memory *memory, uint64_t library, const char *minor,
                         uint64_t *room, char *release, size_t size) {
  const lh_memory_region *only = library ? lh_region_at(memory, library) : NULL;
  found_luas luas;
  const char *found = NULL;
  bool several = false;
  search_target(memory, only, room, &luas);
  for (size_t i = 0; i < luas.n; i++) {
    if (!is_of(&luas.of[i], minor)) continue;
    several = found && strcmp(found, luas.of[i].name) != 0;
    found = luas.of[i].name;
  }
  (void)snprintf(release, size, "%s", found && !several ? found + LUA : minor);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* "Lua 5.3.6 (liblua5.3.so.0) and LuaJIT 2.1 (luajit)" */
static void list_luas(const found_luas *luas, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < luas->n && used < size; i++) {
    const char *separator = i == 0 ? "" : i + 1 == luas->n ? " and " : ", ";
    int n = snprintf(out + used, size - used, "%s%s (%.40s)", separator, luas->of[i].name,
                     base_name(luas->of[i].path));
    used += n > 0 ? (size_t)n : 0;
  }
}

int lh_refuse_other_luas(const lh_target *target, lh_error *error) {
  enum { LEAST_STATE = 16 * 1024 }; /* bytes of a new state, or somewhat less */
  found_luas luas;
  char list[256], who[48] = "the process of this core", left_out[128] = "";
  bool has_ours = false;
  uint64_t room = LH_TEXTS_ROOM;
  search_target(&target->memory, NULL, &room, &luas);
  for (size_t i = 0; i < luas.n; i++) has_ours = has_ours || is_our_lua(&luas.of[i]);
  list_luas(&luas, list, sizeof list);
  if (!target->is_core) (void)snprintf(who, sizeof who, "process %" PRId64, target->process_id);
  if (target->is_core && lh_core_lacks(target) >= LEAST_STATE)
    (void)snprintf(left_out, sizeof left_out,
                   ", or it was in %s that were left out (coredump_filter, MADV_DONTDUMP)",
                   lh_size_text(lh_core_lacks(target), false).text);
  if (luas.n == 0)
    return lh_fail(error, LH_EHOST, "%s runs no Lua: no state of Lua 5.4 or 5.5 was found in it",
                   who);
  if (has_ours)
    return lh_fail(error, LH_EHOST, "%s has %s, but no state of Lua 5.4 or 5.5 is open in it%s",
                   who, list, left_out);
  return lh_fail(error, LH_EHOST, "%s runs %s, and luaheap reads 5.4 and 5.5", who, list);
}
