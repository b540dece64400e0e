/* ask.c - see ask.h. */
#include "ask.h"
#include "analyses/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/answers.h"
#include "graph/answers.h"
#include "read/snapshot.h"
#include "read_all.h"
#include "view/answers.h"

static void drop_text(char *text) {
  if (text) claim(strlen(text) < SIZE_MAX); /* reads all of it */
  lh_free(text);
}

static void draw(const lh_snapshot *s, const lh_path *paths, size_t n) {
  char *dot = NULL;
  size_t dot_bytes;
  FILE *out = open_memstream(&dot, &dot_bytes);
  if (!out) return;
  (void)lh_dot_paths(s, paths, n, 6, out, NULL);
  (void)fclose(out);
  free(dot); /* libc's */
}

static void draw_ways(const lh_snapshot *s, const lh_merged_paths *merged) {
  char *dot = NULL;
  size_t dot_bytes;
  FILE *out = open_memstream(&dot, &dot_bytes);
  if (!out) return;
  (void)lh_dot_merged_paths(s, merged, out, NULL);
  (void)fclose(out);
  free(dot);
}

static void draw_below(lh_snapshot *s, lh_id id) {
  static const lh_below_query query = {.depth = 3, .width = 4};
  lh_below below;
  char *dot = NULL;
  size_t dot_bytes;
  if (lh_find_below(s, id, &query, &below, NULL) != LH_OK) return;
  FILE *out = open_memstream(&dot, &dot_bytes);
  if (out) {
    (void)lh_dot_below(s, &below, out, NULL);
    (void)fclose(out);
    free(dot);
  }
  lh_below_free(&below);
}

static void ask_paths(lh_snapshot *s, lh_id id) {
  lh_path *paths;
  size_t n;
  if (lh_shortest_paths(s, id, 3, &paths, &n, NULL) != LH_OK) return;
  for (size_t i = 0; i < n; i++) {
    drop_text(lh_path_text(s, &paths[i], true));
    for (size_t k = 0; k < paths[i].n_steps; k++) drop_text(lh_edge_text(s, &paths[i].steps[k]));
  }
  draw(s, paths, n);
  lh_paths_free(paths, n);
  lh_free(paths);
  draw_below(s, id);
}

/* The path that is printed for an object, and what that finds. */
static void ask_back(lh_snapshot *s, lh_id id) {
  lh_path path;
  lh_found found;
  if (lh_shortest_path(s, id, &path, NULL) != LH_OK) return;
  char *text = lh_path_text(s, &path, false), *through;
  if (lh_path_through(s, &path, true, &through, NULL) == LH_OK) lh_free(through);
  if (text) (void)lh_find(s, text, &found, NULL);
  lh_free(text);
  lh_paths_free(&path, 1);
}

/* As a page asks; and the fields in each order. */
static void ask_page(lh_snapshot *s, lh_id id) {
  static const char *const questions[] = {"object",     "paths",     "independent",
                                          "dominators", "referrers", "fields"};
  static const char *const orders[] = {NULL, "label", "-value", "retained_bytes", "-number"};
  lh_report report;
  lh_request request = {.id = id, .matches = 1, .class_index = UINT32_MAX, .from = 1, .limit = 2};
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    if (lh_ask(&report, lh_find_question(questions[i]), s, &request, NULL) != LH_OK) continue;
    drop_text(lh_report_text(&report, "s"));
    lh_report_free(&report);
  }
  request.has_limit = true;
  request.filter = "a";
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    request.sorted = orders[i];
    if (lh_ask(&report, lh_find_question("fields"), s, &request, NULL) != LH_OK) continue;
    drop_text(lh_report_text(&report, "s"));
    lh_report_free(&report);
  }
}

static void ask_object(lh_snapshot *s, lh_id id) {
  lh_independent independent;
  lh_id common_holder;
  lh_edge *edges;
  size_t n;
  if (lh_find_independent(s, id, 3, &independent, NULL) == LH_OK) {
    draw(s, independent.paths, independent.n);
    lh_independent_free(&independent);
  }
  if (lh_find_common_holder(s, id, 3, &common_holder, &independent, NULL) == LH_OK) {
    draw(s, independent.paths, independent.n);
    lh_independent_free(&independent);
  }
  ask_paths(s, id);
  ask_back(s, id);
  ask_page(s, id);
  if (lh_referrers(s, id, &edges, &n, NULL) == LH_OK) lh_free(edges);
  (void)lh_continues_list(s, id);
  drop_text(lh_object_text(s, id));
  drop_text(lh_string_text(s, id, 20));
}

