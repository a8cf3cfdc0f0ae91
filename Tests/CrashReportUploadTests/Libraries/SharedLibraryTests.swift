import CrashTestSupport
import Glibc
import Testing

@testable import CrashReportUpload

/// What the dynamic linker reads in a library's file.
@Suite struct SharedLibraryTests {
  private let directory: SharedDirectory

  init() throws { directory = try SharedDirectory() }

  private func make(
    _ name: String, _ source: String, _ options: [String] = []
  ) async throws -> SharedLibrary {
    let path = directory.path + "/" + name
    try await CCompiler.makeLibrary(path, source, options)
    return try #require(SharedLibrary(path: path))
  }

  /// The names of a library's references that begin with `test_`, with their versions.
  private func references(_ library: SharedLibrary) -> [String] {
    library.references.map { index in
      library.name(of: index) + (library.version(of: index).map { "@" + $0 } ?? "")
    }.filter { $0.hasPrefix("test_") }.sorted()
  }

  /// The names that a library defines and that begin with `test_`, with their versions.
  private func definitions(_ library: SharedLibrary) -> [String] {
    library.definitions.map { $0.name + ($0.version.map { "@" + $0 } ?? "") }
      .filter { $0.hasPrefix("test_") }.sorted()
  }

  @Test func namesThatAreBoundWithTheirVersions() async throws {
    try directory.put(Array("V1 { global: test_old; }; V2 { global: test_new; } V1;".utf8), "map")
    let needed = try await make(
      "libneeded.so.1",
      "int test_old() { return 1; } int test_new() { return 2; } int test_more() { return 3; }",
      ["-Wl,-soname,libneeded.so.1", "-Wl,--version-script=\(directory.path)/map"])
    #expect(definitions(needed) == ["test_more", "test_new@V2", "test_old@V1"])
    let user = try await make(
      "libuser.so",
      """
      int test_old(); int test_new();
      int test_own() { return 4; }
      static int test_static() { return 5; }
      __attribute__((visibility("protected"))) int test_protected() { return 6; }
      int test_unused() { return 7; }
      __thread int test_thread;
      int user() { return test_old() + test_new() + test_own() + test_static() + test_protected() + test_thread; }
      """, [directory.path + "/libneeded.so.1", "-Wl,-rpath,$ORIGIN/x:/y"])
    // A function that the library itself defines can be replaced by the program, too.
    #expect(references(user) == ["test_new@V2", "test_old@V1", "test_own"])
    #expect(user.needed.contains("libneeded.so.1"))
    #expect(user.runPath == [directory.path + "/x", "/y"] && user.rPath.isEmpty)
    let symbolic = try await make(
      "libsymbolic.so", "int test_own() { return 4; } int user() { return test_own(); }",
      ["-Wl,-Bsymbolic"])
    #expect(references(symbolic) == [])
  }

  /// The program has a copy of the variable, and a stub that has the address of the function.
  @Test func aProgramThatUsesALibraryDoesNotDefineItsNames() async throws {
    try await CCompiler.makeLibrary(
      directory.path + "/libdata.so",
      "int test_variable = 1; int test_function() { return 2; } int test_other() { return 3; }")
    let path = directory.path + "/program"
    try await CCompiler.make(
      path,
      """
      extern int test_variable; int test_function(); int test_other() { return 4; }
      void *volatile taken = test_function;
      int main() { return test_variable + test_other(); }
      """, ["-no-pie", "-fno-pic", "-Wl,--export-dynamic", directory.path + "/libdata.so"])
    let program = try #require(SharedLibrary(path: path))
    #expect(definitions(program) == ["test_other"])
  }

  /// A library that is loaded already may bind its names later, so a later plugin can come first unless they are global.
  @Test func bindingsAreKeptUnlessAnotherCallerHasLoadedALibraryForItself() async throws {
    _ = try await make("libkept.so", "int test_kept() { return 1; }")
    let path = directory.path + "/libkept.so"
    #expect(try LibraryClosure(of: path).keepsBindings)
    let library = try unsafe #require(dlopen(path, RTLD_LAZY | RTLD_LOCAL))
    defer { unsafe dlclose(library) }
    #expect(try !LibraryClosure(of: path).keepsBindings)
    let global = try unsafe #require(dlopen(path, RTLD_LAZY | RTLD_GLOBAL))
    defer { unsafe dlclose(global) }
    #expect(try LibraryClosure(of: path).keepsBindings)
  }

  @Test func theClosureOfLibcurlIsWhatTheDynamicLinkerLoads() async throws {
    let closure = try LibraryClosure(of: "libcurl.so.4")
    let list = try await ChildProcess.run(
      "/usr/bin/env", ["ldd", closure.library.path], in: directory.path)
    let loaded = list.standardOutput.matches(of: /=> (\S+)/).map { String($0.1) }
    try #require(list.end.exitCode == 0 && !loaded.isEmpty)
    #expect(Set(closure.paths).isSubset(of: loaded + [closure.library.path]))
    #expect(closure.paths.count > loaded.count / 2)
    #expect(throws: Never.self) { try closure.checkBindings() }
    #expect(throws: LibraryObstacle.missing("libno-such-library.so.4")) {
      _ = try LibraryClosure(of: "libno-such-library.so.4")
    }
  }
}
