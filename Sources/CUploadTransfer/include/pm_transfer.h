// Makes one HTTP request with libcurl, with limits on its answer and its time.
//
// libcurl is loaded when the first request is made, so that neither a program nor the linker needs it before that.
#ifndef PM_TRANSFER_H
#define PM_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

// Parts of an answer that are kept, in bytes.
enum { PM_TRANSFER_HEADERS = 16 << 10, PM_TRANSFER_BODY = 64 << 10 };
// The maximum number of bytes that are received: of the headers, including those of interim answers, and of the body.
enum { PM_TRANSFER_MOST_HEADERS = 64 << 10, PM_TRANSFER_MOST_BODY = PM_TRANSFER_BODY };

typedef enum pm_transfer_result {
  PM_TRANSFER_DONE,
  PM_TRANSFER_FAILED,
  // No byte was sent or received for the given time.
  PM_TRANSFER_IDLE,
  // The whole transfer took longer than the given time.
  PM_TRANSFER_LATE,
  PM_TRANSFER_CANCELLED,
  // There is no libcurl, or an old one.
  PM_TRANSFER_NO_LIBRARY,
} pm_transfer_result;

typedef struct pm_transfer pm_transfer;

typedef struct pm_transfer_answer {
  pm_transfer_result result;
  int status;
  // The last answer's headers from its first line on, cut at their bound.
  const uint8_t *_Nonnull headers;
  size_t headers_size;
  const uint8_t *_Nonnull body;
  size_t body_size;
  // Why it failed, with a NUL at its end.
  const char *_Nonnull reason;
  // Counts the wake-ups of the thread.
  uint64_t wakes;
} pm_transfer_answer;

// Makes a request; NULL without memory.
//
// `blocked`: the signals that only threads of the program should receive; bit n - 1 stands for signal n.
pm_transfer *_Nullable pm_transfer_make(uint64_t blocked);

// Adds a header line, "Name: value".
void pm_transfer_add_header(pm_transfer *_Nonnull transfer, const char *_Nonnull line);

// Posts bytes from the start of a file to a URL, and waits for the answer; redirects are not followed. `sent` is
// called with the number of bytes sent so far. Times are in milliseconds. The answer is valid as long as the transfer
// exists.
pm_transfer_answer pm_transfer_run(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int body, int64_t size, int64_t idle, int64_t most,
    void (*_Nonnull sent)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Gets a URL into an open file, and follows up to five redirects; `taken` is called with the number of bytes written
// so far. A file of more than `capacity` bytes is an error. Only the body of an answer with status 200 is written;
// `body` has the start of any other body.
pm_transfer_answer pm_transfer_fetch(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int file, int64_t capacity, int64_t idle, int64_t most,
    void (*_Nonnull taken)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Ends a transfer soon, from any thread, even one that has not begun.
void pm_transfer_cancel(pm_transfer *_Nonnull transfer);

// Closes the connection. May wait for a name server.
void pm_transfer_end(pm_transfer *_Nonnull transfer);

// Frees a transfer that has not run, or has ended.
void pm_transfer_free(pm_transfer *_Nonnull transfer);

#endif
