// Compression as gzip does it, by the system's zlib, which is found when it is first asked for.
#ifndef PM_GZIP_H
#define PM_GZIP_H

#include <stddef.h>
#include <stdint.h>

typedef struct pm_gzip pm_gzip;

// Begins a stream; NULL without zlib or without memory.
pm_gzip *_Nullable pm_gzip_make(void);

// Takes bytes, and says how many of the input were taken and of the output made. `is_last` ends the stream once all input is
// taken. Returns 0 where there may be more to come, 1 at the stream's end, -1 where it failed.
int pm_gzip_step(
    pm_gzip *_Nonnull stream, const uint8_t *_Nullable input, size_t input_size, size_t *_Nonnull taken,
    uint8_t *_Nonnull output, size_t output_size, size_t *_Nonnull made, int is_last);

// Frees a stream, whether it ended or not.
void pm_gzip_free(pm_gzip *_Nonnull stream);

#endif
