/* object.c - decodes one object, the entries of a table and the frames of a thread. */
#include <string.h>

#include "decode.h"
#include "reader.h"
#include "scan.h"

lh_value lh_raw_value(const lh_snapshot *s, lh_raw raw) {
  lh_value value = {.kind = LH_VALUE_NIL};
  switch (raw.tag) {
    case LH_VAL_FALSE:
    case LH_VAL_TRUE:
      value.kind = LH_VALUE_BOOLEAN;
      value.as.boolean = raw.tag == LH_VAL_TRUE;
      break;
    case LH_VAL_INTEGER:
      value.kind = LH_VALUE_INTEGER;
      value.as.integer = (int64_t)raw.bits;
      break;
    case LH_VAL_FLOAT:
      value.kind = LH_VALUE_FLOAT;
      memcpy(&value.as.number, &raw.bits, sizeof value.as.number);
      break;
    case LH_VAL_POINTER:
    case LH_VAL_CFUNCTION:
      value.kind = raw.tag == LH_VAL_POINTER ? LH_VALUE_POINTER : LH_VALUE_CFUNCTION;
      value.as.pointer = raw.bits;
      break;
    case LH_VAL_OBJECT: return lh_object_value(lh_find_word_or_none(s, raw.bits));
    default: break;
  }
  return value;
}

static bool is_reserved(const char *bytes, size_t n) {
  static const char *const words[] = {
      [2] = "do if in or",          [3] = "and end for nil not",
      [4] = "else goto then true",  [5] = "break false local until while",
      [6] = "elseif repeat return", [8] = "function"};
  if (n >= sizeof words / sizeof *words || !words[n]) return false;
  for (const char *word = words[n]; *word; word += n + (word[n] == ' '))
    if (*word == *bytes && memcmp(word, bytes, n) == 0) return true;
  return false;
}

bool lh_is_identifier(const char *bytes, size_t n) {
  enum { LETTER = 1, DIGIT };
  static const uint8_t kind[256] = {
      ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER, ['0' ... '9'] = DIGIT};
  const uint8_t *at = (const uint8_t *)bytes, *end = at + n;
  if (n == 0 || kind[*at] != LETTER) return false;
  while (at < end && kind[*at]) at++;
  return at == end && !is_reserved(bytes, n);
}

/* ==== objects ======================================================================= */

typedef struct fields {
  const lh_snapshot *s;
  const uint8_t *at;
  uint64_t own_word;
  unsigned head; /* type and flags */
} fields;

static lh_id read_object_id(fields *f) {
  return lh_find_word_or_none(f->s, lh_get_reference(&f->at, f->own_word));
}

static uint64_t get_metatable(fields *f) {
  return f->head & LH_FLAG_METATABLE ? lh_get_reference(&f->at, f->own_word) : 0;
}

/* `f->at` is behind the shallow size. */
static lh_kept_string read_string(fields *f, uint64_t shallow_bytes) {
  bool has_length = f->s->info.format_version >= LH_LENGTHS_VERSION;
  uint64_t length = has_length ? lh_get_uvarint(&f->at) : shallow_bytes - LH_STRING_OVERHEAD;
  lh_kept_string string = {.kept = length, .length = length};
  if (f->head & LH_FLAG_TRUNCATED) {
    string.kept = lh_get_uvarint(&f->at);
    string.hash = lh_load64(f->at);
    f->at += 8;
  }
  string.bytes = (const char *)f->at;
  return string;
}

static void decode_string(fields *f, lh_object *out) {
  lh_kept_string string = read_string(f, out->shallow_bytes);
  out->as.string.length = string.length;
  out->as.string.kept = string.kept;
  out->as.string.hash = string.hash;
  out->as.string.bytes = string.bytes;
  out->as.string.is_fixed = f->head & LH_FLAG_FIXED;
  if (f->head & LH_FLAG_EXTERNAL) out->as.string.external_bytes = string.length + 1;
  out->shallow_bytes += out->as.string.external_bytes;
}

