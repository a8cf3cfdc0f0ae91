internal import CCrashLab
internal import Glibc

// Programs that fork, become daemons, or become other programs.

extension WayToEnd {
  static let processes: [WayToEnd] = [
    WayToEnd("fork-_exit", "forks a child that ends by _exit(7), and does the same") { _ in
      let child = crashlab_fork()
      if child == 0 { _exit(7) }
      wait(for: child)
      _exit(7)
    },
    WayToEnd("fork-exit", "forks a child that ends by exit(8), and waits") { _ in
      let child = crashlab_fork()
      if child == 0 { exit(8) }
      wait(for: child)
      say("waiting")
      waitForEver()
    },
    WayToEnd("fork-orphan", "ends before its child") { _ in
      if crashlab_fork() == 0 {
        usleep(200_000)
        _exit(0)
      }
      exit(0)
    },
    WayToEnd("daemon", "becomes a daemon, which ends by _exit(0)") { _ in
      becomeDaemon()
      _exit(0)
    },
    WayToEnd("daemon-exit", "becomes a daemon, which ends by exit(0)") { _ in
      becomeDaemon()
      exit(0)
    },
    WayToEnd("daemon-wait", "becomes a daemon, which waits") { _ in
      becomeDaemon()
      say("waiting")
      waitForEver()
    },
    WayToEnd("exec", "becomes a shell, which waits") { _ in
      become(["/bin/sh", "-c", "echo waiting; exec sleep 600"])
    },
    WayToEnd("exec-self", "starts itself again, and waits then") { end in
      become(["/proc/self/exe", "end", "wait", "--database", end.database ?? ""])
    },
    WayToEnd("exec-exit", "becomes a program that exits") { _ in become(["/bin/true"]) },
  ]
}

private func wait(for child: Int32) {
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
}

/// Ends this process, and prints `daemon PID` in the child that continues.
private func becomeDaemon() {
  guard daemon(1, 1) == 0 else { _exit(95) }
  say("daemon \(getpid())")
}

private func become(_ words: [String]) -> Never {
  var pointers = unsafe words.map { unsafe strdup($0) } + [nil]
  unsafe execv(words[0], &pointers)
  _exit(96)
}
