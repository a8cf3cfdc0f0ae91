package import IntermediateDump

/// The facts of a database's reports, kept in its file `reports.index`.
///
/// A cache, never the truth: each record can be had again from its minidump, counts only for a
/// minidump of the size and time of last change that it was made of, and no error of the file is one of
/// a caller. Each record is appended by one write, so that converters need no lock. A damaged record
/// ends the reading; `isWorn` then says that the file is to be written anew.
///
/// Layout of a record, little-endian: magic (4 bytes), size (4) and digest (8) of the rest: the
/// report's ID (16), the minidump's size (8) and last change (8, in nanoseconds), and the facts.
package struct ReportIndex: Sendable {
  package static let fileName = "reports.index"

  private static let magic: UInt32 = 0x3149_4D50  // "PMI1"
  private static let headSize = 16
  private static let keySize = 32
  private static let maximumRecordSize = 16 << 10
  /// A longer file is written anew: it is mostly of reports that are gone.
  private static let maximumFileSize = 1 << 30

  private let bytes: [UInt8]
  /// The place of the last record of each report, behind its head.
  private var records: [ReportID: Range<Int>] = [:]
  private var recordCount = 0
  private var isDamaged = false

  /// Reads the file, as far as it is whole; an index without records where there is none.
  ///
  /// - Parameter database: the database's directory.
  package init(in database: borrowing Directory) {
    guard database.status(of: Self.fileName) != nil else {
      bytes = []
      return
    }
    guard let found = try? database.contents(of: Self.fileName, limit: Self.maximumFileSize)
    else {
      bytes = []
      isDamaged = true
      return
    }
    bytes = found
    var offset = 0
    while offset < bytes.count {
      guard let record = Self.record(at: offset, in: bytes),
        let id = ReportID(bytes: bytes[record.prefix(16)])
      else {
        isDamaged = true
        return
      }
      records[id] = record
      recordCount += 1
      offset = record.upperBound
    }
  }

  /// The facts of a report; nil where they are to be read from its minidump.
  package func facts(of report: StoredReport) -> ReportFacts? {
    guard let record = records[report.id] else { return nil }
    let rest = bytes[record]
    guard rest.littleEndian(at: 16, as: Int64.self) == report.size,
      rest.littleEndian(at: 24, as: Int64.self) == report.modificationTime
    else { return nil }
    return ReportFacts(reading: rest.dropFirst(Self.keySize))
  }

  /// True if the file is damaged, or has more records of reports that are gone than of others.
  ///
  /// - Parameter count: of the database's reports.
  package func isWorn(reports count: Int) -> Bool {
    isDamaged || recordCount > 1000 + 2 * count
  }

  /// Finds the bytes of a record that its digest covers; nil if it is damaged.
  private static func record(at offset: Int, in bytes: [UInt8]) -> Range<Int>? {
    let start = offset + headSize
    guard bytes.littleEndian(at: offset, as: UInt32.self) == magic,
      let size = bytes.littleEndian(at: offset + 4, as: UInt32.self),
      let digest = bytes.littleEndian(at: offset + 8, as: UInt64.self),
      size >= keySize, size <= maximumRecordSize, bytes.count - start >= Int(size)
    else { return nil }
    let record = start..<start + Int(size)
    return DumpDigest.of(bytes[record]) == digest ? record : nil
  }
}

extension ReportIndex {
  /// The minidump that a record is made of.
  package struct Key: Sendable {
    let id: ReportID
    let size: Int64
    let modificationTime: Int64

    package init(of report: StoredReport) {
      id = report.id
      size = report.size
      modificationTime = report.modificationTime
    }

    /// - Parameter status: the minidump's, after the last write to it.
    package init(_ id: ReportID, status: FileStatus) {
      self.id = id
      size = status.size
      modificationTime = status.modificationTime
    }
  }

  /// Appends records; a failure is no error, since missing records are read again.
  package static func append(
    _ reports: [(key: Key, facts: ReportFacts)], in database: borrowing Directory
  ) {
    try? database.append(reports.flatMap { record(of: $0.key, $0.facts) }, to: fileName)
  }

  /// Replaces the file by one of these records; a failure is no error.
  package static func rewrite(
    _ reports: [(key: Key, facts: ReportFacts)], in database: borrowing Directory
  ) {
    guard let workshop = try? database.subdirectory(.new) else { return }
    var bytes: [UInt8] = []
    for (key, facts) in reports { bytes += record(of: key, facts) }
    _ = try? database.put(bytes, as: fileName, by: workshop, replacing: true)
  }

  private static func record(of key: Key, _ facts: ReportFacts) -> [UInt8] {
    var rest = key.id.bytes
    rest.append(littleEndian: key.size)
    rest.append(littleEndian: key.modificationTime)
    facts.append(to: &rest)
    var record: [UInt8] = []
    record.append(littleEndian: magic)
    record.append(littleEndian: UInt32(clamping: rest.count))
    record.append(littleEndian: DumpDigest.of(rest))
    return record + rest
  }
}
