import IntermediateDump

/// What `postmortem` prints as JSON, as far as the suites of this folder read it.
enum ToolReply {
  /// A report or a dump in the output of `list` and `prune`.
  struct Listed: Decodable {
    struct Upload: Decodable {
      let state: String
      let attempts: Int
      let requested: Bool
      let note: String?
      let refusedSince: String?
      let nextAttempt: String?
      let serverID: String?
    }

    let reportID: String
    let state: String
    let creationTime: Timestamp
    let path: String
    let time: Timestamp?
    let program: String?
    let pid: UInt64?
    let signal: String?
    let cause: String?
    let upload: Upload?
  }

  /// A dump in the output of `process` and `watch`.
  struct Processed: Decodable {
    let reportID: String
    let outcome: String
    let reason: String?
    let until: String?

    var isFailure: Bool { outcome == "failed" || outcome == "quarantined" }
  }

  struct Amount: Decodable, Equatable {
    var count = 0
    var bytes: Int64 = 0
  }

  /// The output of `stats`.
  struct Statistics: Decodable {
    struct Dumps: Decodable {
      let waiting: Amount
    }

    struct Reports: Decodable, Equatable {
      var writing = Amount()
      var pending = Amount()
      var uploaded = Amount()
      var skipped = Amount()
    }

    let dumps: Dumps
    let quarantine: Amount
    let reports: Reports
    let oldestReport: Timestamp?
    let newestReport: Timestamp?
    let clientID: String?
    let uploadsEnabled: Bool
  }
}
