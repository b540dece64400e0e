/*
** lies.c - new records that are right but lie: the fields are those that the format asks for, and
** say what no Lua would write. References lead to objects of any type and to none; numbers are
** those at which something ends, overflows or means "none"; names are those that something looks
** for.
*/
#include <string.h>

#include "base.h"
#include "draft.h"
#include "read/record.h"

/* ==== Numbers, texts, references, values ============================================ */

uint64_t lie_number(draft *d) {
  static const uint64_t none[] = {0, UINT32_MAX, UINT64_MAX};
  static const uint8_t bits[] = {3, 8, 31, 32, 40, 53, 61, 63};
  switch (roll(d, 4)) {
    case 0: return none[roll(d, sizeof none / sizeof *none)];
    case 1: return (UINT64_C(1) << bits[roll(d, sizeof bits)]) - roll(d, 3);
    default: return roll(d, 40);
  }
}

/* Adds one of the words of a list, which are separated by bars, where there is room for it. */
static void add_one_of(draft *d, const char *list, char text[MAX_TEXT]) {
  size_t n = 1, had = strlen(text);
  for (const char *at = list; *at; at++) n += *at == '|';
  for (n = roll(d, n); n > 0; n--) list = strchr(list, '|') + 1;
  size_t length = strcspn(list, "|");
  if (had + length >= MAX_TEXT) return;
  memcpy(text + had, list, length);
  text[had + length] = '\0';
}

void lie_text(draft *d, char text[MAX_TEXT]) {
  static const char names[] =
      "__mode|__name|__index|__gc|k|v|kv|_G|_LOADED|_ENV|package|loaded|heap.snapshot|@a.lua|n|?||"
      "=(load)\n|for iterator'|(self|(*temporary)|\"|[*]*|\x1b[31m|\xff|\xe2\x80\xae|next|left|x1|"
      "x2|user:17|2023-01-01|0123456789abcdef";
  static const char pieces[] =
      "_G|registry|package.loaded|main thread|thread|root|.x|..|.|[*]|[1]|[-1]|[true]|[\"a\"]|"
      "[\"*\"]|[0x7fffffffffffffff]|[1e308]|[|]|(|)|{|}|*|,|, | |'|\"|\\|\n|table: |0x1000|@a.lua|"
      ":3|metatable of |key of |value of |in weak table |upvalue | of function |local |"
      " in function |function |prototype |proto|string|module |array of |map[string] of |"
      "user value 1|temporary of |argument 1 of ";
  text[0] = '\0';
  if (roll(d, 2) == 0) {
    add_one_of(d, names, text);
    return;
  }
  for (size_t n = roll(d, 6) + 1; n > 0; n--) add_one_of(d, pieces, text);
}

/* Of an object or a part of it; all of them have to add up to at most 2^57. */
static uint64_t any_size(draft *d) {
  uint64_t size = lie_number(d);
  return size >> 56 && roll(d, 8) > 0 ? size >> 10 : size;
}

static uint64_t any_bytes(draft *d, uint64_t usual) {
  return roll(d, 16) > 0 ? usual : any_size(d);
}

static void put_reference(draft *d, forge *f) {
  forge_reference(f, roll(d, 8) == 0 ? 0 : draft_any_address(d));
}

static void put_references(draft *d, forge *f) {
  size_t n = roll(d, 4);
  forge_uvarint(f, n);
  while (n-- > 0) put_reference(d, f);
}

static unsigned any_tag(draft *d, bool may_be_nil) {
  if (roll(d, 2) == 0) return LH_VAL_OBJECT;
  if (roll(d, 4) == 0) return LH_VAL_CFUNCTION;
  unsigned lowest = may_be_nil ? LH_VAL_NIL : LH_VAL_FALSE;
  return lowest + (unsigned)roll(d, LH_VAL_OBJECT - lowest + 1);
}

static void put_float(draft *d, forge *f) {
  static const double numbers[] = {
      0.0, -0.0, 1.5, 1e15, 1e308, 1e-320, 9007199254740993.0, 9223372036854775808.0, -1e300};
  size_t i = roll(d, sizeof numbers / sizeof *numbers + 1);
  uint64_t bits = UINT64_C(0x7FF0000000000000) + (roll(d, 2) << 51); /* inf, nan */
  if (i < sizeof numbers / sizeof *numbers) memcpy(&bits, &numbers[i], sizeof bits);
  forge_u64(f, bits);
}

