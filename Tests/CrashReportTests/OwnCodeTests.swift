import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// Which code counts as the program's own, by source files, modules and names.
@Suite struct OwnCodeTests {
  private static let libraries = [
    "/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/swift/usr/lib/swift/linux/libswiftCore.so",
  ]

  private func snapshot(_ executable: String, _ others: [String] = libraries) -> ProcessSnapshot {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.process.executablePath = executable
    snapshot.modules = ([executable] + others).enumerated().map { index, path in
      ModuleSnapshot(address: Address(UInt64(index) << 20), size: 1 << 20, path: path)
    }
    return snapshot
  }

  private func isOwn(
    _ function: String, in module: Int = 0, file: String? = nil, symbol: String? = nil,
    _ snapshot: ProcessSnapshot, among others: [StackFrame] = []
  ) -> Bool {
    let frame = StackFrame(
      function, symbol: symbol, module: module,
      line: file.map { SourceLocation(file: $0, line: 7) })
    return OwnCode(of: snapshot, frames: others + [frame]).contains(frame)
  }

  @Test(arguments: [
    "/usr/lib/shop/server", "/opt/shop/bin/server", "/server", "/usr/bin/server", "/lib64/server",
    "/opt/shop/libswiftCore.so.d/server",
  ])
  func theExecutableIsOwnWhereverItLies(_ path: String) {
    let snapshot = snapshot(path)
    #expect(isOwn("Shop.f() -> ()", snapshot))
    #expect(!isOwn("qsort", in: 1, snapshot))
    #expect(!isOwn("Swift._assertionFailure() -> ()", in: 2, snapshot))
  }

  @Test(arguments: [
    ("/usr/lib/shop/server", "/usr/lib/shop/libswiftshop.so", true),
    ("/usr/lib/shop/server", "/usr/lib/shop/libFoundationOfShop.so", true),
    ("/usr/lib/shop/server", "/usr/lib/shop/libcart.so.1", true),
    ("/srv/app/server", "/srv/app/plugins/libdispatcher.so", true),
    ("/srv/app/server", "/srv/app/libswiftCore.so", false),
    ("/srv/app/server", "/srv/app/libFoundationEssentials.so", false),
    ("/srv/app/server", "/srv/app/ld-linux-x86-64.so.2", false),
    ("/srv/app/server", "/opt/conda/lib/libz.so.1", false),
    ("/srv/app/server", "/nix/store/abc-zlib-1.3/lib/libz.so.1.3", false),
    ("/usr/bin/server", "/usr/bin/libz.so", false), ("/server", "/lib/libz.so", false),
  ])
  func whatLiesBesideTheExecutableIsOwn(_ executable: String, _ library: String, _ isOwn: Bool) {
    let snapshot = snapshot(executable, [library])
    #expect(self.isOwn("cart_total", in: 1, snapshot) == isOwn)
  }

  /// Lists have a place if the report has one: for a stripped program it is its file and the offset.
  @Test func aProgramWithoutNamesHasAPlace() {
    let snapshot = SampleReport.report(word: "/srv/shop").snapshot
    #expect(Verdict(of: snapshot).place == "shop+0x10")
    let report = CrashReport(snapshot: snapshot, symbolicating: false)
    #expect(report.place == "shop+0x10")
    let lines = TextReport.text(of: report).split(separator: "\n")
    #expect(lines.dropFirst().first == "in shop+0x10 (no symbols)")
  }

  /// The signature is the same for any prefix under which the libraries are installed.
  @Test func oneSignatureFromTwoPrefixes() {
    let signatures = ["/usr/lib", "/opt/conda/lib", "/home/me/zlib/lib"].map { prefix in
      let frames = [
        StackFrame("inflate", module: 1), StackFrame("Shop.unpack() -> ()", module: 0),
        StackFrame("Plugin.run() -> ()", symbol: "$s6Plugin3runyyF", module: 2),
      ]
      var snapshot = snapshot("/srv/server", [prefix + "/libz.so.1", prefix + "/libPlugin.so"])
      snapshot.exception = ExceptionSnapshot(threadID: 1)
      snapshot.exception?.signal = 11
      return Signature.text(
        of: snapshot, trace: StackTrace(frames), nil,
        ownCode: OwnCode(of: snapshot, frames: frames))
    }
    #expect(Set(signatures) == ["SIGSEGV | Shop.unpack() | Plugin.run()"])
  }

