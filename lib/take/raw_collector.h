/*
** raw_collector.h - reads what the collector may do next, and its settings, of each release.
*/
#pragma once

#include "raw.h"
#include "rooms/read.h"

#if LH_LUA == 505
enum { RAW_GC_PAUSE = 8 }; /* RAW_GLOBAL_GC_STATE between two cycles */

/* As luaO_applyparam(setting, 100) of lobject.c, which collectgarbage("param") returns: four bits
** of exponent and four of a fraction. */
static inline uint32_t raw_percent(uint8_t setting) {
  uint32_t fraction = setting & 15u, exponent = setting >> 4;
  if (exponent > 0) fraction += 16u;
  if (exponent > 0) exponent--;
  return exponent >= 7 ? 100u * fraction << (exponent - 7) : 100u * fraction >> (7 - exponent);
}
#endif

/* The bytes of the collector's settings from layout->gc_settings on. 5.4 keeps three of them in
** quarters; in 5.4.0 to 5.4.3 the third says that it runs. In 5.5 each is a small float. */
static inline lh_collector raw_collector(const lh_layout *layout, const char *global,
                                         const char *lua_release) {
  const uint8_t *setting = (const uint8_t *)global + layout->gc_settings;
  lh_collector c = {.is_known = true, .credit_bytes = raw_credit(global)};
  uint64_t kept = (uint64_t)RAW_FIELD(global, RAW_GLOBAL_KEPT, int64_t);
#if LH_LUA == 504
  enum { MINOR, MAJOR, STOP, EMERGENCY, PAUSE, STEP, STOPPED_BY_USER = 1 };
  bool tells_running = layout->gc_settings == 103 || strcmp(lua_release, "5.4.3") == 0;
  c.is_stopped = tells_running ? !setting[STOP] : setting[STOP] & STOPPED_BY_USER;
  c.kept_bytes = kept;
  c.pause = setting[PAUSE] * 4u;
  c.stepmul = setting[STEP] * 4u;
  c.minormul = setting[MINOR];
  c.majormul = setting[MAJOR] * 4u;
#else
  enum { MINOR, MAJOR_TO_MINOR, MAJOR, PAUSE, STEP, STOPPED_BY_USER = 1 };
  bool is_between_cycles = raw_gc_byte(layout, global, RAW_GLOBAL_GC_KIND) == 0 &&
                           raw_gc_byte(layout, global, RAW_GLOBAL_GC_STATE) == RAW_GC_PAUSE;
  (void)lua_release;
  c.is_stopped = raw_gc_byte(layout, global, RAW_GLOBAL_STOP) & STOPPED_BY_USER;
  c.kept_bytes = is_between_cycles ? kept : 0;
  c.pause = raw_percent(setting[PAUSE]);
  c.stepmul = raw_percent(setting[STEP]);
  c.minormul = raw_percent(setting[MINOR]);
  c.majormul = raw_percent(setting[MAJOR]);
#endif
  return c;
}
