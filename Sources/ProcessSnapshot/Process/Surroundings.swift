// The machine that the process ran on, as the dump tells of it.

extension ProcessSnapshot {
  /// The ID of the container that the process ran in, 64 hexadecimal digits; nil outside of one, and where
  /// neither its cgroup nor its mounts have the ID.
  ///
  /// A runtime names the cgroup by it: Docker, containerd, CRI-O and Podman, below systemd or not, by
  /// themselves or for Kubernetes. Inside a namespace of cgroups the path is `/`; there Docker's and
  /// Podman's mounts tell. The sandbox of a pod, which other mounts tell, is not a container of the program.
  public var containerID: String? {
    process.cgroup.path.flatMap(ContainerName.inGroup)
      ?? system.containerMount.flatMap(ContainerName.inMount)
  }
}

extension SystemDescription {
  /// The name of the time zone, such as "Europe/Berlin"; nil where it is not known.
  ///
  /// Source: tzset(3): a colon may stand in front of a file's name.
  public var timeZoneName: String? {
    guard var name = timeZone?[...] else { return nil }
    if name.first == ":" { name = name.dropFirst() }
    if let label = name.firstRange(of: "zoneinfo/") { name = name[label.upperBound...] }
    return name.isEmpty ? nil : String(name)
  }
}

/// Finds the names of containers in paths.
enum ContainerName {
  /// The last component that ends in an ID: `/docker/ID`, `docker-ID.scope`, `cri-containerd-ID.scope`,
  /// `…slice:cri-containerd:ID`, `crio-ID.scope`, `libpod-ID.scope/container`, `/kubepods/…/ID`.
  static func inGroup(_ path: String) -> String? {
    for component in path.split(separator: "/").reversed() {
      // The program that watches over a container is not in it.
      if component.contains("conmon") { return nil }
      let name = component.hasSuffix(".scope") ? component.dropLast(6) : component
      let last = name.split { $0 == "-" || $0 == ":" }.last
      if let last, isID(last) { return String(last) }
    }
    return nil
  }

  /// `…/containers/ID/hostname` is Docker's, `…/overlay-containers/ID/userdata/.containerenv` Podman's and CRI-O's.
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
