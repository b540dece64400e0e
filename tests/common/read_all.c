/* read_all.c - see read_all.h. */
#include "read_all.h"

#include <string.h>

#include "read/decode.h"

static uint64_t visit_object(const lh_snapshot *s, lh_id id) {
  lh_object o;
  lh_object_at(s, id, &o);
  uint64_t sum = o.shallow_bytes + lh_shallow_bytes(s, id) + lh_epoch(s, id) + (uint64_t)o.type;
  if (o.type == LH_TYPE_STRING && !o.dead)
    for (uint64_t i = 0; i < o.as.string.kept; i++) sum += (uint8_t)o.as.string.bytes[i];
  sum += lh_stack_counts_of(s, lh_object_stack(s, id)).made_bytes + lh_position_of(s, id);
  return sum + lh_find_address(s, o.address) + lh_find_address(s, o.pointer);
}

static uint64_t visit_inside(const lh_snapshot *s, lh_id id) {
  lh_edges it;
  lh_edge edge;
  lh_value key, value;
  lh_frame frame;
  uint64_t sum = 0;
  for (lh_edges_begin(s, id, &it); lh_edges_next(&it, &edge);)
    sum += lh_address_of(s, edge.target) + edge.ordinal;
  for (lh_entries_begin(s, id, &it); lh_entries_next(&it, &key, &value);)
    sum += (uint64_t)key.kind + (uint64_t)value.kind;
  for (lh_frames_begin(s, id, &it); lh_frames_next(&it, &frame);)
    sum += frame.line + (uint64_t)frame.function.kind;
  return sum;
}

static uint64_t visit_sites(const lh_snapshot *s) {
  const lh_sites *sites = lh_snapshot_sites(s);
  uint64_t sum = lh_snapshot_tracking(s)->made;
  for (lh_stack_id stack = 1; stack <= lh_n_stacks(sites); stack++) {
    const lh_site *site = lh_site_of(sites, lh_stack_of(sites, stack)->site);
    if (site->source) sum += strlen(site->source);
    if (site->function) sum += strlen(site->function);
    if (site->c_function) sum += strlen(site->c_function);
    sum += site->line + (uint64_t)site->maker + lh_stack_of(sites, stack)->parent;
  }
  return sum;
}

static uint64_t visit_outside(const lh_snapshot *s) {
  lh_c_code found;
  uint64_t sum = (uint64_t)lh_snapshot_outside(s)->stillness;
  for (uint32_t i = 0; i < lh_snapshot_outside(s)->c_functions; i++)
    if (lh_c_function_at(s, s->c_functions[i].address, &found))
      sum += strlen(found.symbol) + strlen(found.library) + found.offset;
  return sum;
}

uint64_t read_all(const lh_snapshot *s) {
  uint64_t sum = lh_snapshot_sites(s) ? visit_sites(s) : 0;
  if (lh_snapshot_outside(s)) sum += visit_outside(s);
  const lh_info *info = lh_snapshot_info(s);
  sum += strlen(info->name) + strlen(info->program) + strlen(info->lua_release);
  for (uint32_t i = 0; i < lh_mark_count(s); i++) sum += strlen(lh_mark_at(s, i)->name);
  for (uint32_t i = 0; i < lh_mark_count(s); i++) sum += lh_possibly_newer(s, i).bytes;
  for (lh_id id = 1; id <= lh_object_count(s); id++) sum += visit_object(s, id);
  for (lh_id id = 0; id <= lh_object_count(s); id++) sum += visit_inside(s, id);
  for (uint32_t e = 0; e < s->first_edge[s->n + 1]; e++) sum += s->address[lh_true_target(s, e)];
  return sum;
}
