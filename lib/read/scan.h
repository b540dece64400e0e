/*
** scan.h - steps through one record from reference to reference. For decode.c, object.c, verify.c.
**
** A record is a sequence of sections (a table's: metatable, array part, hash part). A section has
** `left` more items of one kind.
*/
#pragma once

#include "record.h"

typedef enum section {
  AT_VALUES,
  AT_REFERENCES,
  AT_NESTED, /* references, each followed by a name */
  AT_ARRAY,
  AT_HASH,
  AT_SLOTS, /* slots of one stack frame */
  AT_ROOTS,
  AT_EPHEMERONS, /* edges at the end of the row, with `source` as key */
  AT_PAIRS,      /* edges of the row, two for each entry */
  AT_END
} section;

typedef struct scan {
  const uint8_t *at;
  uint64_t own_word;
  uint64_t left, done;         /* items of this section */
  uint64_t pending;            /* word of a reference to return before the next item; 0: none */
  uint64_t key_bits;           /* table: the last entry's key; thread: the frame's function */
  const uint64_t *keys;        /* table: the snapshot's frequent keys */
  uint32_t upvalues_left;      /* closure */
  uint32_t frames_left, frame; /* thread; `frame` counts from 1 */
  uint32_t line;               /* thread */
  uint32_t row;                /* number of the next edge, for find_next */
  lh_id source;
  lh_id key;                              /* the object in key_bits, as an id */
  uint8_t key_tag, record, section, kind; /* kind: lh_edge_kind, in AT_VALUES and AT_REFERENCES */
} scan;

typedef struct found {
  uint64_t word, name_word;
  uint32_t ordinal;
  uint8_t kind; /* lh_edge_kind */
} found;

static inline void expect(scan *c, section what, lh_edge_kind kind, uint64_t n) {
  c->section = (uint8_t)what;
  c->kind = (uint8_t)kind;
  c->left = n;
  c->done = 0;
}

static inline void begin_proto(scan *c) {
  expect(c, AT_REFERENCES, LH_EDGE_SOURCE, 1);
}

static inline void after_proto_source(scan *c) {
  for (int i = 0; i < 2; i++) (void)lh_get_uvarint(&c->at);
  c->at += 2;
  for (int i = 0; i < 4; i++) (void)lh_get_uvarint(&c->at);
}

static inline bool next_in_proto(scan *c) {
  switch (c->kind) {
    case LH_EDGE_SOURCE:
      after_proto_source(c);
      expect(c, AT_REFERENCES, LH_EDGE_CONSTANT, lh_get_count(&c->at));
      return true;
    case LH_EDGE_CONSTANT: expect(c, AT_NESTED, LH_EDGE_NESTED, lh_get_count(&c->at)); return true;
    case LH_EDGE_NESTED:
      expect(c, AT_REFERENCES, LH_EDGE_DEBUG_NAME, lh_get_count(&c->at));
      c->frames_left = 1; /* one more list of names follows */
      return true;
    default: break;
  }
  if (c->frames_left == 0) return false;
  c->frames_left = 0;
  expect(c, AT_REFERENCES, LH_EDGE_DEBUG_NAME, lh_get_count(&c->at));
  return true;
}

static inline bool next_in_table(scan *c) {
  if (c->section == AT_REFERENCES) {
    expect(c, AT_ARRAY, LH_EDGE_VALUE, lh_get_uvarint(&c->at));
  } else if (c->section == AT_ARRAY) {
    expect(c, AT_HASH, LH_EDGE_VALUE, lh_get_uvarint(&c->at));
  } else {
    return false;
  }
  return true;
}

static inline bool next_in_thread(scan *c) {
  if (c->section == AT_REFERENCES) return false;
  if (c->frames_left == 0) {
    expect(c, AT_REFERENCES, LH_EDGE_OPEN_UPVALUE, lh_get_count(&c->at));
    return true;
  }
  lh_raw function = lh_get_raw(&c->at, c->own_word);
  c->frames_left--;
  c->frame++;
  c->line = lh_get_count(&c->at);
  c->key_tag = function.tag;
  c->key_bits = function.bits;
  c->pending = function.tag == LH_VAL_OBJECT ? function.bits : 0;
  expect(c, AT_SLOTS, LH_EDGE_LOCAL, lh_get_count(&c->at));
  return true;
}

