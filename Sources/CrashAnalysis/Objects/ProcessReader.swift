internal import IntermediateDump
package import ProcessSnapshot

/// Reads the memory of a process to find the types of its objects.
///
/// Data that the program may have changed is read only from the process's memory. Constants are read from the modules'
/// files, or from the process's memory if no file contains them.
///
/// The number of reads is limited, because an attacker's dump can contain references that form a cycle.
package final class ProcessReader {
  package typealias Bytes = (Address, Int) -> ArraySlice<UInt8>?

  private let memory: Bytes
  private let file: Bytes
  private var readsLeft: Int

  /// - Parameters:
  ///   - memory: reads the process's memory as it was at the time of the crash.
  ///   - constants: reads constant data from the modules' files.
  ///   - reads: the maximum number of reads.
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

  /// The 32-bit integer at an address of constant data; nil if it cannot be read.
  func constant(_ address: Address) -> UInt32? {
    constants(address, count: 4).flatMap { $0.littleEndian(at: 0, as: UInt32.self) }
  }

  /// The address to which the relative reference at `address` points; nil if the reference is null or cannot be read.
  ///
  /// Source: swift include/swift/Basic/RelativePointer.h.
  func relative(_ address: Address) -> Address? {
    guard let distance = constant(address), distance != 0 else { return nil }
    return address &+ UInt64(bitPattern: Int64(Int32(bitPattern: distance)))
  }

  /// The address to which a direct or indirect relative reference points.
  ///
  /// If the lowest bit of the reference is set, the reference leads to a pointer that contains the address. Such
  /// pointers are used for symbols in other modules.
  func indirect(_ address: Address) -> Address? {
    guard let place = relative(address) else { return nil }
    guard place.value & 1 == 1 else { return place }
    return word(place &- 1).map { Address($0) }
  }

  /// The NUL-terminated name at an address, cut after about 255 bytes; nil if it cannot be read, is empty, has control
  /// characters, or is not UTF-8.
  func name(_ address: Address) -> String? {
    var name: [UInt8] = []
    // Near the end of the captured memory or of a module's segment, read fewer bytes at a time, because a read past the
    // end fails.
    var step = 32
    while name.count < 255 {
      guard let bytes = constants(address &+ UInt64(name.count), count: step) else {
        if step == 1 { break }
        step /= 4
        if step == 0 { step = 1 }
        continue
      }
      let part = bytes.prefix { $0 != 0 }
      // Names are UTF-8 without control characters, so bytes with control characters are not a name.
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
