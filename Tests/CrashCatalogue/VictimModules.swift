internal import CrashTestSupport
internal import Foundation

/// Modules for crash-lab to load, built with the toolchain's clang.
public final class VictimModules: Sendable {
  /// The path of a shared object.
  package let module: String
  /// The path of a module whose IFUNC resolver calls the program before the module is fully linked.
  let resolver: String
  /// A directory with copies of the module as separate files, because the loader identifies a module by its inode.
  public let directory: String
  private let temporary: TemporaryDirectory

  public init(copies: Int = 2000) async throws {
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
    for number in 0..<copies {
      try FileManager.default.copyItem(atPath: module, toPath: "\(directory)/\(number).so")
    }
  }
}
