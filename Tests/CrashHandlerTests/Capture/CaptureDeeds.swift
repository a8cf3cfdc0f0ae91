import CSignalSafe
import Dispatch
import Foundation
import IntermediateDump
import PendingDumps
import Synchronization
import Testing

@testable import CrashHandler

// Functions that the processes of `CaptureTests` and `CaptureConditionTests` run to crash.

let crashTogether = Atomic(false)

@inline(never)
func writeTo(_ address: UInt, _ value: UInt = 4) {
  let pointer = unsafe UnsafeMutableRawPointer(bitPattern: address)
  unsafe pointer?.storeBytes(of: value, as: UInt.self)
}

/// Crashes after a number of nested calls, each with a frame of some 100 bytes.
@inline(never)
func writeDeep(_ depth: Int) -> Int {
  if depth == 0 { writeTo(16) }
  return depth > 0 ? writeDeep(depth - 1) &+ depth : 0
}

/// Faults in memcpy while a register has the address of the source.
func writeWithPointerInRegister() {
  let text = "what the register pointed to"
  let place = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 4096)
  unsafe place.copyMemory(from: text, byteCount: text.utf8.count)
  unsafe memcpy(UnsafeMutableRawPointer(bitPattern: 16)!, place, 1024)
}

/// Closes all descriptors, and opens a file under the numbers that were the handler's.
func takeAllDescriptors(for path: String) {
  for descriptor in Int32(3)..<1024 { close(descriptor) }
  for _ in 0..<32 { _ = unsafe open(path, O_RDWR | O_CREAT, 0o600) }
}

/// Calls fork(2), which Swift does not import; the child runs `body` and ends with `_exit`.
func forkAndWait(_ body: () -> Void) {
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

/// Runs a section that never ends, as the capturing thread, until the timer ends it.
func hangInSection() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.capturingThread.store(UInt32(bitPattern: pm_gettid()))
  let timer = capture.session.time.timer
  #expect(timer >= 0)
  let hanging: @convention(c) (UnsafeMutableRawPointer) -> Void = { _ in
    while true { pause() }
  }
  // As in the handler: this is a worker of libdispatch, which blocks the watchdog's signal.
  SignalMask.unblock(capture.installed.signals.faults | capture.tick)
  capture.session.hasFaultStack = true
  for _ in 0..<2 {
    capture.session.time.phase = .sections
    capture.armTimer(milliseconds: 20)
    let result = unsafe pm_run_section(
      capture.session.recoveryPoints.section, hanging, capture.argument)
    let expected = capture.installed.signals.watchdog
    #expect(result == expected)
  }
  capture.disarmTimer()
  // The time is over if this thread did not run until the next tick, which ends the last part, too.
  #expect(capture.session.time.isCut || capture.session.time.isOver)
}

typealias ThreadBody =
  @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

private let namedThreads = Atomic(0)

/// Starts a thread, and returns when it has set its name.
func startThread(_ body: ThreadBody) {
  let before = namedThreads.load(ordering: .acquiring)
  var thread = pthread_t()
  unsafe pthread_create(&thread, nil, body, nil)
  while namedThreads.load(ordering: .acquiring) == before { sched_yield() }
}

/// Writes the thread's name to /proc, because Swift's overlay lacks pthread_setname_np.
func nameThread(_ name: String) {
  let path = "/proc/self/task/\(pm_gettid())/comm"
  let descriptor = unsafe open(path, O_WRONLY)
  _ = unsafe write(descriptor, name, name.utf8.count)
  close(descriptor)
  namedThreads.add(1, ordering: .releasing)
}

func startSleepingThreads(_ count: Int) {
  for _ in 0..<count {
    unsafe startThread { _ in
      nameThread("sleeper")
      while true { pause() }
    }
  }
}

/// Starts a thread that blocks all signals that libc allows it to block, and one that blocks all signals by a
/// direct system call.
func startDeafThreads() {
  unsafe startThread { _ in
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
    nameThread("deaf")
    while true { pause() }
  }
  unsafe startThread { _ in
    SignalMask.set(.max)
    nameThread("closed")
    while true { pause() }
  }
}

/// Sets only the soft limit, like `ulimit -S -f`.
func setFileSizeLimit(_ bytes: UInt) {
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(1), &limit)
  limit.rlim_cur = bytes
  unsafe setrlimit(__rlimit_resource_t(1), &limit)
}

func startCrashingThreads(_ count: Int) {
  for _ in 0..<count {
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { _ in
        while !crashTogether.load(ordering: .acquiring) { sched_yield() }
        writeTo(16)
        return nil
      }, nil)
  }
}

