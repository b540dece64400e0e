/*
** sample.h - a small heap with every kind of record, reference and value in it, for the reader's
** tests.
*/
#pragma once

#include "forged_file.h"

enum {
  AT_MARK_2 = 0x1000, /* allgc, youngest first */
  AT_TABLE = 0x2000,
  AT_WEAK_KEYS = 0x2100,
  AT_WEAK_VALUES = 0x2200,
  AT_ALL_WEAK = 0x2300,
  AT_KEY = 0x2400, /* empty tables */
  AT_VALUE = 0x2500,
  AT_CLOSURE = 0x3000,
  AT_C_CLOSURE = 0x3100,
  AT_UPVALUE = 0x3200,
  AT_OPEN_UPVALUE = 0x3300,
  AT_PROTO = 0x3400,
  AT_NESTED = 0x3500,
  AT_USERDATA = 0x4000,
  AT_PLAIN_USERDATA = 0x4100,
  AT_THREAD = 0x5000,
  AT_DEAD = 0x5100,
  AT_MARK_1 = 0x6000,
  AT_STATE = 0x6100,
  AT_NAME = 0x7000, /* "name" */
  AT_BUS = 0x7100,  /* "bus" */
  AT_SOURCE = 0x7200,
  AT_LONG = 0x7300,           /* 1,000 bytes, 4 of them kept */
  AT_EXTERNAL = 0x7400,       /* only of 5.5, as the next three: 1,000 bytes, 4 of them kept */
  AT_SHORT_EXTERNAL = 0x7500, /* "bus" */
  AT_FIXED_TEXT = 0x7600,
  AT_DEAD_EXTERNAL = 0x7700,
  AT_FINOBJ_MARK_2 = 0x9000,
  AT_WITH_GC = 0x9100,
  AT_FINOBJ_MARK_1 = 0x9200,
  AT_WAITING = 0xa000, /* tobefnz */
  AT_FIXED = 0xb000,   /* fixedgc: "and" */
  AT_NOWHERE = 0xf000  /* no object */
};

enum { SAMPLE_OBJECTS = 28, SAMPLE_EXTERNAL_BYTES = 1001 + 4 + 501 };

/* Ready to be finished. The same of a program that was tracked: the objects have stacks 0 to
** SAMPLE_STACKS in turn. And that from outside: mark 1 was placed by a comparison, and two
** objects on allgc and one on finobj pass as older; functions at 0xc000 and 0xc100 are known. */
void sample_heap(forge *f);
void sample_heap_of_5_5(forge *f); /* with strings of all kinds */
void sample_tracked_heap(forge *f);
void sample_outside_heap(forge *f);

enum { SAMPLE_STACKS = 3 };
