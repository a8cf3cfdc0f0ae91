import Glibc
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

  @Test(
    "The last of NStgid is the ID in the process's own namespace",
    arguments: [
      ("NStgid:\t14176", 14176), ("NStgid:\t14176\t57\t1", 1), ("NStgid:\t", nil), ("NStgid:", nil),
      ("NStgid:\t7\tx", nil), ("NSpid:\t5", nil), ("", nil), ("NStgid:\t4294967296", nil),
    ] as [(String, UInt32?)])
  func processID(line: String, expected: UInt32?) throws {
    let text = "Tgid:\t3\n\(line)\nSigIgn:\t0\nSigCgt:\t0\n"
    #expect(try #require(SignalDispositions(statusText: Array(text.utf8))).processID == expected)
  }

  @Test("The calling process's ID is that of getpid")
  func ownProcessID() throws {
    #expect(try #require(SignalDispositions.current()).processID == UInt32(getpid()))
  }

  @Test("A system that leaves a line out, as gVisor does, tells nothing")
  func missing() {
    let texts = [
      "", "SigIgn:\t0\n", "SigCgt:\t0\n", "SigIgn:\tx\nSigCgt:\t0\n", "SigIgn:\nSigCgt:\n",
    ]
    for text in texts { #expect(SignalDispositions(statusText: Array(text.utf8)) == nil) }
  }
}
