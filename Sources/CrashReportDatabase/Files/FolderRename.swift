internal import Glibc

extension Folder {
  /// What became of a rename.
  package enum RenameResult: Sendable {
    case done
    /// Nothing lies under the old name: somebody else was first.
    case sourceMissing
    /// Something lies under the new name, and was not to be replaced.
    case targetExists
  }

  /// Renames a file, into another folder of the same file system if wanted.
  ///
  /// - Parameter replacing: whether a file under the new name may be lost; then it is one atomic
  ///   step. If not, the file has both names for a moment, and a file system without hard links
  ///   leaves one between looking and renaming.
  package func rename(
    _ name: String, to folder: borrowing Folder, _ newName: String, replacing: Bool
  ) throws(CrashReportDatabaseError) -> RenameResult {
    if !replacing {
      // The C library's plain calls have no rename that fails where the target exists; a second
      // name does.
      if unsafe linkat(descriptor, name, folder.descriptor, newName, 0) == 0 {
        try? remove(name)
        return .done
      }
      guard [EPERM, ENOTSUP, EMLINK, ENOSYS].contains(errno) else {
        return try result(errno, name, folder, newName)
      }
      if folder.status(of: newName) != nil { return .targetExists }
    }
    if unsafe renameat(descriptor, name, folder.descriptor, newName) == 0 { return .done }
    return try result(errno, name, folder, newName)
  }

  private func result(
    _ errno: Int32, _ name: String, _ folder: borrowing Folder, _ newName: String
  ) throws(CrashReportDatabaseError) -> RenameResult {
    switch errno {
    case ENOENT: return .sourceMissing
    case EEXIST: return .targetExists
    default:
      throw CrashReportDatabaseError(
        systemCall: "renaming \(path)/\(name) to \(folder.path)/\(newName)", errno: errno)
    }
  }

  /// Puts a small file in place so that it is there whole or not at all, a power cut included.
  ///
  /// - Parameters:
  ///   - workshop: the folder, on the same file system, in which it is written first.
  ///   - replacing: whether a file under that name may be lost.
  /// - Returns: false if there was one and it was not to be replaced.
  package func put(
    _ bytes: [UInt8], as name: String, by workshop: borrowing Folder, replacing: Bool
  ) throws(CrashReportDatabaseError) -> Bool {
    let temporaryName = "\(name).\(UInt64.random(in: .min ... .max)).tmp"
    guard let file = try workshop.create(temporaryName) else {
      throw CrashReportDatabaseError(
        systemCall: "making \(workshop.path)/\(temporaryName)", errno: EEXIST)
    }
    do throws(CrashReportDatabaseError) {
      try file.write(bytes)
      try file.synchronize()
      switch try workshop.rename(temporaryName, to: self, name, replacing: replacing) {
      case .done:
        try synchronize()
        return true
      case .targetExists:
        try workshop.remove(temporaryName)
        return false
      case .sourceMissing:
        throw CrashReportDatabaseError(.newReportLost, "\(workshop.path)/\(temporaryName)")
      }
    } catch {
      try? workshop.remove(temporaryName)
      throw error
    }
  }
}
