internal import CrashTestSupport
internal import Foundation

/// Modules for crash-lab to load, built with the toolchain's clang.
public final class VictimModules: Sendable {
  /// A shared object's path.
  package let module: String
  /// The path of one that comes to the program before it is linked.
  let resolver: String
  /// A directory of 2,000 copies of it, made as files of their own: the loader knows a module by its inode.
  package let directory: String
  private let temporary: TemporaryDirectory

  public init() async throws {
    temporary = try TemporaryDirectory()
    module = temporary.path + "/module.so"
    resolver = temporary.path + "/resolver.so"
    directory = try temporary.subdirectory("copies")
    for (name, path) in [("module", module), ("resolver", resolver)] {
      let source = BuiltProducts.packageRoot + "/Examples/CrashLab/Module/\(name).c"
      let clang = try await ChildProcess.run(
        "/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-g", source, "-o", path],
        in: temporary.path)
      guard clang.end.exitCode == 0 else {
        throw OutsideToolError("clang: \(clang.end)\n\(clang.standardError)")
      }
    }
    for number in 0..<2000 {
      try FileManager.default.copyItem(atPath: module, toPath: "\(directory)/\(number).so")
    }
  }
}
