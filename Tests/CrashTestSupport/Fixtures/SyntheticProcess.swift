package import IntermediateDump
package import ProcessSnapshot

/// A made-up crashed process: every field has a different value, so that swapped fields are detected.
package enum SyntheticProcess {
  package static let executable: Address = 0x5555_5555_4000
  package static let library: Address = 0x7F00_0000_0000
  package static let stack: Address = 0x7FFD_0000_0000
  package static let peerStack: Address = 0x7F10_0000_0000
  package static let kernelStack: Address = 0x7F20_0000_0000
  package static let reportID = ReportID("01234567-89ab-4cde-8f01-23456789abcd")!
  package static let clientID = ReportID("fedcba98-7654-4321-9abc-def012345678")!
  package static let buildID: [UInt8] = Array(0xA0..<0xB4)

  package static let mapsText = """
    555555554000-555555556000 r-xp 00000000 08:01 131 /opt/victim
    555555756000-555555757000 rw-p 00002000 08:01 131 /opt/victim
    7f0000000000-7f0000010000 r-xp 00000000 08:01 77 /usr/lib/libgone.so (deleted)
    7f1000000000-7f1000002000 rw-p 00000000 00:00 0
    7ffd00000000-7ffd00003000 rw-p 00000000 00:00 0 [stack]

    """.replacingTrailingBlanks

  package static func snapshot() -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.reportID = reportID
    snapshot.clientID = clientID
    describe(&snapshot)
    snapshot.threads = [crashedThread(), stoppedThread(), kernelThread(), unreadableThread()]
    var exception = ExceptionSnapshot(threadID: 4001)
    exception.signal = 11
    exception.code = 1
    exception.address = 0xDEAD_BEE0
    var info = [UInt8](repeating: 0, count: 128)
    info.replaceSubrange(0..<4, with: [11, 0, 0, 0])
    info.replaceSubrange(8..<12, with: [1, 0, 0, 0])
    info.replaceSubrange(16..<24, with: [0xE0, 0xBE, 0xAD, 0xDE, 0, 0, 0, 0])
    exception.signalInfo = info
    exception.context = snapshot.threads[0].context
    exception.trapNumber = 14
    exception.trapErrorCode = 6
    exception.fatalMessage = "Fatal error: Index out of range\n"
    exception.abortMessage = "free(): double free detected"
    snapshot.exception = exception
    snapshot.modules = [
      ModuleSnapshot(address: executable, size: 0x20_3000, path: "/opt/victim", buildID: buildID),
      ModuleSnapshot(
        address: library, size: 0x1_0000, path: "/usr/lib/libgone.so", isDeleted: true,
        buildID: [1, 2, 3]),
    ]
    snapshot.modules[1].annotations = annotations()
    snapshot.linkMap = linkMap()
    snapshot.mappings = MemoryMapping.mappings(parsing: Array(mapsText.utf8)[...])
    let code = MemoryRegion(
      address: executable &+ 0x1000, bytes: Array(repeating: 0x90, count: 256))
    snapshot.memory = MemorySnapshot(joining: snapshot.threads.flatMap(\.stack) + [code])
    snapshot.launchAnnotations = ["ver": "the program's own", "Grüße": "Ω🙂", "empty": ""]
    return snapshot
  }

  package static func annotations() -> ModuleAnnotations {
    var annotations = ModuleAnnotations()
    annotations.list = ["first", "zweite ✗"]
    annotations.simple = ["b": "2", "a": "1"]
    annotations.objects = [
      .init(name: "note", type: 1, value: Array("text".utf8)),
      .init(name: "raw", type: 0x8001, value: [0, 255, 0, 7, 9]),
    ]
    return annotations
  }

  package static func linkMap() -> LinkMap {
    var map = LinkMap()
    map.version = 1
    map.state = 2
    map.breakpoint = 0x7F00_AAAA_0010
    map.loaderBase = 0x7F00_AAAA_0000
    map.debugAddress = 0x7F00_AAAA_0100
    map.dynamicSection = executable &+ 0x20_2000
    // DT_NULL.
    map.dynamicData = Array(1...16) + [UInt8](repeating: 0, count: 16)
    map.entries = [
      .init(address: executable, dynamicSection: executable &+ 0x20_2000, name: ""),
      .init(address: library, dynamicSection: library &+ 0xF000, name: "/usr/lib/libgone.so"),
    ]
    return map
  }

  private static func describe(_ snapshot: inout ProcessSnapshot) {
    snapshot.process.processID = 4001
    snapshot.process.parentProcessID = 17
    snapshot.process.executablePath = "/opt/victim"
    snapshot.process.identifier = "victim"
    snapshot.process.product = "Victim Server"
    snapshot.process.version = "1.2.3"
    snapshot.process.environment = "staging"
    snapshot.process.launchTime = 1_700_000_000_123_456_789
    snapshot.process.crashTime = 1_700_000_777_987_654_321
    describeResources(&snapshot)
    snapshot.process.userTime = 2_600_000_000
    snapshot.process.systemTime = 1_400_000_000
    snapshot.process.statusText = Array("Name:\tvictim\nPid:\t4001\nPPid:\t17\n".utf8)
    snapshot.process.mapsText = Array(mapsText.utf8)
    // AT_ENTRY (9), then AT_NULL.
    snapshot.process.auxiliaryVector =
      littleEndian(9) + littleEndian((executable &+ 0x1000).value) + littleEndian(0)
      + littleEndian(0)
    snapshot.system.kernelName = "Linux"
    snapshot.system.kernelRelease = "6.18.0-3-amd64"
    snapshot.system.kernelVersion = "#1 SMP Debian"
    snapshot.system.machine = "x86_64"
    snapshot.system.distribution = "Debian GNU/Linux 12"
    snapshot.system.libraryVersion = "glibc 2.36"
    snapshot.system.processorCount = 2
    snapshot.system.pageSize = 4096
    snapshot.system.bootID = "c0ffee"
    snapshot.capture.isComplete = true
    snapshot.capture.threadsFound = 4
    snapshot.capture.threadsStopped = 2
    snapshot.capture.threadsReadFromKernel = 1
    snapshot.capture.threadsOmitted = 1
    snapshot.capture.sectionsAbandoned = 4
    snapshot.capture.captureTime = 1_234_567
    snapshot.capture.bytesOmitted = 99
  }

  private static func describeResources(_ snapshot: inout ProcessSnapshot) {
    snapshot.process.launchUptime = 5_000_000_001
    snapshot.process.crashUptime = 9_000_000_003
    snapshot.process.startTicks = 490
    snapshot.process.commandLine = Array("/opt/victim\0--flag\0\0".utf8)
    snapshot.process.limitsText = Array("Max open files            1024   4096   files\n".utf8)
    snapshot.process.descriptorCount = 101
    snapshot.process.mappingCount = 102
    snapshot.process.mappingLimit = 103
    snapshot.process.oomScoreAdjustment = -998
    snapshot.process.watchdogInterval = 30_000_000_000
    snapshot.cxxException = CxxException(typeName: "St9exception", message: "what")
    snapshot.tasks = [TaskSnapshot(threadID: 4001, address: 0x5555_0000_1000, layoutVersion: 1)]
    snapshot.recordedThrows = [
      ThrowSnapshot(
        threadID: 4001, uptime: 9_000_000_001, error: 0x5555_0000_2000,
        addresses: [executable &+ 0x1010, executable &+ 0x1020]),
      ThrowSnapshot(threadID: 4002, uptime: 9_000_000_002, addresses: []),
    ]
    snapshot.process.cgroup.path = "/user.slice"
    snapshot.process.cgroup.memoryUsed = 104
    snapshot.process.cgroup.memoryLimit = 105
    snapshot.process.cgroup.tasksUsed = 106
    snapshot.process.cgroup.tasksLimit = 107
    snapshot.system.loadAverage = "0.10 0.20 0.30 1/99 4001"
    snapshot.system.processorModel = "Some Processor"
    snapshot.system.processorText = Array(
      "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some Processor\nstepping\t: 3\n"
        .utf8)
    snapshot.system.releaseText = Array("ID=debian\n".utf8)
    snapshot.system.compiler = "Clang 21"
    snapshot.system.swiftVersion = "6.3"
    snapshot.system.hostName = "web-3"
    snapshot.system.timeZone = ":Europe/Berlin"
    snapshot.system.containerMount = "/etc/hostname"
    snapshot.process.workingDirectory = "/home/app"
    var descriptor = OpenDescriptor()
    descriptor.number = 108
    (descriptor.kind, descriptor.path) = (.file, "/home/app/log")
    (descriptor.isCut, descriptor.isDeleted) = (true, true)
    snapshot.process.descriptors = [descriptor]
  }

  /// One arm64 thread whose registers all differ.
  package static func arm64Snapshot() -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .arm64)
    snapshot.capture.isComplete = true
    var context = ARM64Context()
    context.x = (0..<31).map { 0x100 + $0 }
    (context.sp, context.pc, context.pstate) = (0x7FFF_0000, 0x40_0000, 0x6000_0000)
    context.vectorRegisters = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 3) }
    (context.fpsr, context.fpcr) = (0x10, 0x0300_0000)
    var thread = ThreadSnapshot(id: 7)
    thread.context = .arm64(context)
    setPointers(&thread)
    snapshot.threads = [thread]
    return snapshot
  }

  private static func crashedThread() -> ThreadSnapshot {
    var thread = ThreadSnapshot(id: 4001)
    thread.name = "main, née ✗"
    thread.state = "R"
    thread.captureMethod = .crashed
    thread.context = .x86_64(context(seed: 0x11, stackPointer: stack &+ 0x100))
    setPointers(&thread)
    thread.threadPointer = 0x7F00_1111_0740
    thread.blockedSignals = 0x8000_0000_0000_0001
    thread.schedulingPolicy = 0
    thread.niceValue = -5
    thread.processorTime = 1_234_567_890
    thread.stackRange = AddressRange(start: stack, byteCount: 0x3000)
    thread.stackBytesOmitted = 0x1000
    // The two ends of the stack; the middle was left out.
    thread.stack = [
      MemoryRegion(address: stack &+ 0x80, bytes: frames(at: stack &+ 0x80, count: 0x400)),
      MemoryRegion(address: stack &+ 0x2000, bytes: Array(repeating: 0x22, count: 0x40)),
    ]
    return thread
  }

  private static func stoppedThread() -> ThreadSnapshot {
    var thread = ThreadSnapshot(id: 4002)
    thread.name = "worker"
    thread.state = "S"
    thread.captureMethod = .stopped
    thread.context = .x86_64(context(seed: 0x33, stackPointer: peerStack &+ 0x100))
    setPointers(&thread)
    thread.threadPointer = 0x7F00_2222_0740
    thread.blockedSignals = 0
    thread.schedulingPolicy = 1
    thread.niceValue = 0
    thread.systemCall = "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7f1000000100 0x555555555040"
    thread.stackRange = AddressRange(start: peerStack, byteCount: 0x2000)
    thread.stack = [
      MemoryRegion(address: peerStack &+ 0x80, bytes: frames(at: peerStack &+ 0x80, count: 0x200))
    ]
    return thread
  }

  private static func kernelThread() -> ThreadSnapshot {
    var thread = ThreadSnapshot(id: 4003)
    thread.name = "blocked"
    thread.state = "D"
    thread.captureMethod = .kernel
    thread.schedulingPolicy = 6
    thread.systemCall = "-1 0x7f2000000010 0x7f0000001234"
    thread.stackPointer = kernelStack &+ 0x10
    thread.instructionPointer = library &+ 0x1234
    thread.stack = [
      MemoryRegion(address: kernelStack, bytes: Array(repeating: 0x44, count: 0x100))
    ]
    return thread
  }

  private static func unreadableThread() -> ThreadSnapshot {
    var thread = ThreadSnapshot(id: 4004)
    thread.state = "S"
    thread.captureMethod = ThreadSnapshot.CaptureMethod.none
    return thread
  }

  private static func setPointers(_ thread: inout ThreadSnapshot) {
    thread.stackPointer = thread.context?.stackPointer
    thread.instructionPointer = thread.context?.instructionPointer
  }

  /// Registers that each contain their own number.
  package static func context(seed: UInt64, stackPointer: Address) -> X86_64Context {
    var context = X86_64Context()
    let base = seed << 56
    (context.rax, context.rbx, context.rcx, context.rdx) = (base | 1, base | 2, base | 3, base | 4)
    (context.rsi, context.rdi, context.r8, context.r9) = (base | 5, base | 6, base | 8, base | 9)
    (context.r10, context.r11, context.r12) = (base | 10, base | 11, base | 12)
    (context.r13, context.r14, context.r15) = (base | 13, base | 14, base | 15)
    context.rsp = stackPointer.value
    context.rbp = (stackPointer &+ 0x20).value
    context.rip = (executable &+ 0x1040).value
    context.rflags = 0x10246
    (context.cs, context.fs, context.gs, context.ss) = (0x33, 0x63, 0x6B, 0x2B)
    // A complete XSAVE area; bytes 24 to 27 are MXCSR.
    context.floatingPointState = (0..<1088).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(seed)) }
    context.floatingPointState.replaceSubrange(24..<28, with: [0x80, 0x1F, 0, 0])
    return context
  }

  /// A stack whose frame pointers lead from the context's `rbp` through three callers to zero.
  private static func frames(at address: Address, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var framePointer = 0xA0
    for caller in 1...3 {
      let next = caller == 3 ? 0 : address &+ UInt64(framePointer + 0x40)
      bytes.replaceSubrange(framePointer..<framePointer + 8, with: littleEndian(next.value))
      let code = executable &+ (0x1000 + UInt64(caller * 0x10))
      bytes.replaceSubrange(framePointer + 8..<framePointer + 16, with: littleEndian(code.value))
      framePointer += 0x40
    }
    return bytes
  }
}

extension String {
  /// Appends a space to each line that ends with inode 0: the kernel's line for anonymous memory ends with a space,
  /// but a line of a multi-line literal cannot.
  fileprivate var replacingTrailingBlanks: String {
    split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasSuffix(" 0") ? $0 + " " : $0 }.joined(separator: "\n")
  }
}
