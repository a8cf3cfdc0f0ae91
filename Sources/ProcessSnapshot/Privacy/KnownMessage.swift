/// Messages of the Swift runtime and the C library that contain no data of the program.
///
/// Source: swift stdlib/public/core; glibc malloc/malloc.c, debug/.
enum KnownMessage {
  private static let swift: Set = [
    "Index out of range", "Index out of bounds", "Array index is out of range",
    "Negative Array index is out of range", "String index is out of bounds",
    "Unexpectedly found nil while unwrapping an Optional value",
    "Unexpectedly found nil while implicitly unwrapping an Optional value",
    "Division by zero", "Division by zero in remainder operation", "Division results in overflow",
    "Arithmetic overflow", "Not enough bits to represent the passed value",
    "Negative value is not representable", "Range requires lowerBound <= upperBound",
    "Can't remove last element from an empty collection",
    "Can't remove first element from an empty collection", "unsafelyUnwrapped of nil optional",
  ]
  private static let library: Set = [
    "free(): invalid pointer", "free(): invalid size", "free(): invalid next size (fast)",
    "free(): invalid next size (normal)", "free(): double free detected in tcache 2",
    "double free or corruption (fasttop)", "double free or corruption (top)",
    "double free or corruption (out)", "double free or corruption (!prev)",
    "munmap_chunk(): invalid pointer", "realloc(): invalid pointer", "realloc(): invalid next size",
    "malloc(): corrupted top size", "malloc(): invalid size (unsorted)",
    "malloc(): unaligned tcache chunk detected", "corrupted size vs. prev_size",
    "corrupted double-linked list", "*** stack smashing detected ***: terminated",
    "*** buffer overflow detected ***: terminated",
  ]

  /// The known messages in a text; nil if any line of the text is not a known message.
  ///
  /// File and line are removed, because the program may have passed them to `fatalError` itself.
  ///
  /// The Swift runtime appends the messages of threads that fail at the same time, each on a separate line. If only
  /// the known lines were kept, a report could show the message of another thread as that of the crashed thread.
  static func ofSwift(_ text: String) -> String? {
    let lines = trimmed(text).split(separator: "\n", omittingEmptySubsequences: false)
    let messages = lines.compactMap { ofSwiftLine(String($0)) }
    return messages.count == lines.count ? messages.joined(separator: "\n") : nil
  }

  private static func ofSwiftLine(_ text: String) -> String? {
    let prefix = "Fatal error: "
    guard let message = swift.first(where: { text == $0 || text.hasSuffix(prefix + $0) }) else {
      return nil
    }
    return text == message ? message : prefix + message
  }

  static func ofLibrary(_ text: String) -> String? {
    let text = trimmed(text)
    return library.contains(text) ? text : nil
  }

  private static func trimmed(_ text: String) -> String {
    var text = text[...]
    while text.last?.isNewline == true { text.removeLast() }
    return String(text)
  }
}
