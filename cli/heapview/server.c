/*
** server.c - HTTP by libmicrohttpd, which only this file uses.
**
**     HTTP thread            view_take -> refusal, page, progress: answered at once
**                                      -> question: suspends the connection, queues a job
**     thread of the heap     server_run: takes a job, answers, resumes the connection; when idle,
**                            answers the first questions of pages ahead (view_prefetch_key)
**
** A question may take seconds, and the others wait for it; a client that left is skipped. Clients
** cannot block the server or exhaust memory: connections and their time are limited
** (connections.h), and each has 32 KB for a request, and one answer. It uses poll: with epoll, an
** end that arrives together with bytes is noticed only at the timeout.
*/
#include "heapview/heapview.h"

#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>

#include "heapview/answer_cache.h"
#include "heapview/connections.h"

enum { REQUEST_BYTES = 32 << 10, IDLE_SECONDS = 30, SECONDS_FOR_A_FAILURE = 10 };

/* Questions are answered ahead only after this pause, so that a user's next click comes first. */
enum { QUIET_MS = 300 };

typedef struct job {
  struct job *next;
  struct server *server;
  struct MHD_Connection *connection;
  char *target; /* as received; view_take splits it */
  view_taken taken;
  bool is_seen, tells_failure;
  char *answer; /* of a question; NULL: none yet */
  size_t answer_bytes;
} job;

struct server {
  cli *c;
  view_gate gate;
  struct MHD_Daemon *daemon;
  connections connections; /* this and the next: HTTP thread only */
  bool was_reached;
  char address[256], digits[64];
  answer_cache answer_cache; /* this and the next two: answering thread only */
  size_t n_ahead;
  uint64_t quiet_ns; /* end of the pause QUIET_MS */

  pthread_mutex_t lock; /* guards the fields below */
  pthread_cond_t changed;
  job *first, **last; /* queue */
  job *current;       /* being answered */
  char *doing, *failure;
  uint64_t begun_ns, doing_ns; /* start of the server, and of `doing` */
  bool is_ready, page_was_seen, failure_was_told;
};

/* ==== Connections ==================================================================== */

static http_connection *guest_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info != NULL ? info->socket_context : NULL;
}

static int socket_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info != NULL ? info->connect_fd : -1;
}

static enum MHD_Result admit(void *of_server, const struct sockaddr *address, socklen_t n) {
  server *s = of_server;
  (void)n;
  return connections_have_room(&s->connections, address) ? MHD_YES : MHD_NO;
}

static void come_or_go(void *of_server, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode what) {
  server *s = of_server;
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    connections_remove(*context);
    return;
  }
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info != NULL)
    *context = connections_add(&s->connections, socket_of(connection), info->client_addr);
}

/* ==== Answers ======================================================================== */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                               struct MHD_Response *response, const char *type,
                               const char *policy) {
  const char *const headers[][2] = {{"Content-Type", type},
                                    {"Content-Security-Policy", policy},
                                    {"Cache-Control", "no-store"},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"X-Frame-Options", "DENY"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cross-Origin-Opener-Policy", "same-origin"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (response == NULL) return MHD_NO;
  enum MHD_Result result = MHD_YES;
  for (size_t i = 0; i < sizeof headers / sizeof *headers && result == MHD_YES; i++)
    result = MHD_add_response_header(response, headers[i][0], headers[i][1]);
  if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
    result = MHD_add_response_header(response, "Allow", "GET");
  if (result == MHD_YES) {
    connections_give_time(guest_of(connection), true);
    result = MHD_queue_response(connection, status, response);
  }
  MHD_destroy_response(response);
  return result;
}

/* The response owns `text`. */
static enum MHD_Result respond_json(struct MHD_Connection *connection, unsigned status, char *text,
                                    size_t n) {
  struct MHD_Response *response =
      text != NULL ? MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE) : NULL;
  if (response == NULL) free(text);
  return respond(connection, status, response, "application/json", "default-src 'none'");
}

static char *text_of_error(const char *sentence) {
  char *text = NULL;
  size_t n;
  lh_json w = {.out = cli_open_text(&text, &n), .is_compact = true};
  lh_json_open(&w, NULL, '{');
  cli_json_name(&w, "error", sentence);
  lh_json_close(&w, '}');
  cli_close_text(w.out);
  return text;
}

static enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned status,
                                     const char *sentence) {
  char *text = text_of_error(sentence);
  return respond_json(connection, status, text, strlen(text));
}

