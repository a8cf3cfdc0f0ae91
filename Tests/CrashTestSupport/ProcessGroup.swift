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

  /// True if each process waits, for example for a key.
  var sleeps: Bool { members().allSatisfy { $0.state == "S" } }

  /// True if each process is stopped, as by Ctrl-Z.
  var isStopped: Bool { members().allSatisfy { $0.state == "T" } }

  /// The names of the running processes of the group except the leader.
  private func others() -> [String] {
    members().filter { $0.processID != leader }.map(\.name)
  }

  private struct Member {
    let processID: pid_t
    let name: String
    let state: Substring
  }

  /// The processes that have not ended.
  ///
  /// Source: proc_pid_stat(5): the name in parentheses, the state, the parent, the group.
  private func members() -> [Member] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { entry in
      guard let processID = pid_t(entry),
        let text = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
        let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
      else { return nil }
      let fields = text[end...].dropFirst().split(separator: " ")
      guard fields.count > 2, fields[0] != "Z", pid_t(fields[2]) == leader else { return nil }
      let name = String(text[start..<end].dropFirst())
      return Member(processID: processID, name: name, state: fields[0])
    }
  }
}
