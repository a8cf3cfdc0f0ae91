internal import CrashReportUpload
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Waits for new or renamed files in a directory, or for a signal.
final class WatchWaiting {
  private let watcher: DirectoryWatcher
  private let signals: [any DispatchSourceSignal]
  private let wake = DispatchSemaphore(value: 0)
  private let isStopped: Flag

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// - Parameter stops: signals that end the wait instead of the process.
  init(stopsAt stops: [Int32]) throws(ToolError) {
    let (wake, isStopped) = (wake, Flag())
    guard let watcher = DirectoryWatcher(changed: { wake.signal() }) else {
      throw ToolError(
        "cannot watch directories: \(ToolError.text(errno)); see "
          + "fs.inotify.max_user_instances in sysctl, or run postmortem process regularly")
    }
    self.watcher = watcher
    self.isStopped = isStopped
    signals = stops.map { stop in
      signal(stop, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: stop)
      source.setEventHandler {
        isStopped.value.store(true, ordering: .sequentiallyConsistent)
        wake.signal()
      }
      return source
    }
    for signal in signals { signal.activate() }
  }

  deinit {
    for signal in signals { signal.cancel() }
  }

  /// Watches a directory or, while it is missing, its parent.
  func watch(_ directory: String, orIfMissing parent: String) {
    if !watcher.watch(directory) { watcher.watch(parent) }
  }

  /// Waits until there is an event or the time is over.
  ///
  /// - Returns: false if one of the signals that were passed to `init(stopsAt:)` has arrived.
  func wait(seconds: Int) -> Bool {
    _ = wake.wait(timeout: .now() + .seconds(seconds))
    // One check handles all events that have arrived so far.
    while wake.wait(timeout: .now()) == .success {}
    return !isStopped.value.load(ordering: .sequentiallyConsistent)
  }
}
