/*
** page.c - the page, 300 KB put together by cli/generate/page.sh, for the server and for reports.
*/
#include "built_page.h"
#include "heapview/heapview.h"

const char *view_page(size_t *n) {
  *n = sizeof page;
  return (const char *)page;
}

const char *view_policy(void) {
  return PAGE_POLICY "; connect-src 'self'; frame-ancestors 'none'";
}

static void put_page_part(FILE *out, size_t from, size_t until) {
  (void)fwrite(page + from, 1, until - from, out);
}

size_t view_page_begin(FILE *out) {
  put_page_part(out, 0, PAGE_POLICY_AT);
  (void)fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"" PAGE_POLICY "\">\n", out);
  put_page_part(out, PAGE_POLICY_AT, PAGE_CARRIED_AT);
  return sizeof page - PAGE_CARRIED_AT;
}

/* In JSON, '<' occurs only in strings. */
void view_page_json(FILE *out, const char *json) {
  for (size_t n; *json != '\0'; json += n) {
    n = strcspn(json, "<");
    (void)fwrite(json, 1, n, out);
    if (json[n] == '\0') break;
    (void)fputs("\\u003C", out);
    n++;
  }
}

void view_page_end(FILE *out) {
  put_page_part(out, PAGE_CARRIED_AT, sizeof page);
}