/* An object is in several rankings, and is asked about once. */
static void ask_rankings(lh_snapshot *s) {
  bool *is_asked = calloc((size_t)lh_object_count(s) + 1, sizeof *is_asked);
  for (int i = 0; is_asked && i < 6; i++) {
    lh_top_query query = {.sort = (lh_sort)(i % 3), .limit = 10, .garbage = i > 2};
    lh_class_row *rows;
    lh_id *ids;
    size_t n, n_left_out;
    uint64_t total;
    if (lh_top_classes(s, &query, &rows, &n, NULL) == LH_OK) {
      for (size_t k = 0; k < n; k++)
        claim(rows[k].retained_bytes <= lh_retained_bytes(s, LH_ROOT) && rows[k].objects > 0);
      lh_free(rows);
    }
    if (lh_rank_objects(s, &query, i % 2, &ids, &n, &n_left_out, &total, NULL) != LH_OK) continue;
    for (size_t k = 0; k < n; k++) {
      if (!is_asked[ids[k]]) ask_object(s, ids[k]);
      is_asked[ids[k]] = true;
    }
    lh_free(ids);
  }
  free(is_asked);
}

static void ask_sites(lh_snapshot *s) {
  const lh_sites *sites = lh_snapshot_sites(s);
  for (int i = 0; i < 6; i++) {
    lh_top_query query = {.sort = (lh_sort)(i % 3), .garbage = i > 2};
    lh_site_row *rows;
    size_t n;
    if (lh_top_sites(s, &query, &rows, &n, NULL) != LH_OK) continue;
    for (size_t k = 0; k < n; k++)
      claim(rows[k].retained_bytes <= lh_retained_bytes(s, LH_ROOT) && rows[k].sampled > 0);
    lh_free(rows);
  }
  for (lh_stack_id stack = 0; sites && stack <= lh_n_stacks(sites) && stack < 30; stack++)
    drop_text(lh_allocated_text(sites, stack, 30));
}

static void ask_names(lh_snapshot *s) {
  static const char *const expressions[] = {"_G.x", "@a.lua:3", "registry[3].y", "main thread"};
  lh_found found;
  for (uint32_t i = 0; i < lh_class_count(s) && i < 30; i++) {
    lh_id *ids;
    size_t n;
    (void)lh_find(s, lh_class_at(s, i)->name, &found, NULL);
    if (lh_find_all(s, lh_class_at(s, i)->name, &ids, &n, NULL) == LH_OK) lh_free(ids);
  }
  for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
    lh_completions completions;
    (void)lh_find(s, expressions[i], &found, NULL);
    if (lh_complete(s, expressions[i], &completions, NULL) == LH_OK)
      lh_completions_free(&completions);
  }
}

static void ask_marks(lh_snapshot *s) {
  for (uint32_t i = 0; i < lh_mark_count(s) && i < 20; i++) {
    lh_diff *diff;
    const char *name = lh_mark_at(s, i)->name;
    if (lh_diff_marks(s, name, NULL, &diff, NULL) == LH_OK) lh_diff_free(diff);
  }
}

/* In each bin the layers add up; and what is in a third of the axis. */
static void ask_timeline(lh_snapshot *s) {
  uint64_t n = lh_position_count(s);
  lh_diff *diff;
  for (int by = 0; by < 6; by++) {
    lh_age_chart chart;
    lh_age_chart_query query = {
        .by = (lh_age_chart_by)(by % 3), .interval = {n / 3, n}, .bins = 7, .garbage = by > 2};
    if (lh_find_age_chart(s, &query, &chart, NULL) != LH_OK) continue;
    for (size_t bin = 0; bin < chart.n_bins; bin++) {
      uint64_t bytes = 0;
      for (size_t i = 0; i < chart.n_layers; i++) bytes += chart.layers[i].bins[bin].bytes;
      claim(bytes == chart.bins[bin].bytes && chart.begins[bin] < chart.begins[bin + 1]);
    }
    lh_age_chart_free(&chart);
  }
  if (lh_diff_interval(s, (lh_interval){n / 3, n / 2}, &diff, NULL) == LH_OK) lh_diff_free(diff);
}

