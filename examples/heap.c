/*
** heap.c - asks one of luaheap's questions from C, and prints the answer as JSON.
**
**     cc heap.c $(pkg-config --cflags --libs luaheap) -o heap
**     ./heap classes c                  ./heap diff a b c
*/
#include <luaheap.h>
#include <stdio.h>

enum { MOST = 16 };

static int ask(lh_snapshot **snapshots, size_t n, char **argv, lh_error *error) {
  const char *const arguments[] = {"limit", "5", NULL};
  char *json;
  for (size_t i = 0; i < n; i++)
    if (lh_open(&snapshots[i], argv[2 + i], error) != LH_OK) return 1;
  if (lh_answer_json(snapshots, n, argv[1], arguments, &json, error) != LH_OK) return 1;
  puts(json);
  lh_free(json);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 2 + MOST) return fputs("usage: heap QUESTION SNAPSHOT...\n", stderr), 2;
  lh_snapshot *snapshots[MOST] = {NULL};
  lh_error *error = lh_error_new();
  int failed = ask(snapshots, (size_t)argc - 2, argv, error);
  if (failed) fprintf(stderr, "heap: %s\n", lh_error_message(error));
  for (size_t i = 0; i < MOST; i++) lh_close(snapshots[i]);
  lh_free(error);
  return failed;
}
