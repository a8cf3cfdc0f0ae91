import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Synchronization
import Testing

@testable import CrashHandler

/// Summaries of crashes that crash-lab does not have.
@Suite struct CrashSummaryTests {
  @Test func textOfTheProgramStaysOnItsLineAndSteersNoTerminal() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [database = database as String] in
      restoreDefaults()
      try startHandler(
        database: database, product: "a\nb\\c\u{1B}[31m", version: "1\u{85}\u{202E}é\u{1F600}")
      fatalError("x\npostmortem[1]: frame 0 0+0x1\u{7}")
    }
    // Swift's runtime prints the message, too, without escapes.
    let lines = try summaryLines(of: result).filter { $0.contains(" crashed: ") }
    #expect(
      lines.first?.hasPrefix(
        #"a\nb\\c\x1b[31m 1\xc2\x85\xe2\x80\xaeé"# + "\u{1F600} crashed: SIG") == true, "\(lines)")
    #expect(lines.first?.hasSuffix(#"Fatal error: x\npostmortem[1]: frame 0 0+0x1\x07"#) == true)
    #expect(try loggedDumps(of: result).count == 1)
  }

  @Test func aDirectoryThatIsGoneForGoodIsSaid() async throws {
    let directory = try TemporaryDirectory()
    let database = try directory.subdirectory("gone") + "/db"
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      try FileManager.default.removeItem(
        atPath: URL(filePath: database).deletingLastPathComponent().path)
      writeToNowhere()
    }
    let lines = try summaryLines(of: result)
    #expect(lines.count == 2)
    #expect(lines.first?.contains(" SIGSEGV SEGV_MAPERR at 0x10, thread ") == true, "\(lines)")
    // If no dump could be written, the log has all that is known, and the last line reads the log.
    #expect(
      lines.last?.hasSuffix("; no dump: ENOENT; from this log: postmortem symbolicate LOG") == true,
      "\(lines)")
    #expect(try await symbolicated(result, in: directory).contains("writeToNowhere()"))
  }

  /// Frames of libc have no frame records, and contain return addresses of earlier calls.
  ///
  /// The log lists these as candidates, and `symbolicate` shows none of them as frames.
  @Test func callsThatEndedLongAgoAreNoFrames() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      abortOnUsedStack(try #require(returnAddressInDispatch()))
    }
    let shown = try await symbolicated(result, in: directory)
    let frames = shown.split(separator: "\n").filter { $0.dropFirst(2).first == "#" }
    // If libc's debug information is installed, its frames have files.
    let libc = ["libc.so", "/nptl/", "/stdlib/", "/posix/"]
    let first = try #require(
      frames.firstIndex { frame in !libc.contains(where: frame.contains) }, "\(shown)")
    // At most four frames, and one line each for an inlined call and a tail call.
    #expect(first <= 6 && frames[first].contains("abortOnUsedStack"), "\(frames)")
    #expect(!frames.prefix(first + 1).contains { $0.contains("libdispatch") }, "\(frames)")
  }

  @Test func ofAVeryDeepStackOnlyTheInnermostFramesAreShown() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      _ = writeFirstOfFive(4000)
    }
    let shown = try await symbolicated(result, in: directory)
    #expect(shown.contains("writeFifth(_:)") && !shown.contains("_start"), "\(shown)")
    #expect(shown.contains("the stack continues, but its next frame was not found"), "\(shown)")
  }

  @Test func manyCrashesAtATimeAreOneBlock() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      for _ in 0..<32 {
        var thread = pthread_t()
        unsafe pthread_create(
          &thread, nil,
          { _ in
            while !crashNow.load(ordering: .acquiring) { sched_yield() }
            writeToNowhere()
            return nil
          }, nil)
      }
      crashNow.store(true, ordering: .releasing)
      while true { pause() }
    }
    let lines = try summaryLines(of: result)
    #expect(lines.count == 2, "\(lines)")
    #expect(try loggedDumps(of: result).count == 1)
  }

  @Test func aForkedChildHasABlockOfItsOwn() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      typealias Fork = @convention(c) () -> Int32
      let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
      let child = fork()
      if child == 0 { writeToNowhere() }
      var status: Int32 = 0
      unsafe waitpid(child, &status, 0)
      writeToNowhere()
    }
    let reports = try loggedDumps(of: result).map(\.reportDigits)
    let names = try directory.pendingNames().compactMap { PendingDumpName(fileName: $0) }
      .filter { $0.role == .finished }
    #expect(reports.count == 2)
    #expect(
      Set(reports)
        == Set(names.map { "\($0.reportID)".replacing("-", with: "").prefix(16) }.map(String.init)))
    let text = String(decoding: try #require(result?.standardErrorContent), as: UTF8.self)
    let processes = Set(text.matches(of: #/postmortem\[([0-9]+)\]/#).map(\.1))
    #expect(processes.count == 2)
  }

  @Test func aDescriptorThatIsAnotherFileNowIsLeftAlone() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let precious = directory.path + "/precious"
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [database = database as String, precious = precious as String] in
      try startWithoutBacktracer(database)
      let file = unsafe open(precious, O_WRONLY | O_CREAT, 0o600)
      dup2(file, 2)
      writeToNowhere()
    }
    #expect(try Data(contentsOf: URL(filePath: precious)).isEmpty)
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }

  /// The kernel reports that there is room, but the write still raises SIGPIPE.
  @Test func aSocketThatNobodyReadsAnyMoreDoesNotChangeTheEnd() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      restoreDefaults()
      var ends: [Int32] = [-1, -1]
      unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
      shutdown(ends[1], Int32(SHUT_RD))
      dup2(ends[0], 2)
      try startHandler(database: database)
      writeToNowhere()
    }
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }
}

private let crashNow = Atomic(false)

/// An address after the start of libdispatch's code that can be a return address.
private func returnAddressInDispatch() -> UInt? {
  let maps = (try? KernelFile.text("/proc/self/maps")) ?? ""
  for line in maps.split(separator: "\n") where line.contains("libdispatch") {
    let fields = line.split(separator: " ")
    let range = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard fields[1] == "r-xp", range.count == 2 else { continue }
    let code = unsafe UnsafeRawBufferPointer(
      start: UnsafeRawPointer(bitPattern: range[0]), count: Int(range[1] - range[0]))
    guard let call = unsafe code.firstIndex(of: 0xE8) else { continue }
    return range[0] + UInt(call) + 5
  }
  return nil
}

/// Fills the part of the stack on which the next called functions have their frames with an address.
@inline(never)
private func leaveOnStack(_ address: UInt, depth: Int) {
  // A larger buffer would be allocated on the heap.
  unsafe withUnsafeTemporaryAllocation(of: UInt.self, capacity: 128) { words in
    unsafe words.initialize(repeating: address)
    if depth > 0 { leaveOnStack(address, depth: depth - 1) }
  }
}

@inline(never)
private func abortOnUsedStack(_ address: UInt) {
  leaveOnStack(address, depth: 4)
  abort()
}
