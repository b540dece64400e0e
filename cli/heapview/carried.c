/*
** carried.c - a report: the page, with the answers that it may ask for, in one file that needs
** neither snapshots nor a server nor a network.
**
** Answers are carried in the order of their worth until the file is full: what was opened, what the
** first page tells, the tops of the pictures; then the objects and classes that are named in these,
** the biggest first, then those that are named there, and so on. So all of a small heap is in it,
** and of two million objects the thousands that anybody would click. An object is there with all
** that its page asks, or not at all. What a picture leaves out is a tile of it with its bytes, so
** all sums are as they are when served; what is not carried the page says, and how to see it.
**
** What the page asks first stands as it is; all else is deflated (pieces.h). The same files make the
** same report, byte by byte.
*/
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "heapview.h"
#include "pieces.h"

/* As big a file as is mailed without a thought. */
enum { MOST_BYTES = 5000000 };

/* {=== What a page may ask for ========================================================= */

/* Of each snapshot, the last one first. */
static const char *const of_snapshot[] = {"info",
                                          "leaks?limit=20",
                                          "epochs",
                                          "sites?limit=20",
                                          "modules?limit=20",
                                          "threads?limit=20",
                                          "classes?limit=20",
                                          "objects?limit=20",
                                          "growing?limit=20",
                                          "map"};

static const char *const of_several[] = {"owners?limit=20", "strings?limit=20"};

/* Of so few that the first page does not tell it. */
static const char *const of_few[] = {"ladder?limit=20"};

static const char *const of_profile[] = {"findings", "profile", "advice?limit=20"};

/* Of an object, with its address: at=0x55d0c0a3f2e0. */
static const char *const of_object[] = {"under?limit=20"};

/* Of a class, with its name: class=Session. */
static const char *const of_class[] = {"class?limit=20"};

/* }=================================================================================== */

/* Named in an answer that is carried. */
typedef struct named {
  size_t in; /* number of the snapshot */
  lh_id id;  /* LH_NO_OBJECT: a class */
  uint32_t class_index;
  uint64_t bytes; /* that it retains; of a class its objects' own */
} named;

typedef struct report {
  view *v;
  FILE *out;    /* what is not deflated: "KEY":ANSWER,... */
  size_t n_out; /* answers */
  pieces *pieces;
  named *list; /* of this round, and then of the next */
  size_t n, capacity;
  uint8_t **objects, **classes; /* of each snapshot: 1 for what was named */
  uint64_t named;               /* objects */
} report;

/* {=== What is named ================================================================== */

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

/* The class of an object that is named is asked about, too. */
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

/* Each address in an answer stands for an object that a page may lead to. */
static void find_named(report *r, size_t in, const char *answer) {
  if (r->v->n == 0) return;
  for (const char *at = answer; (at = strstr(at, "0x")) != NULL;) {
    char *end;
    uint64_t address = strtoull(at, &end, 16);
    if (end > at + 2) name_object(r, in, address);
    at = end > at ? end : at + 2;
  }
}

/* }=================================================================================== */

/* {=== Answers ======================================================================== */

/* "classes?limit=20" and one more parameter, which comes before the others of a table's key. */
static void make_question(view_question *q, char *key, view_parameter more, view_parameter in) {
  *q = (view_question){.name = strsep(&key, "?")};
  view_parameter all[VIEW_MOST_PARAMETERS];
  size_t n = 0;
  if (more.key != NULL) all[n++] = more;
  if (in.key != NULL) all[n++] = in;
  while (key != NULL) {
    char *value = strsep(&key, "&"), *word = strsep(&value, "=");
    all[n++] = (view_parameter){word, value};
  }
  for (size_t i = 0; i < n; i++) {
    size_t at = q->n++;
    for (; at > 0 && strcmp(q->parameters[at - 1].key, all[i].key) > 0; at--)
      q->parameters[at] = q->parameters[at - 1];
    q->parameters[at] = all[i];
  }
}

/* Answers that go together, and their keys. */
typedef struct answers {
  char *text, *keys;
  size_t n_text, n_keys;
} answers;

