internal import Foundation

#if FUZZING
  internal import CLibFuzzer
#endif

/// Runs a target on files; in a build with libFuzzer, on the inputs that libFuzzer generates.
enum Fuzzer {
  /// Reads each file once, which does not need libFuzzer.
  ///
  /// - Parameter paths: files, or directories of files.
  ///
  /// - Returns: the number of files.
  static func read(_ paths: [String], target: FuzzTarget, directory: String) throws -> Int {
    var reader = try FuzzReader(target, directory: directory)
    var count = 0
    for path in paths {
      var isDirectory: ObjCBool = false
      let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
      let names =
        exists && isDirectory.boolValue
        ? try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { "\(path)/\($0)" }
        : [path]
      for name in names {
        try reader.read(Array(try Data(contentsOf: URL(fileURLWithPath: name))))
        count += 1
      }
    }
    return count
  }

  /// Reads the initial inputs of a corpus with the changes of `Mutation`, for campaigns without libFuzzer.
  ///
  /// - Returns: the total size of the results in bytes.
  static func mutate(
    _ target: FuzzTarget, seeds: Range<UInt64>, directory: String
  ) throws -> Int {
    var reader = try FuzzReader(target, directory: directory)
    let inputs = try FuzzSeeds.made(target)
    for seed in seeds {
      try reader.read(Mutation.mutated(inputs[Int(seed % UInt64(inputs.count))], seed: seed))
    }
    return reader.size
  }
}

#if FUZZING
  /// The reader of the target that the environment variable names.
  nonisolated(unsafe) private var reader: FuzzReader = {
    let name = ProcessInfo.processInfo.environment["POSTMORTEM_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name),
      let reader = try? FuzzReader(target, directory: ".")
    else { fatalError("POSTMORTEM_FUZZ_TARGET names no target: '\(name)'") }
    return reader
  }()

  /// The function that libFuzzer calls with each input.
  @c(LLVMFuzzerTestOneInput)
  func fuzzerInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    do {
      try unsafe reader.read(bytes)
    } catch {
      fatalError("\(error)")
    }
    return 0
  }

  /// Changes the fields of an input according to its format, or arbitrary bytes as libFuzzer does.
  @c(LLVMFuzzerCustomMutator)
  func fuzzerMutation(
    _ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ capacity: Int, _ seed: UInt32
  ) -> Int {
    guard seed & 1 == 0 else { return unsafe LLVMFuzzerMutate(data, size, capacity) }
    let old = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    let new = Mutation.mutated(old, seed: UInt64(seed)).prefix(capacity)
    for (index, byte) in new.enumerated() { unsafe data[index] = byte }
    return new.count
  }
#endif
