/*
** check.c - one pass over all records, so that whoever decodes one later needs no checks.
**
** It believes nothing but the number of objects, which the footer's reader has compared with the
** bytes that there are. A record's fields are parsed through a cursor that cannot leave the records
** and latches its first fault; the loops below end at a fault, and their counts are bounded by the
** bytes that are left. Two million records (60 MB) take 0.1 s.
*/
#include "reader.h"

enum { MAX_LOG2_HASH = 32, MAX_STATUS = LH_THREAD_FAILED };

#define WORD_LIMIT (UINT64_C(1) << 61)

static const uint8_t type_of_record[16] = {
    [LH_REC_STRING] = LH_TYPE_STRING,       [LH_REC_TABLE] = LH_TYPE_TABLE,
    [LH_REC_LUA_CLOSURE] = LH_TYPE_CLOSURE, [LH_REC_C_CLOSURE] = LH_TYPE_CLOSURE,
    [LH_REC_UPVALUE] = LH_TYPE_UPVALUE,     [LH_REC_PROTO] = LH_TYPE_PROTO,
    [LH_REC_USERDATA] = LH_TYPE_USERDATA,   [LH_REC_THREAD] = LH_TYPE_THREAD,
    [LH_REC_MARK] = LH_TYPE_USERDATA};

static const uint8_t flags_of_record[16] = {
    [LH_REC_STRING] = LH_FLAG_DEAD | LH_FLAG_TRUNCATED,
    [LH_REC_TABLE] = LH_FLAG_DEAD | LH_FLAG_METATABLE | LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES,
    [LH_REC_LUA_CLOSURE] = LH_FLAG_DEAD,
    [LH_REC_C_CLOSURE] = LH_FLAG_DEAD,
    [LH_REC_UPVALUE] = LH_FLAG_DEAD | LH_FLAG_OPEN,
    [LH_REC_PROTO] = LH_FLAG_DEAD,
    [LH_REC_USERDATA] = LH_FLAG_DEAD | LH_FLAG_METATABLE,
    [LH_REC_THREAD] = LH_FLAG_DEAD | LH_FLAG_MAIN,
    [LH_REC_MARK] = LH_FLAG_DEAD | LH_FLAG_METATABLE};

static const char *const name_of_record[16] = {[LH_REC_STRING] = "string",
                                               [LH_REC_TABLE] = "table",
                                               [LH_REC_LUA_CLOSURE] = "function",
                                               [LH_REC_C_CLOSURE] = "C function",
                                               [LH_REC_UPVALUE] = "upvalue",
                                               [LH_REC_PROTO] = "prototype",
                                               [LH_REC_USERDATA] = "userdata",
                                               [LH_REC_THREAD] = "thread",
                                               [LH_REC_MARK] = "mark"};

const char *lh_record_name(unsigned head) {
  return name_of_record[head & 15];
}

static uint64_t check_reference(lh_cursor *c, uint64_t own_word) {
  const uint8_t *start = c->at;
  uint64_t word = own_word + (uint64_t)lh_unzigzag(lh_read_long(c));
  if (__builtin_expect(word >= WORD_LIMIT, 0))
    lh_fault(c, start, "a reference is outside of the address space");
  return word;
}

static void check_references(lh_cursor *c, uint64_t own_word, uint32_t n) {
  while (n-- > 0 && !c->fault) (void)check_reference(c, own_word);
}

static void check_reference_list(lh_cursor *c, uint64_t own_word) {
  check_references(c, own_word, lh_read_count(c));
}

static inline void check_payload(lh_cursor *c, unsigned tag, uint64_t own_word) {
  const uint8_t *start = c->at;
  switch (tag) {
    case LH_VAL_OBJECT:
      if (check_reference(c, own_word) == 0)
        lh_fault(c, start, "a value is an object at address 0");
      break;
    case LH_VAL_NIL:
    case LH_VAL_FALSE:
    case LH_VAL_TRUE: break;
    case LH_VAL_INTEGER:
    case LH_VAL_POINTER:
    case LH_VAL_CFUNCTION: (void)lh_read_uvarint(c); break;
    case LH_VAL_FLOAT: (void)lh_read_bytes(c, 8); break;
    default: lh_fault(c, start - 1, "a value has an unknown tag");
  }
}

static void check_values(lh_cursor *c, uint64_t own_word, uint32_t n) {
  while (n-- > 0 && !c->fault) check_payload(c, lh_read_u8(c), own_word);
}

