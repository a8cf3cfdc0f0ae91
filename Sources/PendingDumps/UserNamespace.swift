internal import Glibc
internal import IntermediateDump

/// Checks which users exist in the user namespace of this process.
enum UserNamespace {
  /// True for the overflow user ID, which stands for all users outside this namespace.
  ///
  /// The result is false in the initial namespace, and in a namespace in which a user has that ID.
  ///
  /// Source: user_namespaces(7), "Unmapped user and group IDs".
  static func isOutside(_ user: UInt32) -> Bool {
    guard let overflow = SystemFile.integer("/proc/sys/kernel/overflowuid"), overflow == user,
      let map = SystemFile.text("/proc/self/uid_map")
    else { return false }
    return !covers(map, user)
  }

  /// - Parameter map: the text of `/proc/self/uid_map`. Each line describes a range of user IDs: the first ID inside
  ///   the namespace, the first ID outside it, and the number of IDs.
  static func covers(_ map: String, _ user: UInt32) -> Bool {
    map.split(whereSeparator: \.isNewline).contains { line in
      let words = line.split(whereSeparator: \.isWhitespace).compactMap { UInt64(digits: $0) }
      guard words.count == 3, UInt64(user) >= words[0] else { return false }
      return UInt64(user) &- words[0] < words[2]
    }
  }
}

/// Finds a system group by name or number.
package enum SystemGroup {
  /// Returns the ID of a group; nil if no group has that name.
  ///
  /// Names are looked up in `/etc/group`, which works in a static executable too. A group that is not in this file
  /// can be specified by its number.
  package static func number(_ text: String) -> UInt32? {
    if let number = UInt32(digits: text[...]), number != .max { return number }
    for line in SystemFile.text("/etc/group")?.split(whereSeparator: \.isNewline) ?? [] {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, fields[0] == text { return UInt32(digits: fields[2]) }
    }
    return nil
  }
}
