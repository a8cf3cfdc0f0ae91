internal import IntermediateDump

/// The protocol's limits on texts and sizes; a server cuts or refuses data that exceeds a limit.
///
/// Source: develop.sentry.dev, "Envelopes", Size Limits; Relay `relay-event-schema`, whose fields have
/// `max_chars`.
enum SentryLimits {
  // The maximum size of an event in bytes.
  static let eventSize = 1_000_000
  /// The maximum number of bytes of a request as it is sent, compressed or not.
  static let requestSize: Int64 = 20_000_000
  /// The maximum number of bytes of all attachments together, before compression.
  static let attachmentSize: Int64 = 100_000_000

  // The maximum number of characters of each kind of text.
  static let message = 8192
  static let exceptionType = 128
  static let function = 512
  static let fileName = 256
  static let transaction = 200
  static let fingerprint = 200
  static let serverName = 255
  static let release = 200
  static let environment = 64
  static let dist = 64
  static let tag = 200
  /// The maximum number of characters of other texts, small enough to keep a whole context within the protocol's limit.
  static let text = 1024

  static let contextCount = 32

  /// The first Unicode scalars of a text, with an ellipsis if it was cut, and without NUL, which databases refuse.
  static func cut(_ text: String, _ limit: Int) -> String {
    var result = text
    var isLong = false
    // Characters are counted only up to the limit, because a text may be megabytes long.
    if text.utf8.count > limit {
      let scalars = text.unicodeScalars
      let end = scalars.index(
        scalars.startIndex, offsetBy: max(0, limit - 1), limitedBy: scalars.endIndex)
      if let end, !scalars[end...].dropFirst(min(limit, 1)).isEmpty {
        isLong = true
        result = String(scalars[..<end])
      }
    }
    if result.utf8.contains(0) { result.unicodeScalars.removeAll { $0 == "\0" } }
    if isLong, limit > 0 { result.append("…") }
    return result
  }

  /// The name of a release or an environment, cut to the limit and without forbidden characters; nil if it is empty or
  /// reserved.
  ///
  /// Source: develop.sentry.dev, "Releases"; Relay `relay-event-schema`, validation of releases.
  static func word(_ text: String, _ limit: Int) -> String? {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar.value < 0x20 || scalar == "/" || scalar == "\\" || scalar.value == 0x7F ? "-" : scalar
    }
    let word = String(String.UnicodeScalarView(scalars.prefix(limit)))
      .split(separator: " ").joined(separator: " ")
    return word.isEmpty || [".", "..", "latest", "none"].contains(word.lowercased()) ? nil : word
  }

  /// The name of a tag, cut to the limit, and with `_` instead of characters that Sentry does not allow in it.
  static func tagName(_ name: String) -> String {
    String(
      name.utf8.prefix(tag).map { byte -> Character in
        let character = Unicode.Scalar(byte)
        return switch character {
        case "0"..."9", "a"..."z", "A"..."Z", "_", ".", ":", "-": Character(character)
        default: "_"
        }
      })
  }

  /// The value of a tag, on one line.
  static func tagValue(_ value: String) -> String {
    cut(value.split(whereSeparator: \.isNewline).joined(separator: " "), tag)
  }
}

/// Limits on the contents of an event, which make the event small enough for Sentry.
struct SentryCuts: Sendable, Equatable {
  /// A stack has at most 250 frames, including the frame for left-out calls, because servers cut longer stacks in the
  /// middle.
  var ownFrames = 249
  var otherFrames = 249
  var threads = 1000
  var otherRegisters = true
  var rawNames = true
  var allImages = true
  var images = 1000
  var breadcrumbs = 100
  var breadcrumbText = 1024
  var tags = 200
  var explanations = true

  /// The reductions of an event, from the default limits to the smallest event; each reduction includes the previous
  /// one.
  ///
  /// The first reduction that makes the event small enough is used; if none does, the last one.
  ///
  /// The least important parts are left out first: images without frames, raw names, and registers and frames of
  /// other threads. Breadcrumbs, tags and explanations follow. The message and the innermost calls of the crashing
  /// thread stay.
  static let ladder: [SentryCuts] = {
    var cuts = SentryCuts()
    var ladder = [cuts]
    let steps: [(inout SentryCuts) -> Void] = [
      { $0.allImages = false },
      { $0.rawNames = false },
      { $0.otherRegisters = false },
      { $0.otherFrames = 50 },
      { $0.threads = 200 },
      { ($0.otherFrames, $0.threads) = (20, 100) },
      { ($0.breadcrumbs, $0.breadcrumbText) = (50, 256) },
      { ($0.otherFrames, $0.threads) = (5, 20) },
      { ($0.tags, $0.images) = (50, 100) },
      { ($0.ownFrames, $0.threads, $0.breadcrumbs, $0.images) = (100, 1, 10, 50) },
      { $0.explanations = false },
    ]
    for step in steps {
      step(&cuts)
      ladder.append(cuts)
    }
    return ladder
  }()

  static let last = ladder[ladder.count - 1]
}
