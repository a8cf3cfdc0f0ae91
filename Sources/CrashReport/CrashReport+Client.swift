internal import ProcessSnapshot

extension CrashReport {
  /// What the program told while it ran, beyond plain annotations.
  public struct Client: Codable, Sendable, Equatable {
    /// Those of `Annotation` first, then those of `SimpleAnnotations`.
    public var annotations: [Annotation]
    /// Oldest first.
    public var breadcrumbs: [Breadcrumb]
    public var attachments: [Attachment]
    public var extraMemory: [ExtraMemory]
    /// Why streams of the converter's own are not in the minidump.
    public var userStreamFailures: [String]
    /// Breadcrumbs that were ever left, and of the last 128 those that the crash tore.
    public var breadcrumbsLeft: UInt64?
    public var breadcrumbsOmitted: UInt64?
    /// What found no room.
    public var annotationsOmitted: UInt64?
    public var simpleAnnotationsOmitted: UInt64?
    public var memoryRangesOmitted: UInt64?
    public var memoryBytesOmitted: UInt64?
    public var attachmentsOmitted: UInt64?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(annotations, forKey: .annotations)
      try container.encode(breadcrumbs, forKey: .breadcrumbs)
      try container.encode(attachments, forKey: .attachments)
      try container.encode(extraMemory, forKey: .extraMemory)
      try container.encode(userStreamFailures, forKey: .userStreamFailures)
      try container.encode(breadcrumbsLeft, forKey: .breadcrumbsLeft)
      try container.encode(breadcrumbsOmitted, forKey: .breadcrumbsOmitted)
      try container.encode(annotationsOmitted, forKey: .annotationsOmitted)
      try container.encode(simpleAnnotationsOmitted, forKey: .simpleAnnotationsOmitted)
      try container.encode(memoryRangesOmitted, forKey: .memoryRangesOmitted)
      try container.encode(memoryBytesOmitted, forKey: .memoryBytesOmitted)
      try container.encode(attachmentsOmitted, forKey: .attachmentsOmitted)
    }

    /// One annotation, with its type.
    public struct Annotation: Codable, Sendable, Equatable {
      public var name: String?
      /// "string", "int", "uint", "double" or "bool".
      public var type: String?
      public var value: String?
      /// "being-replaced", "stale" or "unreadable"; null for a value that is simply the last one.
      public var state: String?

      /// Writes every key, null for what is not known.
      public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type, forKey: .type)
        try container.encode(value, forKey: .value)
        try container.encode(state, forKey: .state)
      }
    }

    /// A note of what the program did.
    public struct Breadcrumb: Codable, Sendable, Equatable {
      public var time: Timestamp?
      /// Nanoseconds from it to the crash, by a clock that nobody sets.
      public var age: UInt64?
      public var threadID: UInt32?
      public var text: String

      /// Writes every key, null for what is not known.
      public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(time, forKey: .time)
        try container.encode(age, forKey: .age)
        try container.encode(threadID, forKey: .threadID)
        try container.encode(text, forKey: .text)
      }
    }

    /// A file that was to be copied with the report.
    public struct Attachment: Codable, Sendable, Equatable {
      public var path: String
      /// Its name beside the report; null if it was not copied.
      public var name: String?
      /// Bytes that were copied, and those before them that were not.
      public var size: UInt64?
      public var bytesOmitted: UInt64?
      /// Why it was not copied.
      public var failure: String?

      /// Writes every key, null for what is not known.
      public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(name, forKey: .name)
        try container.encode(size, forKey: .size)
        try container.encode(bytesOmitted, forKey: .bytesOmitted)
        try container.encode(failure, forKey: .failure)
      }
    }

    /// Memory that the program asked for.
    public struct ExtraMemory: Codable, Sendable, Equatable {
      public var address: HexAddress
      public var size: UInt64
      /// Whether all of its bytes are in the dump.
      public var captured: Bool
    }
  }
}

extension CrashReport.Client {
  /// Nil where the program told nothing.
  init?(_ snapshot: ProcessSnapshot) {
    let client = snapshot.client
    guard !client.isEmpty else { return nil }
    annotations = (client.annotations + client.simpleAnnotations).map(Annotation.init)
    breadcrumbs = client.breadcrumbs.map { breadcrumb in
      Breadcrumb(
        time: breadcrumb.time.map(Timestamp.init(nanoseconds:)),
        age: snapshot.process.crashUptime.flatMap { now in
          breadcrumb.uptime.flatMap { $0 <= now ? now &- $0 : nil }
        }, threadID: breadcrumb.threadID, text: breadcrumb.text)
    }
    attachments = client.attachments.map {
      Attachment(
        path: $0.path, name: $0.name, size: $0.size, bytesOmitted: $0.bytesOmitted,
        failure: $0.failure)
    }
    extraMemory = client.extraMemory.map { range in
      let bytes = Int(exactly: range.size).flatMap {
        snapshot.memory.bytes(at: range.address, count: $0)
      }
      return ExtraMemory(
        address: range.address.hex, size: range.size, captured: bytes != nil)
    }
    userStreamFailures = client.userStreamFailures
    breadcrumbsLeft = client.breadcrumbsLeft
    breadcrumbsOmitted = client.breadcrumbsOmitted
    annotationsOmitted = client.annotationsOmitted
    simpleAnnotationsOmitted = client.simpleAnnotationsOmitted
    memoryRangesOmitted = client.memoryRangesOmitted
    memoryBytesOmitted = client.memoryBytesOmitted
    attachmentsOmitted = client.attachmentsOmitted
  }
}

extension CrashReport.Client.Annotation {
  init(_ annotation: ClientAnnotation) {
    name = annotation.name
    value = annotation.text
    // The words are the JSON's.
    type =
      switch annotation.value {
      case .text: "string"
      case .signed: "int"
      case .unsigned: "uint"
      case .double: "double"
      case .bool: "bool"
      case nil: nil
      }
    state =
      switch annotation.state {
      case .beingReplaced: "being-replaced"
      case .stale: "stale"
      case .unreadable: "unreadable"
      case nil: nil
      }
  }
}
