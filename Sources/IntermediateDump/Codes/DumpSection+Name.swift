extension DumpSection {
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
