internal import CoreFile
internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import DumpInspection
internal import Foundation
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot
internal import Stackwalk

/// A reader of files that others may have written, or the whole conversion from bytes to reports.
enum FuzzTarget: String, CaseIterable {
  /// Intermediate dumps.
  case tokens
  /// Minidumps.
  case minidump
  /// The small files next to the dumps: run records, metadata, settings and names.
  case files
  /// Crash summaries in logs.
  case summary
  /// The headers, symbols and notes of ELF files.
  case elf
  /// Stacks and lines from the CFI and DWARF of an ELF file.
  case dwarf
  /// Core files.
  case core
  /// Objects and their types in a process's memory.
  case objects
  /// Dumps and core files to text, JSON, HTML and minidumps.
  case whole

  /// The size in bytes of the longest input that is worth trying.
  var maximumSize: Int {
    switch self {
    case .files: 512
    case .tokens, .summary, .objects: 4 << 10
    case .minidump, .elf: 8 << 10
    case .core: 12 << 10
    case .dwarf: 16 << 10
    case .whole: 64 << 10
    }
  }
}

/// Reads the inputs of one target.
///
/// The results are not checked; reading must only terminate without a crash.
struct FuzzReader {
  private let target: FuzzTarget
  private var way: WholeWay
  private let module: HeldFile
  /// Counts the bytes of the results, so that the optimizer cannot remove the work.
  private(set) var size = 0

  /// - Parameter directory: the directory for a minidump.
  init(_ target: FuzzTarget, directory: String) throws {
    self.target = target
    way = WholeWay(directory: directory)
    module = try HeldFile()
  }

  mutating func read(_ bytes: [UInt8]) throws {
    switch target {
    case .tokens:
      guard let document = try? IntermediateDumpDocument(parsing: bytes) else { return }
      size &+= document.root.entries.count
      // Printing the tree takes ten times as long as reading.
      if bytes.count < 1024 { size &+= "\(IntermediateDumpTree(document))".utf8.count }
    case .minidump: size &+= (try? MinidumpReader.snapshot(of: bytes))?.threads.count ?? 0
    case .core:
      size &+= (try? CoreReader.snapshot(of: DumpBytes(bytes)))?.threads.count ?? 0
    case .objects: size &+= ObjectImage.read(bytes)
    case .files: readFile(bytes)
    case .summary:
      var reader = LoggedDumpReader()
      reader.take(bytes)
      for dump in reader.finish().dumps {
        let document = try IntermediateDumpDocument(parsing: dump.bytes)
        size &+= ProcessSnapshot(reading: document).memory.regions.count
      }
    case .elf:
      if let (symbols, module) = try symbols(of: bytes) {
        for offset in Self.offsets {
          size &+= symbols.function(at: module.address &+ offset, in: module)?.name.utf8.count ?? 0
        }
      }
    case .dwarf: try walk(bytes)
    case .whole: try way.go(bytes)
    }
  }

  /// Reads one of several kinds of files, which the first byte selects.
  private mutating func readFile(_ bytes: [UInt8]) {
    let rest = bytes.dropFirst()
    switch bytes.first {
    case 0: size &+= RunRecord(bytes: Array(rest)) == nil ? 0 : 1
    case 1: size &+= RunEvidence(heartbeat: rest) == nil ? 0 : 1
    case 2: size &+= RunNotes(bytes: rest) == nil ? 0 : 1
    case 3: size &+= ReportMetadata(bytes: Array(rest)) == nil ? 0 : 1
    case 4: size &+= DatabaseSettings(bytes: Array(rest)) == nil ? 0 : 1
    case 5:
      size &+= ReportFacts(reading: rest) == nil ? 0 : 1
      size &+= ReportDetails(reading: rest)?.bytes.count ?? 0
    default:
      let name = String(decoding: rest, as: UTF8.self)
      size &+= PendingDumpName(fileName: name)?.description.utf8.count ?? 0
    }
  }

  // MARK: - ELF files

  /// Offsets in the code of the modules of `FuzzSeeds`, and around it.
  private static let offsets: [UInt64] = [
    0, 0x40, 0x200, 0x300, 0x3A8, 0x3C0, 0x3D4, 0x3F0, 0x400, 0x1000, 0x1010, 0x1040, 0x1080,
    0x1100, 0x1180, 0x1200, 0x2000,
    0x3000,
  ]

  /// The limit of work for one input: some tens of milliseconds.
  private var limit: WorkLimit { WorkLimit(steps: 1 << 20, bytes: 16 << 20) }

  private func snapshot(of bytes: [UInt8]) throws -> ModuleSnapshot? {
    try module.hold(bytes)
    guard let file = try? ELFFile(path: module.path) else { return nil }
    return ModuleSnapshot(
      address: 0x40_0000, size: 0x4000, path: module.path, buildID: file.buildID)
  }

  private func symbols(of bytes: [UInt8]) throws -> (ModuleSymbols, ModuleSnapshot)? {
    guard let module = try snapshot(of: bytes),
      let symbols = try? ModuleSymbols(module, limit: limit)
    else { return nil }
    return (symbols, module)
  }

  /// Walks stacks that start in the module and are full of addresses in it.
  private mutating func walk(_ bytes: [UInt8]) throws {
    guard let module = try snapshot(of: bytes) else { return }
    var process = ProcessSnapshot(architecture: .x86_64)
    process.modules = [module]
    let stackAddress: UInt64 = 0x7FFF_0000
    let words = Self.offsets.flatMap { [module.address.value &+ $0, stackAddress &+ $0 % 512] }
    let stack = MemoryRegion(
      address: Address(stackAddress), bytes: words.flatMap { ExtremeBytes.word($0) })
    process.memory = MemorySnapshot(joining: [stack])
    let symbols = SymbolSource(
      directories: [], stored: nil, readsFiles: true, store: nil, limit: limit)
    for offset in Self.offsets {
      var registers = X86_64Context()
      registers.rip = module.address.value &+ offset
      registers.rsp = stackAddress
      registers.rbp = stackAddress &+ 64
      var thread = ThreadSnapshot(id: 1)
      thread.context = .x86_64(registers)
      thread.stackPointer = Address(stackAddress)
      thread.instructionPointer = Address(registers.rip)
      thread.stack = [stack]
      process.threads = [thread]
      let trace = Stackwalker(snapshot: process, symbols: symbols)
        .trace(of: thread, head: 8, tail: 2)
      size &+= trace.frames.count
    }
  }
}

/// A file in memory that has a path; each input replaces its contents.
@safe
final class HeldFile {
  private let descriptor: Int32
  var path: String { "/proc/self/fd/\(descriptor)" }

  init() throws {
    var path = Array("/dev/shm/postmortem-fuzz-XXXXXX\0".utf8CString)
    descriptor = unsafe mkstemp(&path)
    guard descriptor >= 0 else { throw SystemFailure(call: "mkstemp", errno: errno) }
    unsafe unlink(path)
  }

  func hold(_ bytes: [UInt8]) throws {
    guard ftruncate(descriptor, 0) == 0,
      unsafe pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    else { throw SystemFailure(call: "pwrite", errno: errno) }
  }

  deinit { close(descriptor) }
}
