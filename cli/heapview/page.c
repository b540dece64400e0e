/*
** page.c - the page that heapview serves.
*/
#include <string.h>

#include "heapview/heapview.h"

const char *view_page(size_t *n) {
  static const char page[] = "<!DOCTYPE html><meta charset=\"utf-8\"><title>heapview</title>\n";
  *n = strlen(page);
  return page;
}

const char *view_policy(void) {
  return "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";
}
