internal import Dispatch
internal import Foundation
internal import Postmortem

/// The process that `postmortem demo` crashes: this program, started again with a hidden word.
enum DemoVictim {
  static let name = "demo-victim"
  /// With the main thread and the Dispatch worker eight.
  private static let idleThreadCount = 6

  static func run(_ words: [String]) throws {
    guard words.count == 1 else {
      throw UsageError("for postmortem demo only", help: DemoCommand.help)
    }
    // The crash is wanted: no core file of it.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    // The report is shown in full.
    var options = HandlerOptions()
    options.writesSummary = false
    try startHandler(
      database: words[0], product: "Postmortem demo", version: PostmortemTool.version,
      environment: "demo", annotations: ["purpose": "to be crashed"], options: options)
    let started = DispatchGroup()
    for number in 1...idleThreadCount {
      started.enter()
      Thread.detachNewThread { waitForWork(number, started) }
    }
    started.wait()
    DispatchQueue.global().async { handleRequest(17) }
    while true { pause() }
  }

  @inline(never) private static func waitForWork(_ number: Int, _ started: DispatchGroup) {
    // Not Thread.name, which a thread that is just starting may set in vain.
    try? FileHandle(forWritingAtPath: "/proc/thread-self/comm")?.write(
      contentsOf: Data("idle-\(number)".utf8))
    started.leave()
    while true { sleep(60) }
  }

  @inline(never) private static func handleRequest(_ number: Int) {
    let price = lookUpPrice(ofItem: number)
    Terminal.print("the price is \(price)\n")
  }

  @inline(never) private static func lookUpPrice(ofItem item: Int) -> Int {
    let entry = readEntry(at: UInt(item) + 7)
    return entry &* 2
  }

  /// The crash: a field of an entry whose address is null.
  @inline(never) private static func readEntry(at offset: UInt) -> Int {
    guard let entry = unsafe UnsafePointer<Int>(bitPattern: offset & ~7) else { return 0 }
    return unsafe entry.pointee
  }
}
