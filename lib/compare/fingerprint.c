/*
** fingerprint.c - what stays the same about a group of objects from run to run, from machine to
** machine and from build to build: a hash of its class and its folded path, with what is volatile
** in them left out (lh_stable_text). Of classes a record's is known by all its keys; an array, a
** map and an empty table are alike, since what a collection is called follows what is in it.
*/
#include <ctype.h>
#include <string.h>

#include "diff.h"
#include "name/fold.h"

/* {=== Text without what varies ====================================================== */

static size_t n_digits(const char *p) {
  size_t n = 0;
  while (isdigit((unsigned char)p[n])) n++;
  return n;
}

static size_t n_hex_digits(const char *p) {
  size_t n = 0;
  while (isxdigit((unsigned char)p[n])) n++;
  return n;
}

/* Bytes of the directory in a source's name, such as @/usr/share/app.lua:31 (behind the @). */
static size_t directory_length(const char *p) {
  size_t directory = 0;
  for (size_t i = 0; p[i] && p[i] != ')' && p[i] != '"'; i++) {
    if (p[i] == ':' && n_digits(p + i + 1)) break;
    if (strncmp(p + i, " of ", 4) == 0 || strncmp(p + i, " in ", 4) == 0) break;
    if (p[i] == '/') directory = i + 1;
  }
  return directory;
}

/* Bytes of a string in quotes, the quotes included. */
static size_t quoted_length(const char *p) {
  size_t n = 1;
  while (p[n] && p[n] != '"') n += p[n] == '\\' && p[n + 1] ? 2 : 1;
  return p[n] ? n + 1 : n;
}

void lh_stable_text(lh_text *out, const char *text) {
  for (const char *p = text; *p;) {
    size_t taken = *p == '"' ? quoted_length(p) : 1;
    if (strncmp(p, "0x", 2) == 0) taken = 2;
    lh_text_add(out, p, taken);
    if (*p == '@') taken += directory_length(p + 1);
    if (taken == 2 && *p == '0') taken += n_hex_digits(p + 2);
    p += taken;
    if (*p == ':' && n_digits(p + 1)) p += 1 + n_digits(p + 1);
  }
}

/* }=================================================================================== */

/* {=== Fingerprints =================================================================== */

/* What is the same about a class: its name, type and fields; collections are alike. */
static void add_stable_class(lh_text *out, const lh_class_entry *class) {
  bool is_collection = class->plain != LH_NO_NUMBER || strcmp(class->visible.name, "{}") == 0;
  if (is_collection) {
    lh_text_string(out, "collection");
    return;
  }
  lh_stable_text(out, class->visible.name);
  lh_text_format(out, " %s %llx", lh_type_name(class->visible.type),
                 (unsigned long long)class->shape);
}

static bool fold_digits(lh_text *out, const char *text) {
  bool any = false;
  for (size_t n; *text; text += n > 0 ? n : 1) {
    n = n_digits(text);
    any = any || n > 0;
    lh_text_add(out, n > 0 ? "*" : text, 1);
  }
  return any;
}

/* Only where a name begins with _G or package.loaded: elsewhere numbers are lines of functions and
** the like, and keys that are many are [*]. */
bool lh_fold_numbers(lh_text *out, const char *path) {
  size_t n = strncmp(path, "package.loaded", 14) == 0 ? 14 : strncmp(path, "_G", 2) == 0 ? 2 : 0;
  return n > 0 && (path[n] == '.' || path[n] == '[') && fold_digits(out, path);
}

bool lh_fold_module(lh_text *out, const lh_class *class) {
  return class->type == LH_TYPE_TABLE && strncmp(class->name, "module ", 7) == 0 &&
         fold_digits(out, class->name);
}

bool lh_fingerprint(const lh_class_entry *class, const char *path,
                    char fingerprint[LH_FINGERPRINT_BYTES]) {
  lh_text text = {0};
  add_stable_class(&text, class);
  lh_text_string(&text, " <- ");
  lh_stable_text(&text, path);
  uint64_t hash = lh_hash(text.bytes, text.n, 0);
  if (!text.failed)
    (void)snprintf(fingerprint, LH_FINGERPRINT_BYTES, "%010llx", (unsigned long long)(hash >> 24));
  bool ok = !text.failed;
  lh_text_free(&text);
  return ok;
}

