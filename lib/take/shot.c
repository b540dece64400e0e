/*
** shot.c - writes the file of an lh_shot (take.h).
**
** Nothing here needs a lua_State: the heap may be another process's, mirrored at its own addresses.
*/
#include <fcntl.h>
#include <unistd.h>

#include "raw_collector.h"
#include "take.h"

enum { PROGRAM_BYTES = 1024, ROOT_BYTES = 2 + LH_MAX_VARINT };

/* At most 28 numbers are in a footer, each with at most the longest encoding. */
_Static_assert(28 * LH_MAX_VARINT + sizeof(((lh_state *)0)->release) + PROGRAM_BYTES +
                       LH_MARK_NAME_BYTES + LH_WALK_ROOTS * ROOT_BYTES +
                       LH_MOST_KEYS * LH_MAX_VARINT <=
                   LH_OUT_FOOTER,
               "every footer fits");

size_t lh_read_program(char *out, size_t size) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, size);
  if (fd >= 0) (void)close(fd);
  if (n < 0) n = 0;
  while (n > 0 && out[n - 1] == '\0') n--;
  for (ssize_t i = 0; i < n; i++)
    if (out[i] == '\0') out[i] = ' ';
  return (size_t)n;
}

static uint8_t *append_program(uint8_t *p, const char *program) {
  char own[PROGRAM_BYTES];
  if (!program) return lh_put_text(p, own, lh_read_program(own, sizeof own));
  return lh_put_text(p, program, strnlen(program, PROGRAM_BYTES));
}

static uint8_t *put_roots(uint8_t *p, const lh_shot *shot) {
  lh_walk_root roots[LH_WALK_ROOTS];
  size_t n = lh_walk_roots(&shot->walk, roots);
  for (uint8_t i = 0; i < LH_OURS; i++) {
    const void *ours = shot->facts.ours[i];
    if (ours) roots[n++] = (lh_walk_root){.kind = LH_ROOT_OWN, .index = i, .address = ours};
  }
  p = lh_put_uvarint(p, n);
  for (size_t i = 0; i < n; i++) {
    *p++ = (uint8_t)roots[i].kind;
    *p++ = roots[i].index;
    p = lh_put_uvarint(p, (uintptr_t)roots[i].address >> 3);
  }
  return p;
}

static void put_collector(lh_shot *shot) {
  lh_out *out = &shot->out;
  lh_collector c = raw_collector(shot->walk.layout, shot->walk.global, shot->facts.release);
  lh_out_u8(out, c.is_stopped ? LH_COLLECTOR_STOPPED : 0);
  lh_out_uvarint(out, lh_zigzag(c.credit_bytes));
  lh_out_uvarint(out, c.kept_bytes <= LH_MOST_BYTES ? c.kept_bytes : 0);
  lh_out_uvarint(out, c.pause);
  lh_out_uvarint(out, c.stepmul);
  lh_out_uvarint(out, c.minormul);
  lh_out_uvarint(out, c.majormul);
}

static uint8_t *append_section(uint8_t *p, unsigned number, uint64_t start, uint64_t end) {
  p = lh_put_uvarint(p, number);
  p = lh_put_uvarint(p, start);
  return lh_put_uvarint(p, end - start);
}

static const lh_walk_more *more_with_section(const lh_shot *shot) {
  const lh_walk_more *more = shot->walk.more;
  return more && more->put_section ? more : NULL;
}

/* The directory. The records end at starts[0], the collector's section begins at starts[1]. */
static uint8_t *append_directory(uint8_t *p, const lh_shot *shot, const uint64_t starts[2]) {
  const lh_walk_more *more = more_with_section(shot);
  p = lh_put_uvarint(p, more ? 2 : 1);
  if (more) p = append_section(p, more->section, starts[0], starts[1]);
  return append_section(p, LH_SECTION_COLLECTOR, starts[1], lh_out_offset(&shot->out));
}

