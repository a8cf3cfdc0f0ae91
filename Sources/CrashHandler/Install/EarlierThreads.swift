internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// Gives alternate stacks to the threads that exist when the handler starts.
///
/// A thread can set only its own alternate stack. So each thread is sent the stop signal or SIGPROF, and the handler
/// for that signal sets the stack. SIGPROF is for the worker threads of libdispatch and Swift concurrency, which block
/// the stop signal but not SIGPROF. A thread that blocks both signals gets no stack. System calls that the kernel never
/// restarts after a signal, such as `nanosleep` and `poll`, end with EINTR.
///
/// Not crash code. Source: proc_pid_status(5), signal(7) "Interruption of system calls".
@safe
struct EarlierThreads {
  /// The maximum time, in milliseconds, to find threads, and then to wait for their answers.
  ///
  /// A thread that has not answered in time gets no alternate stack.
  private static let (lookTime, answerTime): (UInt64, UInt64) = (1000, 1000)
  /// How many times, at intervals of 0.2 ms, threads in which libc blocks all signals are checked again.
  private static let checksOfBlockedThreads = 1000

  private let capture: Capture
  private let offers: StackOffers
  private var deadline: UInt64 = 0
  private var done: Set<Int32> = []
  private var stacks: [AlternateStack] = []
  private var profile = Shared.TakenAction()

  /// Offers a stack to each thread that can be sent a signal; returns when each of these threads has answered or
  /// ended, or has not answered in time.
  static func giveStacks(_ capture: Capture) {
    // A thread takes its stack in the stop handler. Without a real-time stop signal, this handler is not installed, not
    // even for SIGPROF.
    guard capture.installed.signals.stop != 0 else { return }
    var threads = EarlierThreads(capture)
    threads.find()
    threads.waitForAnswers()
    threads.settle()
  }

  private init(_ capture: Capture) {
    self.capture = capture
    offers = capture.shared.stackOffers
    done = [pm_gettid()]
  }

  private mutating func setDeadline(milliseconds: UInt64) {
    deadline = pm_monotonic_clock() + milliseconds * 1_000_000
  }

  private var isOver: Bool { pm_monotonic_clock() >= deadline }

  private func pause() {
    var time = timespec(tv_sec: 0, tv_nsec: 200_000)
    _ = unsafe nanosleep(&time, nil)
  }

  // MARK: - Offering

  /// Lists the threads repeatedly, until there is neither a new thread nor one in which libc blocks all signals.
  ///
  /// The search also ends after `checksOfBlockedThreads` lists in a row without a new thread, or when the time is over.
  private mutating func find() {
    setDeadline(milliseconds: Self.lookTime)
    // A pthread_create call that began before new threads got alternate stacks may still be creating a thread without
    // one. The kernel may list that thread only when the call is done, so this loop waits for such calls.
    while pm_plain_creations() != 0, !isOver { pause() }
    var rounds = 0
    while rounds < Self.checksOfBlockedThreads, !isOver {
      let (new, closed) = lookAtAll()
      if new == 0, closed == 0 { return }
      rounds = new == 0 ? rounds + 1 : 0
      pause()
    }
  }

