/* draft.c - taking snapshots apart, and putting them together (see draft.h). */
#include "draft.h"

#include <string.h>

#include "read/record.h"

/* ==== Taking apart ================================================================== */

static void keep_outside(draft *d, const lh_snapshot *s) {
  const lh_section *section = &s->outside_section;
  size_t n = s->is_outside ? (size_t)(section->end - section->offset) : 0;
  d->is_outside = n > 0 && n <= sizeof d->outside;
  d->n_outside = d->is_outside ? n : 0;
  if (d->is_outside) memcpy(d->outside, s->data + section->offset, n);
}

static void add_record(draft *d, const lh_snapshot *s, lh_id id) {
  if (d->n_records == MAX_RECORDS) return;
  const uint8_t *at = lh_record(s, id);
  const uint8_t *end = id < s->n ? lh_record(s, id + 1) : s->data + s->records_end;
  record *r = &d->records[d->n_records++];
  *r = (record){.head = *at, .address = s->address[id], .list = (uint8_t)lh_list_of(s, id)};
  r->shallow_bytes = lh_get_shallow(s, &at);
  r->stack = lh_object_stack(s, id);
  r->fields = at;
  r->n_fields = (size_t)(end - at);
  r->lacks_length = (r->head & 15) == LH_REC_STRING && s->info.format_version < LH_LENGTHS_VERSION;
}

void draft_take_apart(draft *d, const lh_snapshot *s, unsigned seed) {
  d->n_records = d->n_roots = d->n_changed = 0;
  d->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  d->s = s;
  d->info = s->info;
  keep_outside(d, s);
  d->version = roll(d, 2) == 0 ? 1 : LH_SECTIONS_VERSION + (unsigned)roll(d, 2);
  if (s->info.format_version >= LH_LENGTHS_VERSION) d->version = s->info.format_version;
  d->more_number = roll(d, 2) ? LH_SECTION_COLLECTOR + 1 + (unsigned)roll(d, 8) : 0;
  for (uint64_t id = 1; id <= s->n; id++) add_record(d, s, (lh_id)id);
  for (size_t i = 0; i < s->n_roots && d->n_roots < MAX_ROOTS; i++) {
    bool listed = s->roots[i].kind == LH_ROOT_FIXED || s->roots[i].kind == LH_ROOT_FINALIZER;
    if (listed) continue;
    d->root_addresses[d->n_roots] = s->address[s->roots[i].target];
    d->roots[d->n_roots++] = s->roots[i];
  }
}

/* ==== Records ======================================================================= */

uint8_t *draft_fields_to_change(draft *d, record *r) {
  if (d->n_changed == SPARE || r->n_fields > MAX_FIELDS) return NULL;
  uint8_t *copy = d->changed[d->n_changed++];
  memcpy(copy, r->fields, r->n_fields);
  r->fields = copy;
  return copy;
}

void draft_insert(draft *d, size_t at, record r) {
  if (d->n_records == MAX_RECORDS) return;
  memmove(&d->records[at + 1], &d->records[at], (d->n_records - at) * sizeof r);
  d->records[at] = r;
  d->n_records++;
}

record draft_take_out(draft *d, size_t at) {
  record r = d->records[at];
  d->n_records--;
  memmove(&d->records[at], &d->records[at + 1], (d->n_records - at) * sizeof r);
  return r;
}

void draft_put_back(draft *d, record r) {
  size_t at = roll(d, d->n_records + 1);
  if (at < d->n_records) r.list = d->records[at].list;
  if (roll(d, 4) == 0 && at == d->n_records) r.list = LH_LIST_FIXEDGC;
  draft_insert(d, at, r);
}

uint64_t draft_any_address(draft *d) {
  if (roll(d, 64) == 0) return lie_number(d) & ~UINT64_C(7);
  if (d->n_records == 0) return 0x10;
  uint64_t address = d->records[roll(d, d->n_records)].address;
  return roll(d, 8) == 0 ? address + 0x10 * (roll(d, 64) + 1) : address;
}

uint64_t draft_any_stack(draft *d) {
  if (!d->s->is_tracked) return 0;
  return roll(d, 16) == 0 ? lie_number(d) : roll(d, lh_n_stacks(d->s->sites) + (size_t)1);
}

static bool is_free(const draft *d, uint64_t address) {
  for (size_t i = 0; i < d->n_records; i++)
    if (d->records[i].address == address) return false;
  return address != 0;
}

uint64_t draft_free_address(draft *d) {
  uint64_t address = roll(d, 16) == 0 ? lie_number(d) & ~UINT64_C(7) : draft_any_address(d);
  while (!is_free(d, address)) address += 0x10 * (1 + roll(d, 16));
  return address;
}

/* ==== Putting together ============================================================== */

static void fill_footer(const draft *d, forge *f) {
  const lh_info *info = &d->info;
  f->footer.state_id = info->state_id;
  f->footer.serial = info->serial;
  f->footer.time_ns = info->time_ns;
  f->footer.process_id = info->process_id;
  f->footer.release = info->lua_release;
  f->footer.program = info->program;
  f->footer.name = info->name;
  f->footer.string_limit = info->string_limit;
  f->footer.string_table_bytes = info->string_table_bytes;
  f->footer.gc_bytes = f->footer.object_bytes + info->string_table_bytes +
                       (uint64_t)(info->gc_bytes != d->s->info.gc_bytes ? 8 : 0);
  f->footer.gc_state = info->gc_state;
  f->footer.gc_generational = info->gc_generational;
}

/* The sites are those that there were. */
static void put_sites(const lh_snapshot *s, forge *f) {
  const lh_section *section = &s->sites_section;
  forge_track(f, 0);
  f->sites.size = 0;
  (void)forge_write(s->data + section->offset, section->end - section->offset, &f->sites);
}

size_t draft_put_together(const draft *d, uint8_t *out, size_t max_size) {
  forge f;
  forge_begin(&f);
  if (d->s->is_tracked) put_sites(d->s, &f);
  if (d->is_outside) forge_outside(&f, 0, 0);
  if (d->is_outside) (void)forge_write(d->outside, d->n_outside, &f.outside);
  bool has_sections = d->version >= LH_SECTIONS_VERSION;
  if (has_sections) forge_version(&f, d->version);
  if (has_sections && d->more_number > 0) forge_more(&f, d->more_number, "more", 4);
  for (int list = 0; list < 4; list++) {
    for (size_t i = 0; i < d->n_records; i++) {
      const record *r = &d->records[i];
      if (r->list != list) continue;
      f.set_stack = r->stack + 1;
      forge_record(&f, r->head, r->address, r->shallow_bytes);
      if (r->lacks_length && d->version >= LH_LENGTHS_VERSION && !(r->head & LH_FLAG_DEAD))
        forge_uvarint(&f, r->shallow_bytes - LH_STRING_OVERHEAD);
      forge_bytes_of(&f, r->fields, r->n_fields);
    }
    if (list < 3) forge_next_list(&f);
  }
  for (size_t i = 0; i < d->n_roots; i++)
    forge_root(&f, d->roots[i].kind, d->roots[i].index, d->root_addresses[i]);
  fill_footer(d, &f);
  forge_finish(&f);
  size_t size = f.size <= max_size ? f.size : 0;
  if (size > 0) memcpy(out, f.data, size);
  forge_free(&f);
  return size;
}
