/*
** fingerprint.c - makes fingerprints, which identify a group of objects in all runs and builds.
**
** A fingerprint is a hash of the class, without the volatile parts of its name, and of the identity
** of the place. A record's class is all its keys. Arrays, maps and empty tables are one class,
** because their names depend on their contents. Older fingerprints, without a number in front, are
** hashes of whole texts, from which volatile parts are removed by search. This release can make
** them, for files of --known.
*/
#include <ctype.h>
#include "place.h"

/* ==== Fingerprints =================================================================== */

/* the kind; older fingerprints have none */
#define KIND "2-"

/* Frees `what`. */
static bool print_of(lh_text *what, uint64_t identity, lh_print print) {
  bool ok = !what->failed;
  if (ok)
    (void)snprintf(print, sizeof(lh_print), KIND "%010llx",
                   (unsigned long long)(lh_hash(what->bytes, what->n, identity) >> 24));
  lh_text_free(what);
  return ok;
}

static uint64_t number_of_any(lh_type type, uint64_t identity) {
  char what[32];
  int n = snprintf(what, sizeof what, "any %s", lh_type_name(type));
  return lh_hash(what, (size_t)n, identity) >> 24;
}

static void print_any(lh_type type, uint64_t identity, lh_print print) {
  (void)snprintf(print, sizeof(lh_print), KIND "%010llx",
                 (unsigned long long)number_of_any(type, identity));
}

bool lh_fingerprint(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                    lh_print fingerprint) {
  lh_text text = {0};
  if (class->plain != LH_NO_NUMBER || class->is_empty)
    lh_text_string(&text, "collection");
  else
    lh_text_format(&text, "%s %s %llx", stable_name, lh_type_name(class->visible.type),
                   (unsigned long long)class->shape);
  return print_of(&text, identity, fingerprint);
}

bool lh_folded_fingerprint(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                           lh_print fingerprint) {
  lh_text module = {0};
  if (!lh_fold_module(&module, class))
    return lh_fingerprint(class, stable_name, identity, fingerprint);
  char *name = lh_text_finish(&module);
  bool ok = name && lh_fingerprint(class, name, identity, fingerprint);
  lh_free(name);
  return ok;
}

static bool set_folded(const lh_class_entry *class, const char *stable_name, uint64_t identity,
                       lh_prints *prints) {
  print_any(class->visible.type, identity, prints->any_folded);
  return lh_folded_fingerprint(class, stable_name, identity, prints->folded);
}

bool lh_fingerprints(const lh_folder *folder, uint32_t state, const lh_class_entry *class,
                     lh_prints *prints) {
  lh_place_tree *tree = folder->tree;
  const char *name = folder->snapshot->classes->texts.texts[class->stable];
  uint32_t place = folder->states[state].place, folded = lh_place_without_numbers(tree, place);
  uint64_t identity = tree->list[place].identity;
  *prints = (lh_prints){{0}, {0}, {0}, {0}};
  print_any(class->visible.type, identity, prints->any);
  return folded != LH_NO_NUMBER && lh_fingerprint(class, name, identity, prints->exact) &&
         (folded == LH_NO_PLACE || set_folded(class, name, tree->list[folded].identity, prints));
}

/* ==== The objects with a fingerprint ================================================= */

typedef struct finder {
  const lh_snapshot *snapshot;
  const lh_folds *folds;
  uint32_t *below; /* class at the nearest dominator with the print, or here */
} finder;

static int begin_finder(finder *f, const lh_snapshot *snapshot, lh_error *error) {
  *f = (finder){.snapshot = snapshot};
  if (!snapshot->classes)
    return lh_fail(error, LH_EARGUMENT, "fingerprints need the classes of a snapshot");
  f->folds = lh_folds_of(snapshot);
  f->below = lh_alloc((size_t)snapshot->n + 1, sizeof *f->below);
  if (f->folds && f->below) return LH_OK;
  lh_free(f->below);
  return lh_fail_memory(error, "looking for a fingerprint");
}

/* Luaheap's own objects have no fingerprint. */
static bool print_spot(const finder *f, size_t i, lh_prints *prints) {
  const lh_class_entry *classes = f->snapshot->classes->list;
  lh_spot spot = f->folds->spots[i];
  *prints = (lh_prints){{0}, {0}, {0}, {0}};
  if (spot.class_index == UINT32_MAX) return true;
  return lh_fingerprints(&f->folds->folder, spot.state, &classes[spot.class_index], prints);
}

static bool is_printed(const lh_prints *p, const char *print) {
  return strcmp(p->exact, print) == 0 || strcmp(p->folded, print) == 0 ||
         strcmp(p->any, print) == 0 || strcmp(p->any_folded, print) == 0;
}

static bool *find_wanted_spots(const finder *f, const char *fingerprint) {
  bool *wanted = lh_alloc(f->folds->n_spots, sizeof *wanted), ok = wanted != NULL;
  for (size_t i = 0; ok && i < f->folds->n_spots; i++) {
    lh_prints prints;
    ok = print_spot(f, i, &prints);
    wanted[i] = is_printed(&prints, fingerprint);
  }
  if (ok) return wanted;
  lh_free(wanted);
  return NULL;
}

