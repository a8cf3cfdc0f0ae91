internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

// Text about the machine, the user and the open files of the process.

extension CrashReport {
  /// The host, the container and the time zone, for example "web-3, container 4b5e7f0a1c2d, time zone Europe/Berlin".
  var hostText: String? {
    let system = snapshot.system
    // Container tools print 12 digits of the ID; the JSON contains the whole ID.
    let container = snapshot.containerID.map { "container \($0.prefix(12))" }
    return Self.list(
      [system.hostName, container, system.timeZoneName.map { "time zone \($0)" }])
  }

  /// The user and the group, for example "1000, group 1000"; "root (0)" for root with root's group.
  var userText: String? {
    let root = UserIDs(real: 0, effective: 0)
    if snapshot.process.userIDs == root, snapshot.process.groupIDs == root { return "root (0)" }
    func text(_ ids: UserIDs) -> String {
      ids.real == ids.effective ? "\(ids.effective)" : "\(ids.effective) for \(ids.real)"
    }
    return Self.list([
      snapshot.process.userIDs.map(text), snapshot.process.groupIDs.map { "group " + text($0) },
    ])
  }

  /// The number of descriptors of each kind, such as "4 sockets, 2 files (1 deleted), 1 eventpoll"; nil if none are
  /// listed.
  var descriptorCounts: String? {
    let descriptors = snapshot.process.descriptors
    guard !descriptors.isEmpty else { return nil }
    var counts: [String: (all: Int, deleted: Int)] = [:]
    for descriptor in descriptors {
      let word = descriptor.anonymousKind ?? descriptor.kind?.word ?? "unknown"
      counts[word, default: (0, 0)].all += 1
      if descriptor.isDeleted { counts[word, default: (0, 0)].deleted += 1 }
    }
    let words = counts.sorted { ($1.value.all, $0.key) < ($0.value.all, $1.key) }
    let text = words.map { word, count -> String in
      let name = count.all == 1 ? word : Self.plurals[word] ?? word
      return "\(count.all) \(name)" + (count.deleted > 0 ? " (\(count.deleted) deleted)" : "")
    }.joined(separator: ", ")
    let left = descriptorsOmitted
    if left > 0 { return "\(text), and \(left) more" + handlersShare }
    // The count may be larger than the list: it includes the descriptor that the handler opened for counting, and other
    // threads may have opened more.
    let more = snapshot.process.descriptorCount.map { Int(clamping: $0) &- descriptors.count } ?? 0
    return (more > 0 ? "\(text), and \(more) open while they were counted" : text) + handlersShare
  }

  /// A phrase such as "; the crash handler opened 6 of them at its start"; empty if the handler has no descriptors.
  private var handlersShare: String {
    let count = snapshot.process.descriptors.count(where: \.isHandlers)
    guard count > 0 else { return "" }
    return count == 1
      ? "; the crash handler opened 1 of them at its start"
      : "; the crash handler opened \(count) of them at its start"
  }

  private static let plurals = [
    "file": "files", "directory": "directories", "device": "devices", "socket": "sockets",
    "pipe": "pipes",
  ]

  /// A section with a line for each listed descriptor, only for the HTML page; the text has only `descriptorCounts`.
  var descriptorSection: ReportSection? {
    let descriptors = snapshot.process.descriptors
    var rows = descriptors.map { descriptor -> ReportSection.Row in
      let path = descriptor.path.map { $0 + (descriptor.isCut ? "..." : "") }
      let kind = descriptor.anonymousKind == nil ? descriptor.kind?.word : nil
      let words = Self.list(
        [
          kind, path, descriptor.isDeleted ? "(deleted)" : nil,
          descriptor.isHandlers ? "(crash handler)" : nil,
        ],
        separator: " ")
      return .field(ReportField(name: "\(descriptor.number)", value: words ?? "unknown"))
    }
    if descriptorsOmitted > 0 { rows.append(.text("\(descriptorsOmitted) more, not listed")) }
    return ReportSection("Open descriptors", rows: rows)
  }

  /// The number of open descriptors for which the list had no room.
  ///
  /// The descriptor with which the handler reads the list is counted, but never listed.
  private var descriptorsOmitted: Int {
    let listed = snapshot.process.descriptors.count
    guard listed >= 256, let count = snapshot.process.descriptorCount.map(Int.init),
      count > listed + 1
    else { return 0 }
    return count &- listed &- 1
  }
}

extension OpenDescriptor {
  /// True for a file that the crash handler has probably kept open since it started.
  ///
  /// Only the path is checked: it is the directory of pending dumps, a file in this directory, one of `cgroupFiles`, or
  /// /proc. So the result is also true if the program itself has opened such a path.
  var isHandlers: Bool {
    guard let path else { return false }
    let parts = path.split(separator: "/")
    if parts.suffix(2).contains("pending-serialized-dumps") || path == "/proc" { return true }
    return path.hasPrefix("/sys/fs/cgroup/") && Self.cgroupFiles.contains(parts.last ?? "")
  }

  private static let cgroupFiles: Set<Substring> = [
    "memory.current", "memory.max", "memory.stat", "pids.current", "pids.max",
    "memory.usage_in_bytes", "memory.limit_in_bytes",
  ]
}
