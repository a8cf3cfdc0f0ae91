import CSignalSafe
import CrashTestSupport
import Dispatch
import Foundation
import IntermediateDump
import PendingDumps
import Synchronization
import Testing

@testable import CrashHandler

/// Crashes in processes of their own; what they left is read here.
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
      root.last(.mappingLimit)?.unsigned(.mappingLimit)
        == UInt64(limit.trimmingCharacters(in: .newlines)))
    let arguments = try #require(root.last(.commandLine)?.data(.commandLine))
    #expect(arguments.contains(0))
    let sleeper = try #require(
      root.array(.threads).first { $0.text(.threadName) == "sleeper" })
    #expect(sleeper.signed(.niceValue) == 0)
    #expect(sleeper.unsigned(.schedulingPolicy) == 0)
    // pause(2) has no number on arm64, where ppoll stands for it.
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
    // The top alone, of which some is flushed first; then the rest. Each begins where the last ended.
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

  @Test func aThreadThatBlocksEverySignalIsReadThroughTheKernel() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      startDeafThread()
      writeTo(16)
    }
    let threads = try IntermediateDumpDocument(parsing: directory.onlyDump()).root.array(.threads)
    let deaf = try #require(threads.first { $0.text(.threadName) == "deaf" })
    #expect(deaf.unsigned(.captureMethod) == 4)
    let stackPointer = try #require(deaf.unsigned(.threadStackPointer))
    let stack = try #require(deaf.array(.stack).first)
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
      crashNow.store(true, ordering: .releasing)
      while true { pause() }
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.map(.exception)?.unsigned(.faultAddress) == 16)
    // Those that came second are shown where they crashed, not where they waited.
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
      // On the main thread, whose stack ends in the environment's strings; a register points at
      // them, too.
      writeTo(16, UInt(bitPattern: unsafe environ))
    }
    let dump = try Data(directory.onlyDump())
    #expect(dump.range(of: Data(secret.utf8)) == nil)
  }

  @Test func aForkedChildLeavesAReportOfItsOwnAndItsParentToo() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      forkAndWait { writeTo(16) }
      // The first child's own child: it has inherited a handler that was made for a parent's parent.
      forkAndWait { forkAndWait { writeTo(24) } }
      writeTo(32)
    }
    let dumps = try directory.finishedDumps().map { try IntermediateDumpDocument(parsing: $0) }
    #expect(dumps.count == 3)
    #expect(dumps.compactMap(\.damage).isEmpty)
    let addresses = dumps.compactMap { $0.root.map(.exception)?.unsigned(.faultAddress) }
    #expect(Set(addresses) == [16, 24, 32])
    // Each says its own process, and the report ID that its file is named with.
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
    let resources = try #require(root.last(.mappingCount))
    for key in [IntermediateDumpKey.memoryUsed, .memoryLimit, .tasksUsed, .tasksLimit] {
      #expect(resources.unsigned(key) != 12345)
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
    // Read from /proc, since there is no signal to stop them with.
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
}

// MARK: - What the victims do

private let crashNow = Atomic(false)

@inline(never)
private func writeTo(_ address: UInt, _ value: UInt = 4) {
  let pointer = unsafe UnsafeMutableRawPointer(bitPattern: address)
  unsafe pointer?.storeBytes(of: value, as: UInt.self)
}

/// So many frames down; each takes some 100 bytes.
@inline(never)
private func writeDeep(_ depth: Int) -> Int {
  if depth == 0 { writeTo(16) }
  return depth > 0 ? writeDeep(depth - 1) &+ depth : 0
}

/// Faults in memcpy, with the source's address in a register.
private func writeWithPointerInRegister() {
  let text = "what the register pointed to"
  let place = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
  unsafe place.copyMemory(from: text, byteCount: text.utf8.count)
  unsafe memcpy(UnsafeMutableRawPointer(bitPattern: 16)!, place, 1024)
}

/// Closes everything and opens a file under the numbers that were ours.
private func takeAllDescriptors(for path: String) {
  for descriptor in Int32(3)..<1024 { close(descriptor) }
  for _ in 0..<32 { _ = unsafe open(path, O_RDWR | O_CREAT, 0o600) }
}

/// fork(2), which Swift does not import; the child does `body` and ends with `_exit`.
private func forkAndWait(_ body: () -> Void) {
  typealias Fork = @convention(c) () -> Int32
  let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
  let child = fork()
  if child == 0 {
    body()
    _exit(0)
  }
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
}

