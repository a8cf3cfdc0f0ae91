/// Finds the name of a processor from the numbers in `/proc/cpuinfo`, which has no names on arm64.
///
/// Source: Arm ARM, MIDR_EL1; Linux arch/arm64/include/asm/cputype.h.
package enum ProcessorName {
  /// The name of the first processor in the text; nil if the text lacks the implementer or the part number.
  ///
  /// Several kinds of machines have the same processor, so the name may give an example, such as "(as in AWS
  /// Graviton)".
  package static func of(_ text: [UInt8]) -> String? {
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    func number(_ label: String) -> UInt32? {
      guard let line = lines.first(where: { $0.hasPrefix(label) }),
        let value = line.split(separator: ":").last?.split(separator: " ").last,
        value.hasPrefix("0x")
      else { return nil }
      return UInt32(value.dropFirst(2), radix: 16)
    }
    guard let implementer = number("CPU implementer"), let part = number("CPU part") else {
      return nil
    }
    if let name = known[implementer << 12 | part & 0xFFF] { return name }
    let unnamed = "part 0x" + String(part, radix: 16)
    return (implementers[implementer] ?? "implementer 0x" + String(implementer, radix: 16) + ",")
      + " " + unnamed
  }

  private static let implementers: [UInt32: String] = [
    0x41: "Arm", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon",
    0x4E: "NVIDIA", 0x50: "Applied Micro", 0x51: "Qualcomm", 0x53: "Samsung", 0x61: "Apple",
    0x6D: "Microsoft", 0x70: "Phytium", 0xC0: "Ampere",
  ]

  /// Names of processors; a key has the part number in its lower 12 bits and the implementer above.
  private static let known: [UInt32: String] = [
    0x41D03: "Arm Cortex-A53", 0x41D04: "Arm Cortex-A35", 0x41D05: "Arm Cortex-A55",
    0x41D07: "Arm Cortex-A57", 0x41D08: "Arm Cortex-A72 (as in AWS Graviton)",
    0x41D09: "Arm Cortex-A73", 0x41D0A: "Arm Cortex-A75", 0x41D0B: "Arm Cortex-A76",
    0x41D0C: "Arm Neoverse N1 (as in AWS Graviton2 and Ampere Altra)", 0x41D0D: "Arm Cortex-A77",
    0x41D0E: "Arm Cortex-A76AE", 0x41D40: "Arm Neoverse V1 (as in AWS Graviton3)",
    0x41D41: "Arm Cortex-A78", 0x41D42: "Arm Cortex-A78AE", 0x41D44: "Arm Cortex-X1",
    0x41D46: "Arm Cortex-A510", 0x41D47: "Arm Cortex-A710", 0x41D48: "Arm Cortex-X2",
    0x41D49: "Arm Neoverse N2", 0x41D4A: "Arm Neoverse E1", 0x41D4B: "Arm Cortex-A78C",
    0x41D4D: "Arm Cortex-A715", 0x41D4E: "Arm Cortex-X3",
    0x41D4F: "Arm Neoverse V2 (as in AWS Graviton4, Google Axion and NVIDIA Grace)",
    0x41D80: "Arm Cortex-A520", 0x41D81: "Arm Cortex-A720", 0x41D82: "Arm Cortex-X4",
    0x41D83: "Arm Neoverse V3AE", 0x41D84: "Arm Neoverse V3", 0x41D8E: "Arm Neoverse N3",
    0x430A1: "Cavium ThunderX", 0x430AF: "Marvell ThunderX2", 0x42516: "Broadcom ThunderX2",
    0x430B8: "Marvell ThunderX3", 0x46001: "Fujitsu A64FX",
    0x48D01: "HiSilicon TaiShan v110 (as in Kunpeng 920)", 0x48D02: "HiSilicon TaiShan v120",
    0x4E004: "NVIDIA Carmel", 0x50000: "Applied Micro X-Gene", 0x51001: "Qualcomm Oryon",
    0x51C00: "Qualcomm Falkor", 0x61022: "Apple M1", 0x61023: "Apple M1", 0x61024: "Apple M1 Pro",
    0x61025: "Apple M1 Pro", 0x61028: "Apple M1 Max", 0x61029: "Apple M1 Max",
    0x61032: "Apple M2", 0x61033: "Apple M2", 0x61034: "Apple M2 Pro", 0x61035: "Apple M2 Pro",
    0x61038: "Apple M2 Max", 0x61039: "Apple M2 Max",
    0x6DD49: "Microsoft Azure Cobalt 100", 0x70662: "Phytium FTC662", 0x70663: "Phytium FTC663",
    0xC0AC3: "Ampere-1 (as in AmpereOne)", 0xC0AC4: "Ampere-1a (as in AmpereOne)",
  ]
}
