/*
** profile.c - the life of a profile, and what is done each KB of events (see profile.h).
*/
#include "track/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile_out.h"

/* After so many bytes of events the time is looked at, and a record of it is put. */
enum { TICK_BYTES = 1024, TIME_BYTES = 1 + LH_MAX_VARINT };

#define SECOND UINT64_C(1000000000)
#define FLUSH_NS SECOND                /* who is killed loses no more */
#define REWRITE_NS (10 * SECOND)       /* an aggregate, of some 100 KB */
#define LEAST_BETWEEN_CALLS (1u << 20) /* bytes of the file */

/* {=== Blocks of the file ============================================================ */

/* A child that was forked has all of it, the descriptor too. */
static bool is_forked(const lh_profile_out *out) {
  return out->process_id != getpid();
}

static size_t write_block(const void *data, size_t n, void *payload) {
  lh_profile_out *out = payload;
  if (out->is_open && (is_forked(out) || lh_profile_file_write(data, n, out->file) < n))
    out->is_open = false;
  if (!out->is_open) return 0;
  out->n_written = out->n_events;
  return n;
}

/* What was in a block that could not be written is gone. */
static void end_block(lh_profile_out *out) {
  lh_profile_blocks_next(&out->to, LH_BLOCK_RECORDS);
  out->lost_events += out->n_events - out->n_written;
  out->n_events = out->n_written;
}

static void put_time(lh_profile_out *out, uint64_t now_ns) {
  uint8_t *p = lh_profile_blocks_room(&out->to, TIME_BYTES);
  *p++ = LH_RECORD_TIME;
  out->to.at = lh_put_uvarint(p, now_ns - out->time_ns);
  out->time_ns = now_ns;
}

/* Behind the last event that begins before it there is room for a time. */
static uint8_t *last_stop(const lh_profile_out *out) {
  return out->to.buffer + LH_PROFILE_BUFFER - LH_LONGEST_EVENT - TIME_BYTES;
}

static void set_stop(lh_profile_out *out) {
  uint8_t *last = last_stop(out);
  out->stop = last - out->to.at > TICK_BYTES ? out->to.at + TICK_BYTES : last;
}

static void define_new(lh_profile_out *out) {
  lh_profile_blocks_define(&out->to, out, &out->defined);
  out->n_stacks = out->defined.stacks;
}

/* Tables are an eighth of the file at most, if they do not grow. */
static void write_calls(lh_profile_out *out, bool is_due) {
  uint64_t last = out->calls_end - out->calls_at, since = out->to.offset - out->calls_end;
  if (!out->options.calls || (!is_due && since < 8 * last + LEAST_BETWEEN_CALLS)) return;
  define_new(out);
  end_block(out);
  out->calls_at = out->to.offset;
  lh_profile_blocks_calls(&out->to, out, out->n_stacks);
  out->calls_end = out->to.offset;
}

/* }=================================================================================== */

/* {=== Each KB of events, and each 256 that are counted ============================== */

/* A block that is full, or has waited for long, goes into the file. */
static void tick(lh_profile_out *out) {
  uint64_t now_ns = lh_now_ns();
  put_time(out, now_ns);
  if (out->to.at + TICK_BYTES >= last_stop(out) || now_ns - out->flushed_ns >= FLUSH_NS) {
    end_block(out);
    out->flushed_ns = now_ns;
    write_calls(out, false);
  }
  lh_profile_look(out, now_ns);
}

uint8_t *lh_profile_make_room(lh_profile_out *out, lh_stack_id stack) {
  int os_errno = errno; /* the program's, who only allocates */
  if (out->to.at >= out->stop) tick(out);
  if (stack > out->n_stacks) {
    define_new(out);
    (void)lh_profile_blocks_room(&out->to, LH_LONGEST_EVENT + TIME_BYTES);
  }
  set_stop(out);
  errno = os_errno;
  return out->to.at;
}

static size_t write_whole(const void *data, size_t n, void *payload) {
  return lh_profile_file_write(data, n, payload);
}

/* An aggregate takes the place of the one before. */
static int rewrite(lh_profile_out *out, bool is_final, lh_error *error) {
  int code = lh_profile_file_open(out->file, error);
  if (code != LH_OK) return code;
  lh_profile_blocks to;
  lh_profile_blocks_begin(&to, out->other_buffer, write_whole, out->file);
  lh_counting_write(out, &to, is_final);
  return lh_profile_file_name(out->file, error);
}

