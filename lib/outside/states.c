/*
** states.c - finds Lua states in memory by structure.
**
** Each word of all private written memory may begin a main thread: its type byte is checked first,
** because near pointers are common (363,000 in a GB of lists), then its pointer to the global state
** behind or before it. lh_recognise_state checks the candidates. About 0.3 s per GB.
**
** The process is not stopped. A state may just move its counters, so a candidate is checked several
** times, each time with newly read memory. Reads are of whole pages, through a cache (memory.h), so
** 2,000 small states that lie side by side take few reads more than the search itself; it also
** bounds the cost of a forged state. A search may take a minute, plus ten seconds for each GB that
** the target has written.
*/
#include "memory.h"

/* Is its allocation function code? True if the memory there is unknown: a core may lack it. */
static bool has_code(const lh_memory *memory, const lh_seen_state *seen) {
  const lh_memory_region *r = lh_region_at(memory, seen->alloc);
  return !r || (r->access & LH_REGION_EXECUTE);
}

/* *n_checks: what was looked at until it was no state, as of the release that fitted longest. */
static int recognise(const lh_peek *peek, uint64_t main_thread, const char *release,
                     lh_seen_state *seen, int *n_checks, lh_error *error) {
  static const lh_lua *const known[] = {&lh_lua_504, &lh_lua_505};
  const char *why = "";
  *n_checks = 0;
  for (int i = 0; i < 2; i++) {
    const char *misfit;
    int n;
    if (known[i]->recognise(peek, main_thread, release, seen, &misfit, &n)) return LH_OK;
    if (n > *n_checks) *n_checks = n, why = misfit;
  }
  return lh_fail(error, LH_EHOST, "there is no open state of Lua 5.4 or 5.5 at 0x%llx: %s",
                 (unsigned long long)main_thread, why);
}

int lh_recognise_state(const lh_peek *peek, uint64_t main_thread, const char *release,
                       lh_seen_state *seen, lh_error *error) {
  int n_checks;
  return recognise(peek, main_thread, release, seen, &n_checks, error);
}

/* Three or four pages tell whether there is a state, twelve at most. The strings in its cache may
** be on a hundred others, but tell only the sizes of threads, which are not needed here. So a
** process is asked for few pages at first. The first two checks are of pointers that never change:
** what fails one of them, as most candidates do, is not looked at again. */
static int see_state(const lh_target *target, lh_cached *cached, uint64_t address,
                     const char *release, lh_seen_state *seen, lh_error *error) {
  enum { TIMES = 8, PAGES = 6, OF_POINTERS = 2 };
  lh_peek peek = lh_peek_cached(cached);
  int rc = LH_EHOST, n_checks = OF_POINTERS + 1;
  size_t times = target->is_core ? 1 : TIMES;
  for (size_t i = 0; i < times && rc != LH_OK && n_checks > OF_POINTERS; i++) {
    if (i > 0) lh_cached_forget(cached);
    lh_cached_begin(cached, target->is_core ? LH_CACHED_MOST : (i + 1) * PAGES);
    rc = recognise(&peek, address, release, seen, &n_checks, error);
  }
  return rc;
}

/* A new state may be where a closed one was. One that luaheap was loaded into has another id. */
static bool is_same_state(const lh_target *target, const lh_found_state *found,
                          const lh_seen_state *seen) {
  return found->has_luaheap ||
         found->id == lh_outside_state_id(target, seen->main_thread, seen->seed);
}

static int read_size(const lh_target *target, lh_cached *cached, lh_found_state *state,
                     lh_error *error) {
  lh_seen_state seen;
  state->gc_bytes = 0;
  int rc = see_state(target, cached, state->address, state->release, &seen, error);
  if (rc < 0) return rc;
  if (!is_same_state(target, state, &seen))
    return lh_fail(error, LH_EHOST, "another Lua state is at 0x%llx by now",
                   (unsigned long long)state->address);
  state->gc_bytes = seen.gc_bytes;
  return LH_OK;
}

int lh_outside_sizes(lh_target *target, lh_found_state *states, size_t n, lh_error *error) {
  size_t n_open = 0;
  lh_cached *cached = lh_cached_open(&target->memory);
  if (!cached) return lh_fail_memory(error, "looking at Lua states");
  for (size_t i = 0; i < n; i++) n_open += read_size(target, cached, &states[i], error) == LH_OK;
  lh_free(cached);
  return n_open > 0 ? LH_OK : LH_EHOST;
}

const char *lh_release_of(const lh_target *target, uint64_t state) {
  for (size_t i = 0; i < target->n_found; i++) {
    if (target->found[i].address == state) return target->found[i].release;
  }
  return "";
}

/* ==== The search ==================================================================== */

enum { PIECE_BYTES = 1 << 20, LEAST_PIECE = 4096, HEAD_BYTES = 32 };