static void check_string(lh_cursor *c, unsigned flags, uint64_t shallow_bytes) {
  if (shallow_bytes < LH_STRING_OVERHEAD) {
    lh_fault(c, c->at, "its size is less than an empty string's");
    return;
  }
  uint64_t kept = shallow_bytes - LH_STRING_OVERHEAD;
  if (flags & LH_FLAG_TRUNCATED) {
    const uint8_t *start = c->at;
    uint64_t length = kept;
    kept = lh_read_uvarint(c);
    if (kept >= length) lh_fault(c, start, "it keeps more bytes than the string has");
    (void)lh_read_u64(c);
  }
  (void)lh_read_bytes(c, kept);
}

static void check_array(lh_cursor *c, uint64_t own_word, uint64_t covered) {
  bool ends_empty = false;
  while (covered > 0 && !c->fault) {
    const uint8_t *start = c->at;
    unsigned tag = lh_read_u8(c);
    uint64_t slots = 1;
    ends_empty = tag == LH_VAL_SKIP;
    if (ends_empty) {
      slots = lh_read_uvarint(c);
      if (slots == 0 || slots > covered) {
        lh_fault(c, start, "it skips more array slots than there are, or none");
        return;
      }
    } else if (tag == LH_VAL_NIL) {
      lh_fault(c, start, "an entry is nil");
    } else {
      check_payload(c, tag, own_word);
    }
    covered -= slots;
  }
  if (ends_empty) lh_fault(c, c->at, "its array part ends with empty slots");
}

static void check_entries(lh_cursor *c, uint64_t own_word, uint64_t n) {
  while (n-- > 0 && !c->fault) {
    unsigned tags = lh_read_u8(c);
    unsigned key = tags >> 4, value = tags & 15;
    if (key <= LH_VAL_NIL || value <= LH_VAL_NIL) {
      lh_fault(c, c->at - 1, "an entry is nil");
      return;
    }
    if (key != LH_VAL_KEY) {
      check_payload(c, key, own_word);
    } else if (lh_read_u8(c) >= c->n_keys) {
      lh_fault(c, c->at - 1, "a key is not among the frequent ones");
    }
    check_payload(c, value, own_word);
  }
}

static void check_table(lh_cursor *c, unsigned flags, uint64_t own_word) {
  uint64_t array_slots = lh_read_upto(c, UINT32_MAX, "its array part is too big");
  const uint8_t *start = c->at;
  unsigned log2 = lh_read_u8(c);
  if (log2 > MAX_LOG2_HASH) lh_fault(c, start, "its hash part is too big");
  if (flags & LH_FLAG_METATABLE) check_references(c, own_word, 1);
  uint64_t covered = lh_read_upto(c, array_slots, "it has more array entries than slots");
  check_array(c, own_word, covered);
  uint64_t hash_slots = log2 == 0 ? 0 : UINT64_C(1) << ((log2 - 1) & 31);
  lh_claim(c, start, array_slots + hash_slots);
  check_entries(c, own_word, lh_read_upto(c, hash_slots, "it has more entries than slots"));
}

/* Returns where the names of the upvalues are. */
static const uint8_t *check_proto(lh_cursor *c, uint64_t own_word) {
  (void)check_reference(c, own_word);
  for (int i = 0; i < 2; i++) (void)lh_read_upto(c, UINT32_MAX, "a line number is too big");
  (void)lh_read_u8(c);
  if (lh_read_u8(c) > 1) lh_fault(c, c->at - 1, "its vararg flag is neither 0 nor 1");
  (void)lh_read_size(c); /* instructions */
  for (int i = 0; i < 2; i++) (void)lh_read_upto(c, UINT32_MAX, "a count is too big");
  (void)lh_read_size(c);             /* debug information */
  check_reference_list(c, own_word); /* constants */
  for (uint32_t n = lh_read_count(c); n > 0 && !c->fault; n--) check_references(c, own_word, 2);
  const uint8_t *upvalue_names = c->at;
  check_reference_list(c, own_word);
  check_reference_list(c, own_word); /* names of local variables */
  return upvalue_names;
}

static void check_userdata(lh_cursor *c, unsigned flags, uint64_t own_word) {
  (void)lh_read_size(c);
  if (flags & LH_FLAG_METATABLE) check_references(c, own_word, 1);
  check_values(c, own_word, lh_read_count(c));
}

/* Returns the kind. */
static unsigned check_mark(lh_cursor *c, unsigned flags, uint64_t own_word) {
  check_userdata(c, flags, own_word);
  unsigned kind = lh_read_u8(c);
  if (kind > LH_MARK_VOID) lh_fault(c, c->at - 1, "its kind is unknown");
  if (kind == LH_MARK_STATE) return kind;
  (void)lh_read_u64(c);
  const uint8_t *start = c->at;
  if (lh_read_upto(c, UINT32_MAX, "its serial is too big") == 0)
    lh_fault(c, start, "its serial is 0");
  (void)lh_read_time(c);
  (void)lh_read_bytes(c, lh_read_uvarint(c));
  return kind;
}

