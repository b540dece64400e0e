/*
** map.c - the heap by address: types of objects in squares. Few enough objects are listed, too.
**
** Each type has a text. A letter says how many eighths of a square the type fills, from a (none) to
** i (all); a number before it repeats it. "120ai3b": 120 empty squares, a full one, three with up
** to an eighth. Trailing empty squares are omitted. 30,000 squares take about 20 KB, at worst a
** byte for each square and type.
*/
#include "report/report.h"

enum { USUAL_CELLS = 4096, MOST_CELLS = 65536, FEW_OBJECTS = 512, MOST_OBJECTS = 4096 };

/* The last row is of all types. */
typedef struct of_type {
  lh_type type;
  lh_mapped mapped;
  uint64_t here_bytes; /* in the squares */
} of_type;

typedef struct object {
  lh_id id;
  uint64_t bytes; /* on the map */
} object;

typedef struct map_result {
  lh_memory_map map;
  uint64_t region_bytes, hole_bytes; /* of all regions; between them */
  uint64_t beside_bytes;             /* of objects, but not on the map */
  of_type types[LH_TYPE_COUNT];      /* without the root and empty types */
  size_t n_types;
  object *objects;
  const lh_mark_info *since; /* mark of the snapshot before; new bytes are younger */
} map_result;

/* ==== Squares ======================================================================== */

static void put_run(lh_text *text, uint64_t n, char level) {
  if (n > 1) lh_text_format(text, "%llu", (unsigned long long)n);
  lh_text_add(text, &level, 1);
}

/* The sum at `offset` in each cell. */
static char *plane_text(const lh_memory_map *map, size_t offset) {
  lh_text text = {0};
  uint64_t eighth = map->cell_bytes / 8, n = 0;
  char last = 'a';
  lh_text_string(&text, "");
  for (size_t i = 0; i < map->n_cells; i++) {
    const char *cell = (const char *)&map->cells[i];
    uint64_t bytes = *(const uint64_t *)(const void *)(cell + offset);
    char level = (char)('a' + (bytes > 0 ? (bytes - 1) / eighth + 1 : 0));
    if (level != last && n > 0) put_run(&text, n, last);
    n = level == last ? n + 1 : 1;
    last = level;
  }
  if (last != 'a') put_run(&text, n, last);
  return lh_text_finish(&text);
}

static void put_plane(lh_report *report, size_t offset, lh_cell *cell) {
  const map_result *f = report->answer;
  cell->as.text = lh_kept(report, plane_text(&f->map, offset));
}

LH_CELL(plane_of, of_type,
        put_plane(report, offsetof(lh_map_cell, bytes) + it->type * sizeof(uint64_t), cell))
LH_CELL(new_of, void, put_plane(report, offsetof(lh_map_cell, new_bytes), cell))
LH_CELL(gone_of, void, put_plane(report, offsetof(lh_map_cell, gone_bytes), cell))

static void put_address(lh_report *report, uint64_t address, lh_cell *cell) {
  cell->as.text = lh_words(report, "%s", lh_hex_text(address).text);
}

LH_CELL(from_of, map_result, put_address(report, it->map.from, cell))
LH_CELL(to_of, map_result, put_address(report, it->map.to, cell))
LH_CELL(region_from_of, lh_region, put_address(report, it->from, cell))
LH_CELL(region_to_of, lh_region, put_address(report, it->to, cell))
LH_CELL(region_bytes_of, lh_region, cell->as.n = it->to - it->from)
LH_CELL(region_share_of, lh_region, cell->as.n = it->bytes, cell->whole = it->to - it->from)

LH_CELL(beside_of, of_type, cell->as.n = it->mapped.shallow_bytes - it->mapped.bytes)

LH_CELL(object_address_of, object,
        put_address(report, lh_address_of(report->snapshot, it->id), cell))
LH_CELL(since_of, map_result, lh_name_of_mark(cell, it->since))

/* Without squares these columns are null. */
LH_ITS(bool, has_cells, map_result, it->map.n_cells > 0)

