package import ProcessSnapshot

extension SymbolSource {
  /// Reads constant data at an address of the process from the module's file.
  ///
  /// - Returns: nil if no file of the crashed build is found, or the data is not constant.
  package func constants(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]? {
    symbols(of: module)?.constants(at: address, count: count, in: module)
  }
}

extension ModuleSymbols {
  fileprivate func constants(at address: Address, count: Int, in module: ModuleSnapshot) -> [UInt8]?
  {
    guard isVerified, let image = files.image, let first = image.elf.firstAddress else {
      return nil
    }
    return image.elf.constantBytes(
      at: first &+ address.wrappedDistance(above: module.address), count: count)
  }
}

extension ELFFile {
  /// Reads the bytes that are loaded at an address, if the program cannot change them.
  ///
  /// Linkers put some constants into a writable segment, as gold does in Swift's libraries. If such a
  /// constant is relocated, the result is its bytes in the file, and not the value that the loader computed.
  fileprivate func constantBytes(at address: Address, count: Int) -> [UInt8]? {
    let isConstant =
      segments.contains {
        $0.type == Self.load && $0.flags & 2 == 0 && $0.memoryRange.contains(address)
      }
      || sections.contains {
        ($0.name == ".rodata" || $0.name == ".data.rel.ro")
          && AddressRange(start: $0.address, byteCount: $0.size).contains(address)
      }
    return isConstant ? loadedBytes(at: address, count: count) : nil
  }
}
