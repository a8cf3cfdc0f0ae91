/// A disturbance of the handler, as options of FaultInjector.
enum Disturbance: Sendable, CustomStringConvertible {
  case none
  /// One call fails.
  case failure(InjectorReport.Role, Int, errno: Int32)
  /// Every call of some system calls fails, from a given index on.
  case failures(InjectorReport.Role, from: Int, numbers: [Int], errno: Int32)
  /// The process is killed when a call returns, or before it is made.
  case kill(InjectorReport.Role, Int, isBefore: Bool = false)
  /// A shell command runs before a call; `DATABASE` in it is replaced with the database's directory.
  case command(InjectorReport.Role, Int, String)
  /// The process is killed before the first call of a given system call.
  case killFirst(InjectorReport.Role, number: Int)
  /// The process is stopped at a call, and continues after a number of milliseconds.
  case stop(InjectorReport.Role, Int, milliseconds: Int)
  /// A function faults after a number of instructions, then the next function in the list, and so on.
  case faults([(symbol: String, steps: Int)])
  /// A function never returns, then the next function in the list.
  case hangs([String])

  var options: [String] {
    switch self {
    case .none: []
    case .failure(let role, let index, let errno):
      ["--fail", role.rawValue, "\(index)", "\(errno)"]
    case .failures(let role, let index, let numbers, let errno):
      [
        "--fail-all", role.rawValue, "\(index)",
        numbers.map(String.init).joined(separator: ","), "\(errno)",
      ]
    case .kill(let role, let index, let isBefore):
      ["--kill", isBefore ? "before" : "after", role.rawValue, "\(index)"]
    case .command(let role, let index, let command):
      ["--run", role.rawValue, "\(index)", command]
    case .killFirst(let role, let number): ["--kill-first", role.rawValue, "\(number)"]
    case .stop(let role, let index, let milliseconds):
      ["--stop", role.rawValue, "\(index)", "\(milliseconds)"]
    case .faults(let faults): faults.flatMap { ["--fault", $0.symbol, "\($0.steps)"] }
    case .hangs(let symbols): symbols.flatMap { ["--hang", $0] }
    }
  }

  var description: String { options.joined(separator: " ") }

  /// EINTR, EFAULT, ENOSPC, ENOSYS, EPERM.
  static let errors: [Int32] = [4, 14, 28, 38, 1]
}
