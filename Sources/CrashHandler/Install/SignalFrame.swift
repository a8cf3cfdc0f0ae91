internal import CSignalSafe

/// The frame that the kernel writes on the stack for each call of a signal handler.
///
/// 3 to 11 KiB on x86_64; on arm64 4.6 KiB, and with SVE and SME as much as their registers take: 70 KiB and more.
///
/// Ordinary code. Source: getauxval(3), AT_MINSIGSTKSZ.
enum SignalFrame {
  /// The size of the frame on this machine.
  ///
  /// Kernels before 5.14 do not report it on x86_64; their largest frame, with AVX-512, has 3.5 KiB.
  static let size: Int = {
    #if arch(arm64)
      max(Int(pm_minimum_signal_stack_size()), 5120)
    #else
      max(Int(pm_minimum_signal_stack_size()), 4096)
    #endif
  }()

  /// The size of a stack of the handler's own, on which half is for code.
  ///
  /// - Parameters:
  ///   - size: where frames are small.
  ///   - count: the number of frames that may be on the stack at the same time.
  static func stackSize(_ size: Int, frames count: Int) -> Int {
    max(size, (size / 2 + count * Self.size + 4095) & ~4095)
  }
}
