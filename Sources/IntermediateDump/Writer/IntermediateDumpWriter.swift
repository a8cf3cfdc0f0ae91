internal import CSignalSafe

/// Writes the tokens of a dump into a buffer, and the buffer into a file, even during a crash.
///
/// The writer allocates nothing, takes no lock and cannot trap. A property is written to the buffer completely or not
/// at all, so a fault never leaves an incomplete token. After a write fails, the writer writes nothing more, so a
/// dump has no gap in the middle.
///
/// RUNS-DURING-CRASH. Source: Crashpad `util/ios/ios_intermediate_dump_writer.h`.
@safe
public struct IntermediateDumpWriter: ~Copyable {
  /// Properties up to this size in bytes are written even beyond the dump's size limit.
  ///
  /// So the dump's size limit never leaves out the general registers of a thread, which have 272 bytes on arm64.
  private static var smallSize: Int { 272 }

  let buffer: UnsafeMutableRawPointer
  let capacity: Int
  private var descriptor: Int32
  let byteLimit: UInt64
  private var used = 0
  private var flushed: UInt64 = 0
  /// Bit n - 1 is set if the container at depth n is an array.
  private var arrays: UInt64 = 0

  /// The values of `used`, `arrays` and `depth` after the last complete token; `recover` returns to them if a section
  /// is interrupted inside a token.
  private var wholeUsed = 0
  private var wholeArrays: UInt64 = 0
  private var wholeDepth = 0
  /// True during a write(2) call; if the handler abandons the call for a recovery point, the call's result is not
  /// known.
  private var isWriting = false
  /// True if `recover` may read the file's offset; if false, the dump ends after an interrupted write.
  public var asksFile = true

  /// The number of open maps and arrays.
  public private(set) var depth = 0
  /// The errno of the failure after which the writer writes nothing more; 0 without such a failure.
  ///
  /// The value is ENOBUFS if a dump without a file does not fit into the buffer, and EIO if the file's offset cannot be
  /// read after an interrupted write.
  public private(set) var failure: Int32 = 0
  /// The number of bytes of properties that were left out because the dump would have exceeded its limit.
  public private(set) var bytesOmitted: UInt64 = 0

  /// Creates a writer with a buffer and an open file.
  ///
  /// - Parameters:
  ///   - buffer: memory that outlives the writer, and whose contents the writer overwrites.
  ///   - capacity: the number of bytes in `buffer`; at least 4,096, and more than the largest property.
  ///   - descriptor: a file open for writing, or -1 for a dump that stays in the buffer.
  ///   - byteLimit: the size of the dump, in bytes, beyond which the writer leaves out properties larger than 272
  ///   bytes.
  @_noLocks
  public init(
    buffer: UnsafeMutableRawPointer, capacity: Int, descriptor: Int32, byteLimit: UInt64
  ) {
    unsafe self.buffer = buffer
    self.capacity = capacity
    self.descriptor = descriptor
    self.byteLimit = byteLimit
  }

  /// The number of bytes of the dump so far, including the bytes in the buffer.
  public var size: UInt64 { @_noLocks get { flushed &+ UInt64(truncatingIfNeeded: used) } }
  /// True if the buffer is empty: unless a write failed, all bytes so far have been written to the file.
  public var isFlushed: Bool { @_noLocks get { used == 0 } }

  // MARK: - Tokens

  /// Writes the header: the 32 bytes before the first token.
  @_noLocks
  public mutating func header() {
    guard reserve(IntermediateDumpFormat.headerSize) else { return }
    append(IntermediateDumpFormat.magic, width: 8)
    append(UInt64(IntermediateDumpFormat.version), width: 2)
    append(UInt64(IntermediateDumpFormat.currentArchitecture), width: 1)
    append(8, width: 1)
    append(UInt64(truncatingIfNeeded: IntermediateDumpFormat.headerSize), width: 4)
    // These two words are the text "swift-postmortem".
    append(0x6F70_2D74_6669_7773, width: 8)
    append(0x6D65_7472_6F6D_7473, width: 8)
    commit()
  }

  /// Writes a property with bytes from memory that is known to be readable.
  ///
  /// Before you write bytes from memory that may be unreadable, copy them with fault-tolerant code.
  ///
  /// - Returns: false if the property was left out because an earlier write failed, the limit is reached, or the
  ///   property does not fit into the buffer.
  @_noLocks @discardableResult
  public mutating func property(
    _ key: IntermediateDumpKey, _ bytes: UnsafeRawPointer?, count: Int
  ) -> Bool {
    guard startProperty(key, count: count) else { return false }
    if let bytes = unsafe bytes {
      unsafe pm_copy_bytes(buffer + used, bytes, count)
    }
    used &+= count
    commit()
    return true
  }

