/// A Swift object to which a pointer points.
package struct SwiftObject: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case object
    /// The box that holds the value of an `any Error`.
    case error
    /// The variables that a closure has captured, or one variable that outlives its function.
    case closure
    /// A value in separately allocated memory, such as a large value of a protocol type.
    case box
    case task
  }

  package var kind: Kind
  /// The type of the object, or of the value in the box; nil if only the kind is known.
  package var type: TypeName?
  package var count: ReferenceCount
  /// False if a structure of C that begins with a pointer to metadata and a small number would look the same.
  package var isCertain = true
  /// The types of the variables that a closure has captured; empty if they are not known.
  package var captures: [TypeName] = []
  /// The number of elements of a collection, or the number of bytes of a string or of data.
  package var size: UInt64?
  /// The first bytes of a string, as text; nil for an object of another type.
  package var text: String?
  /// The first bytes of an array of numbers, or of a `Data` value.
  package var firstBytes: [UInt8] = []
  /// The first elements of an array of strings, a set or a dictionary; "_" stands for an element, key or value that
  /// cannot be read.
  package var elements: [String] = []

  /// True for an object that many places point to and that says nothing about the program: the storage of an empty
  /// collection, or captured variables of unknown types.
  package var isNoise: Bool {
    Self.emptyStorages.contains(type?.qualified ?? "")
      || !captures.isEmpty && captures.allSatisfy { $0 == .unknown }
  }

  /// Source: swift stdlib/public/core/ContiguousArrayBuffer.swift, NativeDictionary.swift, NativeSet.swift.
  private static let emptyStorages: Set = [
    "Swift.__EmptyArrayStorage", "Swift.__EmptyDictionarySingleton", "Swift.__EmptySetSingleton",
  ]
}
