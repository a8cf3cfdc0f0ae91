internal import Glibc

/// Writes text to a file in pieces of 256 KiB.
///
/// `BreakpadOutput` keeps the first failure, and writes nothing more after it.
struct BreakpadOutput {
  private static let pieceSize = 1 << 18

  private let descriptor: Int32
  private let target: String
  /// The maximum size in bytes; a longer text is cut after a line.
  private let maximumSize: Int
  private var buffer: [UInt8] = []
  /// The number of bytes that were written to the file.
  private var written = 0
  private var failure: StackwalkError?
  /// True if a line did not fit; this line and all later lines are missing.
  private(set) var isCut = false

  /// Makes an output without text.
  ///
  /// - Parameters:
  ///   - descriptor: a regular file, open for reading and writing.
  ///   - target: the path of the file, for error messages.
  ///   - maximumSize: the maximum size of the text in bytes; a longer text is cut.
  init(to descriptor: Int32, named target: String, maximumSize: Int) {
    self.descriptor = descriptor
    self.target = target
    self.maximumSize = maximumSize
  }

  mutating func addLine(_ line: String) {
    guard !isCut, written + buffer.count + line.utf8.count < maximumSize else {
      isCut = true
      return
    }
    buffer += line.utf8
    buffer.append(0x0A)
    if buffer.count >= Self.pieceSize { flush() }
  }

  private mutating func flush() {
    write(buffer, at: written)
    written += buffer.count
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes the rest of the text, and then inserts a header before the whole text.
  ///
  /// The contents of the header are known only after all text has been written.
  ///
  /// - Throws: `StackwalkError` with the errno of the first failure.
  mutating func finish(after header: [UInt8]) throws(StackwalkError) {
    flush()
    // The text is moved piece by piece from its end, so that no bytes are overwritten before they have been moved.
    var end = written
    while failure == nil, end > 0 {
      let start = max(0, end - Self.pieceSize)
      write(read(at: start, count: end - start), at: start + header.count)
      end = start
    }
    write(header, at: 0)
    if let failure { throw failure }
  }

  private mutating func write(_ bytes: [UInt8], at offset: Int) {
    guard failure == nil else { return }
    do throws(StackwalkError) {
      try DebugFile.write(bytes, at: UInt64(clamping: offset), to: descriptor, named: target)
    } catch {
      failure = error
    }
  }

  private mutating func read(at offset: Int, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let result = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset + done))
      }
      if result < 0, errno == EINTR { continue }
      guard result > 0 else {
        // At the end of the file, `pread` does not set errno, so EIO is used.
        failure = StackwalkError(.cannotWrite, path: target, errno: result == 0 ? EIO : errno)
        break
      }
      done += result
    }
    return bytes
  }
}
