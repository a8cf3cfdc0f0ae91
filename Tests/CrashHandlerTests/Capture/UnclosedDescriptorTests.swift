import CSignalSafe
import Glibc
import Testing

/// Each test uses descriptors of its own hundred, so that no other test opens files under these numbers.
@Suite struct UnclosedDescriptorTests {
  private static func open(_ descriptors: ClosedRange<Int32>) throws {
    for descriptor in descriptors {
      try #require(fcntl(0, F_DUPFD_CLOEXEC, descriptor) == descriptor)
    }
  }

  private static func stillOpen(_ descriptors: ClosedRange<Int32>) -> [Int32] {
    descriptors.filter { fcntl($0, F_GETFD) >= 0 }
  }

  @Test func allAreClosedAndNoneBetween() throws {
    try Self.open(600...609)
    var list = pm_unclosed()
    for descriptor: Int32 in [605, 600, 601, 602, 607, 608] {
      unsafe pm_close_later(&list, descriptor)
    }
    #expect(Self.stillOpen(600...609).count == 10)
    unsafe pm_close_all(&list)
    #expect(Self.stillOpen(600...609) == [603, 604, 606, 609])
    unsafe pm_close_all(&list)
    #expect(Self.stillOpen(600...609) == [603, 604, 606, 609])
    for descriptor: Int32 in [603, 604, 606, 609] { close(descriptor) }
  }

  @Test func aFullListIsClosed() throws {
    try Self.open(700...709)
    var list = pm_unclosed()
    for descriptor: Int32 in 700...706 { unsafe pm_close_later(&list, descriptor) }
    #expect(Self.stillOpen(700...709).count == 10)
    unsafe pm_close_later(&list, 707)
    #expect(Self.stillOpen(700...709) == [708, 709])
    unsafe pm_close_later(&list, 708)
    unsafe pm_close_later(&list, 709)
    unsafe pm_close_all(&list)
    #expect(Self.stillOpen(700...709) == [])
  }
}
