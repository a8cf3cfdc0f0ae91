internal import CrashAnalysis
internal import CrashReport
internal import IntermediateDump
internal import ProcessSnapshot

/// A report as an event of Sentry's protocol.
///
/// The event is made from a `CrashReport`, as are the text, the HTML page and the JSON of a report.
///
/// Source: develop.sentry.dev, "Event Payloads".
struct SentryEvent: Sendable {
  /// The name and version of this package, which servers see as the sender.
  static let client = "swift-postmortem/\(version)"
  static let version = PackageVersion.version

  let report: CrashReport
  /// The ID of the stored report, which is also the ID in the minidump.
  let reportID: ReportID
  /// The annotations, including `prod`, `ver` and `guid`, and the fields of `UploadOptions`.
  ///
  /// They become tags of the event, except those for which an event has separate members, such as `environment`.
  var fields: [String: String]
  /// The group of reports that the event represents; nil if it represents only `report`.
  var group: UploadGroup?

  /// The report's ID without hyphens, as Sentry's protocol requires.
  ///
  /// The ID is the same each time the report is sent, so a server keeps only one event for it.
  var id: String { reportID.description.filter { $0 != "-" } }

  /// The event's JSON, with parts cut or left out if it would exceed the protocol's limits.
  var json: [UInt8] {
    for cuts in SentryCuts.ladder.dropLast() {
      let json = value(cuts).json
      if json.count <= SentryLimits.eventSize { return json }
    }
    return value(SentryCuts.last).json
  }

  /// The event without the parts that `cuts` leaves out.
  func value(_ cuts: SentryCuts) -> SentryValue {
    let snapshot = report.snapshot
    let process = snapshot.process
    let texts = SentryLimits.self
    let kind = SentryKind(report: report)
    let frames = SentryFrames(report, cuts)
    let images = frames.images
    return [
      "event_id": .text(id),
      "platform": "native",
      "logger": "postmortem",
      "level": .text(kind.level),
      "timestamp": process.crashTime.map { .text(Self.time($0)) },
      "release": release.map { .text($0) },
      "dist": release == nil ? nil : dist.map { .text($0) },
      "environment": environment.map { .text($0) },
      "server_name": snapshot.system.hostName.flatMap {
        $0.isEmpty ? nil : .text(texts.cut($0, texts.serverName))
      },
      "transaction": report.place.map { .text(texts.cut($0, texts.transaction)) },
      "exception": ["values": .array(kind.exceptions(frames))],
      "threads": frames.threads.isEmpty ? nil : ["values": .array(frames.threads)],
      "fingerprint": report.signature.map { [.text(texts.cut($0, texts.fingerprint))] },
      "tags": .object(SentryTags(event: self).members(cuts)),
      "breadcrumbs": SentryBreadcrumbs(report: report).value(cuts),
      "contexts": SentryContexts(report: report).value(cuts),
      "debug_meta": images.isEmpty ? nil : ["images": .array(images)],
      "sdk": ["name": "swift-postmortem", "version": .text(Self.version)],
    ]
  }

  /// A time as text, with microseconds, which is the precision that servers store.
  static func time(_ nanoseconds: Int64) -> String {
    TimeText.utc(nanoseconds: nanoseconds).dropLast(4) + "Z"
  }

  /// The release, such as "shop@1.2"; nil if there is no version, or if the result would be empty or a word that Sentry
  /// reserves.
  ///
  /// If the report names no product, the program's name is used.
  private var release: String? {
    guard let version = fields["ver"] ?? report.snapshot.process.version, !version.isEmpty else {
      return nil
    }
    let program = report.snapshot.process.executablePath?.split(separator: "/").last
    let product = fields["prod"] ?? report.snapshot.process.product ?? program.map(String.init)
    let name = product.map { "\($0)@\(version)" } ?? version
    return SentryLimits.word(name, SentryLimits.release)
  }

  private var environment: String? {
    (fields["environment"] ?? report.snapshot.process.environment).flatMap {
      SentryLimits.word($0, SentryLimits.environment)
    }
  }

  /// The build ID of the program, which distinguishes builds of the same version.
  private var dist: String? {
    guard let address = report.snapshot.mainModuleAddress(in: report.snapshot.modules),
      let module = report.snapshot.modules.first(where: { $0.address == address }),
      !module.buildID.isEmpty
    else { return nil }
    return SentryLimits.cut(module.buildID.hexadecimal, SentryLimits.dist)
  }
}
