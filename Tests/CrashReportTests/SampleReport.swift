import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Stackwalk

@testable import CrashAnalysis
@testable import CrashReport

/// A report in which every part has a value.
enum SampleReport {
  private static func describeSurroundings(_ snapshot: inout ProcessSnapshot, _ word: String) {
    snapshot.system.hostName = word
    snapshot.system.timeZone = word
    snapshot.process.workingDirectory = word
    snapshot.process.descriptors = [OpenDescriptor.Kind.file, .anonymous, .other].map { kind in
      var descriptor = OpenDescriptor()
      descriptor.number = UInt32(kind.rawValue)
      (descriptor.kind, descriptor.path) = (kind, kind == .anonymous ? "anon_inode:" + word : word)
      (descriptor.isCut, descriptor.isDeleted) = (true, true)
      return descriptor
    }
  }

  /// - Parameters:
  ///   - word: the value of every text in the dump.
  ///   - threads: the number of threads in addition to the crashing one.
  ///   - frames: the number of frames of each thread; no two threads have the same addresses.
  static func report(word: String, threads: Int = 2, frames: Int = 3) -> CrashReport {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.processID = 100
    snapshot.process.executablePath = word
    snapshot.process.product = word
    snapshot.process.version = word
    snapshot.process.environment = word
    snapshot.process.crashTime = 1_763_736_545_123_456_789
    snapshot.process.launchTime = 1_763_736_545_000_000_000
    snapshot.process.descriptorCount = 3
    describeSurroundings(&snapshot, word)
    snapshot.system.distribution = word
    snapshot.system.processorModel = word
    snapshot.launchAnnotations = [word: word]
    snapshot.mappings = [
      MemoryMapping(start: 0x40_0000, end: 0x40_1000, protection: [.read, .execute], path: word),
      MemoryMapping(start: 0x40_1000, end: 0x40_2000, protection: [.read, .write], path: word),
      MemoryMapping(start: 0x7F00_0000_0000, end: 0x7F00_0001_0000, protection: [.read, .write]),
    ]
    snapshot.memory = MemorySnapshot(joining: [
      MemoryRegion(address: 0x40_0000, bytes: Array(0...255)),
      MemoryRegion(address: 0x7F00_0000_0100, bytes: Array("<script>alert(1)</script>".utf8)),
    ])
    snapshot.modules = [ModuleSnapshot(address: 0x40_0000, size: 0x2000, path: word)]
    snapshot.capture.damage = word
    snapshot.capture.threadsFound = 3
    snapshot.capture.threadsStopped = 2
    var context = X86_64Context()
    context.rip = 0x40_0010
    context.rsp = 0x7F00_0000_0100
    var exception = ExceptionSnapshot(threadID: 100)
    exception.signal = 11
    exception.code = 1
    exception.address = 0x18
    exception.trapNumber = 14
    exception.trapErrorCode = 4
    exception.context = .x86_64(context)
    exception.fatalMessage = word
    snapshot.exception = exception
    var crashed = ThreadSnapshot(id: 100)
    crashed.name = word
    crashed.captureMethod = .crashed
    crashed.context = .x86_64(context)
    snapshot.threads = [crashed]
    for id in 0..<UInt32(threads) {
      var thread = ThreadSnapshot(id: 101 + id)
      thread.name = word
      thread.captureMethod = .stopped
      snapshot.threads.append(thread)
    }
    snapshot.process.commandLine = Array("\(word)\0\(word)\0".utf8)
    var survival = Survival()
    survival.outcome = .wentOn
    survival.previousHandler = 0x40_0001
    survival.survivedCrashes = 2
    survival.precedingReport = ReportID(bytes: [UInt8](1...16))
    snapshot.survival = survival
    var breadcrumb = ClientInformation.Breadcrumb(text: word)
    breadcrumb.threadID = 1
    var attachment = ClientInformation.Attachment(path: word)
    (attachment.name, attachment.size, attachment.bytesOmitted) = (word, 1, 2)
    snapshot.client.annotations = [
      ClientAnnotation(name: word, value: nil, state: .unreadable)
    ]
    snapshot.client.breadcrumbs = [breadcrumb]
    snapshot.client.workBreadcrumbs = [breadcrumb, breadcrumb]
    snapshot.client.contexts = [.init(threadID: 1, name: word, value: word)]
    snapshot.client.openContextTable =
      OpenContextTable([
        .init(at: 1, work: 1, [(word, word)]),
        .init(at: 2, work: 1, isNested: true, [(word, word)]),
      ]).bytes
    snapshot.client.attachments = [attachment]
    snapshot.client.extraMemory = [.init(address: 1, size: 2)]
    snapshot.client.userStreamFailures = [word]
    snapshot.client.breadcrumbsLeft = 3
    snapshot.client.annotationsOmitted = 1
    var report = CrashReport(snapshot: snapshot, symbolicating: false)
    report.symbolNotes = [word]
    // The sample has names, so it lacks the place that a stack without names would have.
    report.place = nil
    for index in report.threads.indices {
      report.threads[index].trace.frames = (0..<frames).map { number in
        var frame = StackFrame(
          word, address: Address(UInt64(0x40_0000 + index * 4096 + number)),
          inlined: number == 1, line: SourceLocation(file: word, line: number))
        frame.symbol?.linkageName = word
        return frame
      }
    }
    var thrown = StackFrame(
      word, address: 0x40_0020, inlined: false, line: SourceLocation(file: word, line: 7))
    thrown.symbol?.linkageName = word
    report.thrown = ThrownError(
      record: ThrowSnapshot(threadID: 101, uptime: 5, error: 0x1234, addresses: [0x40_0020]),
      frames: [thrown])
    return report
  }
}
