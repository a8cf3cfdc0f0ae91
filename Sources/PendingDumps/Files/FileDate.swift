internal import Glibc
internal import IntermediateDump

/// Chooses the date from which a file's age is counted, and ignores dates from a clock that was not set.
///
/// A date from a clock that was not set never causes the removal of a file, or the verdict that a process is dead. A
/// file whose dates are all impossible is given the current date, so that its age counts from then on.
package enum FileDate {
  /// Returns the latest of the dates that are possible, in nanoseconds since 1970; nil if none of them is possible.
  package static func latest(of dates: [Int64], now: Int64 = SystemClock.now) -> Int64? {
    dates.filter { Timestamp(nanoseconds: $0).isPossible(at: Timestamp(nanoseconds: now)) }.max()
  }

  /// Sets the status change time (ctime) and the access time of a file to now, but keeps the modification time of its
  /// contents.
  ///
  /// This function does nothing while the clock is not set. A file that cannot be changed keeps its dates.
  ///
  /// - Parameter directory: the descriptor of the file's directory.
  ///
  /// Source: utimensat(2), UTIME_NOW and UTIME_OMIT.
  package static func renew(_ name: String, in directory: Int32) {
    let now = SystemClock.now
    guard latest(of: [now], now: now) != nil else { return }
    let (setToNow, leaveAlone) = ((1 << 30) - 1, (1 << 30) - 2)
    let times = [
      timespec(tv_sec: 0, tv_nsec: setToNow), timespec(tv_sec: 0, tv_nsec: leaveAlone),
    ]
    _ = unsafe utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW)
  }
}
