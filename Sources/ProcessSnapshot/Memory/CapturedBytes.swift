package import IntermediateDump

/// Captured memory, as references to pieces of a dump.
///
/// The bytes are copied and sanitized only when they are read.
package struct CapturedBytes: Sendable {
  private struct Piece {
    let source: DumpBytes
    /// The piece's bytes, as a range of `source`.
    var range: Range<Int>
    /// The offset of this piece from the start of the first piece.
    var start: Int
    /// Replaces words when bytes of a sanitized report are read; nil if the bytes are read as captured.
    var words: SanitizedWords?

    /// The part of this piece within a range of the `CapturedBytes`; nil if there is none.
    func part(_ wanted: Range<Int>) -> Piece? {
      let low = max(0, wanted.lowerBound - start)
      let high = min(range.count, wanted.upperBound - start)
      guard low < high else { return nil }
      var part = self
      part.range = range.lowerBound + low..<range.lowerBound + high
      return part
    }

    func slice() -> ArraySlice<UInt8>? {
      words.map { $0.slice(range, of: source) } ?? source.slice(range)
    }

    func forEachSlice<Failure: Error>(
      _ body: (ArraySlice<UInt8>) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
      guard let words else { return try source.forEachSlice(of: range, body) }
      var place = range.lowerBound
      while place < range.upperBound {
        let end = min(range.upperBound, place + 1 << 16)
        guard let slice = words.slice(place..<end, of: source) else { return false }
        try body(slice)
        place = end
      }
      return true
    }
  }

  private var pieces: [Piece] = []
  package private(set) var count = 0

  init(_ bytes: [UInt8]) { self.init(of: DumpBytes(bytes), 0..<bytes.count) }

  /// Refers to a range of a dump's bytes; the range must be within the dump.
  package init(of source: DumpBytes, _ range: Range<Int>) {
    pieces = [Piece(source: source, range: range, start: 0)]
    count = range.count
  }

  private init() {}

  /// The same memory, in which a filter replaces words.
  ///
  /// Each piece is filtered separately, so a word that reaches across two pieces is always replaced.
  ///
  /// - Parameter address: the address of the first byte.
  func sanitized(at address: Address, by filter: WordFilter) -> CapturedBytes {
    var result = self
    for index in pieces.indices where pieces[index].words == nil {
      result.pieces[index].words = SanitizedWords(
        filter: filter, whole: pieces[index].range,
        address: address &+ UInt64(pieces[index].start))
    }
    return result
  }

  /// Appends the bytes of `other` from `offset` on.
  mutating func append(_ other: CapturedBytes, from offset: Int) {
    for piece in other.pieces {
      guard var part = piece.part(offset..<other.count) else { continue }
      part.start = count
      pieces.append(part)
      count += part.range.count
    }
  }

  /// The memory in a range, which must be within `0..<count`.
  func part(_ range: Range<Int>) -> CapturedBytes {
    var part = CapturedBytes()
    forEachPiece(of: range) { piece in
      var piece = piece
      piece.start = part.count
      part.pieces.append(piece)
      part.count += piece.range.count
      return true
    }
    return part
  }

  /// Reads a range; nil if it is not within `0..<count`, or if the dump's file cannot be read.
  package func slice(_ range: Range<Int>) -> ArraySlice<UInt8>? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    var slice: ArraySlice<UInt8> = []
    var isWhole = true
    forEachPiece(of: range) { piece in
      guard let bytes = piece.slice() else {
        isWhole = false
        return false
      }
      if slice.isEmpty { slice = bytes } else { slice += bytes }
      return true
    }
    return isWhole ? slice : nil
  }

  /// Passes the bytes of a range to a closure, from front to back, in slices that are not kept in memory.
  ///
  /// - Returns: false if a part of the range cannot be read.
  package func forEachSlice<Failure: Error>(
    of range: Range<Int>, _ body: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    try forEachPiece(of: range) { (piece) throws(Failure) in try piece.forEachSlice(body) }
  }

  /// Passes the pieces of a range to a closure until the closure returns false.
  @discardableResult
  private func forEachPiece<Failure: Error>(
    of range: Range<Int>, _ body: (Piece) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    var index = max(0, pieces.partitioningIndex { $0.start > range.lowerBound } - 1)
    while index < pieces.count, pieces[index].start < range.upperBound {
      let part = pieces[index].part(range)
      index += 1
      guard let part else { continue }
      guard try body(part) else { return false }
    }
    return true
  }
}
