/* type_names.c - the names of types, lists, thread states and edge kinds, as in --json. */
#include "base.h"
#include "rooms/graph.h"

const char *lh_type_name(lh_type type) {
  static const char *const words[] = {"root",    "string", "table",    "closure",
                                      "upvalue", "proto",  "userdata", "thread"};
  return LH_WORD_OF(words, type);
}

const char *lh_read_types(const char *names, uint32_t *mask) {
  for (;; names++) {
    size_t length = strcspn(names, ",");
    lh_type type = LH_TYPE_STRING;
    while (type < LH_TYPE_COUNT &&
           (strlen(lh_type_name(type)) != length || memcmp(lh_type_name(type), names, length) != 0))
      type++;
    if (length == 8 && memcmp(names, "function", length) == 0) type = LH_TYPE_CLOSURE;
    if (type == LH_TYPE_COUNT) return names;
    *mask |= 1u << type;
    names += length;
    if (*names == '\0') return NULL;
  }
}

const char *lh_list_name(lh_list list) {
  static const char *const words[] = {"allgc", "finobj", "tobefnz", "fixedgc", "another state"};
  return LH_WORD_OF(words, list);
}

const char *lh_thread_status_name(lh_thread_status status) {
  static const char *const words[] = {"suspended",   "running",  "normal",
                                      "not started", "finished", "failed"};
  return LH_WORD_OF(words, status);
}

const char *lh_weak_mode_name(const lh_object *table) {
  static const char *const words[] = {NULL, "k", "v", "kv"};
  return words[table->as.table.weak_keys + 2 * table->as.table.weak_values];
}

const char *lh_edge_kind_name(lh_edge_kind kind) {
  static const char *const words[] = {
      "root",      "value",     "key",       "metatable", "ephemeron", "upvalue",     "content",
      "c-upvalue", "uservalue", "proto",     "constant",  "nested",    "source",      "debug-name",
      "function",  "local",     "temporary", "vararg",    "argument",  "open-upvalue"};
  return LH_WORD_OF(words, kind);
}

const char *lh_gc_state_name(unsigned gc_state) {
  static const char *const words[] = {"propagate",   "enter atomic",    "atomic",
                                      "sweep allgc", "sweep finobj",    "sweep tobefnz",
                                      "sweep end",   "call finalizers", "pause"};
  return LH_WORD_OF(words, gc_state);
}

const char *lh_gc_kind_name(bool is_generational) {
  return is_generational ? "generational" : "incremental";
}

const char *lh_stillness_name(lh_stillness stillness) {
  static const char *const words[] = {"idle", "fork", "stopped", "core"};
  return LH_WORD_OF(words, stillness);
}
