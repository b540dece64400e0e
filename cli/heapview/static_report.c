/*
** static_report.c - writes a report: the page with its answers in one file, which needs no
** snapshot, server or network.
**
** Answers are added by importance until the file is full or the work is spent: the opened files,
** the first page and its objects; the pictures; then the objects and classes named in these
** answers, biggest first, then those named in theirs, and so on. So a small heap is complete, and
** of two million objects the thousands that users click are there. An object has all answers of its
** page, or none. The bytes of parts that a picture omits are shown as a tile, so sums stay true.
** The page says what is missing, and how to see it.
**
** The first page's answers are plain. The others are in deflated pieces of some hundred (alike,
** they shrink to a twentieth), and so is the index; a page inflates the pieces that it needs
** (page/carried.js). Equal files give equal reports, byte by byte.
*/
#include <fcntl.h>
#include <strings.h>
#include <zlib.h>

#include "heapview.h"

/* Fits a mail. */
enum { MOST_BYTES = 5000000, ROOM_FOR_THE_REST = 4096 };

enum {
  PIECE_BYTES = 256 << 10, /* inflates in a millisecond or two */
  MOST_TOGETHER = 4 << 20, /* of answers added together; nobody looks at longer ones */
  LEVEL = 3,               /* 6 saves a quarter, at twice the time */
  INDEX_SHRINKS = 3        /* deflated, in base64: a third at most */
};

/* ==== What a page may ask for ========================================================= */

/* Keys of questions, separated by blanks. */

/* For each snapshot, the last first: its trees, its ages, its lists. The data kept for a picture
** takes as much memory as the heap's graph, so it is dropped before the next kind. */
#define OF_TREES "treemap?by=place flame treemap?by=class treemap?by=module treemap"
#define OF_AGES "timeline timeline?by=place timeline?by=type map"
#define OF_LISTS                                                         \
  "objects?limit=20 classes?limit=20 modules?limit=20 threads?limit=20 " \
  "growing?limit=20 waste?limit=20 epochs sites?limit=20"

/* Also, if there are several snapshots: trees and lists; and once, about all of them. */
#define OF_NEW_TREES "flame?against=0"
#define OF_SEVERAL "strings?limit=20"
#define OF_ALL "series ladder?limit=20 owners?limit=20"

/* For a profile, with all choices of its page. */
#define OF_PROFILE                                                                       \
  "findings profile allocations?limit=20 advice?limit=20 memory sizes stacks?limit=400 " \
  "calls?limit=20 blueprint allocations?by=function&limit=20 "                           \
  "allocations?by=type&limit=20 allocations?by=file&limit=20 "                           \
  "allocations?by=stack&limit=20 stacks?limit=400&sort=live stacks?limit=400&sort=peak " \
  "stacks?limit=400&sort=soon_dead allocations?limit=20&sort=live "                      \
  "allocations?limit=20&sort=peak allocations?limit=20&sort=soon_dead"

/* For intervals between marks, with since=354, until=4605. */
#define OF_INTERVAL                                                                    \
  "interval?limit=20 timeline?bins=1&limit=1 treemap?by=place flame treemap?by=class " \
  "treemap?by=module treemap map"
enum { MOST_INTERVALS = 20 };

/* For an object, with at=0x55d0c0a3f2e0. */
#define OF_OBJECT                                                        \
  "object fields?limit=50 paths referrers?limit=20 dominators?limit=20 " \
  "treemap?depth=2&limit=30"

/* Also for an object; each may take a pass over the heap. */
#define OF_WORTHY_OBJECT "under?limit=20 independent picture"

/* For a class, with class=Session; each takes a pass. */
#define OF_CLASS "class?limit=20 set?limit=20"

/* The work of a report is bounded. Its unit is a byte of text made and packed, about 30 ns: 36 MB
** of text for a snapshot of 1 MB, and 20 MB for each MB more. Passes, classes and objects far from
** the root have smaller shares on top. A small heap stays below all bounds. */
enum { LEAST_WORK = 16000000, WORK_OF_A_BYTE = 20 };
typedef enum share { OF_TEXT, OF_PASSES, OF_CLASSES, OF_FAR, N_SHARES } share;
static const unsigned part_of[N_SHARES] = {1, 8, 16, 4};

