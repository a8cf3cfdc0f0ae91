import Glibc

/// Limits the tests of `swift test` that run at once to two for each processor, unless the environment has
/// another number.
///
/// Swift Testing starts all tests at once by default. Most of ours run programs, which then wait for each other:
/// on two processors, 849 tests took 363 s of processor time without the limit, and 212 s with it. Neither a
/// package nor a trait can set the limit, so this code runs as the process starts, before Testing reads the
/// variable.
enum TestWidth {
  static let variable = "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

  static func set() {
    _ = unsafe setenv(variable, "\(2 * max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))", 0)
  }
}

@section(".init_array") @used
private let setTestWidth: @convention(c) () -> Void = { TestWidth.set() }
