/* place_steps.c - the tree of steps that places are (see place_steps.h). */
#include "place_steps.h"
#include "names.h"

void lh_place_tree_free(lh_place_tree *tree) {
  lh_strings_free(&tree->texts);
  LH_FREE_ALL(tree->steps, tree->list, tree->bodies, tree->without_numbers.list,
              tree->steps_without_numbers.list);
  LH_FREE_MAPS(&tree->step_of, &tree->place_of, &tree->around);
  *tree = (lh_place_tree){0};
}

/* ==== Interning ====================================================================== */

/* Steps of one kind and label have one body. */
static uint32_t intern_known_step(lh_place_tree *tree, lh_place_step step) {
  if (step.label == LH_NO_NUMBER || step.stable == LH_NO_NUMBER) return LH_NO_NUMBER;
  uint64_t words[2] = {(uint64_t)step.label << 32 | step.stable,
                       (uint64_t)step.holder << 32 | (uint64_t)step.kind << 8 |
                           (uint64_t)step.form << 1 | step.phrase};
  uint32_t *index = lh_map_at_words(&tree->step_of, words, 2);
  if (!index || *index != LH_NO_NUMBER) return index ? *index : LH_NO_NUMBER;
  if (!lh_grow(&tree->steps, tree->n_steps, &tree->step_capacity, sizeof step)) return LH_NO_NUMBER;
  tree->steps[tree->n_steps] = step;
  return *index = (uint32_t)tree->n_steps++;
}

uint32_t lh_intern_step(lh_place_tree *tree, lh_place_step step, lh_text *label, lh_text *stable) {
  lh_text shown = {0}, without = {0};
  if (stable) {
    step.label = lh_strings_take(&tree->texts, label);
    step.stable = lh_strings_take(&tree->texts, stable);
  } else if (label->n > 0 && memchr(label->bytes, LH_MARK_BEGIN, label->n)) {
    lh_text_unmarked(&shown, label->bytes, label->n, false);
    lh_text_unmarked(&without, label->bytes, label->n, true);
    shown.failed |= label->failed;
    step.label = lh_strings_take(&tree->texts, &shown);
    step.stable = lh_strings_take(&tree->texts, &without);
    lh_text_free(label);
  } else {
    step.label = step.stable = lh_strings_take(&tree->texts, label);
  }
  return intern_known_step(tree, step);
}

uint32_t lh_intern_repeat(lh_place_tree *tree, const uint32_t *body, size_t n) {
  lh_place_step step = {.kind = LH_STEP_REPEAT,
                        .form = LH_FORM_BEHIND,
                        .holder = LH_NO_PLACE,
                        .body = (uint32_t)tree->n_bodies,
                        .n_body = (uint32_t)n};
  lh_text label = {0};
  size_t before = tree->n_steps;
  for (size_t i = 0; i < n; i++)
    if (!lh_grow(&tree->bodies, tree->n_bodies + i, &tree->body_capacity, sizeof *tree->bodies))
      return LH_NO_NUMBER;
  bool is_group = n > 1 || tree->steps[body[0]].form == LH_FORM_FRONT;
  if (is_group) lh_text_string(&label, "(");
  for (size_t i = 0; i < n; i++) {
    const lh_place_step *part = &tree->steps[body[i]];
    const char *text = tree->texts.texts[part->label];
    lh_text_add(&label, text, part->form == LH_FORM_FRONT ? part->n_own : strlen(text));
    step.has_any_key |= part->has_any_key;
  }
  lh_text_string(&label, is_group ? ")*" : "*");
  uint32_t made = lh_intern_step(tree, step, &label, NULL);
  if (tree->n_steps == before) return made;
  memcpy(tree->bodies + tree->n_bodies, body, n * sizeof *body);
  tree->n_bodies += n;
  return made;
}

/* Equal texts are equal steps, whether an edge of the root or of _G leads there. */
static uint64_t identity_of(const lh_place_tree *tree, uint64_t before, const lh_place_step *step) {
  const char *stable = tree->texts.texts[step->stable];
  uint64_t words[2] = {before, (uint64_t)step->form << 1 | (step->kind == LH_STEP_REPEAT)};
  return lh_hash(stable, strlen(stable), lh_hash(words, sizeof words, 0));
}

