internal import IntermediateDump

/// Writes the address, the path, the program headers and the build ID of every ELF image, and how it was found.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@c(pm_write_modules) @_noLocks
func pm_write_modules(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  var finder = capture.images
  capture.writer.startArray(.modules)
  finder.begin()
  while let image = finder.next() {
    let table = finder.images
    let index = finder.current
    let path = finder.path(of: index, image)
    // The vDSO never has a file, so it does not count as lost.
    let hasFile = path[0] == 0x2F && !path.hasSuffix(" (deleted)")  // "/"
    table[index].isLost = !hasFile && !path.text.matches("[vdso]")
    capture.writer.startMap(.module)
    capture.write(image, table[index].source, path)
    capture.writer.property(.moduleProgramHeaders, image.programHeaders)
    capture.writer.end()
  }
  capture.writer.end()
}

extension Capture {
  /// Writes what identifies a module.
  @_noLocks
  func write(_ image: ModuleImage, _ source: ModuleSource, _ path: Bytes) {
    writer.unsigned(.moduleAddress, image.start)
    writer.unsigned(.moduleSource, source.code, width: 1)
    if path.count > 0 { writer.property(.modulePath, path) }
    let buildID = image.buildID()
    if buildID.count > 0 { writer.property(.moduleBuildID, buildID) }
  }
}
