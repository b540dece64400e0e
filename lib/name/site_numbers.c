/*
** site_numbers.c - numbers sites by content (see allocated.h).
*/
#include "allocated.h"
#include "text.h"

lh_site_id lh_site_at(const lh_sites *sites, lh_stack_id stack) {
  return stack > 0 && stack <= lh_n_stacks(sites) ? lh_stack_of(sites, stack)->site : 0;
}

lh_site_id lh_caller_at(const lh_sites *sites, lh_stack_id stack) {
  if (lh_site_at(sites, stack) == 0) return 0;
  return lh_site_at(sites, lh_stack_of(sites, stack)->parent);
}

static uint32_t site_number(lh_site_numbers *k, const lh_site *site, lh_alike alike) {
  const uint64_t source = lh_shared_name(&k->names, site->source),
                 function = lh_shared_name(&k->names, site->function),
                 c_function = lh_shared_name(&k->names, site->c_function), maker = site->maker,
                 host = site->source ? 0 : maker, first = (uint64_t)site->first_line << 32;
  const uint64_t words[][5] = {
      [LH_ALIKE_SITE] = {source, function, c_function, maker, first | site->line},
      [LH_ALIKE_MOVED] = {source, function, c_function, maker, site->line - site->first_line},
      [LH_ALIKE_FUNCTION] = {source, function, 0, host, first},
      [LH_ALIKE_LINE] = {source, 0, 0, 0, site->source ? site->line : 0},
      [LH_ALIKE_FILE] = {source, 0, 0, host, 0}};
  if (source == LH_NO_NUMBER || function == LH_NO_NUMBER || c_function == LH_NO_NUMBER)
    return LH_NO_NUMBER;
  return lh_map_number_words(&k->numbers, words[alike], 5);
}

uint32_t *lh_number_sites(lh_site_numbers *k, const lh_sites *sites, lh_alike alike) {
  uint32_t n = lh_n_sites(sites), *numbers = lh_alloc((size_t)n + 1, sizeof *numbers);
  for (lh_site_id i = 0; numbers && i <= n; i++) {
    numbers[i] = site_number(k, i ? lh_site_of(sites, i) : lh_site_of_stack(sites, 0), alike);
    if (numbers[i] != LH_NO_NUMBER) continue;
    lh_free(numbers);
    return NULL;
  }
  return numbers;
}

void lh_site_numbers_free(lh_site_numbers *k) {
  lh_shared_names_free(&k->names);
  lh_map_free(&k->numbers);
}
