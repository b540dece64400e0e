/* forged_profile.c - see forged_profile.h. */
#include "forged_profile.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *put_text(uint8_t *p, const char *text) {
  size_t n = text ? strlen(text) : 0;
  p = lh_put_uvarint(p, n);
  if (n > 0) memcpy(p, text, n);
  return p + n;
}

void forge_profile(forged_profile *f, const lh_profile_info *info) {
  memset(f, 0, sizeof *f);
  f->info = *info;
  lh_profile_blocks_begin(&f->to, f->buffer, forge_write, &f->out);
  uint8_t *p = f->to.at;
  lh_store64(p, info->state_id);
  p = lh_put_uvarint(p + 8, info->process_id);
  lh_store64(p, info->start_unix_ns);
  p = lh_put_uvarint(lh_put_uvarint(p + 8, info->start_bytes), info->sample_bytes);
  *p++ = (uint8_t)((info->has_stacks ? LH_PROFILE_HAS_STACKS : 0) |
                   (info->is_aggregate ? LH_PROFILE_IS_AGGREGATE : 0) |
                   (info->has_calls ? LH_PROFILE_HAS_CALLS : 0));
  f->to.at = put_text(put_text(p, info->release), info->program);
  lh_profile_blocks_next(&f->to, LH_BLOCK_RECORDS);
}

void forge_cut_profile(forged_profile *f) {
  lh_profile_blocks_next(&f->to, LH_BLOCK_RECORDS);
  f->data = f->out.data;
  f->size = f->out.size;
}

void forge_end_profile(forged_profile *f, uint64_t duration_ns, uint64_t lost_events) {
  lh_profile_blocks_next(&f->to, LH_BLOCK_END);
  uint8_t *p = lh_put_uvarint(lh_put_uvarint(f->to.at, duration_ns), f->n_events);
  p = lh_put_uvarint(p, lost_events);
  *p++ = 1;
  f->to.at = p;
  forge_cut_profile(f);
}

void forge_save_profile(const forged_profile *f, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(f->data, 1, f->size, file) != f->size || fclose(file) != 0) abort();
}

void forge_drop_profile(forged_profile *f) {
  free(f->out.data);
}

/* ==== Sites and stacks ============================================================== */

static uint32_t define_name(forged_profile *f, const char *name) {
  if (!name) return 0;
  size_t n = strlen(name);
  uint8_t *p =
      lh_put_name_head(lh_profile_blocks_room(&f->to, n + LH_LONGEST_DEFINITION), (uint32_t)n);
  memcpy(p, name, n);
  f->to.at = p + n;
  return ++f->n_names;
}

static bool is_same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_site(const lh_site *a, const lh_site *b) {
  return is_same_text(a->source, b->source) && is_same_text(a->function, b->function) &&
         is_same_text(a->c_function, b->c_function) && a->first_line == b->first_line &&
         a->line == b->line && a->maker == b->maker;
}

static lh_site_id define_site(forged_profile *f, lh_site site) {
  for (lh_site_id id = 1; id <= f->n_sites; id++)
    if (is_same_site(&f->sites[id - 1], &site)) return id;
  if (f->n_sites == MOST_FORGED_SITES) abort();
  uint32_t function = 0;
  if (site.source || site.function) {
    uint32_t source = define_name(f, site.source), name = define_name(f, site.function);
    f->to.at = lh_put_function(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), source,
                               site.first_line, name);
    function = ++f->n_functions;
  }
  uint32_t c_function = define_name(f, site.c_function);
  f->to.at = lh_put_site(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), function, site.line,
                         site.maker, c_function);
  f->sites[f->n_sites++] = site;
  return f->n_sites;
}

lh_stack_id forge_stack(forged_profile *f, lh_stack_id parent, lh_site site) {
  lh_site_id id = define_site(f, site);
  f->to.at = lh_put_stack(lh_profile_blocks_room(&f->to, LH_LONGEST_DEFINITION), parent, id);
  return ++f->n_stacks;
}

/* ==== Records ======================================================================= */

void forge_time(forged_profile *f, uint64_t time_ns) {
  uint8_t *p = lh_profile_blocks_room(&f->to, 1 + LH_MAX_VARINT);
  *p++ = LH_RECORD_TIME;
  f->to.at = lh_put_uvarint(p, time_ns - f->time_ns);
  f->time_ns = time_ns;
}

/* As in the file. */
static unsigned type_in_file(unsigned type) {
  for (unsigned i = 0; i < 16; i++)
    if (lh_profile_type(i) == type) return i;
  return 0;
}

