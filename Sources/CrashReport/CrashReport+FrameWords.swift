extension CrashReport.Frame {
  /// Such as "App/main.swift:12:3"; "near" says that no line stands for the code itself.
  var lineText: String? {
    guard let line, let file else { return nil }
    let column = column.map { ":\($0)" } ?? ""
    return (lineApproximate == true ? "near " : "")
      + "\(TextReport.shortPath(file)):\(line)\(column)"
  }

  /// The words that say that a frame is no ordinary call, or may be wrong.
  var doubt: String? {
    switch trust {
    case "scan": "scan"
    case _ where inlined == true: "inlined"
    default: nil
    }
  }
}

extension CrashReport.Module {
  /// The last component of the path; nil for an empty one.
  var name: String? { path.split(separator: "/").last.map(String.init) }
}
