public import ProcessSnapshot
public import Stackwalk

extension CrashReport {
  /// The frames that are kept of one stack: its innermost and, of a deep recursion, its outermost.
  private static let keptFrames = (head: 200, tail: 56)

  /// Makes the report of a crashed process.
  ///
  /// - Parameters:
  ///   - snapshot: the process, from an intermediate dump or a minidump.
  ///   - symbolicating: whether to take functions and lines from the modules' files on this
  ///     machine, which reads the symbol tables and some debug information of the modules on the
  ///     stacks. Without, names are those stored at conversion, and stacks are walked by what the
  ///     dump holds: frames that can be found only by reading code are missing then.
  ///   - symbolFolders: where else to look for files of the same builds, by build ID and by name.
  public init(snapshot: ProcessSnapshot, symbolicating: Bool, symbolFolders: [String] = []) {
    let symbols = SymbolSource(
      folders: symbolFolders, stored: snapshot.storedSymbols, readsFiles: symbolicating)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let crashedID = snapshot.exception?.threadID
    let tasks = Dictionary(
      snapshot.tasks.map { ($0.threadID, $0) }, uniquingKeysWith: { first, _ in first })
    var threads = snapshot.threads.map { thread in
      let trace = walker.trace(
        of: thread, head: Self.keptFrames.head, tail: Self.keptFrames.tail,
        runsTask: tasks[thread.id] != nil)
      var result = Thread(thread, crashed: thread.id == crashedID, trace: trace, in: snapshot)
      result.task = tasks[thread.id].map { Task($0, trace: trace, in: snapshot) }
      return result
    }
    if let index = threads.firstIndex(where: \.crashed), index > 0 {
      threads.insert(threads.remove(at: index), at: 0)
    }
    let crashed = threads.first { $0.crashed }
    schemaVersion = 1
    reportID = snapshot.reportID.map(String.init(describing:))
    message =
      Self.message(snapshot.exception)
      ?? AbortFinding(snapshot: snapshot, frames: crashed?.frames ?? []).exceptionMessage
    let time = snapshot.process.crashTime.map(Timestamp.init(nanoseconds:))
    let found = Explanation(of: snapshot, frames: crashed?.frames ?? [], thread: crashed)
    explanation =
      Request(snapshot.request)?.text(at: time) ?? End(snapshot.end)?.text ?? found.text
    cause =
      snapshot.request == nil && snapshot.end == nil ? found.finding.map(Cause.init) : nil
    signature = Self.signature(of: snapshot, thread: crashed)
    complete = snapshot.capture.isComplete
    exception = snapshot.exception.map(Exception.init)
    process = Process(snapshot.process)
    system = System(snapshot)
    self.threads = threads
    modules = snapshot.modules.map { Module($0, note: symbols.note(on: $0)) }
    annotations = snapshot.annotations
    capture = Capture(snapshot.capture)
    resources = Resources(snapshot)
    survival = Survival(snapshot)
    request = Request(snapshot.request)
    client = Client(snapshot)
    end = End(snapshot.end)
    memory = Memory.selection(snapshot)
    let mappings = Mapping.selection(snapshot)
    self.mappings = mappings.kept
    mappingsOmitted = mappings.omitted
  }

  /// The signature alone, from the crashing thread alone.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process.
  ///   - symbols: where the names come from. May be used for many snapshots, and reads each
  ///     module's file once then.
  /// - Returns: as in a report; nil where the signal is not in the dump.
  public static func signature(of snapshot: ProcessSnapshot, symbols: SymbolSource) -> String? {
    symbols.begin(stored: snapshot.storedSymbols)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let crashed = snapshot.crashedThread.map { thread in
      let trace = walker.trace(of: thread, head: keptFrames.head, tail: keptFrames.tail)
      return Thread(thread, crashed: true, trace: trace, in: snapshot)
    }
    return signature(of: snapshot, thread: crashed)
  }

  private static func signature(of snapshot: ProcessSnapshot, thread: Thread?) -> String? {
    let frames = thread?.frames ?? []
    var recursion: Recursion?
    if let exception = snapshot.exception, exception.signal == SignalNames.segmentation,
      !exception.wasSent,
      MemoryFault(exception: exception, snapshot: snapshot, frames: frames).isStackOverflow
    {
      recursion = thread?.recursion
    }
    return Signature.text(
      exception: snapshot.exception, frames: frames, modules: snapshot.modules,
      request: snapshot.request, end: snapshot.end, recursion: recursion)
  }

  /// The runtime's words, else the C library's; blank ones say nothing.
  private static func message(_ exception: ExceptionSnapshot?) -> String? {
    for text in [exception?.fatalMessage, exception?.abortMessage] {
      if let text = text?.trimmed, !text.isEmpty { return text }
    }
    return nil
  }
}

