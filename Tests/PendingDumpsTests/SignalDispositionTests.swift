import Glibc
import PendingDumps
import Testing

@Suite struct SignalDispositionTests {
  @Test func twoLinesOfTheStatusFileTellWhatIsIgnoredAndWhatHasAHandler() throws {
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
    arguments: [
      ("NStgid:\t14176", 14176), ("NStgid:\t14176\t57\t1", 1), ("NStgid:\t", nil), ("NStgid:", nil),
      ("NStgid:\t7\tx", nil), ("NSpid:\t5", nil), ("", nil), ("NStgid:\t4294967296", nil),
    ] as [(String, UInt32?)])
  func theLastOfNStgidIsTheIDInTheProcesssOwnNamespace(line: String, expected: UInt32?) throws {
    let text = "Tgid:\t3\n\(line)\nSigIgn:\t0\nSigCgt:\t0\n"
    #expect(try #require(SignalDispositions(statusText: Array(text.utf8))).processID == expected)
  }

  @Test func theCallingProcesssIDIsThatOfGetpid() throws {
    #expect(try #require(SignalDispositions.current()).processID == UInt32(getpid()))
  }

  @Test func aSystemThatLeavesALineOutAsGVisorDoesTellsNothing() {
    let texts = [
      "", "SigIgn:\t0\n", "SigCgt:\t0\n", "SigIgn:\tx\nSigCgt:\t0\n", "SigIgn:\nSigCgt:\n",
    ]
    for text in texts { #expect(SignalDispositions(statusText: Array(text.utf8)) == nil) }
  }
}
