internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Memory that a core file lacks because the modules' files contain it: code and constants.
///
/// The kernel leaves such pages out by default (core(5), `coredump_filter`). The pages are read from the modules' files
/// instead, if the files' build IDs are those in the core file. Only segments that are not writable are read this way.
struct ModuleMemory {
  /// The maximum number of files that are open at the same time, because each file takes a descriptor.
  private static let maximumFiles = 256

  private let parts: [MemoryRegion]

  init(of snapshot: ProcessSnapshot, symbolDirectories: [String]) {
    let known = RangeSet(snapshot.memory.regions.map(\.range))
    var parts: [MemoryRegion] = []
    var count = 0
    // Most reads concern the innermost calls, so the modules that contain the current instructions of the first 64
    // threads come first.
    let urgent = Set(
      snapshot.threads.prefix(64).compactMap(\.instructionPointer)
        .compactMap { snapshot.module(containing: $0)?.address })
    let modules =
      snapshot.modules.filter { urgent.contains($0.address) }
      + snapshot.modules.filter { !urgent.contains($0.address) }
    for module in modules where count < Self.maximumFiles && !module.buildID.isEmpty {
      guard let file = ModuleContents(of: module, directories: symbolDirectories) else { continue }
      count += 1
      for part in file.constantParts {
        for gap in known.gaps(in: part.range) {
          guard let distance = part.range.offset(of: gap.start).flatMap({ Int(exactly: $0) }),
            let size = Int(exactly: gap.byteCount)
          else { continue }
          let start = part.offset + distance
          parts.append(
            MemoryRegion(
              address: gap.start, contents: CapturedBytes(of: file.bytes, start..<start + size)))
        }
      }
    }
    self.parts = parts
  }

  func add(to snapshot: inout ProcessSnapshot) {
    guard !parts.isEmpty else { return }
    snapshot.memory = MemorySnapshot(joining: snapshot.memory.regions + parts)
  }
}
