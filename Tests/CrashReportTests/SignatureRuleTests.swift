import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Tests each rule of Docs/Reference/Signatures.md; `SignatureTests` in `Tests/Proofs` tests real crashes.
@Suite struct SignatureRuleTests {
  private func frame(
    _ function: String?, isSystem: Bool = false, trust: FrameTrust = .framePointer,
    inlined: Bool = false
  ) -> StackFrame {
    StackFrame(function, trust: trust, inlined: inlined, module: isSystem ? 1 : 0)
  }

  private func text(_ frames: [StackFrame], recursion: Recursion? = nil) -> String? {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.exception = ExceptionSnapshot(threadID: 1)
    snapshot.exception?.signal = 6
    snapshot.modules = ["/srv/app", "/usr/lib/libc.so.6"].enumerated().map { index, path in
      ModuleSnapshot(address: Address(UInt64(index)), size: 1, path: path)
    }
    let overflow = StackOverflow(
      fault: .signal(mayHideGuard: false), stack: AddressRange(start: 0, byteCount: 1),
      stackPointer: 0)
    return Signature.text(
      of: snapshot, trace: StackTrace(frames, recursion: recursion),
      Finding(cause: recursion == nil ? .abort : .stackOverflow(overflow), evidence: []),
      ownCode: OwnCode(of: snapshot, frames: frames))
  }

  @Test(
    arguments: [
      ("closure #12 (Swift.Int) -> () in closure #1 () -> () in App.run() -> ()", "App.run()"),
      ("implicit closure #1 () throws -> Swift.Bool in App.f() -> ()", "App.f()"),
      ("helper #2 (Swift.Int) -> () in App.f() -> ()", "helper in App.f()"),
      (
        "closure #1 in variable initialization expression of static App.Table.rows",
        "App.Table.rows"
      ),
      ("default argument 1 of App.f(a: Swift.Int, b: Swift.Int) -> ()", "App.f(a:b:)"),
      ("App.Store.__allocating_init(id: Swift.Int) -> App.Store", "App.Store.init(id:)"),
      (
        "(3) suspend resume partial function for App.load(id: Swift.Int) async -> ()",
        "App.load(id:)"
      ),
      ("generic specialization <Swift.Int> of App.map<A>(A) -> A", "App.map(_:)"),
      ("App.(secret in _0123456789ABCDEF)(x: Swift.Int) -> ()", "App.secret(x:)"),
      (
        "function signature specialization <Arg[0] = [Closure Propagated : $s3App1fyyF, Argument"
          + " Types : []> of generic specialization <Swift.Int> of App.g<A>(by: A) -> ()",
        "App.g(by:)"
      ),
      ("async_MainTY3_", "async_Main"), ("async_MainTQ0_", "async_Main"), ("main_T0_", "main_T0_"),
      ("generic pre-specialization <serialized, Swift.Int> of App.f<A>(A) -> ()", "App.f(_:)"),
      ("parse.part.0", "parse"), ("parse.constprop.1.cold", "parse"), ("parse", "parse"),
      ("parse.__part.2", "parse"), ("parse.isra.0.cold", "parse"), ("sum.resolver", "sum"),
      ("sum.avx2", "sum"), ("sum.avx512f.0", "sum"), ("sum.arch_x86-64-v3.1", "sum"),
      ("sum.default", "sum"), ("sum.sse4_2", "sum"), ("sum._Msve", "sum"),
      ("sum(int*) [clone .avx2]", "sum"), ("totals.of.day", "totals.of.day"),
      ("variable initialization expression of static App.Mode.default", "App.Mode.default"),
      ("shop::main::{closure#2}", "shop::main"), ("shop::main::{{closure}}", "shop::main"),
      ("shop::each<shop::main::{closure#2}>::{closure#0}", "shop::each"),
      ("<shop::Basket<u32> as shop::Priced>::price::{closure#0}", "shop::Basket::price"),
      (
        "App.($s3App0014mainswift_tzEGbfMX12_5_8makeLoadfMf0_4loadfMu_ in _9AA2)(n: Swift.Int) -> ()",
        "App.$s3App0014mainswift_tzEGbfMX8makeLoadfMf4loadfMu(n:)"
      ),
      (
        "App.($s3App0014mainswift_tzEGbfMX9_17_8makeLoadfMf_4loadfMu_ in _9AA2)(n: Swift.Int) -> ()",
        "App.$s3App0014mainswift_tzEGbfMX8makeLoadfMf4loadfMu(n:)"
      ),
      ("App.fMX12_5_", "App.fMX12_5_"),
      ("ns::Parser<int>::parse(char const*)", "ns::Parser::parse"), ("", ""), ("#", "#"),
    ])
  func names(function: String, name: String) {
    #expect(SignatureName(function).text == name)
  }

