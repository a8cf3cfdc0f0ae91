import Glibc

/// The options of the command line.
struct ServerOptions {
  var database = ""
  /// The port to listen on; 0 for any free port.
  var port: UInt16 = 0
  var threads = 4
  /// Whether the server uses the handler, contexts and breadcrumbs; false to measure the server without them.
  var hasHandler = true

  /// Parses the arguments; exits if they are invalid.
  init(_ words: ArraySlice<String>) {
    var rest = words
    var operands: [String] = []
    while let word = rest.popFirst() {
      switch word {
      case "--no-handler": hasHandler = false
      case "--threads":
        guard let value = rest.popFirst().flatMap(Int.init), (1...64).contains(value) else {
          Self.fail()
        }
        threads = value
      default: operands.append(word)
      }
    }
    guard operands.count <= 2, !operands.contains(where: { $0.hasPrefix("-") }) else {
      Self.fail()
    }
    if let operand = operands.first {
      database = operand
    } else if let variable = unsafe getenv("POSTMORTEM_DATABASE") {
      database = unsafe String(cString: variable)
    } else {
      Self.fail()
    }
    guard operands.count == 2 else { return }
    guard let port = UInt16(operands[1]) else { Self.fail() }
    self.port = port
  }

  private static func fail() -> Never {
    note("usage: Server [DATABASE [PORT]] [--threads N] [--no-handler]")
    exit(EX_USAGE)
  }
}
