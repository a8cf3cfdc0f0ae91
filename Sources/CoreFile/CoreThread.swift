internal import IntermediateDump
internal import ProcessSnapshot

/// One thread in the notes of a core file.
///
/// Source: Linux include/linux/elfcore.h, struct elf_prstatus; arch/x86/include/asm/user_64.h, struct user_regs_struct.
/// Source: Linux arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs.
struct CoreThread {
  let id: UInt32
  /// `pr_cursig`, or `si_signo` of `pr_info`: the signal that ended the process or stopped it for a debugger; 0 for
  /// none.
  let signal: Int32
  /// NT_SIGINFO: 128 bytes; nil if no such note follows the thread's NT_PRSTATUS note.
  var signalInformation: [UInt8]?
  let blockedSignals: UInt64
  /// The CPU time in user mode and in the kernel, in nanoseconds; for the main thread, this is the time of all
  /// threads.
  let (userTime, systemTime): (UInt64, UInt64)
  /// The registers in the layout of a signal frame: on x86_64 the first 19 of `gregset_t`, on arm64 x0 to pstate.
  let registers: [UInt8]
  let stackPointer: Address
  let instructionPointer: Address
  /// The `fs` base on x86_64; the value of the NT_ARM_TLS note on arm64.
  var threadPointer: UInt64?
  /// The number of the system call that the thread was in; nil or negative if the thread was in none or the number is
  /// not known.
  var systemCall: Int32?
  /// The positions of the floating-point state and of the XSAVE area in the file.
  var floatingPoint: Range<Int>?
  var extendedState: Range<Int>?

  private static let registersOffset = 112
  private static let (x86Registers, armRegisters) = (27, 34)

  /// Reads the descriptor of an NT_PRSTATUS note; nil if the descriptor is too short.
  init?(_ status: ArraySlice<UInt8>, _ architecture: ProcessSnapshot.Architecture) {
    guard let current = status.littleEndian(at: 12, width: 2),
      let information = status.littleEndian(at: 0, width: 4),
      let blocked = status.littleEndian(at: 24, width: 8),
      let id = status.littleEndian(at: 32, width: 4),
      let userTime = Self.time(status, at: 48), let systemTime = Self.time(status, at: 64)
    else { return nil }
    self.id = UInt32(truncatingIfNeeded: id)
    signal = Int32(truncatingIfNeeded: current == 0 ? information : current)
    blockedSignals = blocked
    (self.userTime, self.systemTime) = (userTime, systemTime)
    let count = architecture == .x86_64 ? Self.x86Registers : Self.armRegisters
    let words = (0..<count).compactMap {
      status.littleEndian(at: Self.registersOffset + $0 * 8, width: 8)
    }
    guard words.count == count else { return nil }
    switch architecture {
    case .arm64:
      registers = Self.bytes(of: words)
      (stackPointer, instructionPointer) = (Address(words[31]), Address(words[32]))
    case .x86_64:
      registers = Self.bytes(of: Self.signalFrameOrder(words))
      (stackPointer, instructionPointer) = (Address(words[19]), Address(words[16]))
      threadPointer = words[21]
      // `orig_rax`, which is negative if the thread is in no system call.
      systemCall = Int32(exactly: words[15])
    }
  }

  /// Converts a `struct timeval` to nanoseconds.
  private static func time(_ bytes: ArraySlice<UInt8>, at offset: Int) -> UInt64? {
    guard let seconds = bytes.littleEndian(at: offset, width: 8),
      let microseconds = bytes.littleEndian(at: offset + 8, width: 8)
    else { return nil }
    return seconds.clampedMultiplied(by: 1_000_000_000)
      .clampedAdding(microseconds.clampedMultiplied(by: 1000))
  }

  /// Converts registers from the order of `struct user_regs_struct` to the order of `gregset_t`.
  ///
  /// The words are r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags,
  /// rsp, ss, fs_base, gs_base, ds, es, fs, gs.
  private static func signalFrameOrder(_ words: [UInt64]) -> [UInt64] {
    let order = [9, 8, 7, 6, 3, 2, 1, 0, 14, 13, 4, 5, 12, 10, 11, 19, 16, 18]
    let segments = [words[17], words[26], words[25], words[20]].enumerated()
      .reduce(UInt64(0)) { $0 | ($1.element & 0xFFFF) << (16 * UInt64($1.offset)) }
    return order.map { words[$0] } + [segments]
  }

  private static func bytes(of words: [UInt64]) -> [UInt8] {
    var bytes: [UInt8] = []
    for word in words { bytes.append(littleEndian: word) }
    return bytes
  }