uint32_t lh_place_behind(lh_place_tree *tree, uint32_t parent, uint32_t step) {
  if (parent == LH_NO_NUMBER || step == LH_NO_NUMBER) return LH_NO_NUMBER;
  bool begins = tree->steps[step].form == LH_FORM_BASE;
  uint32_t before = begins ? LH_NO_PLACE : parent;
  uint32_t *index = lh_map_at(&tree->place_of, (uint64_t)before << 32 | step);
  if (!index || *index != LH_NO_NUMBER) return index ? *index : LH_NO_NUMBER;
  if (!lh_grow(&tree->list, tree->n, &tree->capacity, sizeof *tree->list)) return LH_NO_NUMBER;
  uint32_t made = (uint32_t)tree->n;
  lh_place_vertex vertex = {.parent = begins ? made : parent, .step = step};
  if (!begins) vertex.depth = tree->list[parent].depth + 1;
  vertex.identity = identity_of(tree, begins ? 0 : tree->list[parent].identity, &tree->steps[step]);
  tree->list[tree->n++] = vertex;
  return *index = made;
}

uint32_t lh_place_of_text(lh_place_tree *tree, lh_text *text) {
  lh_place_step step = {
      .kind = LH_STEP_TEXT, .form = LH_FORM_BASE, .phrase = true, .holder = LH_NO_PLACE};
  return lh_place_behind(tree, 0, lh_intern_step(tree, step, text, NULL));
}

/* ==== Relations of places ============================================================ */

bool lh_place_goes_on(const lh_place_tree *tree, uint32_t place, uint32_t whole) {
  while (place != LH_NO_PLACE && place != whole) place = lh_place_before(tree, place);
  return place == whole;
}

bool lh_place_is_inside(const lh_place_tree *tree, uint32_t place, uint32_t whole) {
  for (; place != LH_NO_PLACE; place = lh_place_before(tree, place)) {
    uint32_t holder = lh_place_of_holder(tree, place);
    if (place == whole || (holder != LH_NO_PLACE && lh_place_goes_on(tree, holder, whole)))
      return true;
  }
  return false;
}

uint32_t lh_place_container(const lh_place_tree *tree, uint32_t place) {
  uint8_t kind = lh_last_step(tree, place)->kind;
  return kind == LH_STEP_ANY_KEY || kind == LH_EDGE_KEY ? lh_place_before(tree, place)
                                                        : LH_NO_PLACE;
}

uint32_t lh_place_base(lh_place_tree *tree, uint32_t place) {
  uint32_t base = place, behind = place;
  for (uint32_t at = place; at != LH_NO_PLACE; at = lh_place_before(tree, at)) {
    behind = base;
    base = at;
  }
  uint8_t kind = lh_last_step(tree, base)->kind;
  if (kind == LH_STEP_GLOBALS || kind == LH_STEP_LOADED) base = behind;
  bool is_keys = base != place && lh_last_step(tree, place)->kind == LH_EDGE_KEY;
  return is_keys ? lh_place_behind(tree, base, tree->list[place].step) : base;
}

static size_t list_steps(const lh_place_tree *tree, uint32_t place,
                         uint32_t way[LH_MOST_STEPS_OF_PLACE]) {
  size_t n = tree->list[place].depth + 1;
  for (size_t i = n; i-- > 0; place = lh_place_before(tree, place)) way[i] = place;
  return n;
}

static bool is_key_step(const lh_place_step *step) {
  return step->kind == LH_EDGE_VALUE || step->kind == LH_STEP_ANY_KEY;
}

uint32_t lh_any_key(lh_place_tree *tree) {
  lh_place_step step = {
      .kind = LH_STEP_ANY_KEY, .form = LH_FORM_BEHIND, .has_any_key = true, .holder = LH_NO_PLACE};
  lh_text label = {0};
  lh_text_add(&label, "[*]", 3);
  return lh_intern_step(tree, step, &label, NULL);
}

uint32_t lh_place_in_common(lh_place_tree *tree, uint32_t place, uint32_t other) {
  uint32_t a[LH_MOST_STEPS_OF_PLACE], b[LH_MOST_STEPS_OF_PLACE];
  size_t n = list_steps(tree, place, a), at = 0, n_others = 0;
  if (n != list_steps(tree, other, b)) return LH_NO_PLACE;
  for (size_t i = 0; i < n; i++) {
    if (tree->list[a[i]].step == tree->list[b[i]].step) continue;
    n_others++;
    at = i;
  }
  if (n_others == 0) return place;
  if (n_others > 1 || at == 0 || !is_key_step(lh_last_step(tree, a[at])) ||
      !is_key_step(lh_last_step(tree, b[at])))
    return LH_NO_PLACE;
  uint32_t both = lh_place_behind(tree, a[at - 1], lh_any_key(tree));
  for (size_t i = at + 1; i < n; i++) both = lh_place_behind(tree, both, tree->list[a[i]].step);
  return both;
}

