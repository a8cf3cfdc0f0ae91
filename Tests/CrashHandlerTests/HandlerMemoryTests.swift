import Glibc
import Testing

@testable import CrashHandler

/// The division of the handler's memory, on systems with several page sizes.
@Suite struct HandlerMemoryTests {
  @Test(arguments: [4, 16, 64])
  func aPageBelowAStackCannotBeTouchedAndItsNeighboursCan(kibibytes: Int) throws {
    let pageSize = kibibytes << 10
    var memory = try HandlerMemory(capacity: HandlerMemory.captureSize, pageSize: pageSize)
    let before = unsafe try memory.pages(100)
    let stack = unsafe try memory.stack(HandlerMemory.captureStackSize)
    let after = unsafe try memory.pages(100)
    let base = UInt(bitPattern: stack)
    #expect(base % UInt(pageSize) == 0)
    #expect(Mappings.protection(at: base - 1) == "---p")
    #expect(Mappings.protection(at: base - UInt(pageSize)) == "---p")
    let top = base + UInt(HandlerMemory.captureStackSize)
    for place in [UInt(bitPattern: before), base, top - 1, UInt(bitPattern: after)] {
      #expect(Mappings.protection(at: place) == "rw-p")
    }
    #expect(UInt(bitPattern: after) >= top)
  }

  /// With SVE and SME, a signal frame takes 70 KiB and more.
  @Test func aStackOfTheHandlersOwnHasRoomForSignalFramesOfAnySize() {
    for (size, count) in [(32 << 10, 2), (64 << 10, 4), (128 << 10, 4)] {
      let stack = SignalFrame.stackSize(size, frames: count)
      #expect(stack >= size && stack % 4096 == 0)
      #expect(stack - count * SignalFrame.size >= size / 2)
      #expect(SignalFrame.stackSize(size, frames: 64) >= size / 2 + 64 * SignalFrame.size)
    }
    #expect(HandlerMemory.captureStackSize - 4 * SignalFrame.size >= 64 << 10)
  }

  @Test(arguments: [4, 16, 64])
  func thereIsRoomForACaptureWhateverTheSizeOfAPage(kibibytes: Int) throws {
    var memory = try HandlerMemory(
      capacity: HandlerMemory.captureSize, pageSize: kibibytes << 10)
    let (mark, isWiped) = unsafe try memory.pageWipedInCopies()
    #expect(isWiped)
    #expect(UInt(bitPattern: mark) % UInt(kibibytes << 10) == 0)
    _ = unsafe try memory.stack(HandlerMemory.captureStackSize)
    _ = unsafe try memory.stack(64 << 10)
    _ = try memory.mappings()
    let word = unsafe try FutexWord(memory.pages(64).bindMemory(to: UInt32.self, capacity: 1))
    _ = try memory.threads(capacity: 4096, countWord: word)
    _ = unsafe try memory.pages(4096 * StackOffers.stride)
    _ = unsafe try memory.writer(to: -1, limits: CaptureLimits(), asksFile: true)
    // Some thirty parts of one or a few pages.
    _ = unsafe try memory.pages(1 << 20)
  }
}
