/// Values of the Swift runtime that are needed to recognize tasks.
///
/// The runtime exports variables with these values for debuggers.
///
/// Source: swift stdlib/public/Concurrency/Debug.h.
package struct TaskRuntime: Sendable, Equatable {
  /// The alignment of each task object.
  package static let alignment: UInt64 = 16
  /// The beginning of the name of the shared library with the runtime.
  package static let library = "libswift_Concurrency.so"
  /// The names of the exported variables from which the values below are read.
  package static let metadataName = "_swift_concurrency_debug_asyncTaskMetadata"
  package static let slabMetadataName = "_swift_concurrency_debug_asyncTaskSlabMetadata"
  package static let layoutName = "_swift_concurrency_debug_internal_layout_version"
  package static let sizeName = "_swift_concurrency_debug_asyncTaskSize"
  package static let adapterNames = [
    "_swift_concurrency_debug_future_adapter", "_swift_concurrency_debug_non_future_adapter",
  ]

  /// The first word of each task object.
  package var metadata: UInt64
  /// The first word of each slab, which is memory for the frames of a task's functions.
  package var slabMetadata: UInt64
  /// The size of a task object, without the optional fields that the runtime puts after it.
  package var taskSize: UInt64
  /// The functions with which the runtime starts a task that calls a closure.
  package var adapters: [UInt64]
  /// Where a task stores its `withContext` values; nil if that is not known, for example because no task has called
  /// `withContext` yet.
  package var contexts: ContextPlace?

  /// The place of the value that `withContext` stores in a task's list of task-local values.
  package struct ContextPlace: Sendable, Equatable {
    /// The key and the type of the value, by which it is found in the list of task-local values.
    package var (key, type): (UInt64, UInt64)
    /// The offset, in a task object, of the head of the list of task-local values.
    package var head: UInt64

    /// Returns nil if `head` cannot be an offset, as when the offset is not known.
    package init?(key: UInt64, type: UInt64, head: UInt64) {
      guard head != 0, head & 7 == 0, head < 4096 else { return nil }
      (self.key, self.type, self.head) = (key, type, head)
    }
  }

  package init(
    metadata: UInt64, slabMetadata: UInt64, taskSize: UInt64 = 208, adapters: [UInt64] = []
  ) {
    self.metadata = metadata
    self.slabMetadata = slabMetadata
    self.taskSize = taskSize
    self.adapters = adapters
  }

  /// Passes to `body` each address in `bytes` at which a task object may begin.
  ///
  /// - Parameter start: the address of the first byte.
  func forEachCandidate(
    in bytes: UnsafeRawBufferPointer, at start: UInt64, _ body: (UInt64) -> Void
  ) {
    var offset = Int(truncatingIfNeeded: (0 &- start) & (Self.alignment - 1))
    let end = bytes.count - 8
    while offset <= end {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if UInt64(littleEndian: word) == metadata { body(start &+ UInt64(offset)) }
      offset += Int(Self.alignment)
    }
  }
}
