internal import Foundation
internal import IntermediateDump

/// The inputs of a target in one file, shortest first, each after its size in four bytes.
enum Corpus {
  /// The maximum size in bytes of a file in the repository; the longest inputs are left out.
  private static let maximumSize = 256 << 10

  static func pack(_ directory: String, into path: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    let inputs = try names.map { name in
      Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")))
    }
    var bytes: [UInt8] = []
    // The order makes the file the same for the same inputs.
    for input in inputs.sorted(by: {
      $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1)
    }) {
      if bytes.count + 4 + input.count > maximumSize { break }
      bytes.append(littleEndian: UInt32(input.count))
      bytes += input
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  /// - Returns: the number of inputs.
  static func unpack(_ path: String, into directory: String) throws -> Int {
    var rest = Array(try Data(contentsOf: URL(fileURLWithPath: path)))[...]
    var count = 0
    while let size = rest.littleEndian(at: 0, as: UInt32.self), rest.count - 4 >= Int(size) {
      try Data(rest.dropFirst(4).prefix(Int(size)))
        .write(to: URL(fileURLWithPath: "\(directory)/corpus-\(count)"))
      rest = rest.dropFirst(4 + Int(size))
      count += 1
    }
    return count
  }
}
