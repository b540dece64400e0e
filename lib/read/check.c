/*
** check.c - checks all records in one pass, so that later readers of records need no checks.
**
** The pass also fills the columns that come from one record alone, and puts the references into
** rows (rows.c). It trusts only the number of objects, which footer.c has compared with the size of
** the file. A record is parsed through a cursor that cannot leave the records and keeps its first
** fault; loops end at a fault. Two million records (60 MB) take 0.1 s.
*/
#include "decode.h"
#include "reader.h"

enum { MAX_LOG2_HASH = 32, MAX_STATUS = LH_THREAD_FAILED };

#define WORD_LIMIT (UINT64_C(1) << 61)

static const uint8_t type_of_record[16] = {
    [LH_REC_STRING] = LH_TYPE_STRING,       [LH_REC_TABLE] = LH_TYPE_TABLE,
    [LH_REC_LUA_CLOSURE] = LH_TYPE_CLOSURE, [LH_REC_C_CLOSURE] = LH_TYPE_CLOSURE,
    [LH_REC_UPVALUE] = LH_TYPE_UPVALUE,     [LH_REC_PROTO] = LH_TYPE_PROTO,
    [LH_REC_USERDATA] = LH_TYPE_USERDATA,   [LH_REC_THREAD] = LH_TYPE_THREAD,
    [LH_REC_MARK] = LH_TYPE_USERDATA};

/* Without LH_FLAG_DEAD, and without those of version 7. */
static const uint8_t flags_of_record[16] = {
    [LH_REC_STRING] = LH_FLAG_TRUNCATED,
    [LH_REC_TABLE] = LH_FLAG_METATABLE | LH_FLAG_WEAK_KEYS | LH_FLAG_WEAK_VALUES,
    [LH_REC_UPVALUE] = LH_FLAG_OPEN,
    [LH_REC_USERDATA] = LH_FLAG_METATABLE,
    [LH_REC_THREAD] = LH_FLAG_MAIN,
    [LH_REC_MARK] = LH_FLAG_METATABLE};

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

typedef struct checker {
  lh_cursor c;
  lh_snapshot *s;
  lh_row_block *rows; /* receives the references of these records, and notes about them */
  uint64_t own_word;  /* of the object that is read; between records, of the one before */
  uint64_t shallow_bytes, external_bytes;
  uint32_t n_stacks; /* if the program was tracked */
  bool out_of_memory, has_lengths;
  uint8_t unknown_flags[16]; /* of each type of record, in the version of the file */
} checker;

static void begin_version(checker *k, uint32_t version) {
  k->has_lengths = version >= LH_LENGTHS_VERSION;
  for (unsigned type = 0; type < 16; type++)
    k->unknown_flags[type] = (uint8_t) ~(flags_of_record[type] | LH_FLAG_DEAD | 15u);
  if (k->has_lengths) k->unknown_flags[LH_REC_STRING] = 0;
}

static inline uint64_t check_word(lh_cursor *c, uint64_t own_word) {
  const uint8_t *start = c->at;
  uint64_t word = own_word + (uint64_t)lh_unzigzag(lh_read_long(c));
  if (__builtin_expect(word >= WORD_LIMIT, 0))
    lh_fault(c, start, "a reference is outside of the address space");
  return word;
}

static void lose_memory(checker *k) {
  k->out_of_memory = true;
  lh_fault(&k->c, k->c.at, "there is not enough memory");
}

static inline void put_edge(checker *k, uint64_t word, unsigned label) {
  if (__builtin_expect(!lh_put_edge(k->rows, word, label), 0)) lose_memory(k);
}

/* For the two functions that parse most bytes: they are always inlined. */
#define MANY static inline __attribute__((always_inline))

/* Reads a reference. Word 0 refers to no object and makes no edge. */
MANY uint64_t check_reference(checker *k, unsigned label) {
  uint64_t word = check_word(&k->c, k->own_word);
  if (word != 0) put_edge(k, word, label);
  return word;
}

static inline bool goes_on(const checker *k) {
  return !k->c.fault;
}

static void check_references(checker *k, uint32_t n, unsigned label) {
  while (n-- > 0 && goes_on(k)) (void)check_reference(k, label);
}

static void check_reference_list(checker *k, unsigned label) {
  check_references(k, lh_read_count(&k->c), label);
}

