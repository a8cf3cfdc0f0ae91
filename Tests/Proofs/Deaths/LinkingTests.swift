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
    try await LinkedProgram.compile(
      Self.pluginSource, ["-emit-library", "-o", library], in: directory)
    let source = directory.path + "/host.c"
    try Self.hostSource.write(toFile: source, atomically: false, encoding: .utf8)
    let host = directory.path + "/host"
    try await LinkedProgram.run("clang", [source, "-o", host], in: directory)
    let alone = try await die([host, library], in: directory)
    let handled = try await die([host, library, victim.database], in: directory)
    #expect(alone.end.signal == 11)
    #expect(handled.end == alone.end)
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines[0].tellsAWholeDump, "\(lines)")
  }

  @Test(.enabled("needs the toolchain's static libraries") { LinkedProgram.isStaticPossible })
  func aStaticExecutableEndsAsAloneWithAReport() async throws {
    let victim = try await Victim(.asTested)
    let directory = try TemporaryDirectory()
    let program = directory.path + "/program"
    try await LinkedProgram.compile(
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
    .enabled("needs the toolchain's static libraries") { LinkedProgram.isStaticPossible },
    arguments: [
      (imported: "CrashHandler", bare: "print(getpid())"),
      (imported: "PostmortemHandler", bare: "Task { print(getpid()) }; dispatchMain()"),
    ])
  func theHandlerAddsUnder1_7MiBToAStaticExecutable(_ imported: String, _ bare: String)
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
    let modules = LinkedProgram.modules.filter {
      imported == "PostmortemHandler" || $0 != "HangDetection" && $0 != "PostmortemHandler"
    }
    let options = [
      "-O", "-static-stdlib", "-Xlinker", "--gc-sections", "-Xlinker", "-s", "-o",
    ]
    var sizes: [Int] = []
    for (source, modules) in [(alone, []), (started, modules)] {
      let program = directory.path + "/program-\(modules.count)"
      try await LinkedProgram.compile(
        source, options + [program], with: modules, of: products, in: directory)
      let attributes = try FileManager.default.attributesOfItem(atPath: program)
      sizes.append(try #require(attributes[.size] as? Int))
    }
    // The toolchain exports every public and package symbol of a static program, so the linker keeps them and all
    // code that they call.
    #expect(sizes[1] - sizes[0] < 1_782_579, "\(imported): \(sizes)")
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
      guard sigismember(&before, SIGABRT) == 1, kill(getpid(), SIGABRT) == 0 else { exit(65) }
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
