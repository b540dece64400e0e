/*
** place_text.c - the text of a place: the only file that turns steps into text (see place_steps.h).
**
** A long text is shown without its middle, so that no row takes more than a few KB.
*/
#include "place_steps.h"

static void surround(lh_step_printer *printer, const char *before, size_t n, const char *after) {
  lh_text *text = &printer->text;
  size_t told = text->n;
  lh_text_add(text, before, n); /* makes room */
  if (!text->failed && n > 0) {
    memmove(text->bytes + n, text->bytes, told);
    memcpy(text->bytes, before, n);
  }
  lh_text_string(text, after);
}

void lh_print_step(lh_step_printer *printer, lh_form form, const char *piece, size_t n,
                   bool phrase) {
  lh_text *text = &printer->text;
  switch (form) {
    case LH_FORM_NOTHING: return;
    case LH_FORM_BASE:
      lh_text_clear(text);
      lh_text_add(text, piece, n);
      printer->phrase = phrase;
      return;
    case LH_FORM_BEHIND:
      if (printer->phrase) surround(printer, "(", 1, ")");
      lh_text_add(text, piece, n);
      printer->phrase = false;
      return;
    case LH_FORM_FRONT:
      surround(printer, piece, n, "");
      printer->phrase = true;
      return;
    case LH_FORM_AROUND:
      if (printer->phrase) surround(printer, "(", 1, ")");
      surround(printer, "value of ", 9, " in weak table ");
      lh_text_add(text, piece, n);
      printer->phrase = true;
      return;
  }
}

/* Its source is not shown: only its own words, "upvalue s" or "value in weak table _G.cache". */
static void print_below(lh_step_printer *printer, const lh_place_step *step, const char *label) {
  lh_text *text = &printer->text;
  if (step->form == LH_FORM_FRONT) {
    bool follows = text->n > 0 && text->bytes[0] != '.' && text->bytes[0] != '[';
    if (follows) surround(printer, " of ", 4, "");
    surround(printer, label, step->n_own, "");
    printer->phrase = true;
  } else if (step->form == LH_FORM_AROUND && text->n == 0) {
    lh_text_string(text, "value in weak table ");
    lh_text_string(text, label);
    printer->phrase = true;
  } else {
    lh_print_step(printer, (lh_form)step->form, label, strlen(label), step->phrase);
  }
}

/* chain[]: the last place first. False: too long, with `shown` pieces at each end. */
static bool print_chain(lh_step_printer *printer, const lh_place_tree *tree, const uint32_t *chain,
                        size_t n, size_t shown, bool is_below) {
  lh_text_clear(&printer->text);
  printer->phrase = false;
  for (size_t i = 0; i < n; i++) {
    const lh_place_step *step = lh_last_step(tree, chain[n - 1 - i]);
    const char *label = tree->texts.texts[step->label];
    if (i == shown && 2 * shown < n) {
      char middle[48];
      int length = snprintf(middle, sizeof middle, " ... %zu more steps ... ", n - 2 * shown);
      lh_print_step(printer, LH_FORM_BEHIND, middle, (size_t)length, false);
      i = n - shown - 1;
    } else if (is_below) {
      print_below(printer, step, label);
    } else {
      lh_print_step(printer, (lh_form)step->form, label, strlen(label), step->phrase);
    }
    if (printer->text.n > LH_PATH_BYTES && shown > 1) return false;
  }
  return true;
}

void lh_place_text_below(const lh_place_tree *tree, uint32_t place, uint32_t above, lh_text *out) {
  uint32_t chain[LH_MOST_STEPS_OF_PLACE], at = place;
  lh_step_printer printer = {0};
  size_t n = 0, shown;
  for (; at != LH_NO_PLACE && at != above; at = lh_place_before(tree, at)) chain[n++] = at;
  bool is_below = at != LH_NO_PLACE;
  for (shown = n; !print_chain(&printer, tree, chain, n, shown, is_below);) shown = lh_fewer(shown);
  if (printer.text.failed) out->failed = true;
  lh_text_add(out, printer.text.bytes, printer.text.n);
  lh_text_free(&printer.text);
}

void lh_place_text(const lh_place_tree *tree, uint32_t place, lh_text *out) {
  lh_place_text_below(tree, place, LH_NO_PLACE, out);
}
