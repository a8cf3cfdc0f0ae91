internal import IntermediateDump

extension Deadlock {
  var finding: Finding {
    Finding(
      cause: .deadlock(self), certainty: isCertain ? .certain : .likely,
      evidence: waits.map { .wait($0) })
  }
}

extension TaskDeadlock {
  var finding: Finding {
    Finding(
      cause: .taskDeadlock(self), certainty: isCertain ? .certain : .likely,
      evidence: waits.prefix(Self.shownCount).map { .taskWait($0) })
  }
}
