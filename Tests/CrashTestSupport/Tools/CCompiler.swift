internal import Foundation

/// The toolchain's compiler for C.
public enum CCompiler {
  /// Compiles and links a source.
  ///
  /// - Parameters:
  ///   - path: the path of the result; the source is written next to it.
  ///   - options: for example `-shared`.
  public static func make(_ path: String, _ source: String, _ options: [String]) async throws {
    try source.write(toFile: path + ".c", atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      "/usr/bin/env", ["clang", "-w", "-o", path, path + ".c"] + options,
      in: URL(fileURLWithPath: path).deletingLastPathComponent().path, patience: 300)
    guard child.end.exitCode == 0 else { throw OutsideToolError("clang: \(child.standardError)") }
  }

  /// Makes a shared library.
  public static func makeLibrary(
    _ path: String, _ source: String, _ options: [String] = []
  ) async throws {
    try await make(path, source, ["-shared", "-fPIC"] + options)
  }
}
