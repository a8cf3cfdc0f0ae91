import CrashCatalogue
import CrashTestSupport
import Foundation

/// An emulated arm64 machine with a real kernel: it boots, runs crash-lab once for each case, and copies the
/// results to the host.
struct ARM64Machine: Sendable {
  struct Case: Sendable {
    let testCase: CatalogueCase
    /// False if the test already knows which signal ends the program, and skips the run without the handler to
    /// save time.
    let runsAlone: Bool
    let wantsCore: Bool
  }

  /// The results of one case.
  struct Result: Sendable {
    let testCase: CatalogueCase
    let directory: String
    let wantsCore: Bool
    /// The exit code as a shell reports it, which is 128 plus the signal's number; nil if the case was not run alone.
    let endAlone: Int?
    let end: Int

    var database: String { directory + "/database" }
    var standardError: String { Self.text(directory + "/handled/err") }

    static func text(_ path: String) -> String {
      String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
  }

  let programs: ARM64System.Programs
  let kernel: String
  /// The name of a processor, and its options, as qemu knows them.
  var processor = "cortex-a76"
  /// The thread counts of the crashes whose system calls are counted.
  var counts: [Int] = []
  /// Other runs of crash-lab: its arguments, by the name of a directory below `scenes`.
  var scenes: [String: [String]] = [:]

  /// - Parameter directory: the directory for the results.
  func run(_ cases: [Case], in directory: String) async throws -> [Result] {
    let list = cases.enumerated().map { index, testCase in
      let arguments = testCase.testCase.arguments.joined(separator: " ")
      return "\(index) \(testCase.runsAlone ? 1 : 0) \(testCase.wantsCore ? 1 : 0) \(arguments)\n"
    }
    try list.joined().write(toFile: directory + "/cases", atomically: false, encoding: .utf8)
    try counts.map { "\($0)\n" }.joined().write(
      toFile: directory + "/counts", atomically: false, encoding: .utf8)
    try scenes.map { "\($0) \($1.joined(separator: " "))\n" }.sorted().joined().write(
      toFile: directory + "/scenes", atomically: false, encoding: .utf8)
    let image = directory + "/image.cpio"
    // The kernel accepts two concatenated archives as one image.
    try await shell(
      """
      cd '\(programs.tree)' && find . | cpio -o -H newc --quiet > '\(image)' && cd '\(directory)' &&
      cp '\(BuiltProducts.packageRoot)/Tests/Proofs/ARM64/init.sh' init && chmod 755 init &&
      printf 'init\\ncases\\ncounts\\nscenes\\n' | cpio -o -H newc --quiet >> '\(image)'
      """, in: directory)
    let archive = directory + "/results.tar"
    let machine = try await ChildProcess.run(
      try path(of: .arm64Machine),
      [
        "-M", "virt", "-cpu", processor, "-smp", "2", "-m", "4G", "-accel", "tcg,thread=multi",
        "-nographic", "-nodefaults", "-no-reboot", "-serial", "file:\(directory)/log",
        "-kernel", kernel, "-initrd", image, "-append", "console=ttyAMA0 quiet panic=-1",
        "-device", "virtio-serial-pci", "-chardev", "file,id=results,path=\(archive)",
        "-device", "virtserialport,chardev=results,name=results",
      ], in: directory, patience: 7200)
    let results = directory + "/results"
    try FileManager.default.createDirectory(atPath: results, withIntermediateDirectories: true)
    do {
      try await shell(
        "tar -xf '\(archive)' -C '\(results)' && rm '\(archive)' '\(image)'", in: directory)
    } catch {
      throw OutsideToolError(
        "\(error)\n\(machine.end) \(machine.standardError)\n"
          + Result.text(directory + "/log").suffix(2000))
    }
    return try cases.enumerated().map { index, testCase in
      let place = "\(results)/\(index)"
      func end(_ name: String) throws -> Int {
        let text = Result.text("\(place)/\(name)/end").trimmingCharacters(
          in: .whitespacesAndNewlines)
        guard let end = Int(text) else {
          throw OutsideToolError("no end of \(testCase.testCase): \(text)")
        }
        return end
      }
      return Result(
        testCase: testCase.testCase, directory: place, wantsCore: testCase.wantsCore,
        endAlone: testCase.runsAlone ? try end("alone") : nil, end: try end("handled"))
    }
  }

  private func path(of tool: OutsideTool) throws -> String {
    guard let path = tool.path else { throw OutsideToolError("no \(tool.rawValue)") }
    return path
  }

  private func shell(_ script: String, in directory: String) async throws {
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", script], in: directory, patience: 300)
    guard child.end.exitCode == 0 else { throw OutsideToolError("\(child)") }
  }
}
