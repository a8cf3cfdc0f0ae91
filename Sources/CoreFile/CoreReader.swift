package import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

/// Reads ELF core files: of the kernel, and of debuggers.
///
/// The notes become the tokens of a dump, and the dump's reader makes the snapshot of them: a core file and a
/// dump of one crash are read by the same rules. Memory stays in the file, of which only that is read which
/// somebody asks for.
package enum CoreReader {
  /// True for the first bytes of a core file.
  package static func isCore(_ start: ArraySlice<UInt8>) -> Bool { CoreImage.isCore(start) }

  /// Makes a snapshot of everything that a core file tells.
  ///
  /// Total on any bytes. What a core file cannot have stays nil or empty; that it is cut off is told in
  /// `capture`, it is not an error.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - symbolDirectories: searched for the modules' files besides their own paths. Memory that a module's
  ///     file has in any process is taken from it, where the core file lacks it and the build is the same.
  ///   - readsFiles: false to read nothing but the core file.
  /// - Throws: `CoreError` only where nothing can be kept.
  package static func snapshot(
    of bytes: DumpBytes, symbolDirectories: [String] = [], readsFiles: Bool = true
  ) throws(CoreError) -> ProcessSnapshot {
    let image = try CoreImage(bytes)
    let process = CoreProcess(of: image)
    guard !process.threads.isEmpty else {
      throw CoreError(.noThreads, image.damage ?? "no NT_PRSTATUS note")
    }
    let memory = MemorySnapshot(joining: image.memory)
    let core = Core(image: image, process: process, memory: memory)
    guard let dump = core.dump, let document = try? IntermediateDumpDocument(parsing: dump) else {
      throw CoreError(.noThreads, "its notes come to more than 256 MiB")
    }
    var snapshot = ProcessSnapshot(reading: document, memory: memory)
    guard readsFiles else { return snapshot }
    ModuleMemory(of: snapshot, symbolDirectories: symbolDirectories).add(to: &snapshot)
    let symbols = SymbolSource(directories: symbolDirectories)
    RuntimeFacts(of: snapshot, symbols).add(to: &snapshot)
    ParkedThreads(of: snapshot, symbols).add(to: &snapshot)
    return snapshot
  }
}
