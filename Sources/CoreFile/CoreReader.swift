package import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

/// Reads ELF core files written by the kernel or by debuggers.
///
/// `CoreReader` converts the notes to the tokens of an intermediate dump, and then reads these tokens as a snapshot. A
/// core file and a dump of the same crash are therefore read by the same rules. The contents of memory stay in the file
/// and are read only when they are used.
package enum CoreReader {
  /// Returns true if a file begins like an ELF core file.
  package static func isCore(_ start: ArraySlice<UInt8>) -> Bool { CoreImage.isCore(start) }

  /// Converts a core file to a snapshot.
  ///
  /// Reading never traps, whatever bytes the file contains. Values that a core file cannot contain stay nil or empty. A
  /// truncated file is not an error; the snapshot's `capture` records the damage.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - symbolDirectories: directories that are searched for the modules' files, in addition to the modules' own
  ///     paths. Code and constants that the core file lacks are read from a module's file, if this file is of the
  ///     same build.
  ///   - readsFiles: false to read nothing but the core file.
  /// - Throws: `CoreError` if the file is not the 64-bit core file of a Linux process on x86_64 or arm64, or if its
  ///   notes describe no thread or are larger than 256 MiB.
  package static func snapshot(
    of bytes: DumpBytes, symbolDirectories: [String] = [], readsFiles: Bool = true
  ) throws(CoreError) -> ProcessSnapshot {
    let image = try CoreImage(bytes)
    let process = try CoreProcess(of: image)
    guard !process.threads.isEmpty else {
      throw CoreError(.noThreads, image.damage ?? "no NT_PRSTATUS note")
    }
    let core = Core(
      image: image, process: process, memory: MemorySnapshot(joining: image.memory),
      readsFiles: readsFiles)
    guard let dump = core.dump, let document = try? IntermediateDumpDocument(parsing: dump) else {
      throw CoreError(.noThreads, "its notes come to more than 256 MiB")
    }
    var snapshot = ProcessSnapshot(reading: document, memory: core.memory)
    if readsFiles {
      ModuleMemory(of: snapshot, symbolDirectories: symbolDirectories).add(to: &snapshot)
    }
    if process.isFromDebugger, DebuggerStop.isFound(in: snapshot) {
      DebuggerStop.note(in: &snapshot)
    }
    guard readsFiles else { return snapshot }
    let symbols = SymbolSource(directories: symbolDirectories)
    RuntimeFacts(of: snapshot, symbols).add(to: &snapshot)
    ParkedThreads(of: snapshot, symbols).add(to: &snapshot)
    return snapshot
  }
}
