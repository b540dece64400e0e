/* tiles.c - tiles (view/answers.h) as rows: retained sizes as areas, and as a flame graph. */
#include "report/report.h"

typedef struct tiles_result {
  lh_tree_by by;
  bool has_interval;
  lh_tiles tiles;
  lh_tile *parts; /* the first and its children: the rows of the text */
  size_t n_parts;
} tiles_result;

/* "12 Session tables"; of one object its class; of several classes the type. */
static const char *what_words(lh_report *report, const lh_tile *tile) {
  if (tile->objects == 1) return lh_kept(report, lh_what_text(report->snapshot, tile->id));
  if (tile->class_index != UINT32_MAX)
    return lh_count_words(report, tile->class_index, tile->objects);
  lh_text text = {0};
  const char *type = lh_type_name(lh_type_of(report->snapshot, tile->id));
  lh_append_count(&text, tile->objects, type, LH_TYPE_ROOT);
  return lh_kept(report, lh_text_finish(&text));
}

/* .listeners: array of Listener */
static const char *tile_words(lh_report *report, const lh_tile *tile) {
  const lh_snapshot *s = report->snapshot;
  const char *steps = tile->path       ? lh_kept(report, lh_tile_steps(s, tile))
                      : tile->has_edge ? lh_kept(report, lh_edge_text(s, &tile->edge))
                                       : "";
  bool is_cluster = tile->kind == LH_TILE_LIST || tile->kind == LH_TILE_TREE;
  switch (tile->kind) {
    case LH_TILE_OWN:
      return tile->objects == 1 ? "itself"
                                : lh_words(report, "themselves: %s", what_words(report, tile));
    case LH_TILE_REST: return lh_words(report, "%s smaller", lh_count_text(tile->objects).text);
    case LH_TILE_SHARED: return "shared by several, or held by none";
    default: break;
  }
  if (tile->id == LH_ROOT) return "root";
  return lh_words(report, "%s%s%s%s%s", steps, *steps ? ": " : "",
                  is_cluster ? lh_tile_kind_name(tile->kind) : "", is_cluster ? " of " : "",
                  what_words(report, tile));
}

LH_CELL(treemap_text, void, cell->as.text = tile_words(report, row))
LH_MADE_TEXT(steps_of, void, lh_tile_steps(report->snapshot, row))

static bool is_object(const void *row) {
  lh_id id = ((const lh_tile *)row)->id;
  return id != LH_NO_OBJECT && id != LH_ROOT;
}

LH_CELL(type_of, lh_tile, cell->as.text = lh_type_name(lh_type_of(report->snapshot, it->id)))
LH_ITS(bool, is_vertex, lh_tile, it->kind < LH_TILE_SHARED)
LH_ITS(bool, is_group, lh_tile, it->kind == LH_TILE_GROUP)
LH_ITS(bool, has_path, lh_tile, it->path)
LH_ITS(bool, has_position, lh_tile, it->position >= 0)
LH_ITS(bool, has_new, lh_tile, it->has_new)

/* Only groups, by class or place, are compared with another snapshot. */
static void before_of(lh_report *report, const void *row, lh_cell *cell) {
  lh_tree_by by = ((const tiles_result *)report->answer)->by;
  bool in_groups = by == LH_TREE_OF_CLASSES || by == LH_TREE_OF_PLACES;
  (void)row;
  cell->is_null = cell->is_absent = !report->request.before || !in_groups;
}

LH_STYLE(style_of, lh_tile, is_vertex(it) ? LH_PLAIN : LH_FAINT)

LH_ITS(uint32_t, depth_of, lh_tile, it->depth)

#define ROW lh_tile
static const lh_table tile_table = LH_TABLE_WITH(
    (.depth = depth_of, .style = style_of), "heap.tile", "part", "parts",
    LH_WORD("kind", NULL, kind, lh_tile_kind_name,
            "\"object\", \"list\", \"tree\", \"group\", \"shared\", \"own\" or \"rest\""),
    LH_COUNT("depth", NULL, depth, "0 for the first"),
    LH_INLINE_TEXT("key", NULL, key, "by which it is asked for", LH_ONLY_WHERE(is_vertex)),
    LH_COMPUTED("text", NULL, LH_COLUMN_TEXT, treemap_text,
                "what it is called below the row above"),
    LH_COMPUTED("steps", NULL, LH_COLUMN_TEXT, steps_of,
                "of a place: how it goes on from the one above; of a module its name",
                LH_ONLY_WHERE(has_path)),
    LH_TEXT("path", NULL, path, "of a place: folded; of a module its name",
            LH_ONLY_WHERE(has_path)),
    LH_CLASS(NULL, class_index, "of its objects; null: of several", LH_WITHOUT_TYPE,
             LH_ONLY_WHERE(is_object)),
    LH_COMPUTED("type", NULL, LH_COLUMN_TEXT, type_of, "of its objects", LH_ONLY_WHERE(is_object)),
    LH_EXAMPLE("example", NULL, id, "of a group: the object that retains most",
               LH_ONLY_WHERE(is_group)),
    LH_COUNT("objects", "objects", objects, "how many; of the rest those directly there"),
    LH_BYTES("shallow_bytes", NULL, shallow_bytes, "of these objects themselves",
             LH_ONLY_WHERE(is_vertex)),
    LH_BYTES("retained_bytes", "retained", bytes,
             "of an interval: those that were allocated in it; the rows below add up to it"),
    LH_SHARE("share", bytes),
    LH_BYTES("new_bytes", "new", new_bytes,
             "of the retained those allocated since the first snapshot, or the first mark",
             LH_ONLY_WHERE(has_new)),
    LH_BYTES("before_bytes", NULL, before_bytes, "retained at the same place before",
             .compute = before_of, LH_OPTIONAL),
    LH_NUMBER("position", position, "when they were allocated, on the axis of time: the mean",
              LH_ONLY_WHERE(has_position)),
    LH_FLAG("opens", opens, "there is something below", LH_ONLY_WHERE(is_vertex)),
    LH_EXAMPLE(NULL, "example", id, NULL, LH_WHERE(is_object)),
    LH_COMPUTED(NULL, "keeps alive", LH_COLUMN_TEXT, treemap_text, NULL));
