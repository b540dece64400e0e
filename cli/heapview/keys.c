/*
** keys.c - a question as text, the same for the same question: treemap?by=class&limit=200. Values
** are written as a browser's encodeURIComponent writes them, names of questions and keys need it
** not.
*/
#include <string.h>

#include "heapview.h"

void view_put_encoded(FILE *out, const char *text) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()";
  for (; *text != '\0'; text++) {
    if (strchr(plain, *text) != NULL)
      putc(*text, out);
    else
      fprintf(out, "%%%02X", (unsigned char)*text);
  }
}

char *view_key(const view_question *question) {
  char *key = NULL;
  size_t size;
  FILE *out = cli_open_text(&key, &size);
  fputs(question->name, out);
  for (size_t i = 0; i < question->n; i++) {
    fprintf(out, "%c%s=", i == 0 ? '?' : '&', question->parameters[i].key);
    view_put_encoded(out, question->parameters[i].value);
  }
  cli_close_text(out);
  return key;
}

void view_take_key(char *key, view_question *question) {
  *question = (view_question){.name = strsep(&key, "?")};
  while (key != NULL && question->n < VIEW_MOST_PARAMETERS) {
    char *value = strsep(&key, "&"), *name = strsep(&value, "=");
    question->parameters[question->n++] = (view_parameter){name, value != NULL ? value : ""};
  }
}
