import CrashTestSupport
import Foundation

/// Breakpad's processor, and two readers of its symbol text, from PyPI's `symbolic`.
///
/// 8.8.0 is the last version with Breakpad's C++ processor, and it reads no records of inlined calls; 12.12.0
/// reads all records, and has no processor.
enum BreakpadProcessor {
  /// A function at an address; lists have the innermost call first.
  ///
  /// A line of 0 and an empty file are unknown.
  struct Call: Codable, Equatable {
    var function: String
    var file: String
    var line: Int
  }

  /// A frame as Breakpad's processor found it.
  struct Frame: Codable {
    /// The address to look up.
    var instruction: UInt64
    var trust: String
  }

  struct Thread: Codable {
    var id: UInt32
    var frames: [Frame]
  }

  /// The directory into which `.ci/run` installs 12.12.0.
  private static let reader = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../.build/python/symbolic-12.12.0").standardized.path

  /// True if both versions are installed; also true in CI, where a missing one must fail.
  static func isWanted() async throws -> Bool {
    if OutsideTool.mustBeThere { return true }
    guard try await PythonModule.isWanted("symbolic.minidump") else { return false }
    return FileManager.default.fileExists(atPath: reader)
  }

  /// Walks the threads of a minidump.
  ///
  /// - Parameters:
  ///   - texts: paths of the Breakpad symbol files of some modules.
  ///   - binaries: other modules, whose call frame information the processor reads from the files.
  static func threads(
    of minidump: String, texts: [String], binaries: [String], in directory: String
  ) async throws -> [Thread] {
    let script = """
      import json, sys
      from symbolic.debuginfo import Archive
      from symbolic.minidump import CfiCache, FrameInfoMap, ProcessState
      minidump, texts, binaries = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
      known, infos = set(), FrameInfoMap.new()
      for path in texts + binaries:
        object = next(Archive.open(path).iter_objects())
        identifier = object.debug_id.replace('-', '').upper() + '0'
        if identifier in known: continue
        known.add(identifier)
        infos.add(identifier, CfiCache.from_object(object))
      state = ProcessState.from_minidump(minidump, infos)
      print(json.dumps([
        {'id': thread.thread_id, 'frames': [
          {'instruction': frame.instruction, 'trust': frame.trust} for frame in thread.frames()]}
        for thread in state.threads()]))
      """
    let output = try await run(
      script, [minidump, try list(texts), try list(binaries)], in: directory, reader: nil)
    return try JSONDecoder().decode([Thread].self, from: Data(output.utf8))
  }

  /// Looks up addresses in a symbol file; they are relative to the module.
  ///
  /// - Parameter withInlines: false for 8.8.0, which gets the text without INLINE records.
  static func calls(
    at addresses: [UInt64], in text: String, withInlines: Bool, directory: String
  ) async throws -> [[Call]] {
    let places = directory + "/addresses"
    try addresses.map { "\($0)" }.joined(separator: "\n").write(
      toFile: places, atomically: false, encoding: .utf8)
    let script = """
      import json, sys
      from symbolic.debuginfo import Archive
      text, places, inlines = sys.argv[1], sys.argv[2], sys.argv[3] == 'true'
      data = open(text, 'rb').read()
      if not inlines:
        data = b''.join(l for l in data.splitlines(True) if not l.startswith(b'INLINE'))
      cache = next(Archive.from_bytes(data).iter_objects()).make_symcache()
      print(json.dumps([
        [{'function': call.symbol or '', 'file': getattr(call, 'full_path', None) or '', 'line': call.line or 0}
         for call in cache.lookup(int(place))]
        for place in open(places)]))
      """
    let output = try await run(
      script, [text, places, "\(withInlines)"], in: directory, reader: withInlines ? reader : nil)
    return try JSONDecoder().decode([[Call]].self, from: Data(output.utf8))
  }

  /// Reads the names of functions that a text lists without lines, such as assembly functions without debug
  /// information.
  static func namesWithoutLines(in text: String) throws -> Set<String> {
    var names: Set<String> = []
    var last: String?
    for line in try String(contentsOfFile: text, encoding: .utf8).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 4)
      let record = words[0]
      let isLine = record == "INLINE" || UInt64(record, radix: 16) != nil
      if !isLine, let last { names.insert(last) }
      last = record == "FUNC" && words.count > 4 ? String(words[4]) : nil
      if record == "PUBLIC", words.count > 3 {
        names.insert(words.dropFirst(3).joined(separator: " "))
      }
    }
    return names
  }

  private static func list(_ paths: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode(paths), as: UTF8.self)
  }

  private static func run(
    _ script: String, _ arguments: [String], in directory: String, reader: String?
  ) async throws -> String {
    guard let python = OutsideTool.python3.path else {
      throw OutsideToolError("python3 is missing")
    }
    let child = try await ChildProcess.run(
      python, ["-c", script] + arguments, in: directory,
      environment: reader.map { ["PYTHONPATH": $0] } ?? [:])
    guard child.end.exitCode == 0 else { throw OutsideToolError(child.standardError) }
    return child.standardOutput
  }
}

extension [BreakpadProcessor.Call] {
  /// The calls without the facts that the format cannot express.
  ///
  /// The format has no file without a line, and no inlined call around code without a line. Files that the
  /// compiler makes up have no directory.
  ///
  /// - Parameter names: functions that have no lines.
  func comparable(withoutLines names: Set<String> = []) -> Self {
    var calls = map { call in
      var call = call
      if names.contains(call.function) { call.line = 0 }
      if call.line == 0 { call.file = "" }
      if call.file == "/<compiler-generated>" { call.file = "<compiler-generated>" }
      return call
    }
    while calls.count > 1, calls[0].line == 0 { calls.removeFirst() }
    return calls
  }
}
