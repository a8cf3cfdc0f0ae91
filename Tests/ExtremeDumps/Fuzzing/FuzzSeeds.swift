internal import CoreFile
internal import Foundation
import IntermediateDump
internal import PendingDumps

/// The initial inputs of a corpus.
enum FuzzSeeds {
  /// Writes the inputs.
  ///
  /// - Parameters:
  ///   - directory: the directory for the files, one for each input.
  ///   - samples: a directory of real files: dumps, minidumps and ELF files, which each target selects from.
  static func write(_ target: FuzzTarget, to directory: String, samples: String?) throws {
    var inputs = try made(target)
    for name in try samples.map({ try FileManager.default.contentsOfDirectory(atPath: $0) }) ?? [] {
      let bytes = Array(
        try Data(contentsOf: URL(fileURLWithPath: "\(samples ?? "")/\(name)")))
      if takes(target, bytes), bytes.count <= target.maximumSize { inputs.append(bytes) }
    }
    for (index, input) in inputs.enumerated() {
      try Data(input).write(to: URL(fileURLWithPath: "\(directory)/seed-\(index)"))
    }
  }

  private static func takes(_ target: FuzzTarget, _ bytes: [UInt8]) -> Bool {
    let isMinidump = bytes.starts(with: Array("MDMP".utf8))
    let isCore = CoreReader.isCore(bytes[...])
    let isELF = !isCore && bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46])
    return switch target {
    case .tokens: !isMinidump && !isELF && !isCore
    case .core: isCore
    case .minidump: isMinidump
    case .elf, .dwarf: isELF
    case .whole: !isELF
    case .files, .summary, .objects: false
    }
  }

  static func made(_ target: FuzzTarget) throws -> [[UInt8]] {
    // The path is the same in every process, because inputs are kept and contain it.
    let module = try ModuleFile(in: "/proc/self/cwd")
    switch target {
    case .tokens: return (0..<64).map { ExtremeDump.bytes(seed: $0, module: module) }
    case .core: return (0..<64).map { ExtremeCore.bytes(seed: $0, module: module) }
    case .minidump: return (0..<64).map { ExtremeMinidump.bytes(seed: $0, module: module) }
    case .whole:
      return (0..<64).flatMap {
        [
          ExtremeDump.bytes(seed: $0, module: module),
          ExtremeMinidump.bytes(seed: $0, module: module),
        ]
      } + (0..<8).map { ExtremeCore.bytes(seed: $0, module: module) }
    case .elf, .dwarf: return [Array(try Data(contentsOf: URL(fileURLWithPath: module.path)))]
    case .objects: return try ObjectImage.own()
    case .files: return files()
    case .summary: return [summary()]
    }
  }

  /// One file of each kind that `FuzzReader` knows, in its order.
  private static func files() -> [[UInt8]] {
    let time = ExtremeBytes.word(1_700_000_000)
    let id = (1...16).map { UInt8($0) }
    let text = ExtremeBytes.word(2, 2) + Array("ab".utf8)
    let files: [[UInt8]] = [
      RunRecord.current().encoded() ?? [],
      RunEvidence(time: 1).heartbeatBytes() ?? [],
      RunNotes(termination: .init(signal: 15, reaction: .program, time: 1)).bytes,
      // The metadata of a report, and the settings of a database.
      ExtremeBytes.word(1, 4) + ExtremeBytes.word(2, 4) + time + time + [1] + time.dropLast()
        + Array("id\0note".utf8),
      ExtremeBytes.word(0x4350_6473, 4) + ExtremeBytes.word(1, 4) + ExtremeBytes.word(1) + time
        + id,
      // A record of the report index.
      time + [1] + (0..<8).flatMap { _ in text },
      Array("program@01020304-0506-0708-090a-0b0c0d0e0f10.locked".utf8),
    ]
    return files.enumerated().map { [UInt8($0.offset)] + $0.element }
  }

  /// A log with the two pieces of a dump: an exception, and a thread with two words of its stack.
  private static func summary() -> [UInt8] {
    let lines = [
      "postmortem-log-1x-0123456789abcdef-1of2-035-AiwBAS0BBAAAAAcAAAABLgEEAAAACwAAAAM-"
        + "5601da5f",
      "postmortem-log-1x-0123456789abcdef-2of2-076-AqABAZIBBAAAAAcAAAABmQEIAAAAAHAAAAAA"
        + "AAABpwEUAAAAQgAAAABxAAAAAAAACQAAAAAAAAAD-5508957d",
    ]
    return Array(lines.map { "2026-11-23 host \($0)\n" }.joined().utf8)
  }
}
