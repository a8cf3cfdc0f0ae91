public import IntermediateDump

/// What the program recorded for its reports: annotations, breadcrumbs, contexts, memory ranges and attachments.
///
/// "Client" is Crashpad's word for the program that the report is about.
public struct ClientInformation: Sendable, Equatable {
  /// The annotations set through `SimpleAnnotations`, without those passed to `startHandler`.
  public var simpleAnnotations: [ClientAnnotation] = []
  /// The typed annotations (`Annotation`), in the order in which the dump contains them.
  public var annotations: [ClientAnnotation] = []
  /// The program's breadcrumbs, the oldest first.
  public var breadcrumbs: [Breadcrumb] = []
  /// The breadcrumbs of the work that the crashing thread did, oldest first; some are also in `breadcrumbs`.
  public var workBreadcrumbs: [Breadcrumb] = []
  /// The values set by the `withContext` calls that each thread was in, the crashing thread's first.
  ///
  /// For each thread, the outermost value comes first.
  public var contexts: [Context] = []
  /// The handler's table of the `withContext` calls that had not ended; nil if the dump has none, for example because
  /// the program never made such a call.
  package var openContextTable: [UInt8]?
  /// The ranges of memory that the program added to the dump; the bytes are in the snapshot's `memory`.
  public var extraMemory: [ExtraMemoryRange] = []
  public var attachments: [Attachment] = []
  /// The reasons why streams that the converter should have added are not in the minidump.
  public var userStreamFailures: [String] = []

  /// The number of annotations that were left out because there was no room; nil if none were.
  public var annotationsOmitted: UInt64?
  public var simpleAnnotationsOmitted: UInt64?
  public var memoryRangesOmitted: UInt64?
  public var attachmentsOmitted: UInt64?
  public var contextsOmitted: UInt64?
  /// The number of bytes of extra memory that were left out because of `CaptureLimits.extraMemory`.
  public var memoryBytesOmitted: UInt64?
  /// The number of breadcrumbs that the program has written since its start, including breadcrumbs that newer ones have
  /// replaced.
  public var breadcrumbsLeft: UInt64?
  /// The number of breadcrumbs, among the last 128, that are missing because the program was writing them when it
  /// crashed or could not write them.
  public var breadcrumbsOmitted: UInt64?

  public init() {}

  public var isEmpty: Bool { self == ClientInformation() }

  /// A note that the program left in its breadcrumbs.
  public struct Breadcrumb: Sendable, Equatable {
    /// The time in nanoseconds since 1970.
    public var time: Int64?
    /// The time of CLOCK_BOOTTIME in nanoseconds.
    public var uptime: UInt64?
    public var threadID: UInt32?
    public var text: String
    /// The level; nil if the program gave none.
    public var level: BreadcrumbLevel?
    public var metadata = BreadcrumbMetadata()

    public init(text: String) {
      self.text = text
    }
  }

  /// A value that the program set with `withContext` for the unit of work that a thread was running.
  public struct Context: Sendable, Equatable {
    public var threadID: UInt32
    public var name: String
    public var value: String
    /// True if the value was cut because there was no room.
    public var isCut = false

    public init(threadID: UInt32, name: String, value: String) {
      self.threadID = threadID
      self.name = name
      self.value = value
    }
  }

  /// The `withContext` calls that had not ended; nil if the dump has no valid table of them.
  package var openContexts: OpenContexts? { openContextTable.flatMap(OpenContexts.init) }

  /// The contexts by thread ID, outermost first; if a name occurs twice, only the innermost value is used.
  public var contextsByThread: [UInt32: [Context]] {
    var found: [UInt32: [Context]] = [:]
    var places: [UInt32: [String: Int]] = [:]
    for context in contexts {
      let thread = context.threadID
      if let place = places[thread]?[context.name] {
        found[thread]?[place] = context
      } else {
        places[thread, default: [:]][context.name] = found[thread]?.count ?? 0
        found[thread, default: []].append(context)
      }
    }
    return found
  }