lh_kept_string lh_string_at(const lh_snapshot *s, lh_id id) {
  fields f = {.s = s, .at = lh_record(s, id)};
  f.head = *f.at;
  if (f.head & LH_FLAG_DEAD) return (lh_kept_string){.bytes = ""};
  return read_string(&f, lh_get_shallow(s, &f.at));
}

bool lh_is_interned(const lh_snapshot *s, lh_id id) {
  enum { MOST_BYTES = 40 }; /* LUAI_MAXSHORTLEN */
  return lh_shallow_bytes(s, id) <= s->sizes->string + (uint64_t)MOST_BYTES &&
         !(*lh_record(s, id) & (LH_FLAG_EXTERNAL | LH_FLAG_FIXED));
}

lh_weak_sides lh_weak_sides_of(const lh_snapshot *s, lh_id id) {
  unsigned weakness = lh_type_of(s, id) == LH_TYPE_TABLE ? lh_weakness(s, id) : 0;
  return (lh_weak_sides){weakness & LH_FLAG_WEAK_KEYS, weakness & LH_FLAG_WEAK_VALUES};
}

bool lh_is_never_weak(const lh_snapshot *s, lh_value value) {
  return value.kind != LH_VALUE_OBJECT || lh_type_of(s, value.as.object) == LH_TYPE_STRING;
}

static uint64_t decode_slots(fields *f, lh_object *out) {
  out->as.table.array_slots = lh_get_uvarint(&f->at);
  unsigned log2 = *f->at++;
  out->as.table.hash_slots = log2 == 0 ? 0 : UINT64_C(1) << (log2 - 1);
  uint64_t metatable = get_metatable(f);
  for (uint64_t left = lh_get_uvarint(&f->at); left > 0;) {
    lh_raw value = lh_get_raw(&f->at, f->own_word);
    bool skip = value.tag == LH_VAL_SKIP;
    left -= skip ? value.bits : 1;
    out->as.table.array_used += !skip;
  }
  out->as.table.hash_used = lh_get_uvarint(&f->at);
  return metatable;
}

static void decode_table(fields *f, lh_object *out) {
  uint64_t metatable = decode_slots(f, out);
  lh_weak_sides weak = lh_weak_sides_of(f->s, out->id);
  out->as.table.metatable = lh_find_word_or_none(f->s, metatable);
  out->as.table.weak_keys = weak.keys;
  out->as.table.weak_values = weak.values;
}

static void decode_proto(fields *f, lh_object *out) {
  out->as.proto.source = read_object_id(f);
  out->as.proto.line = lh_get_count(&f->at);
  out->as.proto.last_line = lh_get_count(&f->at);
  out->as.proto.parameters = *f->at++;
  out->as.proto.vararg = *f->at++;
  out->as.proto.instructions = lh_get_uvarint(&f->at);
  out->as.proto.upvalues = lh_get_count(&f->at);
  out->as.proto.constants = lh_get_count(&f->at);
  out->as.proto.debug_bytes = lh_get_uvarint(&f->at);
}

static void decode_userdata(fields *f, lh_object *out) {
  out->as.userdata.bytes = lh_get_uvarint(&f->at);
  out->as.userdata.metatable = lh_find_word_or_none(f->s, get_metatable(f));
  out->as.userdata.user_values = lh_get_count(&f->at);
  out->pointer = out->address + (out->shallow_bytes - out->as.userdata.bytes);
}

static void decode_thread(fields *f, lh_object *out) {
  out->as.thread.is_main = f->head & LH_FLAG_MAIN;
  out->as.thread.status = (lh_thread_status)*f->at++;
  out->as.thread.stack_slots = lh_get_uvarint(&f->at);
  out->as.thread.frames = lh_get_count(&f->at);
}

