internal import CSignalSafe
internal import IntermediateDump

/// Writes every ELF image: its address, its file, its build ID.
///
/// Found from the mappings and read from memory, not through the dynamic linker: its list may be
/// half changed, and its lock may be held by the thread that crashed.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@safe
struct ModuleSection {
  private static var limit: Int { @_noLocks get { 4096 } }

  private let mappings: MappingTable
  private let memory: SafeMemory
  private let scratch: Scratch
  private let output: DumpOutput

  @_noLocks
  init(mappings: MappingTable, memory: SafeMemory, scratch: Scratch, output: DumpOutput) {
    self.mappings = mappings
    self.memory = memory
    self.scratch = scratch
    self.output = output
  }

  @_noLocks
  func write() {
    output.startArray(.modules)
    var index = 0
    var written = 0
    while index < mappings.count, written < ModuleSection.limit {
      let mapping = mappings[index]
      // A file may be mapped at its start more than once; only one whose image begins there passes
      // the check of its header.
      if mapping.has(Mapping.startsFile), mapping.has(Mapping.isReadable), mapping.pathLength > 0,
        writeModule(mapping)
      {
        written &+= 1
      }
      index &+= 1
    }
    output.end()
  }

  /// Writes a module; false if no ELF image begins at the mapping.
  @_noLocks
  private func writeModule(_ mapping: Mapping) -> Bool {
    guard
      let image = unsafe ModuleImage(at: mapping.start, memory: memory, scratch: scratch.address)
    else { return false }
    output.startMap(.module)
    output.unsigned(.moduleAddress, mapping.start)
    output.property(.modulePath, mappings.path(of: mapping))
    output.property(.moduleProgramHeaders, image.programHeaders)
    let buildID = image.buildID()
    if buildID.count > 0 { output.property(.moduleBuildID, buildID) }
    output.end()
    return true
  }
}
