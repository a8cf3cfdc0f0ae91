internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization

/// Waits for files that are made or renamed in a folder, or for a signal.
///
/// Source: inotify(7).
final class FolderWatcher {
  private let events: Int32
  private let sources: [any DispatchSourceProtocol]
  private let wake = DispatchSemaphore(value: 0)
  private let isStopped: Flag

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// - Parameter stops: signals that end waiting instead of the process.
  init(stopsAt stops: [Int32]) throws(ToolError) {
    events = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    guard events >= 0 else {
      throw ToolError(
        "cannot watch: \(unsafe String(cString: strerror(errno))); see "
          + "fs.inotify.max_user_instances in sysctl, or call postmortem process from time to time")
    }
    let (events, wake, isStopped) = (events, wake, Flag())
    self.isStopped = isStopped
    let files = DispatchSource.makeReadSource(fileDescriptor: events)
    files.setEventHandler {
      // What happened does not matter: the folder is looked at.
      var buffer = [UInt8](repeating: 0, count: 4096)
      while unsafe read(events, &buffer, buffer.count) > 0 {}
      wake.signal()
    }
    let signals = stops.map { stop in
      signal(stop, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: stop)
      source.setEventHandler {
        isStopped.value.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
      }
      return source
    }
    files.setCancelHandler { close(events) }
    sources = [files] + signals
    for source in sources { source.activate() }
  }

  deinit {
    for source in sources { source.cancel() }
  }

  /// Watches a folder; the one above it while it is not there.
  func watch(_ folder: String, orIfMissing parent: String) {
    // The end of a dump is a rename; a folder that is made is an entry that is made.
    let mask = UInt32(IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF)
    if unsafe inotify_add_watch(events, folder, mask) >= 0 { return }
    unsafe inotify_add_watch(events, parent, mask)
  }

  /// Waits for an event or until the time is over.
  ///
  /// - Returns: false if a signal says that it is time to go.
  func wait(seconds: Int) -> Bool {
    _ = wake.wait(timeout: .now() + .seconds(seconds))
    // Many events are one look.
    while wake.wait(timeout: .now()) == .success {}
    return !isStopped.value.load(ordering: .sequentiallyConsistent)
  }
}
