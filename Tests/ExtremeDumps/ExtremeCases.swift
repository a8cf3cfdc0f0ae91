internal import Foundation

/// Generates the dumps of all seeds, and reads, shows and writes each of them.
struct ExtremeCases {
  private let directory: String
  private let module: ModuleFile
  private let samples: [[UInt8]]

  /// The limit of CPU time for one dump, in seconds.
  private static let patience = 20

  /// - Parameters:
  ///   - directory: a directory for the file with the seed and for a module.
  ///   - samples: a directory of real dumps.
  init(directory: String, samples: String?) throws {
    self.directory = directory
    module = try ModuleFile(in: directory)
    let names = try samples.map { try FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
    self.samples = try names.sorted().map { name in
      Array(try Data(contentsOf: URL(fileURLWithPath: "\(samples ?? "")/\(name)")))
    }
  }

  func bytes(of seed: UInt64) -> [UInt8] {
    switch seed % 10 {
    case 8: return ExtremeCore.bytes(seed: seed, module: module)
    case 9: return Mutation.mutated(ExtremeCore.bytes(seed: seed, module: module), seed: seed)
    case 0...2: return ExtremeDump.bytes(seed: seed, module: module)
    case 3...4: return ExtremeMinidump.bytes(seed: seed, module: module)
    case 5: return Mutation.mutated(ExtremeDump.bytes(seed: seed, module: module), seed: seed)
    case 6: return Mutation.mutated(ExtremeMinidump.bytes(seed: seed, module: module), seed: seed)
    default:
      // A real dump takes a hundred times as long.
      guard !samples.isEmpty, seed / 10 % 8 == 0 else {
        return Mutation.mutated(ExtremeDump.bytes(seed: seed, module: module), seed: seed)
      }
      return Mutation.mutated(samples[Int(seed / 80 % UInt64(samples.count))], seed: seed)
    }
  }

  /// Runs all seeds; returns the total size of the reports in bytes.
  func run(_ seeds: Range<UInt64>) throws -> Int {
    let path = directory + "/seed"
    let descriptor = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFailure(call: "open", errno: errno) }
    defer { close(descriptor) }
    var way = WholeWay(directory: directory)
    for seed in seeds {
      unsafe withUnsafeBytes(of: seed) { _ = unsafe pwrite(descriptor, $0.baseAddress, 8, 0) }
      // The timer's signal ends the process; the file then contains the seed.
      var limit = itimerval()
      limit.it_value.tv_sec = Self.patience
      unsafe setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &limit, nil)
      try way.go(bytes(of: seed))
    }
    return way.size
  }
}
