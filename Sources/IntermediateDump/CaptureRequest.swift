/// A request for a dump of a running process: the value that is queued with the stop signal.
///
/// The lower half of the value is the last four bytes of the dump's report ID, by which the sender finds the dump.
/// Source: sigqueue(3), si_value.
package struct CaptureRequest: Sendable, Equatable {
  /// The upper 31 bits of the value: the bytes of "PMc", then seven zero bits.
  static var magic: UInt64 { @_noLocks get { 0x504D_6300 &>> 1 } }

  package let value: UInt64

  /// Reads a request from the value of a signal; nil if the value is not a request.
  @_noLocks
  package init?(value: UInt64) {
    guard value &>> 33 == CaptureRequest.magic else { return nil }
    self.value = value
  }

  package var number: UInt32 { @_noLocks get { UInt32(truncatingIfNeeded: value) } }
  /// True to stop other threads during the dump.
  package var stopsThreads: Bool { @_noLocks get { value &>> 32 & 1 == 1 } }
}

/// Creates a request and identifies its dump, for the process that sends the request.
extension CaptureRequest {
  package init(number: UInt32, stopsThreads: Bool) {
    value = (Self.magic << 1 | (stopsThreads ? 1 : 0)) << 32 | UInt64(number)
  }

  /// The last digits of the report ID as text.
  package var reportIDSuffix: String {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    return bytes.hexadecimal
  }
}