/* What they keep alive alone, they reach. */
static void ask_modules(lh_snapshot *s) {
  lh_modules modules;
  if (lh_find_modules(s, 100, &modules, NULL) != LH_OK) return;
  for (size_t i = 0; i < modules.n; i++)
    claim(modules.list[i].retained_bytes <= modules.list[i].reached_bytes);
  lh_modules_free(&modules);
}

static void ask_threads(lh_snapshot *s) {
  lh_thread_groups found;
  if (lh_group_threads(s, &found, NULL) != LH_OK) return;
  for (size_t i = 0; i < found.n && i < 20; i++) {
    lh_edges it;
    lh_frame frame;
    lh_frames_begin(s, found.list[i].example, &it);
    for (int k = 0; k < 20 && lh_frames_next(&it, &frame); k++) drop_text(lh_frame_text(s, &frame));
  }
  lh_thread_groups_free(&found);
}

static void ask_description(lh_description *d) {
  uint64_t bytes = 0, objects = 0;
  for (uint32_t i = 0; i < d->n_spreads; i++) {
    const lh_spread *spread = &d->spreads[i];
    claim(spread->least <= spread->median && spread->median <= spread->ninth_tenth &&
          spread->ninth_tenth <= spread->most);
  }
  for (size_t i = 0; i < d->n_fields; i++) bytes += d->fields[i].bytes;
  for (uint32_t i = 0; i < d->n_epochs; i++) objects += d->epochs[i];
  claim(bytes <= d->retained_bytes && objects <= d->objects);
  lh_description_free(d);
}

static void ask_classes(lh_snapshot *s) {
  for (uint32_t i = 0; i < lh_class_count(s) && i < 12; i++) {
    lh_description d;
    if (lh_describe_class(s, lh_class_at(s, i)->name, &d, NULL) == LH_OK) ask_description(&d);
  }
}

/* No byte is wasted in two ways. */
static void ask_waste(lh_snapshot *s) {
  lh_waste *waste;
  uint64_t bytes = 0;
  if (lh_find_waste(s, &waste, NULL) != LH_OK) return;
  for (int kind = 0; kind < LH_WASTE_KINDS; kind++) {
    uint64_t of_kind = 0;
    for (size_t i = 0; i < waste->kinds[kind].n_rows; i++)
      of_kind += waste->kinds[kind].rows[i].bytes;
    claim(of_kind == waste->kinds[kind].bytes);
    bytes += of_kind;
  }
  claim(waste->bytes + waste->kinds[LH_WASTE_SMALL_TABLES].bytes == bytes);
  /* An object may say that a part of it is bigger than it is: heapcheck tells. */
  claim(bytes <= lh_retained_bytes(s, LH_ROOT) || lh_verify(s, NULL, NULL) != LH_OK);
  lh_waste_free(waste);
}

/* No byte is suspected twice. */
static void ask_suspects(lh_snapshot *s) {
  lh_suspects suspects;
  uint64_t bytes = 0;
  if (lh_find_suspects(s, &suspects, NULL) != LH_OK) return;
  for (size_t i = 0; i < suspects.n; i++) bytes += suspects.list[i].bytes;
  claim(bytes <= lh_retained_bytes(s, LH_ROOT));
  lh_suspects_free(&suspects);
}

/* Of all objects, and of each third; whole, and as a picture. */
static void ask_ways(lh_snapshot *s) {
  uint32_t n = lh_object_count(s);
  lh_id *ids = malloc((n + 1) * sizeof *ids);
  for (uint32_t step = 1; ids && step < 4; step += 2) {
    lh_merged_paths merged;
    size_t n_ids = 0;
    for (lh_id id = 1; id <= n; id += step) ids[n_ids++] = id;
    if (lh_merge_paths(s, ids, n_ids, step == 1 ? 0 : 30, &merged, NULL) != LH_OK) continue;
    if (step > 1) draw_ways(s, &merged);
    lh_merged_paths_free(&merged);
  }
  free(ids);
}

