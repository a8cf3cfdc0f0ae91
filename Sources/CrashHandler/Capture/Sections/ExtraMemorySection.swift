internal import IntermediateDump

/// Writes the memory ranges that the program registered.
///
/// This section runs after the threads are written, because threads are more important.
///
/// RUNS-DURING-CRASH.
@c(pm_write_extra_memory) @_noLocks
func pm_write_extra_memory(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.installed.isSanitized else { return }
  let (table, scratch) = (ClientMemory.ofProcess.memoryRanges, capture.session.scratch)
  // The limit for all ranges together, in bytes.
  let limit = capture.installed.limits.extraMemory
  var left = limit > 0 ? UInt64(truncatingIfNeeded: limit) : 0
  var omitted: UInt64 = 0
  capture.writer.startArray(.extraMemory)
  for index in Indices(table.count) {
    let found = unsafe table.cell(index).read(into: scratch.address)
    guard let reading = found, reading.count == ClientMemory.rangeCapacity else { continue }
    let address = scratch.word(0)
    let size = scratch.word(8)
    let wanted = size < left ? size : left
    let taken = capture.regions.write(address, count: Int(truncatingIfNeeded: wanted))
    left &-= UInt64(truncatingIfNeeded: taken)
    omitted &+= size &- wanted
  }
  capture.writer.end()
  let rangesOmitted = UInt64(table.omittedCount)
  guard omitted | rangesOmitted != 0 else { return }
  capture.writer.startMap(.client)
  capture.writer.unsigned(.memoryRangesOmitted, rangesOmitted)
  capture.writer.unsigned(.memoryBytesOmitted, omitted)
  capture.writer.end()
}
