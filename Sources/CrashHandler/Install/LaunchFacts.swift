internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The facts in a dump that are known at launch.
///
/// These facts are encoded at launch, so that crash code only has to copy the bytes.
struct LaunchFacts {
  let identifier: String
  let product: String?
  let version: String?
  let environment: String?
  let annotations: [String: String]
  let capturesArguments: Bool
  /// If this is false, the encoded facts lack the host name, the time zone, user and group IDs, and the cgroup's path.
  ///
  /// If this is true, but `privacy` is not `full`, the encoded facts lack the same facts, but contain the cgroup's
  /// path.
  let capturesSurroundings: Bool
  let privacy: ReportPrivacy
  let executablePath: String?
  /// The process ID of this process.
  let processID: UInt32
  let statistics: ProcessStatistics?
  let cgroup = Cgroup.current()

  /// Encodes the tokens of a dump's first `process` map, which crash code only copies.
  func encodedProcess(_ reportID: ReportID) -> [UInt8]? {
    IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { writer in
      writer.startMap(.process)
      writer.bytes(.reportID, reportID.bytes)
      writer.text(.identifier, identifier)
      writer.unsigned(.processID, UInt64(processID), width: 4)
      writer.text(.executablePath, executablePath)
      writer.text(.product, product)
      writer.text(.version, version)
      writer.text(.environment, environment)
      writer.signed(.launchTime, SystemClock.now)
      writer.unsigned(.launchUptime, UInt64(bitPattern: SystemClock.sinceBoot))
      let vector = Self.auxiliaryVector
      writer.bytes(
        .auxiliaryVector, isHidden ? UserNumbers.removed(fromVector: vector) : vector)
      if capturesArguments { writer.bytes(.commandLine, commandLine) }
      if capturesSurroundings { writer.text(.cgroup, cgroup.memory.path) }
      if privacy > .full { writer.unsigned(.privacy, UInt64(privacy.rawValue), width: 1) }
      if let interval = Self.watchdogInterval() { writer.unsigned(.watchdogInterval, interval) }
      writer.end()
    }
  }

  /// Encodes the tokens of the `process` map in a log, with short texts.
  var encodedForLog: [UInt8]? {
    IntermediateDumpEncoding.encode { writer in
      writer.startMap(.process)
      writer.text(.executablePath, executablePath.flatMap { $0.utf8.count <= 240 ? $0 : nil })
      writer.text(.product, product.map { String($0.cut(toBytes: 80)) })
      writer.text(.version, version.map { String($0.cut(toBytes: 80)) })
      if privacy > .full {
        writer.unsigned(.privacy, UInt64(ReportPrivacy.sanitized.rawValue), width: 1)
      }
      writer.end()
    }
  }

  /// Encodes the tokens of the `system` map and of the annotations.
  ///
  /// - Parameter bootID: the ID of the current boot; empty if it is not known.
  func encodedSystem(bootID: String) -> [UInt8]? {
    let kernel = Self.kernel()
    let release = Self.releaseText()
    return IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { writer in
      writer.startMap(.system)
      writer.text(.kernelName, kernel.name)
      writer.text(.kernelRelease, kernel.release)
      writer.text(.kernelVersion, kernel.version)
      writer.text(.machine, kernel.machine)
      if !isHidden {
        writer.text(.hostName, kernel.node)
        writer.text(.timeZone, Self.timeZone)
      }
      writer.text(.distribution, release.flatMap(Self.distribution))
      writer.text(.libraryVersion, unsafe "glibc " + String(cString: pm_library_version()))
      writer.unsigned(.pageSize, UInt64(max(0, sysconf(Int32(_SC_PAGESIZE)))))
      writer.text(.bootID, bootID.isEmpty ? nil : bootID)
      writer.text(.compiler, unsafe String(cString: pm_compiler_version()))
      writer.text(.swiftVersion, Self.swiftVersion)
      writer.text(.releaseText, release.map { String($0.prefix(4096)) })
      writer.end()
      writer.startArray(.annotations)
      for name in annotations.keys.sorted() {
        writer.startMap(.annotation)
        writer.text(.annotationName, name)
        writer.text(.annotationValue, annotations[name])
        writer.end()
      }
      writer.end()
    }
  }

  /// The version of the compiler that builds this file.
  ///
  /// For a newer compiler, this is the newest version that this file knows.
  private static var swiftVersion: String {
    #if compiler(>=6.6)
      "6.6"
    #elseif compiler(>=6.5)
      "6.5"
    #elseif compiler(>=6.4)
      "6.4"
    #elseif compiler(>=6.3)
      "6.3"
    #elseif compiler(>=6.2)
      "6.2"
    #else
      "6"
    #endif
  }

