internal import Foundation

/// The toolchain's LLDB, which knows Swift, and its names for the objects of a crashing process.
public enum SwiftLLDB {
  /// The result of a run under LLDB.
  public struct View: Sendable {
    /// The program's standard output.
    public var output: String
    /// The types of the objects to which registers and the innermost 4 KiB of the stack point, by their addresses.
    public var types: [String: String]
    public var transcript: String
  }

  /// Nil if LLDB is installed and starts; otherwise the missing requirement.
  public static func obstacle() async -> String? {
    do {
      _ = try await environment()
      return nil
    } catch { return "\(error)" }
  }

  /// Runs a program up to its crash, lists its objects, and lets it end.
  public static func view(
    of program: String, _ arguments: [String], in directory: String
  ) async throws -> View {
    try Door.requireProofs("LLDB")
    let environment = try await environment()
    let (commands, script) = (directory + "/objects.lldb", directory + "/objects.py")
    let output = directory + "/output"
    try Self.script.write(toFile: script, atomically: false, encoding: .utf8)
    try """
    settings set target.output-path \(output)
    command script import \(script)
    run
    command script add -f objects.print_objects objects
    objects
    process handle -p true -s false -n false SIGSEGV SIGBUS SIGILL SIGTRAP SIGFPE SIGABRT
    process continue

    """.write(toFile: commands, atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      "lldb", ["--no-lldbinit", "--batch", "-s", commands, "--", program] + arguments,
      in: directory, environment: environment, patience: 180)
    var view = View(output: "", types: [:], transcript: child.standardOutput + child.standardError)
    view.output = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    for match in child.standardOutput.matches(of: /@object (0x[0-9a-f]+) ([^\n]*)/) {
      view.types[String(match.1)] = String(match.2)
    }
    return view
  }

  /// A word points to an object if the object starts with class metadata, whose descriptor is in a module and has
  /// the kind of a class.
  private static let script = """
    import lldb

    def print_objects(debugger, command, result, internal):
        target = debugger.GetSelectedTarget()
        process = target.GetProcess()
        frame = process.GetSelectedThread().GetFrameAtIndex(0)
        error = lldb.SBError()

        def word(address):
            value = process.ReadPointerFromMemory(address, error)
            return value if error.Success() else None

        def is_object(address):
            metadata = word(address) if address % 8 == 0 and address >= 65536 else None
            if not metadata or metadata % 8 or word(metadata) != 0:
                return False
            descriptor = word(metadata + 40)
            if not descriptor:
                return False
            # The five lowest bits are the kind of what is described: 16 is a class.
            flags = process.ReadUnsignedFromMemory(descriptor, 4, error)
            place = target.ResolveLoadAddress(descriptor)
            return error.Success() and flags & 31 == 16 and place.GetSection().IsValid()

        words = [value.GetValueAsUnsigned() for value in frame.GetRegisters()[0]]
        stack = frame.GetSP() & ~7
        words += [word(stack + offset) or 0 for offset in range(0, 4096, 8)]
        found = [address for address in dict.fromkeys(words) if is_object(address)]
        options = lldb.SBExpressionOptions()
        options.SetLanguage(lldb.eLanguageTypeSwift)
        options.SetFetchDynamicValue(lldb.eDynamicCanRunTarget)
        options.SetTimeoutInMicroSeconds(30000000)
        options.SetTryAllThreads(False)
        list = ', '.join(hex(address) for address in found)
        # Variables of an optimized function may have no value, and then nothing can be evaluated in it. On a worker of
        # libdispatch, LLDB itself crashes when it runs a task's code.
        outer = process.GetThreadAtIndex(0)
        outer = outer.GetFrameAtIndex(outer.GetNumFrames() - 1)
        # The type of the numbers stands at the list, so that the compiler need not find it for each of them.
        value = outer.EvaluateExpression(
            '([' + list + '] as [UInt]).map { unsafeBitCast($0, to: AnyObject.self) }', options)
        print('@evaluated', len(found), value.GetError())
        value = value.GetDynamicValue(lldb.eDynamicCanRunTarget)
        for index in range(value.GetNumChildren()):
            child = value.GetChildAtIndex(index, lldb.eDynamicCanRunTarget, False)
            if child.GetValue() is not None:
                print('@object', hex(found[index]), child.GetTypeName())
    """

  // MARK: - Its Python

  /// The environment in which LLDB starts, with the Python library with which it is linked.
  private static func environment() async throws -> [String: String] {
    var environment = ["SWIFT_BACKTRACE": "enable=no", "DEBUGINFOD_URLS": ""]
    let probe = try await ChildProcess.run("lldb", ["--version"], in: "/", environment: environment)
    if probe.end.exitCode == 0 { return environment }
    guard let name = probe.standardError.firstMatch(of: /libpython3\.[0-9]+\.so[.0-9]*/)?.output
    else { throw OutsideToolError("lldb: \(probe.standardError)") }
    for directory in pythonDirectories
    where FileManager.default.fileExists(atPath: "\(directory)/\(name)") {
      environment["LD_LIBRARY_PATH"] = directory
      return environment
    }
    throw OutsideToolError("Swift's lldb needs \(name): pyenv install")
  }

  /// The directories in which pyenv has the libraries of its Python versions.
  private static var pythonDirectories: [String] {
    let versions = NSHomeDirectory() + "/.pyenv/versions"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
    return names.map { "\(versions)/\($0)/lib" }
  }
}
