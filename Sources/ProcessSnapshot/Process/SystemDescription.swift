internal import IntermediateDump

/// The system that the process ran on.
public struct SystemDescription: Sendable, Equatable {
  /// `uname -s`.
  public var kernelName: String?
  /// `uname -r`.
  public var kernelRelease: String?
  /// `uname -v`.
  public var kernelVersion: String?
  /// `uname -m`.
  public var machine: String?
  /// PRETTY_NAME of os-release(5).
  public var distribution: String?
  /// The C library and its version, as it names itself.
  public var libraryVersion: String?
  /// The number of online processors.
  public var processorCount: UInt32?
  /// The size of a page in bytes.
  public var pageSize: UInt64?
  /// `/proc/sys/kernel/random/boot_id`.
  public var bootID: String?
  /// `/proc/loadavg` at the crash: three averages, tasks that run of all tasks, the last process
  /// ID.
  public var loadAverage: String?
  /// `model name` of `/proc/cpuinfo`, or a name by the numbers there.
  public var processorModel: String?
  /// The text of `/proc/cpuinfo`, at least the part of the first processor.
  public var processorText: [UInt8]?
  /// The text of os-release(5).
  public var releaseText: [UInt8]?
  /// The C compiler of the toolchain that built the handler, as it names itself.
  public var compiler: String?
  /// The version of the Swift compiler that built the handler; SwiftPM uses the same compiler for the program.
  public var swiftVersion: String?
  /// `uname -n` at launch.
  public var hostName: String?
  /// TZ at launch, otherwise the target of `/etc/localtime`.
  public var timeZone: String?
  /// The path of a file that the container runtime has mounted, if `cgroup` does not contain the ID of the container.
  public var containerMount: String?

  public init() {}
}

extension SystemDescription {
  /// The lines of the first processor; the others differ in their numbers only.
  private static func firstProcessor(in text: [UInt8]) -> [UInt8] {
    let lineFeed = UInt8(ascii: "\n")
    let end = text.indices.first { $0 > 0 && text[$0] == lineFeed && text[$0 - 1] == lineFeed }
    return end.map { Array(text[..<$0]) } ?? text
  }

  private static func model(in text: [UInt8]) -> String? {
    let line = text.split(separator: UInt8(ascii: "\n"))
      .first { $0.starts(with: "model name".utf8) }
    guard let line, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return String(
      decoding: line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
  }

  package static let mapFields = MapFields(
    SystemDescription(),
    [
      .optional(.kernelName, \.kernelName),
      .optional(.kernelRelease, \.kernelRelease),
      .optional(.kernelVersion, \.kernelVersion),
      .optional(.machine, \.machine),
      .optional(.distribution, \.distribution),
      .optional(.libraryVersion, \.libraryVersion),
      .optional(.processorCount, \.processorCount),
      .optional(.pageSize, \.pageSize),
      .optional(.bootID, \.bootID),
      .optional(.loadAverage, \.loadAverage),
      .optional(.processorModel, \.processorModel),
      Field(.processorText, [.text]) { map, system in
        guard let text: [UInt8] = map[.processorText] else { return false }
        system.processorText = firstProcessor(in: text)
        system.processorModel = system.processorModel ?? model(in: text)
        return true
      } write: { system, writer in
        writer.write(.processorText, system.processorText)
      },
      .optional(.releaseText, \.releaseText),
      .optional(.compiler, \.compiler),
      .optional(.swiftVersion, \.swiftVersion),
      .optional(.hostName, \.hostName),
      .optional(.timeZone, \.timeZone),
      .optional(.containerMount, \.containerMount),
    ])
}
