import CrashTestSupport

/// FaultInjector's record of one run.
struct InjectorReport: Sendable {
  /// The thread that crashed, or the other threads that are inside a handler.
  enum Role: String, Sendable {
    case crashing, other
  }

  /// A system call that a handler made.
  struct Call: Sendable, Hashable {
    let role: Role
    /// The index among the calls of the role, from 1 on.
    let index: Int
    /// The system call's number.
    let number: Int
    let arguments: [UInt64]
  }

  private(set) var calls: [Call] = []
  /// How many calls were made to fail.
  private(set) var failures = 0
  /// How many commands were run.
  private(set) var commands = 0
  /// The functions that were made to fault or to hang, in order.
  private(set) var hits: [String] = []
  /// The signal of the crash; nil if there was none.
  private(set) var signal: Int32?
  private(set) var isHung = false
  private(set) var end = ChildEnd(status: 0)

  init(_ text: String) throws {
    var hasEnd = false
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      switch words.first {
      case "entered": signal = Int32(words[1])
      case "call":
        guard words.count == 10, let role = Role(rawValue: String(words[1])),
          let index = Int(words[2]), let number = Int(words[3])
        else { throw OutsideToolError("FaultInjector: \(line)") }
        calls.append(
          Call(
            role: role, index: index, number: number,
            arguments: words[4...].compactMap { UInt64($0, radix: 16) }))
      case "failed": failures += 1
      case "ran": commands += 1
      case "hit": hits.append(String(words[1]))
      case "hung": isHung = true
      case "end":
        end = ChildEnd(status: Int32(words[1]) ?? 0)
        hasEnd = true
      default: throw OutsideToolError("FaultInjector: \(line)")
      }
    }
    guard hasEnd else { throw OutsideToolError("FaultInjector did not come to an end: \(text)") }
  }

  func count(_ role: Role) -> Int { calls.count { $0.role == role } }
}
