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
    var before = UInt64.max
    var written = 0
    var record = pm_throw()
    while written < limit {
      var newest = pm_throw()
      var thrower: UInt32 = 0
      var place: Int32 = 0
      while place < PM_THROWER_COUNT {
        var index: Int32 = 0
        while index < PM_THROW_COUNT {
          let found = unsafe pm_copy_throw(place, index, &record)
          if found != 0, (found == thread) == isOwn, record.uptime < before,
            record.uptime > newest.uptime
          {
            (newest, thrower) = (record, found)
          }
          index &+= 1
        }
        place &+= 1
      }
      guard thrower != 0 else { return }
      write(newest, of: thrower)
      before = newest.uptime
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
