internal import IntermediateDump

/// The ELF images in the process, in the order in which they were found.
///
/// RUNS-DURING-CRASH.
@safe
struct ImageTable {
  static var capacity: Int { @_noLocks get { 4096 } }
  private static var stride: Int { 64 }
  /// The number of bytes of the table: the entries, and the two words of `counts`.
  static var byteCount: Int { @_noLocks get { capacity &* stride &+ 16 } }

  let base: UnsafeMutableRawPointer

  var count: Int { @_noLocks get { unsafe counts[0] } }
  /// The number of images for which there was no room.
  var omitted: UInt64 { @_noLocks get { unsafe UInt64(truncatingIfNeeded: counts[1]) } }

  private var counts: UnsafeMutablePointer<Int> {
    unsafe (base + ImageTable.capacity &* ImageTable.stride).assumingMemoryBound(to: Int.self)
  }

  /// The entry at an index below `count`.
  @_noLocks
  subscript(index: Int) -> Image {
    @_noLocks unsafeAddress { unsafe UnsafePointer(place(index)) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe place(index) }
  }

  private func place(_ index: Int) -> UnsafeMutablePointer<Image> {
    unsafe (base + index &* ImageTable.stride).assumingMemoryBound(to: Image.self)
  }

  @_noLocks
  func removeAll() { unsafe (counts[0], counts[1]) = (0, 0) }

  /// Adds an image; returns its index, or -1 if there is no room and the image is only counted.
  @_noLocks @discardableResult
  func add(_ image: Image) -> Int {
    let index = count
    unsafe counts[index < ImageTable.capacity ? 0 : 1] &+= 1
    guard index < ImageTable.capacity else { return -1 }
    unsafe place(index).pointee = image
    return index
  }

  /// Returns the index of the image whose range, including gaps between segments, contains an address; -1 if there is
  /// none.
  @inline(never) @_noLocks
  func index(around address: UInt64) -> Int {
    for index in Indices(count) {
      if unsafe address < place(index).pointee.end, unsafe address >= place(index).pointee.start {
        return index
      }
    }
    return -1
  }
}

/// One ELF image in the process.
///
/// RUNS-DURING-CRASH.
struct Image {
  let source: ModuleSource
  /// True if the file was deleted or never existed, so that it cannot be read after the crash.
  var isLost = false
  /// The number of bytes of the program headers; 0 until they are known.
  var headersSize: UInt32 = 0
  /// The address of the program headers in the process's memory.
  var headers: UInt64 = 0
  var bias: UInt64 = 0
  /// The bounds of the image, as in `ModuleImage`; the end is 0 if the image was not found at its listed address.
  var start: UInt64 = 0
  var end: UInt64 = 0
  /// The addresses of the dynamic section and of the name, from the dynamic linker's list.
  var dynamicSection: UInt64 = 0
  var name: UInt64 = 0

  /// True if the dynamic linker's list contains the image.
  var isLinked: Bool {
    @_noLocks get {
      if case .linker = source { true } else { false }
    }
  }

  /// The address at which the image's headers are read first.
  var firstRead: UInt64 { @_noLocks get { headersSize > 0 ? headers : start } }

  @_noLocks
  init(_ source: ModuleSource) { self.source = source }
}