static void put_payload(draft *d, forge *f, unsigned tag) {
  uint64_t address = draft_any_address(d);
  switch (tag) {
    case LH_VAL_OBJECT: forge_reference(f, address ? address : 8); break;
    case LH_VAL_INTEGER: forge_svarint(f, (int64_t)lie_number(d)); break;
    case LH_VAL_FLOAT: put_float(d, f); break;
    case LH_VAL_POINTER:
    case LH_VAL_CFUNCTION: forge_uvarint(f, lie_number(d)); break;
    default: break;
  }
}

static void put_value(draft *d, forge *f, bool may_be_nil) {
  unsigned tag = any_tag(d, may_be_nil);
  forge_u8(f, tag);
  put_payload(d, f, tag);
}

static void put_values(draft *d, forge *f) {
  size_t n = roll(d, 4);
  forge_uvarint(f, n);
  while (n-- > 0) put_value(d, f, true);
}

/* ==== Records ======================================================================= */

static void put_string(draft *d, forge *f, uint64_t address) {
  char text[MAX_TEXT];
  lie_text(d, text);
  size_t kept = strlen(text);
  unsigned flags = 0;
  if (d->version >= LH_LENGTHS_VERSION && roll(d, 2))
    flags = roll(d, 3) ? LH_FLAG_EXTERNAL : LH_FLAG_FIXED;
  if (roll(d, 3) > 0) {
    forge_text(f, flags, address, text);
    return;
  }
  /* Few lengths and hashes, so that many are equal. */
  uint64_t length = kept + 1 + (roll(d, 4) == 0 ? any_bytes(d, 300) : roll(d, 2));
  forge_string_head(f, flags | LH_FLAG_TRUNCATED, address, length);
  forge_uvarint(f, kept);
  forge_u64(f, roll(d, 2) ? lie_number(d) : 0 - roll(d, 3));
  forge_bytes_of(f, text, kept);
}

static void put_array(draft *d, forge *f, uint64_t covered) {
  forge_uvarint(f, covered);
  while (covered > 0) {
    uint64_t skipped = roll(d, covered);
    if (skipped > 0 && roll(d, 4) == 0) {
      forge_u8(f, LH_VAL_SKIP);
      forge_uvarint(f, skipped);
      covered -= skipped;
    }
    put_value(d, f, false);
    covered--;
  }
}

/* The string that is in front of others in the file, so that tables have the same keys. */
static uint64_t key_address(draft *d, size_t i) {
  for (size_t at = 0; at < d->n_records; at++) {
    if ((d->records[at].head & 15) != LH_REC_STRING) continue;
    if (i-- == 0) return d->records[at].address;
  }
  return draft_any_address(d) | 8;
}

static void put_hash(draft *d, forge *f, uint64_t entries) {
  size_t keys = roll(d, 4);
  forge_uvarint(f, entries);
  for (uint64_t i = 0; i < entries; i++) {
    unsigned key = keys == 0 ? LH_VAL_OBJECT : keys == 1 ? LH_VAL_INTEGER : any_tag(d, false);
    unsigned value = any_tag(d, false);
    forge_tags(f, key, value);
    if (keys == 0)
      forge_reference(f, key_address(d, i));
    else if (keys == 1)
      forge_svarint(f, (int64_t)(i + roll(d, 2)));
    else
      put_payload(d, f, key);
    put_payload(d, f, value);
  }
}

static void put_table(draft *d, forge *f, uint64_t address) {
  static const unsigned weak[] = {
      0, 0, 0, LH_FLAG_WEAK_KEYS, LH_FLAG_WEAK_VALUES, LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES};
  unsigned flags = weak[roll(d, 6)] | (roll(d, 3) == 0 ? (unsigned)LH_FLAG_METATABLE : 0);
  uint64_t covered = roll(d, 3) == 0 ? roll(d, 24) : 0, entries = roll(d, 3) ? roll(d, 24) : 0;
  uint64_t array_slots = covered + (roll(d, 4) == 0 ? (uint32_t)lie_number(d) >> 1 : roll(d, 2));
  unsigned log2 = entries == 0 ? (unsigned)roll(d, 3) : 6 + (unsigned)roll(d, 2);
  if (roll(d, 16) == 0) log2 = 32;
  forge_record(f, LH_REC_TABLE | flags, address, any_bytes(d, 56 + 24 * entries));
  forge_uvarint(f, array_slots);
  forge_u8(f, log2);
  if (flags & LH_FLAG_METATABLE) put_reference(d, f);
  put_array(d, f, covered);
  put_hash(d, f, entries);
}

