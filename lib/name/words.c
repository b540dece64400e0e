/*
** words.c - what the values of the public enums are called: the words of --json, heap.reader and
** heapsql's columns.
*/
#include "names.h"

#define WORD_OF(words, value) \
  ((unsigned)(value) < sizeof(words) / sizeof *(words) ? (words)[value] : "?")

const char *lh_type_name(lh_type type) {
  static const char *const words[] = {"root",    "string", "table",    "closure",
                                      "upvalue", "proto",  "userdata", "thread"};
  return WORD_OF(words, type);
}

const char *lh_list_name(lh_list list) {
  static const char *const words[] = {"allgc", "finobj", "tobefnz", "fixedgc"};
  return WORD_OF(words, list);
}

const char *lh_thread_status_name(lh_thread_status status) {
  static const char *const words[] = {"suspended",   "running",  "normal",
                                      "not started", "finished", "failed"};
  return WORD_OF(words, status);
}

const char *lh_edge_kind_name(lh_edge_kind kind) {
  static const char *const words[] = {
      "root",      "value",     "key",       "metatable", "ephemeron", "upvalue",     "content",
      "c-upvalue", "uservalue", "proto",     "constant",  "nested",    "source",      "debug-name",
      "function",  "local",     "temporary", "vararg",    "argument",  "open-upvalue"};
  return WORD_OF(words, kind);
}

const char *lh_suspect_kind_name(lh_suspect_kind kind) {
  static const char *const words[] = {"holder", "itself", "list", "tree", "spread"};
  return WORD_OF(words, kind);
}

const char *lh_branch_kind_name(lh_branch_kind kind) {
  static const char *const words[] = {"object", "list", "tree", "group", "rest"};
  return WORD_OF(words, kind);
}

const char *lh_measure_name(lh_measure measure) {
  static const char *const words[] = {"shallow", "retained", "alone",  "entries",     "length",
                                      "content", "upvalues", "frames", "instructions"};
  return WORD_OF(words, measure);
}

const char *lh_waste_kind_name(lh_waste_kind kind) {
  static const char *const words[] = {"emptied_tables",   "empty_slots",     "small_tables",
                                      "equal_strings",    "equal_functions", "user_values",
                                      "debug_information"};
  return WORD_OF(words, kind);
}

const char *lh_prospect_name(lh_prospect prospect) {
  static const char *const words[] = {"filled once", "may grow", "grows"};
  return WORD_OF(words, prospect);
}

const char *lh_keying_name(lh_keying keying) {
  static const char *const words[] = {"linked",  "sequence", "integers", "times",    "milliseconds",
                                      "numbers", "uuids",    "hex",      "numbered", "tokens",
                                      "names",   "strings",  "objects",  "mixed"};
  return WORD_OF(words, keying);
}

const char *lh_verdict_name(lh_verdict verdict) {
  static const char *const words[] = {"level",       "shrinks",        "saw-tooth",
                                      "grew once",   "grows steadily", "no longer grows",
                                      "still grows", "grows now"};
  return WORD_OF(words, verdict);
}
