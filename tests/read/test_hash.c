/*
** test_hash.c - lh_hash is XXH64: the vectors of the reference implementation's sanity check, over
** the bytes that its generator makes, and well-known ones.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"

static void known_texts(void **state) {
  (void)state;
  assert_int_equal(lh_hash("", 0, 0), 0xEF46DB3751D8E999u);
  assert_int_equal(lh_hash("a", 1, 0), 0xD24EC4F1A98C6E5Bu);
  assert_int_equal(lh_hash("abc", 3, 0), 0x44BC2CF5AD770999u);
  assert_int_equal(lh_hash("Nobody inspects the spammish repetition", 39, 0), 0xFBCEA83C8A378BF1u);
}

static void reference_vectors(void **state) {
  enum { N = 222 };
  const uint32_t prime32 = 2654435761u;
  const uint64_t prime64 = 11400714785074694797u;
  static const struct {
    size_t n;
    uint64_t plain, seeded;
  } vectors[] = {{0, 0xEF46DB3751D8E999u, 0xAC75FDA2929B17EFu},
                 {1, 0xE934A84ADB052768u, 0x5014607643A9B4C3u},
                 {4, 0x9136A0DCA57457EEu, 0xCAAB286BD8E9FDB5u},
                 {14, 0x8282DCC4994E35C8u, 0xC3BD6BF63DEB6DF0u},
                 {222, 0xB641AE8CB691C174u, 0x20CB8AB7AE10C14Au}};
  uint8_t bytes[N];
  uint64_t generator = prime32;
  (void)state;
  for (size_t i = 0; i < N; i++) {
    bytes[i] = (uint8_t)(generator >> 56);
    generator *= prime64;
  }
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    assert_int_equal(lh_hash(bytes, vectors[i].n, 0), vectors[i].plain);
    assert_int_equal(lh_hash(bytes, vectors[i].n, prime32), vectors[i].seeded);
  }
}

static void any_alignment(void **state) {
  uint8_t bytes[200];
  (void)state;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37);
  for (size_t n = 0; n < 150; n++) {
    uint64_t expected = lh_hash(bytes, n, 5);
    for (size_t shift = 1; shift < 9; shift++) {
      uint8_t moved[200];
      memcpy(moved + shift, bytes, n);
      assert_int_equal(lh_hash(moved + shift, n, 5), expected);
    }
  }
}

/* Whoever knows the hash finds them: tests/hostile/twins_spec.lua has them, too. */
static void different_texts_may_have_one_hash(void **state) {
  static const struct {
    const char *a, *b;
    uint64_t seed;
  } twins[] = {{"InnocentCacheObj", "FZRmBMZanPbwlnqp", 0},
               {"InnocentCacheKey", "qJqbzLlzVIUi5H_F", 1},
               {"the first of them are the same: InnocentCacheObj",
                "the first of them are the same: WmKjDajbe6sPlZHd", 0}};
  (void)state;
  for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
    assert_int_equal(lh_hash(twins[i].a, strlen(twins[i].a), twins[i].seed),
                     lh_hash(twins[i].b, strlen(twins[i].b), twins[i].seed));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_texts), cmocka_unit_test(reference_vectors),
      cmocka_unit_test(any_alignment), cmocka_unit_test(different_texts_may_have_one_hash)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