static void decode_fields(fields *f, lh_object *out) {
  switch (f->head & 15) {
    case LH_REC_STRING: decode_string(f, out); break;
    case LH_REC_TABLE: decode_table(f, out); break;
    case LH_REC_LUA_CLOSURE:
      out->as.closure.upvalues = lh_get_count(&f->at);
      out->as.closure.proto = read_object_id(f);
      break;
    case LH_REC_C_CLOSURE:
      out->as.closure.is_c = true;
      out->as.closure.proto = LH_NO_OBJECT;
      out->as.closure.function = lh_get_uvarint(&f->at);
      out->as.closure.upvalues = lh_get_count(&f->at);
      break;
    case LH_REC_UPVALUE:
      out->as.upvalue.open = f->head & LH_FLAG_OPEN;
      out->as.upvalue.value = lh_raw_value(f->s, lh_get_raw(&f->at, f->own_word));
      break;
    case LH_REC_PROTO: decode_proto(f, out); break;
    case LH_REC_THREAD: decode_thread(f, out); break;
    default: decode_userdata(f, out); break;
  }
}

/* A dead object has no fields and refers to nothing. */
static void decode_nothing(lh_object *out) {
  switch (out->type) {
    case LH_TYPE_STRING: out->as.string.bytes = ""; break;
    case LH_TYPE_TABLE: out->as.table.metatable = LH_NO_OBJECT; break;
    case LH_TYPE_CLOSURE: out->as.closure.proto = LH_NO_OBJECT; break;
    case LH_TYPE_PROTO: out->as.proto.source = LH_NO_OBJECT; break;
    case LH_TYPE_USERDATA: out->as.userdata.metatable = LH_NO_OBJECT; break;
    default: break;
  }
}

void lh_object_at(const lh_snapshot *s, lh_id id, lh_object *out) {
  memset(out, 0, sizeof *out);
  out->id = id;
  if (id == LH_ROOT || id > s->n) return;
  fields f = {.s = s, .at = lh_record(s, id), .own_word = s->address[id] >> 3};
  f.head = *f.at;
  out->type = lh_type_of(s, id);
  out->list = lh_list_of(s, id);
  out->dead = lh_is_dead(s, id);
  out->own = lh_is_own(s, id);
  out->address = s->address[id];
  out->pointer = out->address;
  out->shallow_bytes = lh_get_shallow(s, &f.at);
  if (!out->dead) {
    decode_fields(&f, out);
    return;
  }
  decode_nothing(out);
  uint64_t external_bytes = lh_external_bytes(s, id);
  if (external_bytes > 0) out->as.string.external_bytes = external_bytes;
  out->shallow_bytes += external_bytes;
}

static fields begin_fields_of(const lh_snapshot *s, lh_id id) {
  fields f = {.s = s, .at = lh_record(s, id), .own_word = s->address[id] >> 3};
  f.head = *f.at;
  (void)lh_get_shallow(s, &f.at);
  return f;
}

uint64_t lh_recorded_entries(const lh_snapshot *s, lh_id id) {
  lh_object table = {.id = id};
  if (lh_type_of(s, id) != LH_TYPE_TABLE || lh_is_dead(s, id)) return 0;
  fields f = begin_fields_of(s, id);
  (void)decode_slots(&f, &table);
  return table.as.table.array_used + table.as.table.hash_used;
}

lh_id lh_recorded_metatable(const lh_snapshot *s, lh_id id) {
  lh_type type = lh_type_of(s, id);
  if ((type != LH_TYPE_TABLE && type != LH_TYPE_USERDATA) || lh_is_dead(s, id)) return LH_NO_OBJECT;
  fields f = begin_fields_of(s, id);
  (void)lh_get_uvarint(&f.at);   /* slots of the array, or bytes */
  f.at += type == LH_TYPE_TABLE; /* slots of the hash part */
  return lh_find_word_or_none(s, get_metatable(&f));
}

uint64_t lh_pointer_of(const lh_snapshot *s, lh_id id) {
  lh_object userdata;
  if (lh_type_of(s, id) != LH_TYPE_USERDATA) return lh_address_of(s, id);
  lh_object_at(s, id, &userdata);
  return userdata.pointer;
}

/* ==== entries and frames ============================================================ */