func startBusyDispatchWorker() {
  let started = DispatchSemaphore(value: 0)
  DispatchQueue.global().async {
    started.signal()
    while true { sched_yield() }
  }
  started.wait()
}

/// Runs three sections like the capturing thread: one that succeeds and two that fault.
func runSections() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.capturingThread.store(UInt32(bitPattern: pm_gettid()))
  var word: UInt64 = 0
  let good: @convention(c) (UnsafeMutableRawPointer) -> Void = { argument in
    unsafe argument.storeBytes(of: 1, as: UInt64.self)
  }
  let faulting: @convention(c) (UnsafeMutableRawPointer) -> Void = { _ in writeTo(16) }
  let point = unsafe capture.session.recoveryPoints.section
  var result = unsafe pm_run_section(point, good, &word)
  #expect(result == 0)
  #expect(word == 1)
  for _ in 0..<2 {
    result = unsafe pm_run_section(point, faulting, &word)
    #expect(result == SIGSEGV)
  }
}

/// Copies from three pages, the middle one unreadable, without the system call.
func copyGuarded() throws {
  let capture = try #require(Capture.ofHandler)
  capture.shared.capturingThread.store(UInt32(bitPattern: pm_gettid()))
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

/// Reads resident pages next to absent ones: untouched, inaccessible, and of a file.
func readAbsentPages() throws {
  let capture = try #require(Capture.ofHandler)
  capture.openResidentPages()
  try #require(capture.session.resident.isOpen)
  let size = 4 * 4096
  let pages = unsafe mmap(
    nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
  unsafe memset(pages, 0x5A, 4096)
  unsafe memset(pages + 2 * 4096, 0x5A, 4096)
  unsafe mprotect(pages + 3 * 4096, 4096, PROT_NONE)
  let start = UInt64(UInt(bitPattern: pages))
  let resident = capture.session.resident
  #expect(resident.run(start, count: size) == (4096, true))
  #expect(resident.run(start + 4096 + 100, count: size) == (3996, false))
  #expect(resident.run(start + 2 * 4096, count: 4096) == (4096, true))
  #expect(capture.memory.countAtHand(start + 2 * 4096, count: 4096) == 4096)
  #expect(capture.memory.countAtHand(start + 2 * 4096 + 8, count: 4096) == 4088)
  #expect(capture.memory.countAtHand(start + 4096, count: 8) == 0)
  #expect(capture.memory.countAtHand(0x8000_0000_0000_0000, count: 8) == 0)

  func copied(_ address: UInt64, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xFF, count: count)
    let copied = unsafe bytes.withUnsafeMutableBytes {
      unsafe capture.memory.copy(address, to: $0.baseAddress!, count: count)
    }
    return Array(bytes[..<copied])
  }

  let filled = [UInt8](repeating: 0x5A, count: 4096)
  // The access rights are unknown before the mappings are read.
  #expect(copied(start, size) == filled)
  unsafe pm_read_mappings(capture.argument)
  // The copy stops at the inaccessible page; the system call would ignore the access rights.
  #expect(copied(start, size) == filled + [UInt8](repeating: 0, count: 4096) + filled)
  let path = try #require(CommandLine.arguments.first)
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
  let mapped = unsafe mmap(nil, 1 << 20, PROT_READ, MAP_PRIVATE, file, 0)!
  // Keeps the kernel from mapping the pages around a touched page.
  unsafe madvise(mapped, 1 << 20, MADV_RANDOM)
  unsafe pm_read_mappings(capture.argument)
  let place = UInt64(UInt(bitPattern: mapped))
  #expect(capture.memory.countAtHand(place, count: 4096) == 0)
  #expect(copied(place, 4) == Array("\u{7F}ELF".utf8))
  #expect(capture.memory.countAtHand(start, count: 4096) == 4096)
  capture.closeResidentPages()
  #expect(!capture.session.resident.isOpen)
  // Only the mappings' rights count now.
  #expect(capture.memory.countAtHand(place, count: 4096) == 4096)
  #expect(capture.memory.countAtHand(start + 100, count: size) == 3 * 4096 - 100)
  #expect(capture.memory.countAtHand(start + 3 * 4096, count: 8) == 0)
}

/// Computes until the calling thread has used a number of additional nanoseconds of CPU time; returns the total
/// that it has used.
func spendProcessorTime(_ nanoseconds: UInt64) -> UInt64 {
  func used() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
  let start = used()
  while used() < start + nanoseconds {}
  return used()
}
