import PendingDumps
import Testing

@Suite struct SignalDispositionTests {
  @Test("Two lines of the status file tell what is ignored and what has a handler")
  func reading() throws {
    let text = """
      Name:\tSigIgn: 1
      SigBlk:\t0000000000000001
      SigIgn:\t0000000000001000
      SigCgt:\t0000000180000440

      """
    let found = try #require(SignalDispositions(statusText: Array(text.utf8)))
    #expect(found.ignored == 0x1000 && found.caught == 0x1_8000_0440)
  }

  @Test("A system that leaves a line out, as gVisor does, tells nothing")
  func missing() {
    let texts = [
      "", "SigIgn:\t0\n", "SigCgt:\t0\n", "SigIgn:\tx\nSigCgt:\t0\n", "SigIgn:\nSigCgt:\n",
    ]
    for text in texts { #expect(SignalDispositions(statusText: Array(text.utf8)) == nil) }
  }
}
