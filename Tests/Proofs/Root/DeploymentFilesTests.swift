import CrashTestSupport
import Foundation
import Glibc
import Testing

/// The files of Examples/Deployment, applied step by step in namespaces to the example server: it crashes three times,
/// and its volume is changed before each start as its host does it.
@Suite(.serialized, .enabled("needs root") { geteuid() == 0 })
struct DeploymentFilesTests {
  private static let examples = BuiltProducts.packageRoot + "/Examples/Deployment/"
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
    try #require(unsafe chmod(directory.path, 0o755) == 0)
    try FileManager.default.createDirectory(
      atPath: directory.path + "/bin", withIntermediateDirectories: false)
    for (name, product) in [("server", "Server"), ("postmortem", "postmortem")] {
      try Spawn.copyProgram(
        try BuiltProducts.besideTests(product), to: directory.path + "/bin/" + name)
    }
  }

  private static func text(_ name: String) throws -> String {
    try String(contentsOfFile: examples + name, encoding: .utf8)
  }

  /// Runs `container.sh` with the values of a file.
  private func play(_ values: [String: String]) async throws -> ChildProcess {
    var environment = [
      "WORK": directory.path, "PROGRAMS": directory.path + "/bin", "READ_ONLY": "0", "DROPPED": "0",
      "BESIDE": "", "CONVERT": "", "VARIABLES": "LANG=C", "BETWEEN": "true",
    ]
    environment.merge(values) { _, new in new }
    return try await ChildProcess.run(
      "/usr/bin/unshare",
      [
        "--mount", "--net", "/bin/bash",
        BuiltProducts.packageRoot + "/Tests/Proofs/Root/container.sh",
      ], in: directory.path, environment: environment, leadsGroup: true, patience: 180)
  }

  private func expect(_ child: ChildProcess, areReportedAtOnce: Bool) {
    let turns = (1...3).flatMap { turn in
      ["turn \(turn): the server ended with 139"]
        + (areReportedAtOnce ? ["turn \(turn): \(turn) reports"] : [])
    }
    #expect(
      child.standardOutput.split(separator: "\n").map(String.init)
        == turns + ["at the end: 3 reports"], "\(child.standardError.suffix(4000))")
  }

  // MARK: - Kubernetes

  /// What the kubelet does to a volume with `fsGroup` at each mount: the group is given, its members may read and write,
  /// and new files of a directory get its group.
  ///
  /// Source: Kubernetes pkg/volume/volume_linux.go, SetVolumeOwnership.
  private static func ownership(_ group: Int) -> String {
    """
    chgrp -R \(group) "$VOLUME" && find "$VOLUME" -type d -exec chmod ug+rwx,g+s {} + \
    && find "$VOLUME" -type f -exec chmod ug+rw {} +
    """
  }

  @Test(.needs(.python3)) func thePodOfTheManifestReportsEachCrash() async throws {
    let python = try #require(OutsideTool.python3.path)
    let convert = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
    let child = try await ChildProcess.run(
      python, ["-c", convert, Self.examples + "kubernetes.yaml"], in: directory.path)
    try #require(child.end.exitCode == 0, "pip install pyyaml: \(child.standardError)")
    let pod = try JSONDecoder().decode(Manifest.self, from: Data(child.standardOutput.utf8))
      .spec.template.spec
    let context = pod.securityContext
    try #require(pod.containers.map(\.name) == ["server", "crash-reports"])
    let (server, reports) = (pod.containers[0], pod.containers[1])
    try #require(server.volumeMounts == reports.volumeMounts && server.volumeMounts.count == 1)
    try #require(pod.volumes.map(\.name) == server.volumeMounts.map(\.name))
    try #require(pod.volumes[0].emptyDir != nil)
    for container in pod.containers {
      try #require(container.securityContext.readOnlyRootFilesystem)
      try #require(!container.securityContext.allowPrivilegeEscalation)
      try #require(container.securityContext.capabilities.drop == ["ALL"])
    }
    let mount = server.volumeMounts[0].mountPath
    let end = try await play([
      "USER_ID": "\(context.runAsUser)", "GROUP_ID": "\(context.runAsGroup)",
      "GROUPS_OF": "\(context.fsGroup)", "READ_ONLY": "1", "DROPPED": "1", "MOUNT": mount,
      // An emptyDir is root's, and all users may write to it.
      "PREPARE": "chmod 0777 \"$VOLUME\"", "BETWEEN": Self.ownership(context.fsGroup),
      // The image's entry point.
      "COMMAND": (["/usr/local/bin/server"] + server.args).joined(separator: "\n"),
      "BESIDE": ((reports.command ?? []) + reports.args).joined(separator: "\n"),
      "DATABASE": mount,
    ])
    expect(end, areReportedAtOnce: true)
  }

  private struct Manifest: Decodable {
    struct Spec: Decodable { let template: Template }
    struct Template: Decodable { let spec: Pod }
    struct Pod: Decodable {
      let securityContext: Context
      let volumes: [Volume]
      let containers: [Container]
    }
    struct Context: Decodable { let runAsUser, runAsGroup, fsGroup: Int }
    struct Volume: Decodable {
      struct EmptyDirectory: Decodable { let sizeLimit: String }
      let name: String
      let emptyDir: EmptyDirectory?
    }
    struct Container: Decodable {
      let name: String
      let command: [String]?
      let args: [String]
      let securityContext: Hardening
      let volumeMounts: [Mount]
    }
    struct Hardening: Decodable {
      struct Capabilities: Decodable { let drop: [String] }
      let readOnlyRootFilesystem, allowPrivilegeEscalation: Bool
      let capabilities: Capabilities
    }
    struct Mount: Decodable, Equatable { let name, mountPath: String }
    let spec: Spec
  }

  // MARK: - Images

  /// The container of an image with a new volume, which gets the contents that the image has at the mount point.
  @Test(arguments: ["Dockerfile", "Dockerfile.distroless"])
  func theContainerOfTheImageReportsEachCrash(_ name: String) async throws {
    let text = try Self.text(name).replacing("\\\n", with: " ")
    let lines = text.split(separator: "\n").map(String.init)
    func value(of instruction: String) throws -> String {
      let line = try #require(lines.last { $0.hasPrefix(instruction + " ") })
      return String(line.dropFirst(instruction.count + 1))
    }
    let user = try value(of: "USER").split(separator: ":")
    let copy = try #require(text.firstMatch(of: /COPY --from=build --chown=(\S+) \/out(\S+) (\S+)/))
    let made = try #require(text.firstMatch(of: /install -d -m (\d+) \/out(\S+)/))
    let mount = try value(of: "VOLUME")
    try #require(copy.2 == "\(mount)/" && copy.3 == "\(mount)/" && made.2.hasPrefix("\(mount)/"))
    let variable = try value(of: "ENV")
    let words = try JSONDecoder().decode(
      [String].self, from: Data(try value(of: "ENTRYPOINT").utf8))
    try #require(text.contains("docker run --read-only -v crashes:\(mount) server"))
    let database = try #require(variable.split(separator: "=").last)
    let converts = words.contains("run")
    let end = try await play([
      "USER_ID": "\(user[0])", "GROUP_ID": "\(user[1])", "GROUPS_OF": "\(user[1])",
      "READ_ONLY": "1", "MOUNT": mount,
      "PREPARE": """
      mkdir "$VOLUME/\(made.2.dropFirst(mount.count + 1))" \
      && chmod \(made.1) "$VOLUME/\(made.2.dropFirst(mount.count + 1))" && chown -R \(copy.1) "$VOLUME"
      """,
      "COMMAND": words.joined(separator: "\n"), "VARIABLES": variable,
      // The server converts a dump at its next start, `postmortem run` at once.
      "CONVERT": converts ? "" : "process -d \(database)", "DATABASE": "\(database)",
    ])
    expect(end, areReportedAtOnce: false)
  }

  // MARK: - systemd

  @Test func theUnitReportsEachCrashEvenAsAnotherUser() async throws {
    let unit = try Self.text("server.service").split(separator: "\n").map(String.init)
    func value(of setting: String) throws -> String {
      let line = try #require(unit.last { $0.hasPrefix(setting + "=") })
      return String(line.dropFirst(setting.count + 1))
    }
    try #require(try value(of: "DynamicUser") == "yes")
    try #require(try value(of: "ProtectSystem") == "strict")
    try #require(try value(of: "NoNewPrivileges") == "yes")
    let mode = try value(of: "StateDirectoryMode")
    let states = try value(of: "StateDirectory").split(separator: " ").map(String.init)
    let words = try value(of: "ExecStart").split(separator: " ").map(String.init)
    let index = try #require(words.firstIndex(of: "--database"))
    // systemd makes each directory below /var/lib/private, with a link in /var/lib. A dynamic user may be another one at
    // each start; then systemd gives the directories to the new user.
    //
    // Source: systemd.exec(5), StateDirectory=.
    let paths = states.map { "\"$VOLUME/private/\($0)\"" }.joined(separator: " ")
    let end = try await play([
      "USER_ID": "61500", "GROUP_ID": "61500", "GROUPS_OF": "61500", "READ_ONLY": "1",
      "DROPPED": "1", "MOUNT": "/var/lib",
      "PREPARE": """
      mkdir -p \(paths) && chmod \(mode) \(paths) && ln -s "private/\(states[0])" "$VOLUME/\(states[0])"
      """,
      "BETWEEN": """
      USER_ID=$((USER_ID + 1)) GROUP_ID=$((GROUP_ID + 1)) GROUPS_OF=$((GROUPS_OF + 1)); \
      chown -R $USER_ID:$GROUP_ID "$VOLUME/private/\(states[0])"
      """,
      "COMMAND": words.joined(separator: "\n"), "DATABASE": words[index + 1],
    ])
    expect(end, areReportedAtOnce: false)
  }
}
