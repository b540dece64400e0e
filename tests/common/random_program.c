/* random_program.c - see random_program.h. */
#include "random_program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint8_t raw_types[N_TYPES] = {4, 5, 6, 7, 8, 9, 10, LH_RECORD_PART};
const uint8_t program_types[N_TYPES] = {LH_TYPE_STRING,   LH_TYPE_TABLE,  LH_TYPE_CLOSURE,
                                        LH_TYPE_USERDATA, LH_TYPE_THREAD, LH_TYPE_UPVALUE,
                                        LH_TYPE_PROTO,    LH_EVENT_PART};

program *new_program(size_t most_events) {
  program *p = calloc(1, sizeof *p);
  if (!p) abort();
  p->random = 88172645463325252u;
  p->most_events = most_events;
  p->events = calloc(most_events, sizeof *p->events);
  if (!p->events) abort();
  return p;
}

void free_program(program *p) {
  lh_definitions_free(&p->definitions);
  free(p->events);
  free(p);
}

size_t roll(program *p, size_t n) {
  p->random ^= p->random << 13;
  p->random ^= p->random >> 7;
  p->random ^= p->random << 17;
  return (size_t)(p->random >> 11) % n;
}

/* One of those that there are, a few of them mostly, or now and then a new one. */
lh_stack_id any_stack(program *p) {
  lh_definitions *d = &p->definitions;
  char name[64];
  if (d->n_stacks > 0 && (d->n_stacks == N_STACKS || roll(p, 50) > 0))
    return (lh_stack_id)(roll(p, roll(p, d->n_stacks) + 1) + 1);
  (void)snprintf(name, sizeof name, "function_%u", d->n_stacks);
  lh_function_definition f = {lh_define_name(d, "@app.lua", 8), d->n_stacks,
                              lh_define_name(d, name, strlen(name))};
  lh_site_definition site = {lh_define_function(d, f), d->n_stacks + 1, 0, LH_MADE_TABLE};
  return lh_define_stack(d, (lh_stack_id)roll(p, d->n_stacks + 1), lh_define_site(d, site));
}

static void put_and_keep(program *p, lh_profile_out *out, unsigned type, lh_event event) {
  if (p->n_events == p->most_events) abort();
  event.weight = 1;
  event.type = (uint8_t)raw_types[type];
  lh_profile_put(out, event);
  event.type = program_types[type];
  event.age_bytes &= ~(uint64_t)4095;
  p->events[p->n_events++] = event;
}

static void allocate_block(program *p, lh_profile_out *out) {
  live_block b = {any_stack(p), (unsigned)roll(p, N_TYPES), 16 + roll(p, 100), p->clock_bytes};
  lh_event e = {.kind = LH_EVENT_NEW, .stack = b.stack, .bytes = b.bytes};
  put_and_keep(p, out, b.type, e);
  p->clock_bytes += b.bytes;
  p->blocks[p->n_blocks++] = b;
}

void release(program *p, lh_profile_out *out, size_t at) {
  live_block b = p->blocks[at];
  uint64_t age = p->clock_bytes - b.birth;
  lh_event e = {
      .kind = LH_EVENT_FREE, .old_stack = b.stack, .old_bytes = b.bytes, .age_bytes = age};
  put_and_keep(p, out, b.type, e);
  p->blocks[at] = p->blocks[--p->n_blocks];
}

static void resize(program *p, lh_profile_out *out, size_t at) {
  live_block *b = &p->blocks[at], old = *b;
  if (program_types[b->type] != LH_EVENT_PART) return;
  uint64_t age = p->clock_bytes - b->birth;
  *b = (live_block){any_stack(p), old.type, 2 * old.bytes % 1000000, p->clock_bytes};
  lh_event e = {.kind = LH_EVENT_RESIZE,
                .stack = b->stack,
                .old_stack = old.stack,
                .bytes = b->bytes,
                .old_bytes = old.bytes,
                .age_bytes = age};
  put_and_keep(p, out, old.type, e);
  p->clock_bytes += b->bytes;
}

void run(program *p, lh_profile_out *out, size_t n) {
  for (size_t end = p->n_events + n; p->n_events < end;) {
    size_t what = roll(p, 16);
    if (p->n_blocks == 0 || (what < 8 && p->n_blocks < MOST_LIVE))
      allocate_block(p, out);
    else if (what < 9)
      resize(p, out, roll(p, p->n_blocks));
    else
      release(p, out, roll(p, p->n_blocks));
  }
}

lh_profile_options options_of(const program *p, const char *path) {
  return (lh_profile_options){.path = path,
                              .has_stacks = true,
                              .state_id = 42,
                              .start_bytes = 20000,
                              .release = "5.4.4",
                              .definitions = &p->definitions};
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

static unsigned seconds_ahead;

void pass_seconds(unsigned seconds) {
  seconds_ahead += seconds;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int code = __real_clock_gettime(clock, now);
  now->tv_sec += seconds_ahead;
  return code;
}
