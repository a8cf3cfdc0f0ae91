internal import IntermediateDump
package import ProcessSnapshot

/// Reads a process for the names of its objects: what may have changed from its memory alone, constants
/// from the modules' files too.
///
/// Bounded: a hostile dump can lead around in circles.
package final class ProcessReader {
  package typealias Bytes = (Address, Int) -> ArraySlice<UInt8>?

  private let memory: Bytes
  private let file: Bytes
  private var readsLeft: Int

  /// - Parameters:
  ///   - memory: the process's memory at the crash.
  ///   - constants: reads constant data from the modules' files.
  ///   - reads: the most that are made.
  package init(memory: @escaping Bytes, constants: @escaping Bytes, reads: Int = 1 << 16) {
    self.memory = memory
    file = constants
    readsLeft = reads
  }

  var isSpent: Bool { readsLeft <= 0 }

  func word(_ address: Address) -> UInt64? {
    spend() ? memory(address, 8)?.littleEndian(at: 0, width: 8) : nil
  }

  func bytes(_ address: Address, count: Int) -> ArraySlice<UInt8>? {
    spend() ? memory(address, count) : nil
  }

  /// Four bytes of a constant.
  func constant(_ address: Address) -> UInt32? {
    constants(address, count: 4).flatMap { $0.littleEndian(at: 0, as: UInt32.self) }
  }

  /// The place that a relative reference leads to; nil for a reference to nothing.
  ///
  /// Source: swift include/swift/Basic/RelativePointer.h.
  func relative(_ address: Address) -> Address? {
    guard let distance = constant(address), distance != 0 else { return nil }
    return address &+ UInt64(bitPattern: Int64(Int32(bitPattern: distance)))
  }

  /// A relative address, or an address read through a pointer if the lowest bit is set, which is used for other
  /// modules.
  func indirect(_ address: Address) -> Address? {
    guard let place = relative(address) else { return nil }
    guard place.value & 1 == 1 else { return place }
    return word(place &- 1).map { Address($0) }
  }

  /// A name of at most 255 bytes, up to its end or to a byte that no name contains.
  func name(_ address: Address) -> String? {
    var name: [UInt8] = []
    // Fewer where the memory or the segment ends.
    var step = 32
    while name.count < 255 {
      guard let bytes = constants(address &+ UInt64(name.count), count: step) else {
        if step == 1 { break }
        step /= 4
        if step == 0 { step = 1 }
        continue
      }
      let part = bytes.prefix { $0 != 0 }
      // Names are UTF-8 without control characters.
      guard !part.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
      name += part
      if part.count < bytes.count { break }
    }
    return name.isEmpty ? nil : String(validating: name, as: UTF8.self)
  }

  func constants(_ address: Address, count: Int) -> ArraySlice<UInt8>? {
    spend() ? file(address, count) ?? memory(address, count) : nil
  }

  private func spend() -> Bool {
    readsLeft -= 1
    return readsLeft >= 0
  }
}
