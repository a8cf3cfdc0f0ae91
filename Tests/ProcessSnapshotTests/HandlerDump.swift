import IntermediateDump

/// A dump with everything that the handler writes, in the same order.
enum HandlerDump {
  static let reportID: [UInt8] = Array(0x10..<0x20)

  /// A gregset_t: each word has its own index in the low byte, except the words that the tests check.
  static func generalRegisters(rsp: UInt64, rip: UInt64, trap: UInt64, error: UInt64) -> [UInt8] {
    var words = (0..<23).map { UInt64($0) | 0xAB00 }
    words[15] = rsp
    words[16] = rip
    // The segment registers ss, fs, gs and cs.
    words[18] = 0x002B_0063_006B_0033
    words[19] = error
    words[20] = trap
    return words.flatMap { DumpTokens.integer($0, 8) }
  }

  static let mapsText = """
    00400000-00402000 r-xp 00000000 08:01 131 /opt/my prog
    00600000-00601000 rw-p 00002000 08:01 131 /opt/my prog
    7f0000000000-7f0000001000 r--p 00000000 08:01 77 /data/only.so
    7f0000010000-7f0000012000 r-xp 00000000 08:01 78 /lib/gone.so (deleted)
    7ffd00000000-7ffd00004000 rw-p 00000000 00:00 0 [stack]
    7ffd00010000-7ffd00012000 r-xp 00000000 00:00 0 [vdso]

    """

  static func programHeaders(_ segments: [(flags: UInt64, address: UInt64, size: UInt64)])
    -> [UInt8]
  {
    // PT_PHDR comes first, and is ignored.
    var headers = programHeader(type: 6, flags: 4, address: 0x40, size: 0xFFFF_FFFF)
    for segment in segments {
      headers += programHeader(
        type: 1, flags: segment.flags, address: segment.address, size: segment.size)
    }
    return headers
  }

  private static func programHeader(
    type: UInt64, flags: UInt64, address: UInt64, size: UInt64
  ) -> [UInt8] {
    // Offset, virtual and physical address, size in the file and in memory, and alignment.
    let words: [UInt64] = [0, address, address, size, size, 0x1000]
    return DumpTokens.integer(type, 4) + DumpTokens.integer(flags, 4)
      + words.flatMap { DumpTokens.integer($0, 8) }
  }

  /// - Parameter isInOnePart: true to write the crashing thread in one part, as for a hang.
  static func bytes(
    signal: UInt64 = 11, code: UInt64 = 1, isInOnePart: Bool = false, captureFailed: Bool = false
  ) -> [UInt8] {
    var dump = DumpTokens()
    dump.map(.process) { dump in
      dump.property(.reportID, reportID)
      dump.text(.identifier, "prog")
      dump.unsigned(.processID, 900, 4)
      dump.unsigned(.parentProcessID, 1, 4)
      dump.text(.executablePath, "/opt/my prog")
      dump.text(.product, "Prog")
      dump.unsigned(.launchTime, 1_000)
      dump.property(.auxiliaryVector, [9, 9])
      dump.unsigned(.launchUptime, 400)
      dump.property(.commandLine, Array("prog\0a b\0".utf8))
      dump.text(.cgroup, "/g")
      dump.text(.mappingLimitText, "65530")
      dump.text(.oomScoreText, "-250")
    }
    dump.map(.process) { $0.unsigned(.crashTime, 2_000) }
    writeException(&dump, signal: signal, code: code)
    dump.map(.crashingThread) { dump in
      writeCrashingThreadTop(&dump)
      if isInOnePart { writeCrashingThreadRest(&dump) }
    }
    dump.map(.process) { dump in
      let words: [UInt64] = [1, 3, 2, 4] + Array(repeating: 9, count: 14)
      dump.property(.resourceUsage, words.flatMap { DumpTokens.integer($0, 8) })
      dump.unsigned(.parentProcessID, 40, 4)
      dump.text(.processStatus, "Name:\tprog\n")
    }
    writeResources(&dump)
    let text = Array(mapsText.utf8)
    dump.array(.mappings) { dump in
      // The text is split into pieces, in the middle of lines.
      for start in stride(from: 0, to: text.count, by: 50) {
        dump.map(.mappingsChunk) {
          $0.property(.mappingsText, Array(text[start..<min(start + 50, text.count)]))
        }
      }
    }
    writeModules(&dump)
    if !isInOnePart { dump.map(.crashingThread) { writeCrashingThreadRest(&$0) } }
    dump.array(.memory) { $0.region(0x40_0F00, Array(repeating: 0xCC, count: 16)) }
    dump.map(.system) { dump in
      dump.text(.kernelName, "Linux")
      dump.text(.processorList, "0-2,6")
      dump.unsigned(.pageSize, 4096)
    }
    dump.array(.annotations) { dump in
      for (name, value) in [("a", "1"), ("b", ""), ("a", "2")] {
        dump.map(.annotation) {
          $0.text(.annotationName, name)
          $0.text(.annotationValue, value)
        }
      }
    }
    writeOtherThreads(&dump)
    dump.array(.memory) { $0.region(0x40_0F10, Array(repeating: 0xDD, count: 16)) }
    dump.map(.capture) { dump in
      if captureFailed { return }
      dump.unsigned(.sectionsAbandoned, 0)
      dump.unsigned(.threadsFound, 3, 4)
      dump.unsigned(.bytesOmitted, 0)
      dump.unsigned(.captureTime, 77)
    }
    dump.end()
    return dump.bytes
  }

