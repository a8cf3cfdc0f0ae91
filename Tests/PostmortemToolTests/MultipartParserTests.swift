import Testing

@testable import PostmortemTool

@Suite struct MultipartParserTests {
  /// What a body comes to, taken in pieces of a size.
  private func parsed(
    _ body: [UInt8], boundary: String = "B", by size: Int = .max
  ) throws -> (events: [MultipartParser.Event], isComplete: Bool) {
    var parser = try #require(MultipartParser(boundary: boundary))
    var events: [MultipartParser.Event] = []
    var rest = body[...]
    while !rest.isEmpty {
      try parser.take(Array(rest.prefix(size))) { event in
        // Contents are one, however they come.
        if case .content(let new) = event, case .content(let old)? = events.last {
          events[events.count - 1] = .content(old + new)
        } else {
          events.append(event)
        }
      }
      rest = rest.dropFirst(min(size, rest.count))
    }
    return (events, parser.isComplete)
  }

  private static let body = Array(
    """
    preamble\r\n--B\r\nContent-Disposition: form-data; name="a;b"\r\n\r\none\r\n--\r\n--Bx\r
    --B  \r\ncontent-type: x/y\r\nCONTENT-DISPOSITION:form-data;filename="../x\\"; name=f\r\n\r\n\r
    --B\r\nContent-Disposition: form-data; name=""\r\n\r\n\r\n\r\n--B--\r\nepilogue
    """.utf8)

  @Test func aBodyIsTheSameInPiecesOfAnySize() throws {
    // "--Bx" is no delimiter's line, which the strict parser refuses: it is taken out first.
    let text = String(decoding: Self.body, as: UTF8.self).replacing(
      "\r\n--Bx\r\n", with: "\r\n-Bx\r\n")
    let body = Array(text.utf8)
    let whole = try parsed(body)
    #expect(whole.isComplete)
    #expect(
      whole.events == [
        .began(MultipartParser.Part(name: "a;b", fileName: nil)),
        .content(Array("one\r\n--\r\n-Bx".utf8)), .ended,
        .began(MultipartParser.Part(name: "f", fileName: "../x\\")), .ended,
        .began(MultipartParser.Part(name: "", fileName: nil)), .content([0x0D, 0x0A]), .ended,
      ])
    for size in 1...body.count {
      #expect(try parsed(body, by: size) == whole, "\(size)")
    }
    for count in 0..<body.count {
      let cut = try parsed(Array(body.prefix(count)))
      let end = text.utf8.count - "\r\nepilogue".utf8.count
      #expect(cut.isComplete == (count >= end), "\(count)")
    }
  }

  @Test func anyBytesAreTakenOrRefused() throws {
    var generator = SystemRandomNumberGenerator()
    let words = [
      "--B", "\r\n", "--", "Content-Disposition: form-data; name=", "\"", ";", "x", "\0", ":",
    ]
    for _ in 0..<3000 {
      let text = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
        words.randomElement(using: &generator) ?? ""
      }
      _ = try? parsed(Array(text.joined().utf8), by: Int.random(in: 1...9, using: &generator))
    }
    #expect(throws: HTTPFailure.self) { try parsed(Array("--B\r\n\r\n".utf8)) }
    let many = String(
      repeating: "--B\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n", count: 2000)
    #expect(throws: HTTPFailure.self) { try parsed(Array(many.utf8)) }
    let long = "--B\r\n" + String(repeating: "a", count: 100_000)
    #expect(throws: HTTPFailure.self) { try parsed(Array(long.utf8), by: 1000) }
    for boundary in ["", "é", "a ", String(repeating: "x", count: 201), "a\r\n"] {
      #expect(MultipartParser(boundary: boundary) == nil)
    }
  }

  @Test func aHeadHasOneMeaningOrIsRefused() throws {
    let head = try HTTPRequestHead(
      Array("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nA: 1\r\na:\t2 ".utf8))
    #expect(head.method == "POST" && head.bodyLength == .bytes(7) && head["A"] == "1, 2")
    for bad in [
      "", "POST", "POST / HTTP/2", "POST  / HTTP/1.1", "GET / HTTP/1.1\r\n x: 1",
      "GET / HTTP/1.1\r\nA : 1", "GET / HTTP/1.1\r\nA", "GET / HTTP/1.1\nA: 1",
      "GET / HTTP/1.1\r\nA: \0", "P / HTTP/1.1\r\nContent-Length: -1",
      "P / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1",
      "P / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
      "P / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
      "P / HTTP/1.1\r\nContent-Length: 99999999999999999999",
    ] {
      #expect(throws: HTTPFailure.self, "\(bad)") { try HTTPRequestHead(Array(bad.utf8)) }
    }
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...60)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      _ = try? HTTPRequestHead(bytes)
    }
  }
}
