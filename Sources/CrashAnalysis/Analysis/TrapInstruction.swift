/// The instruction that trapped.
package enum TrapInstruction: Sendable, Equatable {
  /// The instruction ud2 of x86_64, or a brk of arm64 that is not one of the next two cases.
  case undefined
  /// The instruction int3 of x86_64, or brk #0xf000 of arm64.
  case breakpoint
  /// The trap instruction of a check of UndefinedBehaviorSanitizer.
  case sanitizer(SanitizerCheck)
  /// An instruction that compilers do not emit for a trap.
  case other
}
