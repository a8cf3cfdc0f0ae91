internal import Glibc
internal import IntermediateDump

/// The program's description of a dump that it requests, encoded as tokens.
struct DumpDetails {
  /// The program's reason and its error, as the tokens inside the `dumpRequest` map.
  let request: [UInt8]?
  /// The annotations for this dump only; they come before the process's annotations.
  let annotations: [UInt8]?

  init(_ reason: String?, _ error: (any Error)?, _ annotations: [String: String]) {
    request = IntermediateDumpEncoding.encode(sizeHint: 4096) { writer in
      writer.cut(.requestReason, reason == "" ? nil : reason, 512)
      if let error {
        writer.cut(.requestErrorType, String(describing: type(of: error)), 256)
        writer.cut(.requestErrorText, String(describing: error), 1024)
      }
    }
    self.annotations = IntermediateDumpEncoding.encode(sizeHint: 4096) { writer in
      writer.startArray(.annotations)
      for name in annotations.keys.sorted().prefix(64) {
        writer.startMap(.annotation)
        writer.cut(.annotationName, name, 128)
        writer.cut(.annotationValue, annotations[name], 1024)
        writer.end()
      }
      writer.end()
    }
  }
}

extension IntermediateDumpWriter {
  /// Writes a text of at most `limit` bytes, and cuts a longer text; writes nothing for nil.
  fileprivate mutating func cut(_ key: IntermediateDumpKey, _ text: String?, _ limit: Int) {
    guard let text else { return }
    unsafe ClientText.withBytes(of: text, atMost: limit) { bytes, count in
      _ = unsafe property(key, bytes, count: count)
    }
  }
}
