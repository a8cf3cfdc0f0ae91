// One HTTP request by libcurl, with bounds on its answer and its time.
//
// libcurl is found when the first request is made, so that neither a program nor the linker needs it before.
#ifndef PM_TRANSFER_H
#define PM_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

// Parts of an answer that are kept, in bytes.
enum { PM_TRANSFER_HEADERS = 16 << 10, PM_TRANSFER_BODY = 64 << 10 };
// Bytes of an answer that are waited for: of its headers, with those of interim answers, and of its body.
enum { PM_TRANSFER_MOST_HEADERS = 64 << 10, PM_TRANSFER_MOST_BODY = PM_TRANSFER_BODY };

typedef enum pm_transfer_result {
  PM_TRANSFER_DONE,
  PM_TRANSFER_FAILED,
  // No byte went or came for as long as was said.
  PM_TRANSFER_IDLE,
  // The whole took longer than was said.
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
// `blocked`: the signals that are for threads of the program alone, bit n - 1 for signal n.
pm_transfer *_Nullable pm_transfer_make(uint64_t blocked);

// Adds a header line, "Name: value".
void pm_transfer_add_header(pm_transfer *_Nonnull transfer, const char *_Nonnull line);

// Posts bytes from the start of a file to a URL, and waits for the answer; redirects are not followed. `sent` is called with
// the bytes that were taken so far. Times are in milliseconds. The answer lives as long as the transfer.
pm_transfer_answer pm_transfer_run(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int body, int64_t size, int64_t idle, int64_t most,
    void (*_Nonnull sent)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Gets a URL into an open file, and follows up to five redirects; `taken` is called with the bytes that were written so far.
// More than `capacity` bytes fail. Only the body of an answer with status 200 is written; `body` has the start of another one.
pm_transfer_answer pm_transfer_fetch(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int file, int64_t capacity, int64_t idle, int64_t most,
    void (*_Nonnull taken)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Ends a run soon, from any thread; one that has not begun too.
void pm_transfer_cancel(pm_transfer *_Nonnull transfer);

// Closes the connection. May wait for a name server.
void pm_transfer_end(pm_transfer *_Nonnull transfer);

// Frees a transfer that has not run, or has ended.
void pm_transfer_free(pm_transfer *_Nonnull transfer);

#endif
