internal import Glibc

/// Keeps descriptors 0 to 2 from becoming files of ours.
///
/// A daemon may have closed them, and the kernel gives the lowest free number: what the program then
/// prints to "standard error" would go into the dump. Those that are closed are taken while this
/// lives, and given back with it.
struct StandardDescriptors: ~Copyable {
  private var held: [Int32] = []

  init() {
    while true {
      let descriptor = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      guard descriptor <= STDERR_FILENO else {
        close(descriptor)
        return
      }
      held.append(descriptor)
    }
  }

  /// False if there is none: what descriptor 2 is now goes with this.
  var hasStandardError: Bool { !held.contains(STDERR_FILENO) }

  deinit {
    for descriptor in held { close(descriptor) }
  }
}