/* ==== Copies ========================================================================= */

static uint32_t copy_step(lh_place_tree *to, bool is_same_tree, lh_place_step step, lh_text *label,
                          lh_text *stable) {
  if (!is_same_tree) step.holder = LH_NO_PLACE;
  if (!is_same_tree) step.n_body = 0;
  return lh_intern_step(to, step, label, stable);
}

/* For a module's key, also the text around numbers becomes *. */
static void add_label(lh_text *out, const char *label, bool is_module, bool numbers) {
  size_t n = strlen(label);
  bool any =
      numbers && (is_module ? lh_fold_module_name(out, label, n - 2) : lh_fold_digits(out, label));
  if (!any) lh_text_add(out, label, n);
}

/* Repeated bodies once and no step twice in a row. So .next(.next.next)* and (.next.next)*, of
** lists with two classes in turn, become equal. */
static size_t leave_out_stars(const lh_place_tree *tree, const uint32_t *way, size_t n,
                              uint32_t *steps) {
  size_t m = 0;
  bool has_stars = false;
  for (size_t i = 0; i < n; i++) has_stars |= lh_is_starred(lh_last_step(tree, way[i]));
  for (size_t i = 0; i < n; i++) {
    const uint32_t *own = &tree->list[way[i]].step;
    const lh_place_step *step = &tree->steps[*own];
    const uint32_t *list = step->n_body > 0 ? &tree->bodies[step->body] : own;
    for (size_t k = 0; k < (step->n_body > 0 ? step->n_body : 1); k++)
      if (!has_stars || m == 0 || steps[m - 1] != list[k]) steps[m++] = list[k];
  }
  return m;
}

uint32_t lh_place_copy(lh_place_tree *to, const lh_place_tree *from, uint32_t place, unsigned how) {
  uint32_t way[LH_MOST_STEPS_OF_PLACE], steps[LH_MOST_STEPS_OF_PLACE];
  size_t n = list_steps(from, place, way), m = n;
  bool numbers = how & LH_COPY_ALL_NUMBERS;
  for (size_t i = 0; i < n; i++) steps[i] = from->list[way[i]].step;
  if (how & LH_COPY_WITHOUT_STARS) m = leave_out_stars(from, way, n, steps);
  uint32_t made = 0;
  for (size_t i = 0; i < m && made != LH_NO_NUMBER; i++) {
    const lh_place_step *step = &from->steps[steps[i]];
    lh_text label = {0}, stable = {0};
    const char *told = from->texts.texts[how & LH_COPY_STABLE ? step->stable : step->label];
    add_label(&label, told, false, numbers);
    add_label(&stable, from->texts.texts[step->stable], false, numbers);
    made = lh_place_behind(to, made, copy_step(to, to == from, *step, &label, &stable));
  }
  return made;
}

static bool fit_notes(lh_place_notes *notes, size_t n) {
  for (; notes->n < n; notes->list[notes->n++] = LH_NO_NUMBER)
    if (!lh_grow(&notes->list, notes->n, &notes->capacity, sizeof *notes->list)) return false;
  return true;
}

/* Lists a place and those before it that have no note, the last first. *at: the one before these;
** LH_NO_PLACE: none. */
static size_t list_unknown(const lh_place_tree *tree, const lh_place_notes *notes, uint32_t *at,
                           uint32_t way[LH_MOST_STEPS_OF_PLACE]) {
  size_t n = 0;
  for (; *at != LH_NO_PLACE && notes->list[*at] == LH_NO_NUMBER; *at = lh_place_before(tree, *at))
    way[n++] = *at;
  return n;
}

static uint32_t kept_copy_of_step(lh_place_copies *copies, uint32_t step) {
  const lh_place_tree *from = copies->from;
  const lh_place_step *s = &from->steps[step];
  uint32_t *known = &copies->steps.list[step];
  lh_text label = {0}, stable = {0};
  if (*known != LH_NO_NUMBER) return *known;
  const char *told = from->texts.texts[copies->how & LH_COPY_STABLE ? s->stable : s->label];
  lh_text_string(&label, told);
  lh_text_string(&stable, from->texts.texts[s->stable]);
  return *known = copy_step(copies->to, false, *s, &label, &stable);
}

