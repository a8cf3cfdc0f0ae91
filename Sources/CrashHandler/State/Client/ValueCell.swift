internal import CSignalSafe
internal import IntermediateDump

/// Bytes that any thread may replace at any time, and that are read completely or not at all.
///
/// A cell has a state word and four buffers. The word shows which buffer holds the value, which buffers are being
/// written, and how often the value was replaced. To set the value, a thread takes another buffer, fills it, and
/// makes it the current one with a compare-and-swap. So a thread that is stopped while it writes, even permanently,
/// does not block other threads, and its incomplete value is never read. If two threads write at the same time, the
/// value that is swapped in last remains. If all three other buffers are in use, the new value is dropped, and the
/// old value is marked as stale. Setting never waits and never allocates.
///
/// The cell is in `ClientMemory`. The program sets the value, and crash code reads it. RUNS-DURING-CRASH. See
/// Docs/Decisions/17-what-the-program-tells.md.
@safe
struct ValueCell {
  static var bufferCount: Int { @_noLocks get { 4 } }
  /// The size in bytes of the header before a value.
  ///
  /// The header holds the size of key and value together (4 bytes), and the size of the key alone (4 bytes).
  static var headerSize: Int { @_noLocks get { 8 } }

  private let word: UnsafeMutablePointer<UInt64>
  private let buffers: UnsafeMutableRawPointer
  /// The maximum number of bytes of a value together with its key.
  let capacity: Int

  /// The number of bytes of memory that a cell takes.
  @_noLocks
  static func byteCount(capacity: Int) -> Int {
    8 &+ bufferCount &* stride(capacity)
  }

  private static func stride(_ capacity: Int) -> Int {
    headerSize &+ (capacity &+ 7) & ~7
  }

  /// Creates the cell at an address that is a multiple of 8; memory that contains zeros is a cell without a value.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe word = base.assumingMemoryBound(to: UInt64.self)
    unsafe buffers = base + 8
    self.capacity = capacity
  }

  var state: CellState {
    @_noLocks get { CellState(word: unsafe pm_atomic_load_64(word)) }
  }

  @_noLocks
  func exchange(_ old: CellState, _ new: CellState) -> Bool {
    unsafe pm_atomic_compare_exchange_64(word, old.word, new.word) == old.word
  }

  @_noLocks
  func buffer(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe buffers + index &* ValueCell.stride(capacity)
  }

  /// Copies the key and then the value.
  ///
  /// Other threads may still be running. If the value changes while it is copied, the copy is repeated, up to 16
  /// attempts in all.
  ///
  /// - Parameter place: memory of at least `capacity` bytes.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading? {
    for _ in Indices(16) {
      let state = state
      guard state.hasValue else { return nil }
      let source = unsafe buffer(state.current)
      let count = unsafe Int(pm_atomic_load(source.assumingMemoryBound(to: UInt32.self)))
      let keyCount = unsafe Int(
        pm_atomic_load((source + 4).assumingMemoryBound(to: UInt32.self)))
      if count <= capacity && keyCount <= count {
        unsafe pm_copy_bytes(place, source + ValueCell.headerSize, count)
      }
      // The word is checked again with a swap, because a swap, unlike a load, is ordered after the copy. Only the
      // version is compared, because a buffer is not reused before another buffer holds the value.
      let after = self.state
      guard after.version == state.version, exchange(after, after) else { continue }
      // Larger sizes are impossible, unless the program has overwritten the cell.
      guard count <= capacity && keyCount <= count else { break }
      return CellReading(
        count: count, keyCount: keyCount,
        state: state.isStale ? .stale : state.isBeingWritten ? .beingReplaced : nil)
    }
    return CellReading(state: .unreadable)
  }
}
