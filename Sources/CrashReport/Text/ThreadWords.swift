internal import CrashAnalysis
internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// Text about threads, frames, modules and the capture, for the HTML page and the terminal. As in a `ReportSection`,
// the text is not escaped.

extension CrashReport {
  /// A title for a thread, for example "Thread 12 "worker" crashed" or "Thread 13 [Dispatch worker, default] (in
  /// futex)".
  ///
  /// - Parameter isFull: true to include every known fact about how the thread was captured, its state and its
  ///   scheduling; false to leave out what is usual or follows from the rest of the title.
  func title(of thread: ReportThread, isFull: Bool = false) -> String {
    let name = thread.name.map { name in
      DispatchThread.words(for: name).map { " [\($0)]" } ?? " \"\(name)\""
    }
    let verb = thread.crashed ? " \(verb)" : ""
    let notes = notes(on: thread, isFull: isFull).joined(separator: ", ")
    return "Thread \(thread.id)\(name ?? "")\(verb)" + (notes.isEmpty ? "" : " (\(notes))")
  }

  /// True if a thread's registers are evidence: those of the crashed thread, or of the thread that a report about waits
  /// is about.
  func showsRegisters(of thread: ReportThread) -> Bool {
    thread.crashed && (snapshot.request == nil || standstill?.threadID == thread.id)
  }

  private func notes(on thread: ReportThread, isFull: Bool) -> [String] {
    let known = thread.snapshot
    let call = known.systemCallNumber.map { number in
      "in " + (snapshot.architecture.systemCallName(number) ?? "system call \(number)")
    }
    let policy = known.policyWord.flatMap { $0 == "other" ? nil : $0 }
    let nice = known.niceValue.flatMap { $0 == 0 ? nil : "nice \($0)" }
    guard !isFull else {
      let facts = ThreadSnapshot.mapFields.labeledFacts(of: known, in: .thread)
        .map { "\($0.name) \($0.value)" }
      // The capture method `crashed` does not prove a crash, because the first thread of a dump without a crash has it
      // too. So it is not shown.
      let how = known.captureMethod == .crashed ? nil : known.captureMethod?.word
      return [how, known.state.map { "state \($0)" }, call, policy, nice].compactMap(\.self)
        + facts
    }
    // A thread's state is shown only if it does not follow from other facts. A crashed thread was running, and a thread
    // in a system call waits, so their states are not shown. In a dump without a crash, the state of a running thread
    // (R) is not shown either.
    let isInterrupted = snapshot.request != nil && known.state == "R"
    let isKnown = thread.crashed && snapshot.request == nil || call != nil || isInterrupted
    let state = isKnown ? nil : known.state.map(Self.word(forState:))
    return [known.captureMethod?.remark, state, call, policy, nice].compactMap(\.self)
  }

  /// The word for a thread's state, from the state letters of proc(5).
  private static func word(forState letter: Character) -> String {
    switch letter {
    case "R": "running"
    case "S": "sleeping"
    case "D": "in uninterruptible sleep"
    default: "state \(letter)"
    }
  }

  /// The words that say why the first thread is first, such as "crashed" or "requested the dump".
  private var verb: String {
    guard let request = snapshot.request else {
      return snapshot.isQuitRequest ? "received the signal" : "crashed"
    }
    guard request.kind == .hang else {
      let id = verdict.threadID
      if let id, id != snapshot.exception?.threadID {
        return waits.deadlock(with: id) == nil ? "blocks other threads" : "waits in a deadlock"
      }
      return switch request.kind {
      case .tool: "was interrupted for the dump"
      case .coreFile: "comes first in the core file"
      default: "requested the dump"
      }
    }
    if let waiter = verdict.hang?.waiter {
      let chain = verdict.waits.chain(from: waiter)
      let isCertain = chain.dropLast().allSatisfy { verdict.waits.wait(of: $0)?.isCertain ?? true }
      return isCertain ? "blocks the hung thread" : "most likely blocks the hung thread"
    }
    let shown = verdict.hang?.threadID
    if shown != snapshot.exception?.threadID, let shown,
      verdict.waits.deadlock(with: shown) != nil
    {
      return "waits in a deadlock"
    }
    if let hang = verdict.hang, hang.hasPlace, request.threadEvidence != .known {
      return "is blocked"
    }
    return switch request.threadEvidence {
    case .known: "hung"
    case .lastSeen: "answered last"
    case .some(.none), nil: "monitored"
    }
  }

  /// The reasons why frames of a thread have no names, one for each module, then a hint about files that contain the
  /// names.
  func symbolNotes(on thread: ReportThread) -> [String] {
    let notes = namelessModules(of: thread).map {
      "No names in \($0.module.shownName): \($0.note)."
    }
    return notes + [symbolHint(on: thread)].compactMap(\.self)
  }

