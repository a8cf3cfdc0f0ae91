internal import Glibc
internal import IntermediateDump

/// The user namespace of this process.
enum UserNamespace {
  /// True for the number that stands for users outside this namespace.
  ///
  /// Not in the first namespace, and not where the namespace has a user of that number itself: that is
  /// a user as any other.
  ///
  /// Source: user_namespaces(7), "Unmapped user and group IDs".
  static func isOutside(_ user: UInt32) -> Bool {
    guard let overflow = SystemFile.integer("/proc/sys/kernel/overflowuid"), overflow == user,
      let map = SystemFile.text("/proc/self/uid_map")
    else { return false }
    return !covers(map, user)
  }

  /// - Parameter map: lines of the first user inside, the first one outside, and a count.
  static func covers(_ map: String, _ user: UInt32) -> Bool {
    map.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split(whereSeparator: \.isWhitespace).compactMap { UInt64(digits: $0) }
      guard words.count == 3, UInt64(user) >= words[0] else { return false }
      return UInt64(user) &- words[0] < words[2]
    }
  }
}

/// A group of the system by name or number.
package enum SystemGroup {
  /// Nil where there is none of that name.
  ///
  /// Read from `/etc/group`, by which a static executable finds groups too; of other sources of groups
  /// give the number.
  package static func number(_ text: String) -> UInt32? {
    if let number = UInt32(digits: text[...]), number != .max { return number }
    for line in SystemFile.text("/etc/group")?.split(whereSeparator: \.isNewline) ?? [] {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, fields[0] == text { return UInt32(digits: fields[2]) }
    }
    return nil
  }
}
