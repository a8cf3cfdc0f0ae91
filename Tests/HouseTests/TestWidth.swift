import Glibc

/// Bounds the tests of `swift test` that run at once: two for each processor, unless the environment has
/// another number.
///
/// Swift Testing begins all of them at once by default. Most of ours run programs, which then wait for
/// each other: on two processors 849 tests took 363 s of processor time, and 212 so. Neither a package nor
/// a trait can set it, so that it is set before Testing asks: this runs as the process starts.
enum TestWidth {
  static let variable = "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

  static func set() {
    _ = unsafe setenv(variable, "\(2 * max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))", 0)
  }
}

@section(".init_array") @used
private let setTestWidth: @convention(c) () -> Void = { TestWidth.set() }
