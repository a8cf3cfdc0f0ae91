internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The stacks of a report, and the images of their frames.
///
/// Source: develop.sentry.dev, "Stack Trace Interface", "Threads Interface", "Debug Meta Interface".
struct SentryFrames {
  private let report: CrashReport
  private let cuts: SentryCuts
  private let ownCode: OwnCode
  private var modules: [ModuleSnapshot] { report.snapshot.modules }

  init(_ report: CrashReport, _ cuts: SentryCuts) {
    self.report = report
    self.cuts = cuts
    ownCode = report.ownCode
  }

  // MARK: - Threads

  /// The threads, up to the limit; the stack of the crashed thread is in the exception instead.
  var threads: [SentryValue] {
    let main = report.snapshot.process.processID
    return report.threads.prefix(cuts.threads).map { thread in
      [
        "id": SentryValue(thread.id),
        "name": thread.name.flatMap {
          $0.isEmpty ? nil : .text(SentryLimits.cut($0, SentryLimits.text))
        },
        "crashed": .bool(thread.crashed && isCrash),
        "current": .bool(thread.crashed),
        "main": main.map { .bool($0 == thread.id) },
        "state": thread.snapshot.state.map { .text(String($0)) },
        "stacktrace": thread.crashed ? nil : stacktrace(of: thread),
      ]
    }
  }

  private var isCrash: Bool {
    report.snapshot.request == nil && report.snapshot.end == nil && !report.snapshot.isQuitRequest
  }

  /// The stack of a thread with its registers; nil for a thread without frames.
  func stacktrace(of thread: ReportThread) -> SentryValue? {
    var calls = thread.frames
    var omitted = thread.trace.omittedCount > 0 ? thread.trace.omittedAfter : nil
    if let task = thread.task, !task.frames.isEmpty {
      // The task's suspended functions are inserted after the function that they await, and before the functions of the
      // executor.
      let callee = min((task.calls.calleeIndex ?? calls.count - 1) + 1, calls.count)
      calls.insert(contentsOf: task.frames, at: max(callee, 0))
      if let place = omitted, place >= callee { omitted = place + task.frames.count }
    }
    let registers = thread.crashed || cuts.otherRegisters ? thread.snapshot.context : nil
    return stacktrace(
      calls, omitted: omitted.map { ($0, thread.trace.omittedCount) },
      limit: thread.crashed ? cuts.ownFrames : cuts.otherFrames, registers: registers)
  }

  /// A stack in Sentry's order, oldest call first; nil if there are no calls.
  ///
  /// - Parameters:
  ///   - calls: the calls, innermost first.
  ///   - omitted: the index of the first call after the calls that the report left out, and the number of calls that
  ///     were left out.
  func stacktrace(
    _ calls: [StackFrame], omitted: (index: Int, count: Int)? = nil, limit: Int? = nil,
    registers: CPUContext? = nil
  ) -> SentryValue? {
    guard !calls.isEmpty else { return nil }
    let limit = max(1, limit ?? cuts.ownFrames)
    // The innermost calls show where the crash happened, and the outermost calls show what the thread was doing. So a
    // fifth of the limit is kept for the outermost calls.
    let tail = calls.count > limit ? limit / 5 : 0
    let head = min(calls.count, limit) - tail
    var frames = calls.prefix(head).map(frame)
    let left = calls.count - head - tail
    if left > 0 { frames.append(Self.gap(left.clampedAdding(omitted?.count ?? 0))) }
    frames += calls.suffix(tail).map(frame)
    if left == 0, let omitted, (0...frames.count).contains(omitted.index) {
      frames.insert(Self.gap(omitted.count), at: omitted.index)
    }
    return [
      "frames": .array(frames.reversed()),
      "registers": registers.map { context in
        .object(
          context.generalRegisters.map {
            SentryValue.Member(name: $0.name, value: .text(Address($0.value).description))
          })
      },
    ]
  }

  /// The frame that replaces left-out calls; servers would discard a remark in any other part of a stack.
  private static func gap(_ count: Int) -> SentryValue {
    ["function": .text("(\(count) calls are left out)"), "in_app": false]
  }

  // MARK: - Frames

  private func frame(_ frame: StackFrame) -> SentryValue {
    let module = modules.module(of: frame)
    let place = frame.sourceLocation
    let texts = SentryLimits.self
    let short = frame.function.map(FunctionName.short)
    return [
      "function": short.map { .text(texts.cut($0, texts.function)) },
      "raw_function": frame.function.flatMap {
        $0 == short || !cuts.rawNames ? nil : .text(texts.cut($0, texts.function))
      },
      "filename": place.map {
        .text(texts.cut($0.file.split(separator: "/").last.map(String.init) ?? "", texts.fileName))
      },
      "abs_path": place.map { .text(texts.cut($0.file, texts.fileName)) },
      "lineno": place?.line.map { SentryValue($0) },
      "colno": place?.column.flatMap { $0 > 0 ? SentryValue($0) : nil },
      "module": module.map { .text(texts.cut($0.name, texts.fileName)) },
      "package": module.map { .text(texts.cut($0.path, texts.fileName)) },
      "in_app": .bool(ownCode.isEmphasized(frame)),
      "instruction_addr": .text(frame.address.description),
      "symbol_addr": frame.symbol?.offset.flatMap { offset in
        frame.address.subtracting(offset).map { .text($0.description) }
      },
      "image_addr": module.map { .text($0.address.description) },
      "trust": .text(Self.trust(frame)),
    ]
  }

  /// The word that minidump processors use for the way in which a frame was found.
  private static func trust(_ frame: StackFrame) -> String {
    switch frame.trust {
    case .context: "context"
    case .callFrameInformation, .signalFrame, .tailCall, .asyncContext: "cfi"
    case .framePointer: "fp"
    default: "scan"
    }
  }

  // MARK: - Images

  /// The images that have a build ID, in the order of their addresses.
  ///
  /// If the event would be too large, it contains fewer images. The first images to be left out are those to which no
  /// frame in the event belongs.
  var images: [SentryValue] {
    var used: Set<Int> = []
    for thread in report.threads.prefix(cuts.threads) {
      used.formUnion(thread.frames.compactMap(\.moduleIndex))
      used.formUnion(thread.task?.frames.compactMap(\.moduleIndex) ?? [])
    }
    return modules.enumerated()
      .filter { index, module in
        !module.buildID.isEmpty && (cuts.allImages || used.contains(index))
      }
      .prefix(cuts.images)
      .map { _, module in
        [
          "type": "elf",
          "code_id": .text(module.buildID.hexadecimal),
          "debug_id": Self.debugID(module.buildID).map { .text($0) },
          "code_file": .text(SentryLimits.cut(module.path, SentryLimits.fileName)),
          "debug_file": .text(SentryLimits.cut(module.path, SentryLimits.fileName)),
          "image_addr": .text(module.address.description),
          "image_size": .unsigned(module.size),
          "arch": .text(report.snapshot.architecture.rawValue),
        ]
      }
  }

  /// The first 16 bytes of a build ID, padded, as a GUID in little-endian order.
  ///
  /// Source: Breakpad `common/linux/file_id.cc`; symbolic `DebugId`.
  static func debugID(_ buildID: [UInt8]) -> String? {
    guard !buildID.isEmpty else { return nil }
    let bytes = (buildID + [UInt8](repeating: 0, count: 16)).prefix(16)
    let order = [3, 2, 1, 0, 5, 4, 7, 6] + Array(8..<16)
    // `ReportID` makes the text, because a report ID is printed in the same form as a GUID.
    return ReportID(bytes: order.map { bytes[$0] })?.description
  }
}
