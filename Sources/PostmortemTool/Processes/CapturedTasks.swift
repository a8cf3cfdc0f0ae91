internal import CoreFile
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk
internal import SwiftRuntime

/// A search for all tasks of Swift concurrency in the memory of a process that has just written a dump.
///
/// The handler writes this dump in a signal handler, which cannot search the memory. So this tool reads the process's
/// memory from outside. The kernel allows root to do this and, depending on Yama's `ptrace_scope`, the process's own
/// user.
struct CapturedTasks {
  private static let limits = TaskSearchLimits(
    bytes: 1 << 30, time: 2_000_000_000, .processor, candidates: 1 << 16)
  private static let (groupLimit, recordLimit) = (512, 256)

  private let processID: Int32
  private let runtime: TaskRuntime

  /// Finds the runtime of a process; nil if the process does not use Swift concurrency, if its runtime is not found or
  /// has another memory layout, or if its memory cannot be read.
  init?(of processID: Int32) {
    self.processID = processID
    let directory = "/proc/\(processID)"
    let maps = SystemFile.bytes(directory + "/maps") ?? []
    let executable = SystemFile.target(directory + "/exe") ?? ""
    let files = ProcessFiles(directory: directory, executable: executable, maps: maps)
    let symbols = SymbolSource(
      directories: [], process: files, stored: nil, readsFiles: true, store: nil)
    let modules = Self.modules(of: processID, executable, maps, files)
    func word(_ place: Address) -> UInt64? { LiveMemory.word(at: place.value, of: processID) }
    guard var runtime = TaskRuntime(in: modules, symbols, word: word) else { return nil }
    runtime.contexts = Self.contexts(in: modules, symbols, word: word)
    self.runtime = runtime
  }

  /// The tasks; nil if the process's memory cannot be read.
  func tasks() -> AllTasks? {
    guard let memory = LiveMemory(of: processID) else { return nil }
    let found = TaskSearch(runtime, in: memory, Self.limits).tasks()
    return found.bytesSeen == 0
      ? nil : found.grouped(limit: Self.groupLimit, recordLimit: Self.recordLimit)
  }

  /// Finds out, by reading the handler's variables, where tasks store contexts.
  ///
  /// The result is nil if the variables are not found, or if they do not contain the offset of the list's head. For
  /// example, the offset is missing if the program has not called `withContext`.
  ///
  /// Source: CSignalSafe/include/pm_work.h.
  private static func contexts(
    in modules: [ModuleSnapshot], _ symbols: SymbolSource, word: (Address) -> UInt64?
  ) -> TaskRuntime.ContextPlace? {
    let (places, key) = ("pm_work_places_storage", "pm_work_key_storage")
    guard let program = modules.first(where: { $0.source == .program }) else { return nil }
    let found = symbols.addresses(of: [places, key], in: program)
    guard let place = found[places], let key = found[key], let type = word(place &+ 8),
      let head = word(place &+ 16)
    else { return nil }
    return TaskRuntime.ContextPlace(key: key.value, type: type, head: head)
  }

  /// The executable, which can contain the runtime and the handler, and the shared library with the runtime.
  ///
  /// The files are opened through `/proc`, because the process can be in another mount namespace.
  private static func modules(
    of processID: Int32, _ executable: String, _ maps: [UInt8], _ files: ProcessFiles
  ) -> [ModuleSnapshot] {
    let program =
      HandledProcess.isDynamicLinker(executable.lastComponent)
      ? (try? HandledProcess(processID))?.record?.course?.executablePath : executable
    var (modules, paths): ([ModuleSnapshot], Set<String>) = ([], [])
    for mapping in MemoryMapping.mappings(parsing: maps[...])
    where mapping.fileOffset == 0 {
      let path = mapping.path
      let isProgram = path == program ?? executable
      guard isProgram || path.split(separator: "/").last?.hasPrefix(TaskRuntime.library) == true,
        paths.insert(path).inserted
      else { continue }
      var module = ModuleSnapshot(
        address: mapping.start, size: 0, path: ModuleSnapshot.path(withoutMark: path).path)
      module.source = isProgram ? .program : nil
      guard let file = files.paths(of: module).first(where: InputFile.exists) else { continue }
      module.buildID = (try? ELFFile(path: file))?.buildID ?? []
      modules.append(module)
    }
    return modules
  }
}
