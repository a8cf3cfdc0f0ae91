/// A section that the handler captures; bit n of the key `sectionsAbandoned` stands for raw value n.
///
/// Never renumber a value, and never reuse a number that a released version of this file has used. `Section` defines
/// the order in which the handler writes the sections.
package enum DumpSection: UInt8, CaseIterable, Sendable {
  case exception = 1
  case stopThreads = 2
  case readMappings = 3
  case crashingThread = 4
  case process = 5
  case mappings = 6
  case modules = 7
  case systemAndAnnotations = 8
  case threads = 9
  /// The section that lists the other sections that failed.
  ///
  /// The handler never sets this section's bit in `sectionsAbandoned`. A reader sets the bit if the dump lacks this
  /// section's data.
  case capture = 10
  case resources = 11
  case linkMap = 12
  case summary = 13
  case standardError = 14
  case removeHangDumps = 15
  case client = 16
  case extraMemory = 17
  case cxxException = 18
  case tasks = 19
  case crashingThreadTop = 20
  case contexts = 21
  case throwRecords = 22
  case surroundings = 23
  case pointedMemory = 24
  case objects = 25

  package var bit: UInt64 { @_noLocks get { 1 &<< UInt64(rawValue) } }

  /// The section's name in documents and reports.
  package var name: StaticString {
    get {
      switch self {
      case .exception: "exception"
      case .stopThreads: "stopping the threads"
      case .readMappings: "reading the mappings"
      case .crashingThread: "the rest of the crashing thread"
      case .process: "process"
      case .mappings: "mappings"
      case .modules: "modules"
      case .systemAndAnnotations: "system and annotations"
      case .threads: "other threads"
      case .capture: "capture"
      case .resources: "resources"
      case .linkMap: "link map"
      case .summary: "crash summary"
      case .standardError: "crash summary on standard error"
      case .removeHangDumps: "removing the dumps of hangs"
      case .client: "client data"
      case .extraMemory: "extra memory"
      case .cxxException: "C++ exception"
      case .tasks: "tasks"
      case .crashingThreadTop: "registers and top of the stack of the crashing thread"
      case .contexts: "contexts"
      case .throwRecords: "throws"
      case .surroundings: "surroundings"
      case .pointedMemory: "memory behind pointers"
      case .objects: "objects"
      }
    }
  }
}
