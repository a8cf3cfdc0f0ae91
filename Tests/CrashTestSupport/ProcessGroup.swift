internal import Foundation

/// The processes that a child has started and that are still in its process group.
struct ProcessGroup: Sendable {
  let leader: pid_t

  /// Kills all processes, including the leader.
  ///
  /// - Returns: the names of the processes other than the leader that had not ended.
  func end() -> [String] {
    let names = others()
    kill(-leader, SIGKILL)
    return names
  }

  /// Names the running processes of the group except the leader.
  ///
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