static bool set_folded(const lh_class_entry *class, char *path, lh_prints *prints) {
  lh_class_entry any = *class;
  lh_text module = {0};
  char *name = NULL;
  bool ok = path != NULL;
  if (ok && lh_fold_module(&module, &class->visible)) {
    name = lh_text_finish(&module);
    any.visible.name = name;
    ok = name != NULL;
  } else {
    lh_text_free(&module);
  }
  ok = ok && lh_fingerprint(&any, path, prints->folded);
  lh_free(name);
  lh_free(path);
  return ok;
}

bool lh_fingerprints(const lh_folder *folder, uint32_t state, const lh_class_entry *class,
                     lh_prints *prints) {
  lh_text text = {0}, numbers = {0};
  *prints = (lh_prints){{0}, {0}};
  lh_fold_text(folder, state, false, &text);
  char *path = lh_text_finish(&text);
  bool ok = path && lh_fingerprint(class, path, prints->exact);
  if (ok && lh_fold_numbers(&numbers, path))
    ok = set_folded(class, lh_text_finish(&numbers), prints);
  else
    lh_text_free(&numbers);
  lh_free(path);
  return ok;
}

/* }=================================================================================== */

/* {=== The objects with a fingerprint ================================================= */

/* What objects of one class under one folded path have in common. */
typedef struct kind {
  uint32_t class_index; /* UINT32_MAX: they have none, and no fingerprint */
  uint32_t state;
  bool wanted;
  lh_prints prints;
} kind;

/* One walk finds the kind of each object, after which each fingerprint takes a pass over them. */
typedef struct finder {
  const lh_snapshot *snapshot;
  lh_folder folder;
  kind *kinds; /* the first is the root's */
  size_t n_kinds, kind_capacity;
  lh_map known;      /* class, state -> kind */
  uint32_t *kind_of; /* of each object */
  uint32_t *below;   /* of each object: the class of its nearest dominator, or itself, with it */
  lh_id *order;      /* the reachable objects, each behind its dominators */
  size_t n_order;
} finder;

static uint32_t make_kind(finder *f, lh_id id, uint32_t class_index, uint32_t state) {
  uint32_t *known = lh_map_at(&f->known, (uint64_t)class_index << 32 | state);
  if (!known || *known != LH_NO_NUMBER) return known ? *known : LH_NO_NUMBER;
  kind made = {.class_index = class_index, .state = state};
  if (class_index != UINT32_MAX &&
      !lh_fingerprints(&f->folder, state, lh_class_entry_of(f->snapshot, id), &made.prints))
    return LH_NO_NUMBER;
  if (!lh_grow(&f->kinds, f->n_kinds, &f->kind_capacity, sizeof made)) return LH_NO_NUMBER;
  f->kinds[f->n_kinds] = made;
  *known = (uint32_t)f->n_kinds++;
  return *known;
}

/* An object's dominators are on all paths to it, so they were visited before. */
static bool visit(const lh_edge *edge, bool any_key, void *payload) {
  finder *f = payload;
  lh_id id = edge->target;
  uint32_t before = f->kinds[f->kind_of[edge->source]].state;
  uint32_t state = lh_fold_step(&f->folder, before, edge, any_key);
  if (state == LH_NO_NUMBER) return false;
  f->kind_of[id] = make_kind(f, id, lh_class_of(f->snapshot, id), state);
  f->order[f->n_order++] = id;
  return f->kind_of[id] != LH_NO_NUMBER;
}

static void end_finder(finder *f) {
  lh_free(f->kinds);
  lh_free(f->kind_of);
  lh_free(f->below);
  lh_free(f->order);
  lh_map_free(&f->known);
  lh_folder_free(&f->folder);
}

