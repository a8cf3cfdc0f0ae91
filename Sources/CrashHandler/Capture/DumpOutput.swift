internal import CSignalSafe
internal import IntermediateDump

/// The dump as a section adds to it: tokens, and nothing else of the session.
///
/// RUNS-DURING-CRASH.
@safe
struct DumpOutput {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  // MARK: - Tokens

  @_noLocks
  func startMap(_ key: IntermediateDumpKey) { capture.session.writer.startMap(key) }

  @_noLocks
  func startArray(_ key: IntermediateDumpKey) { capture.session.writer.startArray(key) }

  @_noLocks
  func end() { capture.session.writer.end() }

  @_noLocks
  func unsigned(_ key: IntermediateDumpKey, _ value: UInt64, width: Int = 8) {
    capture.session.writer.unsigned(key, value, width: width)
  }

  @_noLocks
  func signed(_ key: IntermediateDumpKey, _ value: Int64, width: Int = 8) {
    capture.session.writer.signed(key, value, width: width)
  }

  /// Writes a process or thread ID.
  @_noLocks
  func identifier(_ key: IntermediateDumpKey, _ value: Int32) {
    unsigned(key, UInt64(UInt32(bitPattern: value)), width: 4)
  }

  @_noLocks
  func property(_ key: IntermediateDumpKey, _ bytes: Bytes) {
    capture.session.writer.property(key, bytes)
  }

  @_noLocks
  func property(_ key: IntermediateDumpKey, _ bytes: UnsafeRawPointer?, count: Int) {
    unsafe capture.session.writer.property(key, bytes, count: count)
  }

  /// Writes the memory at an address, as far as it can be read; nothing if none can.
  ///
  /// - Parameter sanitizer: replaces words of it; nil for none.
  /// - Returns: bytes written.
  @_noLocks @discardableResult
  func property(
    _ key: IntermediateDumpKey, of memory: SafeMemory, at address: UInt64, count: Int,
    _ sanitizer: WordSanitizer? = nil
  ) -> Int {
    guard let place = unsafe beginProperty(key, capacity: count) else { return 0 }
    let copied = unsafe memory.copy(address, to: place, count: count)
    if let sanitizer { unsafe sanitizer.sanitize(place, copyOf: address, count: copied) }
    if copied > 0 { finishProperty(count: copied) }
    return copied
  }

  /// Gives the place for a property's bytes; see `IntermediateDumpWriter.beginProperty`.
  @_noLocks
  func beginProperty(_ key: IntermediateDumpKey, capacity: Int) -> UnsafeMutableRawPointer? {
    unsafe capture.session.writer.beginProperty(key, capacity: capacity)
  }

  @_noLocks
  func finishProperty(count: Int) { capture.session.writer.finishProperty(count: count) }

  @_noLocks
  func write(_ tokens: Bytes) { capture.session.writer.encoded(tokens) }

  // MARK: - The dump

  /// Bytes left out because the dump would have grown past its limit.
  var bytesOmitted: UInt64 { @_noLocks get { capture.session.writer.bytesOmitted } }

  /// Hands what is written to the kernel, unless the file is another one's by now.
  @_noLocks
  func flush() {
    if OwnDescriptors(capture).check() { capture.session.writer.flush() }
  }

  /// Counts a thread whose registers the kernel has told.
  @_noLocks
  func countThreadReadFromKernel() { capture.session.counts.threadsReadFromKernel &+= 1 }
}
