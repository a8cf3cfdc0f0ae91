extension RunRecord {
  /// True if its process ID means the same process here.
  package func isOfSamePlace(_ host: HostIdentity) -> Bool {
    host.isProcOurs && bootID == host.bootID && processNamespace != nil
      && processNamespace == host.processNamespace
  }

  /// True if start times that the owner has read and those that are read here can be compared: the
  /// kernel shifts them by the reader's time namespace.
  ///
  /// Source: time_namespaces(7); Linux fs/proc/array.c, do_task_stat.
  package func isOfSameTime(_ host: HostIdentity) -> Bool {
    timeNamespace == host.timeNamespace
  }

  /// The verdict of the process that has its ID in the same place; nil where it does not
  /// decide.
  package func verdict(of process: ProcessProbe, host: HostIdentity) -> OwnerVerdict? {
    switch process {
    case .missing: return .dead("process \(processID) is gone")
    case .unreadable: return nil
    case .found(let found):
      let knowsStartTime = isOfSameTime(host)
      if knowsStartTime, startTime != 0, found.startTime != startTime {
        return .dead("process \(processID) is another one")
      }
      if found.hasEnded { return .dead("process \(processID) has ended") }
      // A main thread that has ended has no memory to show, and other users' processes show none.
      let knowsStack = found.stackStart != 0 && stackStart != 0
      if knowsStack, found.stackStart != stackStart {
        return .dead("process \(processID) runs another program")
      }
      guard knowsStartTime && startTime != 0 || knowsStack else { return nil }
      return .alive("process \(processID) runs")
    }
  }
}
