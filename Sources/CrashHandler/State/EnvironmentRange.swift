/// The address range of the arguments, the environment and the auxiliary vector, at the top of the main thread's
/// stack.
struct EnvironmentRange {
  /// The main thread's stack pointer at the start of the program.
  ///
  /// The number of arguments is at this address, and all frames of the main thread are below it.
  ///
  /// The value is 0 if the kernel does not show the address.
  let start: UInt64
  /// The end of the stack's mapping.
  let end: UInt64
}