enum { MOST_LIBRARIES = 32 };
typedef struct named_library {
  uint64_t address;
  const char *minor; /* lh_lua.name */
  char release[sizeof((lh_found_state *)0)->release];
} named_library;

typedef struct search {
  lh_target *target;
  size_t capacity; /* of the found states */
  uint64_t *piece;
  lh_cached *cached;
  named_library libraries[MOST_LIBRARIES];
  size_t n_libraries;
  uint64_t texts_room;
  bool other_numbers; /* a state was skipped because of its number types */
  uint64_t start_ns, n_looks;
  uint64_t searched_bytes, shown_bytes;
} search;

/* Searched once for each library. A program with more than MOST_LIBRARIES has forged them. */
static const char *release_of_library(search *s, uint64_t library, const char *minor) {
  for (size_t i = 0; i < s->n_libraries; i++) {
    const named_library *known = &s->libraries[i];
    if (known->address == library && known->minor == minor) return known->release;
  }
  if (s->n_libraries == MOST_LIBRARIES) return minor;
  named_library *new = &s->libraries[s->n_libraries++];
  new->address = library;
  new->minor = minor;
  lh_identify_release(&s->target->memory, library, minor, &s->texts_room, new->release,
                      sizeof new->release);
  return new->release;
}

static uint64_t deadline_ns(const search *s) {
  enum { NS_EACH_BYTE = 10 };
  const uint64_t for_all_ns = 60000000000;
  return s->start_ns + for_all_ns + s->searched_bytes * NS_EACH_BYTE;
}

static int check_deadline(const search *s, lh_error *error) {
  uint64_t now = lh_now_ns();
  if (now <= deadline_ns(s)) return LH_OK;
  return lh_fail(error, LH_EIO,
                 "gave up the search for Lua states after %s: %s in the memory of process %" PRId64
                 " look like one, and %s of memory are mapped",
                 lh_duration_text(now - s->start_ns).text,
                 lh_count_of(s->n_looks, "place", "places").text, s->target->process_id,
                 lh_size_text(lh_mirrored_bytes(&s->target->memory), false).text);
}

static void show_search(search *s) {
  enum { EACH = 64 << 20 };
  const lh_target *t = s->target;
  if (!t->show_search || s->searched_bytes - s->shown_bytes < EACH) return;
  s->shown_bytes = s->searched_bytes;
  t->show_search(t->show_payload, s->searched_bytes);
}

static void cut_first_line(char *text) {
  size_t blank = strspn(text, " \t\r\n");
  memmove(text, text + blank, strlen(text + blank) + 1);
  text[strcspn(text, "\r\n")] = '\0';
}

/* The interpreter has the script in arg[0]. A host with scripts of its own has no arg. Then we use
** the source of a function: the outermost running one, else one on the main thread's stack (each
** script of lighttpd has a state), in the registry (haproxy's actions) or in a global variable;
** else the one loaded last. A source is a file name behind @, a name behind =, or the program text,
** of which we use the first line. Returns false for a text. */
static bool name_script(const lh_peek *peek, const lh_seen_state *seen, char *script, size_t size) {
  if (seen->lua->peek_argument(peek, seen, script, size)) return true;
  *script = '\0';
  for (lh_peek_where at = LH_PEEK_RUNNING; at <= LH_PEEK_NEWEST; at++) {
    if (!seen->lua->peek_source(peek, seen, at, script, size)) continue;
    bool is_name = *script == '@' || *script == '=';
    if (is_name)
      memmove(script, script + 1, strlen(script));
    else
      cut_first_line(script);
    return is_name;
  }
  return true;
}

static void describe_state(search *s, const lh_seen_state *seen, lh_found_state *found) {
  lh_peek peek = lh_peek_cached(s->cached);
  uint64_t library = seen->lua->peek_library(&peek, seen);
  const char *release = release_of_library(s, library, seen->lua->name);
  bool is_known = strcmp(release, seen->lua->name) != 0;
  *found = (lh_found_state){.address = seen->main_thread, .gc_bytes = seen->gc_bytes};
  (void)snprintf(found->release, sizeof found->release, "%.7s%s",
                 is_known ? release : seen->release, seen->dialect);
  found->is_text = !name_script(&peek, seen, found->script, sizeof found->script);
  found->has_luaheap = seen->lua->peek_luaheap(&peek, seen, &found->id);
  if (!found->id) found->id = lh_outside_state_id(s->target, seen->main_thread, seen->seed);
}

