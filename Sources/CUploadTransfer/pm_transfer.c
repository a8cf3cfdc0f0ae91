#define _GNU_SOURCE
#include "pm_transfer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// The part of libcurl's interface that is used here; its numbers and types never change in libcurl.so.4. Source:
// curl/curl.h, curl/multi.h.
enum {
  OPT_URL = 10002,
  OPT_PROXY = 10004,
  OPT_READDATA = 10009,
  OPT_ERRORBUFFER = 10010,
  OPT_USERAGENT = 10018,
  OPT_ACCEPT_ENCODING = 10102,
  OPT_HTTPHEADER = 10023,
  OPT_HEADERDATA = 10029,
  OPT_WRITEDATA = 10001,
  OPT_SEEKDATA = 10168,
  OPT_WRITEFUNCTION = 20011,
  OPT_READFUNCTION = 20012,
  OPT_HEADERFUNCTION = 20079,
  OPT_SEEKFUNCTION = 20167,
  OPT_POSTFIELDSIZE_LARGE = 30120,
  OPT_POST = 47,
  OPT_FOLLOWLOCATION = 52,
  OPT_MAXREDIRS = 68,
  OPT_HTTP_VERSION = 84,
  OPT_NOSIGNAL = 99,
  OPT_PROTOCOLS = 181,
  OPT_REDIR_PROTOCOLS = 182,
  OPT_HTTP09_ALLOWED = 285,
  INFO_RESPONSE_CODE = 0x200002,
  PROTOCOLS_HTTP = 3,
  HTTP_1_1 = 2,
  MESSAGE_DONE = 1,
  ERROR_SIZE = 256,
  READ_ABORT = 0x10000000,
};

typedef struct {
  int kind;
  void *easy;
  union {
    void *other;
    int result;
  } data;
} message;

static struct {
  int (*global_init)(long);
  void *(*easy_init)(void);
  int (*easy_setopt)(void *, int, ...);
  int (*easy_getinfo)(void *, int, ...);
  const char *(*easy_strerror)(int);
  void (*easy_cleanup)(void *);
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*multi_init)(void);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  int (*multi_perform)(void *, int *);
  int (*multi_poll)(void *, void *, unsigned, int, int *);
  int (*multi_wakeup)(void *);
  message *(*multi_info_read)(void *, int *);
  int (*multi_cleanup)(void *);
} curl;

static const struct {
  const char *name;
  void **function;
} functions[] = {
    {"curl_global_init", (void **)&curl.global_init},
    {"curl_easy_init", (void **)&curl.easy_init},
    {"curl_easy_setopt", (void **)&curl.easy_setopt},
    {"curl_easy_getinfo", (void **)&curl.easy_getinfo},
    {"curl_easy_strerror", (void **)&curl.easy_strerror},
    {"curl_easy_cleanup", (void **)&curl.easy_cleanup},
    {"curl_slist_append", (void **)&curl.slist_append},
    {"curl_slist_free_all", (void **)&curl.slist_free_all},
    {"curl_multi_init", (void **)&curl.multi_init},
    {"curl_multi_add_handle", (void **)&curl.multi_add_handle},
    {"curl_multi_remove_handle", (void **)&curl.multi_remove_handle},
    {"curl_multi_perform", (void **)&curl.multi_perform},
    {"curl_multi_poll", (void **)&curl.multi_poll},
    {"curl_multi_wakeup", (void **)&curl.multi_wakeup},
    {"curl_multi_info_read", (void **)&curl.multi_info_read},
    {"curl_multi_cleanup", (void **)&curl.multi_cleanup},
};

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// MARK: The end of the process
//
// `exit` runs the handlers and destructors of libraries while other threads continue. A transfer that is inside
// OpenSSL while OpenSSL cleans up reads freed memory. Two measures prevent this. First, OpenSSL is initialized without
// its cleanup; this works if no other code has initialized OpenSSL before. Second, the exit handler below runs before
// OpenSSL's handlers. This exit handler ends the transfers and waits for their threads to leave libcurl. The wait has a
// time limit, because one of these threads may be stopped. A stopped thread must not be killed, because it may hold a
// lock that the rest of the exit needs.

