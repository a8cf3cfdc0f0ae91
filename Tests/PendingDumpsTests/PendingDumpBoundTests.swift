import CSignalSafe
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@testable import PendingDumps

@Suite struct PendingDumpBoundTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory(inMemory: true)
  }

  private func put(
    _ size: Int64, _ role: PendingDumpName.Role = .finished, identifier: String = "app",
    age: Double,
    isSparse: Bool = true
  ) throws -> PendingDumpName {
    let name = try #require(
      PendingDumpName(identifier: identifier, reportID: ReportID(), role: role))
    let path = "\(directory.path)/\(name)"
    try directory.put([], name.description)
    try #require(unsafe truncate(path, off_t(size)) == 0)
    if !isSparse {
      let descriptor = unsafe open(path, O_WRONLY)
      defer { close(descriptor) }
      try #require(posix_fallocate(descriptor, 0, off_t(size)) == 0)
    }
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path)
    return name
  }

  private func putRecord(_ name: PendingDumpName, _ change: (inout RunRecord) -> Void) throws {
    var record = RunRecord.current()
    change(&record)
    try directory.put(
      try #require(record.encoded()), name.with(role: .runRecord).description)
  }

  /// - Parameter reported: the programs that have a report.
  private func apply(
    wholly: Bool = true, room: VolumeRoom? = nil, reported: Set<String> = []
  ) throws {
    let opened = try Directory(path: directory.path)
    PendingDumpBound(
      directory: opened, identifier: "app", host: HostIdentity.current(), room: room
    ).apply(wholly: wholly, hasReport: reported.contains)
  }

  @Test func onASmallVolumeDumpsTakeAQuarterOfIt() throws {
    for age in 1...40 { _ = try put(1 << 20, age: Double(age), isSparse: false) }
    let room = VolumeRoom(size: 64 << 20, available: 0)
    try apply(room: room)
    #expect(directory.names().count == 16)
    try apply(room: room)
    #expect(directory.names().count == 16)
  }

  @Test func whereThereIsLittleRoomEachStartLooksAtAllDumps() throws {
    for _ in 0..<200 { _ = try put(1 << 20, age: 1, isSparse: false) }
    try apply(wholly: false, room: VolumeRoom(size: 64 << 20, available: 8 << 20))
    #expect(directory.names().count == 200)
    try apply(wholly: false, room: VolumeRoom(size: 64 << 20, available: 1 << 20))
    #expect(directory.names().count == 16)
  }

  @Test func aCrashLoopDoesNotDisplaceTheDumpOfAnotherProgram() throws {
    let only = try put(1 << 20, identifier: "other", age: 900, isSparse: false)
    let converted = try put(1 << 20, identifier: "reported", age: 1, isSparse: false)
    var loop: [PendingDumpName] = []
    for age in 2...31 { loop.append(try put(1 << 20, age: Double(age), isSparse: false)) }
    func names(_ count: Int, _ others: PendingDumpName...) -> [String] {
      (loop.prefix(count) + others).map(\.description).sorted()
    }
    try apply(room: VolumeRoom(size: 40 << 20, available: 0))
    #expect(directory.names() == names(8, only, converted))
    let newest = try put(1 << 20, identifier: "newest", age: 0, isSparse: false)
    try apply(room: VolumeRoom(size: 40 << 20, available: 0), reported: ["reported"])
    #expect(directory.names() == names(8, only, newest))
    try apply(room: VolumeRoom(size: 4 << 20, available: 0))
    #expect(directory.names() == names(0, newest))
  }

  @Test func aDumpThatAClockHasDatedThatWasNotSetDoesNotCountAsTheOldest() throws {
    let unset = try put(1 << 20, age: Date().timeIntervalSince1970 - 100, isSparse: false)
    for index in 0..<130 { _ = try put(1 << 20, age: Double(1000 + index), isSparse: false) }
    try apply()
    #expect(directory.names().count == 128 && directory.names().contains(unset.description))
  }

  @Test func aLargeDirectoryIsLeftToOneStartOfMany() throws {
    for _ in 0..<200 { _ = try put(1 << 20, age: 1, isSparse: false) }
    try apply(wholly: false)
    #expect(directory.names().count == 200)
    try apply()
    #expect(directory.names().count == 128)
    let due = (0..<6400).count { _ in PendingDumpBound.isDue(for: ReportID()) }
    #expect((50...200).contains(due))
  }

  @Test func aSmallDirectoryIsBoundedByEachStart() throws {
    for age in 1...40 { _ = try put(8 << 20, age: Double(age), isSparse: false) }
    try apply(wholly: false)
    #expect(directory.names().count == 16)
  }

  @Test func theOldestFinishedDumpsGoWhenTogetherTheyAreTooLarge() throws {
    let newest = try put(100 << 20, age: 1, isSparse: false)
    let second = try put(28 << 20, identifier: "other", age: 2, isSparse: false)
    let third = try put(1, age: 3, isSparse: false)
    try directory.put([1], "\(third).run")
    let locked = try put(500 << 20, .locked, age: 4)
    let claimed = try put(
      500 << 20, .claimed(attempt: 1, processID: 1, startTime: 1, place: 1), age: 5)
    try apply()
    #expect(directory.names() == [newest, second, locked, claimed].map(\.description).sorted())
  }

  @Test func oneThatIsTooLargeAloneStays() throws {
    let name = try put(130 << 20, age: 1, isSparse: false)
    try apply()
    #expect(directory.names() == [name.description])
  }

  @Test func holesAreNotCounted() throws {
    let sparse = try put(1 << 40, age: 1)
    let old = try put(5000, age: 2, isSparse: false)
    try apply()
    #expect(directory.names() == [sparse, old].map(\.description).sorted())
  }

  @Test func preallocatedBlocksAreGivenBack() throws {
    let name = try put(0, age: 1)
    let path = "\(directory.path)/\(name)"
    try directory.put(Array(repeating: 7, count: 5000), name.description)
    let descriptor = unsafe open(path, O_WRONLY)
    let held = pm_preallocate(descriptor, 1 << 20)
    let written = timespec(tv_sec: 1_790_000_000, tv_nsec: 5)
    let isDated = unsafe futimens(descriptor, [written, written]) == 0
    close(descriptor)
    try #require(held == 0 && isDated)
    try apply()
    var status = stat()
    try #require(unsafe stat(path, &status) == 0)
    #expect(status.st_mtim.tv_sec == written.tv_sec && status.st_mtim.tv_nsec == written.tv_nsec)
    #expect(status.st_blocks * 512 <= 64 << 10)
    #expect(directory.bytes(name.description) == Array(repeating: 7, count: 5000))
  }

  @Test func ofManyEmptyLeftoversThoseOfDeadOwnersGo() throws {
    let alive = try put(0, .locked, age: 1000)
    try putRecord(alive) { _ in }
    let elsewhere = try put(0, .locked, age: 999)
    try putRecord(elsewhere) { $0.bootID = "another" }
    let unknown = try put(0, .locked, age: 998)
    let torn = try put(1, .locked, age: 997)
    try putRecord(torn) { $0.startTime += 1 }
    let other = try put(0, .locked, identifier: "other", age: 996)
    let dead = try put(0, .locked, age: 995)
    try putRecord(dead) { $0.startTime += 1 }
    for age in 1...PendingDumpBound.maximumLeftovers {
      let name = try put(0, .locked, age: Double(age))
      try putRecord(name) { $0.startTime += 1 }
    }
    try apply()
    let names = Set(directory.names())
    for name in [alive, elsewhere, unknown, torn, other] {
      #expect(names.contains(name.description))
    }
    #expect(!names.contains(dead.description))
    #expect(!names.contains(dead.with(role: .runRecord).description))
    #expect(names.count == 5 + 3 + 2 * PendingDumpBound.maximumLeftovers)
  }
}
