#include "pm_gzip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// The part of zlib's interface that is used here; this interface never changes in libz.so.1. Source: zlib.h, zconf.h.
typedef struct {
  const uint8_t *next_in;
  unsigned avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *allocate;
  void *release;
  void *opaque;
  int data_type;
  unsigned long checksum;
  unsigned long reserved;
} stream_state;

enum {
  DEFLATED = 8,
  // A window of 15 bits; adding 16 selects gzip's header.
  GZIP_WINDOW = 15 + 16,
  MEMORY = 8,
  LEVEL = 6,
  FLUSH_NONE = 0,
  FLUSH_FINISH = 4,
  STREAM_END = 1,
  // Z_BUF_ERROR: no progress was possible with the given buffers.
  BUFFER_ERROR = -5,
  MOST_AT_ONCE = 1 << 20,
};

static struct {
  int (*init)(stream_state *, int, int, int, int, int, const char *, int);
  int (*step)(stream_state *, int);
  int (*end)(stream_state *);
} zlib;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static int is_loaded;

static int has_library(const char *path) {
  pthread_mutex_lock(&loading);
  void *library = is_loaded ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) {
    *(void **)&zlib.init = dlsym(library, "deflateInit2_");
    *(void **)&zlib.step = dlsym(library, "deflate");
    *(void **)&zlib.end = dlsym(library, "deflateEnd");
    is_loaded = zlib.init && zlib.step && zlib.end;
  }
  pthread_mutex_unlock(&loading);
  return is_loaded;
}

struct pm_gzip {
  stream_state state;
};

pm_gzip *pm_gzip_make(const char *library) {
  if (!has_library(library)) return NULL;
  pm_gzip *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  if (zlib.init(&stream->state, LEVEL, DEFLATED, GZIP_WINDOW, MEMORY, 0, "1", (int)sizeof stream->state) != 0) {
    free(stream);
    return NULL;
  }
  return stream;
}

int pm_gzip_step(
    pm_gzip *stream, const uint8_t *input, size_t input_size, size_t *taken, uint8_t *output, size_t output_size,
    size_t *made, int is_last) {
  stream_state *state = &stream->state;
  unsigned most_in = (unsigned)(input_size < MOST_AT_ONCE ? input_size : MOST_AT_ONCE);
  unsigned most_out = (unsigned)(output_size < MOST_AT_ONCE ? output_size : MOST_AT_ONCE);
  state->next_in = input;
  state->avail_in = most_in;
  state->next_out = output;
  state->avail_out = most_out;
  int ends = is_last && most_in == input_size;
  int result = zlib.step(state, ends ? FLUSH_FINISH : FLUSH_NONE);
  *taken = most_in - state->avail_in;
  *made = most_out - state->avail_out;
  state->next_in = NULL;
  state->next_out = NULL;
  if (result == STREAM_END) return 1;
  return result == 0 || result == BUFFER_ERROR ? 0 : -1;
}

void pm_gzip_free(pm_gzip *stream) {
  zlib.end(&stream->state);
  free(stream);
}