  private func namelessModules(of thread: ReportThread) -> [(module: ModuleSnapshot, note: String)]
  {
    // The code to which a signal handler returns has no name in any file.
    let callers = thread.frames.dropFirst().map(\.trust) + [.context]
    let nameless = Set(
      zip(thread.frames, callers).filter { $0.function == nil && $1 != .signalFrame }
        .compactMap(\.0.moduleIndex))
    return nameless.sorted().compactMap { index in
      guard symbolNotes.indices.contains(index), let note = symbolNotes[index] else { return nil }
      return (snapshot.modules[index], note)
    }
  }

  /// A hint about files that would give names to the frames of a thread.
  ///
  /// The result is nil if all frames in modules that were loaded from files have names.
  func symbolHint(on thread: ReportThread) -> String? {
    let files = namelessModules(of: thread).map(\.module).filter { $0.path.hasPrefix("/") }
    // Prefer a module of the program, because users usually have the files of these modules.
    let ownCode = verdict.ownCode
    guard let module = files.first(where: ownCode.contains) ?? files.first else { return nil }
    guard module.buildID.count > 1 else { return buildIDHint(for: module) }
    return
      "For names, give --symbols DIR with \(module.name) of this build, not stripped, or its debug"
      + " file, under any name (build ID \(module.buildID.hexadecimal))"
      + "; or name a server that has it in DEBUGINFOD_URLS. To have one for each release: "
      + "postmortem symbols \(module.name) -o DIR before strip."
  }

  /// A hint about how the next dump gets the build ID of a module, without which no file can be recognized as the
  /// module's.
  private func buildIDHint(for module: ModuleSnapshot) -> String {
    let capture = snapshot.capture
    // If the segments are known, the dump has the image's headers, so the image itself has no build ID.
    guard module.segments.isEmpty else {
      return
        "For names, link \(module.name) with a build ID (-Xlinker --build-id), and do not strip it."
    }
    guard capture.isCoreFile else {
      return
        "For names, the dump would need the ELF headers of \(module.name), which have its build ID."
    }
    return capture.isComplete
      ? "For names, have core files contain ELF headers, which have the build IDs of modules: "
        + "set bit 4 of /proc/PID/coredump_filter, which processes inherit."
      : "For names, use the whole core file: this one does not have the ELF headers of \(module.name),"
        + " which have its build ID."
  }

  /// The indices of the modules that contain a frame of any thread.
  var modulesOnStacks: Set<Int> {
    Set(threads.flatMap { $0.frames.compactMap(\.moduleIndex) })
      .intersection(snapshot.modules.indices)
  }

  /// Sentences about threads that are missing from the dump, or from the minidump's thread list.
  var missingThreads: [String] {
    let capture = snapshot.capture
    return [
      capture.threadsOmitted.nonzero.map {
        "\(Quantity.counted($0, "more thread")) \($0 == 1 ? "is" : "are") not in the dump."
      },
      capture.threadsUnlisted.nonzero.map {
        "\(Quantity.counted($0, "thread")) \($0 == 1 ? "is" : "are") not in the minidump's list."
      },
    ].compactMap(\.self)
  }

  /// A sentence about how much of the process was captured; nil if this is not known.
  var captureText: String? {
    let capture = snapshot.capture
    let threads = capture.threadsFound.flatMap { found in
      capture.threadsStopped.map { stopped in
        let others = found.subtractingReportingOverflow(1).partialValue
        let count = Quantity.counted(found, "thread")
        if found == 1, stopped == 0 { return count }
        return stopped == others && found > 0
          ? "\(count), all stopped" : "\(count) found, \(stopped) of the other \(others) stopped"
      }
    }
    let fromKernel = capture.threadsReadFromKernel.nonzero.map { ", \($0) read through the kernel" }
    let notes = [
      threads.map { $0 + (fromKernel ?? "") },
      capture.captureTime.map { "captured in \(Quantity.duration(Int64(clamping: $0)))" },
      capture.partsNotShown.isEmpty ? nil : "unknown: \(capture.unknownText)",
      capture.bytesOmitted.nonzero.map { "\($0) bytes left out" },
      capture.modulesUnlisted.nonzero.map { "\($0) modules not in the minidump's list" },
      capture.regionsUnlisted.nonzero.map { "\($0) memory regions not in the minidump" },
    ]
    return Self.list(notes, separator: "; ").map { "Capture: \($0)." }
  }
}

extension ThreadSnapshot.CaptureMethod {
  /// A note about a thread that was captured in an unusual way; nil for the crashing thread, and for a thread that was
  /// stopped.
  fileprivate var remark: String? {
    switch self {
    case .crashed, .stopped: nil
    case .alsoCrashed: "crashed too"
    case .kernel: "not stopped, read through the kernel"
    case .none: "not stopped, not read"
    }
  }
}

