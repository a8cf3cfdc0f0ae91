import Testing

@Suite struct CrashTimeRuleTests {
  @Test(arguments: House.crashTimeDirectories)
  func everyFunctionThatRunsInACrashAndThatAnotherFileCanCallIsAnnotated(directory: String) throws {
    let files = try House.swiftFiles(in: directory)
    #expect(!files.isEmpty, "the directory is gone or was renamed")
    for file in files {
      #expect(CrashTimeRule.violations(in: file.text).isEmpty, "\(file.path)")
    }
  }

  @Test(arguments: [
    ("func planted() {}", "func planted"),
    ("@inline(__always) static func planted() {}", "func planted"),
    ("@c(pm_name)\nprivate func planted() {}", "func planted"),
    ("private func good() {}\nfunc planted() {}", "func planted"),
    ("private struct S {}\nextension S { func planted() {} }", "func planted"),
    ("public private(set) var planted: Int { 1 }", "getter of var planted"),
    ("@_noLocks func good() {}\nfunc planted() {}", "func planted"),
    ("struct S {\n  init() {}\n}", "init"),
    ("struct S { @_noLocks func f() { func inner() {} } }", "func inner"),
    ("struct S: ~Copyable { deinit { stop() } }", "deinit"),
    ("struct S { var planted: Int { 1 } }", "getter of var planted"),
    ("struct S { var planted: [Int: (Int) -> Int] { get { [:] } }}", "get of var planted"),
    ("var planted: Int {\n  @_noLocks get { 1 }\n  set {}\n}", "set of var planted"),
    ("struct S { subscript(index: Int) -> Int { index } }", "getter of subscript"),
    ("struct S { subscript(index: Int) -> Int { get { index } } }", "get of subscript"),
    ("let text = \"}\\(\"{\")\" // @_noLocks\nfunc planted() {}", "func planted"),
    ("/* @_noLocks */ func planted() {}", "func planted"),
  ])
  func theCheckerFindsWhatIsPlanted(source: String, declaration: String) {
    #expect(CrashTimeRule.violations(in: source).map(\.declaration) == [declaration])
  }

  @Test(arguments: [
    "@c(pm_name) @_noLocks\npublic func good(_ value: Int) -> Int { value }",
    "@_noLocks @discardableResult\npublic mutating func good() -> Bool { true }",
    "struct S {\n  @_noLocks\n  init(_ x: Int) { self.init(x) }\n}",
    "struct S { public private(set) var stored = 0\n  var other: UInt32\n  var third = [1] }",
    "struct S { public var size: UInt64 { @_noLocks get { 1 } } }",
    "struct S { subscript(i: Int) -> Int { @_noLocks get { i } @_noLocks set {} } }",
    "@inline(__always) private static func good() {}",
    "@c(pm_name) @_noLocks\nprivate func good() {}",
    "struct S { private var size: UInt64 { 1 } }",
    "struct S { fileprivate init(_ x: Int) {} }",
    "@_noLocks func good() {\n  var status: Int32 = 0\n  while status < 1 { status &+= 1 }\n}",
    "// func planted() {}\nlet text = \"func planted() {}\"",
  ])
  func theCheckerPassesWhatIsRight(source: String) {
    #expect(CrashTimeRule.violations(in: source) == [])
  }
}
