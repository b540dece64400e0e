/*
** gate.c - heapdiff as a gate: the fingerprints that a team has accepted, and how much growth is
** too much. --known names a text file with a fingerprint on each line, and behind a # what it is;
** lines that are empty or begin with # say nothing to us.
*/
#include <errno.h>
#include <string.h>

#include "heapdiff.h"

enum { LONGEST_LINE = 4096 };

static void add(known_list *k, const char *fingerprint) {
  if (k->n == k->capacity) {
    k->capacity = 2 * k->capacity + 16;
    k->list = cli_must(realloc(k->list, k->capacity * sizeof *k->list));
  }
  memcpy(k->list[k->n++], fingerprint, LH_FINGERPRINT_BYTES);
}

static void take_line(cli *c, known_list *k, char *line, unsigned number) {
  static const char blanks[] = " \t\r\n";
  char *word = line + strspn(line, blanks), *behind = word + strcspn(word, " \t\r\n#");
  char *comment = behind + strspn(behind, blanks);
  if (*word == '\0' || *word == '#') return;
  bool commented = *comment == '\0' || *comment == '#';
  comment[strcspn(comment, "\r\n")] = '\0';
  *behind = '\0';
  if (!lh_is_fingerprint(word))
    cli_die(
        c, NULL,
        "%s:%u: '%s' is no fingerprint; a line is one of those that --fingerprints prints in its "
        "first column, alone or with # and a comment behind it",
        k->file, number, word);
  if (!commented)
    cli_die(c, NULL, "%s:%u: '%s' is behind a fingerprint, but no comment: put # in front of it",
            k->file, number, comment);
  add(k, word);
}

static int compare(const void *a, const void *b) {
  return strcmp(a, b);
}

static FILE *must_open(cli *c, const char *file) {
  FILE *in = fopen(file, "r");
  if (in == NULL) cli_die(c, NULL, "cannot open '%s': %s", file, strerror(errno));
  return in;
}

void known_read(cli *c, known_list *k, const char *file) {
  char line[LONGEST_LINE];
  FILE *in = must_open(c, file);
  k->file = file;
  for (unsigned number = 1; fgets(line, sizeof line, in) != NULL; number++) {
    if (strlen(line) == sizeof line - 1)
      cli_die(c, NULL, "%s:%u: the line is too long", file, number);
    take_line(c, k, line, number);
  }
  if (ferror(in)) cli_die(c, NULL, "%s: %s", file, strerror(errno));
  fclose(in);
  if (k->n > 1) qsort(k->list, k->n, sizeof *k->list, compare);
}

bool known_has(const known_list *k, const char *fingerprint) {
  return k->n > 0 && bsearch(fingerprint, k->list, k->n, sizeof *k->list, compare) != NULL;
}

void known_print(cli *c, const known_list *k, uint64_t n, uint64_t bytes, uint64_t objects) {
  char *file;
  if (k->file == NULL) return;
  file = cli_escape(k->file);
  if (n == 0)
    printf("Nothing that %s lists is among them\n", file);
  else
    printf("Left out, since %s lists them: %s, %s, %s\n", file,
           cli_count_of(c, n, "group", "groups"), cli_count_of(c, objects, "object", "objects"),
           cli_size(c, bytes));
  lh_free(file);
}

int gate(cli *c, const request *r, uint64_t bytes, uint64_t grown_bytes, uint64_t objects,
         const char *what) {
  bool too_many_bytes = r->has_fail_over && bytes + grown_bytes > r->fail_over_bytes;
  bool too_many_objects = r->has_fail_objects && objects > r->fail_objects;
  const char *limit = cli_size(c, r->fail_over_bytes);
  if (too_many_bytes && grown_bytes == 0)
    cli_say(c, "%s %s, which is more than %s", cli_size(c, bytes), what, limit);
  else if (too_many_bytes && bytes == 0)
    cli_say(c, "older containers grew by %s, which is more than %s", cli_size(c, grown_bytes),
            limit);
  else if (too_many_bytes)
    cli_say(c, "%s %s, and older containers grew by %s: together more than %s", cli_size(c, bytes),
            what, cli_size(c, grown_bytes), limit);
  if (too_many_objects)
    cli_say(c, "%s %s, which is more than %s", cli_count_of(c, objects, "object", "objects"), what,
            cli_count(c, r->fail_objects));
  return too_many_bytes || too_many_objects ? CLI_NO : CLI_DONE;
}