extension CrashReport.Exception {
  init(_ exception: ExceptionSnapshot) {
    threadID = exception.threadID
    signal = exception.signal
    signalName = exception.signal.flatMap(SignalNames.name)
    code = exception.code
    codeName = exception.signal.flatMap { signal in
      exception.code.flatMap { SignalNames.codeName(signal: signal, code: $0) }
    }
    address = exception.address?.hex
    access = MemoryAccess(exception)?.rawValue
    let name = exception.senderName
    sender = exception.sender.map {
      CrashReport.Sender(pid: $0.processID, uid: $0.userID, name: name)
    }
    systemCall = exception.systemCall.map(CrashReport.SystemCall.init)
  }
}

extension CrashReport.SystemCall {
  init(_ call: ExceptionSnapshot.TrappedSystemCall) {
    number = Int(call.number)
    name =
      call.architecture == SystemCallNames.auditArchitecture ? SystemCallNames.name(number) : nil
  }

  init(number: Int, architecture: ProcessSnapshot.Architecture) {
    self.number = number
    name = architecture == .x86_64 ? SystemCallNames.name(number) : nil
  }
}

extension CrashReport.Process {
  init(_ process: ProcessDescription) {
    pid = process.processID
    parent = process.parentProcessID
    executable = process.executablePath
    product = process.product
    version = process.version
    environment = process.environment
    launchTime = process.launchTime.map(Timestamp.init(nanoseconds:))
    crashTime = process.crashTime.map(Timestamp.init(nanoseconds:))
    arguments = process.arguments
    uptime = process.uptime
  }
}

extension CrashReport.System {
  init(_ snapshot: ProcessSnapshot) {
    let system = snapshot.system
    architecture = snapshot.architecture.rawValue
    kernelName = system.kernelName
    kernelRelease = system.kernelRelease
    kernelVersion = system.kernelVersion
    machine = system.machine
    distribution = system.distribution
    libraryVersion = system.libraryVersion
    processorCount = system.processorCount
    pageSize = system.pageSize
    bootID = system.bootID
    processorModel = system.processorModel
    compiler = system.compiler
  }
}

extension CrashReport.Thread {
  /// By the numbers of sched(7).
  private static let policies = [
    0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline",
  ]

  init(_ thread: ThreadSnapshot, crashed: Bool, trace: StackTrace, in snapshot: ProcessSnapshot) {
    id = thread.id
    name = thread.name
    self.crashed = crashed
    capturedBy = thread.captureMethod?.name
    state = thread.state.map(String.init)
    systemCall = thread.systemCallNumber.map {
      CrashReport.SystemCall(number: $0, architecture: snapshot.architecture)
    }
    schedulingPolicy = thread.schedulingPolicy.flatMap { Self.policies[Int($0)] }
    niceValue = thread.niceValue
    stackBytesOmitted = thread.stackBytesOmitted
    let values = thread.context?.generalRegisters ?? []
    registers = Dictionary(
      values.map { ($0.name, HexAddress($0.value)) }, uniquingKeysWith: { first, _ in first })
    frames = trace.frames.map { CrashReport.Frame($0, in: snapshot) }
    framesOmitted = trace.omittedCount
    framesOmittedAfter = trace.omittedAfter
    stackGap = trace.hasGap
    stackEnd = trace.end.rawValue
    recursion = trace.recursion.map { found in
      CrashReport.Recursion(
        period: found.period, first: found.first, count: found.count,
        estimatedInGap: found.estimatedInGap)
    }
  }
}

extension CrashReport.Frame {
  init(_ frame: StackFrame, in snapshot: ProcessSnapshot) {
    let module = frame.moduleIndex.map { snapshot.modules[$0] }
    address = frame.address.hex
    self.module = module?.name
    moduleOffset = module.map { HexAddress(frame.address.wrappedDistance(above: $0.address)) }
    function = frame.symbol?.name
    symbol = frame.symbol?.linkageName
    functionOffset = frame.symbol?.offset.map(HexAddress.init)
    file = frame.sourceLocation?.file
    line = frame.sourceLocation?.line
    column = frame.sourceLocation?.column
    lineApproximate = frame.sourceLocation?.isApproximate
    inlined = frame.isInlined
    storedAtConversion = frame.isStored
    trust = frame.trust.rawValue
  }
}

extension CrashReport.Module {
  init(_ module: ModuleSnapshot, note: String?) {
    path = module.path
    base = module.address.hex
    size = module.size
    buildID = module.buildID.isEmpty ? nil : module.buildID.hexadecimal
    deleted = module.isDeleted
    symbolNote = note
    let objects = module.annotations.objects.compactMap { object in
      object.text.map { (object.name, $0) }
    }
    annotations = module.annotations.simple.merging(objects) { first, _ in first }
    messages = module.annotations.list
  }
}

extension CrashReport.Capture {
  init(_ capture: CaptureQuality) {
    damage = capture.damage
    threadsFound = capture.threadsFound
    threadsStopped = capture.threadsStopped
    threadsReadFromKernel = capture.threadsReadFromKernel
    threadsOmitted = capture.threadsOmitted
    sectionsAbandoned = capture.sectionsAbandoned.map(HexAddress.init)
    captureTime = capture.captureTime
    bytesOmitted = capture.bytesOmitted
    threadsUnlisted = capture.threadsUnlisted
    modulesUnlisted = capture.modulesUnlisted
    regionsUnlisted = capture.regionsUnlisted
  }
}
