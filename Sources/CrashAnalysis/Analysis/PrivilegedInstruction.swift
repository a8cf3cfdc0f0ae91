/// Recognizes x86_64 instructions that usually only the kernel may execute.
///
/// In a program, such an instruction usually raises the same fault as an access to an impossible address. One example
/// is the hlt after exit() in `_start`.
///
/// Source: Intel SDM volume 2, the instructions that raise #GP(0) at a privilege level of 3.
enum PrivilegedInstruction {
  /// Instructions with an opcode of one byte: ins, outs, in, out, int, hlt, cli and sti.
  private static let opcodes: Set<UInt8> = [
    0x6C, 0x6D, 0x6E, 0x6F, 0xE4, 0xE5, 0xE6, 0xE7, 0xEC, 0xED, 0xEE, 0xEF, 0xCD, 0xF4, 0xFA, 0xFB,
  ]
  /// Instructions with an opcode after the byte 0F: clts, sysret, invd, wbinvd, moves to and from control and debug
  /// registers, wrmsr, rdmsr, rdpmc and sysexit.
  private static let longOpcodes: Set<UInt8> = [
    0x06, 0x07, 0x08, 0x09, 0x20, 0x21, 0x22, 0x23, 0x30, 0x32, 0x33, 0x35,
  ]
  private static let prefixes: Set<UInt8> = [
    0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3,
  ]

  /// True if a piece of code begins with a privileged instruction.
  static func begins(_ code: some Collection<UInt8>) -> Bool {
    var code = code.drop(while: prefixes.contains)
    if let byte = code.first, byte & 0xF0 == 0x40 { code = code.dropFirst() }
    guard let opcode = code.popFirst() else { return false }
    guard opcode == 0x0F else { return opcodes.contains(opcode) }
    guard let second = code.popFirst() else { return false }
    if longOpcodes.contains(second) { return true }
    // Of the instructions with the opcode 0F 00, lldt and ltr are privileged; of those with 0F 01, for example, lgdt,
    // lidt, lmsw, invlpg and swapgs.
    guard second == 0x00 || second == 0x01, let form = code.popFirst() else { return false }
    if second == 0x01, form == 0xF8 { return true }
    let number = form >> 3 & 7
    if second == 0x00 { return number == 2 || number == 3 }
    return number == 6 || form < 0xC0 && [2, 3, 7].contains(number)
  }
}
