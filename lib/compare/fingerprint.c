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

enum { IS_OTHER, IS_WANTED };

typedef struct finder {
  const lh_snapshot *snapshot;
  const char *fingerprint;
  lh_folder folder;
  uint32_t *state; /* of each object */
  uint32_t *below; /* of each object: the class of its nearest dominator, or itself, with it */
  lh_map known;    /* class, state -> IS_OTHER or IS_WANTED */
  lh_id *found;
  size_t n_found, capacity;
} finder;

static bool has_fingerprint(finder *f, lh_id id, bool *answer) {
  uint32_t class_index = lh_class_of(f->snapshot, id), state = f->state[id];
  *answer = false;
  if (class_index == UINT32_MAX) return true;
  uint32_t *known = lh_map_at(&f->known, (uint64_t)class_index << 32 | state);
  if (!known) return false;
  if (*known == LH_NO_NUMBER) {
    lh_prints prints;
    if (!lh_fingerprints(&f->folder, state, lh_class_entry_of(f->snapshot, id), &prints))
      return false;
    *known = strcmp(prints.exact, f->fingerprint) == 0 || strcmp(prints.folded, f->fingerprint) == 0
                 ? IS_WANTED
                 : IS_OTHER;
  }
  *answer = *known == IS_WANTED;
  return true;
}

/* An object's dominators are on all paths to it, so they were visited before. */
static bool visit(const lh_edge *edge, bool any_key, void *payload) {
  finder *f = payload;
  lh_id id = edge->target;
  bool found;
  f->state[id] = lh_fold_step(&f->folder, f->state[edge->source], edge, any_key);
  if (f->state[id] == LH_NO_NUMBER || !has_fingerprint(f, id, &found)) return false;
  uint32_t class_index = lh_class_of(f->snapshot, id);
  f->below[id] = found ? class_index : f->below[f->snapshot->idom[id]];
  if (class_index == UINT32_MAX || class_index != f->below[id]) return true;
  if (!lh_grow(&f->found, f->n_found, &f->capacity, sizeof *f->found)) return false;
  f->found[f->n_found++] = id;
  return true;
}

bool lh_is_fingerprint(const char *text) {
  return strlen(text) == LH_FINGERPRINT_BYTES - 1 &&
         strspn(text, "0123456789abcdef") == LH_FINGERPRINT_BYTES - 1;
}

int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error) {
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "fingerprints need the classes of a snapshot");
  if (!lh_is_fingerprint(fingerprint))
    return lh_fail(error, LH_EARGUMENT, "a fingerprint is %d digits of 0-9 and a-f",
                   LH_FINGERPRINT_BYTES - 1);
  finder f = {.snapshot = snapshot, .fingerprint = fingerprint};
  lh_id *all = NULL;
  int code = lh_folder_init(&f.folder, snapshot, error);
  if (code) return code;
  code = LH_EMEMORY;
  f.state = lh_alloc_zeroed((size_t)snapshot->n + 1, sizeof *f.state);
  f.below = lh_alloc((size_t)snapshot->n + 1, sizeof *f.below);
  all = lh_alloc(snapshot->n, sizeof *all);
  if (!f.state || !f.below || !all) goto out;
  f.below[LH_ROOT] = UINT32_MAX;
  size_t n_all = 0;
  for (lh_id id = 1; id <= snapshot->n; id++)
    if (lh_is_reachable(snapshot, id)) all[n_all++] = id;
  if (!lh_walk_paths(snapshot, all, n_all, visit, &f)) goto out;
  code = f.n_found ? 0 : LH_ENOTFOUND;
  if (code) goto out;
  *ids = f.found;
  *n_ids = f.n_found;
  f.found = NULL;
out:
  lh_free(all);
  lh_free(f.state);
  lh_free(f.below);
  lh_free(f.found);
  lh_map_free(&f.known);
  lh_folder_free(&f.folder);
  if (code == LH_ENOTFOUND)
    return lh_fail(error, code, "no object in the snapshot has the fingerprint %s", fingerprint);
  return code ? lh_fail_memory(error, "looking for a fingerprint") : 0;
}

/* }=================================================================================== */
