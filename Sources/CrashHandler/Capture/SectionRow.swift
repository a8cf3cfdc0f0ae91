/// The number, name and function of one section.
///
/// RUNS-DURING-CRASH.
@safe
package struct SectionRow {
  /// Its bit in `Progress` and in a dump's `sectionsAbandoned`; never used for another one.
  ///
  /// Sections after the end mark have one only so that none is run twice.
  package let number: UInt8
  /// Its name in documents.
  package let name: StaticString
  /// Its function: `@c`, because a recovery point calls it by address, and audit and proofs find it
  /// by its symbol, `pm_` and the case's name in snake case.
  let body: @convention(c) (UnsafeMutableRawPointer) -> Void

  @_noLocks
  init(
    _ number: UInt8, _ name: StaticString,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> Void
  ) {
    self.number = number
    self.name = name
    unsafe self.body = body
  }

  /// The number as a bit.
  var bit: UInt64 { @_noLocks get { 1 &<< UInt64(number) } }
}
