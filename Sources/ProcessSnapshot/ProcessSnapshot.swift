public import IntermediateDump

/// The contents of a dump, as values that depend neither on the file format nor on how reports show them.
///
/// A snapshot is read from an intermediate dump (`init(reading:)`), a minidump (`MinidumpReader`) or a core file.
/// Everything that a dump may lack is optional or can be empty. Nil means unknown and not zero, unless the property
/// says otherwise.
public struct ProcessSnapshot: Sendable, Equatable {
  /// The instruction set of the crashed process.
  public enum Architecture: String, Sendable {
    case x86_64
    case arm64
  }

  public var architecture: Architecture
  public var reportID: ReportID?
  /// The digest (`DumpDigest`) of the intermediate dump from which the report was made; nil if there was no dump or
  /// the digest is not known.
  package var dumpDigest: UInt64?
  public var clientID: ReportID?
  public var process = ProcessDescription()
  public var system = SystemDescription()
  /// The exception; nil for a dump that was truncated before the exception, for a run that left no dump, and for a
  /// minidump without an exception stream.
  ///
  /// In a dump that was taken without a crash, the exception contains only a thread's ID and registers.
  public var exception: ExceptionSnapshot?
  /// The threads in the order of the dump; dumps of this package have the crashing thread first.
  public var threads: [ThreadSnapshot] = []
  /// The modules sorted by base address.
  public var modules: [ModuleSnapshot] = []
  /// The mappings sorted by address, from `/proc/self/maps`, or from a minidump's or core file's equivalent.
  public var mappings: [MemoryMapping] = []
  public var memory = MemorySnapshot()
  /// The dynamic linker's list of loaded objects; nil for a static executable, or if the list was not captured.
  public var linkMap: LinkMap?
  /// The annotations given when the handler was started, by name.
  ///
  /// For a minidump that another program wrote, all annotations with a name and a text are here.
  public var launchAnnotations: [String: String] = [:]
  /// The annotations given to the converter, by name.
  public var addedAnnotations: [String: String] = [:]
  public var capture = CaptureQuality()
  /// Function names and source lines that were stored with the report; nil if none were.
  public var storedSymbols: StoredSymbols?
  /// The main results of the analysis at conversion; nil in a snapshot that was not converted to a report, or if the
  /// conversion did not finish its search for names.
  package var storedVerdict: StoredVerdict?
  /// What happened after the dump, and the crashes that the process had survived before; nil if this crash was the
  /// first and ended the process.
  public var survival: Survival?

  /// The last C++ exception that was caught before the process aborted; nil if there is none.
  public var cxxException: CxxException?
  /// The tasks of Swift concurrency that threads ran, at most one for each thread.
  public var tasks: [TaskSnapshot] = []
  /// The tasks of Swift concurrency that a search of the memory found, including tasks that no thread ran; nil if there
  /// was no such search.
  package var allTasks: AllTasks?
  /// The version of the runtime's layout of tasks, if it is not known, so that no tasks were searched for.
  package var unknownTaskLayout: UInt32?
  /// The threads that waited for file locks whose holders are known.
  package var fileLocks: [FileLockWait] = []
  /// The recorded throws of errors: the last ones of the crashing thread, then the last ones of other threads, each
  /// newest first.
  public var recordedThrows: [ThrowSnapshot] = []

  /// Why a dump was taken without a crash; nil for a crash.
  public var request: DumpRequest?

  /// What the running program told the handler, for example annotations, breadcrumbs and attachments.
  public var client = ClientInformation()
  /// Streams that the converter adds to the minidump; empty in a snapshot that was read.
  public var userStreams: [UserStream] = []

  /// How a run that left no dump ended; a report of such a run contains little other data.
  public var end: RunEnd?

  public init(architecture: Architecture) {
    self.architecture = architecture
  }

  /// The annotation that a report uses for each name.
  ///
  /// If a name occurs twice, the converter's annotation takes precedence, then a simple annotation, then one of
  /// `launchAnnotations`, and then a typed one. An annotation without a value is not used.
  package var countingAnnotations: [String: ClientAnnotation] {
    var counting: [String: ClientAnnotation] = [:]
    for annotation in client.annotations where annotation.text != nil {
      guard let name = annotation.name, counting[name] == nil else { continue }
      counting[name] = annotation
    }
    func add(_ given: [String: String]) {
      for (name, value) in given {
        counting[name] = ClientAnnotation(name: name, value: .text(value))
      }
    }
    add(launchAnnotations)
    for annotation in client.simpleAnnotations where annotation.text != nil {
      if let name = annotation.name { counting[name] = annotation }
    }
    add(addedAnnotations)
    return counting
  }

  /// The values of `countingAnnotations` as text, by name.
  public var annotations: [String: String] { countingAnnotations.compactMapValues(\.text) }

  /// The thread that `exception` names; nil if there is no exception or its thread was not captured.
  public var crashedThread: ThreadSnapshot? {
    guard let id = exception?.threadID else { return nil }
    return threads.first { $0.id == id }
  }

  /// True for a crash on a thread of this package's uploader.
  package var isUploaderCrash: Bool {
    request == nil && end == nil && !isQuitRequest && crashedThread?.name == UploaderThread.name
  }

  /// True for SIGQUIT that another process or a terminal sent to ask this process to end.
  ///
  /// Such a signal is not a crash. It is the stop signal of some supervisors and container images.
  package var isQuitRequest: Bool {
    request == nil && end == nil && exception?.foreign == nil
      && exception?.signal == Self.quitSignal && !isOwnProcess(exception?.sender)
  }

  /// SIGQUIT, whose number is the same on x86_64 and arm64.
  ///
  /// Source: signal(7).
  private static let quitSignal: Int32 = 3

  /// True if the process sent the signal to itself.
  package func isOwnProcess(_ sender: ExceptionSnapshot.Sender?) -> Bool {
    guard let sender, let own = process.processID else { return false }
    return Int64(sender.processID) == Int64(own)
  }

  /// The module whose image covers an address.
  public func module(containing address: Address) -> ModuleSnapshot? {
    guard let module = modules.element(containing: address, by: { $0.range }),
      module.contains(address)
    else { return nil }
    return module
  }

  /// The mapping that covers an address.
  public func mapping(containing address: Address) -> MemoryMapping? {
    mappings.element(containing: address, by: { $0.range })
  }
}
