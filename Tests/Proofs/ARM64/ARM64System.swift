import CrashTestSupport
import Foundation

/// Debian's Swift libraries and kernel for arm64, and this package's programs built against them.
///
/// The host's own compiler builds them. It compiles the textual interfaces of Debian's libraries; Foundation and
/// XCTest have none. All files are kept below `.build/arm64`.
actor ARM64System {
  static let shared = ARM64System()

  /// The result of a build of the programs: a directory with the emulated machine's files.
  struct Programs: Sendable {
    let tree: String
    let root: String

    var crashLab: String { tree + "/prog/crash-lab" }
  }

  enum Kernel: Sendable {
    case pages4K, pages16K
  }

  private static let place = BuiltProducts.packageRoot + "/.build/arm64"
  private static let swift = "usr/libexec/swift/lib/swift"
  private static let libraries = "usr/lib/aarch64-linux-gnu"
  private static let triple = "aarch64-unknown-linux-gnu"
  /// The cache of the modules that the compiler builds from the interfaces of Swift's libraries.
  ///
  /// Building them takes half a minute, and all builds share them.
  private static let moduleCache = place + "/modules"

  private var root: Task<String, any Error>?
  private var builds: [String: Task<Programs, any Error>] = [:]

  /// - Throws: `DebianPackage.Missing`.
  func programs(_ configuration: String) async throws -> Programs {
    if let build = builds[configuration] { return try await build.value }
    let root = root ?? Task { try await Self.madeRoot() }
    self.root = root
    let build = Task {
      try await Self.build(configuration, root: try await root.value)
    }
    builds[configuration] = build
    return try await build.value
  }

  /// The path of a kernel's image.
  ///
  /// - Throws: `DebianPackage.Missing`.
  func kernel(_ kernel: Kernel) async throws -> String {
    let root = try await programs("debug").root
    return try Self.kernel(in: kernel == .pages4K ? root : try await Self.unpacked("16k"))
  }

  /// Downloads and unpacks packages outside the root, once.
  private static func unpacked(_ name: String) async throws -> String {
    let packages = try DebianPackage.all(of: name, in: "ARM64/Packages.txt")
    let directory = "\(place)/\(name)-\(DebianPackage.mark(of: packages))"
    if FileManager.default.fileExists(atPath: directory) { return directory }
    let unfinished = directory + ".unfinished"
    try? FileManager.default.removeItem(atPath: unfinished)
    try FileManager.default.createDirectory(atPath: unfinished, withIntermediateDirectories: true)
    for package in packages {
      let file = place + "/" + package.name
      try await package.download(to: file, in: place)
      try await run("/usr/bin/dpkg-deb", ["-x", file, unfinished])
      try FileManager.default.removeItem(atPath: file)
    }
    try FileManager.default.moveItem(atPath: unfinished, toPath: directory)
    return directory
  }

  private static func kernel(in root: String) throws -> String {
    let modules = root + "/usr/lib/modules"
    for version in try FileManager.default.contentsOfDirectory(atPath: modules) {
      let file = "\(modules)/\(version)/vmlinuz"
      if FileManager.default.fileExists(atPath: file) { return file }
    }
    throw OutsideToolError("no kernel in \(modules)")
  }

  /// Downloads and unpacks the packages, once.
  private static func madeRoot() async throws -> String {
    let packages = try DebianPackage.all(of: "root", in: "ARM64/Packages.txt")
    let root = "\(place)/root-\(DebianPackage.mark(of: packages))"
    let mark = root + "/made"
    if FileManager.default.fileExists(atPath: mark) { return root }
    // The directory is from another list of packages, or from an interrupted run.
    try? FileManager.default.removeItem(atPath: place)
    let downloads = place + "/packages"
    try FileManager.default.createDirectory(atPath: downloads, withIntermediateDirectories: true)
    for package in packages {
      try await package.download(to: downloads + "/" + package.name, in: place)
    }
    let toolchain = URL(fileURLWithPath: try Toolchain.path(of: "swiftc"))
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    try await run(
      "/bin/bash",
      [
        BuiltProducts.packageRoot + "/Tests/Proofs/ARM64/prepare.sh", downloads, root, toolchain,
        moduleCache,
      ])
    try FileManager.default.removeItem(atPath: downloads)
    try Data().write(to: URL(fileURLWithPath: mark))
    return root
  }

  private static func build(_ configuration: String, root: String) async throws -> Programs {
    try writeSDK(root)
    let scratch = place + "/build"
    for product in ["crash-lab", "HandlerOnly"] {
      try await run(
        "/usr/bin/env",
        [
          "swift", "build", "--package-path", BuiltProducts.packageRoot, "--scratch-path", scratch,
          "--swift-sdks-path", place + "/sdks", "--swift-sdk", "arm64", "-c", configuration,
          "--product", product, "--disable-index-store",
        ] + flags(configuration))
    }
    return try await tree(configuration, root: root, built: "\(scratch)/\(triple)/\(configuration)")
  }

  /// The compiler's flags.
  ///
  /// A debug build compiles each module as a whole, which takes less processor time; no module is compiled twice
  /// here.
  private static func flags(_ configuration: String) -> [String] {
    let ofDebug = [
      "-whole-module-optimization", "-no-emit-module-separately-wmo", "-num-threads", "2",
    ]
    return
      (["-warnings-as-errors", "-module-cache-path", moduleCache]
      + (configuration == "debug" ? ofDebug : []))
      .flatMap { ["-Xswiftc", $0] } + ["-Xcc", "-Werror"]
  }

  /// Describes the root to the package manager.
  private static func writeSDK(_ root: String) throws {
    let bundle = place + "/sdks/arm64.artifactbundle"
    try FileManager.default.createDirectory(
      atPath: bundle + "/arm64", withIntermediateDirectories: true)
    for (name, text) in [
      (
        "info.json",
        #"{"schemaVersion":"1.0","artifacts":{"arm64":{"type":"swiftSDK","version":"1","variants":"#
          + #"[{"path":"arm64","supportedTriples":["x86_64-unknown-linux-gnu"]}]}}}"#
      ),
      (
        "arm64/swift-sdk.json",
        #"{"schemaVersion":"4.0","targetTriples":{"\#(triple)":{"sdkRootPath":"\#(root)","#
          + #""swiftResourcesPath":"\#(root)/\#(swift)","toolsetPaths":["toolset.json"]}}}"#
      ),
      (
        "arm64/toolset.json",
        #"{"schemaVersion":"1.0","swiftCompiler":{"extraCLIOptions":["-use-ld=lld","-Xfrontend","#
          + #""-module-load-mode","-Xfrontend","prefer-interface"]}}"#
      ),
    ] { try text.write(toFile: "\(bundle)/\(name)", atomically: false, encoding: .utf8) }
  }

  /// The libraries that crash-lab does not need.
  ///
  /// These libraries would double the size of the image, which the emulated machine unpacks.
  private static let unneeded = [
    "libFoundation", "lib_Foundation", "libXCTest", "libTesting", "libswiftRemoteMirror",
    "lib_InternalSwiftStaticMirror",
  ]

  /// Assembles the machine's files: programs, the modules that crash-lab loads, and the libraries that they need.
  private static func tree(
    _ configuration: String, root: String, built: String
  ) async throws -> Programs {
    let tree = "\(place)/tree-\(configuration)"
    try? FileManager.default.removeItem(atPath: tree)
    for directory in [
      "proc", "sys", "dev", "tmp", "etc", "prog", "usr/bin", libraries, swift + "/linux",
    ] {
      try FileManager.default.createDirectory(
        atPath: "\(tree)/\(directory)", withIntermediateDirectories: true)
    }
    for (link, target) in [
      ("lib", "usr/lib"), ("bin", "usr/bin"), ("usr/bin/sh", "busybox"),
      ("usr/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu/ld-linux-aarch64.so.1"),
    ] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(tree)/\(link)", withDestinationPath: target)
    }
    var files = [
      ("\(built)/crash-lab", "prog"), ("\(built)/HandlerOnly", "prog"),
      ("\(root)/usr/bin/busybox", "usr/bin"),
    ]
    for name in [
      "ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6",
    ] {
      files.append(("\(root)/\(libraries)/\(name)", libraries))
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(swift)/linux")
    where name.hasSuffix(".so") && !unneeded.contains(where: name.hasPrefix) {
      files.append(("\(root)/\(swift)/linux/\(name)", swift + "/linux"))
    }
    for (file, directory) in files {
      let path = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
      let name = URL(fileURLWithPath: file).lastPathComponent
      try FileManager.default.copyItem(atPath: path, toPath: "\(tree)/\(directory)/\(name)")
    }
    for module in ["module", "resolver"] {
      try await run(
        try Toolchain.path(of: "clang"),
        [
          "--target=" + triple, "--sysroot=" + root, "-fuse-ld=lld", "-shared", "-fPIC", "-O1",
          "-g",
          "\(BuiltProducts.packageRoot)/Examples/CrashLab/Module/\(module).c",
          "-o", "\(tree)/prog/\(module).so",
        ])
    }
    return Programs(tree: tree, root: root)
  }

  private static func run(_ tool: String, _ arguments: [String]) async throws {
    let child = try await ChildProcess.run(tool, arguments, in: place, patience: 1500)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError(
        "\(tool) \(arguments.first ?? ""): \(child.end)\n"
          + "\(child.standardOutput.suffix(3000))\(child.standardError.suffix(3000))")
    }
  }
}
