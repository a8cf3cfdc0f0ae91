internal import CrashReportDatabase
internal import CrashReportUpload
internal import Foundation
internal import IntermediateDump
internal import Minidump

/// A report on its way in: parts go to files in `new/`, and nothing is kept until all is there.
final class ReceivedReport {
  /// What a field may be, and all of them; also the names that are kept.
  private static let maximumFields = 1 << 20
  private static let maximumFiles = 64

  /// A part's file, removed with this value.
  private final class File {
    let part: MultipartParser.Part
    let name: String
    let folder: Folder
    let file: OpenFile
    var size: Int64 = 0

    init(_ part: MultipartParser.Part, in database: CrashReportDatabase)
      throws(CrashReportDatabaseError)
    {
      self.part = part
      folder = try database.open().subfolder(StoredReport.State.new.rawValue)
      name = "\(UInt64.random(in: .min ... .max)).received.tmp"
      guard let file = try folder.create(name) else {
        throw CrashReportDatabaseError(.fileSystemError, "\(folder.path)/\(name) is there already")
      }
      self.file = file
    }

    deinit { try? folder.remove(name) }

    var path: String { "\(folder.path)/\(name)" }

    /// True for what begins like one.
    var isMinidump: Bool { (try? file.read(at: 0, count: 4)) == Array("MDMP".utf8) }
  }

  private let database: CrashReportDatabase
  private var fields: [String: String] = [:]
  private var fieldBytes = 0
  private var current: (part: MultipartParser.Part, bytes: [UInt8])?
  private var currentFile: File?
  private var minidump: File?
  private var attachments: [File] = []

  init(_ database: CrashReportDatabase) { self.database = database }

  /// Takes a piece of the form.
  func take(_ event: MultipartParser.Event) throws(HTTPFailure) {
    do throws(CrashReportDatabaseError) {
      switch event {
      case .began(let part): try begin(part)
      case .content(let bytes): try add(bytes)
      case .ended: end()
      }
    } catch {
      throw HTTPFailure(507, "the report cannot be stored: \(error.code)")
    }
    guard fieldBytes <= Self.maximumFields, attachments.count <= Self.maximumFiles else {
      throw HTTPFailure(413, "too many fields or files")
    }
    if event == .ended, let minidump, !minidump.isMinidump {
      throw HTTPFailure(400, "not a minidump")
    }
  }

  private func begin(_ part: MultipartParser.Part) throws(CrashReportDatabaseError) {
    if part.fileName != nil || part.name == ReportForm.minidumpPart {
      currentFile = try File(part, in: database)
    } else {
      current = (part, [])
    }
    fieldBytes += part.name.utf8.count + (part.fileName?.utf8.count ?? 0)
  }

  private func add(_ bytes: [UInt8]) throws(CrashReportDatabaseError) {
    if let currentFile {
      try currentFile.file.write(bytes)
      currentFile.size &+= Int64(bytes.count)
    } else if fieldBytes <= Self.maximumFields {
      current?.bytes += bytes
      fieldBytes += bytes.count
    }
  }

  private func end() {
    if let current {
      fields[current.part.name] = String(decoding: current.bytes, as: UTF8.self)
    }
    if let currentFile {
      // Of two minidumps the first is the report's.
      if currentFile.part.name == ReportForm.minidumpPart, minidump == nil {
        minidump = currentFile
      } else {
        attachments.append(currentFile)
      }
    }
    (current, currentFile) = (nil, nil)
  }

  /// Puts the report into the database.
  ///
  /// - Returns: its ID, and whether it was there already.
  func store() throws(HTTPFailure) -> (id: ReportID, size: Int64, isNew: Bool) {
    guard let minidump else {
      throw HTTPFailure(400, "no part \(ReportForm.minidumpPart)")
    }
    // The client's name for the report, which is the same each time it is sent; else the
    // minidump's own.
    let id =
      fields[ReportForm.reportIDField].flatMap { ReportID($0) }
      ?? MinidumpAnnotations { offset, count in
        (try? minidump.file.read(at: offset, count: count)) ?? []
      }?.reportID ?? ReportID()
    let size = attachments.reduce(minidump.size) { $0.clampedAdding($1.size) }
    do throws(CrashReportDatabaseError) {
      let report = try database.prepareNewReport(id)
      try copy(minidump, to: report.descriptor)
      try attach(to: id)
      try report.finish()
      return (id, size, true)
    } catch  where error.code == .reportExists {
      return (id, 0, false)
    } catch {
      throw HTTPFailure(507, "the report cannot be stored: \(error.code)")
    }
  }

  private func copy(_ file: borrowing File, to descriptor: Int32) throws(CrashReportDatabaseError) {
    var offset: Int64 = 0
    while true {
      var piece = try file.file.read(at: offset, count: 256 << 10)[...]
      guard !piece.isEmpty else { return }
      offset &+= Int64(piece.count)
      while !piece.isEmpty {
        let count = unsafe piece.withUnsafeBytes {
          unsafe Foundation.write(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          throw CrashReportDatabaseError(systemCall: "writing the report", errno: errno)
        }
        piece = piece.dropFirst(count)
      }
    }
  }

  private func attach(to id: ReportID) throws(CrashReportDatabaseError) {
    var files = attachments
    var names = files.map { $0.part.fileName ?? $0.part.name }
    if !fields.isEmpty, let text = try? JSON.text(of: fields) {
      let part = MultipartParser.Part(name: "form-fields.json", fileName: "form-fields.json")
      let file = try File(part, in: database)
      try file.file.write(Array(text.utf8))
      files.insert(file, at: 0)
      names.insert("form-fields.json", at: 0)
    }
    for (file, name) in zip(files, StoredAttachment.names(for: names)) {
      _ = try database.attach(file.path, as: name, to: id, limit: .max)
    }
  }
}
