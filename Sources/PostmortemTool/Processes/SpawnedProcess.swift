@unsafe @preconcurrency internal import Glibc

/// A program that this process has started, in the same process group, and waits for.
///
/// A program that is still running when this value is destroyed is killed.
struct SpawnedProcess: ~Copyable {
  private let processID: pid_t

  /// Where a standard stream of the program leads.
  enum Stream {
    /// The stream of this process.
    case inherited
    case null
    case descriptor(Int32)
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - words: the program, which is searched for in PATH if its name has no slash, and its arguments.
  ///   - variables: environment variables, in addition to those of this process.
  ///   - signals: signals that the program must not ignore even if this process does.
  init(
    _ words: [String], setting variables: [String: String] = [:], input: Stream = .inherited,
    output: Stream = .inherited, errors: Stream = .inherited, resetting signals: [Int32] = []
  ) throws(ToolError) {
    // If SIGCHLD was ignored when this process started, the kernel would not report the program's end.
    Glibc.signal(SIGCHLD, SIG_DFL)
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in [input, output, errors].enumerated() {
      switch stream {
      case .inherited: break
      case .null:
        unsafe posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
      case .descriptor(let descriptor):
        unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
      }
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    unsafe sigemptyset(&defaults)
    for signal in signals { unsafe sigaddset(&defaults, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let arguments = unsafe words.map { unsafe strdup($0) }
    let added = unsafe variables.map { unsafe strdup("\($0)=\($1)") }
    defer { unsafe (arguments + added).forEach { unsafe free($0) } }
    let environment = unsafe Self.environment(without: variables) + added + [nil]
    var processID = pid_t()
    let failure = unsafe posix_spawnp(
      &processID, words[0], &actions, &attributes, arguments + [nil], environment)
    guard failure == 0 else { throw ToolError(path: words[0], ToolError.text(failure)) }
    self.processID = processID
  }

  /// This process's variables, except the given ones, as bytes that may not be UTF-8.
  private static func environment(
    without variables: [String: String]
  ) -> [UnsafeMutablePointer<CChar>?] {
    var kept = unsafe [UnsafeMutablePointer<CChar>?]()
    var next = unsafe environ
    while let variable = unsafe next.pointee {
      let name = unsafe String(cString: variable).prefix { $0 != "=" }
      if variables[String(name)] == nil { unsafe kept.append(variable) }
      unsafe next += 1
    }
    return unsafe kept
  }

  /// A pipe whose ends other programs do not inherit.
  static func pipe() throws(ToolError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { throw ToolError("pipe: " + ToolError.text(errno)) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  deinit {
    kill(processID, SIGKILL)
    _ = Self.wait(for: processID)
  }

  /// Waits for the program's end.
  consuming func wait() -> WaitStatus {
    let processID = processID
    discard self
    return Self.wait(for: processID)
  }

  private static func wait(for processID: pid_t) -> WaitStatus {
    var status: Int32 = 0
    while unsafe waitpid(processID, &status, 0) < 0, errno == EINTR {}
    return WaitStatus(status: status)
  }
}
