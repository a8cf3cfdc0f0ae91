public import IntermediateDump
internal import ProcessSnapshot

/// The annotations in Crashpad's stream of a minidump, read without the rest of the file.
///
/// For whoever passes a minidump on, however large it is. Annotations of modules are not among it.
///
/// Source: Crashpad `minidump/minidump_extensions.h`, MinidumpCrashpadInfo.
public struct MinidumpAnnotations: Sendable, Equatable {
  /// Nil where the minidump does not say.
  public let reportID: ReportID?
  /// Nil where the minidump does not say.
  public let clientID: ReportID?
  /// The simple annotations; of two of one name the first counts.
  public let annotations: [String: String]

  private static let maximumAnnotations: UInt64 = 4096
  private static let maximumTextSize: UInt64 = 64 << 10

  /// Reads them; total on any bytes, in bounded memory.
  ///
  /// - Parameter read: gives bytes of the file at an offset, fewer where it ends.
  /// - Returns: nil if the file is no minidump; a missing or damaged stream is not an error.
  package init?(read: (_ offset: Int64, _ count: Int) -> [UInt8]) {
    guard let directory = MinidumpDirectory(read: read) else { return nil }
    let stream =
      directory.places.first { $0.type == .crashpadInfo }
      .map { read($0.offset, MinidumpFormat.crashpadInfoSize) } ?? []
    reportID = stream.count >= 20 ? ReportID(guidBytes: stream[4..<20]) : nil
    clientID = stream.count >= 36 ? ReportID(guidBytes: stream[20..<36]) : nil
    annotations = stream.count >= 44 ? Self.dictionary(at: stream[36..<44], read) : [:]
  }

  private static func dictionary(
    at location: ArraySlice<UInt8>, _ read: (Int64, Int) -> [UInt8]
  ) -> [String: String] {
    let bytes = Array(location)
    guard let rva = bytes[...].littleEndian(at: 4, width: 4), rva != 0,
      let count = read(Int64(clamping: rva), 4)[...].littleEndian(at: 0, width: 4)
    else { return [:] }
    let entries = read(
      Int64(clamping: rva &+ 4), Int(clamping: min(count, maximumAnnotations)) * 8)[...]
    var annotations: [String: String] = [:]
    for place in stride(from: 0, to: entries.count - entries.count % 8, by: 8) {
      guard let name = text(at: entries.littleEndian(at: place, width: 4), read),
        let value = text(at: entries.littleEndian(at: place + 4, width: 4), read),
        annotations[name] == nil
      else { continue }
      annotations[name] = value
    }
    return annotations
  }

  private static func text(at rva: UInt64?, _ read: (Int64, Int) -> [UInt8]) -> String? {
    guard let rva, let size = read(Int64(clamping: rva), 4)[...].littleEndian(at: 0, width: 4),
      size <= maximumTextSize
    else { return nil }
    let bytes = read(Int64(clamping: rva &+ 4), Int(clamping: size))
    return UInt64(bytes.count) == size ? String(decoding: bytes, as: UTF8.self) : nil
  }
}