#define ROW of_type
static const lh_table type_table = LH_TABLE_OF(
    "heap.map_type", "type", "types",
    LH_BYTES("mapped_bytes", "on the map", mapped.bytes, "of the blocks at their addresses"),
    LH_SHARE("share", mapped.bytes, LH_WHOLE(map_result, map.all.bytes)),
    LH_COMPUTED("beside_bytes", "not on it", LH_COLUMN_BYTES, beside_of,
                "of what else they own, of which no address is known"),
    LH_COUNT("objects", "objects", mapped.objects, "how many"),
    LH_BYTES("here_bytes", NULL, here_bytes, "in the squares"),
    LH_WORD("type", "type", type, lh_type_name, "a type of Lua's, \"upvalue\" or \"proto\""),
    LH_COMPUTED("squares", NULL, LH_COLUMN_TEXT, plane_of,
                "eighths of each square that it has, as letters from a, none, to i, all of it; in "
                "front of a letter how many squares in a row have it, if it is not one; behind the "
                "last all are empty"));
#undef ROW

#define ROW lh_region
static const lh_table region_table = LH_TABLE_OF(
    "heap.map_region", "region", "regions",
    LH_BYTES("hole_bytes", "hole before", hole_bytes, "between the region before and this one"),
    LH_COMPUTED("bytes", "region", LH_COLUMN_BYTES, region_bytes_of, "from its start to its end"),
    LH_BYTES("mapped_bytes", "on the map", bytes, "of objects in it"),
    LH_COMPUTED(NULL, "filled", LH_COLUMN_SHARE, region_share_of, NULL),
    LH_COUNT("objects", "objects", objects, "how many begin in it"),
    LH_COMPUTED("from", "from", LH_COLUMN_TEXT, region_from_of, "the address of its first byte",
                LH_UNBROKEN),
    LH_COMPUTED("to", NULL, LH_COLUMN_TEXT, region_to_of, "the address behind its last byte"));
#undef ROW

#define ROW object
static const lh_table object_table = LH_TABLE_OF(
    "heap.map_object", "object", "objects",
    LH_BYTES("mapped_bytes", "on the map", bytes, "of the block at its address"),
    LH_OF("shallow_bytes", "shallow", LH_COLUMN_BYTES, id, lh_cell_shallow, "all of its own"),
    LH_COMPUTED("begins", NULL, LH_COLUMN_TEXT, object_address_of,
                "the address of its first byte, which of userdata is not what Lua prints"),
    LH_EXAMPLE(NULL, "address", id, NULL), LH_OBJECT("object", id, "as Lua prints it", LH_ADDRESS),
    LH_OF("text", "class", LH_COLUMN_TEXT, id, lh_cell_what,
          "its class, and of a string its beginning"));
#undef ROW

#define ROW map_result
static const lh_table map_answer = LH_TABLE_OF(
    "heap.map", NULL, NULL, LH_COUNT("objects", NULL, map.all.objects, "how many there are"),
    LH_BYTES("shallow_bytes", NULL, map.all.shallow_bytes, "of all of them"),
    LH_BYTES("mapped_bytes", NULL, map.all.bytes, "of these, on the map"),
    LH_BYTES("beside_bytes", NULL, beside_bytes, "of these, at addresses that no snapshot has"),
    LH_BYTES("region_bytes", NULL, region_bytes, "of all regions, filled or not"),
    LH_BYTES("hole_bytes", NULL, hole_bytes, "between the regions"),
    LH_COMPUTED("from", NULL, LH_COLUMN_TEXT, from_of, "the address at which the squares begin",
                LH_WHERE(has_cells)),
    LH_COMPUTED("to", NULL, LH_COLUMN_TEXT, to_of, "the address behind the last square",
                LH_WHERE(has_cells)),
    LH_BYTES("square_bytes", NULL, map.cell_bytes, "a square, a power of 2"),
    LH_COUNT("squares", NULL, map.n_cells, "how many"),
    LH_BYTES("here_bytes", NULL, map.sum.bytes[LH_TYPE_ROOT], "of objects in the squares"),
    LH_BYTES("new_bytes", NULL, map.sum.new_bytes,
             "of these, allocated in the interval, or since the snapshot before"),
    LH_BYTES("gone_bytes", NULL, map.sum.gone_bytes,
             "that the snapshot before has there, and this one has no more"),
    LH_COMPUTED("since", NULL, LH_COLUMN_NAME, since_of,
                "the snapshot before; null where there is none or an interval was given",
                LH_OPTIONAL),
    LH_COMPUTED("new_squares", NULL, LH_COLUMN_TEXT, new_of, "as those of types"),
    LH_COMPUTED("gone_squares", NULL, LH_COLUMN_TEXT, gone_of, "as those of types"),
    LH_INLINE_ROWS("types", types, n_types, &type_table, "most bytes on the map first"),
    LH_ROWS("regions", map.regions, map.n_regions, &region_table, "in the order of addresses"),
    LH_COUNT("objects_here", NULL, map.in_cells, "so many have bytes in the squares"),
    LH_ROWS("list", objects, map.n_objects, &object_table,
            "the first of these, in the order of addresses; without a limit all if they are few",
            LH_OWNED));
