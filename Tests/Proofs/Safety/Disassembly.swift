import CrashTestSupport
import Foundation

/// The functions of a linked program, read with the toolchain's llvm-nm and llvm-objdump.
struct Disassembly {
  /// A function's size, and the facts about its code that an audit needs.
  struct Function {
    /// The symbols that it calls or jumps to, without "@plt".
    var callees: Set<String> = []
    /// The callees that are reached through the procedure linkage table, which may bind them late.
    var lateBound: Set<String> = []
    /// Calls and jumps through a register or memory.
    var indirect: [String] = []
    /// Accesses to thread-local storage, except the thread pointer and the stack protector's canary.
    var threadLocal: [String] = []
    /// True if it reads anything of the thread control block, including these two.
    var readsControlBlock = false
    /// The addresses of its instructions.
    var addresses: [UInt64] = []
  }

  let program: String
  private let isARM64: Bool
  /// Start and size by name; for a duplicate name, the first place.
  private let places: [String: (start: UInt64, size: UInt64)]

  init(of program: String) throws {
    self.program = program
    isARM64 = try Self.isARM64(program)
    var places: [String: (UInt64, UInt64)] = [:]
    for line in try Self.run("llvm-nm", ["-S", "--defined-only", program]) {
      let words = line.split(separator: " ")
      guard words.count == 4, ["t", "T", "w", "W", "i"].contains(words[2]),
        let start = UInt64(words[0], radix: 16), let size = UInt64(words[1], radix: 16)
      else { continue }
      if places[String(words[3])] == nil { places[String(words[3])] = (start, size) }
    }
    self.places = places
  }

  var symbols: Dictionary<String, (start: UInt64, size: UInt64)>.Keys { places.keys }

  /// The start and size of a function in the file.
  func place(of name: String) -> (start: UInt64, size: UInt64)? { places[name] }

  /// Reads functions by name; the result lacks those that are not in the program.
  func functions(_ names: some Collection<String>) throws -> [String: Function] {
    var result: [String: Function] = [:]
    var list = ""
    for name in names where places[name] != nil {
      // One argument has at most 128 KiB (MAX_ARG_STRLEN).
      if list.utf8.count + name.utf8.count > 100_000 {
        try read(list, into: &result)
        list = ""
      }
      list += (list.isEmpty ? "" : ",") + name
    }
    if !list.isEmpty { try read(list, into: &result) }
    return result
  }

  /// Reads the functions of a comma-separated list of names.
  private func read(_ list: String, into result: inout [String: Function]) throws {
    let lines = try Self.run(
      "llvm-objdump",
      ["-d", "--no-show-raw-insn", "--disassemble-symbols=" + list, program])
    var current: (name: String, end: UInt64)?
    var recent: [String] = []
    for line in lines {
      if line.hasSuffix(">:"), let open = line.firstIndex(of: "<") {
        let name = String(line[line.index(after: open)...].dropLast(2))
        let place = places[name]
        current = place.map { (name, $0.start + $0.size) }
        result[name] = result[name] ?? Function()
        recent = []
        continue
      }
      let parts = line.split(separator: ":", maxSplits: 1)
      // objdump continues to the next symbol that it knows; code after the function's end belongs to another one.
      guard let (name, end) = current, parts.count == 2,
        let address = UInt64(parts[0].trimmingCharacters(in: .whitespaces), radix: 16),
        address < end
      else { continue }
      let instruction = parts[1].trimmingCharacters(in: .whitespaces)
      result[name]?.addresses.append(address)
      if isARM64 {
        ARM64Instruction(instruction, after: recent)
          .read(of: name, into: &result[name, default: .init()])
      } else if !Self.isSwitch(instruction, after: recent) {
        Self.read(instruction, of: name, into: &result[name, default: .init()])
      }
      recent = recent.suffix(7) + [instruction]
    }
  }

  /// True for a jump through the table of a `switch`, which stays inside the function.
  ///
  /// It goes to the table's own address, which is a constant, plus one of the table's offsets:
  ///
  ///     leaq 2934088(%rip), %rsi
  ///     movslq (%rsi,%rcx,4), %rcx
  ///     addq %rsi, %rcx
  ///     jmpq *%rcx
  private static func isSwitch(_ instruction: String, after recent: [String]) -> Bool {
    guard let jump = instruction.wholeMatch(of: /jmpq\s+\*(%r[a-z0-9]+)/) else { return false }
    // The instructions directly before it, up to a jump or a call.
    let straight = recent.reversed().prefix { !$0.hasPrefix("j") && !$0.hasPrefix("call") }
    for (index, line) in straight.enumerated() {
      guard
        let sum = line.wholeMatch(of: /addq\s+(%r[a-z0-9]+),\s+(%r[a-z0-9]+)/), sum.2 == jump.1
      else { continue }
      let before = straight.dropFirst(index + 1)
      for line in before {
        guard
          let load = line.wholeMatch(
            of: /movslq\s+\((%r[a-z0-9]+),%r[a-z0-9]+,4\),\s+(%r[a-z0-9]+)/),
          Set([load.1, load.2]) == Set([sum.1, sum.2])
        else { continue }
        return before.contains {
          $0.hasPrefix("leaq") && $0.contains("(%rip), \(load.1)")
        }
      }
    }
    return false
  }

