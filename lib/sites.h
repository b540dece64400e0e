/*
** sites.h - writes and reads sites and stacks in files.
**
** A snapshot has all definitions at once; a profile has each before its first use. A definition is
** one byte for its kind and then fields (encodings: format.h). Ids are not written: each kind
** counts from 1 in the order of its definitions.
**
**   LH_DEFINE_NAME      bytes
**   LH_DEFINE_FUNCTION  uvarint name id of the source (0: no Lua function), uvarint first line,
**                       uvarint name id of its name (0: unknown)
**   LH_DEFINE_SITE      uvarint function id (0: no Lua function), uvarint line (0: unknown),
**                       u8 lh_maker, uvarint name id of the C function (0: none)
**   LH_DEFINE_STACK     uvarint parent's stack id (0: none), uvarint site id
**
** A definition refers only to earlier definitions. Lines are below 2^32. Names have at most 4,096
** bytes, and a table has at most 2^24 entries of each kind: a writer stops there, and attributes
** further allocations to the unknown site.
*/
#pragma once

#include "varint.h"

enum { LH_DEFINE_NAME = 1, LH_DEFINE_FUNCTION = 2, LH_DEFINE_SITE = 3, LH_DEFINE_STACK = 4 };

enum { LH_MOST_SITE_NAME_BYTES = 4096, LH_MOST_DEFINITIONS = 1 << 24, LH_LONGEST_DEFINITION = 32 };

/* ==== Writing ===================================================================== */

/* Each stores a definition at p, at most LH_LONGEST_DEFINITION bytes, and returns its end. */

uint8_t *lh_put_name_head(uint8_t *p, uint32_t name_bytes); /* the caller adds the bytes */
uint8_t *lh_put_function(uint8_t *p, uint32_t source, uint32_t first_line, uint32_t name);
uint8_t *lh_put_site(uint8_t *p, uint32_t function, uint32_t line, lh_maker maker,
                     uint32_t c_function);
uint8_t *lh_put_stack(uint8_t *p, lh_stack_id parent, lh_site_id site);

/* ==== Reading ===================================================================== */

lh_sites *lh_sites_new(void);
void lh_sites_free(lh_sites *sites);

/* Reads the definition at the cursor (its first byte is a LH_DEFINE_*). An invalid one is a fault
** of the cursor. False: out of memory. Takes at most 64 bytes for each byte of the file. */
bool lh_sites_define(lh_sites *sites, lh_cursor *c);

void lh_sites_skip(lh_cursor *c);
