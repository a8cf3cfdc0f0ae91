import Foundation
import Postmortem

/// Databases of pending dumps, which are made from the dump of one crash.
struct Dumps {
  private let sample: Data
  private let identifier: String

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Crashes once.
  init(program: String, in directory: String) throws {
    let database = directory + "/sample"
    _ = try Run(program, ["victim", database], mayDie: true)
    let pending = database + "/pending-serialized-dumps"
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
    guard let name = names.first(where: { !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") }),
      let at = name.lastIndex(of: "@")
    else { throw Failure(description: "the victim left no dump") }
    sample = try Data(contentsOf: URL(fileURLWithPath: "\(pending)/\(name)"))
    identifier = String(name[..<at])
  }

  /// Makes a database of `count` dumps, each with `mebibytes` MiB of memory.
  ///
  /// - Returns: the size of all dumps in bytes.
  func makeDatabase(at path: String, count: Int, mebibytes: Int = 0) throws -> Int {
    let pending = path + "/pending-serialized-dumps"
    try FileManager.default.createDirectory(
      atPath: pending, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    var bytes = 0
    for _ in 0..<count {
      let file = "\(pending)/\(identifier)@\(UUID().uuidString.lowercased())"
      guard
        FileManager.default.createFile(
          atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]),
        let handle = FileHandle(forWritingAtPath: file)
      else { throw Failure(description: "cannot write \(file)") }
      if mebibytes == 0 {
        try handle.write(contentsOf: sample)
      } else {
        try writeMemory(mebibytes, to: handle)
      }
      bytes += Int(try handle.offset())
      try handle.close()
    }
    return bytes
  }

  /// The sample, with regions of 1 MiB of memory before its end mark (Docs/Internals/IntermediateDumpFormat.md).
  private func writeMemory(_ mebibytes: Int, to handle: FileHandle) throws {
    func integer(_ value: some FixedWidthInteger) -> Data {
      withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
    let size = 1 << 20
    let region = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) })
    try handle.write(contentsOf: sample.dropLast())
    // Writes the array `memory` of `memoryRegion` maps with `regionAddress` and `regionData`.
    try handle.write(contentsOf: [0x04] + integer(UInt16(500)))
    for index in 0..<mebibytes {
      let address = UInt64(0x6000_0000_0000) + UInt64(index * size)
      var head = Data([0x02])
      head += integer(UInt16(501))
      head.append(0x01)
      head += integer(UInt16(502))
      head += integer(UInt32(8))
      head += integer(address)
      head.append(0x01)
      head += integer(UInt16(503))
      head += integer(UInt32(size))
      try handle.write(contentsOf: head)
      try handle.write(contentsOf: region)
      try handle.write(contentsOf: [0x03])
    }
    try handle.write(contentsOf: [0x05, 0x06])
  }
}

/// One run of a program until it exits.
struct Run {
  /// The elapsed time in seconds.
  let seconds: Double
  /// The CPU time in user mode and in the kernel, in seconds.
  let processorSeconds: Double
  /// The maximum amount of anonymous memory that was measured, in bytes.
  let anonymous: Int

  init(_ program: String, _ arguments: [String], mayDie: Bool = false) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [1, 2] as [Int32] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { words.forEach { free($0) } }
    let start = ContinuousClock.now
    var process: pid_t = 0
    guard posix_spawn(&process, program, &actions, nil, &words, environ) == 0 else {
      throw Dumps.Failure(description: "\(program) does not start")
    }
    var status: Int32 = 0
    var usage = rusage()
    var most = 0
    while wait4(process, &status, WNOHANG, &usage) == 0 {
      most = max(most, Self.anonymousMemory(of: process))
      usleep(1000)
    }
    guard status == 0 || mayDie else {
      throw Dumps.Failure(description: "\(program) \(arguments) ended with \(status)")
    }
    func value(_ duration: Duration) -> Double {
      Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }
    func value(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }
    seconds = value(ContinuousClock.now - start)
    processorSeconds = value(usage.ru_utime) + value(usage.ru_stime)
    anonymous = most
  }

  /// RssAnon of proc_pid_status(5).
  private static func anonymousMemory(of process: pid_t) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
      let size = line.split(separator: " ").compactMap({ Int($0) }).first
    else { return 0 }
    return size << 10
  }
}
