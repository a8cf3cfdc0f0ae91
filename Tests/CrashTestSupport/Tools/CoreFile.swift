internal import Foundation

/// Core files that the kernel writes into the working directory of a crashed process.
public enum CoreFile {
  /// The reason why this machine writes no core file; nil if it does.
  ///
  /// Source: core(5).
  public static var obstacle: String? {
    let pattern =
      (try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)) ?? ""
    if pattern.isEmpty || pattern.hasPrefix("|") || pattern.contains("/") {
      return "core_pattern is \(pattern.trimmingCharacters(in: .whitespacesAndNewlines))"
    }
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    return limit.rlim_max == 0 ? "the hard limit of core files is 0" : nil
  }

  /// The path of the only file in a directory whose name starts with "core".
  public static func path(in directory: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0.hasPrefix("core") }
    guard names.count == 1, let name = names.first else {
      throw OutsideToolError("no core file, or more than one, in \(directory): \(names)")
    }
    return directory + "/" + name
  }
}