/* Returns the number of objects, without those below another one of their class. */
static size_t find_printed(finder *f, const bool *wanted, lh_id *found) {
  size_t n = 0;
  f->below[LH_ROOT] = UINT32_MAX;
  for (size_t i = 1; i < f->folds->n; i++) {
    lh_id id = f->folds->order[i];
    uint32_t spot = f->folds->spot[id], class_index = f->folds->spots[spot].class_index;
    f->below[id] = wanted[spot] ? class_index : f->below[f->snapshot->idom[id]];
    if (class_index == UINT32_MAX || class_index != f->below[id]) continue;
    if (found) found[n] = id;
    n++;
  }
  return n;
}

bool lh_is_fingerprint(const char *text) {
  enum { N_DIGITS = LH_FINGERPRINT_BYTES - sizeof KIND };
  return strncmp(text, KIND, sizeof KIND - 1) == 0 && strlen(text) == LH_FINGERPRINT_BYTES - 1 &&
         strspn(text + sizeof KIND - 1, "0123456789abcdef") == N_DIGITS;
}

static int check_fingerprint(const char *text, lh_error *error) {
  return lh_is_fingerprint(text) ? LH_OK
                                 : lh_fail(error, LH_EARGUMENT,
                                           "a fingerprint is " KIND " and %d digits of 0-9 and a-f",
                                           LH_FINGERPRINT_BYTES - (int)sizeof KIND);
}

int lh_objects_with(lh_snapshot *snapshot, const char *fingerprint, lh_id **ids, size_t *n_ids,
                    lh_error *error) {
  finder f;
  int code = check_fingerprint(fingerprint, error);
  if (code == LH_OK) code = begin_finder(&f, snapshot, error);
  if (code != LH_OK) return code;
  bool *wanted = find_wanted_spots(&f, fingerprint);
  size_t n = wanted ? find_printed(&f, wanted, NULL) : 0;
  lh_id *found = n > 0 ? lh_alloc(n, sizeof *found) : NULL;
  if (found) {
    *ids = found;
    *n_ids = find_printed(&f, wanted, found);
  } else {
    code = n > 0 || !wanted
               ? lh_fail_memory(error, "looking for a fingerprint")
               : lh_fail(error, LH_ENOTFOUND, "no object in the snapshot has the fingerprint %s",
                         fingerprint);
  }
  LH_FREE_ALL(wanted, f.below);
  return code;
}

static uint64_t fingerprint_number(const char *print) {
  return strtoull(print + sizeof KIND - 1, NULL, 16);
}

static bool number_places(lh_map *wanted, const lh_print *prints, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!lh_map_first(wanted, fingerprint_number(prints[i]), (uint32_t)i)) return false;
  return true;
}

static bool print_spot_of_any(const lh_folds *folds, size_t i, lh_printed *out) {
  const lh_folder *folder = &folds->folder;
  lh_spot spot = folds->spots[i];
  *out = (lh_printed){LH_NO_PRINT, LH_NO_PRINT, spot.objects};
  if (spot.class_index == UINT32_MAX) return true;
  lh_type type = folder->snapshot->classes->list[spot.class_index].visible.type;
  uint32_t place = folder->states[spot.state].place;
  uint32_t folded = lh_place_without_numbers(folder->tree, place);
  out->any = number_of_any(type, folder->tree->list[place].identity);
  if (folded < LH_NO_PLACE)
    out->any_folded = number_of_any(type, folder->tree->list[folded].identity);
  return folded != LH_NO_NUMBER;
}

static uint32_t place_of_printed(const lh_map *wanted, const lh_printed *printed) {
  uint32_t place = printed->any == LH_NO_PRINT ? LH_NO_NUMBER : lh_map_get(wanted, printed->any);
  return place == LH_NO_NUMBER && printed->any_folded != LH_NO_PRINT
             ? lh_map_get(wanted, printed->any_folded)
             : place;
}

int lh_list_printed(const lh_snapshot *snapshot, lh_printed **out, size_t *n, lh_error *error) {
  const lh_folds *folds = lh_folds_of(snapshot);
  lh_printed *list = folds ? lh_alloc(folds->n_spots, sizeof *list) : NULL;
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < folds->n_spots; i++) ok = print_spot_of_any(folds, i, &list[i]);
  *out = ok ? list : NULL;
  *n = ok ? folds->n_spots : 0;
  if (!ok) lh_free(list);
  return ok ? LH_OK : lh_fail_memory(error, "counting what is at a place");
}