static enum MHD_Result respond_page(server *s, struct MHD_Connection *connection) {
  size_t n;
  const char *page = view_page(&n);
  (void)pthread_mutex_lock(&s->lock);
  s->page_was_seen = true;
  (void)pthread_mutex_unlock(&s->lock);
  struct MHD_Response *response =
      MHD_create_response_from_buffer(n, (void *)page, MHD_RESPMEM_PERSISTENT);
  return respond(connection, MHD_HTTP_OK, response, "text/html; charset=utf-8", view_policy());
}

static enum MHD_Result respond_progress(server *s, job *j) {
  uint64_t time = connections_now();
  char *text = NULL;
  size_t n;
  lh_json w = {.out = cli_open_text(&text, &n), .is_compact = true};
  lh_json_open(&w, NULL, '{');
  (void)pthread_mutex_lock(&s->lock);
  j->tells_failure = s->failure != NULL;
  lh_json_flag(&w, "ready", s->failure == NULL && s->is_ready);
  if (s->failure != NULL) {
    cli_json_name(&w, "error", s->failure);
  } else {
    cli_json_name(&w, "doing", s->doing);
    lh_json_number(&w, "doing_seconds",
                   s->doing != NULL ? (double)(time - s->doing_ns) / 1e9 : 0.0);
    lh_json_number(&w, "seconds", (double)(time - s->begun_ns) / 1e9);
  }
  (void)pthread_mutex_unlock(&s->lock);
  lh_json_close(&w, '}');
  cli_close_text(w.out);
  return respond_json(j->connection, MHD_HTTP_OK, text, n);
}

/* ==== Requests ======================================================================= */

/* Called first; the result is the request's context. */
static void *begin_request(void *of_server, const char *target, struct MHD_Connection *connection) {
  job *j = calloc(1, sizeof *j);
  if (j == NULL) return NULL;
  *j = (job){.server = of_server, .connection = connection, .target = strdup(target)};
  return j;
}

static void end_request(void *of_server, struct MHD_Connection *connection, void **of_job,
                        enum MHD_RequestTerminationCode how) {
  server *s = of_server;
  job *j = *of_job;
  connections_give_time(guest_of(connection), true);
  if (j == NULL) return;
  if (j->tells_failure && how == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
    (void)pthread_mutex_lock(&s->lock);
    s->failure_was_told = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
  }
  free(j->answer);
  free(j->target);
  free(j);
  *of_job = NULL;
}

static enum MHD_Result add_header(void *of_request, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
  view_request *request = of_request;
  (void)kind;
  request->has_more_headers = request->n_headers == VIEW_MOST_HEADERS;
  if (request->has_more_headers) return MHD_NO;
  request->headers[request->n_headers++] = (view_header){name, value};
  return MHD_YES;
}

static enum MHD_Result queue(server *s, job *j) {
  enum MHD_Result result = MHD_YES;
  (void)pthread_mutex_lock(&s->lock);
  if (s->failure != NULL) {
    result = respond_error(j->connection, MHD_HTTP_OK, s->failure);
  } else {
    connections_give_time(guest_of(j->connection), false);
    MHD_suspend_connection(j->connection);
    *s->last = j;
    s->last = &j->next;
    (void)pthread_cond_broadcast(&s->changed);
  }
  (void)pthread_mutex_unlock(&s->lock);
  return result;
}

/* A client has shown the token, so the browser's file can be removed. */
static void know(server *s, http_connection *g) {
  if (g != NULL) g->is_known = true;
  if (!s->was_reached) view_forget_browser();
  s->was_reached = true;
}

static enum MHD_Result take_request(server *s, job *j, const char *method) {
  view_request request = {.method = method, .target = j->target};
  (void)MHD_get_connection_values(j->connection, MHD_HEADER_KIND, add_header, &request);
  view_take(&s->gate, &request, &j->taken);
  if (j->taken.wish == VIEW_PROGRESS || j->taken.wish == VIEW_QUESTION)
    know(s, guest_of(j->connection));
  switch (j->taken.wish) {
    case VIEW_PAGE: return respond_page(s, j->connection);
    case VIEW_PROGRESS: return respond_progress(s, j);
    case VIEW_QUESTION: return queue(s, j);
    default: return respond_error(j->connection, j->taken.status, j->taken.sentence);
  }
}

/* Called when the headers are complete, again when the rest is, and again after the connection
** resumes. A request with a body is refused before the body is read. */
static enum MHD_Result on_request(void *of_server, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *body, size_t *body_bytes, void **of_job) {
  job *j = *of_job;
  (void)url;
  (void)version;
  (void)body;
  if (j == NULL || j->target == NULL) return MHD_NO;
  if (j->answer != NULL) {
    char *answer = j->answer;
    j->answer = NULL;
    return respond_json(connection, MHD_HTTP_OK, answer, j->answer_bytes);
  }
  bool has_body = *body_bytes > 0 ||
                  MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
                  MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
  if (!j->is_seen && !has_body) {
    j->is_seen = true;
    return MHD_YES;
  }
  return take_request(of_server, j, method);
}