#undef ROW

static void print_all(lh_printer *t, const lh_report *report) {
  const map_result *f = report->answer;
  lh_say(t, LH_BOLD, "%s lie in %s of addresses, in %s, and fill %s of it",
         lh_count_of(f->map.all.objects, "object", "objects").text,
         lh_format_size(t, f->region_bytes).text,
         lh_count_of(f->map.n_regions, region_table.one, region_table.many).text,
         lh_share_text(f->map.all.bytes, f->region_bytes).text);
  if (f->hole_bytes > 0)
    lh_say(t, LH_PLAIN, "The holes between the regions, %s, are passed over",
           lh_format_size(t, f->hole_bytes).text);
  if (f->beside_bytes > 0)
    lh_say(t, LH_PLAIN,
           "The map has %s of %s: %s are arrays of tables, code and stacks%s, blocks of which no\n"
           "snapshot has the address",
           lh_format_size(t, f->map.all.bytes).text,
           lh_format_size(t, f->map.all.shallow_bytes).text,
           lh_format_size(t, f->beside_bytes).text,
           lh_snapshot_info(report->snapshot)->external_bytes > 0 ? ", and external strings" : "");
}

static void print_squares(lh_printer *t, const lh_report *report) {
  const map_result *f = report->answer;
  const lh_memory_map *map = &f->map;
  if (map->n_cells == 0) {
    lh_say(t, LH_PLAIN, "There is no object between these addresses, nor near them");
    return;
  }
  lh_say(t, LH_PLAIN, "From %s to %s: %s, %s of %s each", lh_hex_text(map->from).text,
         lh_hex_text(map->to).text, lh_format_size(t, map->sum.bytes[LH_TYPE_ROOT]).text,
         lh_count_of(map->n_cells, "square", "squares").text,
         lh_format_size(t, map->cell_bytes).text);
  if (report->request.has_interval)
    lh_say(t, LH_PLAIN, "Of that %s was allocated in the interval",
           lh_format_size(t, map->sum.new_bytes).text);
  bool is_time;
  if (f->since)
    lh_say(t, LH_PLAIN, "Since %s: %s new, %s gone",
           lh_kept(t->report, lh_mark_name(f->since, &is_time)),
           lh_format_size(t, map->sum.new_bytes).text, lh_format_size(t, map->sum.gone_bytes).text);
}

static void print_map(lh_printer *t, lh_report *report) {
  const map_result *f = report->answer;
  print_all(t, report);
  print_squares(t, report);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_rows(t, report, &type_table, f->types, f->n_types);
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_table(t, report, &region_table, f->map.regions, f->map.n_regions, f->map.n_regions);
  if (f->map.n_objects == 0) return;
  lh_say(t, LH_PLAIN, "%s", "");
  lh_print_table(t, report, &object_table, f->objects, f->map.n_objects, f->map.in_cells);
}

