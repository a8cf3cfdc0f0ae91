package import IntermediateDump

/// The number and the function of one section of a dump.
///
/// RUNS-DURING-CRASH.
@safe
package struct SectionRow {
  /// The section's number in dumps and its name in documents.
  ///
  /// No dump contains the number of a section that runs after the end mark was written; this number only keeps the
  /// section from being run twice.
  package let section: DumpSection
  /// The section's function.
  ///
  /// The function is marked `@c`, because `pm_run_section` calls it by its address. The call-graph audit and the proofs
  /// find the function by its symbol: `pm_` and the name of the case of `Section` in snake case.
  let body: @convention(c) (UnsafeMutableRawPointer) -> Void

  @_noLocks
  init(_ section: DumpSection, _ body: @convention(c) (UnsafeMutableRawPointer) -> Void) {
    self.section = section
    unsafe self.body = body
  }

  /// The bit that stands for the section in `Progress` and in a dump's `sectionsAbandoned`.
  var bit: UInt64 { @_noLocks get { section.bit } }
}
