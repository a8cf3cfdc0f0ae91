internal import Glibc
internal import Postmortem

/// What a test asks of a process whose handler is in and that does not crash.
enum Probe: String {
  case idle
  case startAgain = "start-again"

  func run(database: String) throws {
    switch self {
    case .idle: try printWhatRuns()
    case .startAgain: try startTwiceMore(database)
    }
  }

  /// Threads from /proc/self/task, interval timers, POSIX timers and children, one `name count` a line.
  private func printWhatRuns() throws {
    print("threads \(try Self.entries(of: "/proc/self/task").count)")
    var armed = 0
    for timer in [ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF] {
      var value = itimerval()
      unsafe getitimer(__itimer_which_t(timer.rawValue), &value)
      if value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0 { armed += 1 }
    }
    print("interval-timers \(armed)")
    print("posix-timers \(try Self.lines(of: "/proc/self/timers"))")
    var status: Int32 = 0
    let child = unsafe waitpid(-1, &status, WNOHANG)
    print("children \(child == -1 && errno == ECHILD ? 0 : 1)")
  }

  private func startTwiceMore(_ database: String) throws {
    try startHandler(database: database)
    print("same folder: accepted")
    do {
      try startHandler(database: database + "-other")
      print("other folder: accepted")
    } catch {
      print("other folder: \(error)")
    }
  }

  private static func entries(of path: String) throws -> [String] {
    guard let folder = unsafe opendir(path) else { throw ProbeError(path: path, errno: errno) }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func lines(of path: String) throws -> Int {
    guard let file = unsafe fopen(path, "r") else { throw ProbeError(path: path, errno: errno) }
    defer { unsafe fclose(file) }
    var count = 0
    while true {
      let character = unsafe fgetc(file)
      if character == EOF { return count }
      if character == 10 { count += 1 }
    }
  }
}

private struct ProbeError: Error {
  let path: String
  let errno: Int32
}