#undef ROW

#define ROW tiles_result
static const lh_table tiles_answer = LH_TABLE_OF(
    "heap.tiles", NULL, NULL,
    LH_WORD("by", NULL, by, lh_tree_by_name, "\"object\", \"class\", \"place\" or \"module\""),
    LH_BYTES("whole_bytes", NULL, tiles.whole_bytes, "of the root"),
    LH_BYTES("before_bytes", NULL, tiles.before_bytes, "of the root before", .compute = before_of,
             LH_OPTIONAL),
    LH_COUNT("positions", NULL, tiles.n_positions, "on the axis of time"),
    LH_ROWS("above", tiles.above, tiles.n_above, &tile_table, "the way from the root to the first"),
    LH_ROWS("rows", tiles.list, tiles.n, &tile_table,
            "in preorder, biggest first; those below a row add up to it"));
#undef ROW

/* The tile of request->of, else of request->id. `limit` and `depth` are defaults. The key of an id
** is its header's address: lh_find_address finds it for any number of user values. */
static int find_tiles(lh_snapshot *snapshot, const lh_request *request, lh_tree_by by, size_t limit,
                      uint32_t depth, tiles_result *out, lh_error *error) {
  enum { MOST_TILES = 20000, MOST_DEPTH = 1000 };
  lh_tiles_query query = {.by = by,
                          .of = request->of,
                          .depth = depth,
                          .limit = limit,
                          .interval = LH_EVER,
                          .first = request->n_snapshots > 0 ? request->snapshots[0] : NULL,
                          .before = request->before};
  char header[LH_TILE_KEY_BYTES];
  (void)snprintf(header, sizeof header, "0x%llx",
                 (unsigned long long)lh_address_of(snapshot, request->id));
  if (!query.of && request->id != LH_ROOT) query.of = header;
  if (request->has_interval) query.interval = request->interval;
  if (request->has_limit) query.limit = request->limit;
  if (query.limit == 0 || query.limit > MOST_TILES) query.limit = MOST_TILES;
  if (request->has_depth)
    query.depth = request->depth < MOST_DEPTH ? (uint32_t)request->depth : MOST_DEPTH;
  *out = (tiles_result){.by = by, .has_interval = request->has_interval};
  int code = lh_find_tiles(snapshot, &query, &out->tiles, error);
  if (code != LH_OK) return code;
  out->parts = lh_alloc(out->tiles.n, sizeof *out->parts);
  if (!out->parts) return lh_fail_memory(error, "telling a tree");
  for (size_t i = 0; i < out->tiles.n; i++)
    if (out->tiles.list[i].depth < 2) out->parts[out->n_parts++] = out->tiles.list[i];
  return LH_OK;
}

static void free_tiles(void *answer) {
  tiles_result *told = answer;
  lh_tiles_free(&told->tiles);
  lh_free(told->parts);
}

/* "root retains 329.6 KB: 12 parts, by class" */
static void print_treemap(lh_printer *t, lh_report *report) {
  const tiles_result *told = report->answer;
  const lh_tile *top = told->tiles.list;
  lh_say(t, LH_BOLD, "%s%s%s%s, %s of the heap; by %s",
         top->path && *top->path ? top->path : tile_words(report, top),
         told->has_interval ? ": " : " retains ", lh_format_size(t, top->bytes).text,
         told->has_interval ? " of what it retains was allocated then" : "",
         lh_share_of_heap(report, top->bytes).text, lh_tree_by_name(told->by));
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_table(t, report, &tile_table, told->parts, told->n_parts, told->n_parts);
}

/* As much as a picture can show. A frame is a line of text: there are fewer side by side, but
** deeper paths. */
enum { USUAL_TILES = 400, USUAL_DEPTH = 8, USUAL_FRAMES = 600, USUAL_STACK = 60 };

static int find_treemap(lh_snapshot *snapshot, const lh_request *request, void *out,
                        lh_error *error) {
  return find_tiles(snapshot, request, request->tree, USUAL_TILES, USUAL_DEPTH, out, error);
}

static int find_flame(lh_snapshot *snapshot, const lh_request *request, void *out,
                      lh_error *error) {
  return find_tiles(snapshot, request, LH_TREE_OF_PLACES, USUAL_FRAMES, USUAL_STACK, out, error);
}

#define print_flame print_treemap
#define TILES .main = "rows", LH_WHOLE(tiles_result, tiles.whole_bytes), .free = free_tiles
LH_QUESTION_WITH(treemap, tiles_answer, TILES);
LH_QUESTION_WITH(flame, tiles_answer, TILES);
