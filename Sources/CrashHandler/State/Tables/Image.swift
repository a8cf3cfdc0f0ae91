internal import IntermediateDump

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

  @_noLocks
  init(_ source: ModuleSource) { self.source = source }
}
