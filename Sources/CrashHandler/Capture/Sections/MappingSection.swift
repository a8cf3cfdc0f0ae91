internal import IntermediateDump

/// Writes all mappings as the kernel's text, which the converter parses.
///
/// RUNS-DURING-CRASH.
@_noLocks
func writeMappings(_ mappings: MappingTable, to output: DumpOutput) {
  output.startArray(.mappings)
  var offset = 0
  while offset < mappings.textCount {
    let rest = mappings.textCount &- offset
    let piece = rest < 65536 ? rest : 65536
    output.startMap(.mappingsChunk)
    output.property(.mappingsText, mappings.wholeText.bytes(offset, count: piece))
    output.end()
    offset &+= piece
  }
  output.end()
}
