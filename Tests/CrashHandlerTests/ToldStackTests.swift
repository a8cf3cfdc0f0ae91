import CSignalSafe
import Glibc
import Testing

@testable import CrashHandler

/// The alternate stacks that threads register.
///
/// Thread IDs above the kernel's maximum stand for threads that have ended.
@Suite struct ToldStackTests {
  private static let highest: Int32 = 1 << 22

  private func told(_ thread: Int32) -> [UInt64] {
    let stack = pm_told_stack(thread)
    return [stack.base, stack.size, stack.is_handlers ? 1 : 0]
  }

  @Test func theLastWordCountsAndNoneIsNone() {
    let thread = Self.highest + 100_000
    #expect(pm_told_stack(thread).size == 0)
    pm_tell_stack(thread, pm_told_stack(base: 4096, size: 2048, is_handlers: false))
    #expect(told(thread) == [4096, 2048, 0])
    pm_tell_stack(thread, pm_told_stack(base: 8192, size: 65536, is_handlers: true))
    #expect(told(thread) == [8192, 65536, 1])
    // The same stack again, from code that does not know that the handler owns it.
    pm_tell_stack(thread, pm_told_stack(base: 8192, size: 65536, is_handlers: false))
    #expect(told(thread) == [8192, 65536, 1])
    pm_tell_stack(thread, pm_told_stack())
    #expect(pm_told_stack(thread).size == 0)
  }

  /// Registers ten times as many threads as there are entries.
  @Test func threadsThatEndWithoutAWordMakeRoomForOthers() {
    let first = Self.highest + 200_000
    for thread in first..<first + 10 * Int32(PM_TOLD_STACKS) {
      pm_tell_stack(thread, pm_told_stack(base: 4096, size: UInt64(thread), is_handlers: false))
      #expect(pm_told_stack(thread).size == UInt64(thread))
    }
    for thread in first..<first + 10 * Int32(PM_TOLD_STACKS) {
      pm_tell_stack(thread, pm_told_stack())
    }
  }

  /// The kernel writes the old stack over the new one.
  @Test func theNewStackIsRecordedIfTheOldOneGoesToTheSamePlace() {
    let (first, second) = TestThread {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 4 << 16, alignment: 4096)
      defer { unsafe memory.deallocate() }
      var stack = unsafe stack_t(ss_sp: memory, ss_flags: 0, ss_size: 1 << 16)
      unsafe sigaltstack(&stack, nil)
      let first = pm_told_stack(pm_gettid())
      unsafe stack = stack_t(ss_sp: memory + 2 << 16, ss_flags: 0, ss_size: 1 << 17)
      let place = unsafe withUnsafeMutablePointer(to: &stack) { unsafe $0 }
      unsafe sigaltstack(place, place)
      let second = pm_told_stack(pm_gettid())
      unsafe stack = stack_t(ss_sp: nil, ss_flags: Int32(SS_DISABLE), ss_size: 0)
      unsafe sigaltstack(&stack, nil)
      return ([first.size, 0], [second.size, second.base &- first.base])
    }.join()
    #expect(first == [1 << 16, 0])
    #expect(second == [1 << 17, 2 << 16])
  }

  @Test func memoryThatCannotBeReadIsToldFromMemoryThatCan() {
    var word: UInt64 = 0
    let isReadable = unsafe withUnsafeMutablePointer(to: &word) {
      pm_is_readable(UInt64(UInt(bitPattern: $0)))
    }
    #expect(isReadable)
    #expect(!pm_is_readable(8) && !pm_is_readable(1 << 63))
  }
}