bool lh_count_printed(const lh_printed *list, size_t n_list, const lh_print *prints, size_t n,
                      lh_place_counts *out) {
  lh_map wanted = {0};
  bool ok = number_places(&wanted, prints, n);
  if (n > 0) memset(out, 0, n * sizeof *out);
  for (size_t i = 0; ok && i < n_list; i++) {
    uint32_t place = place_of_printed(&wanted, &list[i]);
    if (place != LH_NO_NUMBER) out[place].objects[0] += list[i].objects;
  }
  for (size_t i = 0; ok && i < n; i++)
    out[i] = out[lh_map_get(&wanted, fingerprint_number(prints[i]))];
  lh_map_free(&wanted);
  return ok;
}

bool lh_tally_begin(lh_tally *tally, const lh_snapshot *snapshot, const uint8_t *span_of,
                    lh_place_counts *rows, size_t n_rows) {
  uint32_t *below = lh_alloc((size_t)snapshot->n + 1, sizeof *below);
  *tally = (lh_tally){.snapshot = snapshot, .span_of = span_of, .rows = rows, .below = below};
  if (!below) return false;
  below[LH_ROOT] = LH_NO_NUMBER;
  if (n_rows > 0) memset(rows, 0, n_rows * sizeof *rows);
  return true;
}

static bool find_wanted(const lh_folds *folds, const lh_map *wanted, uint32_t *place_of) {
  bool ok = true;
  for (size_t i = 0; ok && i < folds->n_spots; i++) {
    lh_printed printed;
    ok = print_spot_of_any(folds, i, &printed);
    place_of[i] = place_of_printed(wanted, &printed);
  }
  return ok;
}

int lh_count_at_places(lh_snapshot *snapshot, const lh_print *prints, size_t n,
                       const uint8_t *span_of, lh_place_counts *out, lh_error *error) {
  const lh_folds *folds = lh_folds_of(snapshot);
  lh_tally tally = {0};
  lh_map wanted = {0};
  uint32_t *place_of = folds ? lh_alloc(folds->n_spots, sizeof *place_of) : NULL;
  bool ok = place_of && lh_tally_begin(&tally, snapshot, span_of, out, n) &&
            number_places(&wanted, prints, n) && find_wanted(folds, &wanted, place_of);
  for (size_t i = 1; ok && i < folds->n; i++)
    lh_tally_add(&tally, folds->order[i], place_of[folds->spot[folds->order[i]]]);
  for (size_t i = 0; ok && i < n; i++)
    out[i] = out[lh_map_get(&wanted, fingerprint_number(prints[i]))];
  lh_map_free(&wanted);
  LH_FREE_ALL(place_of, tally.below);
  return ok ? LH_OK : lh_fail_memory(error, "counting what is at a place");
}

/* ==== Older fingerprints ============================================================= */

static size_t n_hex_digits(const char *p) {
  size_t n = 0;
  while (isxdigit((unsigned char)p[n])) n++;
  return n;
}

/* The directory's length, behind the @: @/usr/share/app.lua:31. */
static size_t directory_length(const char *p) {
  size_t directory = 0;
  for (size_t i = 0; p[i] && p[i] != ')' && p[i] != '"'; i++) {
    if (p[i] == ':' && lh_digits(p + i + 1)) break;
    if (strncmp(p + i, " of ", 4) == 0 || strncmp(p + i, " in ", 4) == 0) break;
    if (p[i] == '/') directory = i + 1;
  }
  return directory;
}

static size_t quoted_length(const char *p) {
  size_t n = 1;
  while (p[n] && p[n] != '"') n += p[n] == '\\' && p[n + 1] ? 2 : 1;
  return p[n] ? n + 1 : n;
}

static void add_stable(lh_text *out, const char *text) {
  for (const char *p = text; *p;) {
    size_t taken = *p == '"' ? quoted_length(p) : 1;
    if (strncmp(p, "0x", 2) == 0) taken = 2;
    lh_text_add(out, p, taken);
    if (*p == '@') taken += directory_length(p + 1);
    if (taken == 2 && *p == '0') taken += n_hex_digits(p + 2);
    p += taken;
    if (*p == ':' && lh_digits(p + 1)) p += 1 + lh_digits(p + 1);
  }
}

bool lh_older_fingerprint(const lh_class_entry *class, const char *name, lh_type type,
                          const lh_place_tree *tree, uint32_t place, lh_print print) {
  lh_text what = {0}, path = {0};
  if (!class) {
    lh_text_format(&what, "any %s", lh_type_name(type));
  } else if (class->plain != LH_NO_NUMBER || class->is_empty) {
    lh_text_string(&what, "collection");
  } else {
    add_stable(&what, name);
    lh_text_format(&what, " %s %llx", lh_type_name(type), (unsigned long long)class->shape);
  }
  lh_text_string(&what, " <- ");
  lh_place_text(tree, place, &path);
  char *text = lh_text_finish(&path);
  if (text) add_stable(&what, text);
  bool ok = text && !what.failed;
  if (ok)
    (void)snprintf(print, sizeof(lh_print), "%010llx",
                   (unsigned long long)(lh_hash(what.bytes, what.n, 0) >> 24));
  lh_text_free(&what);
  lh_free(text);
  return ok;
}
