import Testing

@testable import Stackwalk

/// The names are those of a small program, which rustc 1.95 compiled with both manglings.
@Suite struct RustNameTests {
  @Test(arguments: [
    ("_RNvCsbxQjNsTKZZh_4shop4main", "shop::main"),
    ("_RNCNvCsbxQjNsTKZZh_4shop4mains0_0", "shop::main::{closure#2}"),
    (
      "_RNvMs0_CsbxQjNsTKZZh_4shopINtB5_6BasketmE5firstB5_", "<shop::Basket<u32>>::first"
    ),
    (
      "_RNvXCsbxQjNsTKZZh_4shopINtB2_6BasketmENtB2_6Priced5priceB2_",
      "<shop::Basket<u32> as shop::Priced>::price"
    ),
    (
      "_RINvNtNtCsbxQjNsTKZZh_4shop6nested4deep4eachNCNvB6_4mains0_0EB6_",
      "shop::nested::deep::each<shop::main::{closure#2}>"
    ),
    (
      "_RNCINvNtNtCsbxQjNsTKZZh_4shop6nested4deep4eachNCNvB8_4mains0_0E0B8_",
      "shop::nested::deep::each<shop::main::{closure#2}>::{closure#0}"
    ),
    ("_RINvNtNtCsbxQjNsTKZZh_4shop6nested4deep1kKj5_EB6_", "shop::nested::deep::k<5>"),
    (
      "_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceuE"
        + "9call_once6vtableCsbxQjNsTKZZh_4shop",
      "<std::rt::lang_start<()>::{closure#0} as core::ops::function::FnOnce<()>>::call_once"
        + "::{shim:vtable#0}"
    ),
    (
      "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc5boxed3BoxDG0_INtNtNtB4_3ops8"
        + "function2FnTRL1_INtNtCsjrHSEGnQ3l9_3std5panic13PanicHookInfoL0_EEEp6OutputuNtNtB4_6marker4"
        + "SyncNtB2N_4SendEL_EEB1T_",
      "core::ptr::drop_in_place<alloc::boxed::Box<dyn for<'a, 'b> core::ops::function::Fn<(&'a "
        + "std::panic::PanicHookInfo<'b>,), Output = ()> + core::marker::Sync + core::marker::Send>>"
    ),
    (
      "_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecTOhFUKCBN_EuENtNtCsjrHSEGnQ3l9_3std5alloc6SystemE"
        + "8grow_oneB13_",
      "<alloc::raw_vec::RawVec<(*mut u8, unsafe extern \"C\" fn(*mut u8)), std::alloc::System>>"
        + "::grow_one"
    ),
    ("_RNvC4shopu8gdel_5qa", "shop::gödel"), ("_RNvC4shop4main.llvm.1234", "shop::main"),
    ("_RINvC4shop1fKb1_Kc41_Kln2a_KpE", "shop::f<true, 'A', -42, _>"),
    (
      "_RINvC4shop1fAhj3_SmTlERemQdPzE",
      "shop::f<[u8; 3], [u32], (i32,), &str, u32, &mut f64, *const !>"
    ),
  ])
  func theNewerForm(name: String, expected: String) {
    #expect(Demangler.demangle(name) == expected)
  }

  /// A name can come from a damaged file.
  @Test(arguments: [
    "_ZN4shop15Basket$LT$T$GT$5first17h365e8307f4492378E",
    "_RINvMs0_C4shopu8gdel_5qaFG_KCBN_DG0_NtB2_3FnTRL1_mEp6OutputuEL_Ahj3_Kln2a_E",
  ])
  func noBeginningAndNoDamageTraps(_ name: String) {
    let bytes = Array(name.utf8)
    for end in bytes.indices {
      _ = RustName.demangle(String(decoding: bytes[..<end], as: UTF8.self))
      for byte in UInt8(0x20)...0x7F {
        var damaged = bytes
        damaged[end] = byte
        _ = RustName.demangle(String(decoding: damaged, as: UTF8.self))
      }
    }
  }

  @Test(arguments: [
    ("_ZN4shop15Basket$LT$T$GT$5first17h365e8307f4492378E", "shop::Basket<T>::first"),
    ("_ZN4shop4main17h00330a5efbb668baE", "shop::main"),
    (
      "_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$17h1a4e9b9d586861c6E", "shop::main::{{closure}}"
    ),
    (
      "_ZN4core3ptr44drop_in_place$LT$shop..Basket$LT$u32$GT$$GT$17h525f2cb6638cd914E.llvm.77",
      "core::ptr::drop_in_place<shop::Basket<u32>>"
    ),
    (
      "_ZN54_$LT$shop..Basket$LT$T$GT$$u20$as$u20$shop..Priced$GT$5price17h0123456789abcdefE",
      "<shop::Basket<T> as shop::Priced>::price"
    ),
    // These are names of C++.
    ("_ZN4shop4mainEv", "shop::main()"),
    ("_ZN4shop17handleCheckoutNowEv", "shop::handleCheckoutNow()"),
  ])
  func theOlderFormHasNoHash(name: String, expected: String) {
    #expect(Demangler.demangle(name) == expected)
  }

  @Test(arguments: [
    "_R", "_Reader", "_RNv", "_RNvC4shop", "_RNvC9shop4main", "_RNvB0_4main", "_RINvC4shop1fL1_E",
    "_RNvC99999999999999999999_x", "_RINvC4shop1fKh", "_RNvC4shop4main!", "_ZN", "_ZN4shopE",
  ])
  func whatIsNoName(name: String) {
    #expect(RustName.demangle(name) == nil)
  }

  @Test func readingIsTotalAndLimited() {
    let base =
      "_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecTOhFUKCBN_EuENtNtCs_3std5alloc6SystemE1fB1_"
    for start in 2..<base.count {
      _ = RustName.demangle("_R" + base.dropFirst(start))
      _ = RustName.demangle(String(base.prefix(start)))
      _ = RustName.demangle(base.prefix(start) + "B" + base.dropFirst(start))
    }
    // Each tuple repeats the one before it twice.
    var name = "_RINvC1a1fTuuE"
    var last = 8
    for _ in 0..<60 {
      let next = name.utf8.count - 2
      let reference = "B" + (last < 1 ? "_" : String(last - 1, radix: 36) + "_")
      name += "T\(reference)\(reference)E"
      last = next
    }
    #expect(RustName.demangle(name + "E") == nil)
    #expect(RustName.demangle("_R" + String(repeating: "Nv", count: 10_000)) == nil)
  }
}
