internal import Dispatch
internal import Foundation
internal import Synchronization

/// A program that has ended, with its output.
public struct ChildProcess: Sendable {
  public let processID: Int32
  public let end: ChildEnd
  public let standardOutput: String
  public let standardError: String
  /// The names of the processes in its group that were still running when it ended, and were then killed.
  ///
  /// Empty for a child without its own group.
  public let leftBehind: [String]

  /// Whether the kernel may write a core file.
  public enum CoreFile: Sendable {
    case none
    /// The kernel may write one up to the hard limit of this process.
    case allowed
  }

  /// The number of seconds after which a test's child counts as hung.
  public static let patience = 60

  /// Runs a program in a directory and waits for its end.
  ///
  /// The child starts with no signal blocked or ignored, whatever the test runner has blocked. Its standard input
  /// is /dev/null. Its output goes to files next to the directory, never through a pipe that could fill up. At
  /// most as many children as there are processors run at a time.
  ///
  /// - Parameters:
  ///   - environment: added to this process's environment.
  ///   - leadsGroup: true for a new process group, whose processes are killed before this returns: Swift's
  ///     backtracer starts a program that may run forever if the child ends first.
  ///   - patience: the number of seconds after which the child is killed and the run throws.
  public static func run(
    _ executable: String, _ arguments: [String], in directory: String,
    environment: [String: String] = [:], coreFile: CoreFile = .none, leadsGroup: Bool = false,
    patience: Int = ChildProcess.patience
  ) async throws -> ChildProcess {
    await Turnstile.shared.enter()
    do {
      let child: ChildProcess = try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            with: Result {
              try runAndWait(
                executable, arguments, in: directory, environment: environment, coreFile: coreFile,
                leadsGroup: leadsGroup, patience: patience)
            })
        }
      }
      await Turnstile.shared.leave()
      return child
    } catch {
      await Turnstile.shared.leave()
      throw error
    }
  }

  private static func runAndWait(
    _ executable: String, _ arguments: [String], in directory: String,
    environment: [String: String],
    coreFile: CoreFile, leadsGroup: Bool, patience: Int
  ) throws -> ChildProcess {
    let output = directory + ".stdout-" + UUID().uuidString
    let errors = directory + ".stderr-" + UUID().uuidString
    defer {
      unsafe unlink(output)
      unsafe unlink(errors)
    }
    // The shell sets the directory and the limit, which posix_spawn cannot. exec keeps the process ID.
    let limit = coreFile == .allowed ? "$(ulimit -H -c)" : "0"
    let script = "cd \"$0\" && ulimit -S -c \(limit) && exec \"$@\""
    // Swift's backtracer, which is on by default, runs only if a test asks for it.
    let standard = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) {
      _, new in new
    }
    let processID = try Spawn.start(
      "/bin/sh", ["sh", "-c", script, directory, executable] + arguments,
      environment: standard.merging(environment) { _, new in new },
      output: .file(output), errors: .file(errors), leadsGroup: leadsGroup)
    let group = leadsGroup ? ProcessGroup(leader: processID) : nil
    let (status, hung, left) = try wait(for: processID, group, patience: patience)
    let child = ChildProcess(
      processID: processID, end: ChildEnd(status: status),
      standardOutput: try text(of: output), standardError: try text(of: errors),
      leftBehind: left)
    guard !hung else { throw HungChild(command: [executable] + arguments, child: child) }
    return child
  }

  private static func text(of path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  private enum State {
    case running, ended, killed
  }

  private static func wait(
    for processID: Int32, _ group: ProcessGroup?, patience: Int
  ) throws -> (Int32, hung: Bool, left: [String]) {
    let state = Mutex(State.running)
    let watchdog = DispatchWorkItem {
      state.withLock { state in
        // The child has not been reaped yet, so its process ID cannot belong to another process.
        guard state == .running else { return }
        kill(processID, SIGKILL)
        state = .killed
      }
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(patience), execute: watchdog)
    defer { watchdog.cancel() }
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) == -1 {
      guard errno == EINTR else { throw SystemCallError("waitid", errno) }
    }
    let hung = state.withLock { state in
      defer { state = state == .killed ? .killed : .ended }
      return state == .killed
    }
    // While the leader has not been reaped, its ID, and thus the group's, cannot be reused.
    let left = group?.end() ?? []
    var status: Int32 = 0
    guard unsafe waitpid(processID, &status, 0) == processID else {
      throw SystemCallError("waitpid", errno)
    }
    return (status, hung, left)
  }
}

/// A child that did not end in time and was killed; this always fails the test.
public struct HungChild: Error, CustomStringConvertible {
  public let command: [String]
  public let child: ChildProcess

  public var description: String {
    """
    hung and was killed: \(command.joined(separator: " "))
    \(child.standardOutput)\(child.standardError)
    """
  }
}
