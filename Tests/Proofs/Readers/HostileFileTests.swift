import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Memory limits that hold for any dump size and for any files that a dump names.
///
/// The kernel enforces them: RLIMIT_DATA counts all private writable memory.
@Suite(.serialized)
struct HostileFileTests {
  /// The limit in MiB for `show`, for any dump.
  private static let limitOfShow = 256
  /// The limit in MiB for `process`, including Foundation's data and symbols.
  private static let limitOfConversion = 96

  private static func run(
    _ arguments: [String], mebibytes: Int, in directory: String
  ) async throws -> ChildProcess {
    let tool = try await BuiltProducts.shared.executable("postmortem", .release)
    return try await ChildProcess.run(
      "/bin/sh",
      ["-c", "ulimit -d \(mebibytes << 10) && exec \"$@\"", "sh", tool] + arguments,
      in: directory, patience: 300)
  }

  @Test(arguments: HostileELF.allCases)
  func showOfADumpThatNamesAHostileFile(_ attack: HostileELF) async throws {
    let directory = try SharedDirectory()
    let module = try attack.write(in: directory.path)
    var snapshot = SyntheticProcess.snapshot()
    snapshot.modules = [module]
    snapshot.mappings = [
      MemoryMapping(range: module.range, protection: [.read, .execute], isPrivate: true)
    ]
    snapshot.process.mapsText = nil
    // A hundred threads, each with a different place in the file.
    snapshot.threads = (0..<100).map { (index: UInt32) in
      var thread = ThreadSnapshot(id: 4001 &+ index)
      thread.instructionPointer = module.address &+ UInt64(index)
      thread.stackPointer = SyntheticProcess.stack
      return thread
    }
    let dump = directory.path + "/dump"
    try directory.put([], "dump")
    let file = try #require(FileHandle(forUpdatingAtPath: dump))
    try MinidumpWriter.write(snapshot, to: file.fileDescriptor)
    try file.close()
    for form in ["--text", "--json"] {
      let child = try await Self.run(
        ["show", "--no-cache", form, dump], mebibytes: Self.limitOfShow, in: directory.path)
      #expect(child.end.exitCode == 0, "\(child.end) \(child.standardError)")
      switch attack {
      case .rangeLists: #expect(child.standardOutput.contains("not all of its names were read"))
      case .sharedCompression: #expect(child.standardOutput.contains("too large to be read"))
      case .sparseDebugFile: #expect(child.standardOutput.contains("too large to be compared"))
      case .nestedCalls, .segmentsAndSymbols: break
      }
    }
  }

  @Test(arguments: [1, 384])
  func conversionOfALargeDump(mebibytes: Int) async throws {
    let directory = try SharedDirectory()
    let database = directory.path + "/database"
    _ = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), ["null-read", "--database", database],
      in: directory.path)
    let pending = database + "/pending-serialized-dumps"
    let name = try #require(
      FileManager.default.contentsOfDirectory(atPath: pending).first {
        !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
      })
    try Self.addMemory(mebibytes, to: "\(pending)/\(name)")
    let child = try await Self.run(
      ["process", database], mebibytes: Self.limitOfConversion, in: directory.path)
    #expect(child.end.exitCode == 0, "\(child.end) \(child.standardError)")
    let reports = try FileManager.default.contentsOfDirectory(atPath: database + "/pending")
    let report = try #require(reports.first { $0.hasSuffix(".dmp") })
    let path = "\(database)/pending/\(report)"
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.size] as? Int ?? 0) > mebibytes << 20)
    let shown = try await Self.run(
      ["show", "--no-cache", path], mebibytes: Self.limitOfConversion, in: directory.path)
    #expect(shown.end.exitCode == 0, "\(shown.end) \(shown.standardError)")
  }

  /// Inserts regions of 1 MiB before a dump's end mark.
  private static func addMemory(_ count: Int, to path: String) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    let end = try file.seekToEnd()
    try file.seek(toOffset: end - 1)
    let size = 1 << 20
    func token(_ token: UInt8, _ key: IntermediateDumpKey) -> [UInt8] {
      var bytes = [token]
      bytes.append(littleEndian: key.rawValue)
      return bytes
    }
    try file.write(contentsOf: token(IntermediateDumpToken.startArray, .memory))
    for index in 0..<count {
      var head = token(IntermediateDumpToken.startMap, .memoryRegion)
      head += token(IntermediateDumpToken.property, .regionAddress)
      head.append(littleEndian: UInt32(8))
      head.append(littleEndian: UInt64(0x6000_0000_0000 + index * size))
      head += token(IntermediateDumpToken.property, .regionData)
      head.append(littleEndian: UInt32(size))
      try file.write(contentsOf: head + [UInt8](repeating: UInt8(index & 0xFF), count: size))
      try file.write(contentsOf: [IntermediateDumpToken.endMap])
    }
    try file.write(
      contentsOf: [IntermediateDumpToken.endArray, IntermediateDumpToken.endDocument])
    try file.close()
  }
}
