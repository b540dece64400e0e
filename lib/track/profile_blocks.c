/* profile_blocks.c - writes blocks, and the parts of all profiles (profile.h). */
#include "profile.h"
#include "take/take.h"

static uint8_t *content(const lh_profile_blocks *to) {
  return to->buffer + LH_PROFILE_BLOCK_HEAD;
}

static void begin_block(lh_profile_blocks *to, unsigned kind) {
  to->kind = kind;
  to->at = content(to);
}

void lh_profile_blocks_begin(lh_profile_blocks *to, uint8_t *buffer, lh_writer writer,
                             void *payload) {
  *to = (lh_profile_blocks){.buffer = buffer, .writer = writer, .payload = payload};
  memcpy(buffer, LH_PROFILE_MAGIC, 8);
  lh_store32(buffer + 8, LH_PROFILE_VERSION);
  lh_store32(buffer + 12, 0);
  to->offset = writer(buffer, LH_PROFILE_HEADER_BYTES, payload);
  begin_block(to, LH_BLOCK_FACTS);
}

void lh_profile_blocks_next(lh_profile_blocks *to, unsigned kind) {
  size_t n = (size_t)(to->at - content(to));
  if (n > 0) {
    lh_store32(to->buffer, (uint32_t)n);
    lh_store32(to->buffer + 4, to->kind);
    lh_store64(to->buffer + 8, lh_hash(to->buffer, 8, to->offset));
    lh_store64(to->buffer + 16, lh_hash(content(to), n, to->offset));
    to->offset += to->writer(to->buffer, LH_PROFILE_BLOCK_HEAD + n, to->payload);
  }
  begin_block(to, kind);
}

uint8_t *lh_profile_blocks_room(lh_profile_blocks *to, size_t n) {
  if (n > (size_t)(to->buffer + LH_PROFILE_BUFFER - to->at)) lh_profile_blocks_next(to, to->kind);
  return to->at;
}

void lh_profile_blocks_facts(lh_profile_blocks *to, const lh_profile_out *out, bool is_aggregate) {
  enum { PROGRAM_BYTES = 4096 };
  const lh_profile_options *options = &out->options;
  char program[PROGRAM_BYTES];
  size_t program_bytes = lh_read_program(program, sizeof program);
  uint8_t *p = to->at;
  lh_store64(p, options->state_id);
  p = lh_put_uvarint(p + 8, (uint64_t)out->process_id);
  lh_store64(p, out->start_unix_ns);
  p = lh_put_uvarint(p + 8, options->start_bytes);
  p = lh_put_uvarint(p, options->sample_bytes);
  *p++ = (uint8_t)((options->has_stacks ? LH_PROFILE_HAS_STACKS : 0) |
                   (is_aggregate ? LH_PROFILE_IS_AGGREGATE : 0) |
                   (options->calls ? LH_PROFILE_HAS_CALLS : 0));
  p = lh_put_text(p, out->release, strlen(out->release));
  to->at = lh_put_text(p, program, program_bytes);
}

/* An lh_put_bytes: whole definitions. A name alone comes in two pieces, which stay in one block. */
static void put_definition(const void *data, uint64_t n, void *payload) {
  lh_profile_blocks *to = payload;
  const uint8_t *bytes = data;
  if (n == 0) return;
  if (!to->is_within_name)
    (void)lh_profile_blocks_room(to, LH_MOST_SITE_NAME_BYTES + LH_LONGEST_DEFINITION);
  to->is_within_name = !to->is_within_name && bytes[0] == LH_DEFINE_NAME && bytes[1] != 0;
  memcpy(to->at, bytes, n);
  to->at += n;
}

void lh_profile_blocks_define(lh_profile_blocks *to, const lh_profile_out *out,
                              lh_defined *defined) {
  lh_definitions_write(out->options.definitions, defined, put_definition, to);
}

void lh_table_begin(lh_profile_blocks *to, unsigned kind) {
  lh_profile_blocks_next(to, kind);
  *to->at++ = LH_TABLE_FIRST;
}

uint8_t *lh_table_room(lh_profile_blocks *to, size_t n) {
  if (lh_profile_blocks_room(to, n) == content(to)) *to->at++ = 0;
  return to->at;
}

void lh_table_end(lh_profile_blocks *to) {
  *content(to) |= LH_TABLE_LAST;
  lh_profile_blocks_next(to, LH_BLOCK_RECORDS);
}

void lh_profile_blocks_calls(lh_profile_blocks *to, const lh_profile_out *out, uint32_t n_stacks) {
  enum { ROW_BYTES = 6 * LH_MAX_VARINT };
  lh_table_begin(to, LH_BLOCK_CALLS);
  for (lh_stack_id stack = 1; stack <= n_stacks; stack++) {
    lh_call_counts counts = out->options.counts(out->options.calls, stack);
    if (counts.calls == 0) continue;
    uint8_t *p = lh_put_uvarint(lh_table_room(to, ROW_BYTES), stack);
    p = lh_put_uvarint(lh_put_uvarint(p, counts.calls), counts.tail_calls);
    p = lh_put_uvarint(lh_put_uvarint(p, counts.self_ns), counts.total_ns);
    *p++ = counts.is_constant;
    to->at = p;
  }
  lh_table_end(to);
}

void lh_profile_blocks_end(lh_profile_blocks *to, const lh_profile_out *out, uint64_t n_events,
                           bool is_final) {
  lh_profile_blocks_next(to, LH_BLOCK_END);
  uint8_t *p = lh_put_uvarint(to->at, lh_now_ns() - out->start_ns);
  p = lh_put_uvarint(lh_put_uvarint(p, n_events), out->lost_events);
  *p++ = is_final;
  to->at = p;
  lh_profile_blocks_next(to, LH_BLOCK_END);
}
