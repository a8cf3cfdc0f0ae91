import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// The handler in programs that are not linked as SwiftPM links an executable.
@Suite struct LinkingTests {
  /// If the host closes the plugin that started the handler, the handler stays installed.
  @Test func aPluginThatStartsTheHandlerStaysWhenItsHostClosesIt() async throws {
    let victim = try await Victim(.asTested)
    let directory = try TemporaryDirectory()
    let library = directory.path + "/plugin.so"
    try await compile(Self.pluginSource, ["-emit-library", "-o", library], in: directory)
    let source = directory.path + "/host.c"
    try Self.hostSource.write(toFile: source, atomically: false, encoding: .utf8)
    let host = directory.path + "/host"
    try await run("clang", [source, "-o", host], in: directory)
    let alone = try await die([host, library], in: directory)
    let handled = try await die([host, library, victim.database], in: directory)
    #expect(alone.end.signal == 11)
    #expect(handled.end == alone.end)
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines[0].tellsAWholeDump, "\(lines)")
  }

  @Test(.enabled("needs the toolchain's static libraries") { isStaticPossible })
  func aStaticExecutableEndsAsAloneWithAReport() async throws {
    let victim = try await Victim(.asTested)
    let directory = try TemporaryDirectory()
    let program = directory.path + "/program"
    try await compile(
      Self.programSource,
      ["-static-executable", "-Xlinker", "-u", "-Xlinker", "__pthread_create", "-o", program],
      in: directory)
    let kinds = [
      "fault": 11, "abort": 6, "trap": 4, "worker": 4, "overflow": 11, "blocked": 11,
    ]
    for (kind, signal) in kinds {
      let alone = try await die([program, kind], in: directory)
      let handled = try await die([program, kind, victim.database], in: directory)
      #expect(alone.end.signal == Int32(signal), "\(kind)")
      #expect(handled.end == alone.end, "\(kind)")
    }
    let lines = try await victim.process()
    #expect(lines.count == kinds.count)
    #expect(lines.allSatisfy { $0.tellsAWholeDump }, "\(lines)")
    let snapshots = try victim.reports().map(Victim.snapshot(of:))
    #expect(snapshots.allSatisfy { $0.modules.contains { $0.path == program } })
  }

  /// The size that the handler adds to a static program.
  ///
  /// The product includes hang detection, and with it Dispatch and Concurrency, which a server has anyway.
  @Test(
    .enabled("needs the toolchain's static libraries") { isStaticPossible },
    arguments: [
      (imported: "CrashHandler", bare: "print(getpid())"),
      (imported: "PostmortemHandler", bare: "Task { print(getpid()) }; dispatchMain()"),
    ])
  func theHandlerAddsUnder1_5MiBToAStaticExecutable(_ imported: String, _ bare: String)
    async throws
  {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("HandlerOnlyVictim", .release)
    let products = URL(fileURLWithPath: victim).deletingLastPathComponent().path
    let beside = bare.contains("dispatch") ? "import Dispatch\n" : ""
    let alone = "import Glibc\n\(beside)\(bare)"
    let started =
      "import Glibc\n\(beside)import \(imported)\n"
      + "try startHandler(database: CommandLine.arguments[1])\n\(bare)"
    let modules = Self.modules.filter {
      imported == "PostmortemHandler" || $0 != "HangDetection" && $0 != "PostmortemHandler"
    }
    let options = [
      "-O", "-static-stdlib", "-Xlinker", "--gc-sections", "-Xlinker", "-s", "-o",
    ]
    var sizes: [Int] = []
    for (source, modules) in [(alone, []), (started, modules)] {
      let program = directory.path + "/program-\(modules.count)"
      try await compile(
        source, options + [program], with: modules, of: products, in: directory)
      let attributes = try FileManager.default.attributesOfItem(atPath: program)
      sizes.append(try #require(attributes[.size] as? Int))
    }
    // The toolchain exports every public and package symbol of a static program, so the linker keeps them and all
    // code that they call.
    #expect(sizes[1] - sizes[0] < 3 << 19, "\(imported): \(sizes)")
  }

  private static let isStaticPossible: Bool = {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    guard
      let swift = directories.map({ "\($0)/swiftc" })
        .first(where: FileManager.default.isExecutableFile(atPath:))
    else { return false }
    // The libraries are next to the directory of programs.
    let root = URL(fileURLWithPath: swift).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent()
    return FileManager.default.fileExists(atPath: root.path + "/lib/swift_static")
  }()

  // MARK: - Building

  private static let modules = [
    "CSignalSafe", "IntermediateDump", "PendingDumps", "CrashHandler", "HangDetection",
    "CProcessEnds", "CSignalMasks",
    "CThreadStacks", "PostmortemHandler",
  ]

  /// Compiles and links one source with the objects of modules.
  ///
  /// - Parameter products: the directory of a build; nil for the one that the tests were built with.
  private func compile(
    _ source: String, _ options: [String], with modules: [String] = Self.modules,
    of products: String? = nil, in directory: borrowing TemporaryDirectory
  ) async throws {
    let path = directory.path + "/main.swift"
    try source.write(toFile: path, atomically: false, encoding: .utf8)
    let products =
      try products
      ?? URL(fileURLWithPath: try BuiltProducts.besideTests("crash-lab"))
      .deletingLastPathComponent().path
    var arguments = ["-module-name", "Program", path, "-I", products + "/Modules"] + options
    for module in modules {
      let objects = "\(products)/\(module).build"
      let map = objects + "/module.modulemap"
      if FileManager.default.fileExists(atPath: map) {
        arguments += ["-Xcc", "-fmodule-map-file=" + map]
      }
      // An object file remains when its source is moved or deleted.
      let sources = (try? String(contentsOfFile: objects + "/sources", encoding: .utf8)) ?? ""
      let kept = Set(sources.split(separator: "\n").compactMap { $0.split(separator: "/").last })
      arguments += try FileManager.default.subpathsOfDirectory(atPath: objects)
        .filter {
          $0.hasSuffix(".o") && (!$0.hasSuffix(".swift.o") || kept.contains($0.dropLast(2)))
        }
        .sorted().map { "\(objects)/\($0)" }
    }
    try await run("swiftc", arguments, in: directory)
  }

  private func run(
    _ tool: String, _ arguments: [String], in directory: borrowing TemporaryDirectory
  ) async throws {
    let child = try await ChildProcess.run(
      "/usr/bin/env", [tool] + arguments, in: directory.path, patience: 300)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("\(tool): \(child.end)\n\(child.standardOutput)\(child.standardError)")
    }
  }

  private func die(
    _ command: [String], in directory: borrowing TemporaryDirectory
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      command[0], Array(command.dropFirst()), in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  private static let pluginSource = """
    import PostmortemHandler

    @_cdecl("plugin_start")
    public func start(_ database: UnsafePointer<CChar>) -> Int32 {
      (try? startHandler(database: String(cString: database))) == nil ? 1 : 0
    }
    """

  private static let hostSource = """
    #include <dlfcn.h>
    int main(int count, char **arguments) {
      void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
      if (!plugin) return 70;
      int (*start)(const char *) = (int (*)(const char *))dlsym(plugin, "plugin_start");
      if (!start || (count > 2 && start(arguments[2]) != 0)) return 71;
      if (dlclose(plugin) != 0) return 72;
      *(volatile int *)0 = 1;
      return 3;
    }
    """

  private static let programSource = """
    import Dispatch
    import Glibc
    import PostmortemHandler

    if CommandLine.arguments.count > 2 { try startHandler(database: CommandLine.arguments[2]) }

    func recurse(_ depth: Int) -> Int { depth < 0 ? 0 : recurse(depth + 1) + 1 }

    switch CommandLine.arguments[1] {
    case "fault": UnsafeMutablePointer<Int>(bitPattern: 8)!.pointee = 1
    case "abort": abort()
    case "trap": fatalError("static")
    case "worker":
      DispatchQueue.global().async { fatalError("static, on a worker") }
      while true { pause() }
    case "overflow": print(recurse(0))
    case "blocked":
      var set = sigset_t()
      var before = sigset_t()
      sigfillset(&set)
      sigprocmask(SIG_SETMASK, &set, nil)
      pthread_sigmask(SIG_BLOCK, nil, &before)
      guard sigismember(&before, SIGSEGV) == 1, kill(getpid(), SIGABRT) == 0 else { exit(65) }
      var pending = sigset_t()
      sigpending(&pending)
      guard sigismember(&pending, SIGABRT) == 1 else { exit(66) }
      var words: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
      var child = pid_t()
      var status: Int32 = 0
      guard posix_spawnp(&child, "true", nil, nil, words, environ) == 0,
        waitpid(child, &status, 0) == child, status == 0
      else { exit(67) }
      words[0] = strdup("false")
      guard posix_spawn(&child, "/bin/false", nil, nil, words, environ) == 0,
        waitpid(child, &status, 0) == child, status == 256
      else { exit(68) }
      guard execvp("a program that is not there", words) == -1, errno == ENOENT,
        execv("/a program", words) == -1, errno == ENOENT
      else { exit(69) }
      UnsafeMutablePointer<Int>(bitPattern: 8)!.pointee = 1
    default: exit(64)
    }
    """
}