MANY void check_payload(checker *k, unsigned tag, unsigned label) {
  lh_cursor *c = &k->c;
  const uint8_t *start = c->at;
  switch (tag) {
    case LH_VAL_OBJECT:
      if (check_reference(k, label) == 0) lh_fault(c, start, "a value is an object at address 0");
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

static void check_values(checker *k, uint32_t n, unsigned label) {
  while (n-- > 0 && goes_on(k)) check_payload(k, lh_read_u8(&k->c), label);
}

/* The column has at most 32 bits; a greater size is in the record. */
static inline void set_shallow(lh_snapshot *s, lh_id id, uint64_t bytes) {
  s->shallow[id] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* The length of a string, of which an external one has that many bytes and a NUL elsewhere. */
static uint64_t check_length(checker *k, lh_id id, unsigned flags, uint64_t shallow_bytes) {
  lh_cursor *c = &k->c;
  const uint8_t *start = c->at;
  uint64_t length = lh_read_size(c);
  if ((flags & LH_FLAG_EXTERNAL) && (flags & LH_FLAG_FIXED))
    lh_fault(c, start, "its text is both freed with it and never freed");
  if (flags & LH_FLAG_EXTERNAL) {
    k->external_bytes += length + 1;
    set_shallow(k->s, id, shallow_bytes + length + 1);
  }
  return length;
}

/* Returns whether the string is a name, see LH_IS_NAME. */
static inline bool check_text(lh_cursor *c, unsigned flags, uint64_t length) {
  uint64_t kept = length;
  if (flags & LH_FLAG_TRUNCATED) {
    const uint8_t *start = c->at;
    kept = lh_read_uvarint(c);
    if (kept >= length) lh_fault(c, start, "it keeps more bytes than the string has");
    (void)lh_read_u64(c);
  }
  const uint8_t *bytes = lh_read_bytes(c, kept);
  return kept == length && kept <= LH_DEFAULT_STRING_BYTES && bytes &&
         lh_is_identifier((const char *)bytes, (size_t)kept);
}

static inline bool check_string(checker *k, lh_id id, unsigned flags, uint64_t shallow_bytes) {
  if (k->has_lengths) return check_text(&k->c, flags, check_length(k, id, flags, shallow_bytes));
  if (shallow_bytes >= LH_STRING_OVERHEAD)
    return check_text(&k->c, flags, shallow_bytes - LH_STRING_OVERHEAD);
  lh_fault(&k->c, k->c.at, "its size is less than an empty string's");
  return false;
}

typedef struct integer_keys {
  uint64_t n;
  int64_t least, greatest;
} integer_keys;

static inline unsigned kind_of_value(unsigned tag) {
  if (tag == LH_VAL_OBJECT) return 0;
  bool is_number = tag == LH_VAL_INTEGER || tag == LH_VAL_FLOAT;
  return is_number ? LH_HAS_SCALARS : LH_HAS_SCALARS | LH_HAS_WORDS;
}

static unsigned check_array(checker *k, uint64_t covered, integer_keys *keys) {
  lh_cursor *c = &k->c;
  bool ends_empty = false;
  unsigned kinds = 0;
  *keys = (integer_keys){.n = 0, .least = 1, .greatest = (int64_t)covered};
  while (covered > 0 && goes_on(k)) {
    const uint8_t *start = c->at;
    unsigned tag = lh_read_u8(c);
    uint64_t slots = 1;
    ends_empty = tag == LH_VAL_SKIP;
    if (ends_empty) {
      slots = lh_read_uvarint(c);
      if (slots == 0 || slots > covered) {
        lh_fault(c, start, "it skips more array slots than there are, or none");
        return 0;
      }
    } else if (tag == LH_VAL_NIL) {
      lh_fault(c, start, "an entry is nil");
    } else {
      check_payload(k, tag, LH_EDGE_VALUE);
      kinds |= kind_of_value(tag);
      keys->n++;
    }
    covered -= slots;
  }
  if (ends_empty) lh_fault(c, c->at, "its array part ends with empty slots");
  return kinds;
}

/* The label of a value whose key has this tag. */
static inline unsigned label_under(unsigned key_tag) {
  if (key_tag == LH_VAL_OBJECT || key_tag == LH_VAL_KEY) return LH_EDGE_VALUE | LH_LABEL_KEYED;
  bool is_number = key_tag == LH_VAL_INTEGER || key_tag == LH_VAL_FLOAT;
  return is_number ? LH_EDGE_VALUE : LH_EDGE_VALUE | LH_LABEL_ODD;
}

/* For a key that is not among the frequent keys. Returns the kind of the key (LH_HAS_*). */
static inline unsigned check_key(checker *k, unsigned tag, integer_keys *keys) {
  if (tag == LH_VAL_INTEGER) {
    int64_t key = lh_unzigzag(lh_read_uvarint(&k->c));
    if (key < keys->least) keys->least = key;
    if (key > keys->greatest) keys->greatest = key;
    keys->n++;
    return LH_HAS_INTEGERS;
  }
  check_payload(k, tag, LH_EDGE_KEY);
  if (tag == LH_VAL_OBJECT) return 0;
  return tag == LH_VAL_POINTER || tag == LH_VAL_CFUNCTION ? LH_HAS_POINTERS : LH_HAS_OTHERS;
}

static unsigned check_entries(checker *k, uint64_t n, integer_keys *keys) {
  lh_cursor *c = &k->c;
  unsigned kinds = 0;
  while (n-- > 0 && goes_on(k)) {
    unsigned tags = lh_read_u8(c);
    unsigned key = tags >> 4, value = tags & 15;
    if (key <= LH_VAL_NIL || value <= LH_VAL_NIL) {
      lh_fault(c, c->at - 1, "an entry is nil");
      return 0;
    }
    if (key != LH_VAL_KEY) {
      kinds |= check_key(k, key, keys);
    } else {
      unsigned number = lh_read_u8(c);
      if (number >= k->s->n_keys)
        lh_fault(c, c->at - 1, "a key is not among the frequent ones");
      else if (!lh_put_frequent(k->rows, number, LH_EDGE_KEY))
        lose_memory(k);
    }
    check_payload(k, value, label_under(key));
    kinds |= kind_of_value(value);
  }
  return kinds;
}

static unsigned check_table(checker *k, unsigned flags) {
  lh_cursor *c = &k->c;
  uint64_t array_slots = lh_read_upto(c, UINT32_MAX, "its array part is too big");
  const uint8_t *start = c->at;
  unsigned log2 = lh_read_u8(c);
  if (log2 > MAX_LOG2_HASH) lh_fault(c, start, "its hash part is too big");
  if (flags & LH_FLAG_METATABLE) (void)check_reference(k, LH_EDGE_METATABLE);
  uint64_t covered = lh_read_upto(c, array_slots, "it has more array entries than slots");
  integer_keys keys;
  unsigned kinds = check_array(k, covered, &keys);
  bool is_list = keys.n > 0 && keys.n == covered && kinds == 0;
  uint64_t hash_slots = log2 == 0 ? 0 : UINT64_C(1) << ((log2 - 1) & 31);
  lh_claim(c, start, array_slots + hash_slots);
  kinds |= check_entries(k, lh_read_upto(c, hash_slots, "it has more entries than slots"), &keys);
  if (is_list && !(kinds & (LH_HAS_INTEGERS | LH_HAS_OTHERS))) kinds |= LH_IS_LIST;
  if (keys.n > 0) kinds |= LH_HAS_INTEGERS;
  if (keys.least < 1 || (uint64_t)keys.greatest > 2 * keys.n + 2) kinds |= LH_IS_SPARSE;
  return kinds;
}

static const uint8_t *check_proto(checker *k) {
  lh_cursor *c = &k->c;
  (void)check_reference(k, LH_EDGE_SOURCE);
  for (int i = 0; i < 2; i++) (void)lh_read_upto(c, UINT32_MAX, "a line number is too big");
  (void)lh_read_u8(c);
  if (lh_read_u8(c) > 1) lh_fault(c, c->at - 1, "its vararg flag is neither 0 nor 1");
  (void)lh_read_size(c); /* instructions */
  for (int i = 0; i < 2; i++) (void)lh_read_upto(c, UINT32_MAX, "a count is too big");
  (void)lh_read_size(c); /* debug information */
  check_reference_list(k, LH_EDGE_CONSTANT);
  for (uint32_t n = lh_read_count(c); n > 0 && goes_on(k); n--) {
    (void)check_reference(k, LH_EDGE_NESTED);
    (void)check_word(c, k->own_word); /* its name */
  }
  const uint8_t *upvalue_names = c->at;
  check_reference_list(k, LH_EDGE_DEBUG_NAME);
  check_reference_list(k, LH_EDGE_DEBUG_NAME); /* names of local variables */
  return upvalue_names;
}

static void check_userdata(checker *k, unsigned flags) {
  (void)lh_read_size(&k->c);
  if (flags & LH_FLAG_METATABLE) (void)check_reference(k, LH_EDGE_METATABLE);
  check_values(k, lh_read_count(&k->c), LH_EDGE_USER_VALUE);
}

static unsigned check_mark(checker *k, unsigned flags) {
  lh_cursor *c = &k->c;
  check_userdata(k, flags);
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

static void check_slots(checker *k) {
  static const uint8_t labels[] = {[LH_SLOT_LOCAL] = LH_EDGE_LOCAL,
                                   [LH_SLOT_TEMPORARY] = LH_EDGE_TEMPORARY,
                                   [LH_SLOT_VARARG] = LH_EDGE_VARARG,
                                   [LH_SLOT_ARGUMENT] = LH_EDGE_ARGUMENT};
  lh_cursor *c = &k->c;
  for (uint32_t n = lh_read_count(c); n > 0 && goes_on(k); n--) {
    const uint8_t *start = c->at;
    unsigned kind = lh_read_u8(c);
    if (kind < LH_SLOT_LOCAL || kind > LH_SLOT_ARGUMENT) {
      lh_fault(c, start, "a stack slot's kind is unknown");
      return;
    }
    (void)lh_read_upto(c, UINT32_MAX, "a stack slot's number is too big");
    if (kind == LH_SLOT_LOCAL) (void)check_word(c, k->own_word); /* its name */
    (void)check_reference(k, labels[kind]);
  }
}

static void check_thread(checker *k) {
  lh_cursor *c = &k->c;
  if (lh_read_u8(c) > MAX_STATUS) lh_fault(c, c->at - 1, "its status is unknown");
  (void)lh_read_size(c); /* slots of its stack */
  for (uint32_t n = lh_read_count(c); n > 0 && goes_on(k); n--) {
    check_values(k, 1, LH_EDGE_FUNCTION);
    (void)lh_read_upto(c, UINT32_MAX, "a line number is too big");
    check_slots(k);
  }
  check_reference_list(k, LH_EDGE_OPEN_UPVALUE);
}

static bool is_point_in_time(unsigned mark_kind) {
  return mark_kind == LH_MARK_BY_MARK || mark_kind == LH_MARK_BY_SNAPSHOT;
}

static void note_mark(checker *k, lh_id id) {
  lh_row_block *b = k->rows;
  if (lh_grow(&b->marks, b->n_marks, &b->marks_capacity, sizeof *b->marks))
    b->marks[b->n_marks++] = id;
  else
    lose_memory(k);
}

static void note_upvalue_names(checker *k, lh_id proto, const uint8_t *at) {
  lh_row_block *b = k->rows;
  uint64_t offset = (uint64_t)(at - k->s->data);
  if (lh_grow(&b->names, b->n_names, &b->names_capacity, sizeof *b->names))
    b->names[b->n_names++] = (lh_upvalue_names){.offset = offset, .proto = proto};
  else
    lose_memory(k);
}

static inline void check_fields(checker *k, lh_id id, unsigned type, unsigned flags,
                                uint64_t shallow_bytes) {
  lh_cursor *c = &k->c;
  switch (type) {
    case LH_REC_STRING:
      if (check_string(k, id, flags, shallow_bytes)) k->s->key_kinds[id] = LH_IS_NAME;
      break;
    case LH_REC_TABLE:
      if (flags & LH_WEAK_FLAGS) lh_note_mode(k->s, id);
      k->s->key_kinds[id] = (uint8_t)check_table(k, flags);
      break;
    case LH_REC_LUA_CLOSURE: {
      uint32_t n = lh_read_count(c);
      (void)check_reference(k, LH_EDGE_PROTO);
      check_references(k, n, LH_EDGE_UPVALUE);
      break;
    }
    case LH_REC_C_CLOSURE:
      (void)lh_read_uvarint(c);
      check_values(k, lh_read_count(c), LH_EDGE_C_UPVALUE);
      break;
    case LH_REC_UPVALUE: check_values(k, 1, LH_EDGE_CONTENT); break;
    case LH_REC_PROTO: note_upvalue_names(k, id, check_proto(k)); break;
    case LH_REC_USERDATA: check_userdata(k, flags); break;
    case LH_REC_THREAD: check_thread(k); break;
    default:
      if (is_point_in_time(check_mark(k, flags))) note_mark(k, id);
      break;
  }
}

static inline void check_record(checker *k, lh_id id) {
  lh_snapshot *s = k->s;
  lh_cursor *c = &k->c;
  const uint8_t *start = c->at;
  uint64_t offset = (uint64_t)(start - s->data);
  unsigned head = lh_read_u8(c);
  unsigned type = head & 15, flags = head & 0xF0;
  if (!name_of_record[type]) {
    lh_fault(c, start, "it has an unknown type");
    return;
  }
  if (flags & k->unknown_flags[type]) lh_fault(c, start, "it has an unknown flag");
  k->own_word = check_word(c, k->own_word);
  if (k->own_word == 0) lh_fault(c, start, "its address is 0");
  uint64_t shallow_bytes = lh_read_size(c);
  k->shallow_bytes += shallow_bytes;
  if (s->is_tracked) (void)lh_read_upto(c, k->n_stacks, "its stack is not among the sites");
  s->address[id] = k->own_word << 3;
  s->record_low[id] = (uint32_t)offset;
  s->record_high[id] = (uint8_t)(offset >> 32);
  set_shallow(s, id, shallow_bytes);
  s->first_edge[id] = (uint32_t)k->rows->n;
  unsigned kind = type_of_record[type];
  if (type == LH_REC_MARK) kind |= LH_KIND_OWN;
  if (!(flags & LH_FLAG_DEAD)) {
    check_fields(k, id, type, flags, shallow_bytes);
  } else {
    kind |= LH_KIND_DEAD;
    if (type == LH_REC_STRING && flags & LH_FLAG_EXTERNAL)
      (void)check_length(k, id, flags, shallow_bytes);
  }
  s->kind[id] = (uint8_t)kind;
}

/* ==== Blocks ========================================================================= */

static void note_fault(lh_row_block *block, const checker *k, lh_id id, const uint8_t *start) {
  block->fault = k->c.fault;
  block->fault_at = k->c.fault_at;
  block->fault_id = id;
  block->fault_record = start < k->c.end ? lh_record_name(*start) : NULL;
}

/* The first record of the next block, which the footer has. The records of block `i` end there. */
static lh_block_start end_of_block(const lh_snapshot *s, uint32_t i) {
  if (i + 1 < s->n_blocks) return s->blocks[i + 1];
  return (lh_block_start){.offset = UINT64_MAX, .id = s->n + 1};
}

/* Records from this offset on begin in another block of the file. */
static uint64_t limit_of_block(const lh_snapshot *s, uint32_t i) {
  if (s->info.format_version < LH_SECTIONS_VERSION) return UINT64_MAX;
  return (s->blocks[i].offset / LH_BLOCK_BYTES + 1) * LH_BLOCK_BYTES;
}

/* The word of the block's first object. If the record is damaged, any base will do. */
static uint64_t base_of_block(const lh_snapshot *s, const lh_block_start *start) {
  const uint8_t *at = s->data + start->offset + 1;
  return start->word + (uint64_t)lh_unzigzag(lh_get_long(&at));
}

/* Checks the records of a block up to the next block's first record, where the pass must arrive
** exactly. Blocks share only the set of modes, so threads check them in parallel. */
static void check_block(lh_snapshot *s, lh_row_block *block, uint32_t i, uint32_t n_stacks) {
  const lh_block_start *start = &s->blocks[i];
  const lh_block_start next = end_of_block(s, i);
  uint64_t limit = limit_of_block(s, i), offset = start->offset;
  checker k = {.s = s, .rows = block, .own_word = start->word, .n_stacks = n_stacks};
  begin_version(&k, s->info.format_version);
  k.c = (lh_cursor){s->data + offset, s->data + s->records_end, NULL, NULL, 0, s->n_keys};
  lh_id id = start->id;
  const uint8_t *at = k.c.at;
  block->base = base_of_block(s, start);
  for (; id < next.id && offset < limit && goes_on(&k); id++) {
    at = k.c.at;
    check_record(&k, id);
    offset = (uint64_t)(k.c.at - s->data);
  }
  bool arrives = next.offset == UINT64_MAX
                     ? id == next.id
                     : offset == next.offset && id == next.id && k.own_word == next.word;
  if (goes_on(&k) && !arrives) {
    at = k.c.at;
    lh_fault(&k.c, at, "the footer tells another first record of its block");
    note_fault(block, &k, id, at);
  } else if (k.c.fault) {
    note_fault(block, &k, id - 1, at);
  }
  block->end = offset;
  block->shallow_bytes = k.shallow_bytes;
  block->external_bytes = k.external_bytes;
  block->claimed = k.c.claimed;
  block->out_of_memory = k.out_of_memory;
}

static int fail_with_fault(const lh_snapshot *s, const lh_row_block *block, lh_error *error) {
  char where[64];
  (void)snprintf(where, sizeof where, "object %u of %u (%s)", block->fault_id, s->n,
                 block->fault_record ? block->fault_record : "unknown");
  return lh_fail_damaged(s, block->fault_at, where, block->fault, error);
}

static int check_sums(lh_snapshot *s, const lh_raw_rows *rows, lh_error *error) {
  uint64_t end = s->n_blocks > 0 ? rows->blocks[s->n_blocks - 1].end : LH_HEADER_BYTES;
  uint64_t shallow_bytes = 0, claimed = 0;
  for (uint32_t i = 0; i < s->n_blocks; i++) {
    shallow_bytes += rows->blocks[i].shallow_bytes;
    s->info.external_bytes += rows->blocks[i].external_bytes;
    claimed += rows->blocks[i].claimed;
    if (claimed > LH_MOST_BYTES)
      return lh_fail_at(error, end, "'%s' is damaged: %s", s->name, LH_TOO_MUCH);
  }
  if (end != s->records_end)
    return lh_fail_at(error, end, "'%s' is damaged at byte %llu: %u objects end there, not at %llu",
                      s->name, (unsigned long long)end, s->n, (unsigned long long)s->records_end);
  if (shallow_bytes != s->info.object_bytes)
    return lh_fail_at(error, end,
                      "'%s' is damaged: its objects have %llu bytes, its footer says %llu", s->name,
                      (unsigned long long)shallow_bytes, (unsigned long long)s->info.object_bytes);
  s->info.object_bytes += s->info.external_bytes;
  return LH_OK;
}

/* The root has no record, so its values are set here. */
static bool allocate_columns(lh_snapshot *s) {
  size_t n = (size_t)s->n + 1;
  s->address = lh_alloc(n, sizeof *s->address);
  s->record_low = lh_alloc(n, sizeof *s->record_low);
  s->record_high = lh_alloc(n, sizeof *s->record_high);
  s->kind = lh_alloc(n, sizeof *s->kind);
  s->shallow = lh_alloc(n, sizeof *s->shallow);
  s->key_kinds = lh_alloc_zeroed(n, 1);
  s->modes = lh_alloc_zeroed(n / 64 + 1, sizeof *s->modes);
  s->first_edge = lh_alloc(n + 1, sizeof *s->first_edge);
  if (!s->address || !s->record_low || !s->record_high || !s->kind || !s->shallow ||
      !s->key_kinds || !s->modes || !s->first_edge)
    return false;
  s->address[LH_ROOT] = 0;
  s->record_low[LH_ROOT] = 0;
  s->record_high[LH_ROOT] = 0;
  s->kind[LH_ROOT] = LH_TYPE_ROOT;
  s->shallow[LH_ROOT] = 0;
  return true;
}

typedef struct checking {
  lh_snapshot *s;
  lh_raw_rows *rows;
  uint32_t n_stacks;
} checking;

static bool try_block(void *data, uint32_t i) {
  const checking *c = data;
  lh_row_block *block = &c->rows->blocks[i];
  check_block(c->s, block, i, c->n_stacks);
  return !block->out_of_memory && !block->fault;
}

int lh_check_records(lh_snapshot *s, lh_raw_rows *rows, lh_error *error) {
  checking c = {s, rows, s->sites ? lh_n_stacks(s->sites) : 0};
  if (!allocate_columns(s) || !lh_make_row_blocks(rows, s))
    return lh_fail_memory(error, "reading records");
  uint32_t i = lh_parallel_for(s->threads, s->n_blocks, try_block, &c);
  if (i == s->n_blocks) return check_sums(s, rows, error);
  /* Out of memory comes first: a pass that stops inside a record reads the rest as damaged. */
  if (rows->blocks[i].out_of_memory) return lh_fail_memory(error, "reading records");
  return fail_with_fault(s, &rows->blocks[i], error);
}