void lh_profile_look(lh_profile_out *out, uint64_t now_ns) {
  int os_errno = errno;
  bool is_asked = out->live && lh_live_is_asked(out->live, now_ns);
  bool is_due = out->is_open && !out->has_events && now_ns - out->flushed_ns >= REWRITE_NS;
  if ((!is_asked && !is_due) || is_forked(out)) {
    errno = os_errno;
    return;
  }
  if (is_asked) lh_live_publish(out->live, out, out->other_buffer);
  if (is_due) {
    out->flushed_ns = now_ns;
    out->trouble.code = LH_OK; /* what is written now has all that was not written then */
    (void)rewrite(out, false, &out->trouble);
  }
  errno = os_errno;
}

/* }=================================================================================== */

/* {=== Its life ====================================================================== */

static size_t mapped_bytes(void) {
  return sizeof(lh_profile_out) + 2 * (size_t)LH_PROFILE_BUFFER;
}

static void free_out(lh_profile_out *out) {
  lh_live_free(out->live);
  lh_counting_free(out->counting);
  lh_profile_file_free(out->file);
  lh_free_pages(out, mapped_bytes());
}

static void take_options(lh_profile_out *out, const lh_profile_options *options) {
  struct timespec now;
  out->options = *options;
  out->has_events = options->path && !options->is_aggregate;
  out->has_weights = options->sample_bytes > 0;
  (void)snprintf(out->release, sizeof out->release, "%s", options->release);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  out->start_unix_ns = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
  out->start_ns = out->time_ns = out->flushed_ns = lh_now_ns();
  out->process_id = getpid();
}

/* Header and facts; then the file has its name, and all else is added to it. */
static int begin_events(lh_profile_out *out, lh_error *error) {
  int code = lh_profile_file_open(out->file, error);
  if (code != LH_OK) return code;
  lh_profile_blocks_begin(&out->to, out->to.buffer, write_block, out);
  lh_profile_blocks_facts(&out->to, out, false);
  lh_profile_blocks_next(&out->to, LH_BLOCK_RECORDS);
  return lh_profile_file_name(out->file, error);
}

static int begin(lh_profile_out *out, lh_error *error) {
  const lh_profile_options *options = &out->options;
  if (options->is_aggregate || options->is_live) {
    out->counting = lh_counting_new(out->has_weights);
    if (!out->counting) return lh_fail_memory(error, "beginning a profile");
  }
  if (options->is_live) out->live = lh_live_new();
  if (!options->path) return LH_OK;
  int code = lh_profile_file_new(&out->file, options->path, error);
  if (code != LH_OK) return code;
  out->is_open = true;
  return out->has_events ? begin_events(out, error) : rewrite(out, false, error);
}

int lh_profile_begin(lh_profile_out **result, const lh_profile_options *options, lh_error *error) {
  lh_profile_out *out = *result = lh_alloc_pages(mapped_bytes());
  if (!out) return lh_fail_memory(error, "beginning a profile");
  out->to.buffer = (uint8_t *)(out + 1);
  out->other_buffer = out->to.buffer + LH_PROFILE_BUFFER;
  take_options(out, options);
  int code = begin(out, error);
  if (code != LH_OK) {
    free_out(out);
    *result = NULL;
    return code;
  }
  if (out->has_events) define_new(out);
  set_stop(out);
  return LH_OK;
}

const char *lh_profile_trouble(const lh_profile_out *out) {
  const lh_error *error = out->file && out->has_events ? lh_profile_file_error(out->file) : NULL;
  if (error) return error->message;
  return out->trouble.code == LH_OK ? NULL : out->trouble.message;
}

static int tell_trouble(const lh_profile_out *out, lh_error *error) {
  if (out->trouble.code == LH_OK || !error) return out->trouble.code;
  *error = out->trouble;
  if (out->lost_events > 0) {
    size_t used = strlen(error->message);
    (void)snprintf(error->message + used, sizeof error->message - used, "; %s lost",
                   lh_count_of(out->lost_events, "event is", "events are").text);
  }
  return error->code;
}

/* Where the disk was full there may be room for the little that says how much was lost. */
static int end_events(lh_profile_out *out, lh_error *error) {
  put_time(out, lh_now_ns());
  write_calls(out, true);
  end_block(out);
  lh_profile_blocks_end(&out->to, out, out->n_events, true);
  if (!out->is_open) {
    out->trouble = *lh_profile_file_error(out->file);
    lh_profile_file_retry(out->file);
    out->is_open = true;
    lh_profile_blocks_end(&out->to, out, out->n_events, true);
  }
  return tell_trouble(out, error);
}

int lh_profile_end(lh_profile_out *out, lh_error *error) {
  int code = LH_OK;
  if (!out) return code;
  if (out->file && !is_forked(out))
    code = out->has_events ? end_events(out, error) : rewrite(out, true, error);
  free_out(out);
  return code;
}

/* }=================================================================================== */
