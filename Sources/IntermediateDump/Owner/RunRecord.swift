/// Who owns a locked file, as its owner wrote it down at launch: what the next start compares with
/// the processes that live then.
package struct RunRecord: Sendable, Equatable {
  /// A run record is a few hundred bytes; a longer file is something else.
  package static let maximumSize = 64 << 10

  package var processID: UInt32
  /// Clock ticks after boot.
  package var startTime: UInt64
  /// Where the initial stack began; another one after exec.
  ///
  /// 0 where it was not known.
  package var stackStart: UInt64
  package var bootID: String
  /// The inode of the PID namespace: process IDs of different namespaces cannot be compared.
  ///
  /// Nil where it was not known.
  package var processNamespace: UInt64?
  /// Nanoseconds since 1970; nil where it was not known.
  package var launchTime: Int64?

  package init(
    processID: UInt32, startTime: UInt64, stackStart: UInt64, bootID: String,
    processNamespace: UInt64?, launchTime: Int64?
  ) {
    self.processID = processID
    self.startTime = startTime
    self.stackStart = stackStart
    self.bootID = bootID
    self.processNamespace = processNamespace
    self.launchTime = launchTime
  }

  /// Reads a run record; nil if it is torn or does not say enough to judge by.
  package init?(bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes), document.isComplete,
      let owner = document.root.map(.owner),
      let processID = owner.unsigned(.ownerProcessID).flatMap(UInt32.init(exactly:)),
      processID > 0,
      let startTime = owner.unsigned(.ownerStartTime), startTime > 0,
      let bootID = owner.text(.ownerBootID), !bootID.isEmpty
    else { return nil }
    self.init(
      processID: processID, startTime: startTime, stackStart: owner.unsigned(.ownerStackStart) ?? 0,
      bootID: Self.bootID(of: Array(bootID.utf8)),
      processNamespace: owner.unsigned(.ownerProcessNamespace).flatMap { $0 == 0 ? nil : $0 },
      launchTime: owner.signed(.ownerLaunchTime))
  }

  /// The record as it is stored: an intermediate dump of one map.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.owner)
      writer.unsigned(.ownerProcessID, UInt64(processID), width: 4)
      writer.unsigned(.ownerStartTime, startTime)
      writer.unsigned(.ownerStackStart, stackStart)
      writer.text(.ownerBootID, bootID)
      writer.unsigned(.ownerProcessNamespace, processNamespace ?? 0)
      if let launchTime { writer.signed(.ownerLaunchTime, launchTime) }
      writer.end()
      _ = writer.endDocument()
    }
  }

  /// The text of `/proc/sys/kernel/random/boot_id` without the line's end.
  package static func bootID(of text: [UInt8]) -> String {
    String(decoding: text.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
  }
}
