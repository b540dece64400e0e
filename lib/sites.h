/*
** sites.h - sites and stacks as files have them: a snapshot all at once, a profile each before it
** is first used. Both sides are here: what is written, and the tables that it is read into.
**
** A definition is one byte that says of what, and its fields (format.h for the encodings). Ids are
** not written: each kind counts up from 1 in the order of its definitions.
**
**   LH_DEFINE_NAME      bytes
**   LH_DEFINE_FUNCTION  uvarint name id of the source (0: no Lua function), uvarint first line,
**                       uvarint name id of its name (0: unknown)
**   LH_DEFINE_SITE      uvarint function id (0: no Lua function), uvarint line (0: unknown),
**                       u8 lh_maker, uvarint name id of the C function (0: none)
**   LH_DEFINE_STACK     uvarint parent's stack id (0: none), uvarint site id
**
** A definition refers to what was defined before it, only. Lines are below 2^32. Names have at most
** 4,096 bytes, and a table at most 2^24 entries of each kind; who writes ends a table there, and
** what is beyond is attributed to the unknown site.
*/
#ifndef LUAHEAP_SITES_H
#define LUAHEAP_SITES_H

#include "luaheap_sites.h"
#include "varint.h"

enum { LH_DEFINE_NAME = 1, LH_DEFINE_FUNCTION = 2, LH_DEFINE_SITE = 3, LH_DEFINE_STACK = 4 };

enum { LH_MOST_SITE_NAME_BYTES = 4096, LH_MOST_DEFINITIONS = 1 << 24, LH_LONGEST_DEFINITION = 32 };

/* ==== Writing ===================================================================== */

/* Each stores at p, at most LH_LONGEST_DEFINITION bytes, and returns its end. */

uint8_t *lh_put_name_head(uint8_t *p, uint32_t name_bytes); /* then come the bytes */
uint8_t *lh_put_function(uint8_t *p, uint32_t source, uint32_t first_line, uint32_t name);
uint8_t *lh_put_site(uint8_t *p, uint32_t function, uint32_t line, lh_maker maker,
                     uint32_t c_function);
uint8_t *lh_put_stack(uint8_t *p, lh_stack_id parent, lh_site_id site);

/* ==== Reading ===================================================================== */

/* An empty table; NULL when out of memory. */
lh_sites *lh_sites_new(void);
void lh_sites_free(lh_sites *sites);

/* Reads the one definition at which the cursor is (its first byte is a LH_DEFINE_*); what cannot be
** is the cursor's fault. False when out of memory. Memory: at most 64 bytes for each of the file.
*/
bool lh_sites_define(lh_sites *sites, lh_cursor *c);

/* Reads over it. */
void lh_sites_skip(lh_cursor *c);

#endif
