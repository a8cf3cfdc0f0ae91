import CrashHandler
import Glibc
import Testing

@Suite struct HandledSignalsTests {
  @Test(
    "The numbers written out are the system's",
    arguments: [
      (HandledSignals.abort, SIGABRT), (.arithmetic, SIGFPE), (.badSystemCall, SIGSYS),
      (.brokenPipe, SIGPIPE), (.busError, SIGBUS), (.fileSizeLimit, SIGXFSZ),
      (.illegalInstruction, SIGILL), (.processorTimeLimit, SIGXCPU), (.quit, SIGQUIT),
      (.segmentationFault, SIGSEGV), (.trap, SIGTRAP),
    ])
  func numbers(_ signals: HandledSignals, _ number: Int32) {
    #expect(signals.rawValue == 1 << UInt64(number - 1))
  }
}