  /// The results of a system call that was interrupted by the end of the process: EINTR, ERESTARTSYS and related
  /// errors.
  ///
  /// Source: Linux include/linux/errno.h.
  private static let brokenOff: Set<Int64> = [-4, -512, -513, -514, -516]

  /// The number of the system call that the thread waited in; nil if the thread waited in no system call.
  ///
  /// The arguments are left out, because the kernel may have changed the registers that held them.
  func waitingCall(_ architecture: ProcessSnapshot.Architecture) -> Int32? {
    // The index of the register with the call's result: rax (index 13 in `gregset_t`) or x0.
    let index = architecture == .x86_64 ? 13 : 0
    guard let systemCall, systemCall >= 0,
      let result = registers.littleEndian(at: index * 8, as: Int64.self),
      Self.brokenOff.contains(result)
    else { return nil }
    return systemCall
  }
}

extension CoreThread {
  /// The signals for which the kernel writes a core file.
  ///
  /// If a core file contains any other signal, a debugger wrote the file after the process had stopped with that
  /// signal.
  ///
  /// Source: signal(7), "Core"; QUIT, ILL, TRAP, ABRT, BUS, FPE, SEGV, XCPU, XFSZ, SYS.
  static let coreSignals: Set<Int32> = [3, 4, 5, 6, 7, 8, 11, 24, 25, 31]

  /// The signal in the thread's NT_SIGINFO note; 0 if there is no such note.
  fileprivate var informedSignal: Int32 {
    signalInformation?.littleEndian(at: 0, as: Int32.self) ?? 0
  }

  /// The signal that ended the process, if it ended in this thread; nil if no signal ended the process.
  var endingSignal: Int32? {
    let number = informedSignal == 0 ? signal : informedSignal
    return Self.coreSignals.contains(number) ? number : nil
  }

  /// The index of the crashed thread.
  ///
  /// The kernel and gdb put the crashed thread first, and give all threads its `pr_cursig`. Other writers sort the
  /// threads by ID, and give only the crashed thread a signal. NT_SIGINFO follows the crashed thread; gdb writes the
  /// note for each thread, with SIGSTOP for threads that received no signal.
  ///
  /// If several threads have the same signal and none has NT_SIGINFO, the result is the first of them that did not wait
  /// in a system call. The signal's code is then not known either, so `CauseFinder` treats every cause as likely at most.
  ///
  /// Source: Linux fs/binfmt_elf.c, fill_note_info(); gdb gdb/linux-tdep.c, linux_make_corefile_notes(); .NET
  /// src/coreclr/debug/createdump/dumpwriterelf.cpp.
  static func crashed(
    in threads: [CoreThread], _ architecture: ProcessSnapshot.Architecture
  ) -> Int? {
    let informed = threads.indices.filter { coreSignals.contains(threads[$0].informedSignal) }
    let signalled = threads.indices.filter { coreSignals.contains(threads[$0].signal) }
    return informed.first { threads[$0].signal == threads[$0].informedSignal }
      ?? (signalled.count == 1 ? signalled.first : nil) ?? informed.first
      ?? signalled.first { threads[$0].waitingCall(architecture) == nil } ?? signalled.first
  }
}

/// The data about the process in the notes of a core file.
struct CoreProcess {
  /// The threads, with the crashed thread first.
  var threads: [CoreThread] = []
  /// The number of threads that were not read, because there are more than `maximumThreads`.
  var omittedThreads = 0
  /// This field and the next four come from NT_PRPSINFO.
  var processID: UInt32?
  var parentProcessID: UInt32?
  /// The main thread's name, 15 bytes at most.
  var name: [UInt8] = []
  /// The first word of the command line, of which the note has 79 bytes at most.
  var command = ""
  var niceValue: Int32?
  /// True if a debugger wrote the file: debuggers write the NT_PRPSINFO note before the threads, the kernel after the
  /// first thread.
  ///
  /// Source: gdb gdb/linux-tdep.c, linux_make_corefile_notes(); Linux fs/binfmt_elf.c, fill_note_info().
  var isFromDebugger = false
  var auxiliaryVector: [UInt8] = []
  var files: [CoreMappedFile] = []
  var pageSize: UInt64?

  /// The maximum number of threads that are read; the other threads are only counted.
  private static let maximumThreads = 1 << 16
  private static let maximumVectorSize = 1 << 14