  /// A range of memory that the program added to the dump.
  public struct ExtraMemoryRange: Sendable, Equatable {
    public var address: Address
    public var size: UInt64

    public init(address: Address, size: UInt64) {
      self.address = address
      self.size = size
    }

    public var range: AddressRange { AddressRange(start: address, byteCount: size) }
  }

  /// A file that the program wanted to be attached to the report, and the result of copying the file.
  public struct Attachment: Sendable, Equatable {
    /// The path that the program gave, made absolute.
    public var path: String
    /// The name of the copy; nil if the file was not copied.
    public var name: String?
    /// The number of bytes that were copied; `bytesOmitted` is the number of bytes before these that were not copied.
    public var size: UInt64?
    public var bytesOmitted: UInt64?
    /// The reason why the attachment was not copied.
    public var failure: String?

    public init(path: String) {
      self.path = path
    }
  }
}

/// An annotation: a name, and a value that the program has set.
public struct ClientAnnotation: Sendable, Equatable {
  /// A value, in the type that the program used to set it.
  public enum Value: Sendable, Equatable {
    case text(String)
    case signed(Int64)
    case unsigned(UInt64)
    /// A 64-bit IEEE 754 number, stored as its bits so that every value equals itself, even NaN.
    case double(UInt64)
    case bool(Bool)

    package var type: AnnotationType {
      switch self {
      case .text: .text
      case .signed: .signed
      case .unsigned: .unsigned
      case .double: .double
      case .bool: .bool
      }
    }
  }

  public typealias State = AnnotationState

  /// The name; nil if it could not be read.
  public var name: String?
  /// The value; nil if it could not be read, or is of a type that this reader does not know.
  public var value: Value?
  /// Why the value may not be the last one that the program set; nil if it is the last one.
  public var state: State?

  public init(name: String?, value: Value?, state: State? = nil) {
    self.name = name
    self.value = value
    self.state = state
  }

  /// The value as text, in the form that minidumps store.
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

extension ClientAnnotation {
  /// The fields of an annotation that was set through `SimpleAnnotations`.
  static let simpleFields = MapFields(
    ClientAnnotation(name: nil, value: nil),
    [
      .optional(.annotationName, \.name),
      Field(.annotationValue, [.text]) { map, annotation in
        annotation.value = map.text(.annotationValue).map(Value.text)
        return annotation.value != nil
      } write: { annotation, writer in
        writer.write(.annotationValue, annotation.text)
      },
      .optional(.annotationState, \.state),
    ])

  /// The fields of a typed annotation.
  package static let mapFields = MapFields(
    ClientAnnotation(name: nil, value: nil),
    [
      .optional(.annotationName, \.name),
      Field(.annotationType, [.unsigned], size: 1) { map, annotation in
        annotation.value = Value(reading: map)
        return annotation.value != nil
      } write: { annotation, writer in
        annotation.value?.write(to: &writer)
      }.showing { $0.value.map { .text($0.type.word) } },
      .optional(.annotationState, \.state),
    ])
}

extension ClientAnnotation.Value {
  /// Reads a value; nil if its bytes are missing or too few, or its type is unknown.
  fileprivate init?(reading map: IntermediateDumpMap) {
    guard let type: AnnotationType = map[.annotationType] else { return nil }
    if type == .text {
      guard let text = map.text(.annotationData) else { return nil }
      self = .text(text)
      return
    }
    guard let word = map.data(.annotationData)?.littleEndian(at: 0, width: 8) else { return nil }
    switch type {
    case .text: return nil
    case .signed: self = .signed(Int64(bitPattern: word))
    case .unsigned: self = .unsigned(word)
    case .double: self = .double(word)
    case .bool: self = .bool(word != 0)
    }
  }

