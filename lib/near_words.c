/* near_words.c - tells whether a word that nobody knows is a known one, mistyped once. */
#include "base.h"

bool lh_is_nearly(const char *word, size_t n, const char *known) {
  size_t m = strlen(known), begin = 0;
  while (begin < n && begin < m && lh_lower(word[begin]) == known[begin]) begin++;
  while (n > begin && m > begin && lh_lower(word[n - 1]) == known[m - 1]) n--, m--;
  bool is_exchanged = n == begin + 2 && m == begin + 2 &&
                      lh_lower(word[begin]) == known[begin + 1] &&
                      lh_lower(word[begin + 1]) == known[begin];
  return is_exchanged || (n <= begin + 1 && m <= begin + 1);
}
