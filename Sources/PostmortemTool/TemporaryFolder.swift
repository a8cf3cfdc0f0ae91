internal import Foundation

/// A folder of this process' own that goes away with this object.
final class TemporaryFolder {
  let path: String
  private var isKept = false

  /// Makes it in the system's place for such, mode 0700.
  init(prefix: String) throws {
    let base = FileManager.default.temporaryDirectory.path
    var template = Array("\(base)/\(prefix)-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { unsafe mkdtemp($0.baseAddress!) }
    guard unsafe made != nil else {
      throw ToolError(path: base, unsafe String(cString: strerror(errno)))
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func keep() { isKept = true }

  deinit {
    if !isKept { try? FileManager.default.removeItem(atPath: path) }
  }
}