/* Nobody clicks on more objects, and each takes 0.2 ms. */
enum { MOST_OBJECTS = 2000 };

/* A pass costs a time for each byte of the snapshot: a third of its bytes for an object, two fifths
** for a class. A picture's layout costs as much as 45 KB of text. */
enum { WORK_OF_A_PICTURE = 45000 };

/* An answer about an object costs time for each step from the root, and in a list for everything
** behind it: so only the first of a long list are included, none beyond MOST_STEPS. */
enum { NEAR_STEPS = 64, MOST_STEPS = 4000, WORK_OF_A_STEP = 10 };

/* ==================================================================================== */

typedef struct named {
  size_t in; /* number of the snapshot */
  lh_id id;  /* LH_NO_OBJECT: a class */
  uint32_t class_index;
  uint64_t bytes; /* retained bytes; of a class, shallow bytes */
} named;

typedef struct buffer {
  FILE *file;
  char *text;
  size_t size;
} buffer;

/* Bytes go to the disk as they come. */
typedef struct target {
  lh_file *file; /* has no name until the report is complete */
  size_t n_bytes;
} target;

typedef struct report {
  view *v;
  target *to;
  FILE *out; /* writes to it */
  size_t most_bytes;
  size_t n_plain;
  buffer answers, keys; /* of the current piece: {"KEY":ANSWER,... and "KEY",... */
  buffer index;         /* [["KEY",...],... */
  named *list;          /* for this round, then the next */
  size_t n, capacity;
  uint8_t **objects, **classes;  /* by snapshot and number: 1 if named */
  uint64_t named;                /* number of objects */
  uint64_t n_objects, n_waiting; /* of these in the report, and in the current piece */
  uint64_t left[N_SHARES];       /* remaining work */
  bool is_full;
} report;

/* ==== What is named ================================================================== */

static void name(report *r, const named *it, uint8_t *seen) {
  if (*seen != 0) return;
  *seen = 1;
  if (r->n == r->capacity) {
    r->capacity = 2 * r->capacity + 64;
    r->list = cli_must(realloc(r->list, r->capacity * sizeof *r->list));
  }
  r->list[r->n++] = *it;
}

static void name_object(report *r, size_t in, uint64_t address) {
  const lh_snapshot *s = r->v->snapshots[in];
  lh_id id = lh_find_address(s, address);
  if (id == LH_NO_OBJECT) return;
  if (r->objects[in] == NULL) r->objects[in] = cli_must(calloc((size_t)lh_object_count(s) + 1, 1));
  const named it = {.in = in, .id = id, .bytes = lh_retained_bytes(s, id)};
  name(r, &it, &r->objects[in][id]);
}

static void name_class(report *r, size_t in, uint32_t class_index) {
  const lh_snapshot *s = r->v->snapshots[in];
  if (class_index == UINT32_MAX) return;
  if (r->classes[in] == NULL) r->classes[in] = cli_must(calloc(lh_class_count(s) + (size_t)1, 1));
  const named it = {.in = in,
                    .id = LH_NO_OBJECT,
                    .class_index = class_index,
                    .bytes = lh_class_at(s, class_index)->shallow_bytes};
  name(r, &it, &r->classes[in][class_index]);
}

static void name_root(report *r) {
  size_t in = r->v->n - 1;
  const named it = {
      .in = in, .id = LH_ROOT, .bytes = lh_retained_bytes(r->v->snapshots[in], LH_ROOT)};
  uint8_t seen = 0;
  name(r, &it, &seen);
}

/* Each address in an answer may be clicked. */
static void find_named(report *r, size_t in, const char *answer) {
  if (r->v->n == 0) return;
  for (const char *at = answer; (at = strstr(at, "0x")) != NULL;) {
    char *end;
    uint64_t address = strtoull(at, &end, 16);
    if (end > at + 2) name_object(r, in, address);
    at = end > at ? end : at + 2;
  }
}

/* ==== Packing ======================================================================== */

