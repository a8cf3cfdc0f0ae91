/// The subcommand `postmortem completion bash|zsh|fish`.
enum CompletionCommand: Subcommand {
  static let name = "completion"
  static let summary = "print a script that lets a shell complete subcommands and options"
  static let help = """
    Prints a script that lets a shell complete subcommands and options.

    Usage: postmortem completion bash|zsh|fish

    For bash: source <(postmortem completion bash)
    For zsh:  postmortem completion zsh > "${fpath[1]}/_postmortem"
    For fish: postmortem completion fish > ~/.config/fish/completions/postmortem.fish

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 1...1, help: help)
    switch arguments.operands[0] {
    case "bash": Terminal.print(bash)
    case "zsh": Terminal.print(zsh)
    case "fish": Terminal.print(fish)
    default:
      throw ToolError.usage("the shells are bash, zsh and fish", help: help)
    }
  }

  private static var names: String {
    PostmortemTool.subcommands.map { $0.name }.joined(separator: " ")
  }

  private static var bash: String {
    let cases = PostmortemTool.subcommands.map { command in
      "    \(command.name)) options='\(options(command).map(\.name).joined(separator: " "))' ;;"
    }.joined(separator: "\n")
    return """
      _postmortem() {
        local options= word=${COMP_WORDS[COMP_CWORD]}
        if [ "$COMP_CWORD" = 1 ]; then
          COMPREPLY=($(compgen -W 'help \(names)' -- "$word"))
          return
        fi
        case ${COMP_WORDS[1]} in
          help) options='\(names)' ;;
      \(cases)
        esac
        COMPREPLY=($(compgen -W "$options" -- "$word"))
      }
      complete -o default -F _postmortem postmortem

      """
  }

  private static var zsh: String {
    let commands = PostmortemTool.subcommands.map { "    \(quoted("\($0.name):\($0.summary)"))" }
    let cases = PostmortemTool.subcommands.map { command in
      let options = options(command).map { " " + quoted("\($0.name)[\($0.text)]") }
      return "    \(command.name)) _arguments\(options.joined()) '*:file:_files' ;;"
    }
    return """
      #compdef postmortem
      _postmortem() {
        local -a commands=(
      \(commands.joined(separator: "\n"))
        )
        if (( CURRENT == 2 )); then
          _describe command commands
          return
        fi
        shift words
        (( CURRENT-- ))
        case $words[1] in
          help) _describe command commands ;;
      \(cases.joined(separator: "\n"))
        esac
      }
      _postmortem "$@"

      """
  }

  private static var fish: String {
    var lines: [String] = []
    for command in PostmortemTool.subcommands {
      lines.append(
        "complete -c postmortem -n __fish_use_subcommand -a \(command.name) -d "
          + quoted(command.summary))
      for option in options(command) {
        let kind = option.name.hasPrefix("--") ? "-l" : "-s"
        lines.append(
          "complete -c postmortem -n '__fish_seen_subcommand_from \(command.name)' \(kind) "
            + "\(option.name.drop { $0 == "-" }) -d \(quoted(option.text))")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// The options that a subcommand's help describes, with the beginning of their texts.
  static func options(_ command: any Subcommand.Type) -> [(name: String, text: String)] {
    let lines = command.help.split(separator: "\n")
    return lines.indices.flatMap { index -> [(name: String, text: String)] in
      guard lines[index].hasPrefix("  -") else { return [] }
      // Names, several with a comma between them and each perhaps with its value, then two blanks and
      // the text; or that is on the next line.
      let parts = lines[index].drop { $0 == " " }.split(separator: "  ", maxSplits: 1)
      let next = lines.dropFirst(index + 1).first ?? ""
      let text = parts.dropFirst().first ?? (next.hasPrefix("   ") ? next : "")
      let plain = text.drop { $0 == " " }.filter { !"[]:".contains($0) }
      return (parts.first ?? "").split(separator: ",").compactMap { names in
        names.split(separator: " ").first.map { (String($0), String(plain)) }
      }
    }
  }
}