  @Test(arguments: ["pm_total", "dispatch_order", "swift_shop", "pthread_of_shop"])
  func aCNameIsOwnWhereTheRuntimesAreLibraries(_ name: String) {
    #expect(isOwn(name, snapshot("/srv/server")))
    // In a static program, the source file decides.
    let alone = snapshot("/srv/server", [])
    #expect(isOwn(name, file: "/src/shop/Sources/CShop/shop.c", alone))
  }

  @Test(arguments: [
    "swift_retain", "dispatch_sync", "_dispatch_worker_thread", "pthread_cond_wait", "malloc",
    "swift::AsyncTask::flagAsRunning()", "void swift::runtime::trace::f(int)", "objectdestroyTm",
    "std::vector<int>::at(unsigned long)", "icu_76::Locale::f()", "__libc_start_main",
    "FoundationEssentials.Data.append(Swift.Int) -> ()",
    "closure #1 (Swift.Int) -> () in FoundationEssentials.JSONDecoder.f() -> ()",
    "helper #1 () -> () in Swift.Array.f() -> ()", "CrashHandler.Handler.f() -> ()",
    "HangDetection.HangWatcher.run() -> ()", "_RegexParser.f() -> ()", "pm_start_thread",
    "generic specialization <Swift.Int> of FoundationEssentials.f<A>(A) -> ()",
  ])
  func theRuntimesAreNotOwnInAStaticProgram(_ function: String) {
    #expect(!isOwn(function, snapshot("/srv/server", [])))
  }

