/// What a person reads of a crash; encoded, it is the JSON of `postmortem show --json`.
///
/// The schema is in `Docs/Reports.md`. What is not known is nil, and null in JSON: no key is ever
/// left out.
public struct CrashReport: Codable, Sendable, Equatable {
  /// The version of the schema, 1; it grows when a field changes its meaning or goes.
  public var schemaVersion: Int
  public var reportID: String?
  /// What the program's runtime or C library said before it ended the process.
  public var message: String?
  /// What the dump shows of the cause, with the evidence; nil where it shows nothing.
  public var explanation: String?
  /// The cause as a word, how sure it is, and what says so; null where the dump shows nothing, and
  /// in the JSON of versions that did not know it.
  public var cause: Cause?
  /// The same for crashes of the same cause; the rules are in `Docs/Reports.md`.
  public var signature: String?
  /// False for a torn dump.
  public var complete: Bool
  public var exception: Exception?
  public var process: Process
  public var system: System
  /// The crashing thread first.
  public var threads: [Thread]
  public var modules: [Module]
  public var annotations: [String: String]
  public var capture: Capture
  /// Null in the JSON of versions that did not know it.
  public var resources: Resources?
  /// Null where the crash ended the process and was its first.
  public var survival: Survival?
  /// Why the dump was taken where nothing crashed; null for a crash.
  public var request: Request?
  /// What the program told while it ran; null where it told nothing.
  public var client: Client?
  /// Null in the JSON of versions that did not know it, as the next two.
  public var memory: [Memory]?
  /// Sorted by address; at most 4,096.
  public var mappings: [Mapping]?
  /// How many more mappings there were.
  public var mappingsOmitted: Int?

  /// How a run ended that left no dump of its end; null for a process that was captured.
  public var end: End?

  /// Writes every key, null for what is not known.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(schemaVersion, forKey: .schemaVersion)
    try container.encode(reportID, forKey: .reportID)
    try container.encode(message, forKey: .message)
    try container.encode(explanation, forKey: .explanation)
    try container.encode(cause, forKey: .cause)
    try container.encode(signature, forKey: .signature)
    try container.encode(complete, forKey: .complete)
    try container.encode(exception, forKey: .exception)
    try container.encode(process, forKey: .process)
    try container.encode(system, forKey: .system)
    try container.encode(threads, forKey: .threads)
    try container.encode(modules, forKey: .modules)
    try container.encode(annotations, forKey: .annotations)
    try container.encode(capture, forKey: .capture)
    try container.encode(resources, forKey: .resources)
    try container.encode(survival, forKey: .survival)
    try container.encode(request, forKey: .request)
    try container.encode(client, forKey: .client)
    try container.encode(end, forKey: .end)
    try container.encode(memory, forKey: .memory)
    try container.encode(mappings, forKey: .mappings)
    try container.encode(mappingsOmitted, forKey: .mappingsOmitted)
  }
}
