internal import IntermediateDump
internal import ProcessSnapshot

/// The files of one module that belong to the build that crashed: the module's file, and its separate debug file.
///
/// A file is recognized by its build ID. If the dump has no build ID of the module, the file at the module's path is
/// used only if it has no build ID either, and a debug file is recognized by the checksum in `.gnu_debuglink`.
struct SymbolFiles {
  /// The file with code; nil if only a debug file was found.
  private(set) var image: ELFImage?
  /// The file with debug information or symbols that `image` lacks.
  private(set) var debug: ELFImage?
  /// Notes about why names or lines may be missing.
  private(set) var notes: [String] = []

  /// The files that were found; the file with code comes first.
  var all: [ELFImage] { [image, debug].compactMap { $0 } }

  /// Finds and opens the files of a module.
  ///
  /// - Parameters:
  ///   - module: the module as the dump describes it.
  ///   - directories: directories to search in addition to the module's path and `/usr/lib/debug`.
  ///   - limit: limits the work for a debug file that can only be recognized by its checksum.
  /// - Throws: `StackwalkError` if no file of the module's build was found.
  init(
    of module: ModuleSnapshot, directories: SymbolDirectories, _ limit: WorkLimit = WorkLimit()
  ) throws(StackwalkError) {
    var failure: StackwalkError?
    for path in directories.ownPaths(of: module) where image == nil {
      do throws(StackwalkError) {
        let own = try ELFImage(path: path)
        guard own.elf.buildID == module.buildID else {
          throw StackwalkError(Self.refusal(of: module), path: path)
        }
        (image, failure) = (own, nil)
      } catch {
        failure = error
      }
    }
    let other = findOthers(module, directories, limit)
    guard image != nil || debug != nil else {
      // The error about a file of another build is more helpful than the error about a missing file.
      let refusal = Self.refusal(of: module)
      let another = other.map { StackwalkError(refusal, path: $0) }
      let own = failure ?? StackwalkError(.notELF, path: module.path)
      throw own.code == refusal ? own : another ?? own
    }
    if let failure, let found = image ?? debug {
      notes.append("\(failure); names and lines are from \(found.path)")
    }
    noteUnreadParts()
  }

  /// The reason why a file with another build ID than the module's is not used.
  ///
  /// The dump has no build ID for a module that had none, or whose build ID could not be read.
  private static func refusal(of module: ModuleSnapshot) -> StackwalkError.Code {
    module.buildID.isEmpty ? .unknownBuild : .notTheSameBuild
  }

  /// Searches for files in places other than the module's path.
  ///
  /// - Returns: the path of the first file in these places that belongs to another build; nil if there is none, or if
  ///   no search is needed.
  private mutating func findOthers(
    _ module: ModuleSnapshot, _ directories: SymbolDirectories, _ limit: WorkLimit
  ) -> String? {
    if image?.hasDebugInformation == true { return nil }
    var other: String?
    for path in Self.candidates(for: module, directories: directories.paths) where !isComplete {
      guard path != module.path, let found = try? ELFImage(path: path) else { continue }
      if found.elf.buildID == module.buildID, !module.buildID.isEmpty {
        take(found)
      } else if other == nil {
        other = path
      }
    }
    if let image, debug == nil { followLink(of: image, module, directories.paths, limit) }
    guard !isComplete else { return other }
    for path in directories.files(of: module.buildID) where !isComplete && path != module.path {
      if let found = try? ELFImage(path: path) { take(found) }
    }
    return other
  }

  /// True if the module's code and debug information were found, so that no other file is needed.
  ///
  /// A debug file alone is not enough, because it has no code and no unwind tables.
  private var isComplete: Bool {
    guard let image else { return false }
    return image.hasDebugInformation || debug?.hasDebugInformation == true
  }

  private var isStripped: Bool {
    !all.contains { $0.hasSymbolTable || $0.hasDebugInformation }
  }

  private mutating func take(_ found: ELFImage) {
    if image == nil, found.hasCode {
      image = found
    } else if debug?.hasDebugInformation != true,
      found.hasDebugInformation || (found.hasSymbolTable && image?.hasSymbolTable != true)
    {
      debug = found
    }
  }

  private mutating func followLink(
    of image: ELFImage, _ module: ModuleSnapshot, _ directories: [String], _ limit: WorkLimit
  ) {
    guard let link = DebugLink(of: image.elf) else { return }
    let given = directories.map { "\($0)/\(link.name)" }
    let near = link.candidates(for: module.path)
    let others = image.path == module.path ? [] : link.candidates(for: image.path)
    for path in given + near + others where path != image.path {
      guard let found = try? ELFImage(path: path) else { continue }
      let buildID = found.elf.buildID
      var isSame = buildID == module.buildID
      if buildID.isEmpty || module.buildID.isEmpty {
        let size = found.elf.file.size
        guard size <= CRC32.maximumSize, limit.spend(Int(clamping: size / 8)) else {
          notes.append("the debug file \(path) is too large to be compared")
          continue
        }
        isSame = CRC32.of(found.elf.file) == link.checksum
      }
      if isSame {
        debug = found
        return
      }
      notes.append("the debug file \(path) is not of the same build")
    }
  }