  fileprivate func write(to writer: inout IntermediateDumpWriter) {
    writer.write(.annotationType, type)
    switch self {
    case .text(let text): writer.write(.annotationData, text)
    case .signed(let number): writer.write(.annotationData, number)
    case .unsigned(let number): writer.write(.annotationData, number)
    case .double(let bits): writer.write(.annotationData, bits)
    case .bool(let isTrue): writer.write(.annotationData, isTrue ? 1 : 0 as UInt64)
    }
  }
}

extension ClientInformation {
  package static let mapFields = MapFields(
    ClientInformation(),
    [
      .group(
        .client,
        [
          .optional(.annotationsOmitted, \.annotationsOmitted),
          .optional(.simpleAnnotationsOmitted, \.simpleAnnotationsOmitted),
          .optional(.breadcrumbsLeft, \.breadcrumbsLeft),
          .optional(.breadcrumbsOmitted, \.breadcrumbsOmitted),
          .optional(.memoryRangesOmitted, \.memoryRangesOmitted),
          .optional(.memoryBytesOmitted, \.memoryBytesOmitted),
          .optional(.attachmentsOmitted, \.attachmentsOmitted),
          .optional(.contextsOmitted, \.contextsOmitted),
        ]),
      .array(
        .simpleAnnotations, of: .annotation, \.simpleAnnotations, ClientAnnotation.simpleFields),
      .array(.annotationObjects, of: .annotationObject, \.annotations, ClientAnnotation.mapFields),
      .array(.breadcrumbs, of: .breadcrumb, \.breadcrumbs, Breadcrumb.mapFields),
      .array(.workBreadcrumbs, of: .breadcrumb, \.workBreadcrumbs, Breadcrumb.mapFields),
      .array(.contexts, of: .context, \.contexts, Context.mapFields),
      .optional(.openContexts, \.openContextTable),
      // The handler writes a range in chunks. Adjacent chunks are read as one range again.
      Field(.extraMemory, [.array], nested: ExtraMemoryRange.mapFields.keys) { map, client in
        for range in map.elements(.extraMemory).compactMap(ExtraMemoryRange.mapFields.value(of:))
        where range.size > 0 && range.range.byteCount == range.size {
          if let last = client.extraMemory.last, last.range.end == range.address {
            client.extraMemory[client.extraMemory.count - 1].size = last.size &+ range.size
          } else {
            client.extraMemory.append(range)
          }
        }
        return true
      } write: { client, writer in
        writer.array(
          .extraMemory, of: .memoryRegion, client.extraMemory, ExtraMemoryRange.mapFields)
      },
      .array(.attachments, of: .attachment, \.attachments, Attachment.mapFields),
      .array(
        .userStreamFailures, of: .userStreamFailure, \.userStreamFailures,
        MapFields("", [.required(.userStreamReason, \.self)])),
    ])
}

extension ClientInformation.Breadcrumb {
  package static let mapFields = MapFields(
    ClientInformation.Breadcrumb(text: ""),
    [
      .optional(.breadcrumbTime, \.time),
      .optional(.breadcrumbUptime, \.uptime),
      .optional(.breadcrumbThreadID, \.threadID),
      .required(.breadcrumbText, \.text),
      .optional(.breadcrumbLevel, \.level),
      .value(.breadcrumbMetadata, \.metadata),
    ])
}

extension ClientInformation.Context {
  package static let mapFields = MapFields(
    ClientInformation.Context(threadID: 0, name: "", value: ""),
    [
      .required(.contextThreadID, \.threadID),
      .required(.contextName, \.name),
      .required(.contextValue, \.value),
      .flag(.contextIsCut, \.isCut),
    ])
}

extension ClientInformation.ExtraMemoryRange {
  static let mapFields = MapFields(
    ClientInformation.ExtraMemoryRange(address: 0, size: 0),
    [.required(.regionAddress, \.address), .required(.regionSize, \.size)])
}

extension ClientInformation.Attachment {
  package static let mapFields = MapFields(
    ClientInformation.Attachment(path: ""),
    [
      .required(.attachmentPath, \.path),
      .optional(.attachmentName, \.name),
      .optional(.attachmentSize, \.size),
      .optional(.attachmentBytesOmitted, \.bytesOmitted),
      .optional(.attachmentFailure, \.failure),
    ])
}
