internal import CSignalSafe
internal import IntermediateDump

/// Writes every ELF image: its address, its file, its build ID.
///
/// RUNS-DURING-CRASH. Source: elf(5).
@_noLocks
func writeModules(_ images: ImageFinder, to output: DumpOutput) {
  var finder = images
  output.startArray(.modules)
  finder.begin()
  while let image = finder.next() {
    let table = finder.images
    let index = finder.current
    let path = finder.path(of: index, image)
    // The vDSO has no file from the first.
    let hasFile = path[0] == 0x2F && !path.hasSuffix(" (deleted)")  // "/"
    table[index].isLost = !hasFile && !path.text.matches("[vdso]")
    output.startMap(.module)
    output.unsigned(.moduleAddress, image.start)
    output.unsigned(.moduleSource, table[index].source.code, width: 1)
    if path.count > 0 { output.property(.modulePath, path) }
    output.property(.moduleProgramHeaders, image.programHeaders)
    let buildID = image.buildID()
    if buildID.count > 0 { output.property(.moduleBuildID, buildID) }
    output.end()
  }
  output.end()
}