static void put_base64(FILE *out, const unsigned char *bytes, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    unsigned long three = (unsigned long)bytes[i] << 16;
    if (i + 1 < n) three |= (unsigned long)bytes[i + 1] << 8;
    if (i + 2 < n) three |= bytes[i + 2];
    putc_unlocked(digits[three >> 18], out);
    putc_unlocked(digits[three >> 12 & 63], out);
    putc_unlocked(i + 1 < n ? digits[three >> 6 & 63] : '=', out);
    putc_unlocked(i + 2 < n ? digits[three & 63] : '=', out);
  }
}

static size_t written_bytes(report *r) {
  return fflush(r->out) == 0 ? r->to->n_bytes : SIZE_MAX / 2;
}

/* Adds the text as a JSON string, deflated, if it fits. Its size is known only then. After a failed
** write nothing fits. */
static bool put_deflated(report *r, const char *before, const char *text, size_t n, size_t most) {
  uLongf size = compressBound(n);
  Bytef *packed = cli_must(malloc(size));
  if (compress2(packed, &size, (const Bytef *)text, n, LEVEL) != Z_OK) cli_must(NULL);
  bool fits = written_bytes(r) + (size + 2) / 3 * 4 <= most;
  if (fits) {
    fprintf(r->out, "%s\"", before);
    put_base64(r->out, packed, size);
    putc('"', r->out);
  }
  free(packed);
  return fits;
}

static void begin_buffer(buffer *b) {
  b->file = cli_open_text(&b->text, &b->size);
}

static void end_buffer(buffer *b) {
  cli_close_text(b->file);
  free(b->text);
}

/* libc ends the text only where it was never longer. */
static size_t buffer_size(buffer *b) {
  if (fflush(b->file) != 0) cli_must(NULL);
  b->text[b->size] = '\0';
  return b->size;
}

static void cut_buffer(buffer *b, size_t size) {
  if (fseeko(b->file, (off_t)size, SEEK_SET) != 0 || fflush(b->file) != 0) cli_must(NULL);
}

/* Adds the current piece to the report. One that does not fit is dropped whole, about 1 % of the
** report, which is then full. */
static void pack(report *r) {
  size_t n_keys = buffer_size(&r->keys), n_index = buffer_size(&r->index);
  if (n_keys == 0 || r->is_full) return;
  putc('}', r->answers.file);
  size_t n = buffer_size(&r->answers),
         kept = (n_index + n_keys) / INDEX_SHRINKS + ROOM_FOR_THE_REST;
  r->is_full = !put_deflated(r, n_index > 0 ? ",\n" : "", r->answers.text, n,
                             r->most_bytes > kept ? r->most_bytes - kept : 0);
  if (!r->is_full) {
    fprintf(r->index.file, "%c[%s]", n_index > 0 ? ',' : '[', r->keys.text);
    r->n_objects += r->n_waiting;
  }
  r->n_waiting = 0;
  cut_buffer(&r->answers, 0);
  cut_buffer(&r->keys, 0);
}

/* ==== Answers ======================================================================== */

enum { MOST_ADDED = 3 };
typedef struct added {
  view_parameter list[MOST_ADDED];
  size_t n;
} added;

static added with(added to, const char *key, const char *value) {
  to.list[to.n++] = (view_parameter){key, value};
  return to;
}

/* Merges the added parameters into a key such as "classes?limit=20", in order. */
static void make_question(view_question *q, char *key, const added *more) {
  view_take_key(key, q);
  for (size_t i = 0; i < more->n; i++) {
    size_t at = q->n++;
    for (; at > 0 && strcmp(q->parameters[at - 1].key, more->list[i].key) > 0; at--)
      q->parameters[at] = q->parameters[at - 1];
    q->parameters[at] = more->list[i];
  }
}

