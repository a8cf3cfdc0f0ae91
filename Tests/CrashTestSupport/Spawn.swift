public import Foundation

/// posix_spawn(3) with all signals unblocked and reset to their defaults.
public enum Spawn {
  /// Where a standard stream of a child leads.
  public enum Stream {
    case null
    /// A file that is created anew.
    case file(String)
    case descriptor(Int32)
    /// A terminal, which becomes the controlling terminal of a child that leads a session.
    case terminal(String)
    /// The stream of this process.
    case inherited
  }

  /// Starts a program; the caller waits for it.
  ///
  /// - Parameters:
  ///   - leadsGroup: true if the child leads a new process group.
  ///   - leadsSession: true if the child leads a new session.
  public static func start(
    _ executable: String, _ arguments: [String], environment: [String: String],
    input: Stream = .null, output: Stream, errors: Stream, leadsGroup: Bool = false,
    leadsSession: Bool = false
  ) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    var all = sigset_t()
    unsafe sigfillset(&all)
    // A worker thread of the test runner blocks nearly every signal, and a child inherits its mask.
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
    let session = leadsSession ? setSession : 0
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group | session))

    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in [
      (STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, errors),
    ] {
      switch stream {
      case .null:
        unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      case .file(let path):
        unsafe posix_spawn_file_actions_addopen(
          &actions, number, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      case .descriptor(let descriptor):
        unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
      case .terminal(let path):
        unsafe posix_spawn_file_actions_addopen(&actions, number, path, O_RDWR, 0)
      case .inherited: break
      }
    }
    // If the child held the other end of another test's pipe, that test would wait until the child ends.
    _ = unsafe closeFrom?(&actions, STDERR_FILENO + 1)

    let argumentStrings = unsafe arguments.map { unsafe strdup($0) }
    let environmentStrings = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") }
    defer {
      unsafe argumentStrings.forEach { unsafe free($0) }
      unsafe environmentStrings.forEach { unsafe free($0) }
    }
    var processID = pid_t()
    let result = unsafe posix_spawn(
      &processID, executable, &actions, &attributes, argumentStrings + [nil],
      environmentStrings + [nil])
    guard result == 0 else { throw SystemCallError("posix_spawn \(executable)", result) }
    return processID
  }

  /// POSIX_SPAWN_SETSID, which Swift does not import.
  ///
  /// Source: glibc, spawn.h.
  private static let setSession: Int32 = 0x80

  /// posix_spawn_file_actions_addclosefrom_np(3), which Swift does not import; nil before glibc 2.34.
  private static var closeFrom:
    (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32)?
  {
    unsafe dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
      unsafe unsafeBitCast(
        $0,
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self
      )
    }
  }

  /// Copies a program that this process then runs.
  ///
  /// Another process writes the copy. If this process wrote it, a child that another thread starts at this moment would
  /// hold the open file until it has called execve(2), and the copy could not be run (ETXTBSY).
  public static func copyProgram(_ path: String, to copy: String) throws {
    let processID = try start(
      "/bin/cp", ["cp", path, copy], environment: [:], output: .null, errors: .inherited)
    var status: Int32 = 0
    guard unsafe waitpid(processID, &status, 0) == processID, status == 0 else {
      throw SystemCallError("cp \(path)", errno)
    }
  }
}
