internal import CSignalSafe
internal import IntermediateDump

/// Writes a dump section by section, whether or not the process crashed.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Writes the dump; after a fault or a hanging call between two sections, starts the loop over the sections again.
  ///
  /// Sections that have already begun are skipped. If the dump has lost its file and must be written again, only
  /// `stopThreads` and `readMappings`, which write nothing, are still skipped.
  @inline(__always) @_noLocks
  func writeDump() {
    for _ in Indices(16) where !session.time.isOver {
      if unsafe pm_run_section(session.recoveryPoints.dump, pm_write_dump, argument) != 0 {
        session.progress.abandoned |= session.progress.current
      } else if !beginDumpAgain(keeping: Section.stopThreads.bit | Section.readMappings.bit) {
        break
      }
    }
    // If the dump has no file, `result` already says why.
    if session.result.hasFile { session.result.failure = writer.failure }
    // In the state `.lost`, `run` would skip the sections after the end mark. These sections do not need the dump's
    // file, so the state is reset.
    session.progress.file = .none
  }
}

/// Writes the dump, or continues a dump that was interrupted.
///
/// RUNS-DURING-CRASH.
@c(pm_write_dump) @_noLocks
private func pm_write_dump(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.isReadyToWrite() else { return }
  var next = Section.first
  while let section = next, section.isOfDump {
    switch section {
    case .stopThreads: capture.makeRoom()
    case .writeCapture: capture.beginFinish()
    default: break
    }
    capture.run(section)
    next = section.next
  }
  capture.finish()
}

extension Capture {
  /// Prepares the writer and its file, and writes the part of the dump that precedes all sections.
  ///
  /// - Returns: false if no dump can be written.
  fileprivate func isReadyToWrite() -> Bool {
    switch session.progress.file {
    case .lost: return false
    case .none:
      // After the time limit, the file is not checked, because the check might repeat a call that hung. Without this
      // check, nothing may be written to the file.
      guard !session.time.isCut else { return false }
      let isReady = prepareDumpFile()
      // This call must follow `prepareDumpFile`, which opens /proc again if the program has closed the handler's
      // descriptor for it.
      openResidentPages()
      guard isReady else { return false }
      session.progress.file = .open
      session.result.hasFile = true
      writeBeginning()
    case .open:
      closeOpenMaps()
      writeBeginning()
    case .begun: closeOpenMaps()
    }
    return true
  }

  private func closeOpenMaps() {
    writer.recover()
    writer.close(toDepth: 0)
  }

  /// Writes the part of the dump that precedes all sections: header, process, time, request, and earlier crashes.
  private func writeBeginning() {
    if writer.size == 0 { writer.header() }
    writer.encoded(installed.encoded.process)
    if shared.process.isForkedChild || session.names.areNew { writeIdentity() }
    writeCrashTime()
    session.request.write(withTexts: !installed.isSanitized, to: &writer)
    writeSurvival()
    session.progress.file = .begun
  }

  /// Writes a new report ID and process ID, which replace those encoded at launch.
  @_noLocks
  func writeIdentity() {
    writer.startMap(.process)
    unsafe writer.property(.reportID, session.names.reportID, count: 16)
    writer.identifier(.processID, shared.process.id)
    writer.end()
  }

  /// Writes the times of the crash and of the process's start.
  ///
  /// The times are in a separate map at the beginning of the dump, so that even a truncated dump contains them.
  @_noLocks
  func writeCrashTime() {
    guard mayMake(CallBit.proc) else { return }
    if session.exception.time == 0 {
      (session.exception.time, session.exception.uptime) = (pm_wall_clock(), pm_boot_clock())
    }
    let (exception, processStart) = (session.exception, shared.process.run.startTime)
    writer.startMap(.process)
    if exception.time != 0 { writer.signed(.crashTime, Int64(bitPattern: exception.time)) }
    if exception.uptime != 0 { writer.unsigned(.crashUptime, exception.uptime) }
    if processStart != 0 { writer.unsigned(.processStart, processStart) }
    writer.end()
  }

  /// Limits the number of captured threads to what the available memory allows, and writes the memory's use and limit.
  ///
  /// If memory is short, this function also writes the modules, without which frames cannot be named, because the
  /// kernel may kill the process while the threads are stopped.
  fileprivate func makeRoom() {
    let room = MemoryRoom(self)
    session.counts.threadLimit = room.threads
    writer.startMap(.process)
    if let used = room.used { writer.unsigned(.memoryUsed, used) }
    if let limit = room.limit { writer.unsigned(.memoryLimit, limit) }
    writer.end()
    guard room.isShort else { return }
    run(.readMappings)
    run(.writeModules)
  }

  /// Begins the last part of the dump, which has its own time limit.
  fileprivate func beginFinish() {
    switch session.time.phase {
    case .sections:
      session.time.phase = .finish
      armTimer(milliseconds: session.time.division.finish)
    // In the phase `cut`, the watchdog has already ended the time for the sections, and started the time for the last
    // part, so the timer is not armed again.
    case .cut: session.time.phase = .finish
    case .finish, .over: break
    }
  }

  /// Writes the end mark, and removes `.locked` from the file's name.
  ///
  /// The dump of a hang is not renamed here; `HangDump` renames it after adding it to `HangDumps`, so that a crash can
  /// remove it.
  fileprivate func finish() {
    guard holdsDumpFile() && writer.endDocument(), holdsDumpFile() else { return }
    session.result.isComplete = true
    if session.request.isRenamed && !session.request.isHang && mayMake(CallBit.files) {
      session.result.isRenamed = finishDump()
    }
    // This is the last step, because ext4 waits for the disk here if it is mounted with `discard` and without a
    // journal.
    releaseDumpBlocks()
  }
}
