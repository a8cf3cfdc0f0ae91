import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@testable import CrashHandler

@Suite struct SurroundingsSectionTests {
  @Test func aCrashSaysWhereTheProcessWasAndWhichFilesItHadOpen() async throws {
    let directory = try TemporaryDirectory()
    let (database, path) = (directory.database, directory.path)
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [database = database as String, path = path as String] in
      unsafe setenv("TZ", ":Europe/Berlin", 1)
      unsafe chdir(path)
      try startHandler(database: database)
      openFiles()
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.last(.workingDirectory)?.text(.workingDirectory) == path)
    #expect(Self.ofSystem(.timeZone, root) == ":Europe/Berlin")
    let host = try String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8)
    #expect(
      Self.ofSystem(.hostName, root) == host.trimmingCharacters(in: .newlines))
    let kinds = try Self.kinds(root)
    #expect(kinds[100] == 1 && kinds[101] == 1 && kinds[102] == 4 && kinds[103] == 5)
    #expect(kinds[104] == 2 && kinds[105] == 3 && kinds[106] == 7 && kinds[107] == 6)
    let paths = try Self.paths(root)
    #expect(paths[100] == path + "/kept" && paths[101] == path + "/gone")
    #expect(paths[102]?.hasPrefix("socket:[") == true && paths[104] == "/")
    #expect(paths[105] == "/dev/null" && paths[107] == "anon_inode:[eventfd]")
    let deleted = try Self.descriptors(root).filter { $0.unsigned(.descriptorIsDeleted) == 1 }
    // Ignores the descriptors that the process inherits from this one, whose other tests have opened them.
    #expect(
      deleted.compactMap { $0.unsigned(.descriptorNumber) }.filter { (100...108).contains($0) }
        == [101, 106])
    // The path must be cut before the two-byte character.
    let cut = try #require(
      try Self.descriptors(root).first { $0.unsigned(.descriptorNumber) == 108 })
    #expect(cut.unsigned(.descriptorPathIsCut) == 1)
    let text = try #require(cut.data(.descriptorPath))
    #expect(String(validating: text, as: UTF8.self) != nil)
    #expect(text.count == 511 || text.count == 512)
  }

  @Test func theLowest256DescriptorsAreListed() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    await #expect(processExitsWith: .signal(SIGSEGV)) { [database = database as String] in
      try startHandler(database: database)
      while dup(0) < 400 {}
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    let numbers = try Self.descriptors(root).compactMap { $0.unsigned(.descriptorNumber) }
    #expect(numbers.count == 256)
    #expect(numbers == numbers.sorted() && numbers.allSatisfy { $0 < 300 })
    #expect(try #require(root.last(.descriptorCount)?.unsigned(.descriptorCount)) > 380)
  }

  @Test(arguments: [false, true])
  func theOptionLeavesOutWhatTellsOfAPerson(sanitized: Bool) async throws {
    let directory = try TemporaryDirectory()
    let (database, path) = (directory.database, directory.path)
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [database = database as String, path = path as String, sanitized = sanitized as Bool] in
      unsafe setenv("TZ", "Europe/Berlin", 1)
      unsafe chdir(path)
      var options = HandlerOptions()
      if sanitized { options.privacy = .sanitized } else { options.capturesSurroundings = false }
      try startHandler(database: database, options: options)
      openFiles()
      writeTo(16)
    }
    let root = try IntermediateDumpDocument(parsing: directory.onlyDump()).root
    #expect(root.last(.workingDirectory) == nil)
    #expect(Self.ofSystem(.timeZone, root) == nil && Self.ofSystem(.hostName, root) == nil)
    #expect(Self.ofSystem(.kernelName, root) == "Linux")
    if !sanitized {
      #expect(root.last(.cgroup) == nil && Self.ofSystem(.containerMount, root) == nil)
    }
    let kinds = try Self.kinds(root)
    #expect((100...107).map { kinds[$0] } == [1, 1, 4, 5, 2, 3, 7, 6])
    let paths = try Self.paths(root)
    #expect((100...108).filter { paths[$0] != nil } == [102, 103, 107])
    let status = try #require(root.last(.processStatus)?.text(.processStatus))
    #expect(status.contains("\nUid:\t-") && status.contains("\nGid:\t-"))
    let lines = status.split(separator: "\n")
    for label in ["Uid:", "Gid:", "Groups:"] {
      let line = try #require(lines.first { $0.hasPrefix(label) })
      #expect(!line.contains { $0.isNumber })
    }
    #expect(lines.contains { $0.hasPrefix("Pid:\t") && $0.last?.isNumber == true })
    let vector = try #require(root.last(.auxiliaryVector)?.data(.auxiliaryVector))
    let types = stride(from: vector.startIndex, to: vector.endIndex, by: 16).map { vector[$0] }
    #expect(types.contains(9) && !types.contains(11))
  }

  @Test func theMountThatTellsOfAContainerIsFound() throws {
    let rest = "rw,relatime - ext4 /dev/sda rw\n"
    let docker = "643 612 8:1 /docker/containers/ab/hostname /etc/hostname \(rest)"
    let podman =
      "644 612 0:24 /overlay-containers/cd/userdata/.containerenv /run/.containerenv \(rest)"
    let other = "612 600 0:50 / / \(rest)645 612 8:1 /x /etc/hostnames \(rest)"
    #expect(Self.mount(other + docker) == "/docker/containers/ab/hostname")
    #expect(
      Self.mount(docker + other + podman) == "/overlay-containers/cd/userdata/.containerenv")
    #expect(Self.mount(other) == "")
    for text in ["", "\n", "1", "1 2 3", "1 2 3 4", "1 2 3 4 ", "1 2 3 4 /etc/hostname"] {
      #expect(Self.mount(text) == "", "\(text)")
    }
  }

  private static func mount(_ text: String) -> String {
    let bytes = Array(text.utf8)
    return unsafe bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return "" }
      let found = unsafe Surroundings.containerMount(
        in: Bytes(base, count: buffer.count).text)
      return unsafe String(
        decoding: UnsafeRawBufferPointer(start: found.address, count: found.count), as: UTF8.self)
    }
  }

  @Test(arguments: [("a\u{E9}", 2, 1), ("ab", 2, 2)])
  func aTextIsCutInFrontOfACharacter(text: String, limit: Int, count: Int) {
    #expect(Self.cut(Array(text.utf8), limit) == count)
  }

  @Test func bytesThatAreNoCharactersAreCutAtTheLimit() {
    #expect(Self.cut(Array(repeating: 0x80, count: 9), 6) == 6)
    #expect(Self.cut(Array("\u{1F600}\u{1F600}".utf8), 7) == 4)
    #expect(Self.cut([], 4) == 0)
    #expect(Self.cut(Array("\u{1F600}".utf8), 3) == 0)
  }

  private static func cut(_ bytes: [UInt8], _ limit: Int) -> Int {
    let bytes = bytes + [0]
    return unsafe bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return -1 }
      return unsafe Bytes(base, count: buffer.count - 1).prefixOfCharacters(limit).count
    }
  }

  private static func ofSystem(_ key: IntermediateDumpKey, _ root: IntermediateDumpMap) -> String? {
    root.all(.system).compactMap { $0.text(key) }.last
  }

  private static func descriptors(_ root: IntermediateDumpMap) throws -> [IntermediateDumpMap] {
    let found = root.all(.process).flatMap { $0.array(.descriptors) }
    try #require(!found.isEmpty)
    return found
  }

  private static func kinds(_ root: IntermediateDumpMap) throws -> [UInt64: UInt64] {
    Dictionary(
      try descriptors(root).compactMap { map in
        map.unsigned(.descriptorNumber).flatMap { number in
          map.unsigned(.descriptorKind).map { (number, $0) }
        }
      }, uniquingKeysWith: { first, _ in first })
  }

  private static func paths(_ root: IntermediateDumpMap) throws -> [UInt64: String] {
    Dictionary(
      try descriptors(root).compactMap { map in
        map.unsigned(.descriptorNumber).flatMap { number in
          map.text(.descriptorPath).map { (number, $0) }
        }
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// Opens a file of each kind in the working directory, as descriptors 100 to 108.
private func openFiles() {
  func take(_ descriptor: Int32, as number: Int32) { dup2(descriptor, number) }
  take(unsafe open("kept", O_CREAT | O_RDWR, 0o600), as: 100)
  take(unsafe open("gone", O_CREAT | O_RDWR, 0o600), as: 101)
  unsafe unlink("gone")
  take(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), as: 102)
  var pair: [Int32] = [0, 0]
  _ = unsafe pipe(&pair)
  take(pair[0], as: 103)
  take(unsafe open("/", O_RDONLY | O_DIRECTORY), as: 104)
  take(unsafe open("/dev/null", O_RDONLY), as: 105)
  // Swift's Glibc module has neither memfd_create nor its flags.
  typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
  if let symbol = unsafe dlsym(nil, "memfd_create") {
    take(unsafe unsafeBitCast(symbol, to: Create.self)("secret", 0), as: 106)
  }
  typealias CreateEvent = @convention(c) (UInt32, Int32) -> Int32
  if let symbol = unsafe dlsym(nil, "eventfd") {
    take(unsafe unsafeBitCast(symbol, to: CreateEvent.self)(0, 0), as: 107)
  }
  // Four directories with names of about 200 bytes: one byte, then characters of two bytes.
  for _ in 0..<4 {
    let name = "x" + String(repeating: "\u{E9}", count: 100)
    unsafe mkdir(name, 0o700)
    unsafe chdir(name)
  }
  take(unsafe open(".", O_RDONLY), as: 108)
  for _ in 0..<4 { unsafe chdir("..") }
}