/* Asks all of these about one thing. */
static answers ask(report *r, const char *const *keys, size_t n, size_t in, view_parameter of) {
  answers a = {0};
  char number[24];
  bool is_last = r->v->n == 0 || in + 1 == r->v->n;
  FILE *text = cli_must(open_memstream(&a.text, &a.n_text));
  FILE *list = cli_must(open_memstream(&a.keys, &a.n_keys));
  snprintf(number, sizeof number, "%zu", in);
  for (size_t i = 0; i < n; i++) {
    char *words = cli_must(strdup(keys[i]));
    view_question q;
    make_question(&q, words, of, is_last ? (view_parameter){0} : (view_parameter){"in", number});
    char *key = view_key(&q);
    fprintf(text, "%s\"%s\":", i > 0 ? "," : "", key);
    fprintf(list, "%s\"%s\"", i > 0 ? "," : "", key);
    (void)view_answer(r->v, &q, text);
    free(key);
    free(words);
  }
  if (fclose(text) != 0 || fclose(list) != 0) cli_must(NULL);
  return a;
}

static void free_answers(answers *a) {
  free(a->text);
  free(a->keys);
}

/* As they are, for the page that opens. */
static void carry_plain(report *r, const char *const *keys, size_t n, size_t in) {
  answers a = ask(r, keys, n, in, (view_parameter){0});
  fprintf(r->out, "%s%s", r->n_out > 0 ? ",\n" : "", a.text);
  r->n_out += n;
  find_named(r, in, a.text);
  free_answers(&a);
}

/* Deflated, all or none. */
static bool carry(report *r, const char *const *keys, size_t n, size_t in, view_parameter of,
                  unsigned objects) {
  answers a = ask(r, keys, n, in, of);
  bool fits = pieces_add(r->pieces, a.text, a.keys, objects);
  if (fits) find_named(r, in, a.text);
  free_answers(&a);
  return fits;
}

/* The first page of the last snapshot has told some of them. */
static bool is_told(const view *v, const char *key, size_t in) {
  bool told = false;
  for (const char *const *verdict = view_verdict(v); *verdict != NULL; verdict++)
    told |= strcmp(*verdict, key) == 0;
  return told && (v->n == 0 || in + 1 == v->n);
}

