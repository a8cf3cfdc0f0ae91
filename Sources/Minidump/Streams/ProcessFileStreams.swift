internal import ProcessSnapshot

// Breakpad's streams with copies of files in /proc and /etc.

extension MinidumpEncoder {
  /// The types and contents of Breakpad's streams of copied files; a file that the snapshot lacks has no stream.
  var processFiles: [(type: MinidumpStreamType, contents: [UInt8])] {
    let contents: [(MinidumpStreamType, [UInt8]?)] = [
      (.linuxCpuInfo, snapshot.system.processorText),
      (.linuxProcStatus, snapshot.process.statusText),
      (.linuxLsbRelease, snapshot.system.releaseText),
      (.linuxCmdLine, snapshot.process.commandLine),
      (.linuxAuxv, snapshot.process.auxiliaryVector),
      (.linuxMaps, snapshot.process.mapsText),
    ]
    return contents.compactMap { type, bytes in bytes.map { (type, $0) } }
  }
}

extension MinidumpDecoder {
  mutating func decodeProcessFiles() {
    snapshot.process.statusText = file.copy(.linuxProcStatus)
    snapshot.process.auxiliaryVector = file.copy(.linuxAuxv)
    snapshot.process.commandLine = file.copy(.linuxCmdLine)
    snapshot.system.processorText = file.copy(.linuxCpuInfo)
    snapshot.system.releaseText = file.copy(.linuxLsbRelease)
    if let text = file.copy(.linuxMaps) {
      snapshot.process.mapsText = text
      snapshot.mappings = MemoryMapping.mappings(parsing: text[...])
    } else {
      snapshot.mappings = decodeMemoryInfoList()
    }
  }
}
