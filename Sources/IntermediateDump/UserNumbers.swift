/// Removes user and group IDs from data that the kernel provides about a process.
package enum UserNumbers {
  /// Returns the auxiliary vector without user and group IDs.
  ///
  /// The vector consists of pairs of 8-byte integers, a type and a value.
  ///
  /// No input can make the function trap. Source: getauxval(3), AT_UID, AT_EUID, AT_GID, AT_EGID; AT_IGNORE in
  /// <elf.h>.
  package static func removed(fromVector vector: [UInt8]) -> [UInt8] {
    var vector = vector
    var offset = 0
    while offset <= vector.count &- 16 {
      let type = vector[offset]
      if 11...14 ~= type, vector[(offset &+ 1)..<(offset &+ 8)].allSatisfy({ $0 == 0 }) {
        vector[offset] = 1
        for index in (offset &+ 8)..<(offset &+ 16) { vector[index] = 0 }
      }
      offset &+= 16
    }
    return vector
  }

  /// Returns the text of `/proc/<pid>/status`, with dashes instead of user and group IDs.
  package static func removed(fromStatus text: [UInt8]) -> [UInt8] {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let kept = lines.map { line -> [UInt8] in
      for label in ["Uid:", "Gid:", "Groups:"] where line.starts(with: label.utf8) {
        return Array((label + "\t-").utf8)
      }
      return Array(line)
    }
    return Array(kept.joined(separator: [UInt8(ascii: "\n")]))
  }
}