static bool walk(finder *f) {
  const lh_snapshot *snapshot = f->snapshot;
  size_t n_all = 0, n = (size_t)snapshot->n + 1;
  lh_id *all = lh_alloc(n, sizeof *all);
  f->kind_of = lh_alloc(n, sizeof *f->kind_of);
  f->below = lh_alloc(n, sizeof *f->below);
  f->order = lh_alloc(n, sizeof *f->order);
  bool ok = all && f->kind_of && f->below && f->order &&
            make_kind(f, LH_ROOT, UINT32_MAX, LH_FOLD_START) == 0;
  if (ok) f->kind_of[LH_ROOT] = 0;
  for (lh_id id = 1; ok && id <= snapshot->n; id++)
    if (lh_is_reachable(snapshot, id)) all[n_all++] = id;
  ok = ok && lh_walk_paths(snapshot, all, n_all, visit, f);
  lh_free(all);
  return ok;
}

static int begin_finder(finder *f, const lh_snapshot *snapshot, lh_error *error) {
  *f = (finder){.snapshot = snapshot};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "fingerprints need the classes of a snapshot");
  int code = lh_folder_init(&f->folder, snapshot, error);
  if (code == LH_OK && !walk(f)) {
    end_finder(f);
    code = lh_fail_memory(error, "looking for a fingerprint");
  }
  return code;
}

/* How many objects have it; found[], which may be NULL: they. */
static size_t find(finder *f, const char *fingerprint, lh_id *found) {
  size_t n = 0;
  for (size_t i = 0; i < f->n_kinds; i++) {
    kind *k = &f->kinds[i];
    k->wanted =
        strcmp(k->prints.exact, fingerprint) == 0 || strcmp(k->prints.folded, fingerprint) == 0;
  }
  f->below[LH_ROOT] = UINT32_MAX;
  for (size_t i = 0; i < f->n_order; i++) {
    lh_id id = f->order[i];
    const kind *k = &f->kinds[f->kind_of[id]];
    f->below[id] = k->wanted ? k->class_index : f->below[f->snapshot->idom[id]];
    if (k->class_index == UINT32_MAX || k->class_index != f->below[id]) continue;
    if (found) found[n] = id;
    n++;
  }
  return n;
}

bool lh_is_fingerprint(const char *text) {
  return strlen(text) == LH_FINGERPRINT_BYTES - 1 &&
         strspn(text, "0123456789abcdef") == LH_FINGERPRINT_BYTES - 1;
}

static int check_fingerprint(const char *text, lh_error *error) {
  return lh_is_fingerprint(text)
             ? LH_OK
             : lh_fail(error, LH_EARGUMENT, "a fingerprint is %d digits of 0-9 and a-f",
                       LH_FINGERPRINT_BYTES - 1);
}

int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error) {
  finder f;
  int code = check_fingerprint(fingerprint, error);
  if (code == LH_OK) code = begin_finder(&f, snapshot, error);
  if (code != LH_OK) return code;
  size_t n = find(&f, fingerprint, NULL);
  lh_id *found = n > 0 ? lh_alloc(n, sizeof *found) : NULL;
  if (found) {
    *ids = found;
    *n_ids = find(&f, fingerprint, found);
  } else {
    code = n > 0 ? lh_fail_memory(error, "looking for a fingerprint")
                 : lh_fail(error, LH_ENOTFOUND, "no object in the snapshot has the fingerprint %s",
                           fingerprint);
  }
  end_finder(&f);
  return code;
}

int lh_count_with(lh_snapshot *snapshot, const char *const *fingerprints, size_t n_fingerprints,
                  uint64_t *counts, lh_error *error) {
  finder f;
  int code = LH_OK;
  for (size_t i = 0; i < n_fingerprints && code == LH_OK; i++)
    code = check_fingerprint(fingerprints[i], error);
  if (code == LH_OK) code = begin_finder(&f, snapshot, error);
  if (code != LH_OK) return code;
  for (size_t i = 0; i < n_fingerprints; i++) counts[i] = find(&f, fingerprints[i], NULL);
  end_finder(&f);
  return LH_OK;
}

/* }=================================================================================== */