uint32_t lh_place_copy_of(lh_place_copies *copies, uint32_t place) {
  uint32_t way[LH_MOST_STEPS_OF_PLACE], at = place;
  if (!fit_notes(&copies->places, copies->from->n) ||
      !fit_notes(&copies->steps, copies->from->n_steps))
    return LH_NO_NUMBER;
  size_t n = list_unknown(copies->from, &copies->places, &at, way);
  uint32_t made = at == LH_NO_PLACE ? 0 : copies->places.list[at];
  while (n-- > 0 && made != LH_NO_NUMBER) {
    uint32_t step = kept_copy_of_step(copies, copies->from->list[way[n]].step);
    made = copies->places.list[way[n]] = lh_place_behind(copies->to, made, step);
  }
  return made;
}

void lh_place_copies_free(lh_place_copies *copies) {
  LH_FREE_ALL(copies->places.list, copies->steps.list);
}

/* ==== Without numbers ================================================================ */

static uint32_t fold_step(lh_place_tree *tree, uint32_t step, bool is_module) {
  const lh_place_step own = tree->steps[step];
  lh_text label = {0}, stable = {0};
  add_label(&label, tree->texts.texts[own.label], is_module, true);
  add_label(&stable, tree->texts.texts[own.stable], is_module, true);
  return copy_step(tree, true, own, &label, &stable);
}

static uint32_t step_without_numbers(lh_place_tree *tree, uint32_t step) {
  if (!fit_notes(&tree->steps_without_numbers, tree->n_steps)) return LH_NO_NUMBER;
  uint32_t *known = &tree->steps_without_numbers.list[step];
  if (*known == LH_NO_NUMBER) *known = fold_step(tree, step, false);
  return *known;
}

/* `parent`: the note of the place before. The note of a place that is not below _G or a module, by
** keys only, is LH_NO_PLACE. */
static uint32_t fold_place(lh_place_tree *tree, uint32_t parent, uint32_t place) {
  uint32_t step = tree->list[place].step, before = lh_place_before(tree, place);
  uint8_t kind = tree->steps[step].kind;
  if (before == LH_NO_PLACE)
    return kind == LH_STEP_GLOBALS || kind == LH_STEP_LOADED ? place : LH_NO_PLACE;
  if (parent == LH_NO_PLACE || tree->steps[step].form != LH_FORM_BEHIND) return LH_NO_PLACE;
  bool is_module = kind == LH_EDGE_VALUE && lh_last_step(tree, before)->kind == LH_STEP_LOADED;
  return lh_place_behind(
      tree, parent, is_module ? fold_step(tree, step, true) : step_without_numbers(tree, step));
}

uint32_t lh_place_without_numbers(lh_place_tree *tree, uint32_t place) {
  uint32_t way[LH_MOST_STEPS_OF_PLACE], at = place;
  if (!fit_notes(&tree->without_numbers, tree->n)) return LH_NO_NUMBER;
  size_t n = list_unknown(tree, &tree->without_numbers, &at, way);
  uint32_t made = at == LH_NO_PLACE ? LH_NO_PLACE : tree->without_numbers.list[at];
  while (n-- > 0 && made != LH_NO_NUMBER)
    made = tree->without_numbers.list[way[n]] = fold_place(tree, made, way[n]);
  return made == place ? LH_NO_PLACE : made;
}

/* With * where numbers differ. LH_NO_PLACE: more differs. */
static uint32_t step_of_both(lh_place_tree *tree, uint32_t a, uint32_t b) {
  const lh_place_step x = tree->steps[a], y = tree->steps[b];
  char *const *texts = tree->texts.texts;
  lh_text label = {0}, stable = {0};
  if (a == b) return a;
  if (x.form != y.form || (x.kind == LH_STEP_REPEAT) != (y.kind == LH_STEP_REPEAT) ||
      !lh_fold_differing(&label, texts[x.label], texts[y.label]))
    return LH_NO_PLACE;
  if (!lh_fold_differing(&stable, texts[x.stable], texts[y.stable]))
    lh_text_add(&stable, label.bytes, label.n);
  return copy_step(tree, true, x, &label, &stable);
}

uint32_t lh_place_of_both(lh_place_tree *tree, uint32_t place, uint32_t other) {
  uint32_t a[LH_MOST_STEPS_OF_PLACE], b[LH_MOST_STEPS_OF_PLACE], both = 0;
  size_t n = list_steps(tree, place, a);
  if (n != list_steps(tree, other, b)) return LH_NO_PLACE;
  for (size_t i = 0; i < n && both < LH_NO_PLACE; i++) {
    uint32_t step = step_of_both(tree, tree->list[a[i]].step, tree->list[b[i]].step);
    both = step == LH_NO_PLACE ? step : lh_place_behind(tree, both, step);
  }
  return both;
}
