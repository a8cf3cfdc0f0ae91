internal import ProcessSnapshot

/// The constants of the minidump format for the writer and the reader.
///
/// Source: Microsoft minidumpapiset.h; Breakpad `google_breakpad/common/minidump_format.h` for other systems.
/// Source: Crashpad `minidump/minidump_extensions.h`.
///
/// `Docs/Internals/Minidump.md` lists every stream.
enum MinidumpFormat {
  /// The signature of a minidump: the bytes "MDMP" in the file.
  static let signature: UInt32 = 0x504D_444D
  /// The low 16 bits of the header's field Version; the high 16 bits depend on the writer.
  static let version: UInt32 = 0xA793
  /// MINIDUMP_HEADER.
  static let headerSize = 32
  /// MINIDUMP_DIRECTORY.
  static let directoryEntrySize = 12
  /// MINIDUMP_THREAD.
  static let threadSize = 48
  /// MINIDUMP_MODULE.
  static let moduleSize = 108
  /// MINIDUMP_MEMORY_DESCRIPTOR.
  static let memoryDescriptorSize = 16
  /// MINIDUMP_THREAD_NAME.
  static let threadNameSize = 12
  /// MINIDUMP_MEMORY_INFO.
  static let memoryInfoSize = 48
  /// MINIDUMP_MISC_INFO_4.
  static let miscInfoSize = 832
  /// The sizes of MDRawDebug64 and MDRawLinkMap64 in the layout of Breakpad's C++, with every field at a multiple of
  /// its size.
  static let dsoDebugSize = 40
  static let linkMapSize = 24
  /// The sizes of these structures in the layout of minidump writers in Rust, which use no padding.
  static let packedDsoDebugSize = 36
  static let packedLinkMapSize = 20

  /// The names of the simple annotations for product and version in a minidump, as Crashpad's clients use them.
  static let productAnnotation = "prod"
  static let versionAnnotation = "ver"

  // The limits of Breakpad's reader. If a list has more entries, the reader drops the whole list. The reader does not
  // read a memory region that is larger than `maximumRegionSize`.
  static let maximumThreads = 4096
  static let maximumModules = 2048
  static let maximumMemoryRegions = 4096
  static let maximumRegionSize = 64 << 20

  /// `ProcessorArchitecture` of MINIDUMP_SYSTEM_INFO.
  static let amd64: UInt16 = 9
  static let arm64: UInt16 = 12
  /// Breakpad's own number for arm64, from before Microsoft assigned a number.
  static let arm64Old: UInt16 = 0x8003

  /// Breakpad's numbers for `PlatformId` of MINIDUMP_SYSTEM_INFO.
  static let linux: UInt32 = 0x8201
  static let android: UInt32 = 0x8203
  static let macOS: UInt32 = 0x8101
  static let iOS: UInt32 = 0x8102
  /// VER_PLATFORM_WIN32_NT.
  static let windows: UInt32 = 2

  /// The signature of the CodeView record of an ELF image: "BpEL" in Breakpad's notation, and the bytes "LEpB" in the
  /// file.
  static let codeViewELF: UInt32 = 0x4270_454C
  /// The signature of the CodeView record of a PDB file: the bytes "RSDS" in the file.
  static let codeViewPDB70: UInt32 = 0x5344_5352

  /// Flags for the parts of CONTEXT_AMD64 that are present.
  ///
  /// Source: winnt.h.
  static let amd64Context: UInt32 = 0x0010_0000
  static let amd64Control: UInt32 = 0x1
  static let amd64Integer: UInt32 = 0x2
  static let amd64Segments: UInt32 = 0x4
  static let amd64FloatingPoint: UInt32 = 0x8
  /// The mask of the flags for parts; if none of them is set, as in Breakpad's minidumps from macOS, the context has
  /// the control and integer registers.
  static let amd64Parts: UInt32 = 0x1F

  /// Flags for the parts of MDRawContextARM64 that are present.
  ///
  /// Source: Breakpad `minidump_cpu_arm64.h`.
  static let arm64Context: UInt32 = 0x0040_0000
  static let arm64Control: UInt32 = 0x1
  static let arm64Integer: UInt32 = 0x2
  static let arm64FloatingPoint: UInt32 = 0x4
  static let arm64Parts: UInt32 = 0xF
  static let arm64ContextSize = 912
  /// The size in bytes of an arm64 context without the debug registers that follow the floating-point state; the reader
  /// accepts such contexts too.
  static let arm64ContextWithoutDebugSize = 792
  static let arm64OldContext: UInt64 = 0x8000_0000
  static let arm64OldContextSize = 796
}

/// The type of a stream, as the minidump's directory of streams contains it.
struct MinidumpStreamType: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt32

  static let threadList = MinidumpStreamType(rawValue: 3)
  static let moduleList = MinidumpStreamType(rawValue: 4)
  static let memoryList = MinidumpStreamType(rawValue: 5)
  static let exception = MinidumpStreamType(rawValue: 6)
  static let systemInfo = MinidumpStreamType(rawValue: 7)
  static let memory64List = MinidumpStreamType(rawValue: 9)
  static let miscInfo = MinidumpStreamType(rawValue: 15)
  static let memoryInfoList = MinidumpStreamType(rawValue: 16)
  static let threadNames = MinidumpStreamType(rawValue: 24)
  /// Breakpad's streams, whose numbers begin with "Gg"; they contain copies of files in `/proc` and `/etc`.
  static let linuxCpuInfo = MinidumpStreamType(rawValue: 0x4767_0003)
  static let linuxProcStatus = MinidumpStreamType(rawValue: 0x4767_0004)
  static let linuxLsbRelease = MinidumpStreamType(rawValue: 0x4767_0005)
  static let linuxCmdLine = MinidumpStreamType(rawValue: 0x4767_0006)
  static let linuxAuxv = MinidumpStreamType(rawValue: 0x4767_0008)
  static let linuxMaps = MinidumpStreamType(rawValue: 0x4767_0009)
  /// Breakpad's stream with the dynamic linker's list of loaded objects.
  static let linuxDsoDebug = MinidumpStreamType(rawValue: 0x4767_000A)
  /// Crashpad's stream, whose number begins with "CP".
  static let crashpadInfo = MinidumpStreamType(rawValue: 0x4350_0001)
  /// This package's stream, whose number begins with "PM": the whole snapshot except its memory, from
  /// `ProcessSnapshot.encoded()`.
  static let postmortemDump = MinidumpStreamType(rawValue: 0x504D_0003)
}