static void carry_each(report *r, const char *const *keys, size_t n, size_t in) {
  for (size_t i = 0; i < n; i++)
    if (!is_told(r->v, keys[i], in)) (void)carry(r, &keys[i], 1, in, (view_parameter){0}, 0);
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* What the first page shows, which is opened with the file. */
static void carry_opening(report *r) {
  static const char *const overview[] = {"overview"};
  const char *const *verdict = view_verdict(r->v);
  size_t n_verdict = 0, last = r->v->n > 0 ? r->v->n - 1 : 0;
  while (verdict[n_verdict] != NULL) n_verdict++;
  carry_plain(r, overview, 1, last);
  carry_plain(r, verdict, n_verdict, last);
  if (r->v->n > 0) name_root(r);
}

/* What the others show when they are opened. */
static void carry_tops(report *r) {
  size_t last = r->v->n > 0 ? r->v->n - 1 : 0;
  if (r->v->usage != NULL && r->v->n > 0) carry_each(r, of_profile, COUNT(of_profile), last);
  if (r->v->n > 1) carry_each(r, of_several, COUNT(of_several), last);
  if (r->v->n > 1 && r->v->n <= 3) carry_each(r, of_few, COUNT(of_few), last);
  for (size_t in = r->v->n; in-- > 0;) carry_each(r, of_snapshot, COUNT(of_snapshot), in);
}

/* }=================================================================================== */

/* {=== Objects and classes ============================================================= */

static int compare_named(const void *a, const void *b) {
  const named *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  if (x->in != y->in) return x->in > y->in ? -1 : 1;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

static bool carry_one(report *r, const named *it) {
  const lh_snapshot *s = r->v->snapshots[it->in];
  if (it->id == LH_NO_OBJECT)
    return carry(r, of_class, COUNT(of_class), it->in,
                 (view_parameter){"class", lh_class_at(s, it->class_index)->name}, 0);
  lh_number address = lh_address_text(s, it->id);
  view_parameter at = {"at", it->id == LH_ROOT ? "root" : address.text};
  if (!carry(r, of_object, COUNT(of_object), it->in, at, it->id != LH_ROOT)) return false;
  name_class(r, it->in, lh_class_of(s, it->id));
  return true;
}

/* One round after the other, each of what the one before has named, until the file is full. */
static void carry_named(report *r) {
  bool fits = true;
  while (r->n > 0) {
    named *round = r->list;
    size_t n = r->n;
    r->list = NULL;
    r->n = r->capacity = 0;
    qsort(round, n, sizeof *round, compare_named);
    for (size_t i = 0; i < n; i++) {
      r->named += round[i].id != LH_NO_OBJECT && round[i].id != LH_ROOT;
      fits = fits && carry_one(r, &round[i]);
    }
    free(round);
  }
}

/* }=================================================================================== */

/* {=== The file ======================================================================= */

static uint64_t count_objects(const view *v) {
  uint64_t n = 0;
  for (size_t i = 0; i < v->n; i++) n += lh_object_count(v->snapshots[i]);
  return n;
}

/* {"questions": {KEY: ANSWER, ...}, "index" and "pieces": what is deflated, "objects": how many have
** a page here, of `named` that are named and `all` that there are}. */
static char *carried_text(view *v, size_t room, size_t *size) {
  char *plain = NULL, *text = NULL;
  size_t n_plain;
  report r = {.v = v, .out = cli_must(open_memstream(&plain, &n_plain))};
  r.objects = cli_must(calloc(v->n + 1, sizeof *r.objects));
  r.classes = cli_must(calloc(v->n + 1, sizeof *r.classes));
  carry_opening(&r);
  if (fclose(r.out) != 0) cli_must(NULL);
  r.pieces = pieces_begin(room > n_plain ? room - n_plain : 0);
  carry_tops(&r);
  carry_named(&r);
  FILE *out = cli_must(open_memstream(&text, size));
  fprintf(out, "{\"questions\":{%s},\n", plain);
  uint64_t objects = pieces_end(r.pieces, out);
  fprintf(out, ",\n\"objects\":%llu,\"named\":%llu,\"all\":%llu}\n", (unsigned long long)objects,
          (unsigned long long)r.named, (unsigned long long)count_objects(v));
  if (fclose(out) != 0) cli_must(NULL);
  for (size_t i = 0; i < v->n; i++) {
    free(r.objects[i]);
    free(r.classes[i]);
  }
  free(r.objects);
  free(r.classes);
  free(plain);
  return text;
}

/* Nothing but a report may be replaced: `heapview -o a b c` would cost somebody a snapshot. */
static void check_old(const view *v, const char *path) {
  static const char begins[] = "<!doctype html>";
  char begin[sizeof begins] = "";
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return; /* what that means is told when it is written */
  ssize_t n = read(file, begin, sizeof begin - 1);
  (void)close(file);
  if (n > 0 && strcasecmp(begin, begins) != 0)
    cli_die(v->c, NULL,
            "%s: there is a file which is no report: it stays as it is; choose another "
            "name",
            path);
}

void view_write(view *v, const char *path) {
  enum { ROOM_FOR_THE_REST = 4096 };
  char *carried, *text = NULL;
  size_t n_page, n_carried, size;
  lh_error error;
  check_old(v, path);
  cli_progress(v->c, "writing %s", path);
  v->is_written = true;
  (void)view_page(&n_page);
  carried = carried_text(v, MOST_BYTES - ROOM_FOR_THE_REST - n_page, &n_carried);
  FILE *out = cli_must(open_memstream(&text, &size));
  view_page_write(out, carried, n_carried);
  if (fclose(out) != 0) cli_must(NULL);
  free(carried);
  int code = lh_save(text, size, path, &error);
  cli_progress(v->c, NULL);
  cli_check(v->c, code, NULL, &error);
  free(text);
}

/* }=================================================================================== */
