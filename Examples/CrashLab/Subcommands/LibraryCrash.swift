internal import CrashKinds
internal import Glibc
internal import Postmortem

/// A crash in a library that a test compiled, in one of several ways.
struct LibraryCrash: Subcommand {
  private typealias Run = @convention(c) (Int32) -> Void

  private let database: String
  private let library: String
  private let number: Int32
  private let place: CrashPlace

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("DIR", "FILE", "NUMBER", "PLACE")
    guard let number = Int32(words[2]), let place = CrashPlace(rawValue: words[3]) else {
      throw UsageError("no number \(words[2]) or place \(words[3])")
    }
    database = words[0]
    library = words[1]
    self.number = number
    self.place = place
  }

  /// Exits if the library does not crash, or if there is no such library.
  func run() throws {
    try startHandler(database: database, identifier: "shop", product: "shop")
    let (library, number) = (library, number)
    try place.run({ Self.crash(number, in: library) }, stackSize: nil, earlier: nil)
    exit(Command.survived)
  }

  private static func crash(_ number: Int32, in path: String) {
    guard let library = unsafe dlopen(path, RTLD_NOW),
      let symbol = unsafe dlsym(library, "shop_run")
    else { return }
    unsafe unsafeBitCast(symbol, to: Run.self)(number)
  }
}
