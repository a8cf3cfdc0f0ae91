import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// The executable of a process that still runs, whose path leads to another file.
@Suite struct ProcessFilesTests {
  private final class Scene {
    let directory: TemporaryDirectory
    let child = Process()
    let files: ProcessFiles
    let module: ModuleSnapshot

    /// Starts a copy of sleep(1).
    init() throws {
      directory = try TemporaryDirectory()
      let path = directory.path + "/sleeper"
      try Spawn.copyProgram(
        URL(fileURLWithPath: "/bin/sleep").resolvingSymlinksInPath().path, to: path)
      let buildID = try ELFFile(path: path).buildID
      child.executableURL = URL(fileURLWithPath: path)
      child.arguments = ["600"]
      try child.run()
      let place = "/proc/\(child.processIdentifier)"
      // The child may not have called exec yet.
      var found: MemoryMapping?
      for _ in 0..<1000 where found == nil {
        let maps = try Data(contentsOf: URL(fileURLWithPath: "\(place)/maps"))
        found = MemoryMapping.mappings(parsing: Array(maps)[...]).first { $0.path == path }
        if found == nil { usleep(10_000) }
      }
      let mapping = try #require(found)
      module = ModuleSnapshot(address: mapping.start, size: 1 << 16, path: path, buildID: buildID)
      try Data(ELFFileTests.handmade).write(to: URL(fileURLWithPath: path + ".new"))
      try #require(unsafe rename(path + ".new", path) == 0)
      files = ProcessFiles(
        directory: place,
        executable: try FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/exe"),
        maps: Array(try Data(contentsOf: URL(fileURLWithPath: "\(place)/maps"))))
    }

    deinit { child.killAndWait() }
  }

  @Test func aReplacedExecutableIsReadFromTheRunningProcess() throws {
    let scene = try Scene()
    let error = #expect(throws: StackwalkError.self) {
      _ = try SymbolFiles(of: scene.module, directories: [])
    }
    #expect(error?.code == .notTheSameBuild)
    let found = try SymbolFiles(
      of: scene.module, directories: SymbolDirectories([], process: scene.files))
    #expect(found.image?.path == "/proc/\(scene.child.processIdentifier)/exe")
    #expect(found.image?.elf.buildID == scene.module.buildID)
    #expect(!found.notes.contains { $0.contains("not the same build") })
  }

  @Test func otherModulesAreNotReadFromTheProcess() throws {
    let scene = try Scene()
    var other = scene.module
    other.path += "2"
    #expect(scene.files.paths(of: other) == [])
    var elsewhere = scene.module
    elsewhere.address = 0x1000
    #expect(scene.files.paths(of: elsewhere) == [])
  }

  @Test func aLibraryIsReadByItsMappingAndThenInTheRootOfTheProcess() {
    let maps = """
      7f0000000000-7f0000001000 r--p 00000000 08:01 7 /opt/libshop.so (deleted)
      7f0000001000-7f0000002000 r--p 00000000 08:01 8 /opt/app\n
      """
    let files = ProcessFiles(
      directory: "/proc/5", executable: "/opt/app", maps: Array(maps.utf8))
    let library = ModuleSnapshot(address: 0x7f00_0000_0000, size: 4096, path: "/opt/libshop.so")
    #expect(
      files.paths(of: library) == [
        "/proc/5/map_files/7f0000000000-7f0000001000", "/proc/5/root/opt/libshop.so (deleted)",
      ])
    let program = ModuleSnapshot(address: 0x7f00_0000_1000, size: 4096, path: "/opt/app")
    #expect(files.paths(of: program).first == "/proc/5/exe")
  }
}
