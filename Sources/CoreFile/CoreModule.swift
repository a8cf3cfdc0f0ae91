internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// An ELF image in the memory of a core file; program headers and build ID are empty if the core file lacks them.
///
/// Source: System V gABI, "Program Header"; elf(5).
struct CoreModule {
  let address: Address
  var path: String
  var source: ModuleSource?
  /// The Elf64_Phdr structures, one after the other; empty if the core file does not have them.
  private(set) var programHeaders: [UInt8] = []
  private(set) var buildID: [UInt8] = []
  /// The address ranges of the image's code segments.
  private var code: [AddressRange] = []
  /// The range from the lowest page to the end of the last loaded segment.
  private(set) var range: AddressRange

  /// The maximum number of program headers; a linker writes about a dozen.
  private static let maximumHeaders = 128
  private static let maximumNoteSize: UInt64 = 1 << 16

  /// - Parameters:
  ///   - memory: memory that includes the image's first page, if the core file has that page.
  ///   - readsFiles: true to read program headers that the core file lacks from the file at the path, if it begins with
  ///     the same ELF header. The kernel leaves out all of a file's pages that were not changed, except the first one. A
  ///     tool such as BOLT or patchelf can have moved the program headers to another page.
  init(at address: Address, path: String, in memory: MemorySnapshot, readsFiles: Bool = false) {
    (self.address, self.path) = (address, path)
    range = AddressRange(start: address, byteCount: 1)
    guard Self.isImage(at: address, in: memory), let start = memory.bytes(at: address, count: 64),
      let offset = start.littleEndian(at: 32, width: 8),
      let counts = start.littleEndian(at: 56, width: 2)
    else { return }
    let count = Int(min(counts, UInt64(Self.maximumHeaders)))
    if let headers = memory.bytes(at: address &+ offset, count: count * 56) {
      programHeaders = Array(headers)
      if hasHeaders(at: offset) {
        readSegments(memory)
        return
      }
    }
    programHeaders = []
    guard readsFiles,
      let headers = ELFFile.programHeaders(of: path, beginningWith: start)
    else { return }
    programHeaders = Array(headers.prefix(Self.maximumHeaders * 56))
    readSegments(memory)
    // A file of another build can begin with the same ELF header.
    if buildID.isEmpty {
      (programHeaders, code) = ([], [])
      range = AddressRange(start: address, byteCount: 1)
    }
  }

  /// True if a segment has loaded the program headers at an offset in the file at this distance from the image's start.
  private func hasHeaders(at offset: UInt64) -> Bool {
    let loads = headers.filter { $0.type == 1 }
    guard let lowest = loads.map({ $0.address & ~4095 }).min() else { return false }
    return loads.contains {
      $0.offset <= offset && ($0.address &- lowest) &+ (offset &- $0.offset) == offset
    }
  }

  /// True if the memory at an address begins with the magic number of an ELF header.
  static func isImage(at address: Address, in memory: MemorySnapshot) -> Bool {
    memory.word(at: address).map { $0 & 0xFFFF_FFFF == 0x464C_457F } ?? false
  }

  private struct Header {
    let (type, flags, offset, address): (UInt64, UInt64, UInt64, UInt64)
    let (fileSize, memorySize): (UInt64, UInt64)
  }

  private var headers: [Header] {
    stride(from: 0, to: programHeaders.count, by: 56).compactMap { start in
      func field(_ offset: Int, _ width: Int) -> UInt64 {
        programHeaders.littleEndian(at: start + offset, width: width) ?? 0
      }
      return Header(
        type: field(0, 4), flags: field(4, 4), offset: field(8, 8), address: field(16, 8),
        fileSize: field(32, 8), memorySize: field(40, 8))
    }
  }

  private mutating func readSegments(_ memory: MemorySnapshot) {
    let headers = headers
    let loads = headers.filter { $0.type == 1 }
    guard let lowest = loads.map({ $0.address & ~4095 }).min() else { return }
    var end: UInt64 = 1
    for load in loads {
      let start = load.address &- lowest
      end = max(end, start.clampedAdding(load.memorySize))
      if load.flags & 1 != 0 {
        code.append(AddressRange(start: address &+ start, byteCount: load.memorySize))
      }
    }
    range = AddressRange(start: address, byteCount: end)
    for note in headers where note.type == 4 && note.fileSize <= Self.maximumNoteSize {
      if let bytes = memory.bytes(
        at: address &+ (note.address &- lowest), count: Int(note.fileSize)),
        let found = ELFFile.buildID(inNotes: Array(bytes))
      {
        buildID = found
        return
      }
    }
  }

