internal import CSignalSafe
internal import IntermediateDump

/// Chooses a report ID in a crash and puts it into the names of the dump's file.
///
/// RUNS-DURING-CRASH. Source: RFC 9562, version 4; `PendingDumpName` reads the names.
@safe
struct ReportName {
  /// Bytes of a UUID's text.
  static var textLength: Int { @_noLocks get { 36 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Fills `reportID`, and overwrites the UUID in all names.
  @_noLocks
  func choose() {
    let bytes = unsafe capture.session.names.reportID
    if unsafe !capture.mayMake(CallBit.files) || pm_getrandom(bytes, 16) != 16 {
      // Before the kernel has entropy, or under a seccomp profile: unique by time and thread.
      unsafe bytes.storeBytes(of: capture.wallClock, as: UInt64.self)
      unsafe bytes.storeBytes(
        of: UInt64(truncatingIfNeeded: pm_gettid()) &<< 32
          | capture.clock & 0xFFFF_FFFF, toByteOffset: 8, as: UInt64.self)
    }
    let number = capture.session.request.number
    if number != 0 {
      unsafe bytes.storeBytes(of: number, toByteOffset: 12, as: UInt32.self)
    }
    setBits(6, keeping: 0x0F, adding: 0x40)
    setBits(8, keeping: 0x3F, adding: 0x80)
    // All are "<identifier>@<uuid>…" and lie in the handler's own memory.
    unsafe writeText(UnsafeMutableRawPointer(mutating: capture.session.names.locked))
    unsafe writeText(UnsafeMutableRawPointer(mutating: capture.session.names.finished))
    unsafe writeText(UnsafeMutableRawPointer(mutating: capture.session.names.runRecord))
    unsafe writeText(UnsafeMutableRawPointer(mutating: capture.session.names.fifo))
  }

  private func setBits(_ index: Int, keeping mask: UInt8, adding bits: UInt8) {
    let bytes = unsafe capture.session.names.reportID
    let value = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt8.self)
    unsafe bytes.storeBytes(of: value & mask | bits, toByteOffset: index, as: UInt8.self)
  }

  private func writeText(_ name: UnsafeMutableRawPointer) {
    var place = capture.session.names.reportIDOffset
    var index = 0
    while index < 16 {
      if index == 4 || index == 6 || index == 8 || index == 10 { place &+= 1 }
      let byte = unsafe capture.session.names.reportID.loadUnaligned(
        fromByteOffset: index, as: UInt8.self)
      unsafe name.storeBytes(of: digit(byte &>> 4), toByteOffset: place, as: UInt8.self)
      unsafe name.storeBytes(of: digit(byte & 15), toByteOffset: place &+ 1, as: UInt8.self)
      place &+= 2
      index &+= 1
    }
  }

  private func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? value &+ 0x30 : value &+ 0x57
  }
}