/* Moves to the next section, which may be empty. False: end of the record. */
static inline bool next_section(scan *c) {
  switch (c->record) {
    case LH_REC_TABLE: return next_in_table(c);
    case LH_REC_PROTO: return next_in_proto(c);
    case LH_REC_THREAD: return next_in_thread(c);
    case LH_REC_LUA_CLOSURE:
      if (c->kind != LH_EDGE_PROTO) return false;
      expect(c, AT_REFERENCES, LH_EDGE_UPVALUE, c->upvalues_left);
      return true;
    case LH_REC_USERDATA:
    case LH_REC_MARK:
      if (c->section != AT_REFERENCES) return false;
      expect(c, AT_VALUES, LH_EDGE_USER_VALUE, lh_get_count(&c->at));
      return true;
    default: return false;
  }
}

static inline void begin_table(const lh_snapshot *s, scan *c, unsigned head) {
  c->keys = s->keys;
  (void)lh_get_uvarint(&c->at);
  c->at++;
  expect(c, AT_REFERENCES, LH_EDGE_METATABLE, head & LH_FLAG_METATABLE ? 1 : 0);
}

/* Moves to the first section; c->at must be behind the shallow size. */
static inline void begin_fields(const lh_snapshot *s, scan *c, unsigned head) {
  switch (c->record) {
    case LH_REC_TABLE: begin_table(s, c, head); break;
    case LH_REC_USERDATA:
    case LH_REC_MARK:
      (void)lh_get_uvarint(&c->at);
      expect(c, AT_REFERENCES, LH_EDGE_METATABLE, head & LH_FLAG_METATABLE ? 1 : 0);
      break;
    case LH_REC_LUA_CLOSURE:
      c->upvalues_left = lh_get_count(&c->at);
      expect(c, AT_REFERENCES, LH_EDGE_PROTO, 1);
      break;
    case LH_REC_C_CLOSURE:
      (void)lh_get_uvarint(&c->at);
      expect(c, AT_VALUES, LH_EDGE_C_UPVALUE, lh_get_count(&c->at));
      break;
    case LH_REC_UPVALUE: expect(c, AT_VALUES, LH_EDGE_CONTENT, 1); break;
    case LH_REC_PROTO: begin_proto(c); break;
    case LH_REC_THREAD:
      c->at++;
      (void)lh_get_uvarint(&c->at);
      c->frames_left = lh_get_count(&c->at);
      expect(c, AT_SLOTS, LH_EDGE_LOCAL, 0);
      break;
    default: break;
  }
}

/* Needs no rows: find_next cannot be asked. */
static inline void begin_record_alone(const lh_snapshot *s, lh_id id, scan *c) {
  *c = (scan){.source = id, .section = AT_END, .at = lh_record(s, id)};
  unsigned head = *c->at;
  c->record = head & 15;
  c->own_word = s->address[id] >> 3;
  if (c->record == LH_REC_STRING || (head & LH_FLAG_DEAD)) {
    c->record = LH_REC_STRING;
    return;
  }
  (void)lh_get_shallow(s, &c->at);
  begin_fields(s, c, head);
}

static inline void begin_record(const lh_snapshot *s, lh_id id, scan *c) {
  if (id == LH_ROOT) {
    *c = (scan){.source = id};
    expect(c, AT_ROOTS, LH_EDGE_ROOT, s->n_roots);
  } else {
    begin_record_alone(s, id, c);
  }
  c->row = s->first_edge[id];
}

/* The target of the next reference, by the next edge of the row. LH_NO_OBJECT: it has no object. */
static inline lh_id find_next(const lh_snapshot *s, scan *c, uint64_t word) {
  if (word == 0 || c->row == s->first_edge[c->source + 1]) return LH_NO_OBJECT;
  lh_id target = lh_true_target(s, c->row);
  if (s->has_lost && s->address[target] != word << 3) return LH_NO_OBJECT;
  c->row++;
  return target;
}

