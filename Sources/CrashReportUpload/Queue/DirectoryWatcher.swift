internal import Dispatch
internal import Glibc

/// Calls a closure when a file is created in or renamed into a directory, or when the directory is removed.
///
/// Source: inotify(7).
package final class DirectoryWatcher {
  private let events: Int32
  private let source: any DispatchSourceRead

  /// Creates a watcher without directories; nil if inotify_init1(2) fails, with the reason in `errno`.
  package init?(changed: @escaping @Sendable () -> Void) {
    let events = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard events >= 0 else { return nil }
    self.events = events
    source = DispatchSource.makeReadSource(fileDescriptor: events)
    source.setEventHandler {
      // The contents of the events are not needed, because the creator of this watcher lists the directories itself.
      var buffer = [UInt8](repeating: 0, count: 4096)
      while unsafe read(events, &buffer, buffer.count) > 0 {}
      changed()
    }
    source.setCancelHandler { close(events) }
    source.activate()
  }

  deinit { source.cancel() }

  /// - Returns: false if the directory does not exist or cannot be watched.
  @discardableResult
  package func watch(_ directory: String) -> Bool {
    let mask = UInt32(IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF)
    return unsafe inotify_add_watch(events, directory, mask) >= 0
  }
}
