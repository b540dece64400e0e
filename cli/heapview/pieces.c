/*
** pieces.c - packs answers. The size of a piece is known only after deflating it. A piece that does
** not fit is dropped whole, about 1 % of the room, and the report is full.
*/
#include "heapview.h"

#include <string.h>
#include <zlib.h>

enum {
  PIECE_BYTES = 256 << 10, /* inflates in a millisecond or two */
  MOST_BYTES = 4 << 20,    /* of answers added together; longer ones are left out */
  LEVEL = 6,               /* 9 saves 2 %, at twice the time */
  INDEX_SHRINKS = 3        /* deflated, in base64: a third at most */
};

typedef struct growing {
  FILE *file;
  char *text;
  size_t size;
} growing;

struct pieces {
  size_t room;
  bool is_full;
  growing done;          /* "...","..." */
  growing index;         /* ["KEY",...],["KEY",...] */
  growing answers, keys; /* of the current piece */
  uint64_t objects, objects_here;
};

static void begin(growing *g) {
  g->file = cli_open_text(&g->text, &g->size);
}

static void end(growing *g) {
  cli_close_text(g->file);
}

static void empty(growing *g) {
  end(g);
  free(g->text);
  begin(g);
}

static size_t size_of(growing *g) {
  if (fflush(g->file) != 0) cli_must(NULL);
  return g->size;
}

/* ==== Deflated texts ================================================================= */

static void put_base64(FILE *out, const unsigned char *bytes, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    unsigned long three = (unsigned long)bytes[i] << 16;
    if (i + 1 < n) three |= (unsigned long)bytes[i + 1] << 8;
    if (i + 2 < n) three |= bytes[i + 2];
    putc(digits[three >> 18], out);
    putc(digits[three >> 12 & 63], out);
    putc(i + 1 < n ? digits[three >> 6 & 63] : '=', out);
    putc(i + 2 < n ? digits[three & 63] : '=', out);
  }
}

/* A JSON string. Freed by free. */
static char *deflated(const char *text, size_t n, size_t *size) {
  char *result = NULL;
  uLongf packed_bytes = compressBound(n);
  Bytef *packed = cli_must(malloc(packed_bytes));
  if (compress2(packed, &packed_bytes, (const Bytef *)text, n, LEVEL) != Z_OK) cli_must(NULL);
  FILE *out = cli_open_text(&result, size);
  putc('"', out);
  put_base64(out, packed, packed_bytes);
  putc('"', out);
  cli_close_text(out);
  free(packed);
  return result;
}

/* ==================================================================================== */

pieces *pieces_begin(size_t room) {
  pieces *p = cli_must(calloc(1, sizeof *p));
  p->room = room;
  begin(&p->done);
  begin(&p->index);
  begin(&p->answers);
  begin(&p->keys);
  return p;
}

/* Ends the current piece and adds all or nothing of it to the report. */
static void pack(pieces *p) {
  size_t size, n = size_of(&p->answers), n_keys = size_of(&p->keys);
  if (n == 0) return;
  putc('}', p->answers.file);
  n = size_of(&p->answers);
  char *text = deflated(p->answers.text, n, &size);
  size_t taken = size_of(&p->done) + size + (size_of(&p->index) + n_keys) / INDEX_SHRINKS;
  if (taken <= p->room) {
    bool follows = size_of(&p->done) > 0;
    fprintf(p->done.file, "%s%s", follows ? ",\n" : "", text);
    fprintf(p->index.file, "%s[%s]", follows ? "," : "", p->keys.text);
    p->objects += p->objects_here;
  }
  p->is_full = taken > p->room;
  p->objects_here = 0;
  free(text);
  empty(&p->answers);
  empty(&p->keys);
}

bool pieces_add(pieces *p, const char *answers, const char *keys, unsigned objects) {
  if (p->is_full) return false;
  if (strlen(answers) > MOST_BYTES) return true;
  bool follows = size_of(&p->answers) > 0;
  fprintf(p->answers.file, "%c%s", follows ? ',' : '{', answers);
  fprintf(p->keys.file, "%s%s", follows ? "," : "", keys);
  p->objects_here += objects;
  if (size_of(&p->answers) >= PIECE_BYTES) pack(p);
  return true;
}

uint64_t pieces_end(pieces *p, FILE *out) {
  pack(p);
  char *index = NULL, *packed;
  size_t size, n_index;
  FILE *whole = cli_open_text(&index, &n_index);
  (void)size_of(&p->index);
  fprintf(whole, "[%s]", p->index.text);
  cli_close_text(whole);
  packed = deflated(index, n_index, &size);
  (void)size_of(&p->done);
  fprintf(out, "\"index\":%s,\n\"pieces\":[%s]", packed, p->done.text);
  uint64_t objects = p->objects;
  growing *all[] = {&p->done, &p->index, &p->answers, &p->keys};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    end(all[i]);
    free(all[i]->text);
  }
  free(index);
  free(packed);
  free(p);
  return objects;
}
