// A process for the tests of hostile dumps: `ExtremeDumps DIRECTORY FIRST COUNT [SAMPLES]` makes COUNT
// dumps, of the seeds from FIRST on, and does with each whatever is done with dumps. SAMPLES is a
// directory of real dumps, which are changed. The seed at hand stands in DIRECTORY/seed, so that whoever
// sees this process end by a signal knows of which dump it died. It uses at most 20 s of CPU time
// for one.
//
// With `--write SEED FILE` in front it writes the dump of one seed, to look at it.
internal import Foundation

do {
  var arguments = CommandLine.arguments.dropFirst()
  var wanted: (seed: UInt64, path: String)?
  if arguments.first == "--write", arguments.count > 3, let seed = UInt64(arguments[2]) {
    wanted = (seed, arguments[3])
    arguments = arguments.dropFirst(3)
  }
  let words = Array(arguments)
  guard words.count >= 3, let first = UInt64(words[1]), let count = UInt64(words[2]) else {
    print("usage: ExtremeDumps [--write SEED FILE] DIRECTORY FIRST COUNT [SAMPLES]")
    exit(2)
  }
  let cases = try ExtremeCases(directory: words[0], samples: words.count > 3 ? words[3] : nil)
  if let wanted {
    try Data(cases.bytes(of: wanted.seed)).write(to: URL(fileURLWithPath: wanted.path))
  } else {
    print("\(try cases.run(first..<first + count)) bytes")
  }
} catch {
  print("failed: \(error)")
  exit(1)
}