/* What is directly below a tile adds up to it. */
static void check_tiles(const lh_snapshot *s, const lh_tiles *tiles) {
  for (size_t i = 0; i < tiles->n; i++) {
    const lh_tile *tile = &tiles->list[i];
    uint64_t bytes = 0, n = 0;
    for (size_t k = i + 1; k < tiles->n && tiles->list[k].depth > tile->depth; k++) {
      if (tiles->list[k].depth > tile->depth + 1) continue;
      bytes += tiles->list[k].bytes;
      n++;
    }
    claim(n == 0 || bytes == tile->bytes);
    drop_text(lh_tile_steps(s, tile));
  }
}

/* Pictures of all trees, of the whole and of a part, of all times and of some. */
static void ask_tiles(lh_snapshot *s) {
  for (int i = 0; i < 16; i++) {
    lh_tiles_query query = {.by = (lh_tree_by)(i % 4), .depth = 4, .limit = 12};
    lh_tiles tiles;
    char key[LH_TILE_KEY_BYTES] = "root";
    query.interval = (lh_interval){i < 8 ? 0 : 2, i < 8 ? UINT64_MAX : 9};
    query.before = i < 4 ? s : NULL;
    if (lh_find_tiles(s, &query, &tiles, NULL) != LH_OK) continue;
    check_tiles(s, &tiles);
    if (tiles.n > 2) memcpy(key, tiles.list[2].key, sizeof key);
    lh_tiles_free(&tiles);
    query.of = key;
    if (lh_find_tiles(s, &query, &tiles, NULL) != LH_OK) continue;
    check_tiles(s, &tiles);
    lh_tiles_free(&tiles);
  }
}

static void ask_advice(lh_snapshot *s) {
  lh_growings growings;
  ask_waste(s);
  ask_modules(s);
  ask_threads(s);
  ask_timeline(s);
  ask_ways(s);
  ask_tiles(s);
  ask_classes(s);
  if (lh_find_growing(s, NULL, &growings, NULL) == LH_OK) lh_growings_free(&growings);
  ask_suspects(s);
  lh_under_query query = {.depth = 3, .limit = 4};
  for (lh_id id = 0; id <= lh_object_count(s) && id < 8; id++) {
    lh_branch *rows;
    size_t n;
    if (lh_under(s, id, &query, &rows, &n, NULL) == LH_OK) lh_free(rows);
  }
}

/* All of the map, and a part of it that is a few bytes long; what is in the cells adds up. */
static void ask_map(lh_snapshot *s) {
  lh_map_query query = {.to = UINT64_MAX, .most_cells = 100, .most_objects = 10};
  lh_memory_map map;
  for (int i = 0; i < 3; i++) {
    if (lh_find_memory_map(s, &query, &map, NULL) != LH_OK) return;
    uint64_t bytes = 0;
    for (size_t k = 0; k < map.n_cells; k++) bytes += map.cells[k].bytes[LH_TYPE_ROOT];
    claim(bytes == map.sum.bytes[LH_TYPE_ROOT] && bytes <= map.all.bytes);
    claim(i > 0 || bytes == map.all.bytes);
    claim(map.n_cells <= query.most_cells + 1 && map.n_objects <= query.most_objects);
    query.from = map.from + map.cell_bytes * (map.n_cells / 2);
    query.to = query.from + 100;
    query.has_interval = true;
    query.interval = (lh_interval){1, 5};
    lh_memory_map_free(&map);
  }
}

/* Some of what there is gone, alone and together, and then all that is left asked again. */
static void ask_cuts(lh_snapshot *s) {
  static const char *const expressions[] = {"_G.*", "registry[*]", "upvalue * of function *",
                                            "key of array*", "local * in function *"};
  enum { MOST = sizeof expressions / sizeof *expressions };
  lh_without cuts[MOST];
  lh_freed alone[MOST], together, only_together;
  size_t n = 0;
  for (int i = 0; i < MOST; i++)
    if (lh_find_cut(s, expressions[i], &cuts[n], NULL) == LH_OK) n++;
  (void)lh_what_if(s, cuts, n, LH_NO_OBJECT, alone, &together, &only_together, NULL);
  bool ok = n == 0 || lh_analyse_without(s, cuts, 1, NULL) == LH_OK;
  for (size_t i = 0; i < n; i++) lh_without_free(&cuts[i]);
  if (!ok) return;
  ask_rankings(s);
  ask_sites(s);
  ask_advice(s);
}

