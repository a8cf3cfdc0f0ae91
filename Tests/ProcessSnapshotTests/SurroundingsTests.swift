import CrashTestSupport
import IntermediateDump
import Testing

@testable import ProcessSnapshot

@Suite struct SurroundingsTests {
  private static let id = String(repeating: "0123456789abcdef", count: 4)

  @Test func theyAreReadFromADumpOfTheHandler() throws {
    let read = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: HandlerDump.bytes()))
    #expect(read.system.hostName == "web-3")
    #expect(read.system.timeZoneName == "Europe/Berlin")
    #expect(read.system.containerMount == "/etc/hostname")
    #expect(read.process.workingDirectory == "/srv")
    let descriptors = read.process.descriptors
    #expect(descriptors.map(\.number) == [3, 4])
    #expect(descriptors.map(\.kind) == [.file, nil])
    #expect(descriptors.map(\.path) == ["/srv/log", nil])
    #expect(descriptors.map(\.isCut) == [true, false])
    #expect(descriptors.map(\.isDeleted) == [true, false])
  }

  @Test(arguments: [
    "/docker/ID", "/system.slice/docker-ID.scope", "/system.slice/cri-containerd-ID.scope",
    "/kubepods/besteffort/pod5e1/ID",
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5e1.slice/cri-containerd-ID.scope",
    "/kubepods.slice/kubepods-pod5e1.slice/crio-ID.scope",
    "/system.slice/containerd.service/kubepods-besteffort-pod5e1.slice:cri-containerd:ID",
    "/machine.slice/libpod-ID.scope/container", "/default/ID", "/ecs/task/ID",
    "/docker/ID/init.scope",
  ])
  func theCgroupsPathNamesAContainer(_ path: String) {
    #expect(container(group: path.replacing("ID", with: Self.id)) == Self.id)
  }

  @Test(arguments: [
    "", "/", "/user.slice/user-1000.slice/session-1.scope", "/docker/ID0", "/docker/0ID",
    "/docker/XID", "/machine.slice/libpod-conmon-ID.scope", "/ID.service", "-", "/:", "//-//",
    "/process_api/e01cdf3857336905451b98eeb7d0f002",
  ])
  func otherPathsNameNone(_ path: String) {
    #expect(container(group: path.replacing("ID", with: Self.id)) == nil)
    #expect(container(group: "/docker/" + Self.id.uppercased()) == nil)
  }

  @Test func behindANamespaceOfCgroupsTheMountsTell() {
    func found(_ mount: String) -> String? {
      container(group: "/", mount: mount.replacing("ID", with: Self.id))
    }
    #expect(found("/var/lib/docker/containers/ID/hostname") == Self.id)
    #expect(found("/docker/containers/ID/hostname") == Self.id)
    #expect(found("/containers/overlay-containers/ID/userdata/.containerenv") == Self.id)
    // The name would be the pod's, not the container's.
    #expect(found("/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/ID/hostname") == nil)
    #expect(found("/containers/overlay-containers/ID/userdata/hostname") == nil)
    #expect(found("/etc/hostname") == nil)
    #expect(found("ID") == nil)
    #expect(container(group: nil, mount: nil) == nil)
  }

  private func container(group: String?, mount: String? = nil) -> String? {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.cgroup.path = group
    snapshot.system.containerMount = mount
    return snapshot.containerID
  }

  @Test(
    arguments: [
      ("Europe/Berlin", "Europe/Berlin"), (":Europe/Berlin", "Europe/Berlin"),
      (":/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
      ("../usr/share/zoneinfo/Etc/UTC", "Etc/UTC"), ("/etc/zone", "/etc/zone"),
      ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST,M3.5.0,M10.5.0/3"), ("UTC", "UTC"), (":", nil),
      ("", nil), ("zoneinfo/", nil), ("/zoneinfo", "/zoneinfo"),
    ] as [(String, String?)])
  func theTimeZoneHasItsName(_ text: String, _ name: String?) {
    var system = SystemDescription()
    system.timeZone = text
    #expect(system.timeZoneName == name)
  }

  @Test func usersAndGroupsAreThoseOfTheKernelsText() {
    var process = ProcessDescription()
    process.statusText = Array("Name:\tUid:\nUid:\t1000\t0\t0\t0\nGid:\t5\t6\t7\t8\n".utf8)
    #expect(process.userIDs == UserIDs(real: 1000, effective: 0))
    #expect(process.groupIDs == UserIDs(real: 5, effective: 6))
    for text in [
      "", "Uid:", "Uid:\t1", "Uid:\t-", "Uid:\t-1\t2", "Uid:\t99999999999\t1", "Gid: 1 2",
    ] {
      process.statusText = Array(text.utf8)
      #expect(process.userIDs == nil, "\(text)")
    }
    process.statusText = nil
    #expect(process.groupIDs == nil)
  }

  @Test func anAnonymousInodeHasAKindOfItsOwn() {
    var descriptor = OpenDescriptor()
    descriptor.kind = .anonymous
    for (text, kind) in [
      ("anon_inode:[eventpoll]", "eventpoll"), ("anon_inode:inotify", "inotify"),
      ("anon_inode:[", "["), ("anon_inode:[]", ""),
    ] {
      descriptor.path = text
      #expect(descriptor.anonymousKind == kind)
    }
    descriptor.kind = .file
    #expect(descriptor.anonymousKind == nil)
  }

  @Test func sanitisingLeavesOutWhatTellsOfAPersonAndKeepsTheContainerAndKinds() {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.process.cgroup.path = "/docker/" + Self.id
    snapshot.process.statusText? += Array("Uid:\t1000\t0\t0\t0\nName:\tworker\n".utf8)
    #expect(snapshot.process.userIDs == UserIDs(real: 1000, effective: 0))
    snapshot.process.auxiliaryVector = vector([(9, 4096), (11, 1000), (14, 7), (267, 5), (0, 0)])
    let links = [
      "socket:[1]", "pipe:[2]", "anon_inode:[eventfd]", "/memfd:secret", "(unreachable)/x",
    ]
    let kinds: [OpenDescriptor.Kind] = [.socket, .pipe, .anonymous, .memory, .other]
    snapshot.process.descriptors += zip(links, kinds).map { path, kind in
      var descriptor = OpenDescriptor()
      (descriptor.kind, descriptor.path) = (kind, path)
      return descriptor
    }
    snapshot.sanitize()
    let process = snapshot.process
    #expect(snapshot.system.hostName == nil)
    #expect(snapshot.system.timeZone == nil)
    #expect(process.workingDirectory == nil)
    #expect(process.userIDs == nil && process.groupIDs == nil)
    #expect(
      String(decoding: process.statusText ?? [], as: UTF8.self)
        == "Pid:\t4001\nPPid:\t17\nUid:\t-\n")
    #expect(process.auxiliaryVector == vector([(9, 4096), (1, 0), (1, 0), (267, 5), (0, 0)]))
    #expect(snapshot.containerID == Self.id)
    #expect(process.descriptors.map(\.kind) == [.file] + kinds)
    #expect(process.descriptors.map(\.path) == [nil] + Array(links.prefix(3)) + [nil, nil])
    #expect(process.descriptors[0].isDeleted && !process.descriptors[0].isCut)
    // Sanitizing a second time changes nothing.
    var again = snapshot
    again.sanitize()
    #expect(again == snapshot)
  }

  @Test func anyBytesMayStandWhereUserNumbersAreLookedFor() {
    for length in 0..<40 {
      let bytes = Array(repeating: UInt8(11), count: length)
      #expect(UserNumbers.removed(fromVector: bytes) == bytes)
      #expect(UserNumbers.removed(fromStatus: bytes) == bytes)
    }
    #expect(
      UserNumbers.removed(fromStatus: Array("Groups:\t4 27".utf8)) == Array("Groups:\t-".utf8))
  }

  private func vector(_ pairs: [(UInt64, UInt64)]) -> [UInt8] {
    pairs.flatMap { [$0.0, $0.1] }.flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
  }
}