static void put_closure(draft *d, forge *f, uint64_t address) {
  size_t n = roll(d, 5);
  forge_record(f, LH_REC_LUA_CLOSURE, address, 32 + 8 * n);
  forge_uvarint(f, n);
  while (n-- + 1 > 0) put_reference(d, f); /* the prototype, then upvalues */
}

static void put_c_closure(draft *d, forge *f, uint64_t address) {
  forge_record(f, LH_REC_C_CLOSURE, address, any_bytes(d, 48));
  forge_uvarint(f, lie_number(d));
  put_values(d, f);
}

static void put_upvalue(draft *d, forge *f, uint64_t address) {
  forge_record(f, LH_REC_UPVALUE | (roll(d, 2) ? (unsigned)LH_FLAG_OPEN : 0), address, 40);
  put_value(d, f, true);
}

static void put_proto(draft *d, forge *f, uint64_t address) {
  forge_record(f, LH_REC_PROTO, address, any_bytes(d, 200));
  put_reference(d, f);
  for (int i = 0; i < 2; i++) forge_uvarint(f, (uint32_t)lie_number(d));
  forge_u8(f, (unsigned)lie_number(d) & 255);
  forge_u8(f, (unsigned)roll(d, 2));
  forge_uvarint(f, any_size(d));
  for (int i = 0; i < 2; i++) forge_uvarint(f, (uint32_t)lie_number(d));
  forge_uvarint(f, any_size(d));
  put_references(d, f);
  size_t nested = roll(d, 3);
  forge_uvarint(f, nested);
  for (size_t i = 0; i < 2 * nested; i++) put_reference(d, f);
  put_references(d, f);
  put_references(d, f);
}

static void put_userdata(draft *d, forge *f, uint64_t address) {
  unsigned flags = roll(d, 2) ? (unsigned)LH_FLAG_METATABLE : 0;
  forge_record(f, LH_REC_USERDATA | flags, address, any_bytes(d, 56));
  forge_uvarint(f, any_size(d));
  if (flags) put_reference(d, f);
  put_values(d, f);
}

static void put_frame(draft *d, forge *f) {
  size_t n = roll(d, 4) == 0 ? roll(d, 4) : 0;
  if (roll(d, 2) == 0) {
    forge_u8(f, LH_VAL_CFUNCTION);
    put_payload(d, f, LH_VAL_CFUNCTION);
  } else {
    put_value(d, f, true);
  }
  forge_uvarint(f, (uint32_t)lie_number(d));
  forge_uvarint(f, n);
  while (n-- > 0) {
    unsigned kind = LH_SLOT_LOCAL + (unsigned)roll(d, LH_SLOT_ARGUMENT);
    forge_u8(f, kind);
    forge_uvarint(f, (uint32_t)lie_number(d));
    if (kind == LH_SLOT_LOCAL) put_reference(d, f);
    put_reference(d, f);
  }
}

static void put_thread(draft *d, forge *f, uint64_t address) {
  size_t frames = roll(d, 4) ? roll(d, 5) : roll(d, 60);
  forge_record(f, LH_REC_THREAD | (roll(d, 8) ? 0 : (unsigned)LH_FLAG_MAIN), address,
               any_bytes(d, 1000));
  forge_u8(f, (unsigned)roll(d, LH_THREAD_FAILED + 1));
  forge_uvarint(f, any_size(d));
  forge_uvarint(f, frames);
  while (frames-- > 0) put_frame(d, f);
  put_references(d, f);
}

static void put_mark(draft *d, forge *f, uint64_t address) {
  static const unsigned kinds[] = {LH_MARK_BY_MARK, LH_MARK_BY_MARK, LH_MARK_BY_SNAPSHOT,
                                   LH_MARK_VOID};
  char name[MAX_TEXT];
  uint64_t serial = roll(d, 4) ? roll(d, d->info.serial + UINT64_C(2)) : (uint32_t)lie_number(d);
  lie_text(d, name);
  f->footer.state_id = d->info.state_id ^ (roll(d, 8) == 0);
  f->footer.time_ns = d->info.time_ns;
  f->footer.serial = d->info.serial;
  forge_mark(f, address, kinds[roll(d, 4)], serial ? serial : 1, name);
}