/* 0, LH_EMEMORY, or LH_EIO: it takes too long. */
static int look_closely(search *s, uint64_t address, lh_error *error) {
  lh_target *t = s->target;
  lh_peek peek = lh_peek_cached(s->cached);
  lh_seen_state seen;
  s->n_looks++;
  if (check_deadline(s, error) < 0) return LH_EIO;
  if (see_state(t, s->cached, address, "", &seen, NULL) < 0 || !has_code(&t->memory, &seen))
    return LH_OK;
  lh_cached_begin(s->cached, LH_CACHED_MOST);
  if (!seen.lua->peek_numbers(&peek, &seen)) {
    s->other_numbers = true;
    return LH_OK;
  }
  if (!lh_grow(&t->found, t->n_found, &s->capacity, sizeof *t->found))
    return lh_fail_memory(error, "looking for Lua states");
  describe_state(s, &seen, &t->found[t->n_found++]);
  return LH_OK;
}

/* Searches n bytes from address `start` of the target. A whole head must fit behind each word. */
static int search_piece(search *s, uint64_t start, size_t n, lh_error *error) {
  const uint64_t *words = s->piece;
  lh_cached_forget(s->cached);
  lh_cached_lend(s->cached, start, s->piece, n);
  enum { TYPE = LH_THREAD_TYPE / 8, GLOBAL = LH_THREAD_GLOBAL / 8, HEAD = HEAD_BYTES / 8 };
  for (size_t i = 0; i + HEAD <= n / 8; i++) {
    if ((uint8_t)words[i + TYPE] != LH_MAIN_THREAD_TYPE) continue;
    uint64_t address = start + 8 * i;
    if (!lh_may_be_global(address, words[i + GLOBAL])) continue;
    if (words[i + GLOBAL] < address && words[i] != 0) continue;
    int rc = look_closely(s, address, error);
    if (rc < 0) return rc;
  }
  return LH_OK;
}

static int search_range(search *s, lh_span range, lh_error *error) {
  const lh_memory *memory = &s->target->memory;
  uint64_t piece = PIECE_BYTES, end = range.end;
  for (uint64_t at = (range.start + 7) / 8 * 8; at < end && end - at >= HEAD_BYTES;) {
    uint64_t n = end - at < piece ? end - at : piece;
    if (memory->read(memory, at, s->piece, n)) {
      s->searched_bytes += n;
      show_search(s);
      int rc = search_piece(s, at, n, error);
      if (rc < 0) return rc;
      if (n == end - at) return LH_OK;
      at += n - HEAD_BYTES + 8;
      if (piece < PIECE_BYTES) piece *= 2;
    } else if (piece > LEAST_PIECE) {
      piece /= 2;
    } else {
      at = (at / LEAST_PIECE + 1) * LEAST_PIECE;
    }
  }
  return LH_OK;
}

/* Adjoining pages are one range: a state may begin in initialized data and go on behind it. */
static int search_target(search *s, lh_error *error) {
  lh_pages pages;
  lh_span span, range = {0, 0};
  int rc = LH_OK;
  lh_pages_begin(&pages, &s->target->memory);
  for (pages.until_ns = deadline_ns(s); rc == LH_OK && lh_pages_next(&pages, &span);
       pages.until_ns = deadline_ns(s)) {
    if (span.start == range.end) {
      range.end = span.end;
      continue;
    }
    rc = search_range(s, range, error);
    range = span;
  }
  if (rc == LH_OK) rc = search_range(s, range, error);
  if (rc == LH_OK) rc = check_deadline(s, error);
  lh_pages_end(&pages);
  return rc;
}

static int refuse_search(const search *s, lh_error *error) {
  if (!s->other_numbers) return lh_refuse_other_luas(s->target, error);
  return lh_fail(error, LH_EHOST,
                 "luaheap needs a Lua whose integers have 8 bytes and whose floats are double; the "
                 "one in this program was built with others");
}

int lh_find_states(lh_target *target, const lh_found_state **states, size_t *n, lh_error *error) {
  search s = {.target = target, .texts_room = LH_TEXTS_ROOM, .start_ns = lh_now_ns()};
  *states = NULL;
  *n = 0;
  int rc = target->is_core ? LH_OK : lh_process_refresh(target, error);
  if (rc < 0) return rc;
  lh_free(target->found);
  target->found = NULL;
  target->n_found = 0;
  s.piece = lh_alloc(PIECE_BYTES, 1);
  s.cached = lh_cached_open(&target->memory);
  rc = s.piece && s.cached ? search_target(&s, error)
                           : lh_fail_memory(error, "looking for Lua states");
  lh_free(s.piece);
  lh_free(s.cached);
  if (rc == LH_OK && target->n_found == 0) rc = refuse_search(&s, error);
  if (rc != LH_OK) return rc;
  *states = target->found;
  *n = target->n_found;
  return LH_OK;
}

void lh_show_search(lh_target *target, void (*show)(void *payload, uint64_t searched_bytes),
                    void *payload) {
  target->show_search = show;
  target->show_payload = payload;
}
