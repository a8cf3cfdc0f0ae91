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
