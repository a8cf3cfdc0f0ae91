internal import CSignalSafe
internal import IntermediateDump

/// The dump for the log, in the writer's buffer, and its division into pieces.
///
/// The dump consists of parts whose maps and arrays all end. A piece contains whole parts, so a lost piece takes no
/// other part with it. A part that has no room is left out.
///
/// The ends of the pieces are in the summary's memory, so that the parts before a fault are still written.
///
/// RUNS-DURING-CRASH.
@safe
struct LogPieces {
  private let capture: Capture
  private let ends: Scratch
  /// The position of the first byte of the current piece.
  private var start = 0
  /// The position after the last part.
  private var end = 0
  private var count = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    ends = capture.installed.summary.pieceEnds
    ends.setWord(0, 0)
    capture.writer.restart(on: -1)
  }

  /// Ends the current part; returns false if the part has no room, and removes it.
  @_noLocks @discardableResult
  mutating func endPart() -> Bool {
    let size = capture.writer.bufferedCount
    guard size > end else { return true }
    if count == 0 || size &- start > LogPiece.payloadSize {
      guard size &- end <= LogPiece.payloadSize, count < LogPiece.maximumCount else {
        capture.writer.rewind(to: end)
        return false
      }
      start = end
      count &+= 1
    }
    end = size
    ends.setWord(count &* 8, UInt64(truncatingIfNeeded: end))
    ends.setWord(0, UInt64(truncatingIfNeeded: count))
    return true
  }

  /// True if the current piece has room for the current part and `size` more bytes.
  @_noLocks
  func hasRoom(_ size: Int) -> Bool {
    capture.writer.bufferedCount &+ size &- start <= LogPiece.payloadSize
  }
}

extension Capture {
  /// Adds the pieces' lines to the lines of the summary.
  @_noLocks
  func appendPieces() {
    let summary = installed.summary
    var text = unsafe TextBuffer(summary.memory.address, capacity: CrashSummary.textSize)
    text.rewind(to: summary.size)
    let dump = unsafe Bytes(writer.bufferedBytes, count: writer.bufferedCount)
    let ends = summary.pieceEnds
    let count = Int(truncatingIfNeeded: ends.word(0))
    var start = 0
    for index in Indices(count) {
      let end = Int(truncatingIfNeeded: ends.word((index &+ 1) &* 8))
      unsafe text.append(
        piece: dump.dropFirst(start).prefix(end &- start), number: index &+ 1, of: count,
        reportID: Bytes(session.names.reportID, count: LogPiece.idLength / 2))
      start = end
    }
    summary.size = text.count
  }
}

extension TextBuffer {
  /// Appends a line in the format of `LogPiece`.
  fileprivate mutating func append(piece: Bytes, number: Int, of total: Int, reportID: Bytes) {
    let start = count
    append(LogPiece.beginning)
    append(hexadecimal: reportID)
    append("-", decimal: Int64(number))
    append("of", decimal: Int64(total))
    append("-")
    append(decimal: Int64((piece.count &* 4 &+ 2) / 3), digits: 3)
    append("-")
    append(base64: piece)
    let checksum = unsafe LogPiece.checksum(of: place + start, count: count &- start)
    append("-")
    append(hexadecimal: UInt64(checksum), digits: 8)
    append(byte: 0x0A)
  }

  private mutating func append(base64 bytes: Bytes) {
    var (rest, bits): (UInt64, UInt64) = (0, 0)
    for index in Indices(bytes.count) {
      rest = rest &<< 8 | UInt64(bytes[index])
      bits &+= 8
      while bits >= 6 {
        bits &-= 6
        append(sextet: rest &>> bits & 63)
      }
    }
    if bits > 0 { append(sextet: rest &<< (6 &- bits) & 63) }
  }

  private mutating func append(sextet: UInt64) {
    append(byte: unsafe LogPiece.letters.utf8Start[Int(truncatingIfNeeded: sextet)])
  }
}