  /// Returns memory for a property's bytes; the caller fills the memory and then calls `finishProperty`.
  ///
  /// Only `finishProperty` adds the property to the dump. A fault before that call leaves no trace in the dump.
  ///
  /// - Returns: memory for `capacity` bytes, or nil if the property must be left out.
  @_noLocks
  public mutating func beginProperty(
    _ key: IntermediateDumpKey, capacity: Int
  ) -> UnsafeMutableRawPointer? {
    guard startProperty(key, count: capacity) else { return nil }
    let place = unsafe buffer + used
    used &-= IntermediateDumpFormat.propertyHeaderSize
    return unsafe place
  }

  /// Adds the property that `beginProperty` began last, with the first `count` bytes of its memory.
  @_noLocks
  public mutating func finishProperty(count: Int) {
    let start = used
    used &+= 3
    append(UInt64(truncatingIfNeeded: count), width: 4)
    used = start &+ IntermediateDumpFormat.propertyHeaderSize &+ count
    commit()
  }

  /// Writes an unsigned integer of 1, 2, 4 or 8 bytes.
  @_noLocks
  public mutating func unsigned(_ key: IntermediateDumpKey, _ value: UInt64, width: Int = 8) {
    guard startProperty(key, count: width) else { return }
    append(value, width: width)
    commit()
  }

  /// Writes a signed integer of 4 or 8 bytes.
  @_noLocks
  public mutating func signed(_ key: IntermediateDumpKey, _ value: Int64, width: Int = 8) {
    unsigned(key, UInt64(bitPattern: value), width: width)
  }

  /// Opens a map inside a map or an array.
  @_noLocks
  public mutating func startMap(_ key: IntermediateDumpKey) {
    start(key, token: IntermediateDumpToken.startMap, isArray: 0)
  }

  /// Opens an array, which may contain only maps.
  @_noLocks
  public mutating func startArray(_ key: IntermediateDumpKey) {
    start(key, token: IntermediateDumpToken.startArray, isArray: 1)
  }

  /// Closes the innermost map or array; does nothing if none is open.
  @_noLocks
  public mutating func end() {
    guard depth > 0 else { return }
    depth &-= 1
    guard reserve(1) else { return }
    let isArray = arrays &>> UInt64(truncatingIfNeeded: depth) & 1 == 1
    append(
      UInt64(isArray ? IntermediateDumpToken.endArray : IntermediateDumpToken.endMap), width: 1)
    commit()
  }

  /// Returns to the last complete token after a section was interrupted anywhere, even during a write.
  ///
  /// The file's offset shows how much of the buffer an interrupted write has written. If the offset cannot be read,
  /// nothing more is written to the dump, because bytes that are written twice would damage the rest.
  @_noLocks
  public mutating func recover() {
    used = wholeUsed
    depth = wholeDepth
    arrays = wholeArrays
    guard descriptor >= 0, isWriting else { return }
    isWriting = false
    var offset = -1
    var attempts = 0
    while asksFile, offset < 0, attempts < 3 {
      offset = pm_lseek(descriptor, 0, SEEK_CUR)
      attempts &+= 1
    }
    guard offset >= 0 else {
      failure = EIO
      return
    }
    let written = Int(truncatingIfNeeded: UInt64(truncatingIfNeeded: offset) &- flushed)
    if written > 0, written <= used {
      unsafe pm_copy_bytes(buffer, buffer + written, used &- written)
      used &-= written
    }
    flushed = UInt64(truncatingIfNeeded: offset)
    commit()
  }

