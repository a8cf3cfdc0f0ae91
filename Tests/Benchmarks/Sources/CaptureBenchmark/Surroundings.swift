import CLimit
import Foundation

/// The contents of a crashing process, other than its sleeping threads.
struct Surroundings {
  /// The number of threads that never sleep.
  var busy: Int32 = 0
  /// The number of mappings of one page each.
  var mappings: Int32 = 0
  /// The number of loaded libraries, each from a different file.
  var modules: Int32 = 0

  static let usage = "[--busy THREADS] [--mappings N] [--modules N]"

  init() {}

  /// Parses the three numbers of `words`; nil if they are invalid.
  init?(_ words: some Sequence<String>) {
    let numbers = words.compactMap { Int32($0) }
    guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
    (busy, mappings, modules) = (numbers[0], numbers[1], numbers[2])
  }

  var words: [String] { [busy, mappings, modules].map(String.init) }

  var description: String {
    "beside \(busy) busy threads, \(mappings) mappings, \(modules) modules"
  }

  /// Removes an option and its value from the arguments, if the arguments contain one; returns false if the value is
  /// invalid.
  mutating func take(from arguments: inout [String]) -> Bool {
    let options: [(String, WritableKeyPath<Surroundings, Int32>)] = [
      ("--busy", \.busy), ("--mappings", \.mappings), ("--modules", \.modules),
    ]
    for (name, field) in options {
      guard let index = arguments.firstIndex(of: name) else { continue }
      guard index + 1 < arguments.count, let value = Int32(arguments[index + 1]), value >= 0
      else { return false }
      self[keyPath: field] = value
      arguments.removeSubrange(index...index + 1)
    }
    return true
  }

  /// Makes the threads, mappings and modules in this process; returns false if a system call fails.
  func make(in directory: String) -> Bool {
    guard limit_make_mappings(mappings) == 0 else { return false }
    let libraries = Self.libraries(in: directory)
    for number in 0..<Int(modules) {
      guard dlopen("\(libraries)/\(number).so", RTLD_NOW | RTLD_LOCAL) != nil else { return false }
    }
    return limit_start_busy_threads(busy) == 0
  }

  /// Makes the copies of a small library, one for each module; done once for all victims.
  func prepare() throws {
    guard modules > 0 else { return }
    let directory = Self.libraries(in: FileManager.default.temporaryDirectory.path + "/x")
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    let library = try Data(contentsOf: URL(filePath: String(cString: limit_small_library())))
    for number in 0..<Int(modules) {
      try library.write(to: URL(filePath: "\(directory)/\(number).so"))
    }
  }

  func remove() {
    let directory = Self.libraries(in: FileManager.default.temporaryDirectory.path + "/x")
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// The directory of the copies, next to a victim's directory.
  private static func libraries(in directory: String) -> String {
    URL(filePath: directory).deletingLastPathComponent().path + "/capture-benchmark-modules"
  }
}
