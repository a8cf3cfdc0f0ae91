import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Testing

@testable import CrashHandler

/// Each test runs in a separate process, because a process can start only one handler.
@Suite struct StartHandlerTests {
  @Test func leavesALockedFileARunRecordAndAFIFOThatOnlyTheUserCanRead() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      let handler = try startHandler(database: database, identifier: "some.program-1")
      #expect(handler.identifier == "some.program-1")
      let names = try FileManager.default.contentsOfDirectory(
        atPath: database + "/" + PendingDumpName.directory)
      let parsed = names.compactMap { PendingDumpName(fileName: $0) }
      #expect(parsed.count == 3)
      #expect(Set(parsed.map(\.role)) == [.locked, .runRecord, .fifo])
      #expect(parsed.allSatisfy { $0.reportID == handler.reportID })
    }
    for name in try directory.pendingNames() {
      let path = database + "/" + PendingDumpName.directory + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
    let mode = try FileManager.default.attributesOfItem(atPath: database)[.posixPermissions]
    #expect(mode as? Int == 0o700)
  }

  @Test func theRunRecordTellsWhoOwnsTheFile() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      try startHandler(database: database)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: database + "/" + PendingDumpName.directory)
      let name = try #require(names.first { $0.hasSuffix(".run") })
      let bytes = try Data(
        contentsOf: URL(filePath: database + "/" + PendingDumpName.directory + "/" + name))
      let document = try IntermediateDumpDocument(parsing: Array(bytes))
      #expect(document.isComplete)
      let owner = try #require(document.root.map(.owner))
      #expect(owner.unsigned(.ownerProcessID) == UInt64(getpid()))
      let stat = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8)
      let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
      // The state is field 3 of proc_pid_stat(5), which is the first field after the name.
      #expect(owner.unsigned(.ownerStartTime) == UInt64(fields[22 - 3]))
      #expect(owner.unsigned(.ownerStackStart) == UInt64(fields[28 - 3]))
      let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      #expect(owner.text(.ownerBootID) == boot.trimmingCharacters(in: .newlines))
    }
  }

  @Test func aSecondStartIsTheSameHandlerOrAClearError() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      let first = try startHandler(database: database)
      let again = try startHandler(database: database + "/../db/")
      #expect(again == first)
      #expect(Handler.current == first)
      let error = #expect(throws: CrashHandlerError.self) {
        try startHandler(database: database + "-other")
      }
      #expect(error?.code == .alreadyStarted)
      #expect(error?.description.contains(database) == true)
    }
    #expect(!FileManager.default.fileExists(atPath: database + "-other"))
  }

  @Test func aDirectoryThatCannotBeUsedIsAnErrorThatSaysWhatToDo() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.path + "/file"
    try Data().write(to: URL(filePath: file))
    await #expect(processExitsWith: .success) { [file = file as String] in
      var error = #expect(throws: CrashHandlerError.self) { try startHandler(database: file) }
      #expect(error?.code == .unusableDatabase)
      #expect(error?.errno == ENOTDIR)
      error = #expect(throws: CrashHandlerError.self) {
        try startHandler(database: "/proc/self/nothing/db")
      }
      #expect(error?.code == .unusableDatabase)
      error = #expect(throws: CrashHandlerError.self) {
        try startHandler(database: file + "-db", identifier: "../../etc/passwd")
      }
      #expect(error?.code == .invalidIdentifier)
      // Nothing is installed, so a later start can succeed.
      #expect(Handler.current == nil)
      try startHandler(database: file + "-db")
    }
  }

  @Test func aFailedStartLeavesNothingBehind() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      // Without a free descriptor not even the directory is created, because that needs its parent's descriptor.
      var limit = rlimit()
      unsafe getrlimit(__rlimit_resource_t(7), &limit)
      let original = limit
      limit.rlim_cur = 0
      unsafe setrlimit(__rlimit_resource_t(7), &limit)
      #expect(throws: CrashHandlerError.self) { try startHandler(database: database) }
      limit = original
      unsafe setrlimit(__rlimit_resource_t(7), &limit)
    }
    #expect(!FileManager.default.fileExists(atPath: database))
  }

  @Test func whereNoFileMayGrowItThrowsAndTheProgramGoesOn() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      var limit = rlimit()
      unsafe getrlimit(__rlimit_resource_t(1), &limit)
      limit.rlim_cur = 0
      unsafe setrlimit(__rlimit_resource_t(1), &limit)
      // The write does not end the process by SIGXFSZ, neither now nor after the thread's mask is restored.
      #expect(throws: CrashHandlerError.self) { try startHandler(database: database) }
    }
    #expect(try directory.pendingNames().isEmpty)
  }

  @Test func withoutMemoryItThrowsAndChangesNoSignal() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      let before = try caughtSignals()
      try withLittleAddressSpace {
        let error = #expect(throws: CrashHandlerError.self) {
          try startHandler(database: database)
        }
        #expect(error?.code == .notInstalled)
      }
      let after = try caughtSignals()
      #expect(after == before)
      #expect(Handler.current == nil)
      // A later start succeeds.
      try startHandler(database: database)
      let started = try caughtSignals()
      #expect(started != before)
    }
  }

  @Test func ignoredSignalsStayIgnoredAndNothingRuns() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .success) { [database = database as String] in
      signal(SIGXCPU, SIG_IGN)
      let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
      var options = HandlerOptions()
      options.reportsUncleanEnds = false
      try startHandler(database: database, options: options)
      let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
      #expect(after == before)
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      func mask(_ label: String) -> UInt64 {
        let line = status.split(separator: "\n").first { $0.hasPrefix(label) }
        return line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) } ?? 0
      }
      #expect(mask("SigIgn:") >> UInt64(SIGXCPU - 1) & 1 == 1)
      for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP, SIGXFSZ] {
        #expect(mask("SigCgt:") >> UInt64(number - 1) & 1 == 1, "\(number)")
      }
      for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] {
        #expect(mask("SigCgt:") >> UInt64(number - 1) & 1 == 0, "\(number)")
      }
      // The watchdog's timer, which is armed only in a crash.
      let timers = try armedTimers()
      #expect(timers.made == 1)
      #expect(timers.armed == 0)
    }
  }
}