  private static func read(_ instruction: String, of name: String, into function: inout Function) {
    if let place = instruction.range(of: "%fs:") {
      function.readsControlBlock = true
      let rest = instruction[place.upperBound...]
      // The address of the thread control block and the canary at offset 40, both defined by the psABI.
      let isKnown = ["0,", "0x0,", "40,", "0x28,"].contains { rest.hasPrefix($0) }
      if !isKnown { function.threadLocal.append(instruction) }
    }
    let operation = instruction.prefix { !$0.isWhitespace }
    guard operation.hasPrefix("call") || operation.hasPrefix("j") else { return }
    if instruction.contains("*") {
      function.indirect.append(instruction)
      return
    }
    function.add(targetOf: instruction, from: name)
  }

  /// The functions that the debug information names at some addresses, including inlined functions, and the lines of
  /// each, from its declaration to its last line at one of the addresses.
  ///
  /// An initializer also has lines before its declaration, where stored properties have their initial values.
  func extents(at addresses: [UInt64]) throws -> [CodeLines.Function: IndexSet] {
    let directory = try TemporaryDirectory()
    let list = directory.path + "/addresses"
    try addresses.map { "0x" + String($0, radix: 16) + "\n" }.joined()
      .write(toFile: list, atomically: true, encoding: .utf8)
    let lines = try Self.run(
      "llvm-symbolizer",
      ["--obj", program, "--inlines", "--functions=linkage", "--output-style=JSON"],
      input: try FileHandle(forReadingFrom: URL(filePath: list)))
    guard lines.count == addresses.count else { throw OutsideToolError("llvm-symbolizer failed") }
    var extents: [CodeLines.Function: IndexSet] = [:]
    // Neighboring instructions mostly have the same answer, except for the addresses.
    var known: Set<CodePlace> = []
    let decoder = JSONDecoder()
    for line in lines {
      for place in try decoder.decode(CodePlaces.self, from: Data(line.utf8)).symbol
      where place.line > 0 && known.insert(place).inserted {
        let function = CodeLines.Function(name: place.function, file: place.file)
        let hasStart = place.startFile == place.file && 1...place.line ~= place.start
        extents[function, default: []].insert(
          integersIn: (hasStart ? place.start : place.line)...place.line)
      }
    }
    return extents
  }

  /// What llvm-symbolizer prints for one address: the function, and those that it is inlined into.
  private struct CodePlaces: Decodable {
    let symbol: [CodePlace]

    private enum CodingKeys: String, CodingKey { case symbol = "Symbol" }
  }

  private struct CodePlace: Decodable, Hashable {
    let function, file, startFile: String
    let line, start: Int

    private enum CodingKeys: String, CodingKey {
      case function = "FunctionName"
      case file = "FileName"
      case startFile = "StartFileName"
      case line = "Line"
      case start = "StartLine"
    }
  }

  /// EM_AARCH64.
  private static func isARM64(_ program: String) throws -> Bool {
    guard let file = FileHandle(forReadingAtPath: program),
      let header = try file.read(upToCount: 20), header.count == 20
    else { throw OutsideToolError("no program: \(program)") }
    return header[18] == 183
  }

  private static func run(
    _ tool: String, _ arguments: [String], input: FileHandle = .nullDevice
  ) throws -> [Substring] {
    let process = Process()
    process.executableURL = URL(filePath: try Toolchain.path(of: tool))
    process.arguments = arguments
    process.standardInput = input
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw OutsideToolError("\(tool) failed") }
    return String(decoding: data, as: UTF8.self).split(separator: "\n")
  }
}

extension Disassembly.Function {
  /// Adds the symbol that an instruction calls or jumps to, if it names one.
  mutating func add(targetOf instruction: String, from name: String) {
    guard let open = instruction.lastIndex(of: "<"), instruction.hasSuffix(">") else { return }
    var target = instruction[instruction.index(after: open)...].dropLast()
    if let plus = target.range(of: "+0x") {
      // A jump with an offset stays inside the function; an offset into another function would name that
      // function.
      target = target[..<plus.lowerBound]
    }
    if target.hasSuffix("@plt") {
      target = target.dropLast(4)
      lateBound.insert(String(target))
    }
    if target != name { callees.insert(String(target)) }
  }
}
