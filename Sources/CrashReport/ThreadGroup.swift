/// Threads that stand at the same place: the same frames at the same addresses.
struct ThreadGroup {
  var threads: [CrashReport.Thread]

  /// The groups in the order of their first threads; a thread without frames is alone.
  static func groups(of threads: [CrashReport.Thread]) -> [ThreadGroup] {
    var groups: [ThreadGroup] = []
    var known: [[UInt64]: Int] = [:]
    for thread in threads {
      // What is missing belongs to a thread of its own.
      let isWhole = !thread.frames.isEmpty && thread.framesOmitted == 0 && !thread.stackGap
      let key = thread.frames.map(\.address.value)
      if isWhole, let index = known[key] {
        groups[index].threads.append(thread)
        continue
      }
      if isWhole { known[key] = groups.count }
      groups.append(ThreadGroup(threads: [thread]))
    }
    return groups
  }
}
