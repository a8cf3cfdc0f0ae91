internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// A body of type `multipart/form-data`, written piece by piece so that it is never in memory.
///
/// Source: RFC 7578; RFC 2046, 5.1; WHATWG HTML, "multipart/form-data" for names.
struct MultipartForm: Sendable {
  /// One part: what stands in front of its content, and the content.
  struct Part: Sendable {
    enum Content: Sendable {
      case bytes([UInt8])
      case file(FormFile)
    }
    let header: String
    let content: Content

    static func field(_ name: String, _ value: String) -> Part {
      Part(
        header: "Content-Disposition: form-data; name=\"\(escaped(name))\"\r\n",
        content: .bytes(Array(value.utf8)))
    }

    static func file(_ name: String, fileName: String, _ file: FormFile) -> Part {
      Part(
        header: "Content-Disposition: form-data; name=\"\(escaped(name))\"; "
          + "filename=\"\(escaped(fileName))\"\r\nContent-Type: application/octet-stream\r\n",
        content: .file(file))
    }

    /// By scalars: CR LF is one character to Swift, and would be neither.
    private static func escaped(_ name: String) -> String {
      name.unicodeScalars.reduce(into: "") { result, scalar in
        switch scalar {
        case "\"": result += "%22"
        case "\r": result += "%0D"
        case "\n": result += "%0A"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
  }

  /// 128 random bits: no content holds it but by a miracle.
  let boundary: String
  var parts: [Part] = []

  init() {
    boundary = (0..<2).reduce("---postmortem-") { text, _ in
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      return text + String(repeating: "0", count: 16 - digits.count) + digits
    }
  }

  var contentType: String { "multipart/form-data; boundary=\(boundary)" }

  /// Bytes of the whole body.
  var size: Int64 {
    parts.reduce(Int64(end.utf8.count)) { sum, part in
      let size: Int64 =
        switch part.content {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.size
        }
      return sum.clampedAdding(size).clampedAdding(Int64(start(of: part).utf8.count + 2))
    }
  }

  /// Gives the body's bytes in order.
  ///
  /// - Parameters:
  ///   - write: takes a piece of at most 256 KiB, or one field.
  ///   - contents: takes a file's place; nil for its bytes.
  /// - Throws: what `write` throws, and where a file became shorter than it was.
  func write(
    to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void,
    contents: ((FormFile) -> String)? = nil
  ) throws(CrashReportDatabaseError) {
    for part in parts {
      try write(Array(start(of: part).utf8))
      switch part.content {
      case .bytes(let bytes): try write(bytes)
      case .file(let file):
        if let contents {
          try write(Array(contents(file).utf8))
        } else {
          try copy(file, to: write)
        }
      }
      try write(Array("\r\n".utf8))
    }
    try write(Array(end.utf8))
  }

  private func copy(
    _ file: FormFile, to write: ([UInt8]) throws(CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) {
    var offset: Int64 = 0
    while offset < file.size {
      let piece = try file.file.read(
        at: offset, count: Int(clamping: min(file.size &- offset, 256 << 10)))
      guard !piece.isEmpty else {
        throw CrashReportDatabaseError(
          .fileSystemError, "\(file.file.path) became shorter while it was read")
      }
      try write(piece)
      offset &+= Int64(piece.count)
    }
  }

  private func start(of part: Part) -> String { "--\(boundary)\r\n\(part.header)\r\n" }
  private var end: String { "--\(boundary)--\r\n" }
}
