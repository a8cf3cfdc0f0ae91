internal import CSignalSafe
internal import IntermediateDump

/// The division of the dump for the log into pieces.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Adds the pieces to the lines of the summary, in the format of `LogPiece`.
  @_noLocks
  func appendPieces() {
    let summary = installed.summary
    var text = unsafe TextBuffer(summary.memory.address, capacity: CrashSummary.textSize)
    text.rewind(to: summary.size)
    var dump = unsafe Bytes(writer.bufferedBytes, count: writer.bufferedCount)
      .prefix(LogPiece.dumpSize)
    let count = (dump.count &+ LogPiece.payloadSize &- 1) / LogPiece.payloadSize
    for index in Indices(count) {
      let (start, piece) = (text.count, dump.prefix(LogPiece.payloadSize))
      dump = dump.dropFirst(LogPiece.payloadSize)
      text.append(LogPiece.beginning)
      unsafe text.append(hexadecimal: Bytes(session.names.reportID, count: 8))
      text.append("-", decimal: Int64(index &+ 1))
      text.append("of", decimal: Int64(count))
      text.append("-")
      text.append(decimal: Int64((piece.count &* 4 &+ 2) / 3), digits: 3)
      text.append("-")
      text.append(base64: piece)
      let checksum = unsafe LogPiece.checksum(of: text.place + start, count: text.count &- start)
      text.append("-")
      text.append(hexadecimal: UInt64(checksum), digits: 8)
      text.append(byte: 0x0A)
    }
    summary.size = text.count
  }
}

extension TextBuffer {
  fileprivate mutating func append(base64 bytes: Bytes) {
    var bit = 0
    while bit < bytes.count &* 8 {
      let word = UInt64(bytes[bit / 8]) &<< 8 | UInt64(bytes[bit / 8 &+ 1])
      let letter = Int(truncatingIfNeeded: word &>> UInt64(truncatingIfNeeded: 10 &- bit & 7) & 63)
      append(byte: unsafe LogPiece.letters.utf8Start[letter])
      bit &+= 6
    }
  }
}
