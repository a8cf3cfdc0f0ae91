internal import IntermediateDump

/// The system that the process ran on.
public struct SystemDescription: Sendable, Equatable {
  /// The output of `uname -s`.
  public var kernelName: String?
  /// The output of `uname -r`.
  public var kernelRelease: String?
  /// The output of `uname -v`.
  public var kernelVersion: String?
  /// The output of `uname -m`.
  public var machine: String?
  /// PRETTY_NAME of os-release(5).
  public var distribution: String?
  /// The name of the C library and the version that it reports, for example `glibc 2.36`.
  public var libraryVersion: String?
  /// The number of online processors.
  public var processorCount: UInt32?
  /// The size of a page in bytes.
  public var pageSize: UInt64?
  /// The text of `/proc/sys/kernel/random/boot_id`, which is different after each boot.
  public var bootID: String?
  /// The text of `/proc/loadavg` at the crash.
  ///
  /// The text has three load averages, the numbers of runnable and of all threads, and the ID of the newest process.
  public var loadAverage: String?
  /// The processor's `model name` in `/proc/cpuinfo`, or a name that was found from the numbers in that file.
  public var processorModel: String?
  /// The part of `/proc/cpuinfo` about the first processor.
  public var processorText: [UInt8]?
  /// The text of os-release(5).
  public var releaseText: [UInt8]?
  /// The name and version of the C compiler in the toolchain that built the handler.
  public var compiler: String?
  /// The version of the Swift compiler that built the handler; SwiftPM uses the same compiler for the program.
  public var swiftVersion: String?
  /// The output of `uname -n` at launch.
  public var hostName: String?
  /// The environment variable TZ at launch or, if it was not set, the target of `/etc/localtime` at launch.
  public var timeZone: String?
  /// The path, outside the container, of a file that the container runtime has mounted; nil unless the cgroup's path is
  /// `/` or not known.
  public var containerMount: String?

  public init() {}
}

extension SystemDescription {
  /// The lines about the first processor; the lines about other processors usually differ only in numbers.
  private static func firstProcessor(in text: [UInt8]) -> [UInt8] {
    let lineFeed = UInt8(ascii: "\n")
    let end = text.indices.first { $0 > 0 && text[$0] == lineFeed && text[$0 - 1] == lineFeed }
    return end.map { Array(text[..<$0]) } ?? text
  }

  /// The number of processors in a list such as `0-3,8`; nil for any other text.
  private static func processorCount(in text: String) -> UInt32? {
    var count: UInt32 = 0
    for range in text.split(separator: ",") {
      let ends = range.split(separator: "-").map { UInt32($0) }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil,
        last >= first, last &- first < 1 << 20
      else { return nil }
      count &+= last &- first &+ 1
    }
    return count == 0 ? nil : count
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
      Field(.processorList, [.text]) { map, system in
        guard let text = map.text(.processorList) else { return false }
        system.processorCount = processorCount(in: text)
        return true
      } write: { _, _ in
      },
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
