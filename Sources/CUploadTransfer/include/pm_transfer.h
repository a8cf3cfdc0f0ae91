// Makes one HTTP request with libcurl, within limits on the time and on the size of the response.
//
// libcurl is loaded when the first request is made, so neither linking nor starting a program needs libcurl. The caller
// must have checked that the library's names would be bound to the library's own definitions (`LibraryClosure`).
//
// A thread that runs, ends or adds headers to a transfer must block SIGPIPE, which a server that closes the connection
// can raise.
#ifndef PM_TRANSFER_H
#define PM_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The maximum numbers of bytes that are kept from a response's headers and from its body.
enum { PM_TRANSFER_HEADERS = 16 << 10, PM_TRANSFER_BODY = 64 << 10 };
// The maximum numbers of bytes that a transfer receives: in headers (including those of interim responses), and in a
// body that is not written to a file.
enum { PM_TRANSFER_MOST_HEADERS = 64 << 10, PM_TRANSFER_MOST_BODY = PM_TRANSFER_BODY };

typedef enum pm_transfer_result {
  PM_TRANSFER_DONE,
  PM_TRANSFER_FAILED,
  // No byte was sent or received for `idle` milliseconds.
  PM_TRANSFER_IDLE,
  // The whole transfer took longer than `most` milliseconds.
  PM_TRANSFER_LATE,
  PM_TRANSFER_CANCELLED,
  // libcurl could not be loaded.
  PM_TRANSFER_NO_LIBRARY,
} pm_transfer_result;

typedef struct pm_transfer pm_transfer;

typedef struct pm_transfer_answer {
  pm_transfer_result result;
  int status;
  // The headers of the last response, beginning with its first line, cut to the maximum size.
  const uint8_t *_Nonnull headers;
  size_t headers_size;
  const uint8_t *_Nonnull body;
  size_t body_size;
  // Why the transfer failed, as NUL-terminated text.
  const char *_Nonnull reason;
  // The number of times that the transfer's thread woke up.
  uint64_t wakes;
} pm_transfer_answer;

// Creates a transfer for one request; returns NULL if there is no memory.
//
// `library`: the path of libcurl, which the first transfer of the process loads.
pm_transfer *_Nullable pm_transfer_make(const char *_Nonnull library);

// Returns 1 if a transfer of this process has loaded libcurl. The names of the libraries that were loaded with it are
// then bound for good.
int pm_transfer_has_library(void);

// Names the calling thread, at once; a thread of Foundation would get its name only if its creator has noted the thread.
void pm_transfer_name_thread(const char *_Nonnull name);

// Adds a header line, "Name: value".
void pm_transfer_add_header(pm_transfer *_Nonnull transfer, const char *_Nonnull line);

// Posts bytes from the start of a file to a URL, and waits for the response; redirects are not followed. `sent` is
// called with the number of bytes sent so far. `idle` is the maximum time without progress, and `most` the maximum time
// of the transfer, both in milliseconds. The result's memory is valid as long as the transfer exists.
pm_transfer_answer pm_transfer_run(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int body, int64_t size, int64_t idle, int64_t most,
    void (*_Nonnull sent)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Downloads a URL into an open file, and follows up to five redirects. `taken` is called with the number of bytes
// written so far. A file of more than `capacity` bytes is an error. Only the body of a response with status 200 is
// written; the answer's field `body` has the start of any other body.
pm_transfer_answer pm_transfer_fetch(
    pm_transfer *_Nonnull transfer, const char *_Nonnull url, int file, int64_t capacity, int64_t idle, int64_t most,
    void (*_Nonnull taken)(void *_Nullable context, int64_t bytes), void *_Nullable context);

// Makes a transfer end soon; a transfer that has not begun yet ends as soon as it begins. Any thread may call this
// function.
void pm_transfer_cancel(pm_transfer *_Nonnull transfer);

// Closes the connection of a transfer. Closing the connection may wait for a name server.
void pm_transfer_end(pm_transfer *_Nonnull transfer);

// Frees a transfer that has not run, or has ended.
void pm_transfer_free(pm_transfer *_Nonnull transfer);

#ifdef __cplusplus
}
#endif

#endif
