internal import Foundation
public import Testing

/// A program or library that some tests need and the toolchain does not contain.
public enum OutsideTool: String, Sendable {
  case gdb
  /// Reads core files of other processors.
  case multiarchGDB = "gdb-multiarch"
  /// A program of binutils.
  case objcopy
  case lldb = "lldb-19"
  case strace
  case python3
  case openssl
  /// A shell with job control.
  case bash
  /// The pager that the command uses by default.
  case less
  /// The pager of util-linux.
  case more
  /// A program of systemd, which only reads files here.
  case systemdAnalyze = "systemd-analyze"
  /// Runs a program of another architecture.
  case arm64Emulator = "qemu-aarch64"
  /// Runs a whole arm64 machine.
  case arm64Machine = "qemu-system-aarch64"
  /// Makes the archive of files with which such a machine boots.
  case cpio
  /// Runs a program for x86_64, even on an x86_64 machine.
  case ownEmulator = "qemu-x86_64"
  /// A header of libc for arm64.
  case arm64Headers = "/usr/aarch64-linux-gnu/include/ucontext.h"
  /// The compiler's own library for arm64.
  case arm64Compiler = "/usr/lib/gcc-cross/aarch64-linux-gnu/12/libgcc.a"
  /// The Python of an environment with Sentry's schema.
  case sentryRelay = ".build/tools/sentry-relay/bin/python"
  /// The Python of an environment with a server that implements Sentry's protocol.
  case bugsink = ".build/tools/bugsink/bin/python"
  /// A file system without FIFOs, links and modes, and the program that creates it.
  case exfatMount = "mount.exfat-fuse"
  case exfatMake = "mkfs.exfat"
  /// Compiles a class for the Java virtual machine into the same directory.
  case javac
  /// Libraries to preload.
  case jemalloc = "libjemalloc.so.2"
  case tcmalloc = "libtcmalloc_minimal.so.4"

  /// The path; nil if the tool is not installed.
  public var path: String? {
    if rawValue.hasPrefix("/") {
      return FileManager.default.fileExists(atPath: rawValue) ? rawValue : nil
    }
    if rawValue.hasPrefix(".build/") {
      let path = BuiltProducts.packageRoot + "/" + rawValue
      return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }
    if rawValue.contains(".so") { return libraryPath }
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return directories.map { "\($0)/\(rawValue)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// True if the tool inspects other processes, which `swift test` does not do.
  var isDebugger: Bool { [.gdb, .multiarchGDB, .lldb, .strace].contains(self) }

  private var libraryPath: String? {
    let directories = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
    return directories.filter { $0.hasSuffix("-linux-gnu") }.map { "/usr/lib/\($0)/\(rawValue)" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }

  /// The Debian package that contains the tool.
  var package: String {
    switch self {
    case .objcopy: "binutils"
    case .systemdAnalyze: "systemd"
    case .arm64Emulator, .ownEmulator: "qemu-user"
    case .arm64Machine: "qemu-system-arm"
    case .arm64Headers: "libc6-dev-arm64-cross"
    case .arm64Compiler: "libgcc-12-dev-arm64-cross"
    case .sentryRelay, .bugsink: "python3-venv, and what .ci/run then gets from PyPI"
    case .exfatMount: "exfat-fuse"
    case .exfatMake: "exfatprogs"
    case .more: "util-linux"
    case .javac: "openjdk-17-jdk-headless"
    case .jemalloc: "libjemalloc2"
    case .tcmalloc: "libtcmalloc-minimal4"
    default: rawValue
    }
  }

  /// True if a missing tool must fail a test instead of skipping it.
  public static var mustBeThere: Bool { ProcessInfo.processInfo.environment["CI"] == "true" }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test if a program is missing, naming the Debian package; with CI=true the test runs and fails.
  public static func needs(_ tool: OutsideTool) -> Self {
    .enabled("apt-get install \(tool.package)") {
      if tool.isDebugger { try Door.requireProofs(tool.rawValue) }
      return tool.path != nil || OutsideTool.mustBeThere
    }
  }
}

/// An outside program that is missing or has failed.
public struct OutsideToolError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