/* Does the row have all entries of the table, as two edges each? */
static inline bool has_pairs_alone(const lh_snapshot *s, lh_id table) {
  return lh_type_of(s, table) == LH_TYPE_TABLE && s->key_kinds[table] == 0;
}

/* The next entry of a table. False: empty slots were skipped instead. */
static inline bool step_entry(scan *c, lh_raw *key, lh_raw *value) {
  if (c->section == AT_ARRAY) {
    *value = lh_get_raw(&c->at, c->own_word);
    if (value->tag == LH_VAL_SKIP) {
      c->left -= value->bits;
      c->done += value->bits;
      return false;
    }
    c->left--;
    *key = (lh_raw){++c->done, LH_VAL_INTEGER};
    return true;
  }
  unsigned tags = *c->at++;
  c->left--;
  *key = lh_get_key(&c->at, tags >> 4, c->own_word, c->keys);
  *value = lh_get_payload(&c->at, tags & 15, c->own_word);
  return true;
}

static inline bool step_table(scan *c, found *out) {
  lh_raw key, value;
  if (!step_entry(c, &key, &value)) return false;
  c->key_tag = key.tag;
  c->key_bits = key.bits;
  if (value.tag == LH_VAL_OBJECT) c->pending = value.bits;
  if (key.tag != LH_VAL_OBJECT) return false;
  *out = (found){.word = key.bits, .kind = LH_EDGE_KEY};
  return true;
}

static inline bool step_slot(scan *c, found *out) {
  static const uint8_t kinds[] = {[LH_SLOT_LOCAL] = LH_EDGE_LOCAL,
                                  [LH_SLOT_TEMPORARY] = LH_EDGE_TEMPORARY,
                                  [LH_SLOT_VARARG] = LH_EDGE_VARARG,
                                  [LH_SLOT_ARGUMENT] = LH_EDGE_ARGUMENT};
  unsigned kind = *c->at++;
  c->left--;
  *out = (found){.kind = kinds[kind]};
  out->ordinal = lh_get_count(&c->at);
  if (kind == LH_SLOT_LOCAL) out->name_word = lh_get_reference(&c->at, c->own_word);
  out->word = lh_get_reference(&c->at, c->own_word);
  return out->word != 0;
}

static inline bool step_item(scan *c, found *out) {
  *out = (found){.kind = c->kind};
  c->left--;
  out->ordinal = (uint32_t)++c->done;
  if (c->section == AT_VALUES) {
    lh_raw value = lh_get_raw(&c->at, c->own_word);
    out->word = value.tag == LH_VAL_OBJECT ? value.bits : 0;
  } else {
    out->word = lh_get_reference(&c->at, c->own_word);
    if (c->section == AT_NESTED) out->name_word = lh_get_reference(&c->at, c->own_word);
  }
  return out->word != 0;
}

typedef enum step_result { STEP_END, STEP_OVER, STEP_FOUND } step_result;

/* Moves by one item or section. STEP_OVER: there was no reference. */
static inline step_result step_once(scan *c, found *out) {
  bool is_found;
  if (c->pending) {
    lh_edge_kind kind = c->section == AT_SLOTS ? LH_EDGE_FUNCTION : LH_EDGE_VALUE;
    *out = (found){.word = c->pending, .kind = (uint8_t)kind};
    c->pending = 0;
    return STEP_FOUND;
  }
  if (c->left == 0) return next_section(c) ? STEP_OVER : STEP_END;
  if (c->section == AT_ARRAY || c->section == AT_HASH)
    is_found = step_table(c, out);
  else if (c->section == AT_SLOTS)
    is_found = step_slot(c, out);
  else
    is_found = step_item(c, out);
  return is_found ? STEP_FOUND : STEP_OVER;
}

/* Moves to the next reference. False: end of the record. */
static inline bool step(scan *c, found *out) {
  step_result result;
  do result = step_once(c, out);
  while (result == STEP_OVER);
  return result == STEP_FOUND;
}