  @Test(
    arguments: [
      "protocol witness for App.P.f() -> () in conformance App.S : App.P in App",
      "reabstraction thunk helper from @escaping () -> ()", "__memmove_avx_unaligned_erms",
      "partial apply forwarder for closure #1 () -> () in App.f() -> ()", "swift_retain",
      "std::vector<int>::at(unsigned long) const", "Foundation.Data.append(Foundation.Data) -> ()",
      "merged reabstraction thunk helper from @escaping () -> ()", "malloc",
      "(extension in Foundation):Swift.String.components(separatedBy: Swift.String) -> ()",
      "dispatch thunk of App.C.f() -> ()", "Swift runtime failure: arithmetic overflow",
      "generic specialization <Swift.Int> of Swift.Array.subscript.getter : A",
      "type metadata accessor for App.Node", "destroy value witness for App.Node",
      "lazy protocol witness table accessor for type App.Node and conformance App.Node : App.P in App",
      "(2) await resume partial function for partial apply forwarder for closure #1 () in App.f()",
      "objectdestroy.12Tm", "outlined init with copy of App.Node",
      "key path getter for App.Node.next : App.Node",
      "@objc App.Node.f() -> ()", "non-virtual thunk to shop::Node::f()",
    ])
  func leavesOut(_ function: String) {
    #expect(text([frame(function), frame("App.f() -> ()")]) == "SIGABRT | App.f()")
  }

