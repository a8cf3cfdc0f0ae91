internal import CSignalSafe

/// The frame that the kernel writes on the stack for each call of a signal handler.
///
/// On x86_64, the frame is up to 3.5 KiB with AVX-512, and 11 KiB with AMX. On arm64, it is 4.6 KiB, or 70 KiB and more
/// with the registers of SVE and SME.
///
/// Not crash code. Source: getauxval(3), AT_MINSIGSTKSZ.
enum SignalFrame {
  /// The size of the frame on this machine, in bytes.
  ///
  /// On x86_64, kernels before 5.14 do not report the size. Their largest frame, with AVX-512, is 3.5 KiB, so at least
  /// 4 KiB are assumed.
  static let size: Int = {
    #if arch(arm64)
      max(Int(pm_minimum_signal_stack_size()), 5120)
    #else
      max(Int(pm_minimum_signal_stack_size()), 4096)
    #endif
  }()

  /// Returns the size of a stack for the handler, with `size / 2` bytes for functions and the rest for signal frames.
  ///
  /// - Parameters:
  ///   - size: the minimum size of the stack, which is enough if signal frames are small.
  ///   - count: the number of signal frames that may be on the stack at the same time.
  static func stackSize(_ size: Int, frames count: Int) -> Int {
    max(size, (size / 2 + count * Self.size + 4095) & ~4095)
  }
}