/* Fills in the footer and ends the file. Async-signal-safe if `error` is NULL. */
static int write_footer(lh_shot *shot, const uint64_t starts[2], lh_error *error) {
  const lh_walk *walk = &shot->walk;
  const lh_facts *facts = &shot->facts;
  uint8_t *p = shot->out.footer;
  lh_store64(p, facts->state_id);
  p = lh_put_uvarint(p + 8, facts->serial);
  lh_store64(p, facts->time_ns);
  p = lh_put_uvarint(p + 8, facts->process_id);
  p = lh_put_text(p, facts->release, strlen(facts->release));
  p = append_program(p, facts->program);
  p = lh_put_text(p, facts->name, strlen(facts->name));
  p = lh_put_uvarint(p, walk->string_bytes);
  p = lh_put_uvarint(p, shot->gc_bytes);
  p = lh_put_uvarint(p, shot->string_table_bytes);
  *p++ = raw_gc_byte(walk->layout, walk->global, RAW_GLOBAL_GC_STATE);
  *p++ = raw_gc_byte(walk->layout, walk->global, RAW_GLOBAL_GC_KIND) != 0;
  p = lh_put_uvarint(p, facts->n_finalized);
  for (unsigned i = 0; i < 4; i++) p = lh_put_uvarint(p, walk->n_objects[i]);
  p = lh_put_uvarint(p, walk->object_bytes);
  p = put_roots(p, shot);
  p = lh_put_uvarint(p, walk->n_keys);
  for (unsigned i = 0; i < walk->n_keys; i++) p = lh_put_uvarint(p, (uintptr_t)walk->keys[i] >> 3);
  p = append_directory(p, shot, starts);
  return lh_out_close(&shot->out, (size_t)(p - shot->out.footer), error);
}

uint64_t lh_shot_longest(const lh_layout *layout, uint64_t heap_bytes, uint64_t section_bytes,
                         uint64_t string_bytes) {
  const uint64_t most_of_others = (uint64_t)16 << 30; /* a block table of 0.4 MB */
  return lh_out_longest(heap_bytes, section_bytes + (layout->shares ? most_of_others : 0),
                        string_bytes);
}

void lh_shot_aim(lh_shot *shot, const char *global, const lh_layout *layout,
                 uint64_t section_bytes) {
  shot->walk.out = &shot->out;
  shot->walk.global = global;
  shot->walk.layout = layout;
  shot->walk.main_thread = raw_main_thread(layout, global);
  shot->gc_bytes = lh_gc_bytes(global);
  shot->longest_bytes =
      lh_shot_longest(layout, shot->gc_bytes, section_bytes, shot->walk.string_bytes);
  shot->string_table_bytes =
      sizeof(void *) * (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_SIZE, int32_t);
  shot->short_strings = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_STRINGS_USED, int32_t);
}

/* Before LH_LENGTHS_VERSION the length of a string follows from its size. */
static uint32_t version_of(const lh_layout *layout) {
  return LH_LUA == 504 && !layout->shares ? LH_SECTIONS_VERSION : LH_LENGTHS_VERSION;
}

int lh_shot_write(lh_shot *shot, lh_taken *taken, lh_error *error) {
  lh_walk *walk = &shot->walk;
  const lh_walk_more *more = more_with_section(shot);
  lh_out_begin(&shot->out, version_of(walk->layout));
  lh_walk_lists(walk);
  if (walk->ended) return lh_fail(error, LH_EBUSY, "what is on the collector's lists is no heap");
  uint64_t starts[2] = {lh_out_offset(&shot->out)};
  if (more) more->put_section(walk);
  starts[1] = lh_out_offset(&shot->out);
  put_collector(shot);
  taken->bytes = walk->object_bytes + shot->string_table_bytes;
  taken->external_bytes = walk->external_bytes;
  taken->objects = 0;
  for (unsigned i = 0; i < 4; i++) taken->objects += walk->n_objects[i];
  return write_footer(shot, starts, error);
}

void lh_shot_free(lh_shot *shot) {
  lh_out_free(&shot->out);
  lh_shared_free(&shot->walk.shared);
}

size_t lh_shot_discard(const void *data, size_t n, void *payload) {
  (void)data, (void)payload;
  return n;
}

static uint64_t measure_file(lh_shot *shot) {
  lh_taken ignored;
  lh_writer writer = shot->out.writer;
  shot->out.writer = lh_shot_discard;
  (void)lh_shot_write(shot, &ignored, NULL);
  shot->out.writer = writer;
  return shot->out.flushed;
}

bool lh_shot_may_fit(const lh_shot *shot, lh_file *file) {
  return lh_file_has_room(file, lh_out_shortest(shot->short_strings), true);
}

bool lh_shot_put(lh_shot *shot, lh_file *file, lh_taken *taken) {
  if (file->room < shot->longest_bytes && !lh_file_has_room(file, measure_file(shot), false))
    return false;
  return lh_shot_write(shot, taken, NULL) == LH_OK;
}

bool lh_shot_save(lh_shot *shot, lh_file *file, lh_taken *taken) {
  return lh_shot_put(shot, file, taken) && lh_file_finish(file);
}
