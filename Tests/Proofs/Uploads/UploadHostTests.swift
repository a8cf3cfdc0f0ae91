import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Programs that export names of the libraries that libcurl needs end as without an uploader, and say why nothing is
/// uploaded; other programs upload.
@Suite(.needs(.python3))
struct UploadHostTests {
  private let host: UploadHost

  init() throws { host = try UploadHost() }

  /// Links the uploading program with an object that is made from C.
  private func link(_ source: String, _ options: [String]) async throws -> String {
    let object = host.directory + "/exports.o"
    try await CCompiler.make(object, source, ["-c", "-fPIC"])
    let product = try BuiltProducts.besideTests("UploadingVictim")
    let program = host.directory + "/program"
    let child = try await ChildProcess.run(
      "/usr/bin/env",
      [
        // The driver writes program.autolink beside the first object: it must be the object of this test.
        "swiftc", "-o", program, object, "@\(product).product/Objects.LinkFileList", "-Xlinker",
        "--defsym=main=UploadingVictim_main",
      ] + options, in: host.directory, patience: 600)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return program
  }

  private func library(_ name: String, _ source: String, _ options: [String] = []) async throws
    -> String
  {
    let path = host.directory + "/" + name
    try await CCompiler.makeLibrary(path, source, options)
    return path
  }

  private func expectUpload(
    _ program: String? = nil, _ environment: [String: String] = [:]
  ) async throws {
    let count = try host.server.forms.count
    if count > 0 { try host.uploads.addReport() }
    let child = try await host.run(program, environment: environment)
    #expect(child.end.exitCode == 7 && child.standardOutput.hasPrefix("uploaded: "), "\(child)")
    #expect(child.standardOutput.contains("status: the crash handler is in place"), "\(child)")
    #expect(try host.server.forms.count == count + 1)
  }

  private func expectRefusal(
    _ program: String? = nil, _ environment: [String: String] = [:], by file: String
  ) async throws {
    let count = try host.server.forms.count
    if count > 0 { try host.uploads.addReport() }
    let child = try await host.run(program, environment: environment)
    #expect(child.end.exitCode == 7 && child.standardOutput.hasPrefix("failed: "), "\(child)")
    #expect(
      child.standardOutput.contains(/status: libcurl is not loaded, .*, which exports that name/),
      "\(child)")
    #expect(child.standardOutput.contains(" in \(file), which"), "\(child)")
    #expect(try host.server.forms.count == count)
  }

  @Test(arguments: [
    UploadHost.openSSL, ["crc32", "deflate", "inflate"], ["crc32"], ["EVP_MD_fetch"],
    ["nghttp2_session_send"], ["curl_easy_init", "curl_free"],
  ])
  func aProgramThatExportsNames(_ names: [String]) async throws {
    let program = try await link(
      UploadHost.source(defining: names), ["-Xlinker", "--export-dynamic"])
    try await expectRefusal(program, by: program)
    // Another process uploads what the program cannot.
    let tool = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"),
      ["upload", host.uploads.database.path, "--url", host.server.url("ok")], in: host.directory)
    #expect(tool.end.exitCode == 0, "\(tool)")
    let report = try host.uploads.report(host.report)
    #expect(report.state == .completed && report.upload.note.isEmpty)
  }

  /// The names are in the program, but no library can use them.
  @Test func aProgramThatHidesNamesUploads() async throws {
    let program = try await link(UploadHost.source(defining: UploadHost.openSSL + ["crc32"]), [])
    try await expectUpload(program)
  }

  @Test func preloadedAndGlobalNamesWithOtherVersions() async throws {
    try host.uploads.directory.put(Array("OPENSSL_1_1_0 { global: *; };".utf8), "map")
    let source = UploadHost.source(defining: UploadHost.openSSL)
    let other = try await library(
      "libcrypto.so.1.1", source, ["-Wl,--version-script=\(host.directory)/map"])
    try await expectUpload(nil, ["LD_PRELOAD": other])
    // The dynamic linker passes over the names with another version, and takes those without one.
    let plain = try await library("plain.so", source)
    try await expectRefusal(
      nil, ["LD_PRELOAD": other, "UPLOADING_VICTIM_GLOBAL": plain], by: plain)
    try await expectUpload(nil, ["LD_PRELOAD": other, "UPLOADING_VICTIM_LOCAL": ""])
  }

  @Test(.needs(.jemalloc), .needs(.tcmalloc))
  func anotherAllocatorIsNoObstacle() async throws {
    for allocator in [OutsideTool.jemalloc, .tcmalloc] {
      try await expectUpload(nil, ["LD_PRELOAD": try #require(allocator.path)])
    }
  }

  /// A program at a fixed address has copies of libraries' variables, and stands in for functions whose address it
  /// takes; the libraries use both.
  @Test func aProgramThatUsesTheSameLibrariesUploads() async throws {
    let list = try await ChildProcess.run(
      "/usr/bin/env", ["sh", "-c", "ldd $(ldconfig -p | awk '/libcurl.so.4 /{print $NF; exit}')"],
      in: host.directory)
    let paths = list.standardOutput.matches(of: /=> (\S+lib(ssl|crypto|z|gnutls)\.so\S*)/)
      .map { String($0.1) }
    try #require(paths.count >= 3, "\(list)")
    let program = try await link(
      """
      int SSL_free(); int EVP_MD_free(); unsigned long crc32();
      void *volatile taken[] = {SSL_free, EVP_MD_free, crc32};
      """, paths + ["-Xlinker", "-no-pie", "-Xclang-linker", "-no-pie"])
    try await expectUpload(program)
  }

  @Test(.enabled("needs the toolchain's static libraries") { try staticLibraries() != nil })
  func aStaticExecutableUploadsNothing() async throws {
    let libraries = try #require(try Self.staticLibraries())
    let program = try await link(
      "", ["-static-executable", "-Xlinker", "-u", "-Xlinker", "__pthread_create"] + libraries)
    let child = try await host.run(program)
    #expect(child.end.exitCode == 7, "\(child)")
    #expect(
      child.standardOutput.contains("status: a static executable cannot load libcurl; "),
      "\(child)")
  }

  private static func staticLibraries() throws -> [String]? {
    let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    guard
      let swift = paths.map({ URL(fileURLWithPath: "\($0)/swiftc").resolvingSymlinksInPath() })
        .first(where: { FileManager.default.isExecutableFile(atPath: $0.path) })
    else { return nil }
    let root = swift.deletingLastPathComponent().deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: root + "/lib/swift_static/linux") else {
      return nil
    }
    return [
      "Foundation", "CoreFoundation", "FoundationInternationalization", "FoundationEssentials",
      "_FoundationICU", "_FoundationCShims", "_FoundationCollections", "swiftSynchronization",
      "swiftDispatch", "dispatch", "BlocksRuntime", "stdc++", "m",
    ].map { "-l" + $0 }
  }
}