// The maximum time in milliseconds that an exit waits for the transfers to end.
enum { EXIT_PATIENCE = 60 };

static struct {
  _Atomic int has_begun;
  // The number of threads inside libcurl.
  _Atomic int inside;
  // The process whose threads `inside` counts; a forked child has none of these threads.
  _Atomic pid_t process;
  // Guards the list `running`.
  pthread_mutex_t lock;
  pm_transfer *running;
} process_end = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Loads libcurl once.
static struct {
  pthread_once_t once;
  pthread_mutex_t lock;
  _Atomic int is_loaded;
} loading = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

// Begins a use of libcurl; returns 0 if the process is ending.
static int enter(void) {
  atomic_fetch_add(&process_end.inside, 1);
  if (!atomic_load(&process_end.has_begun)) return 1;
  atomic_fetch_sub(&process_end.inside, 1);
  return 0;
}

static void leave(void) { atomic_fetch_sub(&process_end.inside, 1); }

static void wake_transfers(void);

static void end_transfers(void) {
  if (getpid() != atomic_load(&process_end.process)) return;
  if (atomic_exchange(&process_end.has_begun, 1)) return;
  int64_t end = milliseconds() + EXIT_PATIENCE;
  while (atomic_load(&process_end.inside) > 0 && milliseconds() < end) {
    wake_transfers();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static void begin_child(void) {
  atomic_store(&process_end.process, getpid());
  atomic_store(&process_end.inside, 0);
  process_end.running = NULL;
  pthread_mutex_init(&process_end.lock, NULL);
  pthread_mutex_init(&loading.lock, NULL);
}

static int bind(void *library) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!(*functions[i].function = dlsym(library, functions[i].name))) return 0;
  }
  return 1;
}