  @Test func anExtensionOfSwiftIsTheProgramsOwn() {
    #expect(
      text([frame("(extension in App):Swift.Array.second.getter : A"), frame("App.f() -> ()")])
        == "SIGABRT | Swift.Array.second.getter | App.f()")
  }

  @Test func whereAThreadBeginsDoesNotCount() {
    let frames = [frame("App.f() -> ()"), frame("static App.Main.main() -> ()"), frame("App_main")]
    #expect(text(frames) == "SIGABRT | App.f()")
    #expect(text(Array(frames.dropFirst(2))) == "SIGABRT | abort | App_main")
  }

  @Test func whatMayBeLeftOverDoesNotCount() {
    #expect(
      text([frame("App.f() -> ()"), frame("App.g() -> ()", trust: .scan), frame("App.h() -> ()")])
        == "SIGABRT | App.f()")
    #expect(text([frame("App.g() -> ()", trust: .scan)]) == "SIGABRT | App.g()")
  }

  @Test func withoutNamesOfItsOwn() {
    #expect(
      text([frame("abort", isSystem: true), frame(nil), frame("main")])
        == "SIGABRT | abort | app+0x1000")
    #expect(text([frame("abort", isSystem: true), frame(nil)]) == "SIGABRT | abort | app+0x1000")
    #expect(
      text([frame("abort", isSystem: true), frame(nil, trust: .scan)]) == "SIGABRT | abort | app")
    // The crash is after main has returned.
    let exiting = [frame("_dl_fini", isSystem: true), frame("exit", isSystem: true)]
    #expect(
      text(exiting + [frame("_start")]) == "SIGABRT | _dl_fini | exit | _start")
    #expect(text([frame("abort", isSystem: true)]) == "SIGABRT | abort")
    #expect(text([]) == "SIGABRT | abort")
  }

  /// Two crashes of a stripped program differ, and one crash is the same in every run.
  @Test func offsetsDistinguishTheCrashesOfAStrippedProgram() {
    func trap(at offset: UInt64) -> String? {
      text([offset, 0x900, 0x900, 0x500].map { StackFrame(nil, address: Address($0)) })
    }
    #expect(trap(at: 0x420) == "SIGABRT | abort | app+0x420 | app+0x900 | app+0x500")
    #expect(trap(at: 0x430) == "SIGABRT | abort | app+0x430 | app+0x900 | app+0x500")
  }

  /// It is chance at which offset the innermost call of a recursion overflows the stack.
  @Test func anOverflowWithoutNamesHasNoOffsets() {
    #expect(
      text([frame(nil), frame(nil)], recursion: .init(period: 1, first: 0, count: 9))
        == "SIGABRT | stack-overflow | app")
  }

  /// It is chance which function of a recursion overflows the stack.
  @Test func aFullStackIsItsRecursion() {
    let even = frame("App.even(Swift.Int) -> ()")
    let odd = frame("App.odd(Swift.Int) -> ()")
    let leaf = frame("App.leaf() -> ()")
    let inlined = frame("App.inside() -> ()", inlined: true)
    for (frames, first) in [
      ([even, odd, even, odd], 0), ([odd, even, odd], 0), ([leaf, odd, even, odd], 1),
    ] {
      #expect(
        text(frames, recursion: .init(period: 2, first: first, count: 1000))
          == "SIGABRT | recursion | App.even(_:), App.odd(_:)")
    }
    #expect(
      text([inlined, even, inlined, even], recursion: .init(period: 1, first: 0, count: 9))
        == "SIGABRT | recursion | App.even(_:), App.inside()")
  }

  @Test func ofAnErrorThatLeftMainTheThrowCounts() {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = [ModuleSnapshot(address: 0, size: 0x10_0000, path: "/opt/app")]
    var exception = ExceptionSnapshot(threadID: 1)
    exception.signal = 4
    snapshot.exception = exception
    let main = StackTrace([StackFrame("App_main", address: 0x10)])
    let thrown = [StackFrame("App.load() throws -> ()", address: 0x20)]
    let ownCode = OwnCode(of: snapshot, frames: main.frames + thrown)
    func text(_ trace: StackTrace, thrown: [StackFrame] = []) -> String? {
      Signature.text(of: snapshot, trace: trace, nil, thrown: thrown, ownCode: ownCode)
    }
    #expect(text(main) == "SIGILL | App_main")
    #expect(text(main, thrown: thrown) == "SIGILL | App.load()")
    #expect(ownCode.place(in: main.frames) == "App_main")
    #expect(ownCode.place(in: main.frames, thrown: thrown) == "App.load()")
    // A `try!` has its own place.
    let attempt = StackTrace([StackFrame("App.attempt() -> ()", address: 0x30)] + main.frames)
    #expect(text(attempt, thrown: thrown) == text(attempt))
    #expect(ownCode.place(in: attempt.frames, thrown: thrown) == "App.attempt()")
    // Without a recorded throw, the result does not change.
    #expect(ownCode.place(in: main.frames, thrown: []) == "App_main")
  }

  /// Its first function is compiler-generated, and so are the functions between it and the runtime.
  @Test func ofAnErrorThatLeftAnAsyncMain() {
    let generated = SourceLocation(file: "<compiler-generated>")
    let frames = [
      StackFrame("swift_errorInMain", module: nil), StackFrame("async_MainTY3_", line: generated),
      StackFrame("reabstraction thunk helper from @escaping @convention(thin) @async () -> ()"),
    ]
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = [ModuleSnapshot(address: 0, size: 0x10_0000, path: "/opt/app")]
    snapshot.exception = ExceptionSnapshot(threadID: 1)
    snapshot.exception?.signal = 4
    let thrown = [
      StackFrame(
        "App.load() async throws -> ()", line: SourceLocation(file: "/src/App/load.swift", line: 9))
    ]
    let ownCode = OwnCode(of: snapshot, frames: frames)
    #expect(ownCode.place(in: frames) == nil)
    #expect(ownCode.place(in: frames, thrown: thrown) == "App.load() at load.swift:9")
    let text = Signature.text(of: snapshot, trace: StackTrace(frames), nil, ownCode: ownCode)
    #expect(text == "SIGILL | async_Main")
  }

  /// A promise that is never kept names the place where it was made.
  @Test(arguments: [
    ("App/Server.swift:31: Fatal error: leaked", "Server.swift:31" as String?),
    ("App/Promise.swift:90: Fatal error: leaked", "Promise.swift:90"),
    (
      "App/Promise.swift:7: Fatal error: created at (file: \"App/Server.swift\", line: 31)",
      "Server.swift:31"
    ),
    ("Fatal error: created at Server.swift:31", "Server.swift:31"),
    // The place is on the stack, that of the standard library, or no place.
    ("App/Promise.swift:7: Fatal error: leaked", nil),
    ("App/Promise.swift:8: Fatal error: leaked", nil),
    ("App/Other.swift:5: Fatal error: leaked", nil),
    ("Swift/ContiguousArrayBuffer.swift:692: Fatal error: Index out of range", nil),
    ("Fatal error: no .swift, no line 31, Server.swift has no line", nil),
  ])
  func thePlaceThatAMessageNamesIsInTheSignature(_ message: String, _ place: String?) {
    let frames = [
      StackFrame(
        "App.Promise.deinit", line: SourceLocation(file: "/src/App/Promise.swift", line: 7)),
      StackFrame("App.run() -> ()", line: SourceLocation(file: "/src/App/Other.swift")),
    ]
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.exception = ExceptionSnapshot(threadID: 1)
    snapshot.exception?.signal = 4
    snapshot.modules = [ModuleSnapshot(address: 0, size: 0x10_0000, path: "/opt/app")]
    func text(_ frames: [StackFrame]) -> String? {
      Signature.text(
        of: snapshot, trace: StackTrace(frames),
        Finding(cause: .swiftFailure(.fatalError, .trap), evidence: [.swiftMessage(message)]))
    }
    let names = "SIGILL | App.Promise.deinit | App.run()"
    #expect(text(frames) == names + (place.map { " | \($0)" } ?? ""))
    // Without any line, no place is known not to be on the stack.
    #expect(text([StackFrame("App.Promise.deinit"), StackFrame("App.run() -> ()")]) == names)
  }
}
