import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// Names of processors for which the kernel shows only numbers.
@Suite struct ProcessorNameTests {
  private static func text(_ implementer: String, _ part: String) -> [UInt8] {
    Array(
      """
      processor\t: 0
      BogoMIPS\t: 125.00
      Features\t: fp asimd
      CPU implementer\t: \(implementer)
      CPU architecture: 8
      CPU variant\t: 0x4
      CPU part\t: \(part)
      CPU revision\t: 1

      """.utf8)
  }

  @Test(arguments: [
    ("0x41", "0xd0b", "Arm Cortex-A76"),
    ("0x41", "0xd0c", "Arm Neoverse N1 (as in AWS Graviton2 and Ampere Altra)"),
    ("0xc0", "0xac3", "Ampere-1 (as in AmpereOne)"),
    ("0x41", "0xfff", "Arm part 0xfff"), ("0x99", "0x001", "implementer 0x99, part 0x1"),
  ])
  func numbers(_ implementer: String, _ part: String, _ name: String) {
    #expect(ProcessorName.of(Self.text(implementer, part)) == name)
  }

  @Test(arguments: [("", "0xd0b"), ("0x41", ""), ("0x41", "d0b"), ("0x41", "0x123456789")])
  func nonsense(_ implementer: String, _ part: String) {
    #expect(ProcessorName.of(Self.text(implementer, part)) == nil)
    #expect(ProcessorName.of([]) == nil)
  }

  /// A dump from x86_64 contains the name itself.
  @Test(arguments: ["Some Processor", nil])
  func dump(_ model: String?) throws {
    let bytes = try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        writer.startMap(.system)
        writer.text(.processorModel, model)
        writer.bytes(.processorText, Self.text("0x41", "0xd40"))
        writer.end()
        _ = writer.endDocument()
      })
    let snapshot = ProcessSnapshot(
      reading: try IntermediateDumpDocument(parsing: bytes), memory: nil)
    #expect(
      snapshot.system.processorModel == model ?? "Arm Neoverse V1 (as in AWS Graviton3)")
  }
}
