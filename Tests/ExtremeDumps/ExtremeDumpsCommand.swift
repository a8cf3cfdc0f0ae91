internal import Foundation

/// A process for the tests of hostile input.
///
/// `ExtremeDumps DIRECTORY FIRST COUNT [SAMPLES]` makes COUNT dumps, with the seeds from FIRST on, and reads, shows and
/// writes each of them. SAMPLES is a directory of real dumps, of which it reads changed copies. The current seed is in
/// DIRECTORY/seed: if a signal ends this process, the file shows which dump crashed it. The limit is 20 s of CPU time
/// for each dump. `--write SEED FILE` before the other arguments writes the dump of one seed to a file.
///
/// The other commands are for fuzzing; they write their files into the working directory:
///   ExtremeDumps targets
///   ExtremeDumps seeds TARGET DIRECTORY [SAMPLES]   writes the initial inputs
///   ExtremeDumps read TARGET PATH...                reads each file once, or all files of directories
///   ExtremeDumps mutate TARGET FIRST COUNT          reads the initial inputs, changed by the seeds from FIRST on
///   ExtremeDumps pack DIRECTORY FILE, unpack FILE DIRECTORY
///
/// A build with libFuzzer has libFuzzer's own command line: see `Fuzzer`.
#if !FUZZING
  @main
#endif
enum ExtremeDumpsCommand {
  static let usage = "usage: ExtremeDumps [--write SEED FILE] DIRECTORY FIRST COUNT [SAMPLES]"

  private static func run(_ arguments: [String]) throws -> Int32 {
    let rest = Array(arguments.dropFirst())
    let target = rest.first.flatMap(FuzzTarget.init(rawValue:))
    switch (arguments.first, target) {
    case ("targets", _):
      for target in FuzzTarget.allCases { print(target.rawValue, target.maximumSize) }
    case ("seeds", let target?) where rest.count >= 2:
      try FuzzSeeds.write(target, to: rest[1], samples: rest.count > 2 ? rest[2] : nil)
    case ("read", let target?):
      print(try Fuzzer.read(Array(rest.dropFirst()), target: target, directory: "."), "read")
    case ("mutate", let target?) where rest.count == 3:
      guard let first = UInt64(rest[1]), let count = UInt64(rest[2]) else { return 2 }
      print(try Fuzzer.mutate(target, seeds: first..<first + count, directory: "."), "bytes")
    case ("pack", _) where rest.count == 2: try Corpus.pack(rest[0], into: rest[1])
    case ("unpack", _) where rest.count == 2: print(try Corpus.unpack(rest[0], into: rest[1]))
    default: return try runSeeds(arguments)
    }
    return 0
  }

  private static func runSeeds(_ arguments: [String]) throws -> Int32 {
    var arguments = arguments[...]
    var wanted: (seed: UInt64, path: String)?
    if arguments.first == "--write", arguments.count > 3, let seed = UInt64(arguments[1]) {
      wanted = (seed, arguments[2])
      arguments = arguments.dropFirst(3)
    }
    let words = Array(arguments)
    guard words.count >= 3, let first = UInt64(words[1]), let count = UInt64(words[2]) else {
      print(usage)
      return 2
    }
    let cases = try ExtremeCases(directory: words[0], samples: words.count > 3 ? words[3] : nil)
    if let wanted {
      try Data(cases.bytes(of: wanted.seed)).write(to: URL(fileURLWithPath: wanted.path))
    } else {
      print("\(try cases.run(first..<first + count)) bytes")
    }
    return 0
  }

  static func main() {
    do {
      exit(try run(Array(CommandLine.arguments.dropFirst())))
    } catch {
      print("failed: \(error)")
      exit(1)
    }
  }
}
