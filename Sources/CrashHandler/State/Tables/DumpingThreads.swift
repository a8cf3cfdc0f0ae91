internal import CSignalSafe
internal import IntermediateDump

/// The threads that take a dump without a crash, each with the capture it works on.
///
/// A fault in a section of such a dump belongs to the section, not to the program, and comes to the
/// crash handler all the same: it finds the landing pad here. Only a thread itself adds, removes
/// and looks up its entry, so that no state is used after it is gone.
///
/// RUNS-DURING-CRASH.
@safe
struct DumpingThreads {
  static var capacity: Int { @_noLocks get { 64 } }
  private struct Entry {
    /// 0 if nobody has it.
    let threadID: UInt32
    var capture: Capture?
  }

  /// Bytes of the table, 16 for an entry.
  static var byteCount: Int { @_noLocks get { 64 &* 16 } }

  private let base: UnsafeMutableRawPointer
  /// Counts the entries that were given back.
  let freed: FutexWord

  @_noLocks
  init(base: UnsafeMutableRawPointer, freed: FutexWord) {
    unsafe self.base = base
    self.freed = freed
  }

  /// Adds the calling thread; false if the table is full.
  @_noLocks
  func add(_ threadID: Int32, _ capture: Capture) -> Bool {
    var index = 0
    while index < DumpingThreads.capacity {
      // Taken with a number that is no thread's; the thread ID last, when the rest is there.
      if word(index).exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).pointee.capture = capture
        word(index).store(UInt32(bitPattern: threadID))
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Takes the calling thread out.
  @_noLocks
  func remove(_ threadID: Int32) {
    let index = index(of: threadID)
    guard index >= 0 else { return }
    word(index).store(0)
    freed.add(1)
    freed.wakeAll()
  }

  /// Takes all out, in a process whose threads are gone.
  @_noLocks
  func removeAll() {
    var index = 0
    while index < DumpingThreads.capacity {
      word(index).store(0)
      index &+= 1
    }
  }

  /// The capture that the calling thread works on; nil if it takes no dump.
  @_noLocks
  func capture(of threadID: Int32) -> Capture? {
    let index = index(of: threadID)
    guard index >= 0 else { return nil }
    return unsafe entry(index).pointee.capture
  }

  /// -1 if there is none.
  private func index(of threadID: Int32) -> Int {
    var index = 0
    while index < DumpingThreads.capacity {
      if word(index).value == UInt32(bitPattern: threadID) { return index }
      index &+= 1
    }
    return -1
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + index &* 16).assumingMemoryBound(to: Entry.self)
  }

  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord((base + index &* 16).assumingMemoryBound(to: UInt32.self))
  }
}

/// Takes a dump without a crash: the sections of a crash, on the dump's own stack, file and memory.
///
/// The process lives on, so nothing of it is changed: no limit is raised, nothing is printed.
///
/// RUNS-DURING-CRASH; called by `LiveDump` and `RequestedDump`, on the thread that dumps. Source:
/// Crashpad `client/ios_handler/in_process_handler.cc`, DumpExceptionFromSimulatedMachException.
@c(pm_capture_dump) @_noLocks
func pm_capture_dump(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  if capture.session.request.isTools {
    // It is inside a signal's handler, whose frame is on the alternate stack.
    setFaultStack(capture)
  } else {
    // The dump is on a stack of its own: a fault comes to the thread's alternate stack, or to this
    // one.
    capture.session.hasFaultStack = true
  }
  capture.session.time.division = CaptureTime(limit: capture.installed.timeLimit)
  // Threads that stand still must not do so for longer than in a crash; without them there is no
  // timer.
  arm(capture, milliseconds: capture.session.time.division.sections)
  captureDump(capture)
  capture.session.resident.close(capture)
  arm(capture, milliseconds: 0)
  if capture.session.request.stopsThreads { ThreadStopper(capture).releaseAll() }
}

/// Tells what a signal on a thread that dumps means.
///
/// RUNS-DURING-CRASH, on that thread.
@safe
struct InterruptedDump {
  private let dump: Capture

  @_noLocks
  init(_ dump: Capture) {
    self.dump = dump
  }

  /// True if it was a fault of a section, which is broken off; false for a crash.
  @_noLocks
  func land(_ signal: DeliveredSignal) -> Bool {
    signal.isFault && dump.session.landingPads.landFault(signal)
  }

  /// Has a signal that was sent, and no fault, come again when a requested dump is done.
  ///
  /// That dump is on the handler's own stack, which the crash's needs. A fault that no section has raised
  /// would only come again.
  @_noLocks
  func postpone(_ signal: DeliveredSignal) -> Bool {
    guard dump.session.request.isTools, signal.wasSent, let information = signal.information
    else { return false }
    dump.shared.waiting.signal.keep(information)
    return true
  }

  /// Gives up the handler's things that the dump holds, because the thread crashed.
  @_noLocks
  func abandon(_ threadID: Int32) {
    dump.shared.dumpingThreads.remove(threadID)
    guard dump.shared.capturingThread.value == UInt32(bitPattern: threadID) else { return }
    _ = WatchdogTimer.set(dump.session.time.timer, milliseconds: 0, interval: 0)
    ThreadStopper(dump).releaseAll()
    dump.shared.threads.removeAll()
    dump.shared.capturingThread.store(0)
  }
}
