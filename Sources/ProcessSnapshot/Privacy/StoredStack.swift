package import IntermediateDump

/// The frames of a thread's stack, stored instead of the memory in which they were found.
package struct StoredStack: Sendable, Equatable {
  package struct Frame: Sendable, Equatable {
    package var address: Address
    /// The stack pointer of the frame; 0 if it is not known.
    package var stackPointer: Address
    package var isReturnAddress: Bool
    /// The method that found the frame, as a raw value of `StoredTrust`.
    package var trust: UInt8

    package init(
      address: Address, stackPointer: Address, isReturnAddress: Bool, trust: UInt8
    ) {
      self.address = address
      self.stackPointer = stackPointer
      self.isReturnAddress = isReturnAddress
      self.trust = trust
    }
  }

  /// The reason why the walk ended, as a raw value of `StoredStackEnd`.
  package var end: UInt8
  /// The frames, the innermost first.
  package var frames: [Frame]
  /// The addresses at which asynchronous callers will continue, innermost first; nil if there are none.
  package var asyncCallers: [Address]?
  /// True if the chain of asynchronous callers leads into memory that was not captured.
  package var isAsyncCut: Bool

  package init(
    end: UInt8, frames: [Frame] = [], asyncCallers: [Address]? = nil, isAsyncCut: Bool = false
  ) {
    self.end = end
    self.frames = frames
    self.asyncCallers = asyncCallers
    self.isAsyncCut = isAsyncCut
  }
}

extension StoredStack: FieldValue {
  private static var headSize: Int { 16 }
  private static var frameSize: Int { 18 }
  /// The maximum number of frames, and of asynchronous callers, that are stored for one thread.
  ///
  /// The frames of a thread take at most 576 KiB, and the callers at most 256 KiB.
  package static var limit: Int { 32_768 }

  package init?(_ key: IntermediateDumpKey, in map: IntermediateDumpMap) {
    guard let data = map.data(key), let head = data.littleEndian(at: 0, width: 8),
      let callerCount = data.littleEndian(at: 4, width: 4),
      let frameCount = data.littleEndian(at: 8, width: 4), callerCount <= Self.limit,
      frameCount <= Self.limit,
      case let callerCount = Int(truncatingIfNeeded: callerCount),
      case let frameCount = Int(truncatingIfNeeded: frameCount),
      data.count >= Self.headSize + callerCount * 8 + frameCount * Self.frameSize
    else { return nil }
    self.init(end: UInt8(truncatingIfNeeded: head), isAsyncCut: head >> 8 & 0xFF != 0)
    func address(_ place: Int) -> Address { Address(data.littleEndian(at: place, width: 8) ?? 0) }
    if head >> 16 & 0xFF != 0 {
      asyncCallers = (0..<callerCount).map { address(Self.headSize + $0 * 8) }
    }
    var place = Self.headSize + callerCount * 8
    for _ in 0..<frameCount {
      let flags = data.littleEndian(at: place + 16, width: 2) ?? 0
      frames.append(
        Frame(
          address: address(place), stackPointer: address(place + 8),
          isReturnAddress: flags & 0xFF != 0, trust: UInt8(truncatingIfNeeded: flags >> 8)))
      place += Self.frameSize
    }
  }

  package func write(_ key: IntermediateDumpKey, to writer: inout IntermediateDumpWriter) {
    var bytes: [UInt8] = []
    let callers = (asyncCallers ?? []).prefix(Self.limit)
    let frames = frames.prefix(Self.limit)
    bytes += [end, isAsyncCut ? 1 : 0, asyncCallers == nil ? 0 : 1, 0]
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: callers.count))
    bytes.append(littleEndian: UInt64(frames.count))
    for caller in callers { bytes.append(littleEndian: caller.value) }
    for frame in frames {
      bytes.append(littleEndian: frame.address.value)
      bytes.append(littleEndian: frame.stackPointer.value)
      bytes += [frame.isReturnAddress ? 1 : 0, frame.trust]
    }
    writer.write(key, bytes)
  }

  package static var kinds: IntermediateDumpKeyKinds { [.bytes] }
}
