import CrashTestSupport
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// A source that reads the files of several reports, one after the other.
@Suite struct SymbolSourceTests {
  /// A symbol table that was read after the time limit is empty; it must not be kept for the next report.
  @Test(arguments: [3600, nil] as [Double?])
  func aReportThatHadNoTimeTakesNoNamesFromTheNext(timeLimit: Double?) throws {
    // A library without debug information.
    let line = try #require(
      KernelFile.text("/proc/self/maps").split(separator: "\n").first {
        $0.hasSuffix("/libswiftCore.so")
      })
    let path = String(try #require(line.firstIndex(of: "/").map { line[$0...] }))
    let elf = try ELFFile(path: path)
    let table = SymbolTable(of: elf)
    let function = try #require(table.entries.first { $0.isFunction && $0.size > 16 })
    let module = ModuleSnapshot(
      address: elf.firstAddress ?? 0, size: 1 << 30, path: path, buildID: elf.buildID)
    let frame = StackFrame(
      address: function.address &+ 4, isReturnAddress: false, trust: .context, moduleIndex: 0)
    let source = SymbolSource(timeLimit: 0)
    source.begin(stored: nil)
    source.begin(timeLimit: 0)
    try #require(source.isTimeOver)
    #expect(source.frames(at: frame, in: module).allSatisfy { $0.symbol == nil })
    source.begin(timeLimit: timeLimit)
    source.begin(stored: nil)
    #expect(source.frames(at: frame, in: module).last?.symbol != nil)
    #expect(!source.isTimeOver)
  }
}