static void begin_at(const lh_snapshot *s, lh_id id, unsigned record, lh_edges *it) {
  scan c = {.section = AT_END};
  if (id <= s->n) begin_record(s, id, &c);
  if (c.record != record) c = (scan){.section = AT_END};
  it->snapshot = s;
  memcpy(it->state, &c, sizeof c);
}

lh_id lh_metatable_of(const lh_snapshot *s, lh_id id) {
  if (id > s->n) return LH_NO_OBJECT;
  uint32_t first = s->first_edge[id];
  bool has_one =
      first < s->first_edge[id + 1] && lh_label_kind(s->label[first]) == LH_EDGE_METATABLE;
  return has_one ? lh_true_target(s, first) : LH_NO_OBJECT;
}

void lh_entries_begin(const lh_snapshot *s, lh_id table, lh_edges *it) {
  if (!has_pairs_alone(s, table)) {
    begin_at(s, table, LH_REC_TABLE, it);
    return;
  }
  scan c = {.section = AT_PAIRS, .source = table, .row = s->first_edge[table]};
  c.row += lh_metatable_of(s, table) != LH_NO_OBJECT;
  it->snapshot = s;
  memcpy(it->state, &c, sizeof c);
}

/* Behind the pairs come the edges of ephemerons whose key is this table. */
static bool next_pair(const lh_snapshot *s, scan *c, lh_entry *entry) {
  uint32_t e = c->row;
  if (s->first_edge[c->source + 1] - e < 2 || lh_label_kind(s->label[e]) != LH_EDGE_KEY)
    return false;
  entry->key = lh_object_value(lh_true_target(s, e));
  entry->value = lh_object_value(lh_true_target(s, e + 1));
  c->row = e + 2;
  return true;
}

static lh_value next_value(const lh_snapshot *s, scan *c, lh_raw raw) {
  if (raw.tag != LH_VAL_OBJECT) return lh_raw_value(s, raw);
  return lh_object_value(find_next(s, c, raw.bits));
}

static void step_over_metatable(const lh_snapshot *s, scan *c) {
  if (c->section != AT_REFERENCES || c->left == 0) return;
  (void)find_next(s, c, lh_get_reference(&c->at, c->own_word));
  c->left = 0;
}

static bool find_entry(const lh_snapshot *s, scan *c, lh_raw *key, lh_raw *value) {
  for (;;) {
    step_over_metatable(s, c);
    if (c->left == 0) {
      if (!next_section(c)) return false;
    } else if (step_entry(c, key, value)) {
      return true;
    }
  }
}

size_t lh_entries_some(lh_edges *it, lh_entry *entries, size_t most) {
  const lh_snapshot *s = it->snapshot;
  scan c;
  lh_raw key, value;
  size_t n = 0;
  memcpy(&c, it->state, sizeof c);
  for (; c.section == AT_PAIRS && n < most && next_pair(s, &c, &entries[n]); n++)
    __builtin_prefetch(&s->record_low[entries[n].key.as.object]);
  for (size_t i = 0; c.section == AT_PAIRS && i < n; i++) /* callers mostly read the keys */
    __builtin_prefetch(lh_record(s, entries[i].key.as.object));
  for (; c.section != AT_PAIRS && n < most && find_entry(s, &c, &key, &value); n++) {
    entries[n].key = next_value(s, &c, key);
    entries[n].value = next_value(s, &c, value);
  }
  memcpy(it->state, &c, sizeof c);
  return n;
}

bool lh_entries_next(lh_edges *it, lh_value *key, lh_value *value) {
  lh_entry entry;
  if (lh_entries_some(it, &entry, 1) == 0) return false;
  *key = entry.key;
  if (value) *value = entry.value;
  return true;
}

void lh_values_begin(const lh_snapshot *s, lh_id id, lh_edges *it) {
  begin_at(s, id, LH_REC_USERDATA, it);
  if (lh_type_of(s, id) == LH_TYPE_CLOSURE) begin_at(s, id, LH_REC_C_CLOSURE, it);
}

