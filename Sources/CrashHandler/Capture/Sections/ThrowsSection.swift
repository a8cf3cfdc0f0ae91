internal import CSignalSafe
internal import IntermediateDump

/// Writes where errors were thrown, if the program has turned on the recording of throws.
///
/// The throws on the crashing thread come first, and then those on other threads; the newest throws come first in
/// each group.
///
/// RUNS-DURING-CRASH.
@c(pm_write_throws) @_noLocks
func pm_write_throws(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.installed.recordsThrows else { return }
  let thread = UInt32(bitPattern: capture.session.exception.threadID)
  capture.writer.startArray(.throwRecords)
  capture.writeNewestThrows(of: thread, limit: Int(PM_THROW_COUNT), isOwn: true)
  capture.writeNewestThrows(of: thread, limit: 16, isOwn: false)
  capture.writer.end()
}

extension Capture {
  /// Writes the newest throws of a thread, or of all other threads.
  ///
  /// - Parameter isOwn: true for the throws of `thread`, false for the throws of all other threads.
  fileprivate func writeNewestThrows(of thread: UInt32, limit: Int, isOwn: Bool) {
    // The throw that was written last, identified by its time and its position in the table. Throws with the same
    // time are written in the order of the table.
    var (lastTime, lastOrder) = (UInt64.max, Int32.max)
    var record = pm_throw()
    let count = pm_thrower_count() &* PM_THROW_COUNT
    for _ in Indices(limit) {
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
      writeThrow(newest, of: newestThread)
      (lastTime, lastOrder) = (newest.uptime, newestOrder)
    }
  }

  private func writeThrow(_ record: pm_throw, of thread: UInt32) {
    writer.startMap(.throwRecord)
    writer.identifier(.throwThreadID, Int32(bitPattern: thread))
    writer.unsigned(.throwUptime, record.uptime)
    if record.error != 0, !installed.isSanitized { writer.unsigned(.throwError, record.error) }
    var record = record
    var count: Int32 = 0
    // If a function keeps no frame pointer, the last address of the stack walk can be an arbitrary word. So only
    // addresses of executable memory are written.
    while count < PM_THROW_ADDRESS_COUNT,
      session.mappings.isExecutable(unsafe pm_throw_address(&record, count))
    {
      count &+= 1
    }
    unsafe writer.property(.throwAddresses, &record.addresses, count: Int(count) &* 8)
    writer.end()
  }
}
