import CSignalSafe
import Glibc
import IntermediateDump
import Testing

@testable import CrashHandler

@Suite struct HandledSignalsTests {
  @Test(arguments: [
    (HandledSignals.abort, SIGABRT), (.arithmetic, SIGFPE), (.badSystemCall, SIGSYS),
    (.brokenPipe, SIGPIPE), (.busError, SIGBUS), (.fileSizeLimit, SIGXFSZ),
    (.illegalInstruction, SIGILL), (.processorTimeLimit, SIGXCPU), (.quit, SIGQUIT),
    (.segmentationFault, SIGSEGV), (.stackFault, SIGSTKFLT), (.trap, SIGTRAP),
  ])
  func theNumbersWrittenOutAreTheSystems(_ signals: HandledSignals, _ number: Int32) {
    #expect(signals.rawValue == 1 << UInt64(number - 1))
  }

  @Test func aCrashKnowsTheTablesEventsOfTheKernel() {
    let events = (Int32(1)...64).filter { SignalTable.isKernelEvent($0) }
    #expect(events == SignalTable.numbers(.kernelEvent) && events.count == 4)
  }

  @Test func whereAFilterRefusesGetpidItsAnswerIsAGroupsOrEverybodysNumberForKill() {
    for answer: Int32 in [0, -EPERM, -ENOSYS] { #expect(pm_kill(answer, 0) == -Int(ESRCH)) }
    #expect(pm_kill(getpid(), 0) == 0)
  }
}
