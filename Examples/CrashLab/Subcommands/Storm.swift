internal import CCrashLab
internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import Postmortem

/// Sends another process of this program random signals of the handler, with and without valid values, then crashes it.
///
/// Before that, requests one dump as `postmortem capture` does, and waits for it.
struct Storm: Subcommand {
  private enum Noise: CaseIterable {
    case request, requestOfAllThreads, stopWithoutRequest, watchdog, setID, pause, order, dump
  }

  private static let crashes = [SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS]
  private static let noises = 200
  /// glibc's SIGSETXID, with which the handler stops threads that block all other signals.
  private static let setID: Int32 = 33

  private var random: RandomWords
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SEED")
    guard let seed = UInt64(words[0]) else { throw UsageError("'\(words[0])' is no seed") }
    random = RandomWords(state: seed)
    database = try arguments.database
  }

  func run() throws {
    var random = random
    signal(SIGPIPE, SIG_IGN)
    let victim = try Victim(database)
    try victim.capture()
    say("captured")
    let kinds = (0..<4).map { _ in Noise.allCases.randomElement(using: &random)! }
    for _ in 0..<Self.noises {
      make(kinds.randomElement(using: &random)!, victim, &random)
      if random.next() % 10 < 7 { usleep(UInt32(random.next() % 4000)) }
    }
    let crashes = Self.crashes.shuffled(using: &random).prefix(Int(random.next() % 3) + 1)
    for crash in crashes {
      kill(victim.process, crash)
      if random.next() % 2 == 0 { usleep(UInt32(random.next() % 4000)) }
    }
    let end = victim.waitForEnd()
    guard crashes.contains(end) else {
      say("ended by \(end), not by one of \(Array(crashes))")
      exit(EX_SOFTWARE)
    }
    say("ended \(end)")
  }

  private func make(_ noise: Noise, _ victim: Victim, _ random: inout RandomWords) {
    switch noise {
    case .request, .requestOfAllThreads:
      let request = CaptureRequest(
        number: UInt32(truncatingIfNeeded: random.next()) | 1,
        stopsThreads: noise == .requestOfAllThreads)
      victim.queue(victim.stop, request.value)
    case .stopWithoutRequest: victim.queue(victim.stop, 5)
    case .watchdog: victim.queue(victim.watchdog, 0)
    case .setID: victim.queue(Self.setID, 0)
    case .pause:
      kill(victim.process, SIGSTOP)
      usleep(UInt32(random.next() % 4000))
      kill(victim.process, SIGCONT)
    case .order: victim.order("storm")
    case .dump: victim.order("dump")
    }
  }

  /// The other process, which obeys orders.
  private struct Victim {
    let process: Int32
    let stop: Int32
    let watchdog: Int32
    private let orders: Int32
    private let pending: String

    init(_ database: String) throws {
      var (orders, output) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
      guard unsafe pipe(&orders) == 0, unsafe pipe(&output) == 0 else {
        throw UsageError("no pipe")
      }
      process = crashlab_fork()
      if process == 0 {
        dup2(orders[0], STDIN_FILENO)
        dup2(output[1], STDOUT_FILENO)
        for descriptor in orders + output { close(descriptor) }
        let words = ["crash-lab", "live-dump", "obeying", "--database", database]
        let texts = unsafe words.map { unsafe strdup($0) } + [nil]
        _ = unsafe texts.withUnsafeBufferPointer { unsafe execv("/proc/self/exe", $0.baseAddress!) }
        _exit(EX_OSERR)
      }
      close(orders[0])
      close(output[1])
      self.orders = orders[1]
      // Reads `ready`. Later lines are not read: the echoes of at most 200 orders fit into the pipe.
      var line = [UInt8](repeating: 0, count: 6)
      guard unsafe read(output[0], &line, 6) == 6 else { throw UsageError("it has not begun") }
      pending = database + "/" + PendingDumpName.directory
      let name = try Directory(path: pending).names().first { $0.hasSuffix(".run") } ?? ""
      let file = unsafe open(pending + "/" + name, O_RDONLY | O_CLOEXEC)
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      bytes.removeLast(bytes.count - max(0, unsafe read(file, &bytes, bytes.count)))
      close(file)
      guard let signals = RunRecord(bytes: bytes)?.signals else {
        throw UsageError("no run record")
      }
      (stop, watchdog) = (Int32(signals.stop), Int32(signals.watchdog))
    }

    func queue(_ signal: Int32, _ value: UInt64) {
      _ = pm_queue_signal(process, process, signal, value)
    }

    func order(_ text: String) {
      let bytes = Array("\(text)\n".utf8)
      _ = unsafe write(orders, bytes, bytes.count)
    }

    /// Requests a dump of the victim, and waits for the dump.
    func capture() throws {
      let request = CaptureRequest(number: 0x7061_7373, stopsThreads: true)
      queue(stop, request.value)
      for _ in 0..<6000 {
        let names = try Directory(path: pending).names()
        if names.contains(where: { $0.hasSuffix(request.reportIDSuffix) }) { return }
        usleep(10_000)
      }
      throw UsageError("no dump was taken")
    }

    func waitForEnd() -> Int32 {
      var status: Int32 = 0
      while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
      return status & 0x7f
    }
  }
}

/// The SplitMix64 generator, whose seed determines the sequence.
private struct RandomWords: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }
}
