internal import CSignalSafe
internal import IntermediateDump

/// Finds the ELF images in the process's memory.
///
/// The auxiliary vector contains the addresses of the program and the vDSO. The dynamic linker's list contains the
/// addresses of most other images. An image's extent comes from its program headers. The path, permissions and first
/// bytes of mappings do not show the extent. For example, each mapping of a small library linked by lld begins with the
/// library's ELF header, and a program may move its code to memory without a file. Images that the linker does not list
/// (in other linker namespaces, copied, or loaded without the linker) are found by ELF headers at the start of
/// mappings.
///
/// The dynamic linker's entry also has the address of the image's program headers: a tool can have moved them, and if no
/// segment contains them, the dynamic linker keeps a copy.
///
/// The list is read entry by entry through the fault-tolerant reader, without the linker's lock, because the crashed
/// thread may hold that lock. A listed image that is not at its listed address is skipped.
///
/// RUNS-DURING-CRASH. Source: glibc `<link.h>`, struct r_debug and struct link_map; elf(5).
@safe
struct ImageFinder {
  /// The offset, in scratch memory, of the list of pages that one system call reads ahead.
  private static var addressesOffset: Int { ModuleImage.scratchSize }

  var images: ImageTable { @_noLocks get { mappings.images } }
  fileprivate let places: Installed.ImagePlaces
  fileprivate let mappings: MappingTable
  fileprivate let memory: SafeMemory
  fileprivate let scratch: Scratch

  // The properties below record how far `next` has got in the lists of images and mappings.
  /// The index of the image that was found last; -1 before the first image.
  fileprivate(set) var current = -1
  fileprivate var listed = 0
  fileprivate var listedCount = 0
  fileprivate var mapping = 0
  /// The index of the first listed image whose first page has not been read ahead.
  ///
  /// After all listed images were found, `ahead` is the index of the first mapping whose first page has not been read
  /// ahead.
  fileprivate var ahead = 0

  // MARK: - The list

  /// Starts the search for images again, with those that the kernel and the dynamic linker list.
  @_noLocks
  mutating func begin() {
    images.removeAll()
    mappings.removeMarks()
    let known = places.known
    if known.program_header_count > 0 {
      var program = Image(.program)
      program.headers = known.program_headers
      program.headersSize = UInt32(truncatingIfNeeded: known.program_header_count &* 56)
      program.bias = known.program_bias
      program.start = known.program_headers & ~4095
      images.add(program)
    }
    if known.kernel_image != 0 {
      var image = Image(.kernel)
      image.start = known.kernel_image
      images.add(image)
    }
    addList(known)
    (current, listed, listedCount) = (-1, 0, images.count)
    (mapping, ahead) = (0, 0)
  }

  private func addList(_ known: pm_image_places) {
    // Offsets in struct r_debug: r_version 0 (4 bytes), r_map 8.
    guard known.debug_address != 0, var entry = memory.word(known.debug_address &+ 8) else {
      return
    }
    // A damaged list may have no end.
    for _ in Indices(ImageTable.capacity &* 4) {
      // Offsets in struct link_map: l_addr 0, l_name 8, l_ld 16, l_next 24.
      guard entry != 0, let bias = memory.word(entry), let name = memory.word(entry &+ 8),
        let dynamicSection = memory.word(entry &+ 16), let next = memory.word(entry &+ 24)
      else { return }
      if dynamicSection != known.dynamic_section, bias != known.kernel_image {
        var image = Image(.linker)
        (image.bias, image.start) = (bias, bias)
        if known.headers_offset > 0, let place = memory.word(entry &+ known.headers_offset),
          let number = memory.word(entry &+ known.headers_offset &+ 16)
        {
          image.headers = place
          image.headersSize = UInt32(truncatingIfNeeded: number & 0xFFFF) &* 56
        }
        (image.dynamicSection, image.name) = (dynamicSection, name)
        images.add(image)
      }
      entry = next
    }
  }

  // MARK: - The images

  /// Finds the next image; returns nil after the last one, or if the table is full.
  ///
  /// The index of this image in the table is `current`.
  @_noLocks
  mutating func next() -> ModuleImage? {
    while listed < listedCount {
      if listed >= ahead { readAhead(isListed: true) }
      current = listed
      listed &+= 1
      if let image = image(at: current), isListed(image, images[current]) {
        return found(image)
      }
    }
    if mapping == 0 { ahead = 0 }
    // If the table is full, images of the list may be missing, and would be found, and counted, again.
    while mapping < mappings.count, images.count < ImageTable.capacity {
      if mapping >= ahead { readAhead(isListed: false) }
      let index = mapping
      mapping &+= 1
      guard mayBegin(index),
        let image = unsafe ModuleImage(
          at: mappings[index].start, memory: memory, scratch: scratch.address),
        image.isMapped(in: mappings)
      else { continue }
      current = images.add(Image(.headers))
      return found(image)
    }
    return nil
  }

  /// Finds all images, unless this was already done.
  @_noLocks
  mutating func findAll() {
    guard images.count == 0 else { return }
    begin()
    while next() != nil {}
  }

