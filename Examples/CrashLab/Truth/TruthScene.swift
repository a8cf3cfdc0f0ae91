internal import CCrashLab
internal import CSignalSafe
internal import Glibc
internal import Postmortem
internal import Synchronization

/// A program of the truth table: small services that wait for each other in a known way.
///
/// The words of the scenes are the numbers of the table's programs; numbers from 101 on are not in the table.
struct TruthScene: Subcommand {
  private enum Manner: String, CaseIterable {
    /// Waits until another process ends it.
    case waits
    /// The main thread has a hang monitor, and does not answer it.
    case watched
    /// Takes a dump that stops the threads.
    case dumps
  }

  private let play: @Sendable () -> Void
  private let manner: Manner
  private let database: String

  private static let scenes: [String: @Sendable () -> Void] = [
    "1": ThreadScenes.crossedLocks, "2": ThreadScenes.ring,
    "3": ThreadScenes.crossedLocksWithWaiters, "4": ThreadScenes.computingOwner,
    "5": ThreadScenes.crossedReadWriteLocks, "6": ThreadScenes.sleepingReader,
    "7": ThreadScenes.lockTwice, "8": ThreadScenes.lostSignal, "9": QueueScenes.crossedQueues,
    "10": QueueScenes.mainQueue, "11": QueueScenes.takenSemaphore,
    "12": QueueScenes.openGroup, "13": TaskScenes.occupiedActor, "14": TaskScenes.fullPool,
    "15": TaskScenes.leakedContinuations, "16": TaskScenes.stuckChild,
    "17": ProcessScenes.lockedFile, "18": ProcessScenes.childWithLock,
    "19": ProcessScenes.silentPeer, "20": ProcessScenes.slowDisk, "21": ThreadScenes.convoy,
    "23": { ThreadScenes.limitedCycle(writes: true) },
    "24": { ThreadScenes.limitedCycle(writes: false) }, "25": ProcessScenes.lockOfChild,
    "26": ProcessScenes.lockOfOtherNamespace, "27": ThreadScenes.crossedLocks,
    "28": ThreadScenes.crossedLocks,
    "29": ThreadScenes.lazyGlobals, "30": ThreadScenes.manyWaiters,
    "31": ThreadScenes.endedOwner, "32": ProcessScenes.lockOfParent,
    "33": TaskScenes.crossedTasks, "34": TaskScenes.blockedMainActor,
    "36": TaskScenes.manyTasks, "37": TaskScenes.sleepers, "38": TaskScenes.namedTasks,
    "101": ThreadScenes.nestedWait, "102": ThreadScenes.missingPeer,
    "103": ThreadScenes.robustLockTwice, "104": QueueScenes.itemThatWaitsForItself,
    "105": ProcessScenes.fullPipes, "106": TaskScenes.sleepingChild,
    "107": TaskScenes.readingMainActor, "108": TaskScenes.computingActor,
    "109": ProcessScenes.mainWaitsForChild, "110": ProcessScenes.mainReadsWithLock,
    "111": ThreadScenes.crossedSemaphores, "112": { crashlab_cross_statics() },
  ]

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("NUMBER", "MANNER")
    guard
      let play = Self.scenes[words[0]] ?? ObjectScenes.all[words[0]] ?? FaultScenes.all[words[0]]
        ?? HiddenScenes.all[words[0]]
    else { throw UsageError("unknown program \(words[0])") }
    self.play = play
    manner = try Arguments.choice(words[1])
    database = try arguments.database
  }

  func run() throws {
    let handler = CrashLab.start(database)
    play()
    Truth.waitUntilBlocked()
    say("blocked")
    if manner == .dumps {
      try handler.dumpWithoutCrash(stopsThreads: true)
      exit(0)
    }
    if manner == .watched {
      let options = HangMonitor.Options(threshold: .milliseconds(300))
      try HangMonitor.heartbeat(name: "truth", options: options).heartbeat()
    }
    Truth.end()
  }
}

/// What the programs of the truth table share.
enum Truth {
  /// Lets threads wait until others have taken their locks.
  struct Gate: ~Copyable {
    private let count = Atomic(0)

    func open() { count.add(1, ordering: .releasing) }
    func wait(for wanted: Int) {
      while count.load(ordering: .acquiring) < wanted { usleep(1000) }
    }
  }

  static let gate = Gate()
  /// The ID of a thread, for programs that need it; 0 if it is not known yet.
  static let ownID = Atomic<Int32>(0)
  /// True as long as endless loops run.
  static let runs = Atomic(true)
  private static let expected = Atomic(0)
  private static let waiters = Mutex<[String]>([])
  /// The rest of the main thread's work, such as a wait in the program.
  static let mainWork = Mutex<(@Sendable () -> Void)?>(nil)

  /// Starts a thread that calls `note` before it waits.
  static func start(_ body: @escaping @Sendable () -> Void) {
    expected.add(1, ordering: .relaxed)
    Thread.start(body)
  }

  /// Records the current thread, which is about to wait.
  static func note() {
    waiters.withLock { $0.append("self/task/\(pm_gettid())") }
  }

  /// Waits until so many threads hold their locks.
  static func meet(_ count: Int) {
    gate.open()
    gate.wait(for: count)
    note()
  }

  /// Returns once `/proc` shows each recorded thread asleep twice.
  static func waitUntilBlocked() {
    let wanted = expected.load(ordering: .relaxed)
    while waiters.withLock({ $0.count }) < wanted { usleep(1000) }
    while !waiters.withLock({ $0 }).allSatisfy(isAsleep) { usleep(5000) }
    usleep(50_000)
  }

  private static func isAsleep(_ thread: String) -> Bool {
    guard let file = unsafe fopen("/proc/\(thread)/stat", "r") else { return false }
    defer { unsafe fclose(file) }
    var state: CChar = 0
    return unsafe withUnsafeMutablePointer(to: &state) { place in
      unsafe withVaList([place]) { unsafe vfscanf(file, "%*d (%*[^)]) %c", $0) }
    } == 1 && state == CChar(UInt8(ascii: "S"))
  }

  static func pipe() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else { exit(EX_OSERR) }
    return (ends[0], ends[1])
  }

  static func readFromSilentPeer() {
    var pair: (Int32, Int32) = (0, 0)
    var byte: UInt8 = 0
    _ = unsafe withUnsafeMutableBytes(of: &pair) { bytes in
      unsafe socketpair(
        AF_UNIX, Int32(SOCK_STREAM.rawValue), 0,
        bytes.baseAddress?.assumingMemoryBound(to: Int32.self))
    }
    _ = unsafe read(pair.0, &byte, 1)
  }

  /// Waits in a forked child until its parent has ended.
  static func idleInChild() -> Never {
    let parent = getppid()
    while getppid() == parent { usleep(100_000) }
    _exit(0)
  }

  static func end() -> Never {
    mainWork.withLock { $0 }?()
    waitForEver()
  }
}
