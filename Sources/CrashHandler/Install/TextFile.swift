internal import Glibc
internal import IntermediateDump

/// Small files of the system, read in ordinary code.
enum TextFile {
  private static let pieceSize = 16384

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - isOneRecord: true where the first read gives all that is wanted, as with files of `/proc`
  ///     that the kernel makes in one piece.
  /// - Returns: its bytes, at most 1 MiB; nil if it cannot be read.
  static func bytes(_ path: String, isOneRecord: Bool = false) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard var contents = piece(of: descriptor, isOneRecord: isOneRecord) else { return nil }
    while !isOneRecord, contents.count % pieceSize == 0, !contents.isEmpty,
      contents.count < 1 << 20
    {
      guard let next = piece(of: descriptor, isOneRecord: false) else { return nil }
      if next.isEmpty { break }
      contents += next
    }
    return contents
  }

  /// Reads until there are as many bytes as a piece has, or no more; nil where that fails.
  private static func piece(of descriptor: Int32, isOneRecord: Bool) -> [UInt8]? {
    var failed = false
    let piece = unsafe [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, count in
      while count < pieceSize, let base = buffer.baseAddress {
        let result = unsafe Glibc.read(descriptor, base + count, pieceSize - count)
        if result < 0, errno == EINTR { continue }
        failed = result < 0
        if result <= 0 { return }
        count += result
        if isOneRecord { return }
      }
    }
    return failed ? nil : piece
  }

  /// The same as text.
  static func text(_ path: String, isOneRecord: Bool = false) -> String? {
    bytes(path, isOneRecord: isOneRecord).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The number that a file begins with.
  static func number(_ path: String) -> UInt64? {
    text(path, isOneRecord: true).flatMap { UInt64($0.trimmingLineEnd()) }
  }
}

extension String {
  /// Without the line feed that files of /proc end with.
  func trimmingLineEnd() -> String {
    utf8.last == UInt8(ascii: "\n") ? String(dropLast()) : self
  }

  /// The lines without their ends, none of them made before it is asked for.
  var lazyLines: some Sequence<Substring> {
    sequence(state: self[...]) { rest in
      rest.isEmpty ? nil : rest.cut(before: UInt8(ascii: "\n")) ?? rest.cutAll()
    }
  }
}

extension Substring {
  /// The word at a place, from 0, of those between blanks.
  func word(_ place: Int) -> Substring? {
    var rest = self
    var left = place
    while !rest.isEmpty {
      let word = rest.cut(before: UInt8(ascii: " ")) ?? rest.cutAll()
      if word.isEmpty { continue }
      if left == 0 { return word }
      left -= 1
    }
    return nil
  }
}
