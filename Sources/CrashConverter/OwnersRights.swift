internal import CrashReportDatabase
internal import Glibc
internal import PendingDumps

/// Runs a conversion with the file permissions of the database's owner, if this process is root and the owner is
/// another user.
///
/// Files that the conversion creates belong to that user, and modules and attachments are opened with that user's
/// permissions.
func withOwnersRights<Value>(
  to path: String, _ body: () throws(CrashConverterError) -> Value
) throws(CrashConverterError) -> Value {
  let owner: DatabaseOwner?
  do throws(CrashReportDatabaseError) {
    owner = try DatabaseOwner(of: DatabaseDirectory.place(path))
  } catch {
    throw CrashConverterError(.databaseUnusable, error)
  }
  guard let owner else { return try body() }
  let result: Result<Value, CrashConverterError>
  do throws(CrashReportDatabaseError) {
    result = try owner.run {
      do throws(CrashConverterError) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
  } catch {
    throw CrashConverterError(.databaseUnusable, error)
  }
  do throws(CrashConverterError) {
    return try result.get()
  } catch {
    guard error.errno == EACCES || error.errno == EPERM else { throw error }
    throw error.adding(
      "files that root created in it earlier still belong to root: chown -R \(owner.user):\(owner.group) "
        + path)
  }
}
