internal import CSignalSafe

/// The handler of the stop signals: publishes where this thread is, then waits.
///
/// Waits on a futex, never polls: a thousand parked threads that poll take all processors from the
/// one that captures. Every SIGPROF parks a known thread while a stop runs, whoever sent it, because a
/// pending one from a timer swallows ours. While none runs, a thread is offered an alternate stack, or takes the
/// dump that `postmortem capture` requests.
///
/// RUNS-DURING-CRASH, on every thread but the capturing one.
@c(pm_handle_stop) @_noLocks
func pm_handle_stop(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ address: UnsafeMutableRawPointer?
) {
  guard let capture = Capture.ofHandler else { return }
  let generation = capture.shared.stops.parking.value & ~1
  let context = unsafe SignalContext(address)
  guard generation != 0 else {
    guard capture.shared.isOwnProcess else { return }
    let stop = unsafe DeliveredSignal(signal, information, address)
    if let request = stop.captureRequest {
      capture.takeRequestedDump(request, on: stop)
      return
    }
    if let context { capture.shared.stackOffers.answer(pm_gettid(), context) }
    return
  }
  let threadID = pm_gettid()
  // One that is not known yet continues until it is: once it is stopped it could not be asked any more.
  guard let record = capture.shared.threads.find(threadID) else { return }
  // The process that sent the signal to a thread which it knows is this one.
  guard
    capture.shared.hasSent(unsafe SignalInformation(information)) || capture.shared.isOwnProcess
  else { return }
  guard UInt32(bitPattern: threadID) != capture.shared.capturingThread.value else { return }
  record.fields.threadPointer = pm_thread_pointer()
  var place = context
  // It takes a dump itself, on a stack of the handler's: where it was called from is worth more.
  if let dump = capture.dump(takenBy: threadID),
    let caller = dump.session.exception.signal.context
  {
    place = caller
  }
  record.fields.context = place
  record.setStatus(.stopped)
  capture.shared.stops.noteStop()
  while true {
    let parking = capture.shared.stops.parking.value
    guard parking & ~1 == generation else { return }
    if parking & 1 == 1 {
      capture.standIn(context, while: capture.shared.stops.parking, is: parking)
    } else {
      capture.shared.stops.parking.wait(while: parking, milliseconds: -1)
    }
  }
}
