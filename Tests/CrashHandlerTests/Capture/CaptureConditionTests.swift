import CSignalSafe
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Testing

@testable import CrashHandler

/// Crashes under conditions of the program or the system: forks, limits, deleted files.
@Suite struct CaptureConditionTests {
  @Test func aForkedChildLeavesAReportOfItsOwnAndItsParentToo() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      forkAndWait { writeTo(16) }
      // The first child's own child, which has inherited the handler that its grandparent started.
      forkAndWait { forkAndWait { writeTo(24) } }
      writeTo(32)
    }
    let dumps = try directory.finishedDumps().map { try IntermediateDumpDocument(parsing: $0) }
    #expect(dumps.count == 3)
    #expect(dumps.compactMap(\.damage).isEmpty)
    let addresses = dumps.compactMap { $0.root.map(.exception)?.unsigned(.faultAddress) }
    #expect(Set(addresses) == [16, 24, 32])
    // Each dump has its own process ID, and the report ID of its file name.
    let processes = dumps.map { $0.root.last(.processID)?.unsigned(.processID) }
    #expect(Set(processes).count == 3)
    let reports = dumps.compactMap { $0.root.last(.reportID)?.data(.reportID) }
      .compactMap { ReportID(bytes: $0) }
    let names = try directory.pendingNames().compactMap { PendingDumpName(fileName: $0) }
      .filter { $0.role == .finished }
    #expect(Set(reports) == Set(names.map(\.reportID)))
  }

  @Test func aChildThatEndsWellLeavesTheParentsFileAlone() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      forkAndWait {}
      writeTo(16)
    }
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }

  @Test func aProgramThatClosesOurDescriptorsLosesNoDump() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let precious = directory.path + "/precious"
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [database = database as String, precious = precious as String] in
      try startHandler(database: database)
      takeAllDescriptors(for: precious)
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(!root.array(.modules).isEmpty)
    let contents = try Data(contentsOf: URL(filePath: precious))
    #expect(contents.isEmpty)
  }

  @Test func filesOfTheCgroupThatAreNotOursAreNotRead() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let foreign = directory.path + "/foreign"
    try Data("12345\n".utf8).write(to: URL(filePath: foreign))
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [database = database as String, foreign = foreign as String] in
      try startHandler(database: database)
      takeAllDescriptors(for: foreign)
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    for key in [IntermediateDumpKey.memoryUsed, .memoryLimit, .tasksUsed, .tasksLimit] {
      #expect(root.last(key)?.unsigned(key) != 12345)
    }
  }

  @Test func aFileThatWasRemovedIsMadeAgain() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      let handler = try startHandler(database: database)
      for name in try FileManager.default.contentsOfDirectory(
        atPath: database + "/" + PendingDumpName.directory)
      {
        #expect(name.contains("\(handler.reportID)"))
        try FileManager.default.removeItem(
          atPath: database + "/" + PendingDumpName.directory + "/" + name)
      }
      writeTo(16)
    }
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }

  @Test func aDirectoryThatWasRemovedIsMadeAgain() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      try FileManager.default.removeItem(atPath: database)
      writeTo(16)
    }
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }

  @Test func aSectionThatHangsIsEndedByTheWatchdog() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .exitCode(0)) { [database = database as String] in
      try startHandler(database: database)
      try hangInSection()
    }
  }

  @Test func aFileSizeLimitOfZeroDoesNotLoseTheDump() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      setFileSizeLimit(0)
      writeTo(16)
    }
    #expect(try IntermediateDumpDocument(parsing: directory.onlyDump()).isComplete)
  }

  @Test func aProcessWithoutADescriptorLeftIsCapturedWhole() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startSleepingThreads(2)
      while dup(0) >= 0 {}
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.array(.threads).filter { $0.text(.threadName) == "sleeper" }.count == 2)
    #expect(!root.array(.modules).isEmpty)
  }

  @Test func aProgramThatTakesEveryRealTimeSignalEndsByItsOwn() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      for number in Int32(34)...64 { signal(number) { _ in } }
      try startHandler(database: database)
      startSleepingThreads(2)
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    // The threads' data comes from `/proc`, because no signal is available to stop them.
    #expect(root.array(.threads).filter { $0.text(.threadName) == "sleeper" }.count == 2)
  }

  @Test func aFaultInASectionOfTheHandlerComesBackToItsLandingPad() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .exitCode(0)) { [database = database as String] in
      try startHandler(database: database)
      try runSections()
    }
    #expect(try directory.pendingNames().contains { $0.hasSuffix(".locked") })
  }

  @Test func memoryIsCopiedWithoutTheSystemCallToo() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .exitCode(0)) { [database = database as String] in
      try startHandler(database: database)
      try copyGuarded()
    }
  }

  @Test func pagesThatAreNotInMemoryAreReadWhereNobodyHasToBringThem() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .exitCode(0)) { [database = database as String] in
      try startHandler(database: database)
      try readAbsentPages()
    }
  }
}
