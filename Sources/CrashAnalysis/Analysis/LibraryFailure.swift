/// A failure, such as a failed assertion, that the C library reports before it aborts the process.
package enum LibraryFailure: String, Sendable {
  case assertion = "c-assertion"
  case stackSmashing = "stack-smashing"
  case bufferOverflow = "buffer-overflow"
  case heapCorruption = "heap-corruption"
  case other = "library-abort"

  /// Source: glibc malloc/malloc.c (malloc_printerr), assert/assert.c, debug/.
  private static let heapMessages = [
    "double free", "corrupted", "free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ",
    "malloc_consolidate(): ", "calloc(): ", "memory clobbered",
  ]

  init(message: String) {
    self =
      if message.contains("Assertion `") || message.contains("Assertion '") {
        .assertion
      } else if message.contains("stack smashing detected") {
        .stackSmashing
      } else if message.contains("buffer overflow detected") {
        .bufferOverflow
      } else if Self.heapMessages.contains(where: message.contains) {
        .heapCorruption
      } else {
        .other
      }
  }
}
