/// The first word of metadata: the kind of a type, or the kind of an object that is no instance of a class.
///
/// Source: swift include/swift/ABI/MetadataKind.def.
package enum MetadataKind: Sendable {
  case `class`, `struct`, `enum`, optional, tuple, function, existential, metatype
  case existentialMetatype
  /// The variables that a closure has captured.
  case closure
  /// A box that holds a value of any type.
  case box
  /// The box that holds the value of an `any Error`.
  case error
  case task

  /// Returns nil for kinds that reports do not show.
  ///
  /// RUNS-DURING-CRASH.
  @_noLocks
  package init?(_ word: UInt64) {
    switch word {
    case 0: self = .class
    case 0x200: self = .struct
    case 0x201: self = .enum
    case 0x202: self = .optional
    case 0x301: self = .tuple
    case 0x302: self = .function
    case 0x303: self = .existential
    case 0x304: self = .metatype
    case 0x306: self = .existentialMetatype
    case 0x400: self = .closure
    case 0x500: self = .box
    case 0x501: self = .error
    case 0x502: self = .task
    default: return nil
    }
  }

  /// True for the kinds of types, false for the kinds of objects that are no instances of a class.
  ///
  /// RUNS-DURING-CRASH.
  package var isType: Bool {
    @_noLocks get {
      switch self {
      case .closure, .box, .error, .task: false
      default: true
      }
    }
  }

  /// The number of bytes of metadata that dumps and sanitized reports keep, so that the type can be named.
  ///
  /// RUNS-DURING-CRASH.
  package var keptSize: Int {
    @_noLocks get {
      switch self {
      case .class: ClassMetadata.size
      case .closure, .box, .task: 24
      case .error: 8
      default: 32
      }
    }
  }
}