/// Recognizes the threads of libdispatch by their names.
///
/// Linux keeps 15 bytes of a thread's name, and libdispatch fills them with the end of the queue's label.
///
/// Source: swift-corelibs-libdispatch src/queue.c, `_dispatch_worker_thread`, and src/init.c, the labels.
enum DispatchThread {
  private static let labels: [(name: String, quality: String)] = [
    ("maintenance", "maintenance"), ("background", "background"), ("utility", "utility"),
    ("default", "default"), ("user-initiated", "user-initiated"),
    ("user-interactive", "user-interactive"),
  ]

  /// Descriptions of libdispatch's threads, by the names of the threads.
  private static let known: [String: String] = {
    var known = [
      "ispatch-manager": "Dispatch manager", "-qos.overcommit": "Dispatch worker, overcommit",
    ]
    for (name, quality) in labels {
      known[String("com.apple.root.\(name)-qos".suffix(15))] = "Dispatch worker, \(quality)"
    }
    return known
  }()

  /// The description of the thread with a name, such as "Dispatch worker, default" for "oot.default-qos"; nil if
  /// libdispatch uses no such name.
  static func words(for name: String) -> String? { known[name] }
}

extension CaptureQuality {
  /// A sentence about parts of the dump that the handler could not finish; nil if there are none.
  var failedPartsText: String? {
    guard let abandoned = sectionsAbandoned.nonzero else { return nil }
    let failed = DumpSection.allCases.filter { abandoned & $0.bit != 0 && $0 != .capture }
    var sentences: [String] = []
    if !failed.isEmpty {
      sentences.append(
        "The handler failed, or ran out of time, in these parts of the dump, which may be missing: "
          + failed.map { "\($0.name)" }.joined(separator: ", ") + ".")
    }
    if abandoned & DumpSection.capture.bit != 0 {
      sentences.append(
        "The handler failed in the part that counts what is missing: more may be missing.")
    }
    return sentences.joined(separator: " ")
  }

  /// The parts that `/proc` did not show, for example "mappings, threads".
  var unknownText: String { partsNotShown.map(\.name).joined(separator: ", ") }
}

extension CrashReport {
  /// A title for a throw, for example "The error was thrown 2 ms before, by thread 12".
  func title(of thrown: ThrownError) -> String {
    let age = age(of: thrown).map { Quantity.duration(Int64(clamping: $0)) + " before, " } ?? ""
    return "The error was thrown \(age)by thread \(thrown.record.threadID)"
  }
}

extension ThrownError {
  /// A note about callers that may be missing from the list.
  static let note = "callers by frame pointers: those of functions without one are missing"

  /// The frames with their numbers; an inlined call has the number of the frame that contains it.
  var numberedFrames: [(frame: StackFrame, number: Int)] {
    var number = 0
    return frames.map { frame in
      defer { if !frame.isInlined { number += 1 } }
      return (frame, number)
    }
  }
}

extension ReportThread {
  var contextFields: [ReportField] {
    contexts.map { context in
      ReportField(name: context.name, value: context.value + (context.isCut ? "... (cut)" : ""))
    }
  }

  /// The registers in the usual order.
  ///
  /// Names without a number come first, then names sorted by number, so rax precedes r8, and r8 precedes r10.
  var sortedRegisters: [(name: String, value: Address)] {
    func key(_ name: String) -> (Int, String) {
      (Int(name.drop { !$0.isNumber }) ?? -1, name)
    }
    let registers = snapshot.context?.generalRegisters ?? []
    return registers.map { (name: $0.name, value: Address($0.value)) }
      .sorted { key($0.name) < key($1.name) }
  }
}

extension StackFrame {
  /// The function's name without types, or "top-level code"; "??" for a frame without a name.
  var shortName: String {
    function.map { FunctionName.readable($0, file: sourceLocation?.file) } ?? "??"
  }

  /// The source line as text, such as "/src/App/main.swift:12:3", with the path as the compiler wrote it, so that
  /// terminals and editors can open it.
  ///
  /// The word "near" is added if debug information has no line for the code itself.
  var lineText: String? {
    guard let sourceLocation, let line = sourceLocation.line else { return nil }
    let column = sourceLocation.column.map { ":\($0)" } ?? ""
    return (sourceLocation.isApproximate ? "near " : "")
      + "\(sourceLocation.file):\(line)\(column)"
  }

  /// A word for a frame that is not an ordinary call or may be wrong; nil for other frames.
  var doubt: String? {
    switch trust {
    case .scan: "scan"
    case .tailCall: isInlined ? "inlined, inferred" : "tail call, inferred"
    default: isInlined ? "inlined" : nil
    }
  }
}

extension ModuleSnapshot {
  /// The module's name, or words for an image without one.
  var shownName: String { name.isEmpty ? "the image at \(address)" : name }

  /// The build ID in hexadecimal; nil for an image without one.
  var buildIDText: String? { buildID.isEmpty ? nil : buildID.hexadecimal }
}

extension ModuleSnapshot {
  /// The path of the module, and notes about the file.
  var title: String {
    (path.isEmpty ? "memory without a file" : path) + (isDeleted ? " (deleted)" : "")
      + (source == .headers ? " (not in the linker's list)" : "")
  }
}
