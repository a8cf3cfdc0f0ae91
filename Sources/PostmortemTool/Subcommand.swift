/// One word that `postmortem` understands.
protocol Subcommand: SendableMetatype {
  static var name: String { get }
  /// One line for the list of subcommands.
  static var summary: String { get }
  /// What `--help` prints, ending in a line feed.
  static var help: String { get }

  /// Does it; the words are those behind the subcommand's name.
  static func run(_ words: [String]) throws
}
