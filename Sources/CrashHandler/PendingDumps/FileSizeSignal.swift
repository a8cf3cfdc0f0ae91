internal import Glibc

/// Keeps SIGXFSZ from the calling thread while the handler's files are made.
///
/// A write beyond RLIMIT_FSIZE raises it, and its default action ends the process: `startHandler`
/// under `ulimit -f 0` is an error of the write, not the program's end. Ordinary code. Dropping it
/// takes the signal away that came meanwhile, and puts the thread's mask back.
///
/// Source: write(2), EFBIG; setrlimit(2), RLIMIT_FSIZE.
struct FileSizeSignal: ~Copyable {
  private var previousMask = sigset_t()
  private let wasPending: Bool

  init() {
    wasPending = Self.isPending
    var mask = Self.set
    unsafe pthread_sigmask(SIG_BLOCK, &mask, &previousMask)
  }

  deinit {
    // The kernel sends it to the thread that wrote, so nobody else's is taken.
    if !wasPending, Self.isPending {
      var mask = Self.set
      var now = timespec()
      while unsafe sigtimedwait(&mask, nil, &now) < 0, errno == EINTR {}
    }
    var mask = previousMask
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  private static var set: sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGXFSZ)
    return set
  }

  private static var isPending: Bool {
    var pending = sigset_t()
    return unsafe sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1
  }
}