  /// The auxiliary vector as in `/proc/self/auxv`, but ordered by type, because libc is asked for each type in turn.
  ///
  /// Source: getauxval(3); Linux include/uapi/linux/auxvec.h, whose types are below 64.
  static var auxiliaryVector: [UInt8] {
    var vector: [UInt8] = []
    vector.reserveCapacity(512)
    for type in UInt64(1)..<64 {
      var value: UInt64 = 0
      guard unsafe pm_auxiliary_value(type, &value) != 0 else { continue }
      vector.append(littleEndian: type)
      vector.append(littleEndian: value)
    }
    return vector + [UInt8](repeating: 0, count: 16)
  }

  /// The first 4 KiB of the arguments, with a NUL after each, as in `/proc/self/cmdline`.
  ///
  /// The arguments are read from memory, at the address that `/proc/self/stat` shows, or else from
  /// `/proc/thread-self/cmdline`.
  private var commandLine: [UInt8]? {
    guard let own = statistics?.own, own.argumentsStart != 0,
      own.argumentsStart < own.argumentsEnd,
      let start = unsafe UnsafeRawPointer(bitPattern: UInt(own.argumentsStart))
    else {
      return SystemFile.bytes("/proc/thread-self/cmdline", isOneRecord: true)
        .map { Array($0.prefix(4096)) }
    }
    let count = min(own.argumentsEnd - own.argumentsStart, 4096)
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
  }

  /// The time in nanoseconds after which the service manager treats this process as hung.
  ///
  /// The result is nil if the service manager runs no watchdog for this process.
  ///
  /// The result is also nil in a program with more permissions than its caller, because the caller controls the
  /// environment.
  ///
  /// Source: sd_watchdog_enabled(3).
  static func watchdogInterval() -> UInt64? {
    guard pm_is_secure() == 0 else { return nil }
    if let text = unsafe getenv("WATCHDOG_PID"),
      let process = unsafe Int32(digits: String(cString: text)[...]),
      process != getpid()
    {
      return nil
    }
    guard let text = unsafe getenv("WATCHDOG_USEC"),
      let interval = unsafe UInt64(digits: String(cString: text)[...]), interval > 0
    else { return nil }
    let (nanoseconds, overflow) = interval.multipliedReportingOverflow(by: 1000)
    return overflow ? nil : nanoseconds
  }

  /// The facts for the surroundings section that are known at launch.
  var surroundings: Installed.KnownSurroundings {
    let path = cgroup.memory.path ?? "/"
    return Installed.KnownSurroundings(
      isHidden: isHidden, mayBeContainer: capturesSurroundings && path == "/")
  }

  private var isHidden: Bool { !capturesSurroundings || privacy > .full }

  /// The value of the environment variable TZ, or else the target of `/etc/localtime`; nil if there is neither.
  ///
  /// In a program with more permissions than its caller, the variable is not trusted, because the caller may have set
  /// it. The link is read at launch, because its file system may not respond during a crash.
  ///
  /// Source: tzset(3), localtime(5).
  private static var timeZone: String? {
    var name: String
    if pm_is_secure() == 0, let text = unsafe getenv("TZ") {
      // An empty value of TZ means UTC.
      name = unsafe text.pointee == 0 ? "UTC" : String(cString: text)
    } else if let target = SystemFile.target("/etc/localtime") {
      name = target
    } else {
      return nil
    }
    while name.utf8.count > 256 { name.removeLast() }
    return name
  }

  private static func kernel() -> (
    name: String, node: String, release: String, version: String, machine: String
  ) {
    var names = utsname()
    unsafe uname(&names)
    // The fields of the C struct are arrays, which Swift imports as tuples, so the bytes of a tuple are read as text.
    func text<Field>(_ field: Field) -> String {
      unsafe withUnsafeBytes(of: field) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
    }
    return (
      text(names.sysname), text(names.nodename), text(names.release), text(names.version),
      text(names.machine)
    )
  }

  /// The value of PRETTY_NAME in the text of an os-release file.
  ///
  /// Source: os-release(5).
  private static func distribution(in text: String) -> String? {
    for var line in text.lazyLines where line.cut(before: UInt8(ascii: "=")) == "PRETTY_NAME" {
      let quote = UInt8(ascii: "\"")
      if line.utf8.first == quote { line = Substring(line.utf8.dropFirst()) }
      return String(line.cut(before: quote) ?? line)
    }
    return nil
  }

  /// Source: os-release(5).
  private static func releaseText() -> String? {
    SystemFile.text("/etc/os-release", isOneRecord: true)
      ?? SystemFile.text("/usr/lib/os-release", isOneRecord: true)
  }
}