  private mutating func noteUnreadParts() {
    if all.contains(where: { $0.elf.section(named: ".gnu_debugaltlink") != nil }) {
      notes.append("parts of its debug information are in a file of dwz, which is not read")
    }
    if isStripped,
      image?.elf.section(named: ".gnu_debugdata") != nil
    {
      notes.append("its symbols are in .gnu_debugdata (xz), which is not read")
    }
  }

  /// A note that the files are stripped, so they contain no names except those of dynamic symbols; nil if they are not
  /// stripped.
  var missingNames: String? {
    guard let first = all.first, isStripped else { return nil }
    let link = image.flatMap { DebugLink(of: $0.elf) }
    return "\(first.path) is stripped: it has neither a symbol table nor debug information"
      + (link.map { ", and its debug file \($0.name) was not found" } ?? "")
  }

  /// Lists the paths at which a module's file or debug file may be.
  ///
  /// Paths made from the build ID come first, then paths made from the name.
  static func candidates(
    for module: ModuleSnapshot, directories: [String], debugDirectory: String = "/usr/lib/debug"
  ) -> [String] {
    var paths: [String] = []
    if module.buildID.count > 1 {
      let all = module.buildID.hexadecimal
      let (first, rest) = (all.prefix(2), all.dropFirst(2))
      for directory in directories {
        paths += [
          "\(directory)/.build-id/\(first)/\(rest).debug",
          "\(directory)/.build-id/\(first)/\(rest)",
          "\(directory)/\(first)/\(rest).debug", "\(directory)/\(first)/\(rest)",
          // These paths follow the layout of debuginfod's cache.
          "\(directory)/\(all)/debuginfo", "\(directory)/\(all)/executable",
        ]
      }
      paths.append("\(debugDirectory)/.build-id/\(first)/\(rest).debug")
    }
    for directory in directories {
      for name in [module.name, module.name + ".debug"] where !module.name.isEmpty {
        paths.append("\(directory)/\(name)")
      }
      // The directory may mirror a root file system, so the module's full path is also tried below the directory.
      if module.path.hasPrefix("/") {
        paths += ["\(directory)\(module.path)", "\(directory)\(module.path).debug"]
      }
    }
    return paths
  }
}

extension ELFImage {
  var hasDebugInformation: Bool {
    elf.section(named: ".debug_info") != nil || elf.section(named: ".zdebug_info") != nil
  }

  var hasSymbolTable: Bool { elf.section(named: ".symtab") != nil }

  /// True if a section of the file contains code; false for a separate debug file, whose code sections have the type
  /// SHT_NOBITS.
  var hasCode: Bool {
    elf.sections.contains { section in
      section.flags & 4 != 0 && section.type == 1 && section.size > 0
    }
  }
}

/// The name and the checksum of a separate debug file, from the section `.gnu_debuglink`.
///
/// Source: GDB manual, "Separate Debug Files".
struct DebugLink: Equatable {
  let name: String
  let checksum: UInt32

  /// Reads the section; nil if there is no valid section, or if the name contains a slash.
  init?(of elf: borrowing ELFFile) {
    guard let section = elf.section(named: ".gnu_debuglink"), section.size <= 4096,
      let bytes = elf.file.bytes(at: section.fileOffset, count: Int(clamping: section.size)),
      let end = bytes.firstIndex(of: 0),
      let checksum = bytes.littleEndian(at: (end + 4) & ~3, as: UInt32.self)
    else { return nil }
    name = String(decoding: bytes[..<end], as: UTF8.self)
    self.checksum = checksum
    guard !name.isEmpty, !name.contains("/") else { return nil }
  }

  /// Lists the paths where debuggers search for the debug file that a module's `.gnu_debuglink` names.
  func candidates(for module: String, debugDirectory: String = "/usr/lib/debug") -> [String] {
    let parent = module.lastIndex(of: "/").map { String(module[..<$0]) } ?? ""
    return [
      "\(parent)/\(name)", "\(parent)/.debug/\(name)", "\(debugDirectory)\(parent)/\(name)",
    ]
  }
}

/// Computes the checksum with which `.gnu_debuglink` identifies a file.
///
/// Source: ITU-T V.42, 8.1.1.6.2 (polynomial); GDB manual, "Separate Debug Files".
struct CRC32 {
  /// The maximum size in bytes of a file whose checksum is computed.
  ///
  /// A larger file may be a sparse file with which an attacker wants to waste time.
  static let maximumSize: UInt64 = 1 << 30

  private static let table: [UInt32] = (0..<256).map { index in
    var value = UInt32(truncatingIfNeeded: index)
    for _ in 0..<8 { value = value & 1 != 0 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    return value
  }

  private var state: UInt32 = ~0

  mutating func add(_ bytes: [UInt8]) {
    let table = Self.table
    var state = state
    for byte in bytes { state = state >> 8 ^ table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] }
    self.state = state
  }

  var value: UInt32 { ~state }

  /// Computes the checksum of a whole file; nil if it cannot be read.
  static func of(_ file: borrowing ModuleFile) -> UInt32? {
    var checksum = CRC32()
    var offset: UInt64 = 0
    while offset < file.size {
      let count = Int(clamping: min(1 << 20, file.size &- offset))
      guard let bytes = file.bytes(at: offset, count: count) else { return nil }
      checksum.add(bytes)
      offset &+= UInt64(count)
    }
    return checksum.value
  }
}
