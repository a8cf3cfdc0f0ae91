internal import CSignalSafe
internal import IntermediateDump

/// Writes where errors were thrown: by the crashing thread, then by others, the newest first.
///
/// RUNS-DURING-CRASH.
@safe
struct ThrowSection {
  /// Throws of other threads that are written.
  private static var otherLimit: Int { 16 }

  private let mappings: MappingTable
  private let isSanitized: Bool
  private let output: DumpOutput

  /// - Parameter mappings: tell return addresses from other words.
  @_noLocks
  init(_ mappings: MappingTable, isSanitized: Bool, output: DumpOutput) {
    self.mappings = mappings
    self.isSanitized = isSanitized
    self.output = output
  }

  /// - Parameter thread: the one that the dump is about.
  @_noLocks
  func write(_ thread: Int32) {
    let thread = UInt32(bitPattern: thread)
    output.startArray(.throwRecords)
    writeNewest(of: thread, limit: Int(PM_THROW_COUNT), isOwn: true)
    writeNewest(of: thread, limit: ThrowSection.otherLimit, isOwn: false)
    output.end()
  }

  /// - Parameter isOwn: true for the throws of the thread, false for all others.
  private func writeNewest(of thread: UInt32, limit: Int, isOwn: Bool) {
    // The one written last, by its time and its place in the table; of one time the first comes first.
    var (lastTime, lastOrder) = (UInt64.max, Int32.max)
    var written = 0
    var record = pm_throw()
    let count = pm_thrower_count() &* PM_THROW_COUNT
    while written < limit {
      var newest = pm_throw()
      var (newestThread, newestOrder) = (UInt32(0), Int32(0))
      var order: Int32 = 0
      while order < count {
        let (thrower, index) = (order / PM_THROW_COUNT, order % PM_THROW_COUNT)
        let uptime = pm_throw_uptime(thrower, index)
        let isOlder = uptime < lastTime || (uptime == lastTime && order > lastOrder)
        if isOlder, uptime > newest.uptime {
          let found = unsafe pm_copy_throw(thrower, index, &record)
          if found != 0, (found == thread) == isOwn, record.uptime == uptime {
            (newest, newestThread, newestOrder) = (record, found, order)
          }
        }
        order &+= 1
      }
      guard newestThread != 0 else { return }
      write(newest, of: newestThread)
      (lastTime, lastOrder) = (newest.uptime, newestOrder)
      written &+= 1
    }
  }

  private func write(_ record: pm_throw, of thread: UInt32) {
    output.startMap(.throwRecord)
    output.identifier(.throwThreadID, Int32(bitPattern: thread))
    output.unsigned(.throwUptime, record.uptime)
    if record.error != 0, !isSanitized { output.unsigned(.throwError, record.error) }
    var record = record
    var count: Int32 = 0
    // A function without a frame pointer ends the walk with any word.
    while count < PM_THROW_ADDRESS_COUNT,
      mappings.isExecutable(unsafe pm_throw_address(&record, count))
    {
      count &+= 1
    }
    unsafe output.property(.throwAddresses, &record.addresses, count: Int(count) &* 8)
    output.end()
  }
}