/* ==================================================================================== */

/* Takes the only record of a forged file over, which has no stack: it gets one of the draft's. */
static bool adopt(draft *d, forge *f, uint64_t address, record *out) {
  static const lh_snapshot untracked = {.is_tracked = false};
  const uint8_t *at = f->out.data + LH_HEADER_BYTES;
  *out = (record){.head = *at, .address = address, .stack = draft_any_stack(d)};
  forge_bytes_of(f, (uint8_t[8]){0}, 8); /* eight bytes can be read at once */
  at = f->out.data + LH_HEADER_BYTES;
  out->shallow_bytes = lh_get_shallow(&untracked, &at);
  out->fields = at;
  out->n_fields = (size_t)(f->out.data + f->out.size - 8 - at);
  bool has_room = draft_fields_to_change(d, out) != NULL;
  forge_free(f);
  return has_room;
}

bool lie_record(draft *d, unsigned type, uint64_t address, record *out) {
  static void (*const puts[])(draft *, forge *, uint64_t) = {[LH_REC_STRING] = put_string,
                                                             [LH_REC_TABLE] = put_table,
                                                             [LH_REC_LUA_CLOSURE] = put_closure,
                                                             [LH_REC_C_CLOSURE] = put_c_closure,
                                                             [LH_REC_UPVALUE] = put_upvalue,
                                                             [LH_REC_PROTO] = put_proto,
                                                             [LH_REC_USERDATA] = put_userdata,
                                                             [LH_REC_THREAD] = put_thread,
                                                             [LH_REC_MARK] = put_mark};
  forge f;
  forge_begin(&f);
  forge_version(&f, d->version);
  puts[type](d, &f, address);
  return adopt(d, &f, address, out);
}

static void put_matched(draft *d, forge *f) {
  bool is_known = d->s->n_marks > 0 && roll(d, 8) > 0;
  const lh_mark_info *mark = is_known ? &d->s->marks[roll(d, d->s->n_marks)] : NULL;
  forge_uvarint(f, mark ? mark->serial : (uint32_t)lie_number(d));
  forge_u64(f, mark ? mark->time_ns : lie_number(d) >> 1);
  for (int list = 0; list < 2; list++) forge_uvarint(f, roll(d, 8) ? roll(d, 4) : lie_number(d));
}

static void put_c_function(draft *d, forge *f, uint64_t address) {
  char text[MAX_TEXT];
  forge_uvarint(f, address);
  for (int i = 0; i < 2; i++) {
    lie_text(d, text);
    forge_uvarint(f, strlen(text));
    forge_bytes_of(f, text, strlen(text));
  }
  forge_uvarint(f, lie_number(d));
}

void lie_outside(draft *d) {
  forge f;
  size_t n_marks = roll(d, 3), n_functions = roll(d, 3);
  forge_begin(&f);
  forge_u8(&f, (unsigned)roll(d, LH_STILL_CORE + 1));
  forge_u8(&f, (unsigned)roll(d, 2));
  forge_uvarint(&f, n_marks);
  while (n_marks-- > 0) put_matched(d, &f);
  forge_uvarint(&f, n_functions);
  for (size_t i = 0; i < n_functions; i++) put_c_function(d, &f, i * 8 + 1 + roll(d, 8));
  size_t n = f.out.size - LH_HEADER_BYTES;
  d->is_outside = n <= sizeof d->outside;
  d->n_outside = n;
  if (d->is_outside) memcpy(d->outside, f.out.data + LH_HEADER_BYTES, n);
  forge_free(&f);
}

bool lie_own_mark(draft *d, uint64_t address, record *out) {
  forge f;
  forge_begin(&f);
  f.footer.state_id = d->info.state_id;
  f.footer.time_ns = d->info.time_ns;
  f.footer.serial = d->info.serial;
  forge_mark(&f, address, LH_MARK_BY_SNAPSHOT, d->info.serial, d->info.name);
  return adopt(d, &f, address, out);
}
