internal import Glibc
internal import Postmortem

/// A crash in a library that a test compiled, in one of several ways.
struct LibraryCrash {
  private typealias Run = @convention(c) (Int32) -> Void

  private let database: String
  private let library: String
  private let number: Int32
  private let place: Place

  /// - Parameter arguments: database, library, number of the crash in it, place.
  init(_ arguments: [String]) throws(UsageError) {
    guard arguments.count == 4, let number = Int32(arguments[2]),
      let place = Place(rawValue: arguments[3])
    else { throw UsageError("library DIR FILE NUMBER PLACE") }
    database = arguments[0]
    library = arguments[1]
    self.number = number
    self.place = place
  }

  /// Comes back where the library does not die, or is not one.
  func run() throws {
    try startHandler(database: database, identifier: "shop", product: "shop")
    let (library, number) = (library, number)
    try place.run({ Self.crash(number, in: library) }, stackSize: nil, earlier: nil)
  }

  private static func crash(_ number: Int32, in path: String) {
    guard let library = unsafe dlopen(path, RTLD_NOW),
      let symbol = unsafe dlsym(library, "shop_run")
    else { return }
    unsafe unsafeBitCast(symbol, to: Run.self)(number)
  }
}