bool lh_values_next(lh_edges *it, uint32_t *number, lh_value *value) {
  scan c;
  bool more = true;
  memcpy(&c, it->state, sizeof c);
  while (more && (c.section != AT_VALUES || c.left == 0)) {
    step_over_metatable(it->snapshot, &c);
    more = c.section != AT_END && next_section(&c);
  }
  if (more) {
    *value = next_value(it->snapshot, &c, lh_get_raw(&c.at, c.own_word));
    *number = (uint32_t)++c.done;
    c.left--;
  }
  memcpy(it->state, &c, sizeof c);
  return more;
}

static const uint8_t *behind_link(const lh_snapshot *s, lh_id id) {
  const uint8_t *at = lh_record(s, id) + 1;
  (void)lh_get_long(&at);
  return at;
}

static const uint8_t *end_of_record(const lh_snapshot *s, lh_id id) {
  return id < s->n ? lh_record(s, id + 1) : s->data + s->records_end;
}

static size_t count_equal_bytes(const uint8_t *a, const uint8_t *b, size_t n) {
  size_t i = 0;
  while (i + 8 <= n && lh_load64(a + i) == lh_load64(b + i)) i += 8;
  while (i < n && a[i] == b[i]) i++;
  return i;
}

/* A record tells its address by the distance from the object before. */
uint32_t lh_count_equal_records(const lh_snapshot *a, lh_id in_a, const lh_snapshot *b,
                                lh_id in_b) {
  const uint8_t *one = behind_link(a, in_a), *other = behind_link(b, in_b);
  size_t left[2] = {(size_t)(a->data + a->records_end - one),
                    (size_t)(b->data + b->records_end - other)};
  if (*lh_record(a, in_a) != *lh_record(b, in_b)) return 0;
  size_t equal = count_equal_bytes(one, other, left[left[0] > left[1]]);
  lh_id id = in_b;
  while (id <= b->n && in_a + (id - in_b) <= a->n &&
         (size_t)(end_of_record(b, id) - other) <= equal)
    id++;
  return id - in_b;
}

lh_id lh_proto_of(const lh_snapshot *s, lh_id closure) {
  uint32_t first = s->first_edge[closure];
  bool has_one = first < s->first_edge[closure + 1] &&
                 lh_label_kind(s->label[first]) == LH_EDGE_PROTO &&
                 lh_type_of(s, s->edge[first]) == LH_TYPE_PROTO;
  return has_one ? s->edge[first] : LH_NO_OBJECT;
}

bool lh_is_c_closure(const lh_snapshot *s, lh_id id) {
  return lh_type_of(s, id) == LH_TYPE_CLOSURE && lh_proto_of(s, id) == LH_NO_OBJECT &&
         !lh_is_dead(s, id) && (*lh_record(s, id) & 15) == LH_REC_C_CLOSURE;
}

bool lh_has_user_value(const lh_snapshot *s, lh_id userdata) {
  lh_object object = {.type = LH_TYPE_USERDATA};
  if (lh_is_dead(s, userdata)) return false;
  fields f = begin_fields_of(s, userdata);
  decode_userdata(&f, &object);
  for (uint32_t i = 0; i < object.as.userdata.user_values; i++)
    if (lh_get_raw(&f.at, f.own_word).tag != LH_VAL_NIL) return true;
  return false;
}

void lh_frames_begin(const lh_snapshot *s, lh_id thread, lh_edges *it) {
  begin_at(s, thread, LH_REC_THREAD, it);
}

bool lh_frames_next(lh_edges *it, lh_frame *frame) {
  const lh_snapshot *s = it->snapshot;
  scan c;
  found slot;
  memcpy(&c, it->state, sizeof c);
  while (c.left > 0)
    if (step_slot(&c, &slot)) (void)find_next(s, &c, slot.word);
  if (c.frames_left == 0) return false;
  (void)next_section(&c);
  frame->function = next_value(s, &c, (lh_raw){c.key_bits, c.key_tag});
  memcpy(it->state, &c, sizeof c);
  frame->line = c.line;
  return true;
}
