import CrashHandler

extension Section {
  /// The name of the function that writes the section: `pm_` and the words of the case.
  var symbol: String {
    "pm_" + "\(self)".map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
  }
}
