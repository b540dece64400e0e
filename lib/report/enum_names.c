/*
** enum_names.c - names of enum values in JSON, Lua and SQL (others: lib/read/type_names.c).
*/
#include "report.h"

const char *lh_suspect_kind_name(lh_suspect_kind kind) {
  static const char *const words[] = {"holder", "itself", "list", "tree"};
  return LH_WORD_OF(words, kind);
}

const char *lh_branch_kind_name(lh_branch_kind kind) {
  static const char *const words[] = {"object", "list", "tree", "group", "rest"};
  return LH_WORD_OF(words, kind);
}

const char *lh_measure_name(lh_measure measure) {
  static const char *const words[] = {"shallow", "retained", "alone",  "entries",     "length",
                                      "content", "upvalues", "frames", "instructions"};
  return LH_WORD_OF(words, measure);
}

const char *lh_waste_kind_name(lh_waste_kind kind) {
  static const char *const words[] = {"emptied_tables",   "empty_slots",     "small_tables",
                                      "equal_strings",    "equal_functions", "user_values",
                                      "debug_information"};
  return LH_WORD_OF(words, kind);
}

const char *lh_prospect_name(lh_prospect prospect) {
  static const char *const words[] = {"filled once", "bounded", "may grow", "grows"};
  return LH_WORD_OF(words, prospect);
}

const char *lh_keying_name(lh_keying keying) {
  static const char *const words[] = {"linked",  "sequence", "integers", "times",    "milliseconds",
                                      "numbers", "uuids",    "hex",      "numbered", "tokens",
                                      "names",   "strings",  "objects",  "mixed"};
  return LH_WORD_OF(words, keying);
}

const char *lh_verdict_name(lh_verdict verdict) {
  static const char *const words[] = {"level",       "shrinks",        "saw-tooth",
                                      "grew once",   "grows steadily", "no longer grows",
                                      "still grows", "grows now"};
  return LH_WORD_OF(words, verdict);
}

const char *lh_usage_by_name(lh_usage_by by) {
  static const char *const words[] = {"site", "function", "type", "file", "stack"};
  return LH_WORD_OF(words, by);
}