static void check_slots(lh_cursor *c, uint64_t own_word) {
  for (uint32_t n = lh_read_count(c); n > 0 && !c->fault; n--) {
    const uint8_t *start = c->at;
    unsigned kind = lh_read_u8(c);
    if (kind < LH_SLOT_LOCAL || kind > LH_SLOT_ARGUMENT)
      lh_fault(c, start, "a stack slot's kind is unknown");
    (void)lh_read_upto(c, UINT32_MAX, "a stack slot's number is too big");
    check_references(c, own_word, kind == LH_SLOT_LOCAL ? 2 : 1);
  }
}

static void check_thread(lh_cursor *c, uint64_t own_word) {
  if (lh_read_u8(c) > MAX_STATUS) lh_fault(c, c->at - 1, "its status is unknown");
  (void)lh_read_size(c); /* slots of its stack */
  for (uint32_t n = lh_read_count(c); n > 0 && !c->fault; n--) {
    check_values(c, own_word, 1);
    (void)lh_read_upto(c, UINT32_MAX, "a line number is too big");
    check_slots(c, own_word);
  }
  check_reference_list(c, own_word); /* open upvalues */
}

static inline void check_fields(lh_cursor *c, unsigned type, unsigned flags, uint64_t own_word,
                                uint64_t shallow_bytes) {
  switch (type) {
    case LH_REC_STRING: check_string(c, flags, shallow_bytes); break;
    case LH_REC_TABLE: check_table(c, flags, own_word); break;
    case LH_REC_LUA_CLOSURE: {
      uint32_t n = lh_read_count(c);
      check_references(c, own_word, 1); /* the proto */
      check_references(c, own_word, n);
      break;
    }
    case LH_REC_C_CLOSURE:
      (void)lh_read_uvarint(c);
      check_values(c, own_word, lh_read_count(c));
      break;
    case LH_REC_UPVALUE: check_values(c, own_word, 1); break;
    case LH_REC_USERDATA: check_userdata(c, flags, own_word); break;
    case LH_REC_THREAD: check_thread(c, own_word); break;
    default: break;
  }
}

/* State of the pass. */
typedef struct checker {
  lh_snapshot *s;
  lh_cursor c;
  uint64_t word; /* of the object before */
  uint64_t shallow_bytes;
  uint64_t next_block; /* the first record that begins there or later is the first of its block */
  uint32_t n_blocks;   /* whose first records were met */
  uint32_t n_stacks;   /* there are so many, where the program was tracked */
  lh_id *marks;
  size_t n_marks, marks_capacity, names_capacity;
  bool out_of_memory;
} checker;

static void note_mark(checker *check, lh_id id) {
  if (lh_grow(&check->marks, check->n_marks, &check->marks_capacity, sizeof *check->marks))
    check->marks[check->n_marks++] = id;
  else
    check->out_of_memory = true;
}

static void note_upvalue_names(checker *check, lh_id proto, const uint8_t *at) {
  lh_snapshot *s = check->s;
  if (lh_grow(&s->upvalue_names, s->n_upvalue_names, &check->names_capacity,
              sizeof *s->upvalue_names))
    s->upvalue_names[s->n_upvalue_names++] = (lh_upvalue_names){(uint64_t)(at - s->data), proto};
  else
    check->out_of_memory = true;
}

