internal import Glibc
internal import Postmortem

// Ways in which a program ends itself.

extension WayToEnd {
  static let exits: [WayToEnd] = [
    WayToEnd("exit", "by exit(3)") { _ in exit(3) },
    WayToEnd("return", "returns from main") { _ in },
    WayToEnd("_exit", "by _exit(4)") { _ in _exit(4) },
    WayToEnd("_Exit", "by _Exit(4)") { _ in _Exit(4) },
    WayToEnd("quick_exit", "by quick_exit(5)") { _ in quick_exit(5) },
    WayToEnd("thread-exit", "by exit(6) on another thread") { _ in
      Thread.start { exit(6) }
      waitForEver()
    },
    WayToEnd("note-exit", "notes that it was asked to end, and exits") { _ in
      noteTermination()
      exit(0)
    },
    WayToEnd("close-all", "closes all descriptors but the standard ones, and exits") { _ in
      for descriptor in 3..<Int32(1024) { close(descriptor) }
      _exit(0)
    },
    WayToEnd("no-file-size", "may not make any file larger, and exits") { _ in
      var limit = rlimit(rlim_cur: 0, rlim_max: 0)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      _exit(0)
    },
    WayToEnd("crash-at-exit", "crashes in an exit handler that runs before ours") { _ in
      // Registered after the handler's exit function, so it runs before that.
      _ = atexit { abort() }
      exit(0)
    },
    WayToEnd("abort", "by abort(3)") { _ in abort() },
  ]
}