  static let limitsText = """
    Limit                     Soft Limit           Hard Limit           Units     \("")
    Max stack size            8388608              unlimited            bytes     \("")
    Max open files            1024                 524288               files     \("")
    Max address space         unlimited            unlimited            bytes     \("")
    """

  private static func writeResources(_ dump: inout DumpTokens) {
    dump.map(.process) { dump in
      dump.unsigned(.crashUptime, 1_400)
      dump.text(.limitsText, limitsText)
      dump.unsigned(.descriptorCount, 7, 4)
      dump.unsigned(.mappingCount, 8, 4)
      dump.unsigned(.memoryUsed, 9)
      dump.unsigned(.memoryLimit, 10)
      dump.unsigned(.tasksUsed, 11)
      dump.unsigned(.tasksLimit, 12)
      dump.text(.workingDirectory, "/srv")
      dump.array(.descriptors) { dump in
        dump.map(.descriptor) { dump in
          dump.unsigned(.descriptorNumber, 3, 4)
          dump.unsigned(.descriptorKind, 1, 1)
          dump.unsigned(.descriptorIsDeleted, 1, 1)
          dump.text(.descriptorPath, "/srv/log")
          dump.unsigned(.descriptorPathIsCut, 1, 1)
        }
        dump.map(.descriptor) { dump in
          dump.unsigned(.descriptorNumber, 4, 4)
          dump.unsigned(.descriptorKind, 99, 1)
        }
        // A descriptor without a number, which is ignored.
        dump.map(.descriptor) { dump in dump.unsigned(.descriptorKind, 1, 1) }
      }
    }
    dump.map(.system) { dump in
      dump.text(.loadAverage, "0.50 0.25 0.00 1/99 12")
      dump.text(.processorModel, "Some Processor")
      dump.text(.processorText, "processor\t: 0\n")
      dump.text(.releaseText, "ID=some\n")
      dump.text(.compiler, "Clang")
      dump.text(.hostName, "web-3")
      dump.text(.timeZone, "/usr/share/zoneinfo/Europe/Berlin")
      dump.text(.containerMount, "/etc/hostname")
    }
    dump.map(.survival) { dump in
      dump.unsigned(.survivalOutcome, 2, 1)
      dump.unsigned(.previousHandler, 0x40_0456)
      dump.unsigned(.survivedCrashes, 3, 4)
      dump.property(.precedingReport, [UInt8](1...16))
    }
    dump.map(.linkMap) { dump in
      dump.unsigned(.linkVersion, 1, 4)
      dump.unsigned(.linkState, 2, 4)
      dump.unsigned(.linkBreakpoint, 0xB0)
      dump.unsigned(.linkLoaderBase, 0xB1)
      dump.unsigned(.linkDebugAddress, 0xB2)
      dump.unsigned(.dynamicSection, 0xB3)
      dump.property(.dynamicData, [1, 2, 3])
      dump.array(.linkEntries) { dump in
        for name in ["", "/lib/a.so"] {
          dump.map(.linkEntry) { dump in
            dump.unsigned(.linkAddress, 0xC0 + UInt64(name.count))
            dump.unsigned(.linkDynamic, 0xD0)
            dump.text(.linkName, name)
          }
        }
      }
    }
  }

