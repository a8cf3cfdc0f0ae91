/// The facts by which a run record identifies its process.
///
/// `startHandler` reads these facts. A forked child has different facts, and reads them when it creates its run record.
@safe
struct RunFacts {
  var startTime: UInt64
  var stackStart: UInt64
  var processNamespace: UInt64
  var timeNamespace: UInt64
  let launchTime: Int64
  let bootID: UnsafeRawPointer
  let bootIDCount: Int
  /// False in a forked child until the child has read the facts about itself.
  var isOfThisProcess = true
}
