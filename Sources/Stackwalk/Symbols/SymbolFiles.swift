internal import ProcessSnapshot

/// The files that tell of one module: its own, and a split debug file.
///
/// A file counts only if it is the build that crashed: by its build ID, or by the checksum of
/// `.gnu_debuglink` where a debug file has no build ID.
struct SymbolFiles {
  /// With code; nil if only a debug file of the same build was found.
  private(set) var image: ELFImage?
  /// With debug information that `image` lacks.
  private(set) var debug: ELFImage?
  /// What somebody who misses names or lines should know.
  private(set) var notes: [String] = []

  /// Finds them.
  ///
  /// - Parameters:
  ///   - module: as the dump describes it.
  ///   - folders: where to look besides the module's own path and the system's debug folder.
  /// - Throws: `StackwalkError` of the module's own path, if nothing of its build was found.
  init(of module: ModuleSnapshot, folders: [String]) throws(StackwalkError) {
    var failure: StackwalkError?
    do throws(StackwalkError) {
      let own = try ELFImage(path: module.path)
      // A dump keeps every build ID there is, so a file that has one where the dump has none is
      // another build.
      guard own.elf.buildID == module.buildID else {
        throw StackwalkError(.notTheSameBuild, path: module.path)
      }
      image = own
    } catch {
      failure = error
    }
    let other = findOthers(module, folders)
    guard image != nil || debug != nil else {
      // A file that is there and another build says more than one that is not there.
      let another = other.map { StackwalkError(.notTheSameBuild, path: $0) }
      let own = failure ?? StackwalkError(.notELF, path: module.path)
      throw own.code == .notTheSameBuild ? own : another ?? own
    }
    if let failure, let found = image ?? debug {
      notes.append("\(failure); names and lines are from \(found.path)")
    }
    noteWhatIsNotRead()
  }

  /// - Returns: the first file that lies where the module's may, but is another build.
  private mutating func findOthers(_ module: ModuleSnapshot, _ folders: [String]) -> String? {
    if image?.hasDebugInformation == true { return nil }
    var other: String?
    for path in Self.candidates(for: module, folders: folders) where !isComplete {
      guard path != module.path, let found = try? ELFImage(path: path) else { continue }
      if found.elf.buildID == module.buildID, !module.buildID.isEmpty {
        take(found)
      } else if other == nil {
        other = path
      }
    }
    if let image, debug == nil { followLink(of: image, module, folders) }
    return other
  }

  /// True when nothing is left to look for.
  private var isComplete: Bool {
    debug != nil || image?.hasDebugInformation == true
  }

  private mutating func take(_ found: ELFImage) {
    if image == nil, found.hasCode {
      image = found
    } else if found.hasDebugInformation || (found.hasSymbolTable && image?.hasSymbolTable != true) {
      debug = found
    }
  }

  private mutating func followLink(
    of image: ELFImage, _ module: ModuleSnapshot, _ folders: [String]
  ) {
    guard let link = DebugLink(of: image.elf) else { return }
    let given = folders.map { "\($0)/\(link.name)" }
    for path in given + link.candidates(for: image.path) where path != image.path {
      guard let found = try? ELFImage(path: path) else { continue }
      let buildID = found.elf.buildID
      let isSame =
        buildID.isEmpty || module.buildID.isEmpty
        ? CRC32.of(found.elf.file) == link.checksum : buildID == module.buildID
      if isSame {
        debug = found
        return
      }
      notes.append("the debug file \(path) is not of the same build")
    }
  }

  private mutating func noteWhatIsNotRead() {
    let all = [image, debug].compactMap { $0 }
    if all.contains(where: { $0.elf.section(named: ".gnu_debugaltlink") != nil }) {
      notes.append("parts of its debug information are in a file of dwz, which is not read")
    }
    if !all.contains(where: { $0.hasSymbolTable || $0.hasDebugInformation }),
      image?.elf.section(named: ".gnu_debugdata") != nil
    {
      notes.append("its symbols are in .gnu_debugdata (xz), which is not read")
    }
  }

  /// Where a module's own or debug file may lie: by build ID, then by name.
  static func candidates(
    for module: ModuleSnapshot, folders: [String], debugFolder: String = "/usr/lib/debug"
  ) -> [String] {
    var paths: [String] = []
    let digits = module.buildID.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    let all = digits.joined()
    if let first = digits.first, digits.count > 1 {
      let rest = digits.dropFirst().joined()
      for folder in folders {
        paths += [
          "\(folder)/.build-id/\(first)/\(rest).debug", "\(folder)/.build-id/\(first)/\(rest)",
          "\(folder)/\(first)/\(rest).debug", "\(folder)/\(first)/\(rest)",
          // As debuginfod's clients keep them.
          "\(folder)/\(all)/debuginfo", "\(folder)/\(all)/executable",
        ]
      }
      paths.append("\(debugFolder)/.build-id/\(first)/\(rest).debug")
    }
    for folder in folders {
      for name in [module.name, module.name + ".debug"] where !module.name.isEmpty {
        paths.append("\(folder)/\(name)")
      }
      // A copy of the machine's root.
      if module.path.hasPrefix("/") {
        paths += ["\(folder)\(module.path)", "\(folder)\(module.path).debug"]
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

  /// False for a split debug file, whose sections of code are empty.
  var hasCode: Bool {
    elf.sections.contains { section in
      section.flags & 4 != 0 && section.type == 1 && section.size > 0
    }
  }
}