  private static func writeException(_ dump: inout DumpTokens, signal: UInt64, code: UInt64) {
    dump.map(.exception) { dump in
      dump.unsigned(.exceptionThreadID, 901, 4)
      dump.unsigned(.signalNumber, signal, 4)
      dump.unsigned(.signalCode, code, 4)
      dump.unsigned(.faultAddress, 0xBAD)
      dump.property(.signalInfo, [UInt8](repeating: 1, count: 128))
      dump.text(.fatalMessage, "Fatal error: no\n")
    }
  }

  private static func writeCrashingThreadTop(_ dump: inout DumpTokens) {
    dump.unsigned(.threadID, 901, 4)
    dump.unsigned(.captureMethod, 1, 1)
    dump.unsigned(.blockedSignals, 3)
    dump.property(
      .generalRegisters, generalRegisters(rsp: 0x7FFD_0000_0100, rip: 0x40_0F08, trap: 14, error: 6)
    )
    dump.property(.floatingPointState, [UInt8](repeating: 0x5A, count: 832))
    dump.array(.stack) { $0.region(0x7FFD_0000_0080, [UInt8](repeating: 1, count: 64)) }
    dump.unsigned(.threadPointer, 0x7F00_AAAA_0000)
  }

  private static func writeCrashingThreadRest(_ dump: inout DumpTokens) {
    dump.text(.threadName, "new\nline\\and\\q")
    dump.unsigned(.threadState, UInt64(UInt8(ascii: "R")), 1)
    dump.unsigned(.stackRegionStart, 0x7FFD_0000_0000)
    dump.unsigned(.stackRegionEnd, 0x7FFD_0000_4000)
    dump.array(.stack) { dump in
      dump.region(0x7FFD_0000_00C0, [UInt8](repeating: 2, count: 64))
      // A region that could not be read.
      dump.region(0x7FFD_0000_0100, nil)
      dump.region(0x7FFD_0000_0140, [UInt8](repeating: 3, count: 64))
    }
    dump.unsigned(.stackBytesOmitted, 12)
  }

  private static func writeModules(_ dump: inout DumpTokens) {
    dump.array(.modules) { dump in
      dump.map(.module) { dump in
        dump.unsigned(.moduleAddress, 0x40_0000)
        dump.text(.modulePath, "/opt/my prog")
        dump.property(.moduleBuildID, [1, 2, 3, 4])
        dump.property(
          .moduleProgramHeaders,
          programHeaders([(5, 0x40_0123, 0x100), (6, 0x60_0000, 0x1234)]))
      }
      for (address, path) in [
        (0x7F00_0001_0000, "/lib/gone.so (deleted)"), (0x7FFD_0001_0000, "[vdso]"),
      ] as [(UInt64, String)] {
        dump.map(.module) { dump in
          dump.unsigned(.moduleAddress, address)
          dump.text(.modulePath, path)
        }
      }
    }
  }

  private static func writeOtherThreads(_ dump: inout DumpTokens) {
    dump.array(.threads) { dump in
      dump.map(.thread) { dump in
        dump.unsigned(.threadID, 902, 4)
        dump.unsigned(.captureMethod, 4, 1)
        dump.unsigned(.threadStackPointer, 0x1000)
        dump.unsigned(.threadInstructionPointer, 0x2000)
        dump.unsigned(.schedulingPolicy, 3, 1)
        dump.unsigned(.niceValue, UInt64(UInt32(bitPattern: -7)), 4)
        dump.text(.systemCall, "202 0x1 0x2 0x3 0x4 0x5 0x6 0x1000 0x2000")
      }
      // A duplicate thread; the first one is used.
      dump.map(.thread) { dump in
        dump.unsigned(.threadID, 901, 4)
        dump.unsigned(.captureMethod, 5, 1)
      }
      dump.map(.thread) { dump in
        dump.unsigned(.threadID, 903, 4)
        dump.unsigned(.captureMethod, 99, 1)
        dump.property(.generalRegisters, [1, 2, 3])
      }
    }
  }
}