static void ask_fingerprints(lh_snapshot *s, const lh_diff *diff) {
  for (size_t i = 0; i < diff->n_groups && i < 3; i++) {
    lh_id *ids;
    size_t n;
    if (lh_objects_with(s, diff->groups[i].fingerprint, &ids, &n, NULL) == LH_OK) lh_free(ids);
  }
}

static void ask_ladder(lh_ladder *ladder) {
  lh_growth *growth;
  lh_fix_verdict answer;
  lh_part *parts;
  size_t n;
  if (lh_ladder_growth(ladder, &growth, NULL) == LH_OK) lh_growth_free(growth);
  if (lh_ladder_owners(ladder, &parts, &n, NULL) == LH_OK) lh_free(parts);
  if (lh_ladder_halves(ladder, &growth, NULL) != LH_OK) return;
  lh_judge_fix(growth, &answer);
  lh_growth_free(growth);
}

/* The same bytes as three steps of a ladder, one open at a time; the last of another state. */
static void climb(const uint8_t *data, size_t size) {
  lh_ladder *ladder;
  bool ok = lh_ladder_new(&ladder, NULL) == LH_OK;
  for (uint32_t i = 0; ok && i < 3; i++) {
    lh_snapshot *s;
    ok = lh_open_memory(&s, data, size, "step", NULL) == LH_OK;
    if (!ok) break;
    s->info.serial += i;
    s->info.state_id += i == 2;
    ok = lh_ladder_add(ladder, s, NULL) == LH_OK;
    lh_close(s);
    if (ok && i > 0) ask_ladder(ladder);
  }
  lh_ladder_free(ladder);
}

static void ask_strings(lh_snapshot *a, lh_snapshot *b) {
  lh_string_changes strings;
  if (lh_compare_strings(a, b, &strings, NULL) == LH_OK) lh_free(strings.rows);
}

/* The same bytes as three snapshots: of one state, the later ones with later marks, and of two. */
static void compare_marks(lh_snapshot *a, const uint8_t *data, size_t size) {
  lh_snapshot *others[2] = {NULL, NULL};
  lh_diff *diff;
  bool ok = true;
  for (uint32_t i = 0; ok && i < 2; i++) {
    ok = lh_open_memory(&others[i], data, size, "later", NULL) == LH_OK;
    if (ok) others[i]->info.serial += i + 1;
    if (ok) others[i]->info.time_ns += i + 1;
  }
  for (int i = 0; ok && i < 2; i++) {
    if (lh_diff_snapshots(a, NULL, others[1], &diff, NULL) == LH_OK) lh_diff_free(diff);
    if (lh_diff_snapshots(a, others[0], others[1], &diff, NULL) == LH_OK) {
      ask_fingerprints(others[1], diff);
      lh_diff_free(diff);
    }
    ask_strings(a, others[1]);
    for (lh_id id = 0; id <= a->n && id < 100; id++) {
      (void)lh_same_object(a, id, others[1]);
      (void)lh_same_object(others[1], id, a);
    }
    others[1]->info.state_id++;
  }
  for (int i = 0; i < 2; i++) {
    if (others[i]) lh_close(others[i]);
  }
}

void ask_open(const uint8_t *data, size_t size) {
  lh_snapshot *s;
  if (lh_open_memory(&s, data, size, "fuzz", NULL) != LH_OK) return;
  (void)lh_verify(s, NULL, NULL);
  if (lh_analyse(s, NULL) == LH_OK) (void)lh_classify(s, NULL);
  lh_close(s);
}

void ask_all(const uint8_t *data, size_t size) {
  lh_snapshot *s;
  if (lh_open_memory(&s, data, size, "fuzz", NULL) != LH_OK) return;
  (void)read_all(s);
  if (lh_analyse(s, NULL) == LH_OK && lh_classify(s, NULL) == LH_OK) {
    ask_rankings(s);
    ask_names(s);
    ask_marks(s);
    ask_advice(s);
    ask_cuts(s);
    ask_map(s);
  }
  (void)read_all(s); /* with ephemerons now */
  compare_marks(s, data, size);
  lh_close(s);
  climb(data, size);
}