  /// The address range of the first segment with a given type; nil if there is none.
  func segment(ofType type: UInt64) -> AddressRange? {
    let headers = headers
    guard let lowest = headers.filter({ $0.type == 1 }).map({ $0.address & ~4095 }).min(),
      let found = headers.first(where: { $0.type == type })
    else { return nil }
    return AddressRange(
      start: address &+ (found.address &- lowest), byteCount: found.memorySize)
  }

  /// True for an image without an interpreter (PT_INTERP), such as a library.
  var isLibrary: Bool { segment(ofType: 3) == nil }

  /// The mappings of the image's file that the program headers describe, in the order of their addresses.
  func files(pageSize: UInt64) -> [CoreMappedFile] {
    let loads = headers.filter { $0.type == 1 }
    let mask: UInt64 = 0 &- pageSize
    guard let lowest = loads.map({ $0.address & ~4095 }).min() else { return [] }
    return loads.sorted { $0.address < $1.address }.map { load in
      let first = load.address & mask
      let size = (load.address &- first).clampedAdding(load.fileSize).clampedAdding(pageSize &- 1)
      let start = address &+ (first &- lowest)
      return CoreMappedFile(
        range: AddressRange(start: start, byteCount: size & mask), offset: load.offset & mask,
        path: path)
    }
  }

  /// True if an address is in a segment with code.
  func hasCode(at address: Address) -> Bool { code.contains { $0.contains(address) } }
}

extension CoreModule {
  /// The maximum number of modules; without this limit, a malicious file could make every mapping a module.
  private static let limit = 1 << 14

  /// Finds the images of the mapped files, the vDSO, and the program's image.
  ///
  /// The program's image needs a separate search if the core file's NT_FILE note does not list the program's file.
  static func all(
    _ process: CoreProcess, in memory: MemorySnapshot, readsFiles: Bool
  ) -> [CoreModule] {
    var modules: [CoreModule] = []
    var seen: Set<Address> = []
    func add(_ address: Address, _ path: String, _ source: ModuleSource? = nil) {
      guard modules.count < limit, seen.insert(address).inserted else { return }
      var module = CoreModule(
        at: address, path: path, in: memory, readsFiles: readsFiles)
      module.source = source
      modules.append(module)
    }
    if let address = process.auxiliaryValue(33).map({ Address($0) }),
      isImage(at: address, in: memory)
    {
      add(address, "[vdso]", .kernel)
    }
    // AT_PHDR contains the address of the program headers, which are in the first page of the program's image.
    let headers = process.auxiliaryValue(3).map { Address($0) }
    for file in process.firstParts {
      // A segment of an image can contain the first page of its file again; lld and mold lay segments out this way.
      if modules.contains(where: {
        $0.path == file.path && !$0.programHeaders.isEmpty && $0.range.contains(file.range.start)
      }) {
        continue
      }
      // If a file's first page is not in the core file, the file is added, because it may be an image. `Core` drops
      // files without code.
      let hasHeader = isImage(at: file.range.start, in: memory)
      guard hasHeader || memory.word(at: file.range.start) == nil else { continue }
      add(file.range.start, file.path)
    }
    if let headers {
      let start = headers.alignedDown(to: 4096)
      if !modules.contains(where: { $0.range.contains(headers) }), isImage(at: start, in: memory) {
        add(start, "")
      }
      if let index = modules.firstIndex(where: {
        $0.range.contains(headers) || $0.address == start
      }) {
        modules[started(modules, by: index, process, memory) ?? index].source = .program
      }
    } else if let index = modules.firstIndex(where: { LinkMap(of: $0, in: memory) != nil }) {
      // Only the dynamic section of a program leads to the dynamic linker's list.
      modules[index].source = .program
    }
    return modules
  }

  /// Finds the program that the dynamic linker has started, if the kernel was asked to run the dynamic linker itself; nil
  /// if the kernel was asked to run the program.
  ///
  /// - Parameter index: the module that the kernel was asked to run.
  ///
  /// Source: ld.so(8); System V gABI, DT_DEBUG, which only the dynamic section of a program has.
  private static func started(
    _ modules: [CoreModule], by index: Int, _ process: CoreProcess, _ memory: MemorySnapshot
  ) -> Int? {
    // AT_BASE: the kernel has loaded no other interpreter.
    guard (process.auxiliaryValue(7) ?? 0) == 0, modules[index].isLibrary else {
      return nil
    }
    return modules.firstIndex {
      !$0.isLibrary && LinkMap(of: $0, in: memory) != nil
    }
  }
}
