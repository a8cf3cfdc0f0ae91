internal import CSignalSafe
internal import IntermediateDump

/// The division of the dump for the log into pieces.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Adds the pieces' lines to the lines of the summary.
  @_noLocks
  func appendPieces() {
    let summary = installed.summary
    var text = unsafe TextBuffer(summary.memory.address, capacity: CrashSummary.textSize)
    text.rewind(to: summary.size)
    var dump = unsafe Bytes(writer.bufferedBytes, count: writer.bufferedCount)
      .prefix(LogPiece.dumpSize)
    let count = (dump.count &+ LogPiece.payloadSize &- 1) / LogPiece.payloadSize
    for index in Indices(count) {
      unsafe text.append(
        piece: dump.prefix(LogPiece.payloadSize), number: index &+ 1, of: count,
        reportID: Bytes(session.names.reportID, count: 8))
      dump = dump.dropFirst(LogPiece.payloadSize)
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
    var bit = 0
    while bit < bytes.count &* 8 {
      let word = UInt64(bytes[bit / 8]) &<< 8 | UInt64(bytes[bit / 8 &+ 1])
      let letter = Int(truncatingIfNeeded: word &>> UInt64(truncatingIfNeeded: 10 &- bit & 7) & 63)
      append(byte: unsafe LogPiece.letters.utf8Start[letter])
      bit &+= 6
    }
  }
}
