/// One subcommand of `postmortem`.
protocol Subcommand: SendableMetatype {
  static var name: String { get }
  /// Other names for the subcommand.
  static var aliases: [String] { get }
  /// A description in one line, for the list of subcommands.
  static var summary: String { get }
  /// The usage lines, each without "postmortem" and the subcommand's name.
  static var usage: [String] { get }
  /// Paragraphs of help before the options, separated by empty lines; the lines of an indented paragraph are not
  /// wrapped.
  static var discussion: String { get }
  static var options: [CommandOption] { get }
  /// The allowed number of operands, and what they mean.
  static var operands: Operands { get }
  /// Paragraphs of help after the options, such as exit statuses.
  static var closing: String { get }

  /// Runs the subcommand with the words after its name.
  static func run(_ words: [String]) throws
}

/// The operands that a subcommand accepts: the words of its command line that are not options.
struct Operands: Sendable {
  let count: ClosedRange<Int>
  /// The word for the operands in an error about missing operands, such as "DIR" or "ID".
  let name: String
  let completion: CommandOption.Completion
  /// True if the first operand and everything after it are another program's command line.
  let isCommand: Bool

  init(
    _ count: ClosedRange<Int>, _ name: String,
    completing completion: CommandOption.Completion = .nothing, isCommand: Bool = false
  ) {
    self.count = count
    self.name = name
    self.completion = completion
    self.isCommand = isCommand
  }

  static let none = Operands(0...0, "")
  /// The operand DIR, a database's directory that is written with a slash.
  static let database = Operands(0...1, "DIR", completing: .directory)
}

extension Subcommand {
  static var aliases: [String] { [] }
  static var closing: String { "" }

  /// The output of `--help`, at most 80 columns wide, ending in a line feed.
  static var help: String {
    var parts = [HelpText.paragraphs(discussion)]
    let lines = usage.map { "postmortem \(name) \($0)" }
    parts.insert(HelpText.usage(lines), at: 1)
    let first = HelpText.firstParagraph(of: discussion)
    parts[0] = HelpText.paragraphs(first.head)
    if !first.rest.isEmpty { parts.append(HelpText.paragraphs(first.rest)) }
    if !options.isEmpty { parts.append("Options:\n" + HelpText.table(options)) }
    if !closing.isEmpty { parts.append(HelpText.paragraphs(closing)) }
    return parts.joined(separator: "\n")
  }
}
