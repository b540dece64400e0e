/*
** page.c - the page, 300 KB put together by cli/generate/page.sh, for the server and for reports.
*/
#include <string.h>

#include "built_page.h"
#include "heapview/heapview.h"

const char *view_page(size_t *n) {
  *n = sizeof page;
  return (const char *)page;
}

const char *view_policy(void) {
  return PAGE_POLICY "; connect-src 'self'; frame-ancestors 'none'";
}

static void put(FILE *out, size_t from, size_t until) {
  (void)fwrite(page + from, 1, until - from, out);
}

/* In JSON, '<' occurs only in strings. */
static void put_carried(FILE *out, const char *json, size_t n) {
  const char *end = json + n;
  while (json < end) {
    const char *at = memchr(json, '<', (size_t)(end - json));
    (void)fwrite(json, 1, (size_t)((at != NULL ? at : end) - json), out);
    if (at == NULL) return;
    (void)fputs("\\u003C", out);
    json = at + 1;
  }
}

void view_page_write(FILE *out, const char *carried, size_t n) {
  put(out, 0, PAGE_POLICY_AT);
  (void)fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"" PAGE_POLICY "\">\n", out);
  put(out, PAGE_POLICY_AT, PAGE_CARRIED_AT);
  put_carried(out, carried, n);
  put(out, PAGE_CARRIED_AT, sizeof page);
}
