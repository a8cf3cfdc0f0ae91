import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PendingDumps

@Suite struct FileLockSearchTests {
  private static let locks = """
    1: FLOCK  ADVISORY  WRITE 700 08:02:131 0 EOF
    1: -> FLOCK  ADVISORY  WRITE 500 08:02:131 0 EOF
    2: POSIX  ADVISORY  WRITE 701 08:02:131 0 EOF
    2: -> POSIX  ADVISORY  READ  500 08:02:131 0 EOF
    2:  -> POSIX  ADVISORY  READ  501 08:02:131 0 EOF
    3: OFDLCK ADVISORY  WRITE -1 08:02:132 0 EOF
    3: -> POSIX  ADVISORY  WRITE 500 08:02:132 0 EOF
    4: FLOCK  ADVISORY  READ  702 08:02:133 0 EOF
    5: FLOCK  ADVISORY  READ  703 08:03:133 0 EOF
    4: -> FLOCK  ADVISORY  WRITE 500 08:02:133 0 EOF
    5: -> FLOCK  ADVISORY  WRITE 500 08:03:133 0 EOF
    6: LEASE  ACTIVE    READ  704 08:02:134 0 EOF
    7: FLOCK  ADVISORY  WRITE 0 08:02:135 0 EOF
    7: -> FLOCK  ADVISORY  WRITE 500 08:02:135 0 EOF

    """

  private func holder(_ inode: UInt64, flock: Bool, of processID: UInt32 = 500) -> FileLockWait? {
    FileLockSearch.waits(
      of: [.init(threadID: 7, inode: inode, isOfFlock: flock)], processID, locks: Self.locks
    ) { "name \($0)" }.first
  }

  @Test func theHolderOfTheLockThatIsWaitedForIsFound() {
    #expect(
      holder(131, flock: true) == FileLockWait(threadID: 7, holder: 700, holderName: "name 700"))
    #expect(holder(131, flock: false)?.holder == 701)
    // A wait behind another wait.
    #expect(holder(131, flock: false, of: 501)?.holder == 701)
  }

  @Test func nobodyIsGuessed() {
    // The lock of an open file description, two files with one number, a holder in another PID namespace, another
    // process that waits, and a lock that nobody waits for.
    #expect(holder(132, flock: false) == nil)
    #expect(holder(133, flock: true) == nil)
    #expect(holder(135, flock: true) == nil)
    #expect(holder(131, flock: true, of: 502) == nil)
    #expect(holder(134, flock: true) == nil)
  }

  /// The kernel's own files, read in a process of which one thread waits for a lock that the process itself holds.
  @Test func aThreadOfThisProcessThatWaitsIsFound() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/lock"
    let first = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(first) }
    try #require(first >= 0 && flock(first, LOCK_EX) == 0)
    #expect(FileLockSearch.waits(of: "self").isEmpty)
    let thread = Thread {
      let second = unsafe open(path, O_RDWR | O_CLOEXEC)
      flock(second, LOCK_EX)
      close(second)
    }
    thread.start()
    var found: [FileLockWait] = []
    let end = ContinuousClock.now + .seconds(60)
    while found.isEmpty, ContinuousClock.now < end {
      usleep(1000)
      found = FileLockSearch.waits(of: "self")
    }
    #expect(found.map(\.holder) == [UInt32(getpid())])
    #expect(found.first.map { $0.threadID != UInt32(getpid()) } == true)
    flock(first, LOCK_UN)
    while !thread.isFinished { usleep(1000) }
  }
}
