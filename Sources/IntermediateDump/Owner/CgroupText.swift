/// How the kernel's texts on control groups read: for who writes a run's numbers down, and for who
/// compares them with today's.
///
/// Ordinary code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
package enum CgroupText {
  package static let root = "/sys/fs/cgroup"

  /// The paths in the text of `/proc/PID/cgroup`, by controller; "" for version 2.
  package static func paths(in text: String) -> [String: String] {
    var paths: [String: String] = [:]
    // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      for controller in fields[1].split(separator: ",", omittingEmptySubsequences: false) {
        paths[String(controller)] = String(fields[2])
      }
    }
    return paths
  }

  /// The memory control group's path in such a text; nil if there is none.
  package static func memoryPath(in text: String) -> String? {
    let paths = paths(in: text)
    return (paths["memory"] ?? paths[""]).map { String($0.prefix(1024)) }
  }

  /// Where the files of a memory control group may lie.
  ///
  /// - Parameter isOwn: true for the caller's own group. In a container its path may be the host's
  ///   while the mount shows only that group, at its root; for another group the root would answer
  ///   with the numbers of all.
  package static func memoryDirectories(of path: String, isOwn: Bool) -> [String] {
    let directories = ["\(root)\(path)", "\(root)/memory\(path)"]
    return isOwn ? directories + [root, "\(root)/memory"] : directories
  }

  /// Processes of a memory control group that were killed for want of memory; nil where the directory
  /// is not that of one.
  ///
  /// - Parameter contents: gives a file's text.
  package static func memoryKills(
    in directory: String, contents: (String) -> String?
  ) -> (count: UInt64, isUnified: Bool)? {
    for (name, isUnified) in [("memory.events", true), ("memory.oom_control", false)] {
      if let count = number("oom_kill", in: contents("\(directory)/\(name)")) {
        return (count, isUnified)
      }
    }
    return nil
  }

  /// The number behind a name at the start of a line, as in `/proc/vmstat` and `/proc/meminfo`.
  package static func number(_ name: String, in text: String?) -> UInt64? {
    for line in text?.split(separator: "\n") ?? [] {
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.count > 1, words[0] == name { return UInt64(words[1]) }
    }
    return nil
  }
}
