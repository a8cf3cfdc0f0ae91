/// The name and checksum of a split debug file, from the section `.gnu_debuglink`.
///
/// Source: GDB manual, "Separate Debug Files".
struct DebugLink: Equatable {
  let name: String
  let checksum: UInt32

  /// Nil where the file has none, or a name that is not just a name.
  init?(of elf: borrowing ELFFile) {
    guard let section = elf.section(named: ".gnu_debuglink"), section.size <= 4096,
      let bytes = elf.file.bytes(at: section.fileOffset, count: Int(clamping: section.size)),
      let end = bytes.firstIndex(of: 0),
      let checksum = bytes.integer(at: (end + 4) & ~3, as: UInt32.self)
    else { return nil }
    name = String(decoding: bytes[..<end], as: UTF8.self)
    self.checksum = checksum
    guard !name.isEmpty, !name.contains("/") else { return nil }
  }

  /// Where debuggers look for it, for a module at a path.
  func candidates(for module: String, debugFolder: String = "/usr/lib/debug") -> [String] {
    let folder = module.lastIndex(of: "/").map { String(module[..<$0]) } ?? ""
    return [
      "\(folder)/\(name)", "\(folder)/.debug/\(name)", "\(debugFolder)\(folder)/\(name)",
    ]
  }
}
