import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct FunctionNameTests {
  @Test(arguments: [
    ("main.foo(x: Swift.Int, Swift.String) -> Swift.Int", "main.foo(x:_:)"),
    ("static App.Store.load<A where A: Swift.Hashable>(id: A) throws -> ()", "App.Store.load(id:)"),
    ("closure #1 (Swift.Int) -> () in App.run() async -> ()", "closure #1 in App.run()"),
    (
      "closure #2 () -> () in closure #1 () throws -> () in static App.A.f(_: Swift.Int) -> ()",
      "closure #2 in closure #1 in App.A.f(_:)"
    ),
    ("helper #1 (Swift.Int) -> Swift.Int in App.f() -> ()", "helper #1 in App.f()"),
    (
      "init(rawValue: Swift.Int) -> Swift.Optional<Color #1 in App.f() -> ()> in Color #1 in App.f() -> ()",
      "init(rawValue:) in Color #1 in App.f()"
    ),
    ("App.(hidden in _8F13A0)(by: Swift.Int) -> ()", "App.hidden(by:)"),
    ("App.Value.count.getter : Swift.Int", "App.Value.count.getter"),
    ("(extension in App):Swift.Array.total() -> Swift.Int", "Swift.Array.total()"),
    ("generic specialization <Swift.Int> of App.f<A>(A) -> ()", "App.f(_:)"),
    ("(2) suspend resume partial function for App.work(n: Swift.Int) async -> ()", "App.work(n:)"),
    (
      "(1) await resume partial function for closure #1 () async -> () in App.run() -> ()",
      "closure #1 in App.run()"
    ),
    (
      "protocol witness for App.P.f(x: Swift.Int) -> () in conformance App.S : App.P in App",
      "App.P.f(x:)"
    ),
    (
      "App.map(_: (Swift.Int, Swift.Int) -> Swift.Int, by: [Swift.String : Swift.Int]) -> ()",
      "App.map(_:by:)"
    ),
    ("App.Box<Swift.Int>.init(value: Swift.Int) -> App.Box<Swift.Int>", "App.Box.init(value:)"),
    ("foo::bar(int, std::string const&) const", "foo::bar"),
    ("void ns::f<int, std::vector<int> >(int)", "ns::f"),
    ("(anonymous namespace)::die()", "{anonymous}::die"),
    ("Thing::operator()(int)", "Thing::operator()"),
    ("parse(char const*, int)", "parse"),
    ("<shop::Basket<u32> as shop::Priced>::price", "shop::Basket::price"),
    ("<shop::Basket<fn() -> u32>>::first", "shop::Basket::first"),
    ("shop::Basket<T>::first", "shop::Basket::first"),
    ("shop::<impl shop::Priced for shop::Basket<u32>>::price", "shop::Basket::price"),
    ("core::str::<impl str>::parse", "str::parse"),
    ("std::backtrace::call<fn() -> i32, ()>::{closure#0}", "std::backtrace::call::{closure#0}"),
    ("<<shop::A as shop::Has<u8>>::Item as shop::Run>::run", "shop::A::Item::run"),
    ("<&[shop::Row<u8>] as shop::Sum>::sum", "&[shop::Row]::sum"),
    ("void sort<int>(int*, int*)", "sort"),
    ("operator new(unsigned long)", "operator new"),
    ("App.f()", "App.f()"),
    ("outlined copy of (Swift.Int, Swift.String)", "(_:_:)"),
    ("raise", "raise"),
    ("", ""),
  ])
  func shortens(name: String, expected: String) {
    #expect(FunctionName.short(name) == expected)
  }

  @Test func isTotal() {
    let base = "closure #1 (A<B>) -> () in (x in y)(z: [A : B]) of <"
    for start in 0..<base.count {
      for end in start...base.count {
        let text = String(base.dropFirst(start).prefix(end - start))
        _ = FunctionName.short(text)
        _ = FunctionName.short("a::" + text)
      }
    }
    #expect(FunctionName.short(String(repeating: "(", count: 100_000)).count == 200)
  }
}
