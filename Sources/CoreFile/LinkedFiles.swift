internal import IntermediateDump
internal import ProcessSnapshot

/// The mapped files of a core file without an NT_FILE note: the images in memory, with names from the dynamic linker's
/// list.
///
/// The kernel leaves the note out if it would be larger than 4 MiB, and valgrind never writes it.
///
/// Source: Linux fs/binfmt_elf.c, fill_files_note(); glibc `<link.h>`, struct link_map.
struct LinkedFiles {
  /// The maximum number of images.
  private static let limit = 4096
  /// The name by which the dynamic linker lists the vDSO, on x86_64 and arm64.
  private static let kernelImage = "linux-vdso.so.1"

  private let process: CoreProcess
  private let image: CoreImage
  private let memory: MemorySnapshot

  init(of process: CoreProcess, _ image: CoreImage, in memory: MemorySnapshot) {
    (self.process, self.image, self.memory) = (process, image, memory)
  }

  /// The mapped files in the order of their addresses; empty if the core file contains no image's first page.
  var list: [CoreMappedFile] {
    var images = images
    let map = images.lazy.compactMap { LinkMap(of: $0, in: memory) }.first
    let names = Dictionary(
      (map?.entries ?? []).map { ($0.dynamicSection, $0.name) },
      uniquingKeysWith: { first, _ in first })
    for index in images.indices {
      guard let section = images[index].segment(ofType: 2)?.start else { continue }
      let isProgram = section == map?.dynamicSection
      images[index].path = isProgram ? program : names[section] ?? ""
    }
    if map == nil, let index = images.firstIndex(where: { !$0.isLibrary }) {
      images[index].path = program
    }
    return images.filter { $0.path != Self.kernelImage }
      .flatMap { $0.files(pageSize: process.pageSize ?? 4096) }
  }

  /// The images that begin where a segment of the core file begins.
  private var images: [CoreModule] {
    var images: [CoreModule] = []
    for segment in image.segments.sorted(by: { $0.range.start < $1.range.start })
    where images.count < Self.limit && CoreModule.isImage(at: segment.range.start, in: memory) {
      // A segment of an image can contain the first page of its file again.
      if images.last?.range.contains(segment.range.start) == true { continue }
      images.append(CoreModule(at: segment.range.start, path: "", in: memory))
    }
    return images
  }

  /// The path of the program, as far as the kernel or a debugger recorded it.
  private var program: String {
    let stack = InitialStack(of: process, image, in: memory)
    // AT_EXECFN.
    let started = process.auxiliaryValue(31).flatMap { memory.text(at: Address($0), limit: 4096) }
    let path = started ?? (process.command.hasPrefix("/") ? process.command : nil)
    guard let path, !path.isEmpty else { return String(decoding: process.name, as: UTF8.self) }
    guard !path.hasPrefix("/"), let directory = stack.environment("PWD"), directory.hasPrefix("/")
    else { return path }
    return directory + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
  }
}