/* The latest opened snapshot of which this one has the mark (not its own). *mark: its index. */
static lh_snapshot *find_before(const lh_snapshot *s, const lh_request *request, uint32_t *mark) {
  const lh_info *info = lh_snapshot_info(s);
  for (uint32_t at = lh_mark_count(s) - 1; at-- > 0;) {
    const lh_mark_info *its = lh_mark_at(s, at);
    for (size_t i = 0; i < request->n_opened; i++) {
      const lh_info *other = lh_snapshot_info(request->opened[i]);
      *mark = at;
      if (other->state_id == info->state_id && other->serial == its->serial &&
          other->time_ns == its->time_ns)
        return request->opened[i];
    }
  }
  return NULL;
}

static size_t most_objects(const lh_request *request) {
  if (!request->has_limit || request->limit == 0) return MOST_OBJECTS;
  return request->limit < MOST_OBJECTS ? request->limit : MOST_OBJECTS;
}

enum { NEIGHBOURS_BYTES = 4096 };

static void look_around(const lh_snapshot *s, lh_id id, lh_map_query *query) {
  uint64_t at = lh_address_of(s, id), bytes = lh_mapped_bytes(s, id);
  query->from = at > NEIGHBOURS_BYTES ? at - NEIGHBOURS_BYTES : 0;
  query->to = at;
  if (__builtin_add_overflow(query->to, bytes + NEIGHBOURS_BYTES, &query->to))
    query->to = UINT64_MAX;
}

static int by_mapped(const void *a, const void *b) {
  const of_type *x = a, *y = b;
  return LH_MORE(x->mapped.bytes, y->mapped.bytes) ?: LH_LESS(x->type, y->type);
}

static bool make_map_rows(map_result *f, const lh_snapshot *snapshot) {
  lh_memory_map *map = &f->map;
  for (lh_type t = LH_TYPE_STRING; t < LH_TYPE_COUNT; t++)
    if (map->types[t].objects > 0)
      f->types[f->n_types++] = (of_type){t, map->types[t], map->sum.bytes[t]};
  qsort(f->types, f->n_types, sizeof *f->types, by_mapped);
  f->objects = lh_alloc(map->n_objects, sizeof *f->objects);
  for (size_t i = 0; f->objects && i < map->n_objects; i++)
    f->objects[i] = (object){map->objects[i], lh_mapped_bytes(snapshot, map->objects[i])};
  for (size_t i = 0; i < map->n_regions; i++) {
    f->region_bytes += map->regions[i].to - map->regions[i].from;
    f->hole_bytes += map->regions[i].hole_bytes;
  }
  f->beside_bytes = map->all.shallow_bytes - map->all.bytes;
  return f->objects != NULL;
}

LH_FREED_BY(map, map_result, lh_memory_map_free(&it->map))

static int find_map(lh_snapshot *snapshot, const lh_request *request, void *out, lh_error *error) {
  map_result *f = out;
  uint64_t cells = request->cells > 0 ? request->cells : USUAL_CELLS;
  uint32_t mark = 0;
  lh_map_query query = {.from = request->from_address,
                        .to = request->to_address > 0 ? request->to_address : UINT64_MAX,
                        .most_cells = (uint32_t)(cells < MOST_CELLS ? cells : MOST_CELLS),
                        .most_objects = most_objects(request),
                        .snapshots = request->opened,
                        .n_snapshots = request->n_opened,
                        .has_interval = request->has_interval,
                        .interval = request->interval};
  if (request->id != LH_ROOT && request->from_address == 0 && request->to_address == 0)
    look_around(snapshot, request->id, &query);
  if (!query.has_interval) query.before = find_before(snapshot, request, &mark);
  if (query.before) {
    f->since = lh_mark_at(snapshot, mark);
    query.has_interval = true;
    query.interval = (lh_interval){lh_mark_position(snapshot, mark), UINT64_MAX};
  }
  int code = lh_find_memory_map(snapshot, &query, &f->map, error);
  if (code < 0) return code;
  if (!request->has_limit && f->map.in_cells > FEW_OBJECTS) f->map.n_objects = 0;
  return make_map_rows(f, snapshot) ? LH_OK : lh_fail_memory(error, "making a map");
}

LH_QUESTION(map, .free = free_map);
