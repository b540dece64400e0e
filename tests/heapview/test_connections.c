/*
** test_connections.c - who has to go where there is no room: sockets are pairs, and who was sent
** away sees the end of its own.
*/
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "heapview/connections.h"

static struct sockaddr_in from(const char *address) {
  struct sockaddr_in result = {.sin_family = AF_INET};
  assert_int_equal(inet_pton(AF_INET, address, &result.sin_addr), 1);
  static in_port_t port;
  result.sin_port = ++port; /* each has another */
  return result;
}

/* A guest, and the other end of its socket. */
typedef struct visit {
  http_connection *http_connection;
  int other, own;
} visit;

static bool has_room(connections *list, const char *address) {
  struct sockaddr_in at = from(address);
  return connections_have_room(list, (struct sockaddr *)&at);
}

static visit come(connections *list, const char *address) {
  struct sockaddr_in at = from(address);
  int ends[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  visit v = {connections_add(list, ends[0], (struct sockaddr *)&at), ends[1], ends[0]};
  return v;
}

/* As the server does when it sees the end of a socket that is shut. */
static bool was_sent_away(const visit *v) {
  char byte;
  return recv(v->other, &byte, 1, MSG_DONTWAIT) == 0;
}

static void go(visit *v) {
  connections_remove(v->http_connection);
  (void)close(v->own);
  (void)close(v->other);
}

static void the_oldest_without_the_token_goes(void **state) {
  connections list;
  visit all[CONNECTIONS_OF_ONE_ADDRESS];
  (void)state;
  connections_begin(&list);
  for (size_t i = 0; i < CONNECTIONS_OF_ONE_ADDRESS; i++) {
    assert_true(has_room(&list, "10.0.0.1"));
    all[i] = come(&list, "10.0.0.1");
    all[i].http_connection->is_known = i < 3;
  }
  assert_true(has_room(&list, "10.0.0.2"));
  for (size_t i = 0; i < CONNECTIONS_OF_ONE_ADDRESS; i++) assert_false(was_sent_away(&all[i]));
  assert_true(has_room(&list, "10.0.0.1"));
  for (size_t i = 0; i < CONNECTIONS_OF_ONE_ADDRESS; i++)
    assert_int_equal(was_sent_away(&all[i]), i == 3);
  assert_true(has_room(&list, "10.0.0.1")); /* one is leaving */
  assert_false(was_sent_away(&all[4]));
  for (size_t i = 0; i < CONNECTIONS_OF_ONE_ADDRESS; i++) go(&all[i]);
}

static void those_who_are_known_stay(void **state) {
  connections list;
  visit all[CONNECTIONS_AT_ONCE];
  char address[32];
  (void)state;
  connections_begin(&list);
  for (int i = 0; i < CONNECTIONS_AT_ONCE; i++) {
    (void)snprintf(address, sizeof address, "10.0.%d.1", i);
    assert_true(has_room(&list, address));
    all[i] = come(&list, address);
    all[i].http_connection->is_known = true;
  }
  assert_false(has_room(&list, "10.1.0.1"));
  all[7].http_connection->is_known = false;
  assert_true(has_room(&list, "10.1.0.1"));
  for (int i = 0; i < CONNECTIONS_AT_ONCE; i++) {
    assert_int_equal(was_sent_away(&all[i]), i == 7);
    go(&all[i]);
  }
}

static void who_is_late_goes_though_there_is_room(void **state) {
  connections list;
  (void)state;
  connections_begin(&list);
  visit late = come(&list, "10.0.0.1"), waits = come(&list, "10.0.0.1");
  late.http_connection->is_known = waits.http_connection->is_known = true;
  connections_give_time(waits.http_connection, false);
  assert_true(has_room(&list, "10.0.0.1"));
  assert_false(was_sent_away(&late));
  late.http_connection->due_ns = connections_now() - 1;
  assert_true(has_room(&list, "10.0.0.1"));
  assert_true(was_sent_away(&late));
  assert_false(was_sent_away(&waits));
  go(&late);
  go(&waits);
}

static void a_place_is_given_again(void **state) {
  connections list;
  visit all[CONNECTIONS_MOST];
  (void)state;
  connections_begin(&list);
  for (size_t i = 0; i < CONNECTIONS_MOST; i++) all[i] = come(&list, "10.0.0.1");
  visit more = come(&list, "10.0.0.1");
  assert_null(more.http_connection);
  go(&more);
  go(&all[5]);
  all[5] = come(&list, "10.0.0.1");
  assert_non_null(all[5].http_connection);
  assert_false(all[5].http_connection->is_known || all[5].http_connection->is_leaving);
  for (size_t i = 0; i < CONNECTIONS_MOST; i++) go(&all[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_oldest_without_the_token_goes),
                                     cmocka_unit_test(those_who_are_known_stay),
                                     cmocka_unit_test(who_is_late_goes_though_there_is_room),
                                     cmocka_unit_test(a_place_is_given_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
