import CSignalSafe
import CrashTestSupport
import Dispatch
import Foundation
import IntermediateDump
import PendingDumps
import Synchronization
import Testing

@testable import CrashHandler

/// Crashes in separate processes, whose dumps are read here.
@Suite struct CaptureTests {
  @Test func aCrashLeavesOneCompleteDumpThatSaysWhoAndWhy() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(
        database: database, product: "Product", version: "1.2", environment: "test",
        annotations: ["key": "value"])
      startSleepingThreads(4)
      writeTo(16)
    }
    let document = try IntermediateDumpDocument(parsing: directory.onlyDump())
    #expect(document.damage == nil)
    #expect(document.writer == "swift-postmortem")
    let root = document.root
    let exception = try #require(root.map(.exception))
    #expect(exception.signed(.signalNumber) == Int64(SIGSEGV))
    #expect(exception.signed(.signalCode) == 1)  // SEGV_MAPERR
    #expect(exception.unsigned(.faultAddress) == 16)
    #expect(exception.data(.signalInfo)?.count == 128)
    let crashing = try #require(IntermediateDumpMap(joining: root.all(.crashingThread)))
    #expect(crashing.unsigned(.threadID) == exception.unsigned(.exceptionThreadID))
    #expect(crashing.unsigned(.captureMethod) == 1)
    #expect(crashing.data(.generalRegisters)?.count == Int(PM_GENERAL_REGISTERS_SIZE))
    #expect(try #require(crashing.data(.floatingPointState)).count >= 512)
    #expect(crashing.array(.stack).first?.data(.regionData) != nil)
    let process = try #require(root.map(.process))
    #expect(process.text(.product) == "Product")
    #expect(process.text(.version) == "1.2")
    #expect(process.text(.environment) == "test")
    let annotation = try #require(root.array(.annotations).first)
    #expect(annotation.text(.annotationName) == "key")
    #expect(annotation.text(.annotationValue) == "value")
    let threads = root.array(.threads)
    let sleeping = threads.filter { $0.text(.threadName) == "sleeper" }
    #expect(sleeping.count == 4)
    for thread in sleeping {
      #expect(thread.unsigned(.captureMethod) == 2)
      #expect(thread.unsigned(.threadState) == UInt64(UInt8(ascii: "S")))
      #expect(thread.array(.stack).first?.data(.regionData) != nil)
    }
    let capture = try #require(root.map(.capture))
    #expect(capture.unsigned(.threadsFound) == UInt64(threads.count + 1))
    #expect(capture.unsigned(.sectionsAbandoned) == 0)
    let modules = root.array(.modules)
    let hasLibrary = modules.contains {
      $0.text(.modulePath)?.contains("libc.so") == true && $0.data(.moduleBuildID)?.count == 20
    }
    #expect(hasLibrary)
  }

  @Test func aCompleteDumpLeavesNoPreallocatedBlocks() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      writeTo(16)
    }
    let dump = try directory.onlyDump()
    let name = try #require(
      directory.pendingNames().first { PendingDumpName(fileName: $0)?.role == .finished })
    var status = stat()
    #expect(unsafe stat(database + "/" + PendingDumpName.directory + "/" + name, &status) == 0)
    #expect(status.st_size == off_t(dump.count))
    #expect(status.st_blocks * 512 < dump.count + 64 << 10)
  }

  @Test func otherThreadsShareWhatThereIsForStacks() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      var options = HandlerOptions()
      options.limits.otherThreadStacks = 100 << 10
      try startHandler(database: database, options: options)
      startSleepingThreads(50)
      _ = writeDeep(1000)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    func stackBytes(_ thread: IntermediateDumpMap) -> Int {
      thread.array(.stack).reduce(0) { $0 + ($1.data(.regionData)?.count ?? 0) }
    }
    let sleeping = root.array(.threads).filter { $0.text(.threadName) == "sleeper" }
    #expect(sleeping.count == 50)
    for thread in sleeping {
      #expect((1024...2048).contains(stackBytes(thread)))
      #expect(thread.data(.floatingPointState).map { $0.count <= 528 } == true)
    }
    let crashing = try #require(IntermediateDumpMap(joining: root.all(.crashingThread)))
    #expect(stackBytes(crashing) > 16 << 10)
  }

  @Test func aSignalThatIsCapturedIfTheProgramAsksLeavesADumpAndEndsTheProcessAsEver() async throws
  {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSTKFLT)) { [database = database as String] in
      var options = HandlerOptions()
      options.signals.insert(.stackFault)
      try startHandler(database: database, options: options)
      // The test runs on a worker of libdispatch, which blocks the signal, so another thread gets it.
      kill(getpid(), SIGSTKFLT)
      sleep(30)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.map(.exception)?.signed(.signalNumber) == Int64(SIGSTKFLT))
  }

  @Test func cpuTimeIsThatOfTheCrashingThreadAloneOomScoreAdjIsWhatItWasAtTheCrash() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let before = try String(contentsOfFile: "/proc/self/oom_score_adj", encoding: .utf8)
    let adjustment = try #require(Int64(before.trimmingCharacters(in: .newlines)))
    // Raising the value needs no privilege.
    try #require(adjustment < 1000)
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      try "1000".write(toFile: "/proc/self/oom_score_adj", atomically: false, encoding: .utf8)
      // Another thread uses more CPU time than the crashing one.
      let other = Thread { _ = spendProcessorTime(200_000_000) }
      other.start()
      while !other.isFinished { usleep(1000) }
      let own = spendProcessorTime(50_000_000)
      SimpleAnnotations.set("own", "\(own)")
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.last(.oomScoreText)?.text(.oomScoreText) == "1000")
    let crashing = try #require(IntermediateDumpMap(joining: root.all(.crashingThread)))
    let time = try #require(crashing.unsigned(.threadProcessorTime))
    let own = root.array(.simpleAnnotations).first { $0.text(.annotationName) == "own" }
    let measured = try #require(own?.text(.annotationValue).flatMap { UInt64($0) })
    #expect(time >= measured)
    let usage = try #require(root.last(.resourceUsage)?.data(.resourceUsage))
    #expect(usage.count == MemoryLayout<rusage>.size)
    let numbers = (0..<4).map { index in
      usage.dropFirst(index * 8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    let user = numbers[0] * 1_000_000_000 + numbers[1] * 1000
    let system = numbers[2] * 1_000_000_000 + numbers[3] * 1000
    // The other thread's CPU time is part of the process's times, which are in microseconds, and not part of the
    // crashing thread's.
    #expect(time + 200_000_000 <= user + system + 2_000)
    #expect(root.array(.threads).allSatisfy { $0.unsigned(.threadProcessorTime) == nil })
  }

  @Test func aDumpSaysWhatTheProcessUsedAndWhatItsThreadsWaitedIn() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startSleepingThreads(1)
      while dup(0) < 200 {}
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.last(.limitsText)?.text(.limitsText)?.contains("Max open files") == true)
    #expect(try #require(root.last(.descriptorCount)?.unsigned(.descriptorCount)) > 190)
    #expect(try #require(root.last(.mappingCount)?.unsigned(.mappingCount)) > 20)
    let limit = try String(contentsOfFile: "/proc/sys/vm/max_map_count", encoding: .utf8)
    #expect(
      root.last(.mappingLimitText)?.text(.mappingLimitText)
        == limit.trimmingCharacters(in: .newlines))
    let arguments = try #require(root.last(.commandLine)?.data(.commandLine))
    #expect(arguments.contains(0))
    let sleeper = try #require(
      root.array(.threads).first { $0.text(.threadName) == "sleeper" })
    #expect(sleeper.signed(.niceValue) == 0)
    #expect(sleeper.unsigned(.schedulingPolicy) == 0)
    // arm64 has no system call pause; libc calls ppoll instead.
    #if arch(x86_64)
      #expect(sleeper.text(.systemCall)?.hasPrefix("34 ") == true)
    #endif
    let names = root.map(.linkMap)?.array(.linkEntries).compactMap { $0.text(.linkName) } ?? []
    #expect(names.contains { $0.contains("libc.so") })
    #expect(root.map(.linkMap)?.unsigned(.linkState) == 0)
  }

  @Test func argumentsAreLeftOutWhereTheProgramAsksSo() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      var options = HandlerOptions()
      options.capturesArguments = false
      try startHandler(database: database, options: options)
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.map(.process)?.data(.commandLine) == nil)
  }

  @Test func noByteOfTheStackIsInTheDumpTwice() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      print(writeDeep(2000))
    }
    let parts = try IntermediateDumpDocument(parsing: directory.onlyDump()).root.all(
      .crashingThread)
    #expect(parts.count == 2)
    let pieces = try parts.map { part in
      try part.array(.stack).map { region in
        let start = try #require(region.unsigned(.regionAddress))
        return start..<start + UInt64(region.data(.regionData)?.count ?? 0)
      }
    }
    // The top of the stack comes first, of which a part is flushed earlier, then the rest. Each piece starts
    // where the previous one ends.
    let top = pieces[0]
    #expect(top.map(\.count) == [8192, 57344])
    var end = try #require(top.first).lowerBound
    for piece in top + pieces[1] {
      #expect(piece.lowerBound == end)
      end = piece.upperBound
    }
    #expect(end - top[0].lowerBound > 100_000)
    #expect(parts[1].unsigned(.stackRegionEnd).map { $0 >= end } == true)
  }

  @Test func memoryThatRegistersPointToIsInTheDump() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      writeWithPointerInRegister()
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    let regions = root.array(.memory).compactMap { $0.data(.regionData) }
    let mark = Array("what the register pointed to".utf8)
    let hasMark = regions.contains { region in
      let bytes = Array(region)
      guard bytes.count >= mark.count else { return false }
      return (0...bytes.count - mark.count).contains { Array(bytes[$0..<$0 + mark.count]) == mark }
    }
    #expect(hasMark)
  }

  @Test func dispatchWorkersAreStoppedThoughTheyBlockRealTimeSignals() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startBusyDispatchWorker()
      writeTo(16)
    }
    let threads = try IntermediateDumpDocument(parsing: directory.onlyDump()).root.array(.threads)
    let workers = threads.filter { $0.text(.threadName)?.contains("qos") == true }
    #expect(!workers.isEmpty)
    for worker in workers { #expect(worker.unsigned(.captureMethod) == 2) }
  }

  @Test func threadsThatBlockEverySignalAreStoppedOrReadThroughTheKernel() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startDeafThreads()
      writeTo(16)
    }
    let threads = try IntermediateDumpDocument(parsing: directory.onlyDump()).root.array(.threads)
    let deaf = try #require(threads.first { $0.text(.threadName) == "deaf" })
    #expect(deaf.unsigned(.captureMethod) == 2)
    #expect(deaf.data(.generalRegisters) != nil)
    #expect(deaf.unsigned(.threadState) == UInt64(UInt8(ascii: "S")))
    let closed = try #require(threads.first { $0.text(.threadName) == "closed" })
    #expect(closed.unsigned(.captureMethod) == 4)
    let stackPointer = try #require(closed.unsigned(.threadStackPointer))
    let stack = try #require(closed.array(.stack).first)
    let start = try #require(stack.unsigned(.regionAddress))
    let size = try #require(stack.data(.regionData)?.count)
    #expect(start <= stackPointer)
    #expect(stackPointer < start + UInt64(size))
  }

  @Test func manyThreadsThatCrashAtOnceLeaveOneDump() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startCrashingThreads(64)
      crashTogether.store(true, ordering: .releasing)
      while true { pause() }
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.map(.exception)?.unsigned(.faultAddress) == 16)
    // The threads that crashed later are shown where they crashed, not where they waited.
    for thread in root.array(.threads) where thread.unsigned(.captureMethod) == 3 {
      let registers = try #require(thread.data(.generalRegisters))
      let crashed = try #require(root.map(.crashingThread)?.data(.generalRegisters))
      #if arch(x86_64)
        let instructionPointer = 16 * 8..<17 * 8
      #else
        let instructionPointer = 32 * 8..<33 * 8
      #endif
      #expect(Array(registers)[instructionPointer] == Array(crashed)[instructionPointer])
    }
  }

  @Test func theEnvironmentIsNotInTheDump() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let secret = try #require(ProcessInfo.processInfo.environment["PATH"])
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      // The main thread crashes, whose stack ends with the environment's strings; a register points to them, too.
      writeTo(16, UInt(bitPattern: unsafe environ))
    }
    let dump = try Data(directory.onlyDump())
    #expect(dump.range(of: Data(secret.utf8)) == nil)
  }
}
