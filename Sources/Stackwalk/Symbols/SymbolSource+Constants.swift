package import ProcessSnapshot

extension SymbolSource {
  /// Reads what a module's file has at an address of the process, among its constants.
  ///
  /// - Returns: nil where the file of the build is not found.
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
  /// Reads the bytes that are loaded at an address, where the program does not change them.
  ///
  /// Linkers put constants into a segment that can be written, too: gold those of Swift's libraries. What the
  /// loader has relocated there is not in the file.
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