  /// Sets the file that the dump is written to; may be called only while all bytes of the dump are still in the buffer.
  @_noLocks
  public mutating func redirect(to descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Begins another dump, in another file or without a file (-1); drops the bytes in the buffer.
  @_noLocks
  public mutating func restart(on descriptor: Int32) {
    self.descriptor = descriptor
    used = 0
    flushed = 0
    depth = 0
    arrays = 0
    failure = 0
    bytesOmitted = 0
    commit()
  }

  /// Closes all maps and arrays deeper than `depth`, after a section was abandoned in the middle.
  @_noLocks
  public mutating func close(toDepth depth: Int) {
    while self.depth > depth { end() }
  }

  /// Copies tokens that were encoded when the handler was installed.
  @_noLocks
  public mutating func encoded(_ bytes: UnsafeRawPointer, count: Int) {
    guard count > 0, count <= capacity, reserve(count) else { return }
    unsafe pm_copy_bytes(buffer + used, bytes, count)
    used &+= count
    commit()
  }

  /// Closes open maps and arrays, writes the end mark and flushes.
  ///
  /// - Returns: true if every byte of the dump was written to the file or, without a file, is in the buffer.
  @_noLocks
  public mutating func endDocument() -> Bool {
    close(toDepth: 0)
    guard reserve(1) else { return false }
    append(UInt64(IntermediateDumpToken.endDocument), width: 1)
    commit()
    return flush()
  }

  /// Writes the buffer to the file, so that a later fault does not lose the bytes.
  ///
  /// - Returns: false if this or an earlier write failed.
  @_noLocks @discardableResult
  public mutating func flush() -> Bool {
    guard descriptor >= 0 else { return failure == 0 }
    var offset = 0
    var attempts = 0
    isWriting = true
    while failure == 0, offset < used {
      let result = unsafe pm_write(descriptor, buffer + offset, used &- offset)
      // On a slow file system, each tick of the handler's timer may end the call with EINTR. The timer also limits
      // the number of such attempts.
      attempts &+= result == -Int(EINTR) ? 1 : 64
      if result > 0 {
        offset &+= result
        attempts = 0
      } else if attempts >= 1024 {
        // After 16 failed attempts in a row, or 1,024 if a signal interrupted each of them, the error counts as
        // permanent. A write of 0 bytes sets no errno, so EIO is used.
        failure = result == 0 ? EIO : Int32(truncatingIfNeeded: 0 &- result)
      }
    }
    used = 0
    wholeUsed = 0
    flushed &+= UInt64(truncatingIfNeeded: offset)
    isWriting = false
    return failure == 0
  }

  // MARK: - Bytes

  private mutating func start(_ key: IntermediateDumpKey, token: UInt8, isArray: UInt64) {
    let bit = UInt64(truncatingIfNeeded: depth)
    arrays = arrays & ~(1 &<< bit) | isArray &<< bit
    depth &+= 1
    guard reserve(3) else { return }
    append(UInt64(token), width: 1)
    append(UInt64(key.code), width: 2)
    commit()
  }

  /// Stores the current position as the end of a complete token.
  private mutating func commit() {
    wholeUsed = used
    wholeDepth = depth
    wholeArrays = arrays
  }

  private mutating func startProperty(_ key: IntermediateDumpKey, count: Int) -> Bool {
    let total = count &+ IntermediateDumpFormat.propertyHeaderSize
    guard count >= 0, total <= capacity else {
      // Without a file, the whole dump must fit into the buffer. If it does not, `encode` tries again with a larger
      // buffer.
      if descriptor < 0 { failure = ENOBUFS }
      return false
    }
    if count > IntermediateDumpWriter.smallSize,
      size &+ UInt64(truncatingIfNeeded: total) > byteLimit
    {
      bytesOmitted &+= UInt64(truncatingIfNeeded: count)
      return false
    }
    guard reserve(total) else { return false }
    append(UInt64(IntermediateDumpToken.property), width: 1)
    append(UInt64(key.code), width: 2)
    append(UInt64(truncatingIfNeeded: count), width: 4)
    return true
  }

  /// Makes room for `count` bytes in the buffer, by writing its contents to the file if necessary; returns false if
  /// that is not possible.
  private mutating func reserve(_ count: Int) -> Bool {
    if failure != 0 { return false }
    if capacity &- used >= count { return true }
    guard descriptor >= 0 else {
      failure = ENOBUFS
      return false
    }
    return flush() && count <= capacity
  }

  private mutating func append(_ value: UInt64, width: Int) {
    // Both architectures and the format are little-endian, so no bytes are swapped.
    let place = unsafe buffer + used
    switch width {
    case 1: unsafe place.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
    case 2:
      unsafe place.storeBytes(
        of: UInt16(truncatingIfNeeded: value), as: UInt16.self)
    case 4:
      unsafe place.storeBytes(
        of: UInt32(truncatingIfNeeded: value), as: UInt32.self)
    default: unsafe place.storeBytes(of: value, as: UInt64.self)
    }
    used &+= width
  }
}

/// Shares a writer's buffer with another writer, and returns the size of a dump that has no file.
extension IntermediateDumpWriter {
  /// Creates another writer on the same buffer; only one of the two writers may be used at a time.
  @_noLocks
  package borrowing func sharingBuffer() -> IntermediateDumpWriter {
    var writer = unsafe IntermediateDumpWriter(
      buffer: buffer, capacity: capacity, descriptor: -1, byteLimit: byteLimit)
    writer.asksFile = asksFile
    return writer
  }

  /// The number of bytes of the dump so far; if the dump has no file, all of them are in the buffer.
  public var bufferedCount: Int { @_noLocks get { Int(truncatingIfNeeded: size) } }

  /// The bytes of a dump that has no file.
  package var bufferedBytes: UnsafeRawPointer { @_noLocks get { unsafe UnsafeRawPointer(buffer) } }

  /// Removes everything after the first `count` bytes of a dump that has no file, and closes no maps or arrays.
  ///
  /// - Parameter count: a number that `bufferedCount` had while no map or array was open.
  @_noLocks
  package mutating func rewind(to count: Int) {
    used = count
    depth = 0
    failure = 0
    commit()
  }
}
