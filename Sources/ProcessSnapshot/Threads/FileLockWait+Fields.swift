internal import IntermediateDump

extension FileLockWait {
  static let mapFields = MapFields(
    FileLockWait(threadID: 0, holder: 0),
    [
      .required(.fileLockThreadID, \.threadID),
      .required(.fileLockHolder, \.holder),
      .optional(.fileLockHolderName, \.holderName),
    ])
}
