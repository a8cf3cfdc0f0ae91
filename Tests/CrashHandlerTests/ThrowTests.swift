import CSignalSafe
import Glibc
import Testing

@testable import CrashHandler

/// The hook that records where errors are thrown; each test runs in a separate process, because the hook stays
/// installed.
@Suite struct ThrowTests {
  private struct Boxed: Error { var number = 1 }

  @inline(never)
  private static func fail() throws { throw Boxed() }

  @inline(never)
  private static func failTyped() throws(Boxed) { throw Boxed() }

  private struct Record {
    let thread: UInt32
    let uptime: UInt64
    let error: UInt64
    let addresses: [UInt64]
  }

  /// All complete records, newest first.
  private static func records() -> [Record] {
    var found: [Record] = []
    for place in 0..<Int32(PM_THROWER_COUNT) {
      for index in 0..<Int32(PM_THROW_COUNT) {
        var record = pm_throw()
        let thread = unsafe pm_copy_throw(place, index, &record)
        guard thread != 0 else { continue }
        let addresses = (0..<Int32(PM_THROW_ADDRESS_COUNT))
          .map { unsafe pm_throw_address(&record, $0) }
        found.append(
          Record(
            thread: thread, uptime: record.uptime, error: record.error, addresses: addresses))
      }
    }
    return found.sorted { $0.uptime > $1.uptime }
  }

  @Test func theLastFourOfAThread() async {
    await #expect(processExitsWith: .success) {
      pm_record_throws(0)
      #expect(Self.records().isEmpty && pm_tells_throws())
      for _ in 0..<6 { try? Self.fail() }
      let records = Self.records()
      #expect(records.count == 4)
      #expect(Set(records.map(\.thread)) == [UInt32(bitPattern: pm_gettid())])
      #expect(records.allSatisfy { $0.error != 0 && $0.uptime <= pm_boot_clock() })
      // The runtime's function that calls the hook, then the one that threw.
      let caller = unsafe UInt64(UInt(bitPattern: dlsym(nil, "swift_willThrow")))
      #expect(caller != 0 && (caller...(caller + 64)).contains(records[0].addresses[0]))
      #expect(records[0].addresses.prefix(3).allSatisfy { $0 != 0 })
      #expect(Set(records.map { $0.addresses[1] }).count == 1)
      // A second call changes nothing.
      pm_record_throws(0)
      try? Self.fail()
      #expect(Self.records().first?.addresses[0] == records[0].addresses[0])
    }
  }

  @inline(never)
  private static func passOn(_ error: any Error) throws { throw error }

  /// A catch that rethrows is not the origin of an error, even if other errors are thrown in between.
  @Test func anErrorThatIsThrownAgainKeepsItsFirstPlace() async {
    await #expect(processExitsWith: .success) {
      pm_record_throws(0)
      do {
        do { try Self.fail() } catch {
          let first = Self.records().first
          for _ in 0..<20 { try? Self.fail() }
          try? Self.passOn(error)
          for _ in 0..<20 { try? Self.fail() }
          let kept = Self.records().filter { $0.error == first?.error }
          // The record has the addresses of `fail`, not of `passOn`.
          #expect(kept.count == 1 && kept.first?.addresses == first?.addresses)
          #expect(kept.first?.uptime == first?.uptime)
          try Self.passOn(error)
        }
      } catch {
        #expect(Self.records().count == 4)
      }
      // A new error at the address of a released one gets its own record.
      for _ in 0..<100 {
        try? Self.fail()
        try? Self.passOn(Boxed())
        let newest = Self.records().first
        #expect(Self.records().filter { $0.error == newest?.error }.count == 1)
      }
    }
  }

  @Test func typedThrowsHaveNoBox() async {
    await #expect(processExitsWith: .success) {
      pm_record_throws(0)
      try? Self.failTyped()
      let records = Self.records()
      #expect(records.count == 1 && records.first?.error == 0)
      #expect(records.first.map { $0.addresses[0] != 0 } == true)
    }
  }

  @Test func moreThreadsThanPlaces() async {
    await #expect(processExitsWith: .success) {
      pm_record_throws(0)
      for number in 0..<600 {
        var thread = pthread_t()
        let made = unsafe pthread_create(
          &thread, nil,
          { _ in
            try? ThrowTests.fail()
            return nil
          }, nil)
        #expect(made == 0)
        pthread_join(thread, nil)
        if number % 50 == 0 || number > 590 {
          let newest = ThrowTests.records().first
          #expect(newest.map { $0.addresses[1] != 0 } == true)
        }
      }
      // There is one record for each of the last 256 errors.
      #expect(ThrowTests.records().count == 256)
    }
  }

  @Test func aRecordThatIsBeingWrittenIsNone() {
    var record = pm_throw()
    record.uptime = 5
    record.addresses.0 = 0x1234
    let check = unsafe pm_throw_check(&record, 7)
    let checkOfAnother = unsafe pm_throw_check(&record, 8)
    record.addresses.1 = 1
    let checkOfOthers = unsafe pm_throw_check(&record, 7)
    #expect(check != checkOfAnother && check != checkOfOthers)
  }

  @Test func whoeverHadTheHookIsCalled() async {
    await #expect(processExitsWith: .success) {
      typealias Hook = @convention(c) (UnsafeMutableRawPointer?) -> Void
      guard let symbol = unsafe dlsym(nil, "_swift_setWillThrowHandler") else {
        Issue.record("the runtime has no hook")
        return
      }
      let setHook = unsafe unsafeBitCast(symbol, to: (@convention(c) (Hook) -> Void).self)
      // Counts in an environment variable, because a C function cannot capture variables.
      unsafe setHook { _ in
        let count = unsafe getenv("THROWS").map { unsafe atoi($0) } ?? 0
        unsafe setenv("THROWS", "\(count + 1)", 1)
      }
      pm_record_throws(0)
      // If Swift Testing has installed the hook for typed throws, it is still called for those.
      try? Self.fail()
      try? Self.fail()
      let count = unsafe getenv("THROWS").map { unsafe String(cString: $0) }
      #expect(count == "2")
      #expect(Self.records().count == 2)
    }
  }
}
