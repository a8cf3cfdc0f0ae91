internal import CoreFile
internal import CrashHandler
internal import Foundation
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// A search for all tasks of Swift concurrency in the memory of a process that has just written a dump.
///
/// The handler writes this dump in a signal handler, which cannot search the memory. So this tool reads the process's
/// memory from outside. The kernel allows root to do this and, depending on Yama's `ptrace_scope`, the process's own
/// user.
struct CapturedTasks {
  private static let (groupLimit, recordLimit) = (512, 256)
  private static let runtime = "libswift_Concurrency.so"

  private let processID: Int32

  init(of processID: Int32) { self.processID = processID }

  /// The tasks; nil if the process does not use Swift concurrency, if its runtime is not found or has another memory
  /// layout, or if its memory cannot be read.
  func tasks() -> AllTasks? {
    let symbols = SymbolSource()
    guard
      let runtime = TaskRuntime(
        in: modules, symbols, word: { LiveTaskSearch.word(at: $0.value, of: processID) }),
      let found = LiveTaskSearch(of: processID, runtime).tasks(), found.bytesSeen > 0
    else { return nil }
    return AllTasks(found, limit: Self.groupLimit, recordLimit: Self.recordLimit)
  }

  /// The executable, which can contain the runtime and the handler, and the shared library with the runtime.
  ///
  /// The files are opened through `/proc`, because the process can be in another mount namespace.
  private var modules: [ModuleSnapshot] {
    let directory = "/proc/\(processID)"
    let executable = SystemFile.target(directory + "/exe") ?? ""
    let program =
      HandledProcess.isDynamicLinker(executable.lastComponent)
      ? (try? HandledProcess(processID))?.record?.course?.executablePath : executable
    let text = SystemFile.text(directory + "/maps") ?? ""
    var modules: [ModuleSnapshot] = []
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      guard words.count == 6, UInt64(words[2], radix: 16) == 0,
        let start = words[0].split(separator: "-").first.flatMap({ UInt64($0, radix: 16) })
      else { continue }
      let path = words[5].drop { $0 == " " }
      let isProgram = path == program ?? executable
      guard isProgram || path.split(separator: "/").last?.hasPrefix(Self.runtime) == true,
        !modules.contains(where: { $0.path.hasSuffix(path) || isProgram && $0.source == .program })
      else { continue }
      let file = path == executable ? directory + "/exe" : directory + "/root" + path
      var module = ModuleSnapshot(address: Address(start), size: 0, path: file)
      module.source = isProgram ? .program : nil
      module.buildID = (try? ELFFile(path: file))?.buildID ?? []
      modules.append(module)
    }
    return modules
  }
}
