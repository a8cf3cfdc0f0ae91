internal import Foundation

/// Runs gdb on a core file.
public enum GDB {
  /// Opens a core file and returns what gdb shows.
  ///
  /// - Parameters:
  ///   - directory: a directory for the script; the caller makes and removes it.
  ///   - armRoot: the files of the arm64 machine that wrote the core file; nil for this machine.
  public static func view(
    core: String, of executable: String, directory: String, armRoot: String? = nil
  ) async throws -> DebuggerView {
    try Door.requireProofs("GDB")
    let tool = armRoot == nil ? OutsideTool.gdb : .multiarchGDB
    guard let gdb = tool.path else { throw OutsideToolError("no \(tool.rawValue) in PATH") }
    let path = directory + "/view.py"
    let names = armRoot == nil ? DebuggerView.registerNames : DebuggerView.registerNamesOfARM64
    try script.replacing("@registers", with: names.joined(separator: " "))
      .write(toFile: path, atomically: false, encoding: .utf8)
    let root = armRoot.map { ["-iex", "set sysroot " + $0] } ?? []
    let child = try await ChildProcess.run(
      gdb, ["-batch", "-nx"] + root + ["-x", path, executable, core], in: directory,
      environment: ["DEBUGINFOD_URLS": ""])
    let view = parse(child.standardOutput)
    guard child.end.exitCode == 0, view.crashedThread != nil else {
      throw OutsideToolError("gdb: \(child.end)\n\(child.standardOutput)\(child.standardError)")
    }
    return view
  }

  /// Prints one fact in each line, after a word that gdb itself would not print.
  private static let script = """
    import gdb
    gdb.execute("set print demangle off")
    gdb.execute("set backtrace past-main on")
    gdb.execute("set backtrace past-entry on")
    registers = "@registers".split()
    # A thread's name and others gdb prints in between go to the same output; facts have a mark.
    def say(*words): print("@fact", *words)
    for thread in gdb.selected_inferior().threads(): say("thread", thread.ptid[1])
    say("crashed", gdb.selected_thread().ptid[1])
    information = gdb.parse_and_eval("$_siginfo")
    say("signal", int(information["si_signo"]), int(information["si_code"]),
        hex(int(information["_sifields"]["_sigfault"]["si_addr"])))
    for name in registers:
        value = gdb.parse_and_eval("$" + name)
        say("register", name, hex(int(value.cast(gdb.lookup_type("long"))) & (2**64 - 1)))
    def lines(word):
        frame = gdb.newest_frame()
        count = 0
        while frame is not None and count < 96:
            if frame.type() == gdb.SIGTRAMP_FRAME: say("source-handler", word)
            elif frame.type() != gdb.TAILCALL_FRAME:
                function = frame.function()
                # Of extern "C" functions in C++ gdb shows the parameters.
                name = (function.linkage_name or function.name) if function else frame.name()
                if name is not None and name.endswith("()"): name = name[:-2]
                line = frame.find_sal()
                file = line.symtab.fullname() if line.symtab else "-"
                newer = frame.newer()
                # Calls inlined at an address share it with the function that they are in.
                while newer is not None and newer.type() == gdb.INLINE_FRAME: newer = newer.newer()
                exact = newer is None or newer.type() == gdb.SIGTRAMP_FRAME
                kind = "inlined" if frame.type() == gdb.INLINE_FRAME else "exact" if exact else "call"
                say("source", word, kind, hex(frame.pc()), line.line if line.symtab else 0, file + "|" + (name or "-"))
                count += 1
            frame = frame.older()
    def walk(word):
        frame = gdb.newest_frame()
        count = 0
        try:
            while frame is not None and count < 2000:
                if frame.type() != gdb.INLINE_FRAME:
                    # The instruction pointer of a caller is behind its call, which may be the function's last.
                    address = frame.pc() - (1 if count > 0 else 0)
                    # Decimal: in frames of some languages gdb does not read 0x.
                    text = gdb.execute("info symbol %d" % address, to_string=True)
                    name = "-" if text.startswith("No symbol") else text.split(" in section ")[0].split(" + ")[0]
                    if frame.type() == gdb.SIGTRAMP_FRAME: say("handler", word)
                    elif frame.type() == gdb.TAILCALL_FRAME: say("tail-call", word, hex(frame.pc()), name)
                    else: say("frame", word, hex(frame.pc()), name)
                    count += 1
                frame = frame.older()
        except gdb.error as error:
            say("lost", word)
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        walk(thread.ptid[1])
        try: lines(thread.ptid[1])
        except gdb.error as error: say("lost", thread.ptid[1])
    """

  static func parse(_ output: String) -> DebuggerView {
    var view = DebuggerView()
    view.transcript = output
    for line in output.split(separator: "\n") {
      // Warnings may precede a fact on its line.
      guard let mark = line.range(of: "@fact ") else { continue }
      let words = line[mark.upperBound...].split(separator: " ").map(String.init)
      switch (words.first, words.count) {
      case ("thread", 2): if let id = UInt32(words[1]) { view.threads.append(id) }
      case ("crashed", 2): view.crashedThread = UInt32(words[1])
      case ("signal", 4):
        view.signal = Int32(words[1])
        view.signalCode = Int32(words[2])
        view.signalAddress = DebuggerView.number(words[3])
      case ("register", 3): view.registers[words[1]] = DebuggerView.number(words[2])
      case ("frame", 4), ("tail-call", 4):
        guard let id = UInt32(words[1]), let address = DebuggerView.number(words[2]) else {
          continue
        }
        let frame = DebuggerView.Frame(
          address: address, function: words[3] == "-" ? nil : words[3])
        if words[0] == "frame" { view.stacks[id, default: []].append(frame) }
        view.stacksWithTailCalls[id, default: []].append(frame)
      // The interrupted function follows the frame to which the handler returns.
      case ("handler", 2):
        guard let id = UInt32(words[1]) else { continue }
        view.stacks[id] = []
        view.stacksWithTailCalls[id] = []
      case ("source-handler", 2): if let id = UInt32(words[1]) { view.sources[id] = [] }
      case ("source", 6...):
        let rest = words[5...].joined(separator: " ").split(separator: "|", maxSplits: 1)
        guard let id = UInt32(words[1]), let address = DebuggerView.number(words[3]),
          let line = Int(words[4]), rest.count == 2
        else { continue }
        view.sources[id, default: []].append(
          .init(
            address: address, isInlined: words[2] == "inlined",
            isReturnAddress: words[2] == "call", function: String(rest[1]),
            file: rest[0] == "-" || line == 0 ? nil : String(rest[0]), line: line))
      default: continue
      }
    }
    view.frames = view.crashedThread.flatMap { view.stacks[$0] } ?? []
    return view
  }
}
