internal import Dispatch
internal import Glibc
internal import Postmortem

// A program that tells the handler everything it can be told, and then ends as its first argument says. The second names
// the database, the third a folder for its own files.

func fail(_ text: String) -> Never {
  print(text)
  exit(70)
}

func startThread(_ body: @escaping @Sendable () -> Void) {
  let queue = DispatchQueue(label: "teller", attributes: .concurrent)
  queue.async(execute: body)
}

guard CommandLine.arguments.count == 4 else { fail("usage: TellingVictim SCENE DATABASE FOLDER") }
let scene = CommandLine.arguments[1]
let database = CommandLine.arguments[2]
let folder = CommandLine.arguments[3]

/// Makes the stream that the third argument names.
struct StreamSource: UserStreamDataSource {
  struct Refusal: Error {}

  func stream(of process: CrashedProcess) throws -> UserStream? {
    switch folder {
    case "throwing": throw Refusal()
    case "huge": UserStream(type: 0xCAFE_BABE, bytes: [UInt8](repeating: 1, count: 17 << 20))
    case "standard": UserStream(type: 4, bytes: [1])
    case "none": nil
    default: UserStream(type: 0xCAFE_BABE, bytes: Array("of \(process.signal ?? 0)".utf8))
    }
  }
}

if scene == "process" {
  do {
    try startHandler(database: database, identifier: "teller")
    let source = StreamSource()
    for dump in try processIntermediateDumps(storingSymbols: false, userStreams: [source, source]) {
      print(dump)
    }
  } catch { fail("\(error)") }
  exit(0)
}

let route = Annotation<String>("route", capacity: 32)
let connections = Annotation<Int>("connections")
let requests = Annotation<UInt>("requests")
let load = Annotation<Double>("load")
let ready = Annotation<Bool>("ready")
let gone = Annotation<String>("gone")
let storm = Annotation<String>("storm", capacity: 4096)

// Some before the handler is there.
route.set("/before")
SimpleAnnotations.set("early", "yes")
leaveBreadcrumb("before the handler")

var options = HandlerOptions()
options.attachments = ["\(folder)/app.log", "\(folder)/missing.log"]
do {
  try startHandler(
    database: database, identifier: "teller",
    annotations: ["launch": "given", "tenant": "none"], options: options)
} catch { fail("\(error)") }

/// 12,000 bytes that say what they are, and 4 KiB that are not there at the end.
let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 12_000, alignment: 8)
for index in 0..<12_000 { unsafe memory[index] = UInt8(truncatingIfNeeded: index % 251) }
unsafe ExtraMemory.add(UnsafeRawBufferPointer(memory))
let unmapped = unsafe mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
unsafe ExtraMemory.add(UnsafeRawBufferPointer(start: unmapped, count: 4096))
unsafe munmap(unmapped, 4096)

/// Where a debugger begins and ends to look for locks and allocations.
@c(telling_begins) @inline(never) func tellingBegins() {}
@c(telling_ends) @inline(never) func tellingEnds() {}

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
addAttachment(path: "\(folder)/second/app.log")

/// Many threads that set, leave and remove all the time; each value says whether it is whole.
func startStorm() {
  for thread in 0..<4 {
    startThread {
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

switch scene {
case "crash": abort()
case "storm":
  startStorm()
  abort()
case "dump":
  startStorm()
  do {
    for _ in 0..<5 { try dumpWithoutCrash(processing: DumpProcessing.deferred) }
  } catch { fail("\(error)") }
case "hang":
  do {
    let monitor = try HangMonitor.heartbeat(
      name: "loop", options: .init(threshold: .milliseconds(100), keepsRecovered: true))
    monitor.beat()
    sleep(1)
    monitor.beat()
    sleep(1)
  } catch { fail("\(error)") }
case "fork":
  // fork(2), which Swift does not import.
  typealias Fork = @convention(c) () -> Int32
  let child = unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
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
default: fail("unknown scene \(scene)")
}
