import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// After two crashes in the uploader, a build uploads nothing for a day.
@Suite(.needs(.python3))
struct UploaderCrashTests {
  private let host: UploadHost

  init() throws { host = try UploadHost() }

  /// A libcurl that crashes in its thread, or that answers each request with a receipt without sending it.
  private static let source = """
    #include <stdlib.h>
    #include <string.h>
    #include <stdarg.h>
    static size_t (*take)(char *, size_t, size_t, void *);
    static void *data;
    static int easy;
    static struct { int kind; void *easy; union { void *other; int result; } data; } message = {1, &easy};
    static int left;
    int curl_global_init(long flags) { return 0; }
    void *curl_easy_init(void) { return &easy; }
    int curl_easy_setopt(void *handle, int option, ...) {
      va_list list;
      va_start(list, option);
      if (option == 20011) take = va_arg(list, void *);
      if (option == 10001) data = va_arg(list, void *);
      va_end(list);
      return 0;
    }
    int curl_easy_getinfo(void *handle, int what, long *status) { *status = 200; return 0; }
    const char *curl_easy_strerror(int error) { return ""; }
    void curl_easy_cleanup(void *handle) {}
    void *curl_slist_append(void *list, const char *line) { return &easy; }
    void curl_slist_free_all(void *list) {}
    void *curl_multi_init(void) { return &left; }
    int curl_multi_add_handle(void *multi, void *handle) { left = 1; return 0; }
    int curl_multi_remove_handle(void *multi, void *handle) { return 0; }
    int curl_multi_perform(void *multi, int *running) {
      if (getenv("CRASH")) *(volatile int *)0 = BUILD;
      char text[] = "CrashID=done";
      take(text, 1, strlen(text), data);
      *running = 0;
      return 0;
    }
    int curl_multi_poll(void *m, void *fds, unsigned count, int time, int *n) { return 0; }
    int curl_multi_wakeup(void *multi) { return 0; }
    void *curl_multi_info_read(void *multi, int *count) { return left-- > 0 ? (void *)&message : NULL; }
    int curl_multi_cleanup(void *multi) { return 0; }
    """

  /// The directory of a libcurl; another number is another build.
  private func libcurl(_ build: Int) async throws -> String {
    let directory = host.directory + "/build-\(build)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    try await CCompiler.makeLibrary(
      directory + "/libcurl.so.4", Self.source,
      ["-DBUILD=\(build)", "-Wl,-soname,libcurl.so.4", "-Wl,--build-id"])
    return directory
  }

  private func run(_ directory: String, crashes: Bool) async throws -> ChildProcess {
    var environment = ["LD_LIBRARY_PATH": directory]
    if crashes { environment["CRASH"] = "1" }
    let child = try await host.run(environment: environment)
    _ = try await tool("process", "-d", host.uploads.database.path)
    return child
  }

  private func tool(_ arguments: String...) async throws -> String {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), arguments, in: host.directory)
    return child.standardOutput
  }

  private var crashes: [StoredReport] {
    get throws { try host.uploads.database.reports().filter(\.upload.isUploaderCrash) }
  }

  @Test func twoCrashesPauseTheUploadsOfThisBuildAlone() async throws {
    let (first, second) = (try await libcurl(1), try await libcurl(2))
    for count in 1...2 {
      #expect(try await run(first, crashes: true).end.signal == SIGSEGV)
      #expect(try crashes.count == count)
    }
    let paused = try await run(first, crashes: true)
    #expect(paused.end.exitCode == 7, "\(paused)")
    let reason = try host.uploads.report(host.report).upload.note
    #expect(reason.hasPrefix("no uploads before "), "\(reason)")
    #expect(
      paused.standardOutput.contains("failed: uploads are delayed: \(reason)\nstatus: \(reason)\n"))
    for report in try crashes { #expect(reason.contains("\(report.id)")) }
    #expect(try await tool("list", "-d", host.uploads.database.path).contains(reason))
    let id = try #require(try crashes.first?.id.description)
    let shown = try await tool("show", id, "-d", host.uploads.database.path)
    let words = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("This thread is the uploader of swift-postmortem."), "\(shown)")
    // Another libcurl may not have the fault.
    let other = try await run(second, crashes: false)
    #expect(other.standardOutput.hasPrefix("uploaded: "), "\(other)")
    let still = try await run(first, crashes: false)
    #expect(still.standardOutput.hasPrefix("failed: "), "\(still)")
  }

  @Test func anUploadBetweenTwoCrashesCounts() async throws {
    let directory = try await libcurl(1)
    for _ in 0..<3 {
      // The upload before may have sent all reports, and an uploader without a report would not crash.
      _ = try host.uploads.addReport()
      #expect(try await run(directory, crashes: true).end.signal == SIGSEGV)
      #expect(try crashes.count == 1)
      let child = try await run(directory, crashes: false)
      #expect(child.standardOutput.hasPrefix("uploaded: "), "\(child)")
      #expect(try crashes.isEmpty)
    }
  }
}
