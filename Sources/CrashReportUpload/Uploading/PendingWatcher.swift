internal import CrashReportDatabase
internal import Dispatch
internal import Glibc

/// Tells when a report may have come, or the settings have changed.
///
/// Source: inotify(7).
final class PendingWatcher {
  private let source: (any DispatchSourceRead)?

  /// Without inotify, of which a system can have run out, nothing is told: whoever waits looks from
  /// time to time anyway.
  init(_ database: CrashReportDatabase, changed: @escaping @Sendable () -> Void) {
    let events = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard events >= 0 else {
      source = nil
      return
    }
    // Reports and their metadata are put in place by renames or second names, settings by renames.
    let mask = UInt32(IN_MOVED_TO | IN_CREATE)
    for path in [database.path, "\(database.path)/\(StoredReport.State.pending.rawValue)"] {
      _ = unsafe inotify_add_watch(events, path, mask)
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: events)
    source.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while unsafe read(events, &buffer, buffer.count) > 0 {}
      changed()
    }
    source.setCancelHandler { close(events) }
    source.activate()
    self.source = source
  }

  deinit { source?.cancel() }
}
