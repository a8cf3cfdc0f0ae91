internal import Glibc
internal import PendingDumps

/// The database of the program that `postmortem run` runs, with checks that the program's user can use it.
///
/// A program that starts as root and gives up its permissions can use neither root's files nor files that it created
/// as root. If it is clear before the program runs that the program cannot use the database, `run` rejects its command
/// line. If this becomes clear only after the program has ended, `run` prints a message.
struct RunDatabase {
  let path: String

  /// A user of the system, or only the number of a user that the system does not know.
  private struct User: Equatable {
    let number: UInt32
    let group: UInt32
    let name: String

    private init(number: UInt32, group: UInt32, name: String) {
      self.number = number
      self.group = group
      self.name = name
    }

    /// - Parameter group: the group to use for a user that the system does not know.
    init(number: UInt32, group: UInt32) {
      self =
        unsafe Self.entry { unsafe getpwuid_r(number, $0, $1, $2, $3) }
        ?? User(number: number, group: group, name: "\(number)")
    }

    /// - Parameter text: the user's name or number; the result is nil for a name that the system does not know.
    init?(_ text: String) {
      if let user = unsafe Self.entry({ unsafe getpwnam_r(text, $0, $1, $2, $3) }) {
        self = user
      } else if let number = UInt32(text), number != .max {
        self.init(number: number, group: number)
      } else {
        return nil
      }
    }

    private static func entry(
      _ ask: (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
      ) -> Int32
    ) -> User? {
      var entry = unsafe passwd()
      var buffer = [CChar](repeating: 0, count: 1 << 16)
      return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
        var found: UnsafeMutablePointer<passwd>?
        guard let base = buffer.baseAddress, unsafe ask(&entry, base, buffer.count, &found) == 0,
          let found = unsafe found
        else { return nil }
        return unsafe User(
          number: found.pointee.pw_uid, group: found.pointee.pw_gid,
          name: String(cString: found.pointee.pw_name))
      }
    }
  }

  /// Creates the database for a user, or checks that the command's user can use it.
  ///
  /// - Parameters:
  ///   - user: the user that the command will run as; nil if no user was given.
  ///   - command: the command with its arguments.
  ///   - help: the help text that is shown with an error.
  init(
    _ path: String, user name: String?, command: [String], help: String
  ) throws {
    let path = DatabaseDirectory.place(path)
    self.path = path
    let owner = Self.owner(of: path)
    guard let name else {
      if let reason = Self.difference(path, owner, command) {
        throw ToolError.usage(reason, help: help)
      }
      return
    }
    guard let user = User(name) else {
      throw ToolError.usage("there is no user '\(name.escapedForMessage)'", help: help)
    }
    guard geteuid() == 0 || geteuid() == user.number else {
      throw ToolError.usage(
        "--user \(user.name): only root can run a command as another user", help: help)
    }
    if let owner {
      guard owner.number == user.number else {
        throw ToolError.usage(
          "\(path.escapedForMessage) belongs to \(owner.name), not to \(user.name): use --user "
            + "\(owner.name), or run chown -R \(user.name) \(path.escapedForMessage)", help: help)
      }
      return
    }
    try Self.make(path, for: user)
  }

  /// The evidence that the command will run as a user other than the database's owner; nil if there is no such
  /// evidence.
  private static func difference(_ path: String, _ owner: User?, _ command: [String]) -> String? {
    let me = geteuid()
    if let owner, owner.number != me, me == 0 || owner.number != 0 {
      return me == 0
        ? "\(path.escapedForMessage) belongs to \(owner.name), and root runs this command: use "
          + "--user \(owner.name)"
        : "\(path.escapedForMessage) belongs to \(owner.name): run this command as that user, or "
          + "name another directory"
    }
    guard me == 0 else { return nil }
    if let inner = Self.owner(of: path + "/" + PendingDumpName.directory), inner.number != 0 {
      return
        "the dumps in \(path.escapedForMessage) belong to \(inner.name), but the directory belongs to root: "
        + "run chown -R \(inner.name) \(path.escapedForMessage), and use --user \(inner.name)"
    }
    if owner == nil, let changer = UserChanger(command) {
      return "'\(changer.name)' switches the user of the command: use --user NAME, so that "
        + "\(path.escapedForMessage) is created for that user"
    }
    return nil
  }

  /// Prints a message if this process is root, the command changed to another user before its end, and the database
  /// belongs to root.
  ///
  /// In this case, the other user cannot use the database.
  func compare(with end: CommandEnd) {
    guard geteuid() == 0, let user = end.user, user != 0, Self.owner(of: path)?.number == 0 else {
      return
    }
    let name = User(number: user, group: user).name
    Terminal.printError(
      ToolError(
        path: path,
        "belongs to root, and the command ended as user \(name), which cannot use it: run chown -R "
          + "\(name) \(path.escapedForMessage), and use --user \(name)"
      ).description)
  }

  /// The owner of the directory; nil if the path does not lead to a directory that can be examined.
  private static func owner(of path: String) -> User? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    return User(number: status.st_uid, group: status.st_gid)
  }

  /// Creates the directory and missing ones above it, each accessible only by the user.
  private static func make(_ path: String, for user: User) throws(ToolError) {
    let parent = path.parentPath
    if unsafe mkdir(path, 0o700) != 0 {
      guard errno == ENOENT, !parent.isEmpty, parent != "/" else {
        throw failure("cannot be created", path)
      }
      try make(parent, for: user)
      guard unsafe mkdir(path, 0o700) == 0 else { throw failure("cannot be created", path) }
    }
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot be opened", path) }
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o700) == 0, fchown(descriptor, user.number, user.group) == 0 else {
      throw failure("its owner cannot be changed to \(user.name)", path)
    }
  }

  private static func failure(_ what: String, _ path: String) -> ToolError {
    ToolError(path: path, "\(what): \(ToolError.text(errno))")
  }
}

/// A program, such as `sudo`, at the start of a command line that runs the rest of the command line as another user.
private struct UserChanger {
  let name: String

  private static let always: Set<String> = [
    "gosu", "su-exec", "su", "sudo", "doas", "runuser", "setuidgid", "s6-setuidgid",
  ]
  private static let byOption: [String: [String]] = [
    "setpriv": ["--reuid", "--ruid", "--euid"], "chpst": ["-u", "-U"],
    "capsh": ["--user", "--uid"], "start-stop-daemon": ["-c", "--chuid"],
  ]

  /// Returns nil if the command's first word is not a program that can change the user, or if the options of the
  /// command do not change the user.
  init?(_ command: [String]) {
    guard let word = command.first?.split(separator: "/").last.map(String.init) else { return nil }
    let options = Self.byOption[word] ?? []
    let isAsked = command.dropFirst().contains { word in options.contains { word.hasPrefix($0) } }
    guard Self.always.contains(word) || isAsked else { return nil }
    name = word
  }
}
