extension CrashReport {
  /// How much of the process the handler got, in a sentence; nil where nothing is known.
  var captureText: String? {
    var notes: [String] = []
    if let found = capture.threadsFound, let stopped = capture.threadsStopped {
      let fromKernel = capture.threadsReadFromKernel ?? 0
      notes.append(
        "\(found) threads found, \(stopped) stopped"
          + (fromKernel > 0 ? ", \(fromKernel) read through the kernel" : ""))
    }
    if let time = capture.captureTime {
      notes.append("captured in \(TextReport.duration(Int64(clamping: time)))")
    }
    if let bytes = capture.bytesOmitted, bytes > 0 { notes.append("\(bytes) bytes left out") }
    if let modules = capture.modulesUnlisted, modules > 0 {
      notes.append("\(modules) modules not in the minidump's list")
    }
    if let regions = capture.regionsUnlisted, regions > 0 {
      notes.append("\(regions) memory regions not in the minidump")
    }
    if let sections = capture.sectionsAbandoned, sections.value != 0 {
      notes.append("sections abandoned: \(sections)")
    }
    return notes.isEmpty ? nil : "Capture: " + notes.joined(separator: "; ") + "."
  }

  /// The file names of the modules that a frame lies in.
  var modulesOnStacks: Set<String> { Set(threads.flatMap { $0.frames.compactMap(\.module) }) }
}
