internal import IntermediateDump

/// Who owns a locked file, as its owner wrote it down at launch.
struct RunRecord: Sendable, Equatable {
  /// A run record is a few hundred bytes; a longer file is something else.
  static let maximumSize = 64 << 10

  var processID: UInt32
  /// Clock ticks after boot.
  var startTime: UInt64
  /// 0 where it was not known.
  var stackStart: UInt64
  var bootID: String
  /// Nil where it was not known.
  var processNamespace: UInt64?

  init(
    processID: UInt32, startTime: UInt64, stackStart: UInt64, bootID: String,
    processNamespace: UInt64?
  ) {
    self.processID = processID
    self.startTime = startTime
    self.stackStart = stackStart
    self.bootID = bootID
    self.processNamespace = processNamespace
  }

  /// Reads a run record; nil if it is torn or does not say enough to judge by.
  init?(bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes), document.isComplete,
      let owner = document.root.map(.owner),
      let processID = owner.unsigned(.ownerProcessID).flatMap(UInt32.init(exactly:)),
      processID > 0,
      let startTime = owner.unsigned(.ownerStartTime), startTime > 0,
      let bootID = owner.text(.ownerBootID), !bootID.isEmpty
    else { return nil }
    // As the kernel's file has it, but for the line's end, should the owner have kept that.
    let trimmed = String(decoding: bootID.utf8.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    self.init(
      processID: processID, startTime: startTime, stackStart: owner.unsigned(.ownerStackStart) ?? 0,
      bootID: trimmed,
      processNamespace: owner.unsigned(.ownerProcessNamespace).flatMap { $0 == 0 ? nil : $0 })
  }
}
