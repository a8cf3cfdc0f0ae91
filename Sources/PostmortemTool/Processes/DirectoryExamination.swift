internal import CrashHandler
internal import Glibc
internal import PendingDumps

/// The findings about the directory of a database, whether or not a process uses it.
///
/// A start of the handler decides whether the directory can be used (`DatabaseTrial`). What does not prevent a start is
/// a note.
struct DirectoryExamination {
  let path: String
  private var headline = ""
  private var problems: [String] = []
  private var notes: [String] = []

  var isHealthy: Bool { problems.isEmpty }

  /// - Parameter given: the path as the user named it.
  init(_ given: String) throws(ToolError) {
    do throws(CrashReportDatabaseError) {
      path = DatabaseDirectory.place(try DatabaseDirectory.absolute(given))
    } catch {
      throw ToolError(path: given, error.context)
    }
    var status = stat()
    if unsafe lstat(path, &status) != 0, errno == ENOENT {
      examineMissing()
    } else {
      examineExisting()
    }
    noteAncestors()
  }

  /// The lines of the command's output: the first has the answer.
  var lines: [String] {
    let title = "directory \(path)"
    return isHealthy
      ? ["OK: \(title): \(headline)"] + notes.map { "note: \($0)" }
      : ["PROBLEM: \(title): \(problems[0])"] + problems.dropFirst().map { "problem: \($0)" }
        + notes.map { "note: \($0)" }
  }

  func answer(_ processes: [HandlerSearch.Found]) -> DoctorCommand.DirectoryAnswer {
    DoctorCommand.DirectoryAnswer(
      database: path, healthy: isHealthy, problems: problems, notes: notes, processes: processes)
  }

  private mutating func examineExisting() {
    do throws(CrashHandlerError) {
      let trial = try DatabaseTrial(path)
      headline = "user \(geteuid()) can start the crash handler here"
      if !trial.hasFIFO {
        notes.append(
          "its file system supports no FIFOs: another container detects the end of a process only after a day or more"
        )
      }
    } catch {
      problems.append(error.description)
    }
    noteFileSystem()
    noteGroup()
  }

  /// Creates the first of the missing directories, as a start would, and removes it again.
  private mutating func examineMissing() {
    var (missing, parent) = (path, path.parentPath)
    var status = stat()
    while parent.count > 1, unsafe stat(parent, &status) != 0, errno == ENOENT {
      (missing, parent) = (parent, parent.parentPath)
    }
    if unsafe mkdir(missing, 0o700) == 0 {
      unsafe rmdir(missing)
      headline = "it does not exist: a start by user \(geteuid()) creates it in \(parent)"
    } else {
      problems.append(
        "it does not exist, and user \(geteuid()) cannot create it in \(parent): "
          + ToolError.text(errno))
    }
  }

  private mutating func noteFileSystem() {
    guard let directory = try? DatabaseDirectory.open(path, creating: false) else { return }
    if !LocalFileSystem.contains(descriptor: directory.descriptor) {
      let type = LocalFileSystem.type(of: directory.descriptor).map { " (\($0))" } ?? ""
      notes.append(
        "its file system\(type) is not known to be local: a dump that an ended process left unfinished is converted "
          + "only after a day")
    }
    guard let room = VolumeRoom(of: directory.descriptor) else { return }
    if room.isTight {
      notes.append(
        "only \(room.available >> 10) KiB of its file system are free: a start first deletes the oldest dumps"
      )
    }
  }

  private mutating func noteGroup() {
    var status = stat()
    guard isHealthy, unsafe stat(path, &status) == 0, status.st_mode & 0o20 != 0 else { return }
    notes.append(
      "group \(status.st_gid) may write to it (mode \(String(status.st_mode & 0o7777, radix: 8))): members can remove "
        + "dumps and reports")
  }

  /// Names the directories above in which other users could rename the database.
  private mutating func noteAncestors() {
    var child = path
    while child.count > 1 {
      let parent = child.parentPath.isEmpty ? "/" : child.parentPath
      var status = stat()
      if unsafe stat(parent, &status) == 0, status.st_mode & UInt32(S_ISVTX) == 0 {
        if status.st_mode & 0o2 != 0 {
          notes.append("all users may write to \(parent), and could rename \(child)")
        } else if status.st_uid != 0, status.st_uid != geteuid() {
          notes.append("user \(status.st_uid) owns \(parent), and could rename \(child)")
        }
      }
      child = parent
    }
  }
}
