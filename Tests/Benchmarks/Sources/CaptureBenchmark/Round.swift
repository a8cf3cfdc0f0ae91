import CLimit
import Foundation

/// Runs one victim until it ends, and measures it.
struct Round {
  let contender: Contender
  let threads: Int
  /// The number of bytes that `limit` writes; the other contenders ignore it.
  let limitBytes: Int64
  let surroundings: Surroundings

  func run() throws -> Measurement {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let page = Victim.sharedPage(directory + "/instant")
    defer { munmap(page, 4096) }
    let words =
      ["/proc/self/exe", "victim", contender.rawValue, "\(threads)", "\(limitBytes)", directory]
      + surroundings.words
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = contender.backtraceSetting
    let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let process = spawn(
      path, words, environment.map { "\($0)=\($1)" }, directory, hasCore: contender == .core)
    guard process > 0 else { throw CocoaError(.executableLoad) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let end = limit_now()
    if contender == .limit {
      guard status == 0 else { throw CocoaError(.executableRuntimeMismatch) }
      return Measurement(
        untilReaped: nil, capture: Double(page[1]) / 1000, bytes: size(directory + "/limit"))
    }
    guard page[0] > 0, status & 0x7F == SIGSEGV else {
      throw CocoaError(.executableRuntimeMismatch)
    }
    var result = Measurement(
      untilReaped: Double(end - page[0]) / 1000, capture: nil, bytes: 0)
    switch contender {
    case .none, .limit: break
    case .postmortem, .sanitized, .objects: (result.bytes, result.capture) = try dump(in: directory)
    case .core: result.bytes = core(in: directory)
    case .backtracer: result.bytes = size(directory + "/errors")
    }
    // A contender that wrote nothing did not handle the crash.
    guard contender == .none || result.bytes > 0 else { throw CocoaError(.fileReadNoSuchFile) }
    return result
  }

  private func spawn(
    _ path: String, _ words: [String], _ environment: [String], _ directory: String, hasCore: Bool
  ) -> Int32 {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    return limit_spawn(path, &arguments, &variables, directory, hasCore ? 1 : 0)
  }

  private func size(_ path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// The size of the core file on disk; core files are sparse.
  private func core(in directory: String) -> Int64 {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    guard let name = names.first(where: { $0.hasPrefix("core") }) else { return 0 }
    var status = stat()
    return stat(directory + "/" + name, &status) == 0 ? Int64(status.st_blocks) * 512 : 0
  }

  /// The size of the dump, and the capture time in its capture map: key 906, nanoseconds, 8 bytes.
  private func dump(in directory: String) throws -> (bytes: Int64, capture: Double?) {
    let pending = directory + "/database/pending-serialized-dumps"
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
    guard let name = names.first(where: { !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") }),
      !name.hasSuffix(".locked")
    else { throw CocoaError(.fileReadNoSuchFile) }
    let data = try Data(contentsOf: URL(filePath: pending + "/" + name))
    let property = Data([0x01, 0x8A, 0x03, 0x08, 0x00, 0x00, 0x00])
    guard let range = data.range(of: property, options: .backwards),
      range.upperBound + 8 <= data.count
    else { throw CocoaError(.fileReadCorruptFile) }
    let value = data[range.upperBound..<range.upperBound + 8].reversed()
      .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (Int64(data.count), Double(value) / 1000)
  }
}
