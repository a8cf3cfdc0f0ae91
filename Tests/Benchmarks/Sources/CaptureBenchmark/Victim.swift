import CLimit
import Foundation
import Postmortem

/// The process that crashes: `victim CONTENDER THREADS FILE-BYTES DIRECTORY BUSY MAPPINGS MODULES`.
enum Victim {
  /// The number of bytes in use on each sleeping thread's stack.
  static let touchedBytes = 4096

  static func run(_ arguments: ArraySlice<String>) -> Never {
    let words = Array(arguments)
    guard words.count == 7, let contender = Contender(rawValue: words[0]),
      let threads = Int32(words[1]), let fileBytes = Int64(words[2]),
      let surroundings = Surroundings(words[4...])
    else { exit(64) }
    let directory = words[3]
    let page = sharedPage(directory + "/instant")
    do {
      var options = HandlerOptions()
      options.privacy = contender == .sanitized ? .sanitized : .full
      if [.postmortem, .sanitized, .objects].contains(contender) {
        try startHandler(database: directory + "/database", options: options)
      }
    } catch {
      exit(1)
    }
    guard limit_start_threads(threads - 1, Int32(touchedBytes)) == 0,
      surroundings.make(in: directory)
    else { exit(1) }
    if contender == .objects { crashAmongObjects(page) }
    if contender == .limit { measureLimit(directory, fileBytes, page) }
    limit_crash(page)
    exit(1)
  }

  private class Plain { var number = 1 }
  private final class Box<Value>: Plain { var value: Value? }

  /// Crashes with more pointers to objects on the stack than the handler writes objects.
  private static func crashAmongObjects(_ page: UnsafeMutablePointer<Int64>) -> Never {
    let kinds: [() -> AnyObject] = [
      { Plain() }, { Box<Int>() }, { Box<[String: Int]>() }, { Box<(Int, String)>() },
      { Box<Box<Double>>() }, { Box<any Error>() }, { Box<Character?>() }, { Box<Set<Int>>() },
    ]
    let objects = (0..<64).map { kinds[$0 % kinds.count]() }
    withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer.self, capacity: objects.count) {
      for (index, object) in objects.enumerated() {
        $0[index] = Unmanaged.passUnretained(object).toOpaque()
      }
      limit_crash(page)
    }
    exit(1)
  }

  private static func measureLimit(
    _ directory: String, _ fileBytes: Int64, _ page: UnsafeMutablePointer<Int64>
  ) -> Never {
    let descriptor = open(directory + "/limit", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var bytes: Int64 = 0
    page[1] = limit_capture(descriptor, fileBytes, &bytes)
    exit(page[1] > 0 ? 0 : 1)
  }

  /// Two 64-bit words that the parent reads after the crash: the time of the crash and the time of the limit.
  static func sharedPage(_ path: String) -> UnsafeMutablePointer<Int64> {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    ftruncate(descriptor, 4096)
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    close(descriptor)
    guard let memory, memory != MAP_FAILED else { fatalError("cannot map \(path)") }
    return memory.bindMemory(to: Int64.self, capacity: 512)
  }
}
