internal import Glibc

/// Finds bytes in bytes.
enum ByteSearch {
  /// Where a pattern begins first, at or behind a place.
  ///
  /// By memchr(3), since memmem(3) is not among what Swift sees of libc; fast also unoptimised.
  static func first(of pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    guard let head = pattern.first, start >= 0 else { return nil }
    return unsafe bytes.withUnsafeBytes { hay in
      guard let base = hay.baseAddress else { return nil }
      var place = start
      while place <= hay.count - pattern.count {
        let left = hay.count - pattern.count - place + 1
        guard let found = unsafe memchr(base + place, Int32(head), left) else { return nil }
        place = unsafe UnsafeRawPointer(found) - base
        if unsafe memcmp(base + place, pattern, pattern.count) == 0 { return place }
        place += 1
      }
      return nil
    }
  }
}
