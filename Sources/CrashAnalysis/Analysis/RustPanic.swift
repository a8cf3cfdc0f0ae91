internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the message and the place of a Rust panic on the stack of the thread that aborted the process.
///
/// The function that handles the panic keeps there the message (a pointer and a length) and a pointer to the place,
/// which is a constant: the file's name (a pointer and a length), the line and the column.
///
/// Source: Rust library/std/src/panicking.rs, library/core/src/panic/location.rs.
struct RustPanic {
  /// The maximum number of words of the stack that are examined.
  private static let wordLimit: UInt64 = 128
  /// The maximum number of bytes of a message or of a file's name.
  private static let textLimit: UInt64 = 4096
  private static let handlers = ["panic_handler", "begin_panic", "rust_begin_unwind"]

  private let code: CodeReader
  private let words: [UInt64]

  /// Returns nil if the stack has no function that handles a panic.
  ///
  /// - Parameter code: reads the memory of the process, and constants from the modules' files.
  init?(_ frames: [StackFrame], _ code: CodeReader) {
    let handler = frames.firstIndex { frame in
      guard let name = frame.linkageName, RustCode.isName(name), let function = frame.function
      else {
        return false
      }
      return RustCode.isLibrary(function) && Self.handlers.contains(where: function.contains)
        && !function.contains("__rust_end_short_backtrace")
    }
    guard let handler, let start = frames[handler].stackPointer?.alignedDown(to: 8) else {
      return nil
    }
    let caller = frames[handler...].first { frame in
      frame.function.map { !RustCode.isLibrary($0) } ?? true
    }
    let size = caller?.stackPointer.flatMap { $0.distance(above: start) } ?? .max
    self.code = code
    words = (0..<min(size / 8, Self.wordLimit)).map { index in
      code.snapshot.memory.word(at: start &+ index &* 8) ?? 0
    }
  }

  /// The text that Rust's own panic handler would print, in one line; nil if the message is not in the dump.
  var message: String? {
    let pairs = zip(words, words.dropFirst())
    guard let text = pairs.lazy.compactMap({ text(at: $0, count: $1) }).first else { return nil }
    let place = words.lazy.compactMap(place).first
    return "panicked" + (place.map { " at " + $0 } ?? "") + ": " + text
  }

  /// The place to which a word points, such as "src/main.rs:6:51".
  private func place(at word: UInt64) -> String? {
    guard word >= 0x1_0000, word & 7 == 0,
      let bytes = code.bytes(at: Address(word), count: 24)?[...],
      let start = bytes.littleEndian(at: 0, width: 8),
      let count = bytes.littleEndian(at: 8, width: 8),
      let line = bytes.littleEndian(at: 16, width: 4),
      let column = bytes.littleEndian(at: 20, width: 4), line > 0, column > 0,
      let file = text(at: start, count: count), file.hasSuffix(".rs")
    else { return nil }
    return "\(file):\(line):\(column)"
  }

  private func text(at start: UInt64, count: UInt64) -> String? {
    guard start >= 0x1_0000, 1...Self.textLimit ~= count,
      let bytes = code.bytes(at: Address(start), count: Int(clamping: count)),
      !bytes.contains(where: { $0 < 0x20 && ![0x09, 0x0A, 0x0D].contains($0) || $0 == 0x7F })
    else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