/// Sits in a section that never ends, as the capturing thread, until the timer ends it.
private func hangInSection() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.owner.store(UInt32(bitPattern: pm_gettid()))
  let timer = capture.session.time.timer
  #expect(timer >= 0)
  let hanging: @convention(c) (UnsafeMutableRawPointer) -> Void = { _ in
    while true { pause() }
  }
  // As the handler does: this is a worker of libdispatch, which blocks the watchdog's signal.
  unblock(capture.installed.signals.capture)
  capture.session.hasFaultStack = true
  for _ in 0..<2 {
    capture.session.time.phase = .sections
    arm(capture, milliseconds: 20)
    let result = unsafe capture.session.landingPads.runSection(hanging, capture)
    let expected = capture.installed.signals.watchdog
    #expect(result == expected)
  }
  arm(capture, milliseconds: 0)
  // Over, where this thread got no processor until the next tick, which ends the last part too.
  #expect(capture.session.time.isCut || capture.session.time.isOver)
}

private typealias ThreadBody =
  @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

private let namedThreads = Atomic(0)

/// Returns when the thread has named itself.
private func startThread(_ body: ThreadBody) {
  let before = namedThreads.load(ordering: .acquiring)
  var thread = pthread_t()
  unsafe pthread_create(&thread, nil, body, nil)
  while namedThreads.load(ordering: .acquiring) == before { sched_yield() }
}

/// The overlay has no pthread_setname_np.
private func nameThread(_ name: String) {
  let path = "/proc/self/task/\(pm_gettid())/comm"
  let descriptor = unsafe open(path, O_WRONLY)
  _ = unsafe write(descriptor, name, name.utf8.count)
  close(descriptor)
  namedThreads.add(1, ordering: .releasing)
}

private func startSleepingThreads(_ count: Int) {
  for _ in 0..<count {
    unsafe startThread { _ in
      nameThread("sleeper")
      while true { pause() }
    }
  }
}

private func startDeafThread() {
  unsafe startThread { _ in
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
    nameThread("deaf")
    while true { pause() }
  }
}

/// The soft limit only, as `ulimit -S -f` sets it.
private func setFileSizeLimit(_ bytes: UInt) {
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(1), &limit)
  limit.rlim_cur = bytes
  unsafe setrlimit(__rlimit_resource_t(1), &limit)
}

private func startCrashingThreads(_ count: Int) {
  for _ in 0..<count {
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { _ in
        while !crashNow.load(ordering: .acquiring) { sched_yield() }
        writeTo(16)
        return nil
      }, nil)
  }
}

private func startBusyDispatchWorker() {
  let started = DispatchSemaphore(value: 0)
  DispatchQueue.global().async {
    started.signal()
    while true { sched_yield() }
  }
  started.wait()
}

/// Runs sections as the capturing thread would, one good and two that fault.
private func runSections() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.owner.store(UInt32(bitPattern: pm_gettid()))
  var word: UInt64 = 0
  let good: @convention(c) (UnsafeMutableRawPointer) -> Void = { argument in
    unsafe argument.storeBytes(of: 1, as: UInt64.self)
  }
  let faulting: @convention(c) (UnsafeMutableRawPointer) -> Void = { _ in writeTo(16) }
  let pad = unsafe capture.session.landingPads.section
  var result = unsafe pm_run_section(pad, good, &word)
  #expect(result == 0)
  #expect(word == 1)
  for _ in 0..<2 {
    result = unsafe pm_run_section(pad, faulting, &word)
    #expect(result == SIGSEGV)
  }
}

/// Copies from three pages, the middle one of which cannot be read, without the system call.
private func copyGuarded() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.owner.store(UInt32(bitPattern: pm_gettid()))
  let pages = unsafe mmap(
    nil, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
  capture.session.hasFaultStack = true
  unsafe memset(pages, 0x5A, 3 * 4096)
  unsafe mprotect(pages + 4096, 4096, PROT_NONE)
  let memory = capture.memory
  let place = UnsafeMutableRawPointer.allocate(byteCount: 8192, alignment: 16)
  defer { unsafe place.deallocate() }
  var copied = unsafe memory.copyGuarded(pages + 4000, to: place, count: 200)
  #expect(copied == 96)
  copied = unsafe memory.copyGuarded(pages + 4096, to: place, count: 8)
  #expect(copied == 0)
  copied = unsafe memory.copyGuarded(pages + 8192, to: place, count: 4096)
  #expect(copied == 4096)
  let isWhole = unsafe memcmp(place, pages + 8192, 4096) == 0
  #expect(isWhole)
}