/* For lh_weakness. */
static void note_mode(lh_snapshot *s, uint64_t word) {
  uint64_t bit = lh_mode_bit(s, word);
  s->modes[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool is_point_in_time(unsigned mark_kind) {
  return mark_kind == LH_MARK_BY_MARK || mark_kind == LH_MARK_BY_SNAPSHOT;
}

static inline void check_record(checker *check, lh_id id) {
  lh_snapshot *s = check->s;
  lh_cursor *c = &check->c;
  const uint8_t *start = c->at;
  uint64_t offset = (uint64_t)(start - s->data);
  unsigned head = lh_read_u8(c);
  unsigned type = head & 15, flags = head & 0xF0;
  if (!name_of_record[type]) {
    lh_fault(c, start, "it has an unknown type");
    return;
  }
  if (flags & ~(unsigned)flags_of_record[type]) lh_fault(c, start, "it has an unknown flag");
  check->word = check_reference(c, check->word);
  if (check->word == 0) lh_fault(c, start, "its address is 0");
  uint64_t shallow_bytes = lh_read_size(c);
  check->shallow_bytes += shallow_bytes;
  if (s->is_tracked) (void)lh_read_upto(c, check->n_stacks, "its stack is not among the sites");
  s->address[id] = check->word << 3;
  s->record_low[id] = (uint32_t)offset;
  s->record_high[id] = (uint8_t)(offset >> 32);
  unsigned kind = type_of_record[type];
  if (type == LH_REC_MARK) kind |= LH_KIND_OWN;
  if (flags & LH_FLAG_DEAD)
    kind |= LH_KIND_DEAD;
  else if (type == LH_REC_PROTO)
    note_upvalue_names(check, id, check_proto(c, check->word));
  else if (type == LH_REC_TABLE && flags & LH_WEAK_FLAGS)
    note_mode(s, check->word), check_fields(c, type, flags, check->word, shallow_bytes);
  else if (type != LH_REC_MARK)
    check_fields(c, type, flags, check->word, shallow_bytes);
  else if (is_point_in_time(check_mark(c, flags, check->word)))
    note_mark(check, id);
  s->kind[id] = (uint8_t)kind;
}

static int fail_with_fault(const checker *check, lh_id id, const uint8_t *start, lh_error *error) {
  const lh_snapshot *s = check->s;
  uint64_t at = (uint64_t)(check->c.fault_at - s->data);
  const char *type = start < check->c.end ? lh_record_name(*start) : NULL;
  return lh_fail_at(error, at, "'%s' is damaged at byte %llu: object %u of %u (%s): %s", s->name,
                    (unsigned long long)at, id, s->n, type ? type : "unknown", check->c.fault);
}

/* The record of object `id` begins at `offset`, and is the first of its block. */
static void meet_block(checker *check, lh_id id, uint64_t offset) {
  const lh_snapshot *s = check->s;
  bool has_table = s->info.format_version >= LH_SECTIONS_VERSION;
  const lh_block_start *told = &s->blocks[check->n_blocks];
  if (check->n_blocks == s->n_blocks || told->offset != offset || told->id != id ||
      told->word != check->word)
    lh_fault(&check->c, check->c.at, "the footer tells another first record of its block");
  check->next_block = has_table ? (offset / LH_BLOCK_BYTES + 1) * LH_BLOCK_BYTES : UINT64_MAX;
  check->n_blocks++;
}

static int check_all(checker *check, uint64_t end, lh_error *error) {
  lh_snapshot *s = check->s;
  for (uint64_t id = 1; id <= s->n; id++) {
    const uint8_t *start = check->c.at;
    uint64_t offset = (uint64_t)(start - s->data);
    if (offset >= check->next_block) meet_block(check, (lh_id)id, offset);
    check_record(check, (lh_id)id);
    if (check->c.fault) return fail_with_fault(check, (lh_id)id, start, error);
    if (check->out_of_memory) return lh_fail_memory(error, "reading records");
  }
  uint64_t at = (uint64_t)(check->c.at - s->data);
  if (at != end)
    return lh_fail_at(error, at, "'%s' is damaged at byte %llu: %u objects end there, not at %llu",
                      s->name, (unsigned long long)at, s->n, (unsigned long long)end);
  if (check->n_blocks != s->n_blocks)
    return lh_fail_at(error, end, "'%s' is damaged: records begin in %u blocks, its footer says %u",
                      s->name, check->n_blocks, s->n_blocks);
  if (check->shallow_bytes != s->info.object_bytes)
    return lh_fail_at(
        error, end, "'%s' is damaged: its objects have %llu bytes, its footer says %llu", s->name,
        (unsigned long long)check->shallow_bytes, (unsigned long long)s->info.object_bytes);
  return 0;
}

int lh_check_records(lh_snapshot *s, uint64_t end, lh_id **mark_objects, uint32_t *n_mark_objects,
                     lh_error *error) {
  size_t n = (size_t)s->n + 1;
  s->address = lh_alloc(n, sizeof *s->address);
  s->record_low = lh_alloc(n, sizeof *s->record_low);
  s->record_high = lh_alloc(n, sizeof *s->record_high);
  s->kind = lh_alloc(n, sizeof *s->kind);
  s->modes = lh_alloc_zeroed(n / 64 + 1, sizeof *s->modes);
  if (!s->address || !s->record_low || !s->record_high || !s->kind || !s->modes)
    return lh_fail_memory(error, "reading records");
  s->address[LH_ROOT] = 0;
  s->record_low[LH_ROOT] = 0;
  s->record_high[LH_ROOT] = 0;
  s->kind[LH_ROOT] = LH_TYPE_ROOT;
  checker check = {.s = s, .n_stacks = s->sites ? lh_n_stacks(s->sites) : 0};
  check.c = (lh_cursor){s->data + LH_HEADER_BYTES, s->data + end, NULL, NULL, 0, s->n_keys};
  int code = check_all(&check, end, error);
  *mark_objects = check.marks;
  *n_mark_objects = (uint32_t)check.n_marks;
  return code;
}
