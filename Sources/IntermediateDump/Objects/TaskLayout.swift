/// The offsets of the fields in a task object of Swift concurrency on 64-bit Linux.
///
/// RUNS-DURING-CRASH.
///
/// Source: swift include/swift/ABI/Task.h, class AsyncTask; include/swift/ABI/MetadataValues.h, class JobFlags.
/// Source: swift stdlib/public/Concurrency/TaskPrivate.h, `ActiveTaskStatus`, `PrivateStorage`.
package enum TaskLayout {
  /// The version of the runtime's memory layout that this package can read.
  package static var version: UInt32 { @_noLocks get { 1 } }

  package static var referenceCount: UInt64 { @_noLocks get { 0x08 } }
  /// A word whose lower half is the flags of the job, and whose upper half is the lower half of the task's ID.
  package static var flags: UInt64 { @_noLocks get { 0x20 } }
  /// The function with which the task continues, and the context of this function.
  package static var function: UInt64 { @_noLocks get { 0x38 } }
  package static var context: UInt64 { @_noLocks get { 0x40 } }
  package static var status: UInt64 { @_noLocks get { 0x60 } }
  package static var firstRecord: UInt64 { @_noLocks get { 0x68 } }
  /// The address of the first slab; a slab begins with its metadata, the address of the next slab, its capacity, and
  /// how much of the capacity is used.
  ///
  /// Source: swift stdlib/public/runtime/StackAllocator.h.
  package static var firstSlab: UInt64 { @_noLocks get { 0x78 } }
  /// A word whose lower half is the upper half of the task's ID.
  package static var upperID: UInt64 { @_noLocks get { 0x90 } }
  package static var basePriority: UInt64 { @_noLocks get { 0x98 } }
  /// The record of what the task waits for.
  package static var dependency: UInt64 { @_noLocks get { 0xA0 } }

  /// The task's ID from the words at `flags` and at `upperID`.
  @_noLocks
  package static func id(flags: UInt64, upper: UInt64) -> UInt64 {
    flags &>> 32 | upper &<< 32
  }
}
