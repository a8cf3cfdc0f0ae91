internal import Foundation

/// The processes that a child has started and that are in its process group still.
struct ProcessGroup: Sendable {
  let leader: pid_t

  /// Kills all of them, the leader included.
  ///
  /// - Returns: the names of those that were there beside the leader and had not ended.
  func end() -> [String] {
    let names = others()
    kill(-leader, SIGKILL)
    return names
  }

  /// Source: proc_pid_stat(5): the name in parentheses, the state, the parent, the group.
  private func others() -> [String] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { entry in
      guard let processID = pid_t(entry), processID != leader,
        let text = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
        let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
      else { return nil }
      let fields = text[end...].dropFirst().split(separator: " ")
      guard fields.count > 2, fields[0] != "Z", pid_t(fields[2]) == leader else { return nil }
      return String(text[start..<end].dropFirst())
    }
  }
}