void forge_event(forged_profile *f, const lh_event *e) {
  uint8_t *p = lh_profile_blocks_room(&f->to, LH_LONGEST_EVENT);
  bool is_free = e->kind == LH_EVENT_FREE;
  uint64_t stack = is_free ? e->old_stack : e->stack;
  p = lh_put_uvarint(p, stack << LH_RECORD_STACK_SHIFT |
                            type_in_file(e->type) << LH_RECORD_TYPE_SHIFT | (unsigned)e->kind);
  p = lh_put_uvarint(p, is_free ? e->old_bytes : e->bytes);
  if (e->kind == LH_EVENT_RESIZE) p = lh_put_uvarint(lh_put_uvarint(p, e->old_stack), e->old_bytes);
  if (e->kind != LH_EVENT_NEW) p = lh_put_uvarint(p, e->age_bytes >> LH_RECORD_AGE_SHIFT);
  if (f->info.sample_bytes > 0)
    p = lh_put_uvarint(p, (uint64_t)(e->weight * (1 << LH_RECORD_WEIGHT_SHIFT)));
  f->to.at = p;
  f->n_events++;
}

void forge_made(forged_profile *f, unsigned type, lh_stack_id stack, uint64_t bytes) {
  forge_event(f, &(lh_event){.kind = LH_EVENT_NEW,
                             .type = (uint8_t)type,
                             .stack = stack,
                             .bytes = bytes,
                             .weight = 1});
}

void forge_resized(forged_profile *f, unsigned type, lh_stack_id stack, lh_stack_id old_stack,
                   uint64_t bytes, uint64_t old_bytes, uint64_t age_bytes) {
  forge_event(f, &(lh_event){.kind = LH_EVENT_RESIZE,
                             .type = (uint8_t)type,
                             .stack = stack,
                             .old_stack = old_stack,
                             .bytes = bytes,
                             .old_bytes = old_bytes,
                             .age_bytes = age_bytes,
                             .weight = 1});
}

void forge_freed(forged_profile *f, unsigned type, lh_stack_id old_stack, uint64_t old_bytes,
                 uint64_t age_bytes) {
  forge_event(f, &(lh_event){.kind = LH_EVENT_FREE,
                             .type = (uint8_t)type,
                             .old_stack = old_stack,
                             .old_bytes = old_bytes,
                             .age_bytes = age_bytes,
                             .weight = 1});
}

void forge_count(forged_profile *f, const lh_profile_count *c) {
  const uint64_t numbers[] = {c->made,     c->made_bytes,        c->resized, c->resized_bytes,
                              c->replaced, c->replaced_bytes,    c->freed,   c->freed_bytes,
                              c->samples,  c->live_bytes_at_peak};
  uint32_t ages = 0;
  uint8_t *p = lh_table_room(&f->to, 1024);
  p = lh_put_uvarint(p, c->stack);
  *p++ = (uint8_t)type_in_file(c->type);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) p = lh_put_uvarint(p, numbers[i]);
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++) ages |= (uint32_t)(c->deaths[i] > 0) << i;
  p = lh_put_uvarint(p, ages);
  for (unsigned i = 0; i < LH_PROFILE_AGES; i++)
    if (c->deaths[i] > 0) p = lh_put_uvarint(lh_put_uvarint(p, c->deaths[i]), c->death_bytes[i]);
  f->to.at = p;
}

void forge_call(forged_profile *f, const lh_profile_call *c) {
  uint8_t *p = lh_put_uvarint(lh_table_room(&f->to, 64), c->stack);
  p = lh_put_uvarint(lh_put_uvarint(p, c->calls), c->tail_calls);
  p = lh_put_uvarint(lh_put_uvarint(p, c->self_ns), c->total_ns);
  *p++ = c->is_constant;
  f->to.at = p;
}

/* ==================================================================================== */

void forge_seal_profile(uint8_t *data, size_t size) {
  size_t at = LH_PROFILE_HEADER_BYTES;
  while (at < size && size - at >= LH_PROFILE_BLOCK_HEAD) {
    size_t n = lh_load32(data + at), rest = size - at - LH_PROFILE_BLOCK_HEAD;
    lh_store64(data + at + 8, lh_hash(data + at, 8, at));
    if (n > rest) return;
    lh_store64(data + at + 16, lh_hash(data + at + LH_PROFILE_BLOCK_HEAD, n, at));
    at += LH_PROFILE_BLOCK_HEAD + n;
  }
}
