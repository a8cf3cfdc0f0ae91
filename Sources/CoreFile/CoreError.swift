/// Why a file cannot be read as a core file.
package struct CoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; later versions may add more kinds.
  package struct Code: Sendable, Hashable {
    fileprivate let text: String
    /// The file is not an ELF file of the type ET_CORE, or its header names no 64-bit program headers.
    package static let notACore = Code(text: "not an ELF core file")
    /// The processor is neither x86_64 nor arm64, or the file is not 64-bit and little-endian.
    package static let unsupportedArchitecture = Code(
      text: "a core file of a processor that this program does not read")
    /// The file contains the memory of a kernel or of a virtual machine, and not that of a process.
    package static let notAProcess = Code(text: "not the core file of a Linux process")
    /// The file has no notes about threads, for example because it ends before its notes do, or its notes are too
    /// large.
    package static let noThreads = Code(text: "a core file without threads")
  }

  package let code: Code
  /// The unexpected value, its position, or what the file lacks.
  package let context: String

  init(_ code: Code, _ context: String) {
    (self.code, self.context) = (code, context)
  }

  package var description: String { "\(code.text): \(context)" }
}
