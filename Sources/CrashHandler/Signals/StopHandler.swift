internal import CSignalSafe

/// The handler of the stop signals: publishes this thread's registers, then waits.
///
/// The thread waits on a futex. It looks only once a second whether the capturing thread still exists, because a
/// thousand polling threads would take all CPU time from the capturing thread. Most threads are stopped with SIGPROF.
/// While threads are being stopped, a SIGPROF from any sender stops a thread that is in the table of threads, because the
/// kernel drops this package's SIGPROF if another one is already pending. At any other time, a stop signal offers the
/// thread an alternate stack, or requests a dump for `postmortem capture`.
///
/// RUNS-DURING-CRASH, on every thread except the capturing thread; a thread that takes a requested dump becomes the
/// capturing thread.
@c(pm_handle_stop) @_noLocks
func pm_handle_stop(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ address: UnsafeMutableRawPointer?
) {
  guard let capture = Capture.ofHandler else { return }
  // The lowest bit is ignored here, because it only shows whether stopped threads must answer Swift's backtracer.
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
  // A thread that is not in the table of threads yet must continue to run, because its name and state are read before
  // it is stopped.
  guard let record = capture.shared.foundThreads.find(threadID) else { return }
  // `isOwnProcess`, which is false in a vfork child, needs a system call. The call is avoided if this process sent
  // the signal.
  guard
    capture.shared.hasSent(unsafe SignalInformation(information)) || capture.shared.isOwnProcess
  else { return }
  guard UInt32(bitPattern: threadID) != capture.shared.capturingThread.value else { return }
  record.fields.threadPointer = pm_thread_pointer()
  var place = context
  // If the thread itself takes a dump, the registers of the dump's caller are more useful than those of the dump
  // code.
  if let dump = capture.liveDump(takenBy: threadID),
    let caller = dump.session.exception.signal.context
  {
    place = caller
  }
  record.fields.context = place
  record.setStatus(.stopped)
  capture.shared.stops.noteStop()
  var bound = WaitingBound(capture)
  while true {
    let parking = capture.shared.stops.parking.value
    guard parking & ~1 == generation else { return }
    if parking & 1 == 1 {
      capture.standIn(context, while: capture.shared.stops.parking, is: parking)
    } else {
      capture.shared.stops.parking.wait(
        while: parking, milliseconds: 10 &* WaitingBound.milliseconds)
      bound.add(10)
      guard bound.isOver else { continue }
      if capture.endsByCrash(of: Int32(bitPattern: capture.shared.capturingThread.value)) {
        capture.forceEnd()
      }
      return
    }
  }
}