// Initializes OpenSSL without its cleanup at exit, if libcurl uses OpenSSL.
static void keep_open_ssl(void *library) {
  enum { OPENSSL_INIT_NO_ATEXIT = 0x80000 };
  int (*init)(uint64_t, const void *);
  *(void **)&init = dlsym(library, "OPENSSL_init_crypto");
  if (init) init(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static void watch_process(void) {
  atomic_store(&process_end.process, getpid());
  pthread_atfork(NULL, NULL, begin_child);
  atexit(end_transfers);
}

static int load(const char *path) {
  // With RTLD_NOW, the library's names are bound before the program can load anything else that defines them.
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library || !bind(library) || atomic_load(&process_end.has_begun)) return 0;
  keep_open_ssl(library);
  // 3 is CURL_GLOBAL_ALL. libcurl counts these calls, so the program may have made the same call before.
  if (curl.global_init(3) != 0) return 0;
  // Handlers of `exit` run in reverse order of their registration, so this second registration makes `end_transfers`
  // run before OpenSSL's handler. The first registration is for an exit that comes before OpenSSL has registered its
  // handler.
  atexit(end_transfers);
  return 1;
}

// Loads libcurl, unless it has been loaded before. Returns 0 if it cannot be used.
static int has_library(const char *path) {
  pthread_once(&loading.once, watch_process);
  pthread_mutex_lock(&loading.lock);
  if (!loading.is_loaded) loading.is_loaded = load(path);
  int is_loaded = loading.is_loaded;
  pthread_mutex_unlock(&loading.lock);
  return is_loaded;
}

int pm_transfer_has_library(void) { return atomic_load(&loading.is_loaded); }

struct pm_transfer {
  char *library;
  _Atomic int is_cancelled;
  // The previous and the next transfer in the list of running transfers; guarded by `process_end.lock`.
  pm_transfer *previous, *next;
  // Guards `multi`, so that no thread uses `multi` while another frees it.
  pthread_mutex_t lock;
  void *multi;
  void *easy;
  void *lines;
  int body;
  // For a download, the descriptor of the file that receives the response's body; otherwise -1.
  int file;
  int64_t left, taken;
  void (*moved)(void *, int64_t);
  void *context;
  int64_t last;
  int has_all;
  size_t headers_size, headers_seen, body_size, body_seen;
  uint8_t headers[PM_TRANSFER_HEADERS];
  uint8_t kept[PM_TRANSFER_BODY];
  char reason[ERROR_SIZE];
};

// True if a transfer must end, because it was cancelled or the process is ending.
static int is_over(pm_transfer *transfer) {
  return atomic_load(&transfer->is_cancelled) || atomic_load(&process_end.has_begun);
}

static size_t take_body(char *buffer, size_t one, size_t capacity, void *data) {
  pm_transfer *transfer = data;
  size_t size = one * capacity;
  if (is_over(transfer)) return READ_ABORT;
  if ((int64_t)size > transfer->left) size = (size_t)transfer->left;
  ssize_t count;
  do {
    count = read(transfer->body, buffer, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0 || (count == 0 && size > 0)) return READ_ABORT;
  transfer->left -= count;
  transfer->taken += count;
  transfer->last = milliseconds();
  transfer->moved(transfer->context, transfer->taken);
  return (size_t)count;
}

// libcurl calls this function when it repeats a request because the connection was closed or a proxy responded; the
// body is then sent again from `offset`.
static int seek_body(void *data, int64_t offset, int whence) {
  pm_transfer *transfer = data;
  if (whence != SEEK_SET || lseek(transfer->body, offset, SEEK_SET) != offset) return 1;
  transfer->left += transfer->taken - offset;
  transfer->taken = offset;
  return 0;
}

static size_t keep(uint8_t *kept, size_t *size, size_t capacity, const void *bytes, size_t count) {
  size_t room = capacity - *size;
  memcpy(kept + *size, bytes, count < room ? count : room);
  *size += count < room ? count : room;
  return count;
}

static size_t take_header(char *bytes, size_t one, size_t count, void *data) {
  pm_transfer *transfer = data;
  count *= one;
  transfer->last = milliseconds();
  // This line begins a response. Headers of earlier responses (interim, redirects, a proxy's) are discarded.
  if (count > 5 && memcmp(bytes, "HTTP/", 5) == 0) transfer->headers_size = 0;
  transfer->headers_seen += count;
  if (transfer->headers_seen > PM_TRANSFER_MOST_HEADERS) return 0;
  return keep(transfer->headers, &transfer->headers_size, PM_TRANSFER_HEADERS, bytes, count);
}

static size_t write_answer(pm_transfer *transfer, const char *bytes, size_t count) {
  if (is_over(transfer) || (int64_t)count > transfer->left) return 0;
  for (size_t done = 0; done < count;) {
    ssize_t written = write(transfer->file, bytes + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return 0;
    done += (size_t)written;
  }
  transfer->left -= (int64_t)count;
  transfer->taken += (int64_t)count;
  transfer->moved(transfer->context, transfer->taken);
  return count;
}

static long status_of(pm_transfer *transfer) {
  long status = 0;
  if (transfer->easy) curl.easy_getinfo(transfer->easy, INFO_RESPONSE_CODE, &status);
  return status;
}

static size_t take_answer(char *bytes, size_t one, size_t count, void *data) {
  pm_transfer *transfer = data;
  count *= one;
  transfer->last = milliseconds();
  if (transfer->file >= 0 && status_of(transfer) == 200) return write_answer(transfer, bytes, count);
  keep(transfer->kept, &transfer->body_size, PM_TRANSFER_BODY, bytes, count);
  transfer->body_seen += count;
  if (transfer->body_seen <= PM_TRANSFER_MOST_BODY) return count;
  transfer->has_all = 1;
  return 0;
}

void pm_transfer_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

pm_transfer *pm_transfer_make(const char *library) {
  pm_transfer *transfer = calloc(1, sizeof *transfer);
  if (!transfer || !(transfer->library = strdup(library))) {
    free(transfer);
    return NULL;
  }
  pthread_mutex_init(&transfer->lock, NULL);
  return transfer;
}

void pm_transfer_add_header(pm_transfer *transfer, const char *line) {
  if (!enter()) return;
  void *lines = has_library(transfer->library) ? curl.slist_append(transfer->lines, line) : NULL;
  if (lines) transfer->lines = lines;
  leave();
}

void pm_transfer_cancel(pm_transfer *transfer) {
  atomic_store(&transfer->is_cancelled, 1);
  pthread_mutex_lock(&transfer->lock);
  if (transfer->multi) curl.multi_wakeup(transfer->multi);
  pthread_mutex_unlock(&transfer->lock);
}

static void wake_transfers(void) {
  // If another thread holds one of the locks, that thread releases the lock soon, and `end_transfers` calls this
  // function again.
  if (pthread_mutex_trylock(&process_end.lock) != 0) return;
  for (pm_transfer *transfer = process_end.running; transfer; transfer = transfer->next) {
    if (pthread_mutex_trylock(&transfer->lock) != 0) continue;
    if (transfer->multi) curl.multi_wakeup(transfer->multi);
    pthread_mutex_unlock(&transfer->lock);
  }
  pthread_mutex_unlock(&process_end.lock);
}

static void add_running(pm_transfer *transfer) {
  pthread_mutex_lock(&process_end.lock);
  transfer->previous = NULL;
  transfer->next = process_end.running;
  if (transfer->next) transfer->next->previous = transfer;
  process_end.running = transfer;
  pthread_mutex_unlock(&process_end.lock);
}

static void remove_running(pm_transfer *transfer) {
  pthread_mutex_lock(&process_end.lock);
  if (transfer->next) transfer->next->previous = transfer->previous;
  if (transfer->previous) {
    transfer->previous->next = transfer->next;
  } else {
    process_end.running = transfer->next;
  }
  pthread_mutex_unlock(&process_end.lock);
}

void pm_transfer_end(pm_transfer *transfer) {
  pthread_mutex_lock(&transfer->lock);
  void *multi = transfer->multi;
  transfer->multi = NULL;
  pthread_mutex_unlock(&transfer->lock);
  // If the process is ending, libcurl must not be called; the kernel closes the connection.
  if (!enter()) return;
  if (multi && transfer->easy) curl.multi_remove_handle(multi, transfer->easy);
  if (transfer->easy && !atomic_load(&process_end.has_begun)) curl.easy_cleanup(transfer->easy);
  transfer->easy = NULL;
  if (multi && !atomic_load(&process_end.has_begun)) curl.multi_cleanup(multi);
  leave();
}

void pm_transfer_free(pm_transfer *transfer) {
  if (transfer->lines) curl.slist_free_all(transfer->lines);
  pthread_mutex_destroy(&transfer->lock);
  free(transfer->library);
  free(transfer);
}

static int prepare(pm_transfer *transfer, const char *url, int64_t size) {
  void *multi = curl.multi_init();
  pthread_mutex_lock(&transfer->lock);
  transfer->multi = multi;
  pthread_mutex_unlock(&transfer->lock);
  void *easy = transfer->easy = curl.easy_init();
  if (!multi || !easy) return 0;
  curl.easy_setopt(easy, OPT_URL, url);
  curl.easy_setopt(easy, OPT_PROTOCOLS, (long)PROTOCOLS_HTTP);
  curl.easy_setopt(easy, OPT_HTTP09_ALLOWED, 0L);
  // A server or proxy with HTTP/2 may reset a stream, ask for HTTP/1.1 or go silent, and would do so at each attempt.
  curl.easy_setopt(easy, OPT_HTTP_VERSION, (long)HTTP_1_1);
  curl.easy_setopt(easy, OPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, OPT_ERRORBUFFER, transfer->reason);
  curl.easy_setopt(easy, OPT_USERAGENT, "swift-postmortem");
  curl.easy_setopt(easy, OPT_HTTPHEADER, transfer->lines);
  if (transfer->file >= 0) {
    curl.easy_setopt(easy, OPT_FOLLOWLOCATION, 1L);
    curl.easy_setopt(easy, OPT_MAXREDIRS, 5L);
    curl.easy_setopt(easy, OPT_REDIR_PROTOCOLS, (long)PROTOCOLS_HTTP);
  } else {
    curl.easy_setopt(easy, OPT_POST, 1L);
    curl.easy_setopt(easy, OPT_POSTFIELDSIZE_LARGE, size);
    curl.easy_setopt(easy, OPT_READFUNCTION, take_body);
    curl.easy_setopt(easy, OPT_READDATA, transfer);
    curl.easy_setopt(easy, OPT_SEEKFUNCTION, seek_body);
    curl.easy_setopt(easy, OPT_SEEKDATA, transfer);
    // All encodings that libcurl can decode are accepted, because a response that cannot be decoded does not confirm
    // the upload.
    curl.easy_setopt(easy, OPT_ACCEPT_ENCODING, "");
  }
  curl.easy_setopt(easy, OPT_HEADERFUNCTION, take_header);
  curl.easy_setopt(easy, OPT_HEADERDATA, transfer);
  curl.easy_setopt(easy, OPT_WRITEFUNCTION, take_answer);
  curl.easy_setopt(easy, OPT_WRITEDATA, transfer);
  // A program with more privileges than the user who started it must not trust that user's environment, so a proxy in
  // the environment is ignored.
  if (getauxval(AT_SECURE)) curl.easy_setopt(easy, OPT_PROXY, "");
  return curl.multi_add_handle(multi, easy) == 0;
}

static int64_t least(int64_t left, int64_t right) { return left < right ? left : right; }

static pm_transfer_result transfer_all(
    pm_transfer *transfer, int64_t idle, int64_t most, uint64_t *wakes) {
  int64_t start = milliseconds();
  transfer->last = start;
  for (;; ++*wakes) {
    int running = 0;
    if (is_over(transfer)) return PM_TRANSFER_CANCELLED;
    if (curl.multi_perform(transfer->multi, &running) != 0) return PM_TRANSFER_FAILED;
    if (!running) break;
    int64_t now = milliseconds();
    int64_t left = least(start + most - now, transfer->last + idle - now);
    if (start + most <= now) return PM_TRANSFER_LATE;
    if (left <= 0) return PM_TRANSFER_IDLE;
    // The call returns earlier if one of libcurl's own timeouts is shorter.
    curl.multi_poll(transfer->multi, NULL, 0, (int)least(left, 60000), NULL);
  }
  int left, result = -1;
  for (message *next; (next = curl.multi_info_read(transfer->multi, &left));) {
    if (next->kind == MESSAGE_DONE) result = next->data.result;
  }
  if (is_over(transfer)) return PM_TRANSFER_CANCELLED;
  if (result == 0 || transfer->has_all) return PM_TRANSFER_DONE;
  if (!transfer->reason[0] && result > 0) {
    strncpy(transfer->reason, curl.easy_strerror(result), ERROR_SIZE - 1);
  }
  return PM_TRANSFER_FAILED;
}

static pm_transfer_answer run(
    pm_transfer *transfer, const char *url, int64_t size, int64_t idle, int64_t most) {
  pm_transfer_answer answer = {
      .result = PM_TRANSFER_NO_LIBRARY,
      .headers = transfer->headers,
      .body = transfer->kept,
      .reason = transfer->reason,
  };
  if (!enter()) {
    answer.result = PM_TRANSFER_CANCELLED;
    return answer;
  }
  if (has_library(transfer->library)) {
    add_running(transfer);
    transfer->left = size;
    answer.result = prepare(transfer, url, size) ? transfer_all(transfer, idle, most, &answer.wakes)
                                                 : PM_TRANSFER_FAILED;
    answer.status = (int)status_of(transfer);
    answer.headers_size = transfer->headers_size;
    answer.body_size = transfer->body_size;
    remove_running(transfer);
  }
  leave();
  return answer;
}

pm_transfer_answer pm_transfer_run(
    pm_transfer *transfer, const char *url, int body, int64_t size, int64_t idle, int64_t most,
    void (*sent)(void *, int64_t), void *context) {
  transfer->body = body;
  transfer->file = -1;
  transfer->moved = sent;
  transfer->context = context;
  return run(transfer, url, size, idle, most);
}

pm_transfer_answer pm_transfer_fetch(
    pm_transfer *transfer, const char *url, int file, int64_t capacity, int64_t idle, int64_t most,
    void (*taken)(void *, int64_t), void *context) {
  transfer->file = file;
  transfer->moved = taken;
  transfer->context = context;
  return run(transfer, url, capacity, idle, most);
}
