/// The location, in the run record's file, of the notes on how the process ends.
///
/// RUNS-DURING-CRASH. `RunNotes` reads the notes.
package enum RunNotePlace {
  /// The size of the notes in bytes.
  package static var size: Int { @_noLocks get { 32 } }
  /// The offset of the notes, which follow the header, the owner token and the property header of the notes.
  package static var offset: Int64 { @_noLocks get { 32 &+ 3 &+ 7 } }
  /// The offset, within the notes, of the signal that asked the process to end.
  package static var terminationOffset: Int64 { @_noLocks get { 8 } }
}
