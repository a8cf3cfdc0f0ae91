import CrashTestSupport
import Foundation
import Testing

@testable import Stackwalk

/// Debug files that `postmortem symbols` writes.
@Suite struct DebugFileTests {
  /// Writes the debug file of a binary.
  private func debugFile(of path: String, in directory: SharedDirectory) throws -> String {
    let file = try DebugFile(of: path)
    let target = directory.path + "/debug"
    let descriptor = unsafe open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try file.write(to: descriptor, named: target)
    return target
  }

  @Test(.needs(.objcopy)) func hasTheSectionsOfTheBinaryAsObjcopyKeepsThem() async throws {
    let directory = try SharedDirectory()
    let original = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let path = try debugFile(of: original, in: directory)
    let reference = directory.path + "/reference"
    let tool = try #require(OutsideTool.objcopy.path)
    let child = try await ChildProcess.run(
      tool, ["--only-keep-debug", original, reference], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")

    let ours = try ELFFile(path: path)
    let theirs = try ELFFile(path: reference)
    #expect(ours.buildID == theirs.buildID && !ours.buildID.isEmpty)
    #expect(ours.firstAddress == theirs.firstAddress)
    #expect(ours.sections.map(\.name) == theirs.sections.map(\.name))
    for (section, other) in zip(ours.sections, theirs.sections) {
      #expect(section.type == other.type, "\(section.name)")
      #expect(section.address == other.address && section.flags & 7 == other.flags & 7)
      // objcopy rewrites the tables of symbols and names, so their sizes may differ.
      guard section.type == 1, section.flags & 2 == 0 else { continue }
      #expect(section.size == other.size, "\(section.name)")
      let bytes = ours.file.bytes(at: section.fileOffset, count: Int(section.size))
      #expect(bytes == theirs.file.bytes(at: other.fileOffset, count: Int(other.size)))
    }
    #expect(try ELFImage(path: path).hasCode == false)
    #expect(ours.file.size < (try ELFFile(path: original)).file.size)
  }

  @Test func needsABuildIDAndSymbols() throws {
    let directory = try SharedDirectory()
    let symbols = [(name: ".symtab", flags: UInt64(0), bytes: [UInt8](repeating: 0, count: 48))]
    try directory.put(HandmadeELF.bytes(sections: symbols), "without-id")
    try directory.put(HandmadeELF.bytes(sections: [], note: note), "stripped")
    try directory.put(HandmadeELF.bytes(sections: symbols, note: note), "good")
    let codes = ["without-id", "stripped", "missing"].map { name in
      do throws(StackwalkError) {
        _ = try DebugFile(of: directory.path + "/" + name)
        return nil as StackwalkError.Code?
      } catch {
        return error.code
      }
    }
    #expect(codes == [.noBuildID, .noSymbols, .cannotOpen])
    let file = try DebugFile(of: directory.path + "/good")
    #expect(file.name == ".build-id/ab/cd012345.debug")
    #expect(throws: StackwalkError.self) { try file.write(to: -1, named: "nowhere") }
  }

  /// Damages every byte of a small binary's headers in three ways: the result is an error or a file, and never a
  /// trap.
  @Test func damagedHeadersNeverTrap() throws {
    let directory = try SharedDirectory()
    let whole = HandmadeELF.bytes(
      sections: [
        (name: ".symtab", flags: 0, bytes: [UInt8](repeating: 7, count: 48)),
        (name: ".text", flags: 6, bytes: [UInt8](repeating: 0x90, count: 32)),
      ], note: note)
    for index in whole.indices {
      for value: UInt8 in [0, 0x7F, 0xFF] {
        var bytes = whole
        bytes[index] = value
        try directory.put(bytes, "damaged")
        _ = try? debugFile(of: directory.path + "/damaged", in: directory)
      }
    }
    try directory.put(whole, "whole")
    let path = try debugFile(of: directory.path + "/whole", in: directory)
    #expect(try ELFFile(path: path).buildID.count == 5)
  }

  /// A note NT_GNU_BUILD_ID.
  private var note: [UInt8] {
    var note = DebugBytes()
    for value: UInt64 in [4, 5, 3] { note.u32(value) }
    note.text("GNU")
    note.u8(0xAB, 0xCD, 1, 0x23, 0x45, 0, 0, 0)
    return note.bytes
  }
}
