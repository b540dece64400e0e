/*
** known_classes.c - Finds the equal classes of several snapshots.
** Classes are equal by name, type and fields; functions also by code, if one lost its name.
*/
#include "compare.h"

static lh_text_id copy_text(const lh_known_classes *known, const lh_strings *texts,
                            lh_text_id text) {
  return lh_strings_add(known->texts, texts->texts[text], strlen(texts->texts[text]));
}

/* Moves texts from the snapshot's set to the common set. False: out of memory. */
static bool take_texts(const lh_known_classes *known, const lh_strings *texts,
                       lh_class_entry *entry) {
  lh_text_id source = lh_source_of(&entry->code);
  entry->name = copy_text(known, texts, entry->name);
  entry->stable = copy_text(known, texts, entry->stable);
  if (entry->fields != LH_NO_NUMBER) {
    entry->fields = copy_text(known, texts, entry->fields);
    if (entry->fields == LH_NO_NUMBER) return false;
  }
  if (entry->code.words[0] != 0) {
    source = copy_text(known, texts, source);
    entry->code = lh_code_with(&entry->code, source);
  }
  return entry->name != LH_NO_NUMBER && entry->stable != LH_NO_NUMBER && source != LH_NO_NUMBER;
}

/* Notes that the text `exact` folds to `folded`, with * for all numbers. False: out of memory. */
static bool note_differing(lh_known_classes *known, lh_text_id folded, lh_text_id exact) {
  lh_strings *texts = known->texts;
  lh_text text = {0};
  uint32_t *differing = lh_map_first(&known->differing, folded, exact);
  if (!differing) return false;
  bool only_numbers = lh_fold_differing(&text, texts->texts[*differing], texts->texts[exact]);
  *differing = only_numbers ? lh_strings_take(texts, &text) : folded;
  return *differing != LH_NO_NUMBER;
}

static uint32_t add_class(lh_known_classes *known, const lh_class_entry *entry) {
  lh_known_class class = {.entry = *entry, .numbers = LH_NO_NUMBER};
  lh_text numbers = {0};
  bool has_numbers = lh_fold_module(&numbers, entry);
  if (has_numbers) class.numbers = lh_strings_take(known->texts, &numbers);
  if (has_numbers && class.numbers != LH_NO_NUMBER &&
      !note_differing(known, class.numbers, class.entry.name))
    return LH_NO_NUMBER;
  if ((has_numbers && class.numbers == LH_NO_NUMBER) ||
      !lh_grow(&known->list, known->n, &known->capacity, sizeof class))
    return LH_NO_NUMBER;
  class.entry.visible.name = known->texts->texts[class.entry.name];
  known->list[known->n] = class;
  return (uint32_t)known->n++;
}

/* LH_NO_NUMBER: out of memory. Only classes of other snapshots, the first `n_before`, are found by
** code: two functions on one line may have the same code. */
static uint32_t find_known_class(lh_known_classes *known, const lh_class_entry *entry,
                                 size_t n_before) {
  lh_class_key key = lh_key_of_class(entry->name, entry->fields, entry->visible.type);
  const uint64_t *code = entry->code.words;
  uint32_t *number = lh_map_at_words(&known->by_identity, key.words, LH_CLASS_WORDS);
  if (!number) return LH_NO_NUMBER;
  if (*number == LH_NO_NUMBER && code[0] != 0) {
    uint32_t same = lh_map_get_words(&known->by_code, code, LH_CODE_WORDS);
    if (same < n_before) *number = same;
  }
  if (*number == LH_NO_NUMBER) *number = add_class(known, entry);
  uint32_t found = *number;
  if (found == LH_NO_NUMBER || code[0] == 0) return found;
  number = lh_map_at_words(&known->by_code, code, LH_CODE_WORDS);
  if (!number) return LH_NO_NUMBER;
  *number = found;
  return found;
}

bool lh_register_classes(lh_known_classes *known, const lh_snapshot *snapshot,
                         uint32_t *number_of) {
  size_t n_before = known->n;
  for (uint32_t i = 0; i < lh_class_count(snapshot); i++) {
    lh_class_entry entry = snapshot->classes->list[i];
    if (!take_texts(known, &snapshot->classes->texts, &entry)) return false;
    number_of[i] = find_known_class(known, &entry, n_before);
    if (number_of[i] == LH_NO_NUMBER) return false;
  }
  return true;
}

void lh_known_classes_free(lh_known_classes *known) {
  lh_free(known->list);
  LH_FREE_MAPS(&known->by_identity, &known->by_code, &known->differing);
}

bool lh_label_classes(const lh_known_classes *known, bool exact, uint32_t *row_of, size_t *n_rows) {
  bool ok = true;
  lh_map rows = {0};
  for (size_t i = 0; ok && i < known->n; i++) {
    const lh_known_class *class = &known->list[i];
    lh_class_key key = lh_key_of_class(exact ? (uint32_t)i : class->entry.stable,
                                       class->entry.fields, class->entry.visible.type);
    row_of[i] = lh_map_number_words(&rows, key.words, LH_CLASS_WORDS);
    ok = row_of[i] != LH_NO_NUMBER;
  }
  *n_rows = rows.n;
  lh_map_free(&rows);
  return ok;
}

const char *lh_name_with(const lh_known_classes *known, const lh_known_class *class,
                         const char *name) {
  const char *own = class->entry.visible.name;
  return name && strcmp(name, own) != 0 ? known->texts->texts[class->entry.stable] : own;
}
