/*
** leaks_json.c - the new objects that stay, as JSON.
*/
#include "heapdiff.h"

static json_t *json_triple(const uint64_t values[3]) {
  return json_pack("[I, I, I]", (json_int_t)values[0], (json_int_t)values[1],
                   (json_int_t)values[2]);
}

static void json_groups(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_groups", cli_json_size(x->n_groups));
  cli_json_open(w, "groups", '[');
  for (size_t i = 0; i < n_rows(c, x->r, x->n_groups); i++) {
    const lh_diff_group *group = &d->groups[i];
    const lh_class *class = lh_class_at(x->snapshots[2], group->class_index);
    json_t *row = cli_must(json_pack(
        "{ss ss ss ss sI sI sI sI sI ss}", "fingerprint", group->fingerprint, "class",
        group->class_name, "type", lh_type_name(class->type), "held_by", group->held_by, "objects",
        (json_int_t)group->objects, "shallow_bytes", (json_int_t)group->shallow_bytes,
        "retained_bytes", (json_int_t)group->retained_bytes, "new_objects",
        (json_int_t)group->new_objects, "new_bytes", (json_int_t)group->new_bytes, "example",
        cli_address(c, x->snapshots[2], group->example)));
    if (x->r->factor != 0)
      json_object_set_new(row, "flagged", json_boolean(is_flagged(x->r, group)));
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

static void json_grown(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_grown", cli_json_size(x->n_grown));
  cli_json_open(w, "grown", '[');
  for (size_t i = 0; i < n_rows(c, x->r, x->n_grown); i++) {
    const lh_grown *grown = &d->grown[i];
    cli_json_value(
        w, NULL,
        json_pack("{ss ss ss ss ss so so}", "fingerprint", grown->fingerprint, "address",
                  cli_address(c, x->snapshots[2], grown->id), "class",
                  lh_class_name_of(x->snapshots[2], grown->id), "held_by", grown->held_by, "place",
                  grown->place, "shallow_bytes", json_triple(grown->shallow_bytes), "entries",
                  json_triple(grown->entries)));
  }
  cli_json_close(w, ']');
}

/* With two snapshots the middle one does not exist, and is left out. */
static json_t *json_change(const uint64_t values[3], bool has_middle) {
  if (has_middle) return json_triple(values);
  return json_pack("[I, I]", (json_int_t)values[0], (json_int_t)values[2]);
}

void json_class_changes(cli *c, cli_json *w, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json_value(w, "total_classes", cli_json_size(d->n_classes));
  cli_json_open(w, "classes", '[');
  for (size_t i = 0; i < n_rows(c, x->r, d->n_classes); i++) {
    const lh_class_change *change = &d->classes[i];
    bool middle = x->snapshots[1] != NULL;
    json_t *row = cli_must(json_pack("{ss ss so so}", "class", change->name, "type",
                                     lh_type_name(change->type), "objects",
                                     json_change(change->objects, middle), "shallow_bytes",
                                     json_change(change->shallow_bytes, middle)));
    if (d->same_state) {
      json_object_set_new(row, "appeared", cli_json_size(change->appeared));
      json_object_set_new(row, "gone", cli_json_size(change->gone));
    }
    cli_json_value(w, NULL, row);
  }
  cli_json_close(w, ']');
}

/* What --known left out. */
static json_t *json_known(const comparison *x) {
  const sums *k = &x->known;
  return json_pack("{sI sI sI sI sI}", "groups", (json_int_t)(x->diff->n_groups - x->n_groups),
                   "grown", (json_int_t)(x->diff->n_grown - x->n_grown), "objects",
                   (json_int_t)k->objects, "retained_bytes", (json_int_t)k->retained_bytes,
                   "grown_bytes", (json_int_t)k->grown_bytes);
}

void leaks_print_json(cli *c, const comparison *x) {
  const lh_diff *d = x->diff;
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "same_state", json_boolean(d->same_state));
  cli_json_value(&w, "objects", cli_json_size(x->unknown.objects));
  cli_json_value(&w, "shallow_bytes", cli_json_size(x->unknown.shallow_bytes));
  cli_json_value(&w, "retained_bytes", cli_json_size(x->unknown.retained_bytes));
  if (x->r->known.file != NULL) cli_json_value(&w, "known", json_known(x));
  cli_json_value(&w, "gone_objects", cli_json_size(d->gone_objects));
  cli_json_value(&w, "gone_bytes", cli_json_size(d->gone_bytes));
  json_groups(c, &w, x);
  json_grown(c, &w, x);
  json_class_changes(c, &w, x);
  cli_json_close(&w, '}');
}
