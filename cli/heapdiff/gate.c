/*
** gate.c - heapdiff as a gate: the fingerprints that a team has accepted, and how much growth is
** too much. --known names a text file with a fingerprint on each line, and behind a # what it is;
** lines that are empty or begin with # say nothing to us.
**
** Who may profit? The file may be another user's. A device or a FIFO has no end, so only a regular
** file is read, and a line has a limit.
*/
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heapdiff.h"

enum { LONGEST_LINE = 4096 };

/* There is room for 16, or for the next power of two. */
static void add(lh_known *k, const char *fingerprint) {
  bool is_full = k->n == 0 || (k->n >= 16 && (k->n & (k->n - 1)) == 0);
  if (is_full) k->list = cli_must(realloc(k->list, (k->n > 0 ? 2 * k->n : 16) * sizeof *k->list));
  memcpy(k->list[k->n++], fingerprint, strlen(fingerprint) + 1);
}

/* Those of the release before had ten digits alone. */
static bool is_older(const char *word) {
  return strlen(word) == 10 && strspn(word, "0123456789abcdef") == 10;
}

static void take_line(cli *c, lh_known *k, char *line, unsigned number) {
  static const char blanks[] = " \t\r\n";
  char *word = line + strspn(line, blanks), *behind = word + strcspn(word, " \t\r\n#");
  char *comment = behind + strspn(behind, blanks);
  if (*word == '\0' || *word == '#') return;
  bool commented = *comment == '\0' || *comment == '#';
  comment[strcspn(comment, "\r\n")] = '\0';
  *behind = '\0';
  k->has_older |= is_older(word);
  if (!lh_is_fingerprint(word) && !is_older(word))
    cli_die(
        c, NULL,
        "%s:%u: '%s' is no fingerprint; a line is one of those that --fingerprints prints in its "
        "first column, alone or with # and a comment behind it",
        k->name, number, word);
  if (!commented)
    cli_die(c, NULL, "%s:%u: '%s' is behind a fingerprint, but no comment: put # in front of it",
            k->name, number, comment);
  add(k, word);
}

static int compare(const void *a, const void *b) {
  return strcmp(a, b);
}

static FILE *must_open(cli *c, const char *file) {
  struct stat status;
  int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
    cli_die(c, NULL, "cannot read '%s': it is no regular file", file);
  FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
  if (in == NULL) cli_die(c, NULL, "cannot open '%s': %s", file, strerror(errno));
  return in;
}

void known_read(cli *c, lh_known *k, const char *file) {
  char line[LONGEST_LINE];
  FILE *in = must_open(c, file);
  k->name = file;
  for (unsigned number = 1; fgets(line, sizeof line, in) != NULL; number++) {
    if (strchr(line, '\n') == NULL && !feof(in))
      cli_die(c, NULL, "%s:%u: the line is too long, or has a zero byte in it", file, number);
    take_line(c, k, line, number);
  }
  if (ferror(in)) cli_die(c, NULL, "%s: %s", file, strerror(errno));
  fclose(in);
  if (k->n > 1) qsort(k->list, k->n, sizeof *k->list, compare);
}

void known_renewed(cli *c, const lh_known *k) {
  for (size_t i = 0; i < k->n_renewed; i++)
    cli_say(c, "%s: %s is %s now", k->name, k->renewed[i].before, k->renewed[i].now);
}

int gate(cli *c, const request *r, const lh_report *report) {
  lh_excess e;
  report->question->excess(report, &e);
  bool too_many_bytes =
      cli_is_given(c, "fail-over") && e.bytes + e.grown_bytes > r->fail_over_bytes;
  bool too_many_objects = cli_is_given(c, "fail-objects") && e.objects > r->fail_objects;
  lh_number bytes = lh_size_text(e.bytes, c->exact_bytes),
            grown = lh_size_text(e.grown_bytes, c->exact_bytes),
            limit = lh_size_text(r->fail_over_bytes, c->exact_bytes);
  if (too_many_bytes && e.grown_bytes == 0)
    cli_say(c, "%s %s, which is more than %s", bytes.text, e.what, limit.text);
  else if (too_many_bytes && e.bytes == 0)
    cli_say(c, "older containers grew by %s, which is more than %s", grown.text, limit.text);
  else if (too_many_bytes)
    cli_say(c, "%s %s, and older containers grew by %s: together more than %s", bytes.text, e.what,
            grown.text, limit.text);
  if (too_many_objects)
    cli_say(c, "%s %s, which is more than %s", lh_count_of(e.objects, "object", "objects").text,
            e.what, lh_count_text(r->fail_objects).text);
  return too_many_bytes || too_many_objects ? CLI_NO : CLI_DONE;
}
