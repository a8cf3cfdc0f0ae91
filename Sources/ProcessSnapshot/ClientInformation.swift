/// What the program told of itself while it ran.
///
/// In Crashpad's words the client is the program that the report is about.
public struct ClientInformation: Sendable, Equatable {
  /// Set through `SimpleAnnotations`; what `startHandler` was given is not here.
  public var simpleAnnotations: [ClientAnnotation] = []
  /// In the order of the dump.
  public var annotations: [ClientAnnotation] = []
  /// Oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// Memory that the program asked for; its bytes are with the rest of the memory.
  public var extraMemory: [ExtraMemoryRange] = []
  public var attachments: [Attachment] = []
  /// Why streams of the converter's own are not in the minidump.
  public var userStreamFailures: [String] = []

  /// How many found no room, each nil where none was left out.
  public var annotationsOmitted: UInt64?
  public var simpleAnnotationsOmitted: UInt64?
  public var memoryRangesOmitted: UInt64?
  public var attachmentsOmitted: UInt64?
  /// Bytes of extra memory past the limit.
  public var memoryBytesOmitted: UInt64?
  /// All that were ever left, those included that newer ones took the place of.
  public var breadcrumbsLeft: UInt64?
  /// Of the last 128 those that are missing, because they were being written when the process
  /// crashed.
  public var breadcrumbsOmitted: UInt64?

  public init() {}

  public var isEmpty: Bool { self == ClientInformation() }

  /// A note of what the program did.
  public struct Breadcrumb: Sendable, Equatable {
    /// Nanoseconds since 1970.
    public var time: Int64?
    /// CLOCK_BOOTTIME in nanoseconds.
    public var uptime: UInt64?
    public var threadID: UInt32?
    public var text: String

    public init(text: String) {
      self.text = text
    }
  }

  /// A range of addresses.
  public struct ExtraMemoryRange: Sendable, Equatable {
    public var address: Address
    public var size: UInt64

    public init(address: Address, size: UInt64) {
      self.address = address
      self.size = size
    }

    public var range: AddressRange { AddressRange(start: address, byteCount: size) }
  }

  /// A file that was to be copied with the report, and what became of it.
  public struct Attachment: Sendable, Equatable {
    /// As the program gave it, made absolute.
    public var path: String
    /// Its name beside the report; nil if it was not copied.
    public var name: String?
    /// Bytes that were copied, and those before them that were not.
    public var size: UInt64?
    public var bytesOmitted: UInt64?
    /// Why it was not copied.
    public var failure: String?

    public init(path: String) {
      self.path = path
    }
  }
}

/// A name and a value of the program's.
public struct ClientAnnotation: Sendable, Equatable {
  /// A value of the type it was set with.
  public enum Value: Sendable, Equatable {
    case text(String)
    case signed(Int64)
    case unsigned(UInt64)
    /// The bits of an IEEE 754 number of 64, so that every one is equal to itself.
    case double(UInt64)
    case bool(Bool)
  }

  /// What is to be said of a value that is not simply the last one.
  public enum State: UInt8, Sendable {
    /// A newer one was being written when the process crashed; this is the one before.
    case beingReplaced = 1
    /// A newer one was given up, because several threads were in the middle of writing.
    case stale = 2
    /// There was one, but it changed faster than it could be read, or was written over.
    case unreadable = 3
  }

  /// Nil if it could not be read.
  public var name: String?
  /// Nil if it could not be read, or is of a type that this reader does not know.
  public var value: Value?
  /// Nil for a value that is simply the last one.
  public var state: State?

  public init(name: String?, value: Value?, state: State? = nil) {
    self.name = name
    self.value = value
    self.state = state
  }

  /// The value as text, which is how readers of minidumps get it.
  public var text: String? {
    switch value {
    case .text(let text): text
    case .signed(let number): "\(number)"
    case .unsigned(let number): "\(number)"
    case .double(let bits): "\(Double(bitPattern: bits))"
    case .bool(let isTrue): "\(isTrue)"
    case nil: nil
    }
  }
}
