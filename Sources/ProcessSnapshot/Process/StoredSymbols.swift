internal import IntermediateDump

/// Function names and source lines for addresses on stacks, such as the crashing thread's, found when the dump was
/// converted.
///
/// The names are stored because a later deployment replaces the files of the crashed build, which usually still exist
/// when the dump is converted.
public struct StoredSymbols: Sendable, Equatable {
  /// A function whose code, or whose inlined code, is at an address.
  public struct Function: Sendable, Equatable {
    /// The name in the symbol table or the debug information; empty if it is not known.
    public var linkageName: String
    /// The number of bytes from the function's start to the frame's address; nil for an inlined function.
    public var offset: UInt64?
    /// True if this function was inlined into the next function of the list.
    public var isInlined: Bool
    /// The source file's path.
    public var file: String?
    public var line: UInt32?
    public var column: UInt32?
    /// True if the debug information has no line for the code itself; `line` is then the last line before the code.
    public var isLineApproximate: Bool

    public init(
      linkageName: String, offset: UInt64? = nil, isInlined: Bool = false, file: String? = nil,
      line: UInt32? = nil, column: UInt32? = nil, isLineApproximate: Bool = false
    ) {
      self.linkageName = linkageName
      self.offset = offset
      self.isInlined = isInlined
      self.file = file
      self.line = line
      self.column = column
      self.isLineApproximate = isLineApproximate
    }
  }

  /// The functions at the lookup address of each frame, innermost first.
  ///
  /// For a return address, the lookup address is inside the call instruction.
  public var functions: [Address: [Function]]

  public init(functions: [Address: [Function]] = [:]) {
    self.functions = functions
  }
}

extension StoredSymbols {
  /// The function at one lookup address, and the calls that were inlined there.
  struct Entry: Sendable {
    var address: Address
    var functions: [Function]

    static let mapFields = MapFields(
      Entry(address: 0, functions: []),
      [
        .required(.symbolAddress, \.address),
        .array(.functions, of: .function, \.functions, Function.mapFields),
      ])
  }

}

extension ProcessSnapshot {
  /// The entries of `storedSymbols` sorted by address; if two entries have the same address, the first one is used.
  var symbolEntries: [StoredSymbols.Entry] {
    get {
      (storedSymbols?.functions ?? [:]).sorted { $0.key < $1.key }
        .map { .init(address: $0.key, functions: $0.value) }
    }
    set {
      let functions = newValue.map { ($0.address, $0.functions) }
      storedSymbols =
        functions.isEmpty
        ? nil : StoredSymbols(functions: Dictionary(functions) { first, _ in first })
    }
  }
}

extension StoredSymbols.Function {
  static let mapFields = MapFields(
    StoredSymbols.Function(linkageName: ""),
    [
      .value(.functionName, \.linkageName),
      .optional(.functionOffset, \.offset),
      .flag(.isInlined, \.isInlined),
      .optional(.sourceFile, \.file),
      .optional(.sourceLine, \.line),
      .optional(.sourceColumn, \.column),
      .flag(.isLineApproximate, \.isLineApproximate),
    ])
}