/* Adds answers and their keys to the piece; begins it with a brace if it is empty. */
static void ask(report *r, const char *list, size_t in, added more) {
  char number[24];
  snprintf(number, sizeof number, "%zu", in);
  if (r->v->n > 0 && in + 1 < r->v->n) more = with(more, "in", number);
  char *copy = cli_must(strdup(list)), *rest = copy;
  for (char *words; (words = strsep(&rest, " ")) != NULL;) {
    view_question q;
    make_question(&q, words, &more);
    char *key = view_key(&q);
    bool follows = buffer_size(&r->keys) > 0;
    fprintf(r->answers.file, "%c\"%s\":", follows ? ',' : '{', key);
    fprintf(r->keys.file, "%s\"%s\"", follows ? "," : "", key);
    (void)view_answer(r->v, &q, r->answers.file);
    free(key);
  }
  free(copy);
}

/* Adds deflated answers, all or none. False: the report is full. */
static bool carry(report *r, const char *list, size_t in, added more) {
  size_t from = buffer_size(&r->answers), from_key = buffer_size(&r->keys);
  if (r->is_full) return false;
  ask(r, list, in, more);
  size_t n = buffer_size(&r->answers) - from;
  r->left[OF_TEXT] -= n < r->left[OF_TEXT] ? n : r->left[OF_TEXT];
  find_named(r, in, r->answers.text + from);
  if (n > MOST_TOGETHER) {
    cut_buffer(&r->answers, from);
    cut_buffer(&r->keys, from_key);
  }
  if (buffer_size(&r->answers) >= PIECE_BYTES) pack(r);
  return true;
}

static void carry_plain(report *r, const char *key, size_t in) {
  ask(r, key, in, (added){0});
  (void)buffer_size(&r->answers);
  find_named(r, in, r->answers.text);
  if (r->n_plain++ > 0) fputs(",\n", r->out);
  view_page_json(r->out, r->answers.text + 1);
  cut_buffer(&r->answers, 0);
  cut_buffer(&r->keys, 0);
}

/* Adds each answer on its own, except those of the first page: a piece that ends between the
** answers of one page takes less memory. */
static void carry_each(report *r, const char *list, size_t in, added more) {
  char *copy = cli_must(strdup(list)), *rest = copy;
  for (char *key; (key = strsep(&rest, " ")) != NULL;) {
    bool is_told = false;
    for (const char *const *told = view_verdict(r->v); *told != NULL; told++)
      is_told |= more.n == 0 && strcmp(*told, key) == 0;
    if (!is_told) (void)carry(r, key, in, more);
  }
  free(copy);
}

static void carry_opening(report *r) {
  size_t last = r->v->n > 0 ? r->v->n - 1 : 0;
  carry_plain(r, "overview", last);
  for (const char *const *key = view_verdict(r->v); *key != NULL; key++) carry_plain(r, *key, last);
}

/* The first page for an older snapshot, without what only all snapshots show. */
static void carry_verdict(report *r, size_t in) {
  for (const char *const *key = view_verdict(r->v) + 1; *key != NULL; key++)
    (void)carry(r, *key, in, (added){0});
}

/* Ends at the start or end of the allocation order are left out, as pages do. */
static void carry_interval(report *r, uint64_t since, uint64_t until) {
  const size_t in = r->v->n - 1;
  char from[24], to[24];
  added ends = {0};
  snprintf(from, sizeof from, "%llu", (unsigned long long)since);
  snprintf(to, sizeof to, "%llu", (unsigned long long)until);
  if (since > 0) ends = with(ends, "since", from);
  if (until < lh_position_count(r->v->snapshots[in])) ends = with(ends, "until", to);
  carry_each(r, OF_INTERVAL, in, ends);
}

/* Intervals between marks of the last snapshot, its start and end; the shortest first. */
static void carry_intervals(report *r) {
  const lh_snapshot *s = r->v->snapshots[r->v->n - 1];
  uint32_t n_marks = lh_mark_count(s), n = 0, n_carried = 0;
  uint64_t *stops = cli_must(calloc(n_marks + 2, sizeof *stops));
  for (uint32_t i = 0; i <= n_marks; i++) {
    uint64_t stop = i < n_marks ? lh_mark_position(s, i) : lh_position_count(s);
    if (stop > stops[n]) stops[++n] = stop;
  }
  for (uint32_t length = 1; length < n; length++)
    for (uint32_t i = 0; i + length <= n && n_carried < MOST_INTERVALS; i++, n_carried++)
      carry_interval(r, stops[i], stops[i + length]);
  free(stops);
}

