internal import CCrashLab
internal import Dispatch
internal import Glibc
internal import Postmortem

/// Gives the handler every kind of information that it accepts, then ends as the scene requires.
struct Telling: Subcommand {
  private let scene: String
  private let database: String
  /// The directory of the program's files; if the scene processes dumps, the name of a stream.
  private let directory: String

  private let route = Annotation<String>("route", capacity: 32)
  private let connections = Annotation<Int>("connections")
  private let requests = Annotation<UInt>("requests")
  private let load = Annotation<Double>("load")
  private let ready = Annotation<Bool>("ready")
  private let gone = Annotation<String>("gone")
  private let storm = Annotation<String>("storm", capacity: 4096)

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "DIR", "DIRECTORY")
    scene = words[0]
    database = words[1]
    directory = words[2]
  }

  func run() {
    if scene == "process" {
      process()
    } else {
      start()
      addMemory()
      tell()
      end()
    }
  }

  private func process() {
    do {
      try startHandler(database: database, identifier: "teller")
      let source = StreamSource(name: directory)
      for dump in try processIntermediateDumps(
        storingSymbols: false, userStreams: [source, source])
      {
        print(dump)
      }
    } catch { Self.fail("\(error)") }
  }

  private func start() {
    // Set some values before the handler starts.
    route.set("/before")
    SimpleAnnotations.set("early", "yes")
    leaveBreadcrumb("before the handler")

    var options = HandlerOptions()
    options.limits.extraMemory = 12_000
    options.attachments = ["\(directory)/app.log", "\(directory)/missing.log"]
    do {
      try startHandler(
        database: database, identifier: "teller",
        annotations: ["launch": "given", "tenant": "none"], options: options)
    } catch { Self.fail("\(error)") }
  }

  private func addMemory() {
    // Add 4 KiB that are unmapped again, and 12,000 bytes of a known pattern, which use up the limit.
    let unmapped = unsafe mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    unsafe ExtraMemory.add(UnsafeRawBufferPointer(start: unmapped, count: 4096))
    unsafe munmap(unmapped, 4096)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 12_000, alignment: 8)
    for index in 0..<12_000 { unsafe memory[index] = UInt8(truncatingIfNeeded: index % 251) }
    unsafe ExtraMemory.add(UnsafeRawBufferPointer(memory))
  }

  private func tell() {
    tellingBegins()
    route.set("GET /orders/\u{1F600}")
    connections.set(-17)
    requests.set(.max)
    load.set(0.25)
    ready.set(true)
    gone.set("not to be seen")
    gone.clear()
    SimpleAnnotations.set("tenant", "acme")
    SimpleAnnotations.set("removed", "x")
    SimpleAnnotations.remove("removed")
    leaveBreadcrumb("step 0, which later ones take the place of")
    tellingEnds()
    for number in 1...200 { leaveBreadcrumb("step \(number)") }
    addAttachment(path: "\(directory)/second/app.log")
  }

  /// Starts four threads that continuously set and remove values and leave breadcrumbs; each value
  /// shows whether it is complete.
  private func startStorm() {
    let storm = storm
    for thread in 0..<4 {
      Self.startThread {
        var number = thread
        while true {
          number += 4
          let filler = String(repeating: "\(number % 10)", count: number % 1000)
          storm.set("\(filler.utf8.count):\(filler)")
          leaveBreadcrumb("\(number)=\(number)")
          SimpleAnnotations.set("storm-\(number % 3)", "\(number)=\(number)")
          if number % 7 == 0 { SimpleAnnotations.remove("storm-\(number % 3)") }
        }
      }
    }
    usleep(100_000)
  }

  private func end() {
    switch scene {
    case "crash": abort()
    case "storm":
      startStorm()
      abort()
    case "dump":
      startStorm()
      do {
        for _ in 0..<5 { try Handler.current?.dumpWithoutCrash() }
      } catch { Self.fail("\(error)") }
    case "hang":
      do {
        let monitor = try HangMonitor.heartbeat(
          name: "loop", options: .init(threshold: .milliseconds(100), keepsRecovered: true))
        monitor.heartbeat()
        sleep(1)
        monitor.heartbeat()
        sleep(1)
      } catch { Self.fail("\(error)") }
    case "fork":
      let child = crashlab_fork()
      if child == 0 {
        SimpleAnnotations.set("tenant", "child")
        connections.set(1)
        leaveBreadcrumb("in the child")
        abort()
      }
      var status: Int32 = 0
      unsafe waitpid(child, &status, 0)
      leaveBreadcrumb("in the parent")
      abort()
    default: Self.fail("unknown scene \(scene)")
    }
  }

  private static func startThread(_ body: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "teller", attributes: .concurrent)
    queue.async(execute: body)
  }

  private static func fail(_ text: String) -> Never {
    print(text)
    exit(EX_SOFTWARE)
  }
}

/// Makes the user stream, or fails, as its name requires.
private struct StreamSource: UserStreamDataSource {
  let name: String

  struct Refusal: Error {}

  func stream(of process: CrashedProcess) throws -> UserStream? {
    switch name {
    case "throwing": throw Refusal()
    case "huge": UserStream(type: 0xCAFE_BABE, bytes: [UInt8](repeating: 1, count: 17 << 20))
    case "standard": UserStream(type: 4, bytes: [1])
    case "none": nil
    default: UserStream(type: 0xCAFE_BABE, bytes: Array("of \(process.signal ?? 0)".utf8))
    }
  }
}

/// The breakpoints between which a debugger looks for locks and allocations.
@c(telling_begins) @inline(never) func tellingBegins() {}
@c(telling_ends) @inline(never) func tellingEnds() {}
