internal import CSignalSafe
internal import IntermediateDump

/// Chooses a report ID for a new dump, and puts it into the names of the dump's files.
///
/// RUNS-DURING-CRASH. Source: RFC 9562, version 4; `PendingDumpName` reads the names.
extension Capture {
  /// Chooses a new `reportID`, and overwrites the UUID in the names of all files.
  @_noLocks
  func chooseReportID() {
    let id = unsafe Scratch(session.names.reportID, size: 16)
    if unsafe !mayMake(CallBit.files) || pm_getrandom(id.address, 16) != 16 {
      // If the kernel has no entropy yet, or the call is forbidden, the handler generates the ID from the time and the
      // thread ID.
      id.setWord(0, wallClock)
      id.setWord(8, UInt64(truncatingIfNeeded: pm_gettid()) &<< 32 | clock & 0xFFFF_FFFF)
    }
    let number = UInt64(session.request.number)
    if number != 0 { id.setWord(8, number &<< 32 | id.word(8) & 0xFFFF_FFFF) }
    // In a UUID, the upper half of byte 6 is the version, here 4, and the upper two bits of byte 8 are the variant,
    // here 2.
    id.setWord(0, id.word(0) & ~(0xF0 &<< 48) | 0x40 &<< 48)
    id.setWord(8, id.word(8) & ~0xC0 | 0x80)
    // All names have the form "<identifier>@<uuid>…", so the UUID is at the same offset in each. The names are in the
    // handler's own memory, so they can be changed.
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.locked))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.finished))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.runRecord))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.fifo))
  }

  private func writeReportID(_ name: UnsafeMutableRawPointer) {
    var text = unsafe TextBuffer(
      name + session.names.reportIDOffset, capacity: DumpNames.reportIDLength)
    let id = unsafe Bytes(session.names.reportID, count: 16)
    for index in Indices(16) {
      if index == 4 || index == 6 || index == 8 || index == 10 { text.append(byte: 0x2D) }  // "-"
      text.append(hexadecimal: UInt64(id[index]), digits: 2)
    }
  }
}
