/* target.c - functions for any target, a process or a core file. */
#include "outside.h"

void lh_target_free(lh_target *target) {
  if (!target) return;
  lh_free(target->found);
  if (target->is_core)
    lh_core_close(target);
  else
    lh_process_close(target);
  lh_free(target->program);
  lh_free(target->executable);
  lh_free(target->doubt);
  lh_free(target);
}

lh_target_info lh_describe_target(const lh_target *target) {
  return (lh_target_info){.is_core = target->is_core,
                          .process_id = target->own_process_id,
                          .program = target->program,
                          .executable = target->executable,
                          .private_bytes = lh_mirrored_bytes(&target->memory),
                          .signal = target->signal,
                          .written_ns = target->written_ns,
                          .doubt = target->doubt};
}

uint64_t lh_mirrored_bytes(const lh_memory *memory) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < memory->n; i++) {
    const lh_memory_region *region = &memory->regions[i];
    if (lh_region_is_mirrored(region)) bytes += region->present_bytes;
  }
  return bytes;
}

const lh_memory_region *lh_region_at(const lh_memory *memory, uint64_t address) {
  size_t at;
  LH_LOWER_BOUND(at, memory->n, memory->regions[at].end <= address);
  return at < memory->n && memory->regions[at].start <= address ? &memory->regions[at] : NULL;
}

uint64_t lh_outside_state_id(const lh_target *target, uint64_t state, uint32_t seed) {
  uint8_t parts[sizeof target->random + 3 * sizeof(uint64_t)];
  memcpy(parts, target->random, sizeof target->random);
  lh_store64(parts + sizeof target->random, target->own_process_id);
  lh_store64(parts + sizeof target->random + 8, state);
  lh_store64(parts + sizeof target->random + 16, seed);
  return lh_hash(parts, sizeof parts, 0);
}
