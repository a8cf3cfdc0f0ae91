package import IntermediateDump

/// The facts of a database's reports, stored in its file `reports.index`.
///
/// The index is only a cache: each record can be created again from its minidump. A record is used only if the
/// minidump's size and time of last change are the same as in the record. A caller is never told of file errors,
/// because facts that the index does not provide can be read from the minidump. Records are appended with one write, so
/// converters need no lock. A record that does not match its digest is ignored. Reading ends at the first offset where
/// no record begins, and `isWorn(reports:)` is then true, which means that the file must be written again.
///
/// A record is little-endian. A record's head contains a magic number (4 bytes), the size of the rest (4 bytes) and the
/// digest of the rest (8 bytes). The rest contains the report's ID (16 bytes), the minidump's size (8 bytes), the time
/// of the minidump's last change (8 bytes, in nanoseconds), the facts, and their details. Only 24 bytes of each record
/// are in memory. The other bytes are read from the file when they are used.
package final class ReportIndex: Sendable {
  package static let fileName = "reports.index"

  /// The magic number "PMI4", which changes if the rules of signatures change, because records contain signatures.
  private static let magic: UInt32 = 0x3449_4D50
  private static let headSize = 16
  private static let keySize = 32
  private static let maximumRecordSize = 16 << 10
  /// The maximum size of the file in bytes.
  ///
  /// A longer file is not read but written again, without the records of deleted reports.
  private static let maximumFileSize = 1 << 34

  /// Where a record's contents, without the record's head, are in the file.
  private struct Place: Comparable {
    let id: ReportID
    /// The offset in the file and, in the lowest 16 bits, the size.
    let bits: UInt64

    var offset: Int64 { Int64(clamping: bits >> 16) }
    var size: Int { Int(clamping: bits & 0xFFFF) }

    static func < (left: Place, right: Place) -> Bool {
      (left.id, left.bits) < (right.id, right.bits)
    }
  }

  /// The file of the index; nil if it does not exist or cannot be read.
  private let file: OpenFile?
  /// The positions of the records, sorted by report and offset; the last position for a report is that of its newest
  /// record.
  private let places: [Place]
  private let isDamaged: Bool

  /// Reads the undamaged part of the file; returns an index without records if no file can be read.
  ///
  /// - Parameter database: the database's directory.
  package init(in database: borrowing Directory) {
    var places: [Place] = []
    guard let file = try? database.open(Self.fileName), let size = try? file.status().size,
      size <= Int64(Self.maximumFileSize)
    else {
      self.file = nil
      self.places = places
      // A file whose status cannot be read also counts as damaged.
      isDamaged = (try? database.status(of: Self.fileName) == nil) != true
      return
    }
    // Another process may be appending a record. Reading ends before an incomplete record.
    var offset: Int64 = 0
    var piece = FilePiece()
    while offset < size, let place = Self.place(at: offset, of: file, &piece) {
      places.append(place)
      offset = place.offset.clampedAdding(Int64(place.size))
    }
    places.sort()
    self.file = consume file
    self.places = places
    isDamaged = offset != size
  }

  /// The facts of a report; nil if the index lacks them, and they must be read from the minidump.
  ///
  /// - Parameter withDetails: false to leave out `details`, which make up most of a record.
  package func facts(of report: StoredReport, withDetails: Bool = true) -> ReportFacts? {
    facts(of: Key(of: report), withDetails: withDetails)
  }

  /// The facts of the minidump that `key` identifies; nil if the index lacks them.
  package func facts(of key: Key, withDetails: Bool = true) -> ReportFacts? {
    guard let place = place(of: key.id), let bytes = bytes(at: place),
      bytes.littleEndian(at: 16, as: Int64.self) == key.size,
      bytes.littleEndian(at: 24, as: Int64.self) == key.modificationTime
    else { return nil }
    return ReportFacts(reading: bytes.dropFirst(Self.keySize), withDetails: withDetails)
  }

  /// The part of the file that was read last; a record in this part needs no system call.
  private struct FilePiece {
    private var start: Int64 = 0
    private var bytes: [UInt8] = []

    /// Reads bytes at an offset; nil if the file cannot be read, or ends before the last of these bytes.
    mutating func bytes(
      at offset: Int64, count: Int, of file: borrowing OpenFile
    ) -> ArraySlice<UInt8>? {
      var position = Int(clamping: offset.clampedSubtracting(start))
      if position < 0 || position > bytes.count - count {
        guard let read = try? file.read(at: offset, count: 256 << 10), read.count >= count else {
          return nil
        }
        (start, bytes, position) = (offset, read, 0)
      }
      return bytes[position..<position + count]
    }
  }

  /// The position of the record that begins at an offset; nil if no record begins there.
  private static func place(
    at offset: Int64, of file: borrowing OpenFile, _ piece: inout FilePiece
  ) -> Place? {
    guard let head = piece.bytes(at: offset, count: headSize + 16, of: file),
      head.littleEndian(at: 0, as: UInt32.self) == magic,
      let size = head.littleEndian(at: 4, as: UInt32.self).map({ Int($0) }),
      size >= keySize, size <= maximumRecordSize,
      let id = ReportID(head, at: headSize)
    else { return nil }
    let start = UInt64(clamping: offset.clampedAdding(Int64(headSize)))
    return Place(id: id, bits: start << 16 | UInt64(clamping: size))
  }

  private func place(of id: ReportID) -> Place? {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].id <= id { low = middle + 1 } else { high = middle }
    }
    guard low > 0, places[low - 1].id == id else { return nil }
    return places[low - 1]
  }

  /// The bytes of a record without its head; nil if they cannot be read, or do not match the record's digest.
  private func bytes(at place: Place) -> ArraySlice<UInt8>? {
    let head = Self.headSize
    guard place.offset >= head,
      let record = try? file?.read(
        at: place.offset.clampedSubtracting(Int64(head)), count: head + place.size),
      record.count == head + place.size,
      let digest = record.littleEndian(at: 8, as: UInt64.self),
      DumpDigest.ofWords(record.dropFirst(head)) == digest
    else { return nil }
    return record.dropFirst(head)
  }

  /// The programs that have, or lately had, a report.
  var programs: Set<String> {
    Set(
      places.compactMap { place in
        bytes(at: place).flatMap {
          ReportFacts(reading: $0.dropFirst(Self.keySize), withDetails: false)?.program
        }
      })
  }

  /// True if the file must be written again: if it is damaged, or has more than two records for each report plus 1,000.
  ///
  /// - Parameter count: the number of the database's reports.
  package func isWorn(reports count: Int) -> Bool {
    isDamaged || places.count > 1000 + 2 * count
  }
}

extension ReportIndex {
  /// Identifies the minidump from which a record was made.
  package struct Key: Sendable {
    let id: ReportID
    let size: Int64
    let modificationTime: Int64

    package init(of report: StoredReport) {
      id = report.id
      size = report.size
      modificationTime = report.modificationTime
    }

    /// - Parameter status: the status of the minidump, after the last write to it.
    package init(_ id: ReportID, status: FileStatus) {
      self.id = id
      size = status.size
      modificationTime = status.modificationTime
    }
  }

  /// Appends records; a failure is not an error, because the facts of missing records are read from the minidumps
  /// again.
  package static func append(
    _ reports: [(key: Key, facts: ReportFacts)], in database: borrowing Directory
  ) {
    try? database.append(reports.flatMap { record(of: $0.key, $0.facts) }, to: fileName)
  }

  /// Replaces the index file with a file of these records; a failure is ignored.
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
    record.append(littleEndian: DumpDigest.ofWords(rest[...]))
    return record + rest
  }
}
