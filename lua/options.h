/*
** options.h - reads a table of options from Lua. What the options are is data:
**
**     static const hl_option options[] = {
**         {"strings", HL_COUNT, .field = offsetof(lh_take_options, string_bytes)}, {0}};
**     hl_read_options(L, 2, options, &take);
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "weak_lua.h"

/* The value in Lua, and the type of the field. */
typedef enum hl_option_kind {
  HL_FLAG,    /* bool: any value; all but false and nil are true */
  HL_SWITCH,  /* bool: true, false, "yes" or "no" */
  HL_COUNT,   /* uint64_t */
  HL_NUMBER,  /* double: 1.5 or "1.5" */
  HL_SIZE,    /* uint64_t: bytes, 524288 or "512K" */
  HL_SECONDS, /* double: 0.5 or "10m" */
  HL_TEXT,    /* const char *: not empty, no zero byte; the stack keeps it */
  HL_WORD,    /* unsigned: the index of one of `words` */
  HL_TYPES,   /* uint32_t: "table,function" as bits 1 << lh_type */
  HL_OTHER    /* what `read` makes of it */
} hl_option_kind;

typedef struct hl_option {
  const char *name; /* NULL: after the last option */
  hl_option_kind kind;
  size_t field;             /* its offset */
  size_t given;             /* the offset of a bool to set; 0: none */
  double least;             /* the least number */
  bool or_true;             /* it may also be true, which sets only `given` */
  const char *const *words; /* ends with NULL */
  const char *need;         /* for error messages: what its value must be; NULL: says the kind */
  const char *example;      /* of heap.auto: "signal=URG" */
  /* Reads the value on top. False: it is wrong. */
  bool (*read)(lua_State *L, const struct hl_option *option, void *out);
} hl_option;

/* Reads the options of the table at `index` into fields of *out; false is as if not given, but for
** a flag or a switch. Calls no metamethod and allocates nothing. NULL: done. Else the option with a
** wrong value, or the last row for an unknown name; then the name and the value are on top. */
const hl_option *hl_find_wrong_option(lua_State *L, int index, const hl_option *options, void *out);

/* The same, if there is a value at `index`; raises an error for what is wrong. */
void hl_read_options(lua_State *L, int index, const hl_option *options, void *out);

/* HL_WORD for an argument: the index of the word at `index`; -1: it is none of them. */
int hl_find_word(lua_State *L, int index, const char *const *words);
