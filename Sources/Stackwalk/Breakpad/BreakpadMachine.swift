internal import ProcessSnapshot

/// The names that Breakpad's records use for a processor architecture and its registers.
///
/// Source: Breakpad's docs/symbol_files.md ("MODULE records"), common/dwarf_cfi_to_module.cc (registers by number).
/// Source: System V ABI, chapter 4 (`e_machine`).
struct BreakpadMachine {
  let name: String
  /// The architecture; nil for a machine for which no STACK CFI records are written.
  let architecture: ProcessSnapshot.Architecture?
  /// The register names by DWARF number; empty for a machine for which no STACK CFI records are written.
  let registers: [String]

  init(elfMachine: UInt16?) {
    switch elfMachine {
    case 62:
      name = "x86_64"
      architecture = .x86_64
      registers = [
        "$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9", "$r10",
        "$r11", "$r12", "$r13", "$r14", "$r15",
      ]
    case 183:
      name = "arm64"
      architecture = .arm64
      registers = (0...30).map { "x\($0)" } + ["sp"]
    default:
      name = "unknown"
      architecture = nil
      registers = []
    }
  }
}