  @Test func theLibrariesOfRustAreNotOwn() {
    let snapshot = snapshot("/srv/server")
    let symbols = ["_RNvNtC4core9panicking5panic", "_ZN3foo3bar17h0123456789abcdefE"]
    for symbol in symbols {
      for function in [
        "core::panicking::panic_bounds_check", "std::panicking::rust_panic", "<str>::parse<usize>",
        "core::ptr::drop_in_place<shop::Basket<u32>>", "__rustc::rust_begin_unwind",
        "<alloc::vec::Vec<shop::Row> as core::ops::index::Index<usize>>::index",
        "<shop::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once",
        "<I as core::iter::Iterator>::next", "shop::run::{shim:vtable#0}",
      ] {
        #expect(!isOwn(function, symbol: symbol, snapshot), "\(function)")
      }
      for function in [
        "shop::core::run", "<shop::Basket<u32> as core::ops::drop::Drop>::drop", "standard::f",
        "<alloc::vec::Vec<u8> as shop::Priced>::price", "shop::main::{closure#0}",
      ] {
        #expect(isOwn(function, symbol: symbol, snapshot), "\(function)")
      }
    }
    // Namespaces of C++ have other owners.
    #expect(isOwn("core::Engine::run()", symbol: "_ZN4core6Engine3runEv", snapshot))
    #expect(!isOwn("swift::f()", symbol: "_ZN5swift17hash_of_all_thingsEv", snapshot))
    #expect(
      !isOwn(
        "shop::f", file: "/root/.cargo/registry/src/index.crates.io-1/shop-1.0.0/src/lib.rs",
        symbol: symbols[0], snapshot))
    #expect(
      !isOwn(
        "shop::f", file: "/rustc/59807616e1fa/library/core/src/option.rs", symbol: symbols[0],
        snapshot))
  }

  /// Code from the toolchain's libraries has no lines, while the program's code has.
  @Test func codeWithoutLinesAmongCodeWithLines() {
    let snapshot = snapshot("/srv/server", [])
    let own = StackFrame(
      "Shop.f() -> ()", line: SourceLocation(file: "/src/shop/Sources/Shop/f.swift", line: 1))
    #expect(isOwn("{anonymous}::drain(int)", snapshot))
    #expect(!isOwn("{anonymous}::drain(int)", snapshot, among: [own]))
  }

  @Test(arguments: [
    ("/src/shop/Sources/Shop/main.swift", true),
    ("/src/shop/.build/checkouts/swift-nio/Sources/NIOCore/f.swift", false),
    ("/src/shop/SourcePackages/checkouts/swift-nio/Sources/NIOCore/f.swift", false),
    // A checkout below the directory of --scratch-path /tmp/scratch.
    ("/tmp/scratch/checkouts/swift-nio/Sources/NIOCore/f.swift", false),
    ("/home/build-user/swift/stdlib/public/core/Array.swift", false),
    ("/home/build-user/swift-foundation/Sources/FoundationEssentials/f.swift", false),
    ("/usr/include/c++/12/bits/stl_vector.h", false),
    ("/src/shop/.build/checkouts/swift-postmortem/Sources/CrashHandler/f.swift", false),
    ("/src/swift-postmortem/Sources/CSignalSafe/pm_work.c", false),
    ("/src/swift-postmortem/Sources/CSignalMasks/pm_signal_masks.c", false),
  ])
  func theSourceFileDecides(_ file: String, _ expected: Bool) {
    let own = StackFrame(
      "Shop.f() -> ()", line: SourceLocation(file: "/src/shop/Sources/Shop/f.swift", line: 1))
    #expect(
      isOwn("NIOCore.f() -> ()", file: file, snapshot("/srv/server", []), among: [own]) == expected)
  }

  @Test func aProgramWhoseSourcesLieInADirectoryOfThatName() {
    let snapshot = snapshot("/srv/server", [])
    let file = "/home/me/checkouts/shop/Sources/Shop/main.swift"
    #expect(isOwn("Shop.f() -> ()", file: file, snapshot))
    #expect(
      !isOwn(
        "NIOCore.f() -> ()",
        file: "/home/me/checkouts/shop/.build/checkouts/swift-nio/Sources/NIOCore/f.swift",
        snapshot, among: [StackFrame("Shop.f() -> ()", line: SourceLocation(file: file))]))
  }

  /// The dependency's precondition failed because the program called it wrongly.
  @Test func thePlaceOfADependencysCheckIsTheProgramsCall() {
    let snapshot = snapshot("/srv/server", [])
    func frame(_ function: String, _ file: String) -> StackFrame {
      StackFrame(function, line: SourceLocation(file: file, line: 3))
    }
    let frames = [
      frame(
        "NIOCore.ByteBuffer.moveReaderIndex(to: Swift.Int) -> ()",
        "/src/.build/checkouts/swift-nio/Sources/NIOCore/ByteBuffer.swift"),
      frame("Shop.parse() -> ()", "/src/Sources/Shop/parse.swift"),
    ]
    let ownCode = OwnCode(of: snapshot, frames: frames)
    #expect(ownCode.place(in: frames) == "Shop.parse() at parse.swift:3")
  }

  @Test func whatTheCompilerMadeIsNoPlace() {
    let snapshot = snapshot("/srv/server", [])
    let generated = SourceLocation(file: "<compiler-generated>")
    let made = StackFrame(
      "Shop.Node.init(from: Swift.Decoder) throws -> Shop.Node", line: generated)
    let written = StackFrame(
      "Shop.load() -> ()", line: SourceLocation(file: "/src/load.swift", line: 2))
    let ownCode = OwnCode(of: snapshot, frames: [made, written])
    #expect(ownCode.place(in: [made, written]) == "Shop.load() at load.swift:2")
    #expect(ownCode.place(in: [made]) == "Shop.Node.init(from:)")
  }
}
