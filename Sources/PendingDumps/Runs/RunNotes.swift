package import IntermediateDump

/// What a process notes about its own end, near the start of its run record, at `RunNotePlace`.
///
/// The notes are at a fixed offset. So a process that calls `_exit`, or that a signal is about to end, can write a
/// note with one system call.
///
/// The layout is little-endian, with these sizes in bytes: end (4), padding (4), signal (4), reaction (4), time (8),
/// padding (8).
package struct RunNotes: Sendable {
  package typealias End = NotedEnd
  package typealias Reaction = NotedReaction

  package struct Termination: Sendable, Equatable {
    package var signal: UInt32
    package var reaction: Reaction
    /// The time of the signal in nanoseconds since 1970; 0 if the handler may not read clocks.
    package var time: Int64

    package init(signal: UInt32, reaction: Reaction, time: Int64) {
      self.signal = signal
      self.reaction = reaction
      self.time = time
    }
  }

  package var end: End?
  package var termination: Termination?

  package init(end: End? = nil, termination: Termination? = nil) {
    self.end = end
    self.termination = termination
  }

  /// Reads the notes; nil if there are too few or too many bytes.
  package init?(bytes: ArraySlice<UInt8>) {
    guard bytes.count == RunNotePlace.size else { return nil }
    end = bytes.littleEndian(at: 0, as: UInt32.self).flatMap(End.init(rawValue:))
    if let signal = bytes.littleEndian(at: 8, as: UInt32.self),
      let reaction = bytes.littleEndian(at: 12, as: UInt32.self).flatMap(Reaction.init(rawValue:)),
      let time = bytes.littleEndian(at: 16, as: Int64.self)
    {
      termination = Termination(signal: signal, reaction: reaction, time: time)
    }
  }

  /// The bytes of the notes as the run record contains them.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt64(end?.rawValue ?? 0))
    bytes.append(littleEndian: termination?.signal ?? 0)
    bytes.append(littleEndian: termination?.reaction.rawValue ?? 0)
    bytes.append(littleEndian: termination?.time ?? 0)
    bytes.append(littleEndian: UInt64(0))
    return bytes
  }
}
