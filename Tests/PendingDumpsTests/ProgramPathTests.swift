import CrashTestSupport
import Foundation
import Testing

@testable import PendingDumps

@Suite struct ProgramPathTests {
  private let maps = """
    555593cf2000-555593d13000 rw-p 00000000 00:00 0                          [heap]
    7f6a78b6c000-7f6a78b6d000 r-xp 00000000 fe:00 16237320                   /srv/two words/app (deleted)
    7f6a78b6d000-7f6a78b6e000 rw-p 00000000 00:00 0 
    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]

    """

  @Test func theFileThatIsMappedAtAnAddress() {
    #expect(
      SystemFile.path(of: 0x7f6a_78b6_c040, inMaps: maps) == "/srv/two words/app (deleted)")
    for address in [0x5555_93cf_2000, 0x7f6a_78b6_d000, 0x7f6a_78b6_e000, 0] as [UInt64] {
      #expect(SystemFile.path(of: address, inMaps: maps) == nil)
    }
  }

  @Test func thisProgramIsWhatTheKernelShows() throws {
    let target = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(SystemFile.programPath == target)
  }
}