static void carry_snapshot(report *r, size_t in) {
  size_t n = r->v->n;
  lh_snapshot *s = r->v->snapshots[in];
  carry_each(r, OF_TREES, in, (added){0});
  if (n > 1) carry_each(r, OF_NEW_TREES, in, (added){0});
  if (in + 1 == n) carry_intervals(r);
  lh_drop_pictures(s);
  carry_each(r, OF_AGES, in, (added){0});
  lh_drop_pictures(s);
  carry_each(r, OF_LISTS, in, (added){0});
  if (n > 1) carry_each(r, OF_SEVERAL, in, (added){0});
  if (in + 1 < n) carry_verdict(r, in);
}

static void carry_tops(report *r) {
  size_t n = r->v->n, last = n > 0 ? n - 1 : 0;
  if (r->v->usage != NULL) carry_each(r, OF_PROFILE, last, (added){0});
  if (n > 1) carry_each(r, OF_ALL, last, (added){0});
  for (size_t in = n; in-- > 0;) carry_snapshot(r, in);
}

/* ==== Objects and classes ============================================================= */

static int compare_named(const void *a, const void *b) {
  const named *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  if (x->in != y->in) return x->in > y->in ? -1 : 1;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

/* False: not enough work is left; nothing is spent. */
static bool spend(report *r, share of, uint64_t work) {
  if (work > r->left[of]) return false;
  r->left[of] -= work;
  return true;
}

static bool carry_class(report *r, const named *it) {
  const lh_snapshot *s = r->v->snapshots[it->in];
  added name = with((added){0}, "class", lh_class_at(s, it->class_index)->name);
  if (!spend(r, OF_CLASSES, lh_snapshot_info(s)->file_bytes * 2 / 5)) return true;
  return carry(r, OF_CLASS, it->in, name);
}

static bool has_steps_left(report *r, const named *it) {
  const lh_snapshot *s = r->v->snapshots[it->in];
  uint32_t n = lh_is_reachable(s, it->id) ? lh_distance(s, it->id) : 0;
  if (n <= NEAR_STEPS) return true;
  return n <= MOST_STEPS && spend(r, OF_FAR, lh_object_count(s) / 4 + (uint64_t)n * WORK_OF_A_STEP);
}

static bool carry_object(report *r, const named *it) {
  const lh_snapshot *s = r->v->snapshots[it->in];
  lh_number address = lh_address_text(s, it->id);
  added at = with((added){0}, "at", it->id == LH_ROOT ? "root" : address.text);
  if (r->n_objects + r->n_waiting >= MOST_OBJECTS || !has_steps_left(r, it)) return true;
  bool is_worthy = spend(r, OF_PASSES, lh_snapshot_info(s)->file_bytes / 3 + WORK_OF_A_PICTURE);
  r->n_waiting += it->id != LH_ROOT;
  if (!carry(r, is_worthy ? OF_OBJECT " " OF_WORTHY_OBJECT : OF_OBJECT, it->in, at)) return false;
  name_class(r, it->in, lh_class_of(s, it->id));
  return true;
}

/* Adds all named, by size or in order; those named in their answers follow in the next round. */
static void carry_round(report *r, bool by_size) {
  named *round = r->list;
  size_t n = r->n;
  r->list = NULL;
  r->n = r->capacity = 0;
  if (by_size && n > 1) qsort(round, n, sizeof *round, compare_named);
  for (size_t i = 0; i < n; i++) {
    r->named += round[i].id != LH_NO_OBJECT && round[i].id != LH_ROOT;
    r->is_full = r->is_full || r->left[OF_TEXT] == 0 ||
                 !(round[i].id == LH_NO_OBJECT ? carry_class : carry_object)(r, &round[i]);
  }
  free(round);
}

/* ==== The file ======================================================================= */

static uint64_t count_objects(const view *v) {
  uint64_t n = 0;
  for (size_t i = 0; i < v->n; i++) n += lh_object_count(v->snapshots[i]);
  return n;
}

static void begin_work(report *r) {
  uint64_t work = LEAST_WORK;
  for (size_t i = 0; i < r->v->n; i++)
    work += lh_snapshot_info(r->v->snapshots[i])->file_bytes * WORK_OF_A_BYTE;
  for (size_t i = 0; i < N_SHARES; i++) r->left[i] = work / part_of[i];
}

/* {"questions": {KEY: ANSWER, ...}, "pieces" and "index": the deflated answers, "objects": number
** with a page here, of `named` ones, of `all`}. */
static void put_carried(report *r) {
  fputs("{\"questions\":{", r->out);
  carry_opening(r);
  fputs("},\n\"pieces\":[", r->out);
  carry_round(r, false);
  carry_tops(r);
  if (r->v->n > 0) name_root(r);
  while (r->n > 0) carry_round(r, true);
  pack(r);
  fputs(buffer_size(&r->index) > 0 ? "]" : "[]", r->index.file);
  size_t n = buffer_size(&r->index);
  (void)put_deflated(r, "],\n\"index\":", r->index.text, n, SIZE_MAX / 4);
  fprintf(r->out, ",\n\"objects\":%llu,\"named\":%llu,\"all\":%llu}\n",
          (unsigned long long)r->n_objects, (unsigned long long)r->named,
          (unsigned long long)count_objects(r->v));
}

static void put_report(view *v, target *to, FILE *out) {
  report r = {.v = v, .to = to, .out = out, .most_bytes = MOST_BYTES - view_page_begin(out)};
  r.objects = cli_must(calloc(v->n + 1, sizeof *r.objects));
  r.classes = cli_must(calloc(v->n + 1, sizeof *r.classes));
  buffer *buffers[] = {&r.answers, &r.keys, &r.index};
  for (size_t i = 0; i < 3; i++) begin_buffer(buffers[i]);
  begin_work(&r);
  put_carried(&r);
  view_page_end(out);
  for (size_t i = 0; i < 3; i++) end_buffer(buffers[i]);
  for (size_t i = 0; i < v->n; i++) {
    free(r.objects[i]);
    free(r.classes[i]);
  }
  free(r.objects);
  free(r.classes);
}

/* Only a report may be replaced: `heapview -o a b c` would overwrite a snapshot. */
static void check_old(cli *c, const char *path) {
  static const char begins[] = "<!doctype html>";
  char begin[sizeof begins] = "";
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return; /* cli_check_writable reports it */
  ssize_t n = read(file, begin, sizeof begin - 1);
  (void)close(file);
  if (n > 0 && strcasecmp(begin, begins) != 0)
    cli_die(c, NULL,
            "%s: there is a file which is no report: it stays as it is; choose another "
            "name",
            path);
}

void view_check_report(cli *c, const char *path) {
  check_old(c, path);
  cli_check_writable(c, path);
}

/* Some answers depend on which snapshots are analysed, so all are. */
static void prepare_all(const view *v) {
  lh_error error;
  for (size_t i = 0; i < v->n; i++)
    cli_check(v->c, cli_try_analyse(v->c, v->files[i], v->snapshots[i], &error), v->files[i],
              &error);
}

static ssize_t write_bytes(void *cookie, const char *bytes, size_t n) {
  target *to = cookie;
  size_t done = lh_file_write(bytes, n, to->file);
  to->n_bytes += done;
  return (ssize_t)done;
}

static target of_process; /* one report for each */

/* If the process ends amid a report, no half of it stays under a temporary name. */
static void discard(void) {
  lh_discard_file(of_process.file);
  of_process.file = NULL;
}

void view_write(view *v, const char *path) {
  const cookie_io_functions_t functions = {.write = write_bytes};
  target *to = &of_process;
  lh_error error;
  prepare_all(v);
  cli_progress(v->c, "writing %s", path);
  v->is_written = true;
  (void)atexit(discard);
  cli_check(v->c, lh_create_file(&to->file, path, &error), NULL, &error);
  FILE *out = cli_must(fopencookie(to, "w", functions));
  put_report(v, to, out);
  (void)fclose(out); /* a failed write is latched in the file */
  int code = lh_complete_file(to->file, &error);
  cli_progress(v->c, NULL);
  cli_check(v->c, code, NULL, &error);
  discard();
}
