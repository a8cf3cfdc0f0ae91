/// The place of a process's notes about its own end, in its run record.
///
/// RUNS-DURING-CRASH. `RunNotes` reads them.
package enum RunNotePlace {
  /// Bytes of the notes.
  package static var size: Int { @_noLocks get { 32 } }
  /// After header, owner token and the notes' property header.
  package static var offset: Int64 { @_noLocks get { 32 &+ 3 &+ 7 } }
  /// The signal, from the first byte of the notes on.
  package static var terminationOffset: Int64 { @_noLocks get { 8 } }
}
