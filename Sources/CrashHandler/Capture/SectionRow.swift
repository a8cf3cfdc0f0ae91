package import IntermediateDump

/// One section and its function.
///
/// RUNS-DURING-CRASH.
@safe
package struct SectionRow {
  /// The section's number in dumps and its name in documents.
  ///
  /// Sections after the end mark have a number only so that they are not run twice.
  package let section: DumpSection
  /// The section's function.
  ///
  /// The function is `@c`, because a recovery point calls it by its address. The audit and the proofs find the
  /// function by its symbol: `pm_` and the case's name in snake case.
  let body: @convention(c) (UnsafeMutableRawPointer) -> Void

  @_noLocks
  init(_ section: DumpSection, _ body: @convention(c) (UnsafeMutableRawPointer) -> Void) {
    self.section = section
    unsafe self.body = body
  }

  /// The section's number as a bit, as in `Progress` and in a dump's `sectionsAbandoned`.
  var bit: UInt64 { @_noLocks get { section.bit } }
}
