internal import CrashTestSupport
internal import Foundation

/// A module for crash-lab to be called by, without frame pointers and as small as modules come.
public struct LinkedModule: Sendable {
  /// The ways in which an image lies in a file and in memory.
  public enum Layout: String, CaseIterable, Sendable {
    /// Headers, data and code in the file's first page: each mapping begins with the same bytes.
    case lld
    /// Each segment on pages of its own.
    case lldSeparate
    /// Headers, data that cannot be written, and code in one segment.
    case lldWithoutReadOnly
    case gold
    case goldReadOnly
    case bfd
    /// Headers and code in one segment.
    case oneSegment
    /// The lowest address is not 0.
    case highAddress
    /// Of a Swift library.
    case swiftOfLLD
  }

  public let path: String

  public init(_ layout: Layout, in directory: String) async throws {
    path = "\(directory)/\(layout).so"
    let sources = BuiltProducts.packageRoot + "/Examples/CrashLab/Module"
    let linker =
      switch layout {
      case .lld, .swiftOfLLD: ["-fuse-ld=lld"]
      case .lldSeparate: ["-fuse-ld=lld", "-Wl,-z,separate-code"]
      case .lldWithoutReadOnly: ["-fuse-ld=lld", "-Wl,--no-rosegment"]
      case .gold: ["-fuse-ld=gold"]
      case .goldReadOnly: ["-fuse-ld=gold", "-Wl,--rosegment"]
      case .bfd: ["-fuse-ld=bfd"]
      case .highAddress: ["-fuse-ld=bfd", "-Wl,-Ttext-segment=0x200000"]
      case .oneSegment: ["-fuse-ld=bfd", "-Wl,-z,noseparate-code"]
      }
    let command =
      layout == .swiftOfLLD
      ? ["swiftc", "-O", "-g", "-use-ld=lld", "-parse-as-library", "-emit-library"]
        + ["-module-name", "Small", sources + "/module.swift", "-o", path]
      : ["clang", "-shared", "-fPIC", "-O1", "-g", "-fomit-frame-pointer"] + linker
        + [sources + "/module.c", "-o", path]
    let child = try await ChildProcess.run("/usr/bin/env", command, in: directory)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("\(command[0]): \(child.end)\n\(child.standardError)")
    }
  }
}
