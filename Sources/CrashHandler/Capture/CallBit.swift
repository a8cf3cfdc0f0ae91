/// The bits of `SystemCalls`, for crash code, which cannot call an option set.
///
/// RUNS-DURING-CRASH.
enum CallBit {
  static var memoryReads: UInt32 { @_noLocks get { 1 } }
  static var threadSignals: UInt32 { @_noLocks get { 1 &<< 1 } }
  static var timers: UInt32 { @_noLocks get { 1 &<< 2 } }
  static var fileSizeLimit: UInt32 { @_noLocks get { 1 &<< 3 } }
  static var scheduling: UInt32 { @_noLocks get { 1 &<< 4 } }
  static var processorTime: UInt32 { @_noLocks get { 1 &<< 5 } }
  static var parent: UInt32 { @_noLocks get { 1 &<< 6 } }
  static var clocks: UInt32 { @_noLocks get { 1 &<< 7 } }
  static var files: UInt32 { @_noLocks get { 1 &<< 8 } }
  static var cgroup: UInt32 { @_noLocks get { 1 &<< 9 } }
  static var fileChecks: UInt32 { @_noLocks get { 1 &<< 10 } }
  static var filePosition: UInt32 { @_noLocks get { 1 &<< 11 } }
  static var rename: UInt32 { @_noLocks get { 1 &<< 12 } }
  static var directories: UInt32 { @_noLocks get { 1 &<< 13 } }
  static var random: UInt32 { @_noLocks get { 1 &<< 14 } }
  static var faultStack: UInt32 { @_noLocks get { 1 &<< 15 } }
  static var descriptorTable: UInt32 { @_noLocks get { 1 &<< 16 } }
}