  /// Reads an image in the table; nil if it cannot be read.
  @_noLocks
  func image(at index: Int) -> ModuleImage? {
    let image = images[index]
    guard image.headersSize > 0 else {
      return unsafe ModuleImage(at: image.start, memory: memory, scratch: scratch.address)
    }
    return unsafe ModuleImage(
      headersAt: image.headers, size: Int(image.headersSize), bias: image.bias, memory: memory,
      scratch: scratch.address)
  }

  private func isListed(_ image: ModuleImage, _ entry: Image) -> Bool {
    guard entry.isLinked else { return true }
    return image.bias == entry.bias && image.dynamicSection == entry.dynamicSection
  }

  /// Completes the entry of the current image in the table.
  private func found(_ image: ModuleImage) -> ModuleImage {
    images[current].headers = image.headersAddress
    images[current].headersSize = UInt32(truncatingIfNeeded: image.programHeaders.count)
    images[current].bias = image.bias
    images[current].start = image.start
    images[current].end = image.end
    mappings.mark(image)
    return image
  }

  /// True if an image may begin at a mapping that does not belong to an image yet.
  ///
  /// A mapping of the start of a file may begin an image, or a program may have mapped the file only to read it; `next`
  /// then checks whether the image's code is executable. Memory without a file may contain an image only if that
  /// memory, or the mapping directly after it, is executable.
  private func mayBegin(_ index: Int) -> Bool {
    let mapping = mappings[index]
    guard mapping.has(Mapping.isReadable), !mapping.has(Mapping.isOfImage) else { return false }
    // Skips the kernel's data pages next to the vDSO; these pages cannot be copied, although they are marked as
    // readable.
    if mapping.hasPath, mappings.path(of: mapping).text.matches("[v") { return false }
    if mapping.has(Mapping.startsFile) && mapping.hasPath { return true }
    return mapping.has(Mapping.isExecutable)
      || index &+ 1 < mappings.count && mappings[index &+ 1].start == mapping.end
        && mappings[index &+ 1].has(Mapping.isExecutable)
  }

  // MARK: - Reading ahead

  /// Reads, with one system call, the first pages of the next listed images, or of the next mappings that may begin
  /// with an image.
  private mutating func readAhead(isListed: Bool) {
    let addresses = scratch.dropFirst(ImageFinder.addressesOffset)
    let end = isListed ? listedCount : mappings.count
    var count = 0
    while ahead < end, count < PageCache.batch {
      if isListed || mayBegin(ahead) {
        let start = isListed ? images[ahead].firstRead : mappings[ahead].start
        addresses.setRange(count, start & ~4095, count: PageCache.pageSize)
        count &+= 1
      }
      ahead &+= 1
    }
    memory.readAhead(addresses.bytes(count: count &* 16))
  }

  // MARK: - Facts read from the images

  /// The path of an image's file; empty if it is not known.
  ///
  /// The result is the path that the kernel shows for a mapping of the image. If there is none, the result is the
  /// program's path from launch, "[vdso]", or the path in the dynamic linker's list.
  @_noLocks
  func path(of index: Int, _ image: ModuleImage) -> Bytes {
    var place = mappings.index(endingAbove: image.start)
    while place < mappings.count, mappings[place].start < image.end {
      let mapping = mappings[place]
      if mapping.hasPath,
        mapping.start <= image.start || image.loaded(around: mapping.start) != nil
      {
        return mappings.path(of: mapping)
      }
      place &+= 1
    }
    let names = scratch.secondHalf
    switch images[index].source {
    case .program: return places.programPath
    case .kernel: return Bytes("[vdso]")
    case .linker:
      return names.bytes(
        count: unsafe memory.copyText(images[index].name, to: names.address, limit: 4096))
    case .headers: return names.bytes(count: 0)
    }
  }

  /// Finds and reads the image that has a segment at an address; the index is -1 if there is no such image.
  @_noLocks
  func image(around address: UInt64) -> (index: Int, image: ModuleImage?) {
    let index = images.index(around: address)
    guard index >= 0, let image = image(at: index), image.loaded(around: address) != nil else {
      return (-1, nil)
    }
    return (index, image)
  }

  /// True for an address in executable memory, according to the mappings.
  ///
  /// Without mappings, or if an emulator maps the guest's code as only readable, the images' segments are checked
  /// instead.
  @_noLocks
  func isCode(_ address: UInt64) -> Bool {
    if mappings.count > 0 {
      guard let mapping = mappings.mapping(around: address) else { return false }
      if mapping.has(Mapping.isExecutable) { return true }
      guard mapping.has(Mapping.isOfImage) else { return false }
    }
    guard let image = image(around: address).image, let segment = image.loaded(around: address)
    else { return false }
    return segment.isCode
  }
}

extension Capture {
  var images: ImageFinder {
    @_noLocks get {
      ImageFinder(
        places: installed.images, mappings: session.mappings, memory: cachedMemory,
        scratch: session.scratch)
    }
  }
}