/* ==== Listening ====================================================================== */

static void make_token(cli *c, char token[VIEW_TOKEN_BYTES + 1]) {
  unsigned char bytes[VIEW_TOKEN_BYTES / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    cli_die(c, NULL, "there are no random numbers for a token: %s", strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

static int listen_at(const struct addrinfo *at) {
  int yes = 1, file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
  if (file < 0) return -1;
  (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, CONNECTIONS_MOST) == 0)
    return file;
  int code = errno;
  (void)close(file);
  errno = code;
  return -1;
}

static bool is_any(const struct sockaddr *address) {
  static const struct sockaddr_in6 any6;
  if (address->sa_family == AF_INET)
    return ((const struct sockaddr_in *)address)->sin_addr.s_addr == 0;
  return memcmp(&((const struct sockaddr_in6 *)address)->sin6_addr, &any6.sin6_addr,
                sizeof any6.sin6_addr) == 0;
}

/* Returns the socket; sets the gate and the printed address. */
static int open_socket(server *s, const char *address, unsigned port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
  char service[16], name[64], number[16];
  struct sockaddr_storage own;
  socklen_t n = sizeof own;
  int file = -1;
  snprintf(service, sizeof service, "%u", port);
  int code = getaddrinfo(address != NULL ? address : "127.0.0.1", service, &hints, &list);
  if (code != 0) cli_die(s->c, NULL, "cannot listen at '%s': %s", address, gai_strerror(code));
  for (const struct addrinfo *at = list; at != NULL && file < 0; at = at->ai_next)
    file = listen_at(at);
  freeaddrinfo(list);
  if (file < 0 || getsockname(file, (struct sockaddr *)&own, &n) != 0 ||
      getnameinfo((struct sockaddr *)&own, n, name, sizeof name, number, sizeof number,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    cli_die(s->c, NULL, "cannot listen at %s, port %u: %s", address != NULL ? address : "127.0.0.1",
            port, strerror(errno));
  bool is_six = strchr(name, ':') != NULL;
  s->gate.port = (unsigned)atoi(number);
  s->gate.host = address;
  snprintf(s->digits, sizeof s->digits, "%s", name);
  s->gate.address = s->digits;
  s->gate.any_address = is_any((struct sockaddr *)&own);
  snprintf(s->address, sizeof s->address, "http://%s%s%s:%u/#%s", is_six ? "[" : "", name,
           is_six ? "]" : "", s->gate.port, s->gate.token);
  return file;
}

/* Nothing is being written that an exit could damage. */
static void end(int signal) {
  (void)signal;
  view_forget_browser();
  _exit(CLI_DONE);
}

static void init_lock(server *s) {
  pthread_condattr_t of_clock;
  (void)pthread_condattr_init(&of_clock);
  (void)pthread_condattr_setclock(&of_clock, CLOCK_MONOTONIC);
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)pthread_cond_init(&s->changed, &of_clock);
  (void)pthread_condattr_destroy(&of_clock);
}

server *server_start(cli *c, const char *address, unsigned port) {
  server *s = cli_must(calloc(1, sizeof *s));
  *s = (server){.c = c, .last = &s->first, .begun_ns = connections_now()};
  connections_begin(&s->connections);
  init_lock(s);
  make_token(c, s->gate.token);
  int file = open_socket(s, address, port);
  (void)signal(SIGINT, end);
  (void)signal(SIGTERM, end);
  if (signal(SIGHUP, end) == SIG_IGN) (void)signal(SIGHUP, SIG_IGN); /* for nohup */
  s->daemon = MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, admit, s, on_request, s,
      MHD_OPTION_LISTEN_SOCKET, file, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      (size_t)REQUEST_BYTES, MHD_OPTION_URI_LOG_CALLBACK, begin_request, s,
      MHD_OPTION_NOTIFY_COMPLETED, end_request, s, MHD_OPTION_NOTIFY_CONNECTION, come_or_go, s,
      MHD_OPTION_END);
  if (s->daemon == NULL) cli_die(c, NULL, "cannot serve: %s", strerror(errno));
  return s;
}

const char *server_address(const server *s) {
  return s->address;
}

/* ==== The answering thread =========================================================== */

void server_tell(void *of_server, const char *doing) {
  server *s = of_server;
  char *text = doing != NULL ? cli_must(cli_escape(doing)) : NULL, *old;
  (void)pthread_mutex_lock(&s->lock);
  old = s->doing;
  s->doing = text;
  s->doing_ns = connections_now();
  (void)pthread_mutex_unlock(&s->lock);
  lh_free(old);
}

/* Resumes the connection, which calls on_request again. */
static void answer_job(job *j, char *text, size_t n) {
  j->answer_bytes = n;
  j->answer = text;
  MHD_resume_connection(j->connection);
}

static job *take_first(server *s) {
  job *j = s->first;
  if (j == NULL) return NULL;
  s->first = j->next;
  if (s->first == NULL) s->last = &s->first;
  return j;
}

void server_fail(server *s, const char *sentence, bool expected) {
  char *escaped = cli_must(cli_escape(sentence));
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += SECONDS_FOR_A_FAILURE;
  (void)pthread_mutex_lock(&s->lock);
  s->failure = escaped;
  for (job *j; (j = take_first(s)) != NULL;) {
    char *text = text_of_error(escaped);
    answer_job(j, text, strlen(text));
  }
  while ((expected || s->page_was_seen) && !s->failure_was_told)
    if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0) break;
  (void)pthread_mutex_unlock(&s->lock);
}

bool server_client_has_left(void *of_server) {
  server *s = of_server;
  if (s->current == NULL) return false;
  struct pollfd client = {.fd = socket_of(s->current->connection), .events = POLLRDHUP};
  return poll(&client, 1, 0) > 0 && (client.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* A query's answer may depend on the time, an object's on the snapshots analysed so far. */
static bool is_kept(const view_question *question) {
  return strcmp(question->name, "sql") != 0 && strcmp(question->name, "object") != 0;
}

static char *copy_of(const cached_answer *kept, size_t *n) {
  char *text = cli_must(malloc(kept->n + 1));
  memcpy(text, kept->text, *n = kept->n);
  return text;
}

/* A cached or new answer. Freed by free. */
static char *answer_of(server *s, view *v, const view_question *question, size_t *n) {
  char *text = NULL, *key = view_key(question);
  const cached_answer *kept = answer_cache_find(&s->answer_cache, key);
  if (kept != NULL) {
    free(key);
    return copy_of(kept, n);
  }
  FILE *out = cli_open_text(&text, n);
  int code = view_answer(v, question, out);
  bool is_whole = !ferror(out);
  if (fclose(out) != 0 || !is_whole) {
    free(text);
    text = text_of_error("there is no memory for the answer");
    *n = strlen(text);
  } else if (code == LH_OK && is_kept(question)) {
    answer_cache_keep(&s->answer_cache, key, text, *n);
  }
  free(key);
  return text;
}

static void answer_next(server *s, view *v, job *j) {
  size_t n = 0;
  s->current = j;
  char *text = server_client_has_left(s) ? cli_must(strdup("")) /* nobody reads it */
                                         : answer_of(s, v, &j->taken.question, &n);
  s->current = NULL;
  cli_progress(s->c, NULL);
  answer_job(j, text, n);
  s->quiet_ns = connections_now() + QUIET_MS * UINT64_C(1000000);
}

/* Answers one question ahead. False: none is left. */
static bool look_ahead(server *s, view *v) {
  size_t n;
  char *key = view_prefetch_key(v, s->n_ahead);
  if (key == NULL) return false;
  s->n_ahead++;
  view_question question;
  view_take_key(key, &question);
  free(answer_of(s, v, &question, &n));
  free(key);
  return true;
}

/* NULL: no question until the pause ends. */
static job *await_job(server *s, bool forever) {
  job *j;
  int code = 0;
  struct timespec until = {.tv_sec = (time_t)(s->quiet_ns / 1000000000),
                           .tv_nsec = (long)(s->quiet_ns % 1000000000)};
  (void)pthread_mutex_lock(&s->lock);
  s->is_ready = true;
  while ((j = take_first(s)) == NULL && code == 0)
    code = forever ? pthread_cond_wait(&s->changed, &s->lock)
                   : pthread_cond_timedwait(&s->changed, &s->lock, &until);
  (void)pthread_mutex_unlock(&s->lock);
  return j;
}

void server_run(server *s, view *v) {
  bool all_ahead = false;
  s->quiet_ns = connections_now() + QUIET_MS * UINT64_C(1000000);
  for (;;) {
    job *j = await_job(s, all_ahead);
    if (j != NULL)
      answer_next(s, v, j);
    else
      all_ahead = !look_ahead(s, v);
  }
}
