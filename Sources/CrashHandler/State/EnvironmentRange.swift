/// The place of the arguments, the environment and the auxiliary vector, at the top of the main
/// thread's stack.
struct EnvironmentRange {
  /// The stack pointer that the program started with: it points to the number of arguments, and all frames are below
  /// it.
  ///
  /// 0 if the kernel does not show it.
  let start: UInt64
  /// The end of the stack's mapping.
  let end: UInt64
}
