internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A memory fault, and what shows its cause.
struct FaultSite {
  let exception: ExceptionSnapshot
  let snapshot: ProcessSnapshot
  /// The stack of the thread with the fault.
  let trace: StackTrace
  let code: CodeReader
}
