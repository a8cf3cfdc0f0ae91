/// Finds the code addresses in words of the stack and in registers.
///
/// RUNS-DURING-CRASH. Source: Linux Documentation/arch/arm64/pointer-authentication.rst.
enum CodeAddress {
  /// The code address in a word that a function may have saved as its return address.
  ///
  /// On arm64, a function signs its return address before it saves it, if the function was compiled with pointer
  /// authentication, as libc is. The signature is in the bits above the address.
  @inline(__always) @_noLocks
  static func of(_ word: UInt64) -> UInt64 {
    #if arch(arm64)
      // User addresses have at most 48 bits, unless the process requested more, so the higher bits are removed.
      return word & 0x0000_FFFF_FFFF_FFFF
    #else
      return word
    #endif
  }
}
