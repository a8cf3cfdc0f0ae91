import IntermediateDump
import Testing

@Suite struct CutTextTests {
  @Test func noCharacterIsCut() {
    let text = "aé€\u{1F600}b"
    let kept = [
      "", "a", "a", "aé", "aé", "aé", "aé€", "aé€", "aé€", "aé€", "aé€\u{1F600}", text, text,
    ]
    #expect((0..<13).map { String(text.cut(toBytes: $0)) } == kept)
    #expect("".cut(toBytes: 0).isEmpty && "é".cut(toBytes: 0).isEmpty)
  }
}
