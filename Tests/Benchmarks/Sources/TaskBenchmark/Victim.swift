import Foundation
import Postmortem
import Synchronization

/// The process whose dump is measured: `victim THREADS TASKS MANNER DIRECTORY`.
enum Victim {
  enum Manner: String, CaseIterable {
    /// The main thread requests the dump, which also stops the other threads.
    case request
    /// The main thread hangs, and the hang monitor takes the dump.
    case hang

    var clock: String {
      switch self {
      case .request: "time of the call"
      case .hang: "CPU time of the process until the dump of the hang is complete"
      }
    }
  }

  private static let waiting = Atomic(0)

  /// Runs a victim until it ends, and reads its measurements.
  static func measure(threads: Int, tasks: Int, _ manner: Manner) throws -> Measurement {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["victim", "\(threads)", "\(tasks)", manner.rawValue, directory]
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let figures = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      .compactMap { Int($0) }
    guard process.terminationStatus == 0, figures.count == 2 else {
      throw CocoaError(.executableRuntimeMismatch)
    }
    return Measurement(bytes: figures[0], microseconds: figures[1])
  }

  static func run(_ arguments: ArraySlice<String>) throws -> Never {
    let words = Array(arguments)
    guard words.count == 4, let threads = Int(words[0]), let tasks = Int(words[1]),
      let manner = Manner(rawValue: words[2])
    else { exit(64) }
    let handler = try startHandler(database: words[3] + "/database")
    for _ in 1..<threads { Thread.detachNewThread { while true { pause() } } }
    for _ in 0..<tasks { Task.detached { await lease() } }
    while waiting.load(ordering: .relaxed) < tasks { usleep(1000) }
    // Waits until the last task has left its thread.
    usleep(200_000)
    let measurement =
      switch manner {
      case .request: try request(handler, words[3] + "/dump")
      case .hang: try hang(words[3] + "/database/pending-serialized-dumps")
      }
    let line = "\(measurement.bytes) \(measurement.microseconds)\n"
    FileHandle.standardOutput.write(Data(line.utf8))
    exit(0)
  }

  /// The continuation is never resumed.
  @inline(never)
  private static func lease() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in
      waiting.add(1, ordering: .relaxed)
    }
  }

  private static func request(_ handler: Handler, _ path: String) throws -> Measurement {
    let clock = ContinuousClock()
    let time = try clock.measure {
      try handler.dumpWithoutCrash(to: path, reason: "benchmark", stopsThreads: true)
    }
    return Measurement(bytes: size(path), microseconds: Int(time / .microseconds(1)))
  }

  private static func hang(_ directory: String) throws -> Measurement {
    let options = HangMonitor.Options(threshold: .milliseconds(300))
    let monitor = try HangMonitor.heartbeat(name: "main", options: options)
    monitor.heartbeat()
    let before = processorTime
    while true {
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      if let name = names.first(where: { $0.hasSuffix(".hang") }) {
        let time = processorTime - before
        return Measurement(bytes: size(directory + "/" + name), microseconds: time)
      }
      usleep(50_000)
    }
  }

  private static func size(_ path: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? Int) ?? 0
  }

  /// CPU time in microseconds.
  private static var processorTime: Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
      + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
  }
}
