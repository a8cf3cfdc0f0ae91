/// How the kernel's texts on control groups read: for who writes a run's numbers down, and for who
/// compares them with today's.
///
/// Ordinary code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
package enum CgroupText {
  package static let root = "/sys/fs/cgroup"

  /// A process's paths in the hierarchies that matter here; nil where it is in none.
  package struct Paths {
    /// That of version 2.
    package var unified: String?
    /// Those of version 1, which has a controller or else version 2 does.
    package var memory: String?
    package var tasks: String?

    /// The memory control group's.
    package var ofMemory: String? {
      (memory ?? unified).map { $0.utf8.count > 1024 ? String($0.prefix(1024)) : $0 }
    }
  }

  /// The paths in the text of `/proc/PID/cgroup`.
  package static func paths(in text: String) -> Paths {
    var paths = Paths()
    var rest = text[...]
    // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
    while !rest.isEmpty {
      let line = rest.cut(before: UInt8(ascii: "\n")) ?? rest.cutAll()
      var path = line
      guard path.cut(before: UInt8(ascii: ":")) != nil,
        var controllers = path.cut(before: UInt8(ascii: ":"))
      else { continue }
      if controllers.isEmpty { paths.unified = String(path) }
      while !controllers.isEmpty {
        let controller = controllers.cut(before: UInt8(ascii: ",")) ?? controllers.cutAll()
        if controller == "memory" { paths.memory = String(path) }
        if controller == "pids" { paths.tasks = String(path) }
      }
    }
    return paths
  }

  /// The memory control group's path in such a text; nil if there is none.
  package static func memoryPath(in text: String) -> String? { paths(in: text).ofMemory }

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
    guard let text else { return nil }
    let name = Array(name.utf8)
    // Bytes of the name that the line has had; nil in another line.
    var matched: Int? = 0
    var value: UInt64?
    for byte in text.utf8 {
      switch (byte, matched) {
      case (UInt8(ascii: "\n"), _):
        if value != nil { return value }
        matched = 0
      case (_, nil): break
      case (_, let count?) where count < name.count:
        matched = byte == name[count] ? count + 1 : nil
      case (UInt8(ascii: " "), let count?), (UInt8(ascii: "\t"), let count?):
        if value != nil { return value }
        matched = count == name.count ? count + 1 : count
      case (UInt8(ascii: "0")...UInt8(ascii: "9"), let count?) where count > name.count:
        let (product, overflow) = (value ?? 0).multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.addingReportingOverflow(UInt64(byte & 15))
        if overflow || carry { return nil }
        value = sum
      default:
        if value != nil { return nil }
        matched = nil
      }
    }
    return value
  }
}

extension Substring {
  /// Takes what comes before the next byte of a value, and that byte, from the front; nil where there
  /// is none.
  package mutating func cut(before byte: UInt8) -> Substring? {
    guard let end = utf8.firstIndex(of: byte) else { return nil }
    defer { self = self[utf8.index(after: end)...] }
    return self[..<end]
  }

  /// Takes all of it.
  package mutating func cutAll() -> Substring {
    defer { self = "" }
    return self
  }
}
