// The container in which the process ran, and its time zone.

extension ProcessSnapshot {
  /// The ID of the container that the process ran in, 64 hexadecimal digits.
  ///
  /// The ID is nil outside of a container, and if neither the cgroup's path nor the mounts contain the ID.
  ///
  /// Docker, containerd, CRI-O and Podman put the ID into the name of the cgroup, with and without systemd or
  /// Kubernetes. Inside a cgroup namespace, the cgroup's path is `/`, but Docker and Podman mount files whose paths
  /// contain the ID. The mounts of other runtimes contain the ID of the pod's sandbox, which is not the program's
  /// container.
  public var containerID: String? {
    process.cgroup.path.flatMap(ContainerName.inGroup)
      ?? system.containerMount.flatMap(ContainerName.inMount)
  }
}

extension SystemDescription {
  /// The name of the time zone, such as "Europe/Berlin"; nil if it is not known.
  ///
  /// Source: tzset(3): a colon may precede a file's name.
  public var timeZoneName: String? {
    guard var name = timeZone?[...] else { return nil }
    if name.first == ":" { name = name.dropFirst() }
    if let label = name.firstRange(of: "zoneinfo/") { name = name[label.upperBound...] }
    return name.isEmpty ? nil : String(name)
  }
}

/// Finds the IDs of containers in paths.
enum ContainerName {
  /// Finds the ID at the end of the last path component that has one: `/docker/ID`, `docker-ID.scope`,
  /// `cri-containerd-ID.scope`, `…slice:cri-containerd:ID`, `crio-ID.scope`, `libpod-ID.scope/container`,
  /// `/kubepods/…/ID`.
  static func inGroup(_ path: String) -> String? {
    for component in path.split(separator: "/").reversed() {
      // `conmon` monitors a container but does not run in it, so the ID in its path does not count.
      if component.contains("conmon") { return nil }
      let name = component.hasSuffix(".scope") ? component.dropLast(6) : component
      let last = name.split { $0 == "-" || $0 == ":" }.last
      if let last, isID(last) { return String(last) }
    }
    return nil
  }

  /// Finds the ID in `…/containers/ID/hostname` (Docker) or `…/overlay-containers/ID/userdata/.containerenv` (Podman).
  static func inMount(_ path: String) -> String? {
    let components = path.split(separator: "/")
    for (name, id) in zip(components, components.dropFirst()) where isID(id) {
      if name == "containers" && components.last == "hostname" { return String(id) }
      if name == "overlay-containers" && components.last == ".containerenv" { return String(id) }
    }
    return nil
  }

  private static func isID(_ text: Substring) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }
  }
}