/// The POSIX timers of this process.
private func armedTimers() throws -> (made: Int, armed: Int) {
  let text = try String(contentsOfFile: "/proc/self/timers", encoding: .utf8)
  let identifiers = text.split(separator: "\n").compactMap { line in
    line.hasPrefix("ID: ") ? UInt(line.dropFirst(4)) : nil
  }
  let armed = identifiers.filter { identifier in
    var time = itimerspec()
    // glibc's timer_t is the kernel's timer number, unless the timer has a helper thread.
    let result = unsafe timer_gettime(UnsafeMutableRawPointer(bitPattern: identifier), &time)
    return result == 0 && (time.it_value.tv_sec != 0 || time.it_value.tv_nsec != 0)
  }
  return (identifiers.count, armed.count)
}

/// Reads SigCgt from proc_pid_status(5).
private func caughtSignals() throws -> Substring? {
  try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    .split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last
}

/// Runs with only 6 MiB of address space left, too little for the handler's memory.
private func withLittleAddressSpace(_ body: () throws -> Void) throws {
  let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    .split(separator: " ")
  let used = (fields.first.flatMap { UInt($0) } ?? 0) * 4096
  let resource = __rlimit_resource_t(9)  // RLIMIT_AS
  var limit = rlimit()
  unsafe getrlimit(resource, &limit)
  let original = limit
  limit.rlim_cur = used + (6 << 20)
  unsafe setrlimit(resource, &limit)
  defer {
    limit = original
    unsafe setrlimit(resource, &limit)
  }
  try body()
}
