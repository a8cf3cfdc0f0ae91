// Compresses data to gzip's format with the system's zlib, which is loaded at its first use. The caller must have
// checked that zlib's names would be bound to zlib's own definitions (`LibraryClosure`).
#ifndef PM_GZIP_H
#define PM_GZIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pm_gzip pm_gzip;

// Begins a stream with the zlib at a path; returns NULL if it cannot be loaded, or if there is no memory.
pm_gzip *_Nullable pm_gzip_make(const char *_Nonnull library);

// Compresses bytes, and stores how many bytes it has read from the input and written to the output. `is_last` is true
// for the last part of the input, after which the stream ends. Returns 0 if there may be more output, 1 at the stream's
// end, -1 on failure.
int pm_gzip_step(
    pm_gzip *_Nonnull stream, const uint8_t *_Nullable input, size_t input_size, size_t *_Nonnull taken,
    uint8_t *_Nonnull output, size_t output_size, size_t *_Nonnull made, int is_last);

// Frees a stream, whether the stream has ended or not.
void pm_gzip_free(pm_gzip *_Nonnull stream);

#ifdef __cplusplus
}
#endif

#endif
