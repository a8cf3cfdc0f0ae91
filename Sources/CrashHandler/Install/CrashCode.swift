internal import CSignalSafe
internal import IntermediateDump

/// Loads the pages of the program's file that crash code needs, so that a crash need not load them.
///
/// The program's file may be unavailable during a crash, because of a network failure, a removed overlay or a lazy
/// unmount.
///
/// Not crash code.
enum CrashCode {
  /// The number of bytes that are loaded before and after functions and strings with known addresses.
  ///
  /// Crash code whose addresses are not known here is in the same modules, usually within this distance.
  private static let slack: UInt = 256 << 10

  /// Makes the kernel load the pages of crash code and its constants; the kernel may drop them again when memory is
  /// short.
  static func bringIn() {
    var (code, text) = (AddressSpan(), AddressSpan())
    for section in Section.allCases {
      code.add(
        UInt(bitPattern: unsafe unsafeBitCast(section.entry.body, to: UnsafeRawPointer.self)))
    }
    // The linker places the strings of a module together, so the other strings are close to these three.
    for name: StaticString in ["thread-self/maps", "self/status", "self/limits"] {
      text.add(unsafe UInt(bitPattern: name.utf8Start))
    }
    let crash: pm_crash_handler = unsafe pm_handle_crash
    let stop: pm_signal_handler = unsafe pm_handle_stop
    code.add(UInt(bitPattern: unsafe unsafeBitCast(crash, to: UnsafeRawPointer.self)))
    code.add(UInt(bitPattern: unsafe unsafeBitCast(stop, to: UnsafeRawPointer.self)))
    pm_set_handler_code(UInt64(code.low - slack), UInt64(code.high + slack))
    let control: pm_signal_handler = unsafe pm_enter_crash
    let entry = UInt(bitPattern: unsafe unsafeBitCast(control, to: UnsafeRawPointer.self))
    // The program's C and assembly code is usually close to its Swift code, so one range usually covers both.
    if code.isClose(entry, 2 * slack) { code.add(entry) } else { pm_bring_in_control(slack) }
    // The code that writes the dump format is in a separate module. In a debug build, that module can be anywhere in
    // the program, so its pages may need a separate call.
    let format = UInt(bitPattern: unsafe unsafeBitCast(ModuleCode.place, to: UnsafeRawPointer.self))
    if code.isClose(format, 2 * slack) {
      code.add(format)
    } else {
      pm_bring_in(format - slack, format + slack)
    }
    pm_bring_in(code.low - slack, code.high + slack)
    pm_bring_in(text.low - slack, text.high + slack)
  }
}

/// The smallest range that contains all added addresses.
private struct AddressSpan {
  private(set) var low = UInt.max
  private(set) var high: UInt = 0

  func isClose(_ address: UInt, _ distance: UInt) -> Bool {
    address > low &- distance && address < high &+ distance
  }

  mutating func add(_ address: UInt) {
    low = min(low, address)
    high = max(high, address)
  }
}
