internal import CSignalSafe
internal import IntermediateDump

/// Every ELF image: where, which file, which build.
///
/// Found from the mappings and read from memory, not through the dynamic linker: its list may be
/// half changed, and its lock may be held by the thread that crashed.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@c(pm_write_modules) @_noLocks
func pm_write_modules(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let writer = ModuleWriter(capture)
  capture.session.writer.startArray(.modules)
  let mappings = capture.session.mappings
  var index = 0
  var written = 0
  while index < mappings.count, written < 4096 {
    let mapping = mappings[index]
    // A file may be mapped at its start more than once; only one whose image begins there passes
    // the check of its header.
    if mapping.has(Mapping.startsFile), mapping.has(Mapping.isReadable), mapping.pathLength > 0,
      writer.writeModule(mapping)
    {
      written &+= 1
    }
    index &+= 1
  }
  capture.session.writer.end()
}

/// Writes what an ELF image in memory says of itself.
///
/// RUNS-DURING-CRASH.
@safe
private struct ModuleWriter {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// False if no ELF image begins at the mapping.
  @_noLocks
  func writeModule(_ mapping: Mapping) -> Bool {
    guard
      let image = unsafe ModuleImage(
        at: mapping.start, memory: capture.memory, scratch: capture.session.scratch.address)
    else { return false }
    capture.session.writer.startMap(.module)
    capture.session.writer.unsigned(.moduleAddress, mapping.start)
    capture.session.writer.property(.modulePath, capture.session.mappings.path(of: mapping))
    capture.session.writer.property(.moduleProgramHeaders, image.programHeaders)
    let buildID = image.buildID()
    if buildID.count > 0 { capture.session.writer.property(.moduleBuildID, buildID) }
    capture.session.writer.end()
    return true
  }
}
