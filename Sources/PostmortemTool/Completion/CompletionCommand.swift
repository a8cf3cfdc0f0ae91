/// The subcommand `postmortem completion bash|zsh|fish`.
enum CompletionCommand: Subcommand {
  static let name = "completion"
  static let summary = "print a completion script for a shell"
  static let usage = ["bash|zsh|fish"]
  static let discussion = """
    Prints a script with which a shell completes subcommands, options, report IDs, programs and process IDs.

      bash: source <(postmortem completion bash)
      zsh:  postmortem completion zsh > "${fpath[1]}/_postmortem"
      fish: postmortem completion fish > ~/.config/fish/completions/postmortem.fish

    The script asks postmortem for the words, so you need not create it again for a new version.
    """
  static let options: [CommandOption] = []
  static let operands = Operands(1...1, "SHELL", completing: .words(["bash", "zsh", "fish"]))

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    switch arguments.operands[0] {
    case "bash": try StandardOutput.print(bash)
    case "zsh": try StandardOutput.print(zsh)
    case "fish": try StandardOutput.print(fish)
    default: throw arguments.usage("the shell must be bash, zsh or fish")
    }
  }

  private static let bash = #"""
    _postmortem() {
      local line kind=none word=${COMP_WORDS[COMP_CWORD]}
      COMPREPLY=()
      # Bash treats the "=" of "--option=" as a word.
      [ "$word" = = ] && word=
      while IFS= read -r line; do
        case $line in
          :*) kind=${line#:} ;;
          *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
      done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
      case $kind in
        directories | files)
          compopt -o filenames 2>/dev/null
          local flag=-f
          [ "$kind" = directories ] && flag=-d
          while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $flag -- "$word")
          ;;
      esac
    }
    complete -F _postmortem postmortem

    """#

  private static let zsh = #"""
    #compdef postmortem
    _postmortem() {
      local line kind=none
      local -a candidates
      while IFS= read -r line; do
        case $line in
          :*) kind=${line#:} ;;
          *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
      done < <("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
      (( $#candidates )) && _describe -V -t values postmortem candidates
      case $kind in
        directories) _files -/ ;;
        files) _files ;;
      esac
    }
    if [ "$funcstack[1]" = _postmortem ]; then
      _postmortem "$@"
    else
      compdef _postmortem postmortem
    fi

    """#

  private static let fish = #"""
    function __postmortem_complete
        set -l words (commandline -opc) (commandline -ct)
        set -l name $words[1]
        set -e words[1]
        for line in ($name __complete $words 2>/dev/null)
            switch $line
                case ':directories'
                    __fish_complete_directories (commandline -ct)
                case ':files'
                    __fish_complete_path (commandline -ct)
                case ':*'
                case '*'
                    echo $line
            end
        end
    end
    complete -c postmortem -f -k -a '(__postmortem_complete)'

    """#
}
