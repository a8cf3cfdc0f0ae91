internal import ProcessSnapshot

// The process's place on its machine, in words.

extension CrashReport {
  /// Such as "web-3, container 4b5e7f0a1c2d, time zone Europe/Berlin".
  var hostText: String? {
    let system = snapshot.system
    // As many digits as container tools print; JSON has all.
    let container = snapshot.containerID.map { "container \($0.prefix(12))" }
    return Self.list(
      [system.hostName, container, system.timeZoneName.map { "time zone \($0)" }])
  }

  /// Such as "1000, group 1000".
  var userText: String? {
    func text(_ ids: UserIDs) -> String {
      ids.real == ids.effective ? "\(ids.effective)" : "\(ids.effective) for \(ids.real)"
    }
    return Self.list([
      snapshot.process.userIDs.map(text), snapshot.process.groupIDs.map { "group " + text($0) },
    ])
  }

  /// Such as "4 sockets, 2 files (1 deleted), 1 eventpoll"; nil where none is listed.
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
    return left > 0 ? "\(text), and \(left) more" : text
  }

  private static let plurals = [
    "file": "files", "directory": "directories", "device": "devices", "socket": "sockets",
    "pipe": "pipes",
  ]

  /// Each open descriptor on a line, for the page alone: text has their counts.
  var descriptorSection: ReportSection? {
    let descriptors = snapshot.process.descriptors
    var rows = descriptors.map { descriptor -> ReportSection.Row in
      let path = descriptor.path.map { $0 + (descriptor.isCut ? "..." : "") }
      let kind = descriptor.anonymousKind == nil ? descriptor.kind?.word : nil
      let words = Self.list([kind, path, descriptor.isDeleted ? "(deleted)" : nil], separator: " ")
      return .field(ReportField(name: "\(descriptor.number)", value: words ?? "unknown"))
    }
    if descriptorsOmitted > 0 { rows.append(.text("\(descriptorsOmitted) more, not listed")) }
    return ReportSection("Open descriptors", rows: rows)
  }

  /// Descriptors that were open and found no room in the list.
  private var descriptorsOmitted: Int {
    let listed = snapshot.process.descriptors.count
    guard listed >= 256, let count = snapshot.process.descriptorCount.map(Int.init),
      count > listed
    else { return 0 }
    return count &- listed
  }
}