  /// - Throws: `CoreError` if the notes are not those of a Linux process.
  init(of image: CoreImage) throws(CoreError) {
    let bytes = image.bytes
    var leadingInformation: [UInt8]?
    var notes = CoreNotes(image: image)
    notes.forEach { note in
      let size = note.contents.count
      func contents(_ limit: Int) -> ArraySlice<UInt8>? {
        size <= limit ? bytes.slice(note.contents) : nil
      }
      switch note.kind {
      case .processStatus:
        guard threads.count < Self.maximumThreads else {
          omittedThreads += 1
          return
        }
        guard let status = contents(4096),
          let thread = CoreThread(status, image.architecture)
        else { return }
        threads.append(thread)
      case .process:
        if processID == nil { isFromDebugger = threads.isEmpty }
        if let information = contents(4096) { read(process: information) }
      case .signalInformation:
        guard let information = contents(4096), information.count >= 128 else { return }
        if threads.isEmpty { leadingInformation = Array(information.prefix(128)) }
        setLast(\.signalInformation, Array(information.prefix(128)))
      case .auxiliaryVector:
        if auxiliaryVector.isEmpty, let vector = contents(Self.maximumVectorSize) {
          auxiliaryVector = Array(vector)
        }
      case .files:
        if files.isEmpty, let list = CoreMappedFile.list(in: bytes, note.contents) {
          (files, pageSize) = (list.files, list.pageSize)
        }
      case .floatingPoint: setLast(\.floatingPoint, note.contents)
      case .extendedState: setLast(\.extendedState, note.contents)
      case .armThreadPointer:
        setLast(\.threadPointer, contents(4096)?.littleEndian(at: 0, width: 8))
      case .armSystemCall:
        setLast(
          \.systemCall,
          contents(4096)?.littleEndian(at: 0, width: 4).map { Int32(truncatingIfNeeded: $0) })
      }
    }
    if let owner = notes.foreignOwner { throw CoreError(.notAProcess, owner) }
    pageSize = auxiliaryValue(6) ?? pageSize
    moveCrashedThreadToFront(leadingInformation, image.architecture)
  }

  /// - Parameter leading: the contents of an NT_SIGINFO note before all threads.
  private mutating func moveCrashedThreadToFront(
    _ leading: [UInt8]?, _ architecture: ProcessSnapshot.Architecture
  ) {
    guard let index = CoreThread.crashed(in: threads, architecture) else { return }
    var crashed = threads.remove(at: index)
    if crashed.signalInformation == nil {
      // The only note of a process need not follow its crashed thread.
      crashed.signalInformation =
        leading
        ?? threads.first { $0.informedSignal == crashed.signal && crashed.signal != 0 }?
        .signalInformation
    }
    threads.insert(crashed, at: 0)
  }

  /// Sets a field of the last thread, because the other notes of a thread follow its NT_PRSTATUS note.
  private mutating func setLast<Value>(
    _ path: WritableKeyPath<CoreThread, Value?>, _ value: Value?
  ) {
    guard !threads.isEmpty, omittedThreads == 0 else { return }
    threads[threads.count - 1][keyPath: path] = value
  }

  /// Reads `struct elf_prpsinfo`: the nice value is at offset 3, the process at 24, the parent at 28, the name (16
  /// bytes) at 40, the arguments (80 bytes) at 56.
  private mutating func read(process: ArraySlice<UInt8>) {
    guard processID == nil, let id = process.littleEndian(at: 24, width: 4),
      let parent = process.littleEndian(at: 28, width: 4),
      let nice = process.littleEndian(at: 3, width: 1), process.count >= 56
    else { return }
    // valgrind leaves the ID at 0.
    processID = id == 0 ? nil : UInt32(truncatingIfNeeded: id)
    parentProcessID = UInt32(truncatingIfNeeded: parent)
    niceValue = Int32(Int8(truncatingIfNeeded: nice))
    name = Array(process.dropFirst(40).prefix(16).prefix { $0 != 0 })
    let words = process.dropFirst(56).prefix(80).prefix { $0 != 0 && $0 != 0x20 }
    command = String(decoding: words, as: UTF8.self)
  }

  /// The value of a type in the auxiliary vector; nil if the vector does not have this type.
  ///
  /// Source: getauxval(3).
  func auxiliaryValue(_ type: UInt64) -> UInt64? {
    let vector = auxiliaryVector[...]
    var offset = 0
    while let entry = vector.littleEndian(at: offset, width: 8),
      let value = vector.littleEndian(at: offset + 8, width: 8), entry != 0
    {
      if entry == type { return value }
      offset += 16
    }
    return nil
  }
}
