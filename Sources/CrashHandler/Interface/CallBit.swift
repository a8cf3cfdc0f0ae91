/// The bits of `SystemCalls` (groups of system calls), for crash code, which cannot call an option set's functions.
///
/// RUNS-DURING-CRASH.
enum CallBit {
  static var files: UInt32 { @_noLocks get { 1 } }
  static var proc: UInt32 { @_noLocks get { 2 } }
  static var threads: UInt32 { @_noLocks get { 4 } }
  static var memory: UInt32 { @_noLocks get { 8 } }
}
