/// The address range of the arguments, the environment and the auxiliary vector, at the top of the main thread's
/// stack.
struct EnvironmentRange {
  /// The stack pointer with which the program started.
  ///
  /// It points to the number of arguments, and all frames of the main thread are below it.
  ///
  /// This is 0 if the kernel does not show the address.
  let start: UInt64
  /// The end of the stack's mapping.
  let end: UInt64
}
