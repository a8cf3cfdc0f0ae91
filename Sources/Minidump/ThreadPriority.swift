internal import ProcessSnapshot

/// The priority field of MINIDUMP_THREAD, as Crashpad fills it on Linux.
///
/// From the low byte up: 20 minus the nice value, the rank of the scheduling policy, the static
/// priority of a real-time thread (not captured: 0), nothing. Source: Crashpad
/// `snapshot/linux/thread_snapshot_linux.cc`.
struct ThreadPriority {
  /// As sched_getscheduler(2).
  let policy: UInt8?
  let niceValue: Int32?

  /// Policies by rank, the most modest first: idle, batch, other, round robin, FIFO.
  private static let ranked: [UInt8] = [5, 3, 0, 2, 1]

  init(_ thread: ThreadSnapshot) {
    policy = thread.schedulingPolicy
    niceValue = thread.niceValue
  }

  /// Reads the field; 0 says nothing, and so does the priority of another system.
  init(field: UInt32) {
    let rank = Int(field >> 8 & 0xFF)
    guard (1...Self.ranked.count).contains(rank), field >> 16 <= 99 else {
      (policy, niceValue) = (nil, nil)
      return
    }
    policy = Self.ranked[rank - 1]
    let byte = Int(field & 0xFF)
    niceValue = (1...40).contains(byte) ? Int32(truncatingIfNeeded: 20 - byte) : nil
  }

  var field: UInt32 {
    guard let policy, let rank = Self.ranked.firstIndex(of: policy) else { return 0 }
    let nice = niceValue.map { (-20...19).contains($0) ? 20 - Int($0) : 0 } ?? 0
    return UInt32(truncatingIfNeeded: (rank + 1) << 8 | nice)
  }
}