  /// Examines each thread that no earlier call has examined, and offers it an alternate stack by a signal.
  ///
  /// A thread that blocks signal 32 is only counted, and the next call examines it again. A program cannot block signal
  /// 32 through libc, but libc itself blocks it for a moment in pthread_create and similar functions.
  private mutating func lookAtAll() -> (new: Int, closed: Int) {
    var (new, closed) = (0, 0)
    guard let directory = unsafe opendir("/proc/self/task") else { return (0, 0) }
    defer { unsafe closedir(directory) }
    // Without a deadline, this loop would never end if threads with higher IDs were created faster than it lists
    // them.
    while !isOver, let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let thread = Int32(digits: name[...]), !done.contains(thread) else { continue }
      let blocked = blockedSignals(of: thread)
      if let blocked, SignalMask.has(blocked, 32) {
        closed += 1
        continue
      }
      new += 1
      done.insert(thread)
      if let blocked { offer(to: thread, blocked) }
    }
    return (new, closed)
  }

  private mutating func offer(to thread: Int32, _ blocked: UInt64) {
    guard hasRoom(thread), let signal = signal(openIn: blocked) else { return }
    guard let stack = stacks.popLast() ?? AlternateStack.make() else {
      ThreadStack.refused.add(1, ordering: .relaxed)
      return
    }
    guard offers.add(thread, base: UInt64(stack.base)) else {
      stacks.append(stack)
      return
    }
    _ = pm_tgkill(capture.shared.process.id, thread, signal)
  }

  /// True if the thread's current stack has room for a signal frame; if not, the thread is sent no signal.
  private func hasRoom(_ thread: Int32) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { buffer in
      guard let place = buffer.baseAddress else { return false }
      let room = ThreadRoom(frameSize: capture.installed.signals.frameSize)
      let scratch = unsafe Scratch(place, size: buffer.count)
      let count = unsafe capture.proc.readTask(
        thread, "syscall", into: place, capacity: buffer.count)
      let call = SystemCallPlace(scratch.text(count: count))
      // If a thread's alternate stack is too small, the thread runs the signal handler on an entry stack, of which
      // there are `PM_ENTRY_STACKS`. Each thread that has not answered may be using one. So an entry stack counts as
      // free only while the number of these threads is less than half the number of entry stacks.
      let waiting = offers.count.value - offers.answers.value
      return ThreadRoom.isSure(of: thread)
        || room.suffices(
          on: thread, in: call, hasEntryStack: waiting < PM_ENTRY_STACKS / 2)
    }
  }

  /// Returns the signals that a thread blocks; nil for io_uring's workers, or if the file cannot be read.
  ///
  /// The file is read with the functions of crash code, because code that uses `String` would take too long.
  private func blockedSignals(of thread: Int32) -> UInt64? {
    unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
      guard let place = buffer.baseAddress else { return nil }
      let file = capture.proc
      let count = unsafe file.readTask(thread, "status", into: place, capacity: buffer.count)
      var scanner = unsafe Bytes(place, count: count).text
      // io_uring's workers (`iou-...`) are skipped, because they run no code of the program, and block all signals
      // permanently.
      guard scanner.find("Name:"), !scanner.matches("iou-"), scanner.find("SigBlk:") else {
        return nil
      }
      return scanner.hexadecimal()
    }
  }

  private mutating func signal(openIn mask: UInt64) -> Int32? {
    let signals = capture.installed.signals
    if signals.stop != 0, !SignalMask.has(mask, signals.stop) { return signals.stop }
    guard !SignalMask.has(mask, SIGPROF), profile.take(SIGPROF, for: signals) else { return nil }
    return SIGPROF
  }

  // MARK: - Answers

  private mutating func waitForAnswers() {
    setDeadline(milliseconds: Self.answerTime)
    while !isOver {
      let answers = offers.answers.value
      if answers >= offers.count.value { return }
      // Threads that have ended cannot answer, so they are not waited for.
      if !(0..<Int(offers.count.value)).contains(where: isAwaited) { return }
      offers.answers.wait(while: answers, milliseconds: 10)
    }
  }

  private func isAwaited(_ index: Int) -> Bool {
    offers.state(index).value == StackOffers.State.offered
      && Self.exists(offers.threadID(index))
  }

  fileprivate static func exists(_ thread: Int32) -> Bool {
    pm_tgkill(pm_getpid(), thread, 0) != -Int(ESRCH)
  }

  /// Withdraws the offers that were not answered, and records which threads took a stack.
  private mutating func settle() {
    var taken: [Given] = []
    var free = stacks
    for index in 0..<Int(offers.count.value) {
      let stack = AlternateStack(base: UInt(offers.base(index)))
      let result = offers.state(index).exchange(
        expected: StackOffers.State.offered, desired: StackOffers.State.withdrawn)
      if result == StackOffers.State.taken {
        taken.append(Given(thread: offers.threadID(index), stack: stack))
      } else {
        free.append(stack)
      }
    }
    for stack in free { stack.unmap() }
    let all = Account(processID: pm_getpid(), given: taken)
    Self.account.withLock { $0 = all }
    Self.hasGiven.store(true, ordering: .releasing)
    profile.giveBack(
      SIGPROF, capture.installed.signals, isPending: offers.answers.value < offers.count.value)
  }

  // MARK: - Afterwards

  private struct Given {
    let thread: Int32
    let stack: AlternateStack
  }

  private struct Account {
    var processID: Int32 = 0
    var given: [Given] = []
    /// The index in `given` of the entry that `reuse` examined last.
    var next = 0
  }

  private static let account = Mutex(Account())
  /// True if `giveStacks` has offered stacks to threads; false, for example, if the process had only one thread when
  /// the handler started.
  ///
  /// If this is false, new threads do not touch `account`, because its first use allocates metadata.
  private static let hasGiven = Atomic<Bool>(false)

  /// Examines one earlier thread, and returns its stack if the thread has ended; nil if the thread still exists, if
  /// there is no thread to examine, or if another call is examining a thread.
  ///
  /// Each call examines only the next entry, so a thread that needs a stack makes only a few system calls for this. If
  /// a new thread has the ended thread's ID, the stack is not reused, which does no other harm.
  static func reuse() -> AlternateStack? {
    guard hasGiven.load(ordering: .acquiring) else { return nil }
    // This code never waits for the lock, because in a forked child the lock may be held by a thread that no longer
    // exists.
    let found = account.withLockIfAvailable { account -> AlternateStack? in
      guard !account.given.isEmpty else { return nil }
      // In a forked child, the account lists the IDs of the parent's threads. The child's only thread has another ID,
      // but may use one of these stacks, so none of them is used again.
      guard account.processID == pm_getpid() else {
        account.given = []
        return nil
      }
      account.next = (account.next + 1) % account.given.count
      guard !exists(account.given[account.next].thread) else { return nil }
      return account.given.remove(at: account.next).stack
    }
    return found ?? nil
  }
}

extension StackOffers {
  /// Offers an alternate stack to a thread; returns false if the table of offers is full.
  fileprivate func add(_ threadID: Int32, base: UInt64) -> Bool {
    let index = Int(truncatingIfNeeded: count.value)
    guard index < capacity else { return false }
    unsafe record(index).pointee.threadID = threadID
    unsafe record(index).pointee.base = base
    state(index).store(State.offered)
    count.add(1)
    return true
  }
}

extension ProcReader {
  /// Reads the start of `/proc/self/task/<thread>/<name>`; returns the number of bytes, 0 if the file cannot be read.
  fileprivate func readTask(
    _ threadID: Int32, _ name: StaticString, into place: UnsafeMutableRawPointer, capacity: Int
  ) -> Int {
    var path = unsafe TextBuffer(place, capacity: capacity)
    path.append("self/task/", decimal: Int64(threadID))
    path.append("/")
    path.append(name)
    return max(attempt(over: path), 0)
  }
}
