internal import CSignalSafe
internal import IntermediateDump

/// Chooses a report ID in a crash, and puts it into the names of the dump's files.
///
/// RUNS-DURING-CRASH. Source: RFC 9562, version 4; `PendingDumpName` reads the names.
extension Capture {
  /// Chooses a new `reportID`, and overwrites the UUID in the names of all files.
  @_noLocks
  func chooseReportID() {
    let bytes = unsafe session.names.reportID
    if unsafe !mayMake(CallBit.files) || pm_getrandom(bytes, 16) != 16 {
      // If the kernel has no entropy yet, or the call is forbidden, the ID is made from the time and the thread ID.
      unsafe bytes.storeBytes(of: wallClock, as: UInt64.self)
      unsafe bytes.storeBytes(
        of: UInt64(truncatingIfNeeded: pm_gettid()) &<< 32
          | clock & 0xFFFF_FFFF, toByteOffset: 8, as: UInt64.self)
    }
    let number = session.request.number
    if number != 0 {
      unsafe bytes.storeBytes(of: number, toByteOffset: 12, as: UInt32.self)
    }
    setReportIDBits(6, keeping: 0x0F, adding: 0x40)
    setReportIDBits(8, keeping: 0x3F, adding: 0x80)
    // All names have the form "<identifier>@<uuid>…" and are in the handler's own memory.
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.locked))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.finished))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.runRecord))
    unsafe writeReportID(UnsafeMutableRawPointer(mutating: session.names.fifo))
  }

  private func setReportIDBits(_ index: Int, keeping mask: UInt8, adding bits: UInt8) {
    let bytes = unsafe session.names.reportID
    let value = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt8.self)
    unsafe bytes.storeBytes(of: value & mask | bits, toByteOffset: index, as: UInt8.self)
  }

  private func writeReportID(_ name: UnsafeMutableRawPointer) {
    var text = unsafe TextBuffer(
      name + session.names.reportIDOffset, capacity: DumpNames.reportIDLength)
    var index = 0
    while index < 16 {
      if index == 4 || index == 6 || index == 8 || index == 10 { text.append(byte: 0x2D) }  // "-"
      let byte = unsafe session.names.reportID.loadUnaligned(
        fromByteOffset: index, as: UInt8.self)
      text.append(hexadecimal: UInt64(byte), digits: 2)
      index &+= 1
    }
  }
}
