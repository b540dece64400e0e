/*
** place_text.c - the text of a place: the only file that turns steps into text (see place_steps.h).
**
** A long text is shown without its middle, so that no row takes more than a few KB.
*/
#include "place_steps.h"

static void surround(lh_telling *telling, const char *before, size_t n, const char *after) {
  lh_text *text = &telling->text;
  size_t told = text->n;
  lh_text_add(text, before, n); /* makes room */
  if (!text->failed && n > 0) {
    memmove(text->bytes + n, text->bytes, told);
    memcpy(text->bytes, before, n);
  }
  lh_text_string(text, after);
}

void lh_tell(lh_telling *telling, lh_form form, const char *piece, size_t n, bool phrase) {
  lh_text *text = &telling->text;
  switch (form) {
    case LH_FORM_NOTHING: return;
    case LH_FORM_BASE:
      lh_text_clear(text);
      lh_text_add(text, piece, n);
      telling->phrase = phrase;
      return;
    case LH_FORM_BEHIND:
      if (telling->phrase) surround(telling, "(", 1, ")");
      lh_text_add(text, piece, n);
      telling->phrase = false;
      return;
    case LH_FORM_FRONT:
      surround(telling, piece, n, "");
      telling->phrase = true;
      return;
    case LH_FORM_AROUND:
      if (telling->phrase) surround(telling, "(", 1, ")");
      surround(telling, "value of ", 9, " in weak table ");
      lh_text_add(text, piece, n);
      telling->phrase = true;
      return;
  }
}

/* Its source is not shown: only its own words, "upvalue s" or "value in weak table _G.cache". */
static void tell_below(lh_telling *telling, const lh_place_step *step, const char *label) {
  lh_text *text = &telling->text;
  if (step->form == LH_FORM_FRONT) {
    bool follows = text->n > 0 && text->bytes[0] != '.' && text->bytes[0] != '[';
    if (follows) surround(telling, " of ", 4, "");
    surround(telling, label, step->n_own, "");
    telling->phrase = true;
  } else if (step->form == LH_FORM_AROUND && text->n == 0) {
    lh_text_string(text, "value in weak table ");
    lh_text_string(text, label);
    telling->phrase = true;
  } else {
    lh_tell(telling, (lh_form)step->form, label, strlen(label), step->phrase);
  }
}

/* chain[]: the last place first. False: too long, with `shown` pieces at each end. */
static bool tell_chain(lh_telling *telling, const lh_place_tree *tree, const uint32_t *chain,
                       size_t n, size_t shown, bool is_below) {
  lh_text_clear(&telling->text);
  telling->phrase = false;
  for (size_t i = 0; i < n; i++) {
    const lh_place_step *step = lh_last_step(tree, chain[n - 1 - i]);
    const char *label = tree->texts.texts[step->label];
    if (i == shown && 2 * shown < n) {
      char middle[48];
      int length = snprintf(middle, sizeof middle, " ... %zu more steps ... ", n - 2 * shown);
      lh_tell(telling, LH_FORM_BEHIND, middle, (size_t)length, false);
      i = n - shown - 1;
    } else if (is_below) {
      tell_below(telling, step, label);
    } else {
      lh_tell(telling, (lh_form)step->form, label, strlen(label), step->phrase);
    }
    if (telling->text.n > LH_PATH_BYTES && shown > 1) return false;
  }
  return true;
}

void lh_place_text_below(const lh_place_tree *tree, uint32_t place, uint32_t above, lh_text *out) {
  uint32_t chain[LH_MOST_STEPS_OF_PLACE], at = place;
  lh_telling telling = {0};
  size_t n = 0, shown;
  for (; at != LH_NO_PLACE && at != above; at = lh_place_before(tree, at)) chain[n++] = at;
  bool is_below = at != LH_NO_PLACE;
  for (shown = n; !tell_chain(&telling, tree, chain, n, shown, is_below);) shown = lh_fewer(shown);
  if (telling.text.failed) out->failed = true;
  lh_text_add(out, telling.text.bytes, telling.text.n);
  lh_text_free(&telling.text);
}

void lh_place_text(const lh_place_tree *tree, uint32_t place, lh_text *out) {
  lh_place_text_below(tree, place, LH_NO_PLACE, out);
}
