import Foundation
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// JSON from the writer, read by Foundation.
@Suite struct JSONWriterTests {
  private func text(_ value: some JSONValue, isIndented: Bool = false) -> String {
    var writer = JSONWriter(isIndented: isIndented)
    value.write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    "", "plain", #"a "quote" and a \ "#, "line\nfeed\ttab\r", "\0\u{1}\u{1F}\u{7F}\u{9B}2J",
    "\u{202E}\u{2066}\u{FEFF}", "é\u{1F600}", "/</script>",
  ])
  func everyTextComesBack(original: String) throws {
    let json = text(["key": [original]])
    let read = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [String]]
    #expect(read == ["key": [original]])
    let controls: ClosedRange<UInt32> = 0x7F...0x9F
    #expect(json.unicodeScalars.allSatisfy { $0.value >= 0x20 && !controls.contains($0.value) })
  }

  @Test func membersAreSortedAndNothingIsNull() {
    let object: JSONObject = [
      "b": 1, "a": nil, "c": [true, false], "d": [String](), "e": [String: String](),
      "f": UInt64.max, "g": 0.5, "h": Double.infinity, "i": Int64.min,
    ]
    #expect(
      text(object)
        == #"{"a":null,"b":1,"c":[true,false],"d":[],"e":{},"f":18446744073709551615,"g":0.5,"#
        + #""h":null,"i":-9223372036854775808}"#)
  }

  @Test func aLineForEachValue() {
    let object: JSONObject = ["list": [["x": 1] as JSONObject, [:]], "empty": [Int]()]
    #expect(
      text(object, isIndented: true) == """
        {
          "empty" : [],
          "list" : [
            {
              "x" : 1
            },
            {}
          ]
        }
        """)
  }
}
